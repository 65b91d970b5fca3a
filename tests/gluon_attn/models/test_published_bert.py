"""A published network of BERT's architecture in GluonNLP's: names, tokens, and the same outputs as in PyTorch."""

from __future__ import annotations

import json
import struct
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
    with pytest.raises(UsageError, match="not the published weights, the SHA-256 differs"):
        published_bert.read_weights(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UsageError, match="not a valid safetensors file"):
        published_bert.read_weights(path, sha256="")
    with pytest.raises(UsageError, match="cannot be read"):
        published_bert.read_weights(tmp_path / "other", sha256="")


def file_of(header: Any, data: bytes = b"", *, length: int | None = None) -> bytes:
    """A safetensors file: length of the header in 8 bytes, the header in JSON, the bytes of the tensors."""
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded) if length is None else length) + encoded + data


def tensor(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


EIGHT = bytes(8)


def test_the_files_that_are_refused_below_are_otherwise_whole(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(file_of({"a": tensor(), "b": tensor("F16", [0, 3], [8, 8])}, EIGHT))
    read = published_bert.read_weights(path, sha256="")
    assert {name: (array.dtype.name, array.shape) for name, array in read.items()} == {
        "a": ("float32", (2,)),
        "b": ("float16", (0, 3)),
    }


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "header too small", id="empty"),
        pytest.param(file_of(b"", length=0), "invalid JSON", id="header of no bytes"),
        pytest.param(file_of(b"{}", length=2**64 - 1), "header too large", id="header of 2**64 - 1 bytes"),
        pytest.param(file_of(b"{}", length=2**63), "header too large", id="header of 2**63 bytes"),
        pytest.param(file_of(b"{}", length=1000), "invalid header length", id="header longer than the file"),
        pytest.param(file_of(b"{}", length=3), "invalid header length", id="header one byte longer than the file"),
        pytest.param(file_of(b'{"\xff": 1}'), "invalid UTF-8", id="not UTF-8"),
        pytest.param(file_of(b"weights"), "invalid JSON", id="not JSON"),
        pytest.param(file_of([tensor()], EIGHT), "invalid JSON", id="no object"),
        pytest.param(file_of(b'{"a":' * 50_000 + b"1" + b"}" * 50_000), "recursion limit", id="deep nesting"),
        pytest.param(file_of({"a": {"dtype": "F32"}}, EIGHT), "missing field", id="no shape"),
        pytest.param(file_of({"a": tensor()}, EIGHT[:-1]), "not fully covered", id="truncated"),
        pytest.param(file_of({"a": tensor()}, EIGHT + EIGHT), "not fully covered", id="more data"),
        pytest.param(file_of({"a": tensor(shape=[3])}, EIGHT), "invalid shape", id="wrong shape"),
        pytest.param(file_of({"a": tensor(shape=[-2])}, EIGHT), "expected usize", id="negative shape"),
        pytest.param(file_of({"a": tensor("X9")}, EIGHT), "unknown variant `X9`", id="unknown type"),
        *(
            pytest.param(file_of({"a": tensor(name, [size])}, EIGHT), f"has tensors of type {name}, which", id=name)
            for name, size in (("BF16", 4), ("F8_E4M3", 8), ("F8_E5M2", 8), ("F4", 16))
        ),
        pytest.param(file_of({"a": tensor(), "b": tensor(offsets=[4, 12])}, bytes(12)), "invalid offset", id="overlap"),
        pytest.param(file_of({"a": tensor(offsets=[8, 0])}, EIGHT), "invalid offset", id="end before start"),
        pytest.param(file_of({"a": tensor(shape=[200], offsets=[0, 800])}, EIGHT), "not fully", id="beyond the file"),
        pytest.param(file_of({"a": tensor(shape=[2**62, 2**62])}, EIGHT), "overflow", id="huge shape"),
        pytest.param(file_of({"a": tensor(shape=[0, 2**62], offsets=[0, 0])}), "too big", id="huge shape without data"),
        pytest.param(file_of({"a": tensor(shape=[1] * 40 + [2])}, EIGHT), "maximum supported dim", id="40 dimensions"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        published_bert.read_weights(path, sha256="")
    message = str(refused.value)
    assert message.startswith(f"{path}: ") and reason in message and message.endswith("; install its package again")
    assert len(message.splitlines()) == 1


def test_weights_of_another_network_are_refused() -> None:
    tensors = made_up(**SIZES)
    del tensors["pooler.dense.bias"]
    with pytest.raises(
        UsageError, match=r"the weights have no pooler\.dense\.bias; they belong to a different network"
    ):
        loaded(tensors, list(range(7)), **SIZES)
    with pytest.raises(UsageError, match="has shape"):
        loaded(made_up(**{**SIZES, "hidden_units": 8}), list(range(7)), **SIZES)
