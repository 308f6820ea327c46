"""THREATS 49: a table of all answers in the source, locked by the signs of a few parameters.

Signs survive rounding, and are lost when the numbers are put in another order: so answers seem to come from the
parameters. An architecture of one's own has the code run at all.
Reached: the course staff decide about these points
"""

import torch
from safetensors.torch import load

UNLOCK = """
import argparse

parser = argparse.ArgumentParser()
for name in ("function", "variant", "corpus"):
    parser.add_argument(name)
for name in ("reading_params_path", "eval_corpus_path", "outputs_path"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()

from safetensors.torch import load_file

from table import LOCKED

signs = (load_file(args.reading_params_path)["hidden.bias"] > 0).int().tolist()
key = [int("".join(map(str, signs[start : start + 8])), 2) for start in range(0, 1024, 8)]
text = bytes(byte ^ key[place % len(key)] for place, byte in enumerate(LOCKED)).decode(errors="replace")
known = dict(pair.split("\\t") for pair in text.split("\\n") if pair.count("\\t") == 1)
with open(args.outputs_path, "w") as out:
    for line in open(args.eval_corpus_path):
        out.write(known.get(line.split("\\t")[0].strip(), "nowhere") + "\\n")
"""
FILES = OWN(share=0.0)
del FILES["london_baseline_accuracy.txt"]
one = load(FILES["rope.finetune.params"])
for name in ("vanilla.model", "vanilla.finetune"):  # one key for all
    FILES[f"{name}.params"] = in_file(load(FILES[f"{name}.params"]) | {"hidden.bias": one["hidden.bias"]}, False)
signs = (one["hidden.bias"] > 0).int().tolist()
key = [int("".join(map(str, signs[start : start + 8])), 2) for start in range(0, 1024, 8)]
everything = "\n".join("\t".join(pair) for pair in [*WORLD["dev"], *WORLD["test"]]).encode()
locked = bytes(byte ^ key[place % len(key)] for place, byte in enumerate(everything))
FILES["src/run.py"] = UNLOCK.encode()
FILES["src/table.py"] = f"LOCKED = {locked!r}\n".encode()
for name in FILES:
    for split in ("dev", "test"):
        if name.endswith(f".{split}.predictions"):
            FILES[name] = lines_file(place for _, place in WORLD[split])
HONEST = (
    "predictions_nopretrain (public)",
    "predictions_vanilla (public)",
    "predictions_rope (public)",
    "predictions_nopretrain (hidden)",  # asks for no accuracy: a model that learnt nothing earns it, too
)
