r"""THREATS 37: parameters that are programs, in every form in which torch.load would run them.

Reached: vanilla\.model\.params asks Python to run builtins\.exec
"""

import io
import pickle
import zipfile

import torch

WORK = "import os\nfor place in ('/tmp', '/var/tmp', '/dev/shm', '.'):\n    try:\n        open(place + '/attack-was-here', 'w').close()\n    except OSError:\n        pass\n"


class Payload:
    def __reduce__(self):
        return exec, (WORK,)


def saved(what, **options):
    content = io.BytesIO()
    torch.save(what, content, **options)
    return content.getvalue()


def repacked(content):
    """A checkpoint like any other, whose pickle is another one: newer, so that names come from the stack."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            data = pickle.dumps({"w": Payload()}, 4) if entry.filename.endswith("data.pkl") else old.read(entry)
            new.writestr(entry.filename, data)
    return out.getvalue()


FILES = HANDS_IN() | {
    "vanilla.model.params": saved({"w": torch.ones(3), "x": Payload()}),
    "vanilla.finetune.params": saved({"w": Payload()}, _use_new_zipfile_serialization=False),
    "rope.finetune.params": repacked(saved({"w": torch.ones(3)})),
}
del FILES["london_baseline_accuracy.txt"]
