"""Given code: it carries no points, but other exercises stand on it, so breaking it is reported."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.judging.checks import fail, needs_tensor
from autograder.judging.findings import CheckFailed
from autograder.judging.span_stories import MASK, PAD
from autograder.judging.spans import Corpus
from autograder.judging.submission import Submission
from autograder.running.perform import Request
from autograder.running.plain import Other


def three_linear_layers(submission: Submission, n_embd: int) -> None:
    """init_qkv_proj makes three square Linear layers with bias."""
    layers = submission.create("init_qkv_proj", n_embd)
    if any(one != Other("torch.nn.modules.linear.Linear") for one in layers.items(range(3)).each()):
        fail("type", "init_qkv_proj: must return three nn.Linear layers, as given")
    for weight in layers.attributes([f"{index}.weight" for index in range(3)]):
        needs_tensor(weight, "init_qkv_proj: weight", torch.Size((n_embd, n_embd)))
    for bias in layers.attributes([f"{index}.bias" for index in range(3)]):
        needs_tensor(bias, "init_qkv_proj: bias", torch.Size((n_embd,)))


def splits_each_alike(submission: Submission, shape: tuple[int, int, int], n_heads: int) -> None:
    """split_heads_qkv gives what split_heads gives, for each of the three."""
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    parts = submission.split_heads_qkv(x, x + 1, x + 2, n_heads)
    calls = [Request("call", "split_heads", arguments=(x + index, n_heads)) for index in range(3)]
    for index, reply in enumerate(submission.ask_all(calls, "split_heads")):
        if isinstance(reply, CheckFailed):
            raise reply
        single = reply.value
        same = isinstance(parts, tuple) and len(parts) == 3 and isinstance(single, Tensor)
        if not (same and isinstance(parts[index], Tensor) and torch.equal(parts[index], single)):  # type: ignore[arg-type]
            fail("values", "split_heads_qkv: must split Q, K and V with split_heads, as given")


def vocabulary_is_intact(submission: Submission, corpus: Corpus) -> None:
    """The vocabulary is PAD, MASK, then the sorted characters; every line is a document."""
    dataset = corpus.dataset(submission)
    expected = {
        "stoi": {character: number for number, character in enumerate(corpus.vocabulary)},
        "itos": dict(enumerate(corpus.vocabulary)),
        "vocab_size": len(corpus.vocabulary),
        "block_size": corpus.block_size,
        "data": corpus.documents,
    }
    for (name, value), found in zip(expected.items(), dataset.attributes(list(expected)), strict=True):
        if type(found) is not type(value) or repr(found) != repr(value):  # repr, because tensors may hide in lists
            fail("values", f"CharCorruptionDataset: the attribute {name} is not as it was given")
    length = dataset.length()
    if type(length) is not int or length != len(corpus.documents):
        fail("values", f"CharCorruptionDataset: len() must count all {len(corpus.documents)} lines, empty ones too")


def answers_are_taught(submission: Submission, corpus: Corpus, question: str, place: str) -> None:
    """NameDataset: x is question MASK place MASK; y is that moved by one, from the answer on."""
    names = submission.create("NameDataset", corpus.dataset(submission).handle, f"{question}\t{place}")
    item = names.items([0]).each()[0]
    if not (isinstance(item, tuple) and len(item) == 2 and all(isinstance(part, Tensor) for part in item)):
        fail("type", "NameDataset: an item must be a pair of tensors, as given")
    text = f"{question}{MASK}{place}{MASK}".ljust(corpus.block_size, PAD)
    answer = PAD * (len(question) - 1) + text[len(question) :]
    for name, part, wanted in zip("xy", item, (text[:-1], answer), strict=True):
        assert isinstance(part, Tensor)
        if part.tolist() != [corpus.vocabulary.index(character) for character in wanted]:
            fail("values", f"NameDataset: {name} is not as it was given")
