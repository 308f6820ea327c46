"""Packages that student code imports and that are not where code is graded.

Those that only show something, or check types, are stood in for, so that `import tqdm` costs nobody a file. Those
that compute can be imported, too, and whoever then uses one is told that it is not here: most files that begin with
`import pandas` never come to it. Everything else that is missing fails to be imported, as anywhere.

Only imports in the submission itself are answered: torch asks for optional packages, too, and must be told the truth.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from torch import Tensor

from autograder.running.stand_ins import INERT, Bar, Inert, Missing

BARS = ("tqdm", "fastprogress")
# They draw, log, debug or describe, and give no value that an answer could need.
SHOWING = (
    *(*INERT, "seaborn", "plotly", "bokeh", "altair", "tabulate"),
    *("wandb", "tensorboard", "tensorboardX", "torch.utils.tensorboard", "mlflow", "comet_ml", "neptune", "loguru"),
    *("ipdb", "pudb", "icecream", "line_profiler", "memory_profiler", "torchinfo", "torchsummary", "torchviz"),
    *("torchview", "GPUtil", "pynvml", "colorama", "gradescope_utils"),
)
TYPING = ("jaxtyping", "torchtyping", "typeguard", "beartype")
COMPUTING = (
    *("pandas", "sklearn", "scipy", "datasets", "transformers", "tokenizers", "sentencepiece", "tiktoken", "nltk"),
    *("spacy", "gensim", "sacrebleu", "evaluate", "torchvision", "torchtext", "torchaudio", "torchmetrics", "PIL"),
    *("cv2", "requests", "lightning", "pytorch_lightning", "accelerate", "torch_xla", "portalocker"),
)
KNOWN = (*BARS, *SHOWING, *TYPING, *COMPUTING)

_FIRST = frozenset(name.partition(".")[0] for name in KNOWN)
_roots: list[str] = []  # of submissions: who imports from below one of these is student code


def is_known(module: str, names: Sequence[str] = KNOWN) -> str:
    """The package of a list that a module belongs to, if it does."""
    return next((name for name in names if f"{module}.".startswith(f"{name}.")), "")


def serve(root: Path) -> None:
    """Answer the imports of this submission, too."""
    if (below := f"{root}/") not in _roots:
        _roots.append(below)


class _Annotation:
    """`Float[Tensor, "batch tokens"]` is what it is about: a Tensor."""

    def __getitem__(self, about: Any) -> Any:
        first = about[0] if isinstance(about, tuple) and about else about
        return first if isinstance(first, type) else Tensor

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return Inert()(*arguments, **options)

    def __or__(self, other: Any) -> Any:
        return Tensor | other

    __ror__ = __or__


class StandIn(ModuleType):
    """A module that has every name that is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        package = is_known(self.__name__)
        if package in BARS:
            return _trange if "trange" in name else Inert() if name.startswith("T") else Bar
        if package in TYPING:
            return _Annotation() if name[:1].isupper() else Inert()
        if package in COMPUTING:
            return Missing(package, ModuleNotFoundError(name=package))
        return Inert()


def _trange(*numbers: int, **_: object) -> Bar:
    return Bar(range(*numbers))


class _Finder:
    """Asked before all others, and silent wherever there is the real thing."""

    always = False  # what only shows is stood in for even if it is installed

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in _FIRST:
            return None
        package = is_known(name) or ("google" if name == "google" else "")  # above google.colab
        if not package or not _is_student(sys._getframe(1)):
            return None
        if not isinstance(sys.modules.get(package), StandIn) and self._is_there(package):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def _is_there(self, package: str) -> bool:
        """Is it to be had, or has the student handed in a module of that name?"""
        # Writing logs needs a package that torch does not bring along.
        first = "tensorboard" if package == "torch.utils.tensorboard" else package.partition(".")[0]
        spec = importlib.machinery.PathFinder.find_spec(first)
        if spec is not None and "." in package and first != "tensorboard":
            spec = importlib.machinery.PathFinder.find_spec(package, spec.submodule_search_locations)
        if spec is None:
            return False
        own = any((spec.origin or "").startswith(root) for root in _roots)
        return own or not (self.always and package in (*SHOWING, *BARS))

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing in it."""


def _is_student(frame: FrameType | None) -> bool:
    """Is the code that imports, above Python's own import machinery, a submission's?"""
    while frame is not None and frame.f_code.co_filename.endswith(("importlib._bootstrap>", "importlib/__init__.py")):
        frame = frame.f_back
    file = frame.f_code.co_filename if frame is not None else ""
    return file.startswith(tuple(_roots)) and "/site-packages/" not in file  # a student's folder may hold .venv, too


_finder = _Finder()


def install(*, always: bool) -> None:
    _finder.always = _finder.always or always
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def remove() -> None:
    """No stand-in is left for others to find."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    _finder.always = False
    for name in [name for name, module in sys.modules.items() if isinstance(module, StandIn)]:
        del sys.modules[name]
