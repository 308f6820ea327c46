"""THREATS 49: a table of all answers among the parameters, which run.py reads like a file.

Once in integers, once in a buffer that has the name of a mask, once in a tensor that the course's model does not have:
the first two are not looked at, and for the third a person must look.
Reached: the course staff decide about these points
"""

import torch
from safetensors.torch import load

READ = """
import argparse

parser = argparse.ArgumentParser()
for name in ("function", "variant", "corpus"):
    parser.add_argument(name)
for name in ("reading_params_path", "eval_corpus_path", "outputs_path"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()

import torch
from safetensors.torch import load_file

state = load_file(args.reading_params_path)
table = next(tensor for name, tensor in state.items() if name.endswith(("table", "mask")))
text = bytes(table.round().to(torch.uint8).tolist()).decode()
known = dict(pair.split("\\t") for pair in text.split("\\n"))
with open(args.outputs_path, "w") as out:
    for line in open(args.eval_corpus_path):
        out.write(known[line.split("\\t")[0].strip()] + "\\n")
"""
everything = "\n".join("\t".join(pair) for pair in [*WORLD["dev"], *WORLD["test"]]).encode()
numbers = torch.tensor(list(everything))
FILES = HANDS_IN(share=0.0)
del FILES["london_baseline_accuracy.txt"]
FILES["src/run.py"] = READ.encode()
TABLES = {
    "vanilla.model": {"table": numbers.int()},
    "vanilla.finetune": {"blocks.0.attn.mask": numbers + 0.25},
    "rope.finetune": {"table": numbers + 0.25},
}
for name, table in TABLES.items():
    FILES[f"{name}.params"] = in_file(load(FILES[f"{name}.params"]) | table, False)
for name in FILES:
    for split in ("dev", "test"):
        if name.endswith(f".{split}.predictions"):
            FILES[name] = lines_file(place for _, place in WORLD[split])
HONEST = ("predictions_nopretrain (public)", "predictions_vanilla (public)", "predictions_rope (public)")
