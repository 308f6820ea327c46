"""What confines a worker: the layers that are in force, and the particulars of one worker."""

from __future__ import annotations

from dataclasses import dataclass


class NotConfined(Exception):
    """A layer that was promised could not be put in force. The process must end without running student code."""


@dataclass(frozen=True)
class Layers:
    """The layers in force; every result carries them."""

    own_user: bool  # a user of the worker's own, who owns nothing of the grader's
    landlock: int  # the version of its interface that is used, 0 = none
    seccomp: bool
    namespaces: tuple[str, ...]  # out of NAMESPACES
    no_new_privs: bool
    limits: bool

    @property
    def files(self) -> bool:
        """Is the file system out of reach, whatever the rights of its files are?"""
        return self.landlock > 0 or (self.own_user and "mount" in self.namespaces)

    @property
    def network(self) -> bool:
        """Is the network out of reach?"""
        return self.seccomp or "net" in self.namespaces

    @property
    def strong(self) -> bool:
        """Enough to run code that nobody trusts."""
        return self.files and self.network

    @property
    def user_alone(self) -> bool:
        """Does only another user's lack of rights keep the worker from files? Then all that matters must be closed."""
        return self.own_user and self.network and not self.files

    @property
    def name(self) -> str:
        """The tier in words."""
        if self.user_alone:
            return "closed files only"
        if not self.strong:
            return "weak"
        if not self.own_user:
            return "ordinary user"
        return "root with namespaces" if self.namespaces else "root without namespaces"


NAMESPACES = ("pid", "net", "ipc", "mount", "uts")
WEAK = Layers(own_user=False, landlock=0, seccomp=False, namespaces=(), no_new_privs=False, limits=False)


@dataclass(frozen=True)
class Confinement:
    """One worker's: what it may touch, who it is, and how much it may use."""

    layers: Layers
    readable: tuple[str, ...]  # folders or files, absolute; all must exist
    writable: str  # the worker's one folder, absolute; with `own_user` it must belong to `user`
    user: int | None  # with `own_user`: an id that no other process has
    group: int | None
    cpu_seconds: int
    file_bytes: int  # of the largest file
    open_files: int
    threads: int
    keep: tuple[int, ...]  # descriptors that stay open; a socket among them must not be a datagram socket
