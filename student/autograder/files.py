"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import subprocess
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside the target, then move into place: a reader sees the old file or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_tree(folder: Path) -> None:
    """Delete a folder and all in it, however deep: a submission may nest folders further than Python can recurse."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
        return
    for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):  # it may also have closed folders to their own owner
        subprocess.run([*command, "--", str(folder)], capture_output=True, check=False)


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write several files, each atomically; returns the names of those that changed."""
    changed = []
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_atomically(path, content)
            changed.append(name)
    return changed


def zipped(files: Mapping[str, str | bytes], executable: Collection[str] = ()) -> bytes:
    """A zip whose bytes depend on nothing but the files, and which of them are `executable`.

    Stored, not compressed: the output of zlib differs between its versions.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            entry.create_system = 3  # Unix, also when made elsewhere
            archive.writestr(entry, content)
    return buffer.getvalue()
