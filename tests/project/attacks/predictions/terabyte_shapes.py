r"""THREATS 38: checkpoints that claim a trillion numbers, and hold a few bytes.

Reached: vanilla\.model\.params claims a tensor of 1,000,000,000,000 numbers
"""

import io
import json
import struct
import zipfile

import torch


def safetensors():
    header = json.dumps({"w": {"dtype": "F32", "shape": [10**6, 10**6], "data_offsets": [0, 4 * 10**12]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(64)


def expanded():
    content = io.BytesIO()
    torch.save({"w": torch.ones(1).expand(10**6, 10**6)}, content)
    return content.getvalue()


def lying():
    """A storage of 1,000,000 numbers, of which the zip has 16."""
    content, out = io.BytesIO(), io.BytesIO()
    torch.save({"w": torch.ones(10**6)}, content)
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, bytes(64) if "/data/0" in entry.filename else old.read(entry))
    return out.getvalue()


FILES = HANDS_IN() | {
    "vanilla.model.params": safetensors(),
    "vanilla.finetune.params": expanded(),
    "rope.finetune.params": lying(),
}
del FILES["london_baseline_accuracy.txt"]
