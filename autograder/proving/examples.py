"""Example submissions, made from the solutions and the table of mistakes: what a class hands in."""

from __future__ import annotations

from pathlib import Path

from autograder.files import write_atomically, zipped
from autograder.proving.assembling import Sources
from autograder.proving.knowledge import FOLDER
from autograder.proving.mistakes import read_table
from autograder.publishing import regions

TYPICAL = ("make_causal_mask.no_diagonal", "apply_rotary_emb.pairs_halves", "span_corruption.right_anchored")

# Tries what a hostile submission would try first; each of its lines fails quietly.
_HOSTILE = """

import os
import socket
import subprocess

def attempt(action):
    try:
        action()
    except BaseException:
        pass

attempt(lambda: open("/tmp/results.json", "w").write('{"score": 100}'))
attempt(lambda: subprocess.run(["touch", "/tmp/hostile"]))
attempt(lambda: socket.create_connection(("127.0.0.1", 80), timeout=1))
attempt(lambda: os.kill(os.getppid(), 9))
torch.allclose = torch.equal = lambda *_, **__: True
torch.Tensor.__eq__ = lambda *_: True


def attn_scaled(A, n_embd, n_heads):
    while True:
        pass


def merge_heads(y):
    os._exit(0)
"""


def write_examples(solutions: Path, out: Path) -> list[Path]:
    """Write the examples as zips; returns their paths."""
    sources = Sources(solutions)
    table = {mistake.slug: mistake for mistake in read_table(solutions / FOLDER)}
    blank = {name: regions.stubbed(text, name) for name, text in sources.texts.items()}
    made = {"perfect": zipped(sources.whole()), "blank": zipped(blank)}
    for slug in TYPICAL:
        made[slug.split(".")[1]] = zipped(sources.mutant(table[slug]))
    made["hostile"] = zipped(blank | {"src/attention.py": blank["src/attention.py"] + _HOSTILE})
    made["clumsy"] = _clumsy(sources.whole())
    paths = []
    for name, content in made.items():
        paths.append(out / f"{name}.zip")
        write_atomically(paths[-1], content)
    return paths


def _clumsy(files: dict[str, str | bytes]) -> bytes:
    """Everything that goes wrong by accident: one top folder, Windows names and line ends, a BOM, Mac leftovers."""
    untidy = {
        f"My Homework (final)\\{name}".replace("/", "\\"): _of_windows(content) for name, content in files.items()
    }
    untidy["__MACOSX/._attention.py"] = b"\x00\x05\x16\x07"
    untidy["My Homework (final)\\.DS_Store"] = b"\x00\x00\x00\x01Bud1"
    untidy["My Homework (final)\\notes.docx"] = b"not for the grader"
    return zipped(untidy)


def _of_windows(content: str | bytes) -> bytes:
    return b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode() if isinstance(content, str) else content
