"""A kind room to run student code in: what asks for a GPU gets the CPU, and what cannot be had here is left out.

Code that was written on a machine with a GPU says `.to("cuda")` or `num_workers=4` and would fail here for reasons that
have nothing to do with the exercise. So a few entry points of torch are replaced: those that take a device, those that
start processes or compilers, and those that only look at a GPU. Each call of the rest costs what it did; a mode of
torch's own would see every call, and make each of them slower.

It is kindness and no wall: code may undo it, and gains nothing by that. What was asked for is written down in a fixed
vocabulary, because some of it is worth a note: devices, and library kernels that do the exercise's work.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
import torch.utils._device
from torch import nn

from autograder.running import packages
from autograder.running.stand_ins import Inert

DEVICES = ("cuda", "mps", "xpu", "xla", "npu", "hpu")
CHOSEN, COMPILE, WORKERS = "device", "compile", "workers"
KERNELS = ("scaled_dot_product_attention", "multi_head_attention_forward", "MultiheadAttention")
WORDS = frozenset({*DEVICES, *KERNELS, CHOSEN, COMPILE, WORKERS})

asked: set[str] = set()  # words, since somebody last took them out


def remarks(words: Iterable[str]) -> list[str]:
    """What a report says of words; nothing in it is of the student's choice."""
    said = set(words)
    found = []
    if devices := [name for name in DEVICES if name in said]:
        found.append(f"your code asks for {' and '.join(devices)}; it was run on the CPU")
    elif CHOSEN in said:
        found.append("the code that chooses a device is not run here; the CPU was used")
    if COMPILE in said:
        found.append("torch.compile was left out; your code was run as it is written")
    if WORKERS in said:
        found.append("a DataLoader was run with num_workers=0, because no other process can be started here")
    found += [f"uses the library's {name} in place of the steps" for name in KERNELS if name in said]
    return found


def foreign(device: object) -> str:
    """The device that is asked for, if it is one that is not here; else nothing."""
    if type(device) is str:
        kind = device.partition(":")[0]
    elif isinstance(device, torch.device):
        kind = device.type
    else:  # a number is a GPU's; a truth value is something else's
        kind = "cuda" if type(device) is int else ""
    return kind if kind in DEVICES else ""


def _here(device: object) -> Any:
    """The same device, or the CPU in place of one that is not here."""
    if name := foreign(device):
        asked.add(name)
        return "cpu"
    return device


def _asking(name: str, value: Any) -> Callable[..., Any]:
    """In place of something that only makes sense on a device."""

    def answer(*_: object, **__: object) -> Any:
        asked.add(name)
        return value

    return answer


def _knowing(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def _in_place_of(real: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Like functools.wraps, but what stands behind it is not handed out."""

    def named(ours: Callable[..., Any]) -> Callable[..., Any]:
        functools.update_wrapper(ours, real)
        vars(ours).pop("__wrapped__", None)
        return ours

    return named


# What takes a device


def _maker(real: Callable[..., Any]) -> Callable[..., Any]:
    """A function, or method, that makes a tensor on a device that is named by keyword."""

    @_in_place_of(real)
    def made(*arguments: Any, **options: Any) -> Any:
        if "device" in options:
            options["device"] = _here(options["device"])
        options.pop("pin_memory", None)  # memory from which a GPU could copy faster
        return real(*arguments, **options)

    return made


def _mover(real: Callable[..., Any]) -> Callable[..., Any]:
    """`x.to(...)`, of tensors and of modules: the device comes first, or by keyword."""

    @_in_place_of(real)
    def moved(self: Any, *arguments: Any, **options: Any) -> Any:
        if arguments and (name := foreign(arguments[0])):
            asked.add(name)
            arguments = ("cpu", *arguments[1:])
        elif "device" in options:
            options["device"] = _here(options["device"])
        return real(self, *arguments, **options)

    return moved


def _moved_to(name: str) -> Callable[..., Any]:
    """`x.cuda()`: it stays where it is."""

    def moved(self: Any, *_: object, **__: object) -> Any:
        asked.add(name)
        return self

    return moved


class _Generator(torch.Generator):
    def __new__(cls, device: Any = "cpu") -> _Generator:
        return super().__new__(cls, device=_here(device))  # type: ignore[call-arg]


def _default_device(real: Callable[..., Any]) -> Callable[..., Any]:
    @_in_place_of(real)
    def chosen(device: Any) -> None:
        if name := foreign(device):
            asked.add(name)
        else:
            real(device)

    return chosen


def _default_type(real: Callable[..., Any]) -> Callable[..., Any]:
    @_in_place_of(real)
    def chosen(kind: Any) -> None:
        real(kind.replace("torch.cuda.", "torch.") if isinstance(kind, str) else kind)

    return chosen


def _context(real: Callable[..., Any]) -> Callable[..., Any]:
    """`with torch.device("cuda"):`"""

    @_in_place_of(real)
    def init(self: Any, device: Any) -> None:
        real(self, torch.device(_here(device)))

    return init


def _autocast(real: Callable[..., Any]) -> Callable[..., Any]:
    @_in_place_of(real)
    def init(self: Any, device_type: Any, *arguments: Any, **options: Any) -> None:
        if name := foreign(device_type):
            asked.add(name)
            arguments, options = (), {"enabled": False}
        real(self, "cpu" if name else device_type, *arguments, **options)

    return init


def _load(real: Callable[..., Any]) -> Callable[..., Any]:
    """What was saved on a GPU is loaded on a machine without one."""

    @_in_place_of(real)
    def load(f: Any, map_location: Any = None, *arguments: Any, **options: Any) -> Any:
        if isinstance(map_location, dict):
            map_location = {place: _here(device) for place, device in map_location.items()}
        else:
            map_location = "cpu" if map_location is None else _here(map_location)
        return real(f, map_location, *arguments, **options)

    return load


# What starts processes or compilers


def _data_loader(real: Callable[..., Any]) -> Callable[..., Any]:
    takes = inspect.signature(real)

    @_in_place_of(real)
    def init(*given: Any, **options: Any) -> None:
        bound = takes.bind(*given, **options).arguments
        if bound.pop("num_workers", 0):
            asked.add(WORKERS)
        for name in ("pin_memory", "pin_memory_device", "timeout", "multiprocessing_context", "prefetch_factor"):
            bound.pop(name, None)
        bound.pop("persistent_workers", None)
        real(**bound)

    return init


def _compile(model: Any = None, **_: object) -> Any:
    asked.add(COMPILE)
    return (lambda model: model) if model is None else model


def _compile_module(self: Any, *_: object, **__: object) -> None:
    asked.add(COMPILE)


def _script(obj: Any, *_: object, **__: object) -> Any:
    return obj


# What does the exercise's work


class _Recording:
    inside = False  # one kernel calls another; only the one that was asked for counts


def _kernel(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    @_in_place_of(real)
    def called(*arguments: Any, **options: Any) -> Any:
        if _Recording.inside:
            return real(*arguments, **options)
        asked.add(name)
        _Recording.inside = True
        try:
            return real(*arguments, **options)
        finally:
            _Recording.inside = False

    return called


_MAKERS = (
    "arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye full "
    "full_like hamming_window hann_window kaiser_window linspace logspace normal ones ones_like rand rand_like randint "
    "randint_like randn randn_like randperm range scalar_tensor sparse_coo_tensor tensor tril_indices triu_indices "
    "zeros zeros_like"
)
_NEW = "new_empty new_empty_strided new_full new_ones new_tensor new_zeros"
_NOTHING = (
    "empty_cache init ipc_collect manual_seed manual_seed_all reset_max_memory_allocated reset_peak_memory_stats seed "
    "seed_all set_device synchronize"
)
_QUIET = ("empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all")  # to be ready for a GPU asks for none
_ZERO = "current_device initial_seed max_memory_allocated memory_allocated memory_reserved"
_STREAMS = "Event Stream current_stream default_stream device device_of stream"
_NAMED: dict[str, Any] = {
    "get_device_capability": (0, 0),
    "get_device_name": "CPU",
    "get_device_properties": SimpleNamespace(name="CPU", total_memory=0, major=0, minor=0, multi_processor_count=0),
    "mem_get_info": (0, 0),
    "memory_summary": "",
}
_KINDS = "Float Double Half BFloat16 Byte Char Short Int Long Bool"


@functools.cache
def _replacements() -> list[tuple[Any, str, Any]]:
    """Where, what, and by what; made once, while all is as torch has it."""
    tensor = torch.Tensor
    found: list[tuple[Any, str, Any]] = []
    found += [(torch, name, _maker(getattr(torch, name))) for name in _MAKERS.split()]
    found += [(torch.fft, name, _maker(getattr(torch.fft, name))) for name in ("fftfreq", "rfftfreq")]
    found += [(tensor, name, _maker(getattr(tensor, name))) for name in _NEW.split()]
    found += [(tensor, "to", _mover(tensor.to)), (nn.Module, "to", _mover(nn.Module.to))]
    found += [(nn.Module, "to_empty", _maker(nn.Module.to_empty))]
    found += [(tensor, name, _moved_to(name)) for name in ("cuda", "xpu")]
    found += [(tensor, "pin_memory", lambda self, *_, **__: self)]
    found += [
        (torch, "Generator", _Generator),
        (torch, "set_default_device", _default_device(torch.set_default_device)),
        (torch, "set_default_tensor_type", _default_type(torch.set_default_tensor_type)),
        (torch.utils._device.DeviceContext, "__init__", _context(torch.utils._device.DeviceContext.__init__)),
        (torch.autocast, "__init__", _autocast(torch.autocast.__init__)),
        (torch, "load", _load(torch.load)),
        (torch.utils.data.DataLoader, "__init__", _data_loader(torch.utils.data.DataLoader.__init__)),
        (torch, "compile", _compile),
        (nn.Module, "compile", _compile_module),
        (torch.jit, "script", _script),
    ]
    found += [(nn.functional, name, _kernel(name, getattr(nn.functional, name))) for name in KERNELS[:2]]
    found += [(nn.MultiheadAttention, "forward", _kernel(KERNELS[2], nn.MultiheadAttention.forward))]
    return found + _accelerators()


def _accelerators() -> list[tuple[Any, str, Any]]:
    """What looks at a GPU, or waits for one."""
    # Not there, whatever machine this is: the same code must give the same values everywhere.
    found: list[tuple[Any, str, Any]] = [
        (module, "is_available", _knowing(False))
        for module in (torch.cuda, torch.xpu, torch.backends.mps, torch.accelerator)
    ]
    found += [(torch.cuda, "device_count", _knowing(0)), (torch.accelerator, "current_accelerator", _knowing(None))]
    answers: dict[ModuleType, dict[str, Any]] = {
        torch.cuda: _NAMED
        | dict.fromkeys(_NOTHING.split())
        | dict.fromkeys(_ZERO.split(), 0)
        | dict.fromkeys(_STREAMS.split(), Inert()),
        torch.mps: dict.fromkeys(("empty_cache", "manual_seed", "synchronize"))
        | dict.fromkeys(("current_allocated_memory", "driver_allocated_memory"), 0),
    }
    for module, values in answers.items():
        device = module.__name__.rpartition(".")[2]
        for name, value in values.items():
            found.append((module, name, _knowing(value) if name in _QUIET else _asking(device, value)))
    return found + [(torch.cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor")) for kind in _KINDS.split()]


_ABSENT = object()
_replaced: list[tuple[Any, str, Any]] = []  # and what was there before; not empty while the room is open


def install(*, for_good: bool = False) -> None:
    """Replace the entry points, until `remove`. In a worker it is for good, and what only shows is never imported."""
    if not _replaced:
        for owner, name, value in _replacements():
            _replaced.append((owner, name, vars(owner).get(name, _ABSENT)))
            setattr(owner, name, value)
    packages.install(always=for_good)


def remove() -> None:
    """All is as it was before `install`."""
    while _replaced:
        owner, name, value = _replaced.pop()
        if value is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
    packages.remove()


@contextlib.contextmanager
def entered() -> Iterator[None]:
    """In a process that is not ours alone, such as a student's notebook: only while checks run. May be nested."""
    if _replaced:
        yield
        return
    install()
    try:
        yield
    finally:
        remove()
