"""What it costs to compute a submission's predictions from its parameters: python benchmarks/predictions.py

Checkpoints of the original architecture and size, one with RoPE for each width, trained for a few steps. The grader's
evaluator decodes all dev and test questions in batches. The original loop answers one question at a time, of which
a few are timed and the rest multiplied out. Processor time on one thread, both in this run.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402 (the path comes first)

from autograder.grading.evaluator import decode  # noqa: E402
from autograder.judging.held_out import SPLITS, Split, read_answers  # noqa: E402
from autograder.judging.parameters import read_parameters  # noqa: E402
from autograder.publishing.terms import answers_file  # noqa: E402

WIDTHS = (256, 512)
TIMED = 8  # questions that the original's loop answers


def main() -> None:
    torch.set_num_threads(1)
    original = SimpleNamespace(**runpy.run_path(str(ROOT / "tests/project/original_student.py")))
    known = read_answers(answers_file(ROOT / "data"))
    world: dict[str, Any] = {"vocabulary": known.vocabulary}
    world |= {split: [(question.text, question.place) for question in known.of(split)] for split in SPLITS}
    questions = {split: [text for text, _ in world[split]] for split in SPLITS}
    count = sum(map(len, questions.values()))
    code = original.code()
    stoi = code["vocabulary"](known.vocabulary)
    for width in WIDTHS:
        model = original.trained(world, 10, 0, block_size=128, n_layer=4, n_head=8, n_embd=width, rope=True)
        began = time.process_time()
        some = [code["predict"](model, stoi, f"{text}\n") for text in questions["dev"][:TIMED]]
        one_by_one = (time.process_time() - began) / TIMED * count
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rope.finetune.params"
            path.write_bytes(original.saved(model.state_dict()))
            began = time.process_time()
            handed_in: dict[Split, list[str]] = {"dev": [*some, *questions["dev"][TIMED:]], "test": questions["test"]}
            decode(read_parameters(path), known.vocabulary, questions, handed_in, rotary=True)
            ours = time.process_time() - began
        print(f"{width} wide, {count} questions: one at a time {one_by_one:.0f} s, the evaluator {ours:.1f} s")
        print(f"  ratio {one_by_one / ours:.0f} x", flush=True)


if __name__ == "__main__":
    main()
