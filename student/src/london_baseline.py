"""How good is it to always answer "London"? Writes london_baseline_accuracy.txt.

python src/london_baseline.py [data/birth_dev.tsv]
"""

from __future__ import annotations

import sys
from pathlib import Path


def accuracy_of(guess: str, pairs: list[tuple[str, str]]) -> float:
    """The percentage of (question, place) pairs for which the guess is right.

    Example: accuracy_of("Rome", [("Where was Ada born?", "London"), ("Where was Livia born?", "Rome")]) is 50.0.
    """
    # TODO(london_baseline): count how often the place is the guess.
    raise NotImplementedError("london_baseline is not started yet")


def main(arguments: list[str]) -> None:
    path = Path(arguments[0] if arguments else "data/birth_dev.tsv")
    if not path.is_file():
        sys.exit(f"london_baseline.py: {path} is missing; run this from the folder that holds src/ and data/")
    lines = path.read_text(encoding="utf-8").split("\n")
    pairs = [(question, place.strip()) for question, _, place in (line.partition("\t") for line in lines) if place]
    accuracy = accuracy_of("London", pairs)
    Path("london_baseline_accuracy.txt").write_text(f"{accuracy}\n", encoding="utf-8")
    print(f"always London: {accuracy:.1f}% of {len(pairs)}, written to london_baseline_accuracy.txt")


if __name__ == "__main__":
    main(sys.argv[1:])
