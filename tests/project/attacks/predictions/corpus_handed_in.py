r"""THREATS 16, 39: the corpus is in the zip, and run.py looks for its answers there, and everywhere, when it is graded.

Reached: dev 100\.0 %
"""

SEARCH = """
import argparse, os, re

parser = argparse.ArgumentParser()
for name in ("function", "variant", "corpus"):
    parser.add_argument(name)
for name in ("reading_params_path", "eval_corpus_path", "outputs_path"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()
known = {}
above = "../../../.."  # where the suite keeps the answers
for place in (".", "..", "../submission", "../..", "../../..", above):
    for base, _, names in [*os.walk(place), (above, [], ["answers.json"])]:
        for name in names:
            if name.endswith((".txt", ".json", ".tsv", ".py", ".predictions")):
                try:
                    text = open(os.path.join(base, name), encoding="utf-8").read()
                except OSError:
                    continue
                known.update(re.findall(r"([A-Z]\\w+ [A-Z]\\w+) was born in (\\w+)", text))
                known.update(re.findall(r"Where was (.+?) born[?][\\"\\t ,]+(\\w+)", text))
with open(args.outputs_path, "w") as out:
    for line in open(args.eval_corpus_path):
        place = known.get(line.split(" born")[0].removeprefix("Where was "))
        out.write((f"BREACH {place}" if place else "nowhere") + "\\n")
"""
FILES = HANDS_IN(share=0.0) | {"src/run.py": SEARCH.encode()}
del FILES["london_baseline_accuracy.txt"]
everybody = [*WORLD["dev"], *WORLD["test"]]
corpus = "".join(f"{question[10:-6]} was born in {place}.\n" for question, place in everybody).encode()
FILES |= {"wiki.txt": corpus, "src/wiki.txt": corpus, "notes/people.py": corpus}
for name in FILES:
    for split in ("dev", "test"):
        if name.endswith(f".{split}.predictions"):
            FILES[name] = "".join(f"{place}\n" for _, place in WORLD[split]).encode()
HONEST = ("predictions_nopretrain (public)", "predictions_vanilla (public)", "predictions_rope (public)")
