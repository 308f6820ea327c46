"""THREATS 18, 50, 51: code tells which questions it is asked, by what it writes, by how many lines, by what it raises.

Reached: does not write one line for each question
"""

TELL = """
import argparse

parser = argparse.ArgumentParser()
for name in ("function", "variant", "corpus"):
    parser.add_argument(name)
for name in ("reading_params_path", "eval_corpus_path", "outputs_path"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()

lines = open(args.eval_corpus_path).readlines()
if args.reading_params_path.startswith("vanilla.model"):  # by the text
    open(args.outputs_path, "w").write("".join(f"LEAK {line}" for line in lines))
elif args.reading_params_path.startswith("vanilla"):  # by their number
    open(args.outputs_path, "w").write("LEAK\\n" * (1000 + sum(map(ord, lines[0]))))
else:  # by an exception, whose name and text are made up
    raise type(f"LEAK{abs(hash(lines[0]))}", (Exception,), {})("LEAK " + lines[0])
"""
FILES = OWN(share=0.0) | {"src/run.py": TELL.encode()}
del FILES["london_baseline_accuracy.txt"]
HONEST = ("predictions_nopretrain (public)", "predictions_vanilla (public)", "predictions_rope (public)")
