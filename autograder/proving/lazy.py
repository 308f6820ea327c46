"""Submissions that do nothing of the kind: zeros, a constant, the input given back. They must earn 0.

Shapes and dtypes are the right ones, taken from the solution, so that only the values can
give them away.
"""

from __future__ import annotations

from collections.abc import Mapping

from autograder.judging.exercises import EXERCISES
from autograder.judging.queries import GOALS

# What each returns in place of `result`, which the solution computed from `arguments`.
ANSWERS: Mapping[str, str] = {
    "zeros": "torch.zeros_like(result)",
    "ones": "torch.ones_like(result)",
    "halves": "torch.full(result.shape, 0.5).to(result.dtype)",
    "first input": "arguments[0]",
    "last tensor": "next((a for a in reversed(arguments) if isinstance(a, torch.Tensor)), arguments[0])",
}

# Where such an answer is right: a query of zeros gives every token the same weight.
RIGHT: Mapping[str, frozenset[str]] = {"zeros": frozenset({"query131"})}

_ATTENTION = """
import torch
import pristine_attention as real
from pristine_attention import init_qkv_proj, split_heads_qkv


def lazy(function):
    def answer(*arguments, **options):
        result = function(*arguments, **options)
        return {answer}

    return answer


for name in {names!r}:
    globals()[name] = lazy(getattr(real, name))


class CausalSelfAttention(real.CausalSelfAttention):
    def forward(self, x):
        return lazy(super().forward)(x)
"""

_DATASET = """
import torch
import pristine_dataset as real
from pristine_dataset import NameDataset


class CharCorruptionDataset(real.CharCorruptionDataset):
    def __getitem__(self, idx):
        document = self.data[idx][: self.block_size + 1].ljust(self.block_size + 1, real.PAD_CHAR)
        arguments = (torch.tensor([self.stoi[c] for c in document]),)
        result = torch.cat([super().__getitem__(idx)[0], torch.zeros(1, dtype=torch.int64)])
        numbers = {answer}
        return numbers[:-1], numbers[1:]
"""


def submission(texts: Mapping[str, str], kind: str) -> dict[str, str]:
    """A whole submission of one kind, made from the solution's files."""
    answer = ANSWERS[kind]
    functions = [slug for slug in EXERCISES if slug != "causal_self_attention"]
    queries = ["import torch", texts["notebooks/A2S1.py"].split("def attention")[0], "arguments = (K,)"]
    for slug, goal in GOALS.items():
        queries += [f"result = torch.empty({goal.shape})", f"{slug} = {answer}"]
        if goal.shape == (3,):
            queries.append(f"{slug} = {slug}[0] if {slug}.dim() == 2 else {slug}")
    return {
        "src/pristine_attention.py": texts["src/attention.py"],
        "src/pristine_dataset.py": texts["src/dataset.py"],
        "src/attention.py": _ATTENTION.format(answer=answer, names=functions),
        "src/dataset.py": _DATASET.format(answer=answer),
        "notebooks/A2S1.py": "\n".join(queries) + "\n",
    }
