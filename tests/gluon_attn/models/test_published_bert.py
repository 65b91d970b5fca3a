"""A published network of BERT's architecture in GluonNLP's: names, tokens, and the same outputs as in PyTorch."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import autograd, init, nd
from safetensors.numpy import save_file

from gluon_attn.errors import UsageError
from gluon_attn.models import published_bert
from gluon_attn.models.published_bert import PublishedBertClassifier, bert_model, published_name, published_parameters
from gluon_attn.training.checkpoint import named_parameters, set_parameters
from preprocessing import sentence_pieces
from tests.gluon_attn.support import initialize

SIZES: dict[str, Any] = {"vocabulary_size": 7, "units": 4, "layers": 2, "heads": 2, "hidden_units": 6, "length": 5}
needs_package = pytest.mark.skipif(
    find_spec(sentence_pieces.PACKAGE.replace("-", "_")) is None,
    reason="the published weights are missing: make weights",
)


def names_of(**sizes: Any) -> list[str]:
    return [name for name, _ in named_parameters(bert_model(**sizes))]


def made_up(**sizes: Any) -> dict[str, np.ndarray]:
    """Random tensors with the names and shapes of a file of weights."""
    units, hidden, generator = sizes["units"], sizes["hidden_units"], np.random.RandomState(0)
    rows = {
        "word_embeddings": sizes["vocabulary_size"],
        "token_type_embeddings": 2,
        "position_embeddings": sizes["length"],
    }
    shapes: dict[str, tuple[int, ...]] = {f"embeddings.{name}.weight": (count, units) for name, count in rows.items()}
    dense = {"pooler.dense": (units, units)}
    norms = ["embeddings.LayerNorm"]
    for number in range(sizes["layers"]):
        layer = f"encoder.layer.{number}"
        dense |= {f"{layer}.attention.self.{name}": (units, units) for name in ("query", "key", "value")}
        dense |= {f"{layer}.attention.output.dense": (units, units), f"{layer}.intermediate.dense": (hidden, units)}
        dense |= {f"{layer}.output.dense": (units, hidden)}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name, shape in dense.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        shapes |= {f"{name}.weight": (units,), f"{name}.bias": (units,)}
    return {name: generator.randn(*shape).astype(np.float32) for name, shape in shapes.items()}


def loaded(tensors: dict[str, np.ndarray], rows: list[int], **sizes: Any) -> Any:
    bert = bert_model(**sizes)
    bert.initialize(init.Xavier())
    set_parameters(bert, published_parameters(tensors, [name for name, _ in named_parameters(bert)], rows))
    return bert


def in_torch(tensors: dict[str, np.ndarray], ids: np.ndarray, lengths: np.ndarray, heads: int) -> list[np.ndarray]:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is an extra: install gluon-attn[bench]")
    from benchmarks.peers.torch_bert import encode

    given = {name: torch.from_numpy(np.asarray(values)) for name, values in tensors.items()}
    with torch.no_grad():
        outputs = encode(given, torch.from_numpy(ids), torch.from_numpy(lengths), heads=heads)
    return [output.numpy() for output in outputs]


def test_every_parameter_has_its_own_tensor() -> None:
    assert sorted(map(published_name, names_of(**SIZES))) == sorted(made_up(**SIZES))


def test_it_equals_the_network_in_pytorch() -> None:
    tensors, rows = made_up(**SIZES), [3, 1, 0, 2, 6, 5, 4]
    ids, lengths = np.array([[0, 4, 6, 2, 1], [5, 3, 1, 1, 1]]), np.array([5, 2])
    bert = loaded(tensors, rows, **SIZES)
    states, pooled = bert(nd.array(ids, dtype="int32"), nd.zeros((2, 5), dtype="int32"), nd.array(lengths))
    their_states, their_pooled = in_torch(tensors, np.array(rows)[ids], lengths, heads=2)
    for row, length in enumerate(lengths):
        np.testing.assert_allclose(states.asnumpy()[row, :length], their_states[row, :length], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(pooled.asnumpy(), their_pooled, rtol=1e-4, atol=1e-5)


@needs_package
def test_the_published_weights_give_what_they_give_in_pytorch() -> None:
    sizes = {"units": 384, "layers": 6, "heads": 12, "hidden_units": 1536, "length": 512, "vocabulary_size": 30_522}
    tensors = published_bert.read_weights(sentence_pieces.published_folder() / published_bert.FILE)
    generator = np.random.RandomState(0)
    ids, lengths = generator.randint(sizes["vocabulary_size"], size=(3, 24)), np.array([24, 7, 16])
    bert = loaded(tensors, list(range(sizes["vocabulary_size"])), **sizes)
    states, pooled = bert(nd.array(ids, dtype="int32"), nd.zeros(ids.shape, dtype="int32"), nd.array(lengths))
    their_states, their_pooled = in_torch(tensors, ids, lengths, heads=12)
    for row, length in enumerate(lengths):
        np.testing.assert_allclose(states.asnumpy()[row, :length], their_states[row, :length], atol=1e-4)
    np.testing.assert_allclose(pooled.asnumpy(), their_pooled, atol=1e-4)


@pytest.mark.parametrize("pooling", published_bert.POOLINGS)
def test_padding_changes_nothing(pooling: str) -> None:
    bert = bert_model(**SIZES, with_pooler=pooling == "first")
    ids = nd.array([[2, 5, 6, 3]], dtype="int32")
    model = initialize(PublishedBertClassifier(bert, units=4, classes=3, pooling=pooling), ids, nd.array([4]))
    padded = nd.array([[2, 5, 6, 3, 1]], dtype="int32")
    logits = [model(given, nd.array([4])).logits.asnumpy() for given in (ids, padded)]
    assert logits[0].shape == (1, 3)
    np.testing.assert_allclose(*logits, atol=1e-6)
    other = model(nd.array([[2, 6, 5, 3]], dtype="int32"), nd.array([4])).logits.asnumpy()
    assert np.abs(other - logits[0]).max() > 1e-4


@pytest.mark.parametrize("pooling", published_bert.POOLINGS)
def test_every_parameter_is_trained(pooling: str) -> None:
    bert = bert_model(**SIZES, with_pooler=pooling == "first")
    model = PublishedBertClassifier(bert, units=4, classes=3, pooling=pooling)
    model.initialize(init.Normal(0.5))
    with autograd.record():
        loss = model(nd.array([[2, 5, 6, 3]], dtype="int32"), nd.array([4])).logits[:, 0].sum()
    loss.backward()
    stale = [name for name, parameter in named_parameters(model) if not parameter.grad().asnumpy().any()]
    assert [name for name in stale if not name.endswith("proj_key.bias")] == []  # the softmax cancels that one


def test_an_unknown_pooling_is_refused() -> None:
    with pytest.raises(UsageError, match=r"pooling 'last' is unknown; choose one of first, mean"):
        PublishedBertClassifier(bert_model(**SIZES), units=4, classes=2, pooling="last")


def test_weights_are_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"a": np.arange(3, dtype=np.float32)}, path)
    np.testing.assert_array_equal(published_bert.read_weights(path, sha256="")["a"], [0, 1, 2])
    with pytest.raises(UsageError, match="not the published weights, their SHA-256 is another one"):
        published_bert.read_weights(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UsageError, match="no file of weights"):
        published_bert.read_weights(path, sha256="")
    with pytest.raises(UsageError, match="cannot be read"):
        published_bert.read_weights(tmp_path / "other", sha256="")


def test_weights_of_another_network_are_refused() -> None:
    tensors = made_up(**SIZES)
    del tensors["pooler.dense.bias"]
    with pytest.raises(UsageError, match=r"the weights have no pooler\.dense\.bias; they are of another network"):
        loaded(tensors, list(range(7)), **SIZES)
    with pytest.raises(UsageError, match="has shape"):
        loaded(made_up(**{**SIZES, "hidden_units": 8}), list(range(7)), **SIZES)
