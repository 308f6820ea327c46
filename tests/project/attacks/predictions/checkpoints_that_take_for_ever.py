"""THREATS 46: sizes that are numbers of 2,000 digits, tuples of tuples that grow when printed, a zip's list of a million entries.

Reached: holds a whole number that no checkpoint needs
"""

import io
import struct
import zipfile

import torch


def with_pickle(content):
    """A checkpoint like any other, but for its pickle."""
    saved, out = io.BytesIO(), io.BytesIO()
    torch.save({"w": torch.ones(60)}, saved)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, content if name.endswith("data.pkl") else old.read(name))
    return out.getvalue()


def huge():
    number = (1 << 8000).to_bytes(1001, "little")
    axes = b"(" + 12 * (b"\x8b" + struct.pack("<i", len(number)) + number) + b"t"
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x3ctQ"
    return with_pickle(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + axes + axes + b"\x89}tR.")


def grows():
    return with_pickle(b"\x80\x02K\x01\x85q\x00" + b"h\x00h\x00\x86q\x00" * 80 + b"h\x00h\x00\x93.")


def long_list():
    """Entries of no bytes, written by hand: all of them have one place in the file."""
    name = b"x" * 40
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 0, 20, 0, *[0] * 4, 0, 0, 0, len(name), *[0] * 4, 0, 0)
    count, first = 200_000, b"PK\x03\x04" + bytes(26)
    entries = (entry + name) * count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, len(entries), len(first), 0)
    return first + entries + end


FILES = HANDS_IN() | {
    "vanilla.model.params": huge(),
    "vanilla.finetune.params": grows(),
    "rope.finetune.params": long_list(),
}
del FILES["london_baseline_accuracy.txt"]
