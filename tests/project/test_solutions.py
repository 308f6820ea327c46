"""The solutions themselves: against torch, against arithmetic, and by the examples in their docstrings."""

from __future__ import annotations

import importlib
import math
import sys
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own name for it)

from autograder.running.loading import forget


@pytest.fixture(scope="module")
def attention(root):
    sys.path.insert(0, str(root / "solutions/src"))
    yield importlib.import_module("attention")
    forget(root / "solutions")


@pytest.fixture(scope="module")
def dataset(root):
    sys.path.insert(0, str(root / "solutions/src"))
    yield importlib.import_module("dataset")
    forget(root / "solutions")


@pytest.mark.parametrize(("heads", "causal"), [(1, False), (1, True), (3, True)])
def test_self_attention_equals_torch(attention, heads, causal):
    """The three checkpoints of the original course: identity projections."""
    Q, K, V = torch.randn(3, 2, 5, 12)
    eye, none = torch.eye(12), torch.zeros(12)
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1) if causal else None
    expected, _ = F.multi_head_attention_forward(
        Q.transpose(0, 1), K.transpose(0, 1), V.transpose(0, 1),
        12, heads, torch.cat([eye, eye, eye]), torch.zeros(36), None, None, False, 0.0, eye, none,
        training=False, need_weights=False, attn_mask=mask,
    )  # fmt: skip
    assert torch.allclose(attention.self_attention(Q, K, V, heads, causal), expected.transpose(0, 1), atol=1e-6)


def test_docstring_examples(attention):
    t = torch.tensor
    assert attention.pairwise_similarities(t([[1, 0], [0, 2]]), t([[3, 4], [5, 6]])).tolist() == [[3, 5], [8, 12]]
    assert attention.attn_scaled(t([[6.0]]), 12, 3).tolist() == [[3.0]]
    assert attention.attn_softmax(t([[0, 0], [0, -math.inf]])).tolist() == [[0.5, 0.5], [1, 0]]
    assert attention.compute_outputs(t([[0.5, 0.5], [1, 0]]), t([[2.0, 4], [6, 8]])).tolist() == [[4, 6], [2, 4]]
    assert attention.make_causal_mask(3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    masked = attention.apply_causal_mask(t([[1, 0], [1, 1]]), t([[1.0, 2], [3, 4]]))
    assert masked.tolist() == [[1, -math.inf], [3, 4]]
    x = t([[[1, 2, 3, 4], [5, 6, 7, 8]]])
    assert attention.split_heads(x, 2).tolist() == [[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]]
    assert torch.equal(attention.merge_heads(attention.split_heads(x, 2)), x)
    V = torch.randn(2, 1, 4)
    assert torch.equal(attention.self_attention(V + 1, V - 1, V, 2), V)
    assert torch.allclose(attention.precompute_rotary_emb(2, 2)[1], t([[math.cos(1), math.sin(1)]]))
    turned = attention.apply_rotary_emb(t([[1.0, 0], [1, 0]]), attention.precompute_rotary_emb(2, 2))
    assert torch.allclose(turned, t([[1.0, 0], [math.cos(1), math.sin(1)]]))


def test_module_with_one_token_is_proj_of_value(attention):
    config = SimpleNamespace(n_embd=8, n_head=2, block_size=4, attn_pdrop=0.0, resid_pdrop=0.0, rope=True)
    module = attention.CausalSelfAttention(config)
    assert "rope_cache" not in module.state_dict() and module.rope_cache.shape == (4, 2, 2)
    x = torch.randn(3, 1, 8)
    assert torch.allclose(module(x), module.proj(module.value(x)), atol=1e-6)


def test_rope_tables_leave_room_below_the_tolerance(attention):
    """In float32, positions up to 512 are within a third of the 1e-4 that students may be off."""
    for dim in (18, 64):
        theta = 10000.0 ** (-2 * torch.arange(dim // 2, dtype=torch.float64) / dim)
        angles = torch.outer(torch.arange(512, dtype=torch.float64), theta)
        exact = torch.stack((angles.cos(), angles.sin()), -1)
        assert float((attention.precompute_rotary_emb(dim, 512) - exact).abs().max()) < 3e-5
        other = torch.exp(-math.log(10000.0) * 2 * torch.arange(dim // 2).float() / dim)
        angles = torch.arange(512.0)[:, None] * other
        assert float((torch.stack((angles.cos(), angles.sin()), -1) - exact).abs().max()) < 6e-5


def test_name_dataset_teaches_the_answer_only(dataset):
    text = "Where was Ada born?\tLondon\n"
    corpus = dataset.CharCorruptionDataset(text, 40)
    names = dataset.NameDataset(corpus, text)
    x, y = names[0]
    assert len(names) == 1 and len(x) == len(y) == 39
    taught = "".join(corpus.itos[int(n)] for n in y if n)
    assert taught == "⁇London⁇"


def test_given_vocabulary(dataset):
    corpus = dataset.CharCorruptionDataset("ba\n", 16)
    assert corpus.itos == {0: "□", 1: "⁇", 2: "\n", 3: "a", 4: "b"} and len(corpus) == 2
