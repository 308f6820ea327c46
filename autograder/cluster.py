"""The one module that knows Dask: the same examination, on the machines of a cluster.

Submissions are taken in here, travel as clean trees, and come back as outcomes; scores and results are made here,
too. A worker needs the package and nothing else: the checks and the course travel with the first submission.
A worker that is lost takes nothing with it: what it was doing is done again elsewhere.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from autograder.batch import revived
from autograder.errors import UserError
from autograder.grade import Examination, Examined, Setting, Tree
from autograder.isolation import Layers
from autograder.server import Server, packed

PATIENCE = 30  # seconds for a scheduler to answer
_SERVERS: dict[str, Server] = {}  # in a worker: one for each course and set of checks it has met


def _examine(
    bundle: Mapping[str, bytes], key: str, limits: Mapping[str, int], weak: bool, files: Mapping[str, bytes]
) -> Any:
    """Runs in a worker of the cluster."""
    if key not in _SERVERS:
        _SERVERS[key] = Server(bundle, limits, weak_allowed=weak)
        atexit.register(_SERVERS[key].close)
    return _SERVERS[key].examine(files)


def on_cluster(address: str, setting: Setting, *, weak_allowed: bool) -> Examination:
    """Examine on the Dask cluster at `address`; "local" makes one on this machine, for as long as it takes."""
    try:
        from distributed import Client, LocalCluster, as_completed
    except ImportError:
        raise UserError("Dask is not installed; run: pip install dask distributed") from None

    def run(waiting: Iterator[Tree], done: Callable[[Tree, Examined], None]) -> None:
        if address == "local":
            made = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=setting.jobs, threads_per_worker=1, processes=True, dashboard_address=None
            )
        else:
            made = None
        try:
            client = Client(made or address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise UserError(f"no Dask scheduler answers at {address} ({error}); is it running?") from None
        try:
            _spread(client, as_completed, setting, waiting, done, weak_allowed=weak_allowed)
        finally:
            client.close()  # type: ignore[no-untyped-call]
            if made is not None:
                made.close()

    return run


def _spread(
    client: Any,
    as_completed: Any,
    setting: Setting,
    waiting: Iterator[Tree],
    done: Callable[[Tree, Examined], None],
    *,
    weak_allowed: bool,
) -> None:
    bundle = packed(setting.folders, setting.course.path, setting.answers)
    key = hashlib.sha256(b"".join(name.encode() + b"\0" + data for name, data in sorted(bundle.items()))).hexdigest()
    shared = client.scatter(bundle, broadcast=True)
    limits = asdict(setting.limits)
    trees: dict[str, Tree] = {}
    room = 2 * max(1, sum(client.nthreads().values()))  # enough to keep all busy, few enough to keep memory flat

    def submit(tree: Tree) -> Any:
        files = {name: (tree.intake.root / name).read_bytes() for name in tree.intake.files}
        future = client.submit(_examine, shared, key, limits, weak_allowed, files, pure=False, retries=3)
        trees[future.key] = tree
        return future

    queue = as_completed([], loop=client.loop, with_results=False, raise_errors=False)
    for tree in waiting:
        queue.add(submit(tree))
        if len(trees) >= room:
            _finish(next(queue), trees, done)
    for future in queue:
        _finish(future, trees, done)


def _finish(future: Any, trees: dict[str, Tree], done: Callable[[Tree, Examined], None]) -> None:
    tree = trees.pop(future.key)
    if future.status != "finished":
        error = future.exception()
        if isinstance(error, UserError):
            raise error
        done(tree, Examined([], 0.0, _nowhere(), {"cluster": f"{type(error).__name__}: {error}"[:200]}))
        return
    answer = future.result()
    parts = answer["layers"]
    layers = Layers(**(parts | {"namespaces": tuple(parts["namespaces"])}))
    outcomes = [revived(row) for row in answer["outcomes"]]
    done(tree, Examined(outcomes, answer["seconds"], layers, answer["versions"]))
    future.release()


def _nowhere() -> Layers:
    from autograder.isolation.layers import WEAK

    return WEAK
