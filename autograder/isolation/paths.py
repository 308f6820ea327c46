"""Which folders Python needs, and how a worker reaches those that its user cannot.

An interpreter below root's home is out of reach once the worker is another user, and an `import statistics` inside a
student's function fails. Under a root folder of its own the worker finds everything under the usual names. Without one,
the folders are opened while still root and Python is told to look for them under /proc/self/fd.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

WRITABLE_DEVICES = ("/dev/null",)  # not /dev/zero: mapped and shared, it is memory that no process seems to use
_DEVICES = (*WRITABLE_DEVICES, "/dev/random", "/dev/urandom")
_SYSTEM = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/proc/cpuinfo",  # how torch's libraries choose their code on some processors
    "/sys/devices/system/cpu",
)


def system_paths() -> tuple[str, ...]:
    """Shared libraries, time zones and what there is to know about the processor; as far as this machine has them."""
    return tuple(path for path in _SYSTEM if Path(path).exists())


def devices() -> tuple[str, ...]:
    """The devices that hold nothing of anybody's."""
    return tuple(path for path in _DEVICES if Path(path).exists())


def python_folders() -> tuple[str, ...]:
    """The standard library and the installed packages: what `readable` needs besides the submission."""
    paths = sysconfig.get_paths()
    folders = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    return tuple(dict.fromkeys(folder for folder in folders if Path(folder).is_dir()))


def out_of_reach(folders: Iterable[str], user: int, group: int) -> list[str]:
    """Those of the folders that the user could not list. Asks the kernel, by being that user for a moment."""
    os.setgroups([])
    os.setegid(group)
    os.seteuid(user)
    try:
        return [folder for folder in folders if not os.access(folder, os.R_OK | os.X_OK, effective_ids=True)]
    finally:
        os.seteuid(0)
        os.setegid(0)


def import_through_descriptors(folders: Iterable[str]) -> tuple[int, ...]:
    """Open the folders and let every later import find them by descriptor; returns the descriptors.

    Only for a worker under Landlock: from an open folder one can climb to its parents, and only Landlock stops that.
    """
    opened = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for folder in folders}
    if opened:
        _redirect({folder: f"/proc/self/fd/{descriptor}" for folder, descriptor in opened.items()})
    return tuple(opened.values())


def _redirect(names: Mapping[str, str]) -> None:
    sys.path[:] = [_renamed(entry, names) for entry in sys.path]
    for module in list(sys.modules.values()):
        # Not getattr: some modules of torch's answer any name, by importing.
        contents = getattr(module, "__dict__", {})
        where = contents.get("__path__")
        if isinstance(where, list):  # the same list is in the module's spec
            where[:] = [_renamed(entry, names) for entry in where]
        if isinstance(contents.get("__file__"), str):
            contents["__file__"] = _renamed(contents["__file__"], names)
    sys.path_importer_cache.clear()


def _renamed(path: str, names: Mapping[str, str]) -> str:
    # The deepest folder first: site-packages may lie in another folder of the list.
    for old in sorted(names, key=len, reverse=True):
        if path == old or path.startswith(old + os.sep):
            return names[old] + path[len(old) :]
    return path
