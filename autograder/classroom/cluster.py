"""The one module that knows Dask: the same examination, on the machines of a cluster.

Submissions are taken in here, travel as clean trees, and come back as outcomes; scores and results are made here,
too. A worker needs the package and nothing else: the checks and the course travel with the first submission.
A worker that is lost takes nothing with it: what it was doing is done again elsewhere, also if none was left meanwhile.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import queue
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from multiprocessing import resource_tracker
from typing import Any

from autograder.classroom.server import Server, packed
from autograder.errors import UserError
from autograder.grading.batch import revived
from autograder.grading.dens import den
from autograder.grading.grade import Examination, Examined, Setting, Tree, grader_digest
from autograder.isolation import Layers
from autograder.isolation.layers import WEAK

PATIENCE = 30  # seconds for a scheduler to answer, and for any answer before we look whether there are workers at all
_SERVERS: dict[tuple[str, int], Server] = {}  # in a worker: one for each set of checks it has met, and each thread

ADDRESS = re.compile(r"((tcp|tls|ucx|ws|wss)://)?[^\s/:]+(:[^\s/]+)*:\d+")
AGAIN = "what is graded is kept; run the same command again to go on"


def examine(bundle: Mapping[str, bytes], key: str, options: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
    """Runs in a worker of the cluster."""
    if (mine := grader_digest()) != options["grader"]:
        return {"another": mine}
    found = key, threading.get_ident()
    if found not in _SERVERS:
        _SERVERS[found] = Server(bundle, options["limits"], weak_allowed=options["weak_allowed"])
        atexit.register(_SERVERS[found].close)
    return _SERVERS[found].examine(files)


def _sent() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What is sent to workers: functions within a function, which travel whole. By name, they would need the package
    before anybody could say that it is missing."""

    def same(bundle: Mapping[str, bytes]) -> Mapping[str, bytes]:  # what is a task's result can be made again if lost
        return bundle

    def ask(*arguments: Any) -> Any:
        from autograder.classroom.cluster import examine

        return examine(*arguments)

    return same, ask


def on_cluster(address: str, setting: Setting, *, weak_allowed: bool) -> Examination:
    """Examine on the Dask cluster at `address`; "local" makes one on this machine, for as long as it takes."""
    if address != "local" and not ADDRESS.fullmatch(address):
        raise UserError(f"{address} is no address of a Dask scheduler; write it like tcp://scheduler:8786")
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise UserError(f"Dask cannot be loaded ({error}); run: pip install dask distributed") from None

    def run(waiting: Iterator[Tree], done: Callable[[Tree, Examined], None]) -> None:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters, we say in a line
        with _made_here(setting.jobs) if address == "local" else nullcontext(address) as cluster:
            try:
                client = Client(cluster, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
            except (OSError, ValueError) as error:
                raise UserError(f"no Dask scheduler answers at {address} ({error}); is it running?") from None
            try:
                # A submission may hold trained parameters, and travels within its task, on purpose.
                with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
                    _Spread(client, address, setting, done, weak_allowed=weak_allowed).run(waiting)
            finally:
                client.close()  # type: ignore[no-untyped-call]

    return run


@contextmanager
def _made_here(workers: int) -> Iterator[Any]:
    """A cluster on this machine. Its lines are encrypted with a key of its own: no other user may send it work.

    Nor may they look: Dask answers on HTTP whatever is set, but has no page to show.
    """
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    pages: list[str] = []
    silent = {"distributed.scheduler.http.routes": pages, "distributed.worker.http.routes": pages}
    with den() as folder, dask.config.set({"temporary-directory": str(folder), **silent}):
        # Ctrl-C is for us, who end all of it in order: threads and processes that are started now are deaf to it.
        # Python's tracker of shared resources would make them hear it again if it were started among them.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            made = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                env={"TMPDIR": str(folder)},  # so that what a killed worker leaves goes with the rest
                security=Security.temporary(),  # type: ignore[no-untyped-call]
                silence_logs=logging.CRITICAL,
            )
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)  # Ctrl-C that came meanwhile is heard here
                yield made
            finally:
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # whoever is impatient gets no disorder
                made.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Spread:
    """Submissions on their way to a cluster and back."""

    def __init__(
        self,
        client: Any,
        address: str,
        setting: Setting,
        done: Callable[[Tree, Examined], None],
        *,
        weak_allowed: bool,
    ) -> None:
        self.client, self.address, self.done = client, address, done
        bundle = packed(setting.folders, setting.course, setting.answers)
        named = b"".join(name.encode() + b"\0" + data for name, data in sorted(bundle.items()))
        self.key = hashlib.sha256(named).hexdigest()
        same, self.ask = _sent()
        self.bundle = client.submit(same, bundle, pure=False)
        self.options = {
            "limits": asdict(setting.limits),
            "weak_allowed": weak_allowed,
            "grader": grader_digest(),
        }
        self.trees: dict[str, Tree] = {}
        self.futures: dict[str, Any] = {}  # a future that nobody holds is given up by the cluster
        self.ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.told = False  # that nobody is there to work

    def run(self, waiting: Iterator[Tree]) -> None:
        for tree in waiting:
            self._submit(tree)
            while len(self.trees) >= 2 * max(1, self._places()):  # all are busy, and memory stays flat
                self._finish()
        while self.trees:
            self._finish()

    def _submit(self, tree: Tree) -> None:
        files = {name: (tree.intake.root / name).read_bytes() for name in tree.intake.files}
        future = self.client.submit(self.ask, self.bundle, self.key, self.options, files, pure=False, retries=3)
        self.trees[future.key], self.futures[future.key] = tree, future
        future.add_done_callback(self.ended.put)

    def _places(self) -> int:
        """How many submissions can be examined at once, now: a cluster grows and shrinks."""
        try:
            found = int(sum(self.client.nthreads().values()))
        except OSError:
            raise self._gone() from None
        if not found and not self.told:
            print(f"\nnote: {self.address} has no workers now; waiting for some (Ctrl-C ends it)", file=sys.stderr)
        self.told = not found
        return found

    def _finish(self) -> None:
        """Wait for one submission, however long that takes, as long as there is somebody to wait for."""
        while True:
            try:
                future = self.ended.get(timeout=PATIENCE)
                break
            except queue.Empty:
                self._places()
        tree = self.trees.pop(future.key)
        del self.futures[future.key]
        if future.status == "finished":
            self._tell(tree, future.result())
        elif future.status == "error":
            self._tell_error(tree, future.exception())
        else:
            raise self._gone()
        future.release()

    def _tell(self, tree: Tree, answer: dict[str, Any]) -> None:
        if "another" in answer:
            raise UserError(
                f"a worker of {self.address} has another version of this package; "
                f"install the same on all machines ({AGAIN})"
            )
        parts = answer["layers"]
        layers = Layers(**(parts | {"namespaces": tuple(parts["namespaces"])}))
        outcomes = [revived(row) for row in answer["outcomes"]]
        self.done(tree, Examined(outcomes, answer["seconds"], layers, answer["versions"]))

    def _tell_error(self, tree: Tree, error: BaseException) -> None:
        if isinstance(error, UserError):
            raise error
        if isinstance(error, ImportError):
            raise UserError(
                f"a worker of {self.address} cannot load the grader ({error}); it needs this package "
                f"and what requirements.txt lists ({AGAIN})"
            )
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        self.done(tree, Examined([], 0.0, WEAK, {}, why))

    def _gone(self) -> UserError:
        return UserError(f"the Dask scheduler at {self.address} is gone; {AGAIN}")
