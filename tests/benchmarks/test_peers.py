"""The peers of the benchmarks are the same networks as ours: as many parameters, and the same logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.models.self_attention_classifier import AsWritten, Masked
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from tests.gluon_attn.support import array, initialize

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

from benchmarks.peers import torch_classifiers as peers  # noqa: E402
from benchmarks.peers.torch_training import OPTIMIZERS  # noqa: E402

SIZES = {"vocabulary_size": 23, "embedding_units": 6, "units": 4, "dropout": 0.0}
ATTENTION = {"attention_units": 5, "attention_dropout": 0.0, "max_length": 7}
LENGTHS = np.array([7, 1, 4, 6], np.int64)
OURS = {
    "as written": lambda: AsWritten(**SIZES, length=7, classes=2, attention=AdditiveAttention(5)),
    "masked": lambda: Masked(**SIZES, pooling="attention", classes=2, attention=AdditiveAttention(5)),
}
CASES = [("as written", "packed"), ("masked", "packed"), ("masked", "reversed")]


def ids_of(model: str) -> np.ndarray:
    """Reviews of 1 to 7 tokens; on padding, one token differs from the others, where its embedding must not matter."""
    ids = np.random.RandomState(4).randint(2, 23, (4, 7))
    return np.where(np.arange(7) < LENGTHS[:, None], ids, 1)


def pair(model: str, recurrent: str) -> tuple[Any, Any, tuple[Any, ...]]:
    """Our network with random parameters, the peer with the same parameters, and the inputs of ours."""
    ids = ids_of(model)
    inputs = (array(ids, "int32"),) if model == "as written" else (array(ids, "int32"), array(LENGTHS, "float32"))
    ours = initialize(OURS[model](), *inputs)
    peer = peers.build({**SIZES, **ATTENTION, "model": model}, optimizer="adam", recurrent=recurrent)
    weights = {name: torch.tensor(parameter.data().asnumpy()) for name, parameter in named_parameters(ours)}
    peer.load_state_dict({theirs: weights[mine(theirs, weights, recurrent)] for theirs in peer.state_dict()})
    return ours, peer.eval(), inputs


def mine(theirs: str, weights: dict[str, Any], recurrent: str) -> str:
    """The name in our network of a parameter of the peer."""
    if not theirs.startswith("encoder."):
        for short in ("query", "key"):
            theirs = theirs.replace(f".{short}.", f"._{short}_mid_layer.")
        return theirs.replace(".score.", "._attention_score.")
    backward = theirs.endswith("_reverse") or ".behind." in theirs
    sort = "weight" if "weight_" in theirs else "bias"
    half = "i2h" if "_ih_" in theirs else "h2h"
    direction = ("r_cell", "backwards") if backward else ("l_cell", "forwards")
    (function,) = (
        name for name in weights if name.endswith(f"{half}_{sort}") and any(f".{one}." in name for one in direction)
    )
    return function


def logits_of(ours: Any, peer: Any, inputs: tuple[Any, ...], ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with torch.no_grad():
        theirs, _ = peer(torch.tensor(ids), torch.tensor(LENGTHS))
    return ours(*inputs)[0].asnumpy(), theirs.numpy()


@pytest.mark.parametrize(("model", "recurrent"), CASES)
def test_the_peer_is_the_same_network(model: str, recurrent: str) -> None:
    ours, peer, inputs = pair(model, recurrent)
    assert sum(parameter.numel() for parameter in peer.parameters()) == parameter_count(ours)
    mine, theirs = logits_of(ours, peer, inputs, ids_of(model))
    assert np.abs(mine).max() > 0.01
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("recurrent", ["packed", "reversed"])
def test_the_masked_peer_ignores_padding(recurrent: str) -> None:
    ours, peer, inputs = pair("masked", recurrent)
    ids = ids_of("masked")
    changed = np.where(np.arange(7) < LENGTHS[:, None], ids, 20)
    assert (ids != changed).any()
    _, before = logits_of(ours, peer, inputs, ids)
    _, after = logits_of(ours, peer, inputs, changed)
    np.testing.assert_allclose(before, after, rtol=0, atol=1e-6)


def test_length_buckets_contain_every_review_once() -> None:
    lengths = torch.tensor([3, 9, 1, 4, 9, 2, 7, 5, 6])
    torch.manual_seed(0)
    chunks = list(peers.batches(torch.zeros(9, 9), lengths, 2, buckets=True))
    assert sorted(torch.cat(chunks).tolist()) == list(range(9))
    spread = [int(lengths[rows].max() - lengths[rows].min()) for rows in chunks]
    assert max(spread) <= 2  # Neighbours in order of length.
    assert len(chunks) == 5


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("buckets", [False, True])
def test_a_peer_trains(
    optimizer: str, buckets: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> None:
    ids = np.random.RandomState(0).randint(1, 23, (12, 7))
    np.savez(tmp_path / "reviews.npz", ids=ids, lengths=np.full(12, 6), labels=np.arange(12) % 2)
    built: list[Any] = []
    build: Callable[..., Any] = peers.build
    monkeypatch.setattr(peers, "build", lambda *args, **named: built.append(build(*args, **named)) or built[-1])
    spec = {
        "arrays": str(tmp_path / "reviews.npz"),
        "threads": 1,
        "settings": {**SIZES, **ATTENTION, "model": "masked"},
        "batch_size": 5,
        "learning_rate": 0.1,
        "optimizer": optimizer,
        "recurrent": "packed",
        "compile": "no",
        "buckets": buckets,
    }
    torch.manual_seed(1)
    untrained = build(spec["settings"], optimizer=optimizer, recurrent="packed").state_dict()
    measured = peers.measure(spec)
    assert measured["seconds"] > 0
    for name, before in untrained.items():
        assert (built[0].state_dict()[name] != before).any(), f"{name} was not trained"


@pytest.fixture
def one_thread() -> Any:
    """``measure`` sets the number of threads of the whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
