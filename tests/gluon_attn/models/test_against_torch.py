"""The same networks in PyTorch with the same weights: outputs and gradients agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mxnet import autograd

from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.models.self_attention_classifier import AsWritten
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, dense, initialize, lengths_of, normal, padded

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

VOCABULARY, EMBEDDING, UNITS, LENGTH, HIDDEN, CLASSES = 20, 5, 4, 7, 6, 3
SENTENCES = [[3, 4, 5, 6, 7, 8], [9, 10], [11, 3, 12, 13]]


class Twin:
    """The parameters of a Gluon block as PyTorch leaves, by their Gluon names; compares their gradients."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.leaves = {
            name: torch.tensor(parameter.data().asnumpy(), requires_grad=True)
            for name, parameter in named_parameters(block)
        }

    def linear(self, name: str, values: Any) -> Any:
        return torch.nn.functional.linear(values, self.leaves[f"{name}.weight"], self.leaves.get(f"{name}.bias"))

    def embed(self, ids: Any) -> Any:
        return torch.nn.functional.embedding(
            torch.tensor(ids.asnumpy(), dtype=torch.long), self.leaves["embedding.weight"]
        )

    def recurrent(self, kind: Any, width: int, forward: str, backward: str, values: Any) -> Any:
        """One bidirectional PyTorch layer with these weights, batch first, or on a packed sequence."""
        layer = kind(width, UNITS, bidirectional=True, batch_first=True)
        named = {}
        for suffix, prefix in (("", forward), ("_reverse", backward)):
            for ours, theirs in (("i2h", "ih"), ("h2h", "hh")):
                for sort in ("weight", "bias"):
                    named[f"{sort}_{theirs}_l0{suffix}"] = self.leaves[f"{prefix}{ours}_{sort}"]
        return torch.func.functional_call(layer, named, (values,))[0]

    def assert_gradients_agree(self) -> None:
        for name, parameter in named_parameters(self.block):
            expected = self.leaves[name].grad.numpy()
            assert np.abs(expected).max() > 1e-5, f"{name}: nothing is compared"
            np.testing.assert_allclose(dense(parameter.grad()), expected, rtol=1e-3, atol=2e-6, err_msg=name)


def assert_same(twin: Twin, ours: tuple[Any, Any], theirs: tuple[Any, Any], total: Any) -> None:
    """Compare logits and weights, and the gradients of a weighted sum of the logits."""
    for mine, reference in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.asnumpy(), reference.detach().numpy(), rtol=1e-4, atol=1e-6)
    total.backward()
    (theirs[0] * torch.tensor(normal(*ours[0].shape, seed=8))).sum().backward()
    twin.assert_gradients_agree()


@pytest.mark.parametrize("hybridized", [False, True])
def test_as_written_equals_the_same_network_in_torch(hybridized: bool) -> None:
    ids = padded(SENTENCES, LENGTH, lambda count: np.ones(count, np.int32))
    model = AsWritten(
        vocabulary_size=VOCABULARY,
        embedding_units=EMBEDDING,
        units=UNITS,
        length=LENGTH,
        classes=CLASSES,
        dropout=0.0,
        attention=AdditiveAttention(HIDDEN),
    )
    initialize(model, ids)
    model.hybridize(hybridized)
    with autograd.record():
        ours = model(ids)
        total = (ours.logits * array(normal(3, CLASSES, seed=8))).sum()

    twin = Twin(model)
    states = twin.recurrent(
        torch.nn.GRU, EMBEDDING, "encoder._unfused.0.l_cell.", "encoder._unfused.0.r_cell.", twin.embed(ids)
    )
    hidden = torch.tanh(
        twin.linear("attention._query_mid_layer", states)[:, :, None]
        + twin.linear("attention._key_mid_layer", states)[:, None]
    )
    weights = twin.linear("attention._attention_score", hidden).squeeze(-1).softmax(-1)
    assert_same(
        twin, (ours.logits, ours.matrix), (twin.linear("output", (weights @ states).flatten(1)), weights), total
    )


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_stacked_classifier_equals_packed_sequences_in_torch(cell: str) -> None:
    """PyTorch's packed sequences never include the padding."""
    ids = padded(SENTENCES, 9, lambda count: np.full(count, 17, np.int32))
    lengths = lengths_of(SENTENCES)
    model = StackedClassifier(
        vocabulary_size=VOCABULARY,
        embedding_units=EMBEDDING,
        cell=cell,
        units=UNITS,
        layers=2,
        attention_units=HIDDEN,
        classes=CLASSES,
        embedding_dropout=0.0,
        dropout=0.0,
    )
    initialize(model, ids, lengths)
    with autograd.record():
        ours = model(ids, lengths)
        total = (ours.logits * array(normal(3, CLASSES, seed=8))).sum()

    twin = Twin(model)
    kind = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[cell]
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        twin.embed(ids), [len(sentence) for sentence in SENTENCES], batch_first=True, enforce_sorted=False
    )
    for layer, width in enumerate((EMBEDDING, 2 * UNITS)):
        names = (f"encoder.forwards.{layer}._unfused.0.", f"encoder.backwards.{layer}._unfused.0.")
        packed = twin.recurrent(kind, width, *names, packed)
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=9)
    inside = torch.arange(9)[None] < torch.tensor([len(sentence) for sentence in SENTENCES])[:, None]
    score = twin.linear("pooling.score", torch.tanh(twin.linear("pooling.hidden", states))).squeeze(-1)
    weights = score.masked_fill(~inside, -torch.inf).softmax(-1)
    context = (weights[:, None] @ states).squeeze(1)
    highest = states.masked_fill(~inside[..., None], -torch.inf).amax(1)
    assert_same(
        twin, (ours.logits, ours.weights), (twin.linear("output", torch.cat([context, highest], 1)), weights), total
    )
