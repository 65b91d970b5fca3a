"""The peers of ``documents_speed`` are the same networks as ours: parameters, outputs and gradients; and both train."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import autograd, nd

from benchmarks.documents_speed import WAYS
from benchmarks.ours import documents
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from tests.gluon_attn.support import array, dense, initialize, normal

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

from benchmarks.peers import torch_documents as peers  # noqa: E402
from benchmarks.peers.torch_training import OPTIMIZERS  # noqa: E402

SMALL = {
    "structured": {"embedding_units": 6, "units": 4, "attention_units": 5, "hops": 3, "hidden": 7},
    "hierarchical": {"embedding_units": 6, "units": 4, "attention_units": 5},
}
CASES = [(model, recurrent) for model in SMALL for recurrent in WAYS[model]]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SIZES", SMALL)
    monkeypatch.setattr(documents, "VOCABULARY", 23)
    monkeypatch.setattr(documents, "DROPOUT", 0.0)
    monkeypatch.setattr(documents, "LONGEST", 20)
    texts = documents.Texts(words=(1.5, 0.7), sentences=(1.0, 0.6), batch_size=6)
    monkeypatch.setattr(documents, "TEXTS", {"imdb": texts})


def settings_of(model: str) -> dict[str, Any]:
    return {"model": model, "vocabulary_size": 23, "dropout": 0.0, **SMALL[model]}


def mine(theirs: str) -> str:
    """The name in our network of a parameter of the peer."""
    reader, encoder, rest = theirs.rpartition("encoder.")
    if not encoder:
        ours = {"inner.weight": "attention.hidden.weight", "score.weight": "attention.score.weight"}
        return ours.get(theirs, re.sub(r"^(words|sentences)\.", r"\1.attention.", theirs))
    direction = "backwards" if rest.endswith("_reverse") or rest.startswith("behind.") else "forwards"
    sort, half = ("weight" if "weight_" in rest else "bias"), ("i2h" if "_ih_" in rest else "h2h")
    return f"{reader}encoder.{direction}.0._unfused.0.{half}_{sort}"


def pair(model: str, recurrent: str) -> tuple[Any, Any, Any]:
    """Our network with random parameters, the peer with the same parameters, and a batch."""
    batch = documents.batches(model, "imdb", 1)["similar length"][0]
    ours = initialize(documents.build(model), *(array(values) for values in batch.inputs))
    peer = peers.build(settings_of(model), optimizer="fused adam", recurrent=recurrent)
    weights = {name: torch.tensor(parameter.data().asnumpy()) for name, parameter in named_parameters(ours)}
    peer.load_state_dict({theirs: weights[mine(theirs)] for theirs in peer.state_dict()})
    return ours, peer, batch


@pytest.mark.parametrize(("model", "recurrent"), CASES)
def test_the_peer_is_the_same_network(model: str, recurrent: str) -> None:
    ours, peer, batch = pair(model, recurrent)
    assert sum(parameter.numel() for parameter in peer.parameters()) == parameter_count(ours)
    towards = normal(6, 2, seed=3)
    with autograd.record():
        output = ours(*(array(values) for values in batch.inputs))
        weights, last = (
            (output.hops, output.penalty) if model == "structured" else (output.word_weights, output.sentence_weights)
        )
        total = (output.logits * array(towards)).sum() + (last.sum() if model == "structured" else nd.zeros(1))
    total.backward()
    its_logits, its_weights, its_last = peer(*(torch.tensor(values).long() for values in batch.inputs))
    its_total = (its_logits * torch.tensor(towards)).sum()
    (its_total + its_last.sum() if model == "structured" else its_total).backward()

    np.testing.assert_allclose(output.logits.asnumpy(), its_logits.detach().numpy(), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(last.asnumpy(), its_last.detach().numpy(), rtol=1e-3, atol=1e-5)
    actual = weights.asnumpy()
    if model == "hierarchical":
        actual = actual[np.arange(actual.shape[1]) < batch.inputs[1][:, None]]
    np.testing.assert_allclose(actual, its_weights.detach().numpy(), rtol=1e-3, atol=1e-5)
    own = dict(named_parameters(ours))
    for name, parameter in peer.named_parameters():
        expected = parameter.grad.numpy()
        assert np.abs(expected).max() > 1e-5, f"{name}: nothing is compared"
        np.testing.assert_allclose(dense(own[mine(name)].grad()), expected, rtol=1e-3, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("model", SMALL)
def test_both_orders_have_the_same_texts_and_group_similar_lengths(model: str) -> None:
    batches = documents.batches(model, "imdb", 5)
    words = {
        name: sorted(int(count) for batch in some for count in batch.inputs[1].ravel())
        for name, some in batches.items()
    }
    labels = {name: sum(batch.target.sum() for batch in some) for name, some in batches.items()}
    assert all(len(some) == 5 for some in batches.values())
    assert words["as drawn"] == words["similar length"] and len(set(words["as drawn"])) > 3
    assert labels["as drawn"] == labels["similar length"]
    spread = {name: max(np.ptp(batch.inputs[1]) for batch in some) for name, some in batches.items()}
    if model == "structured":
        assert spread["similar length"] < spread["as drawn"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", SMALL)
def test_ours_and_the_peer_train_as_described(
    model: str, optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> None:
    what = json.loads(json.dumps(documents.describe(model, "imdb", 2, tmp_path)))
    built: list[Any] = []
    build = peers.build
    monkeypatch.setattr(peers, "build", lambda *args, **named: built.append(build(*args, **named)) or built[-1])
    way = {"optimizer": optimizer, "recurrent": "reversed", "threads": 1}
    torch.manual_seed(1)
    untrained = build(what["settings"], optimizer=optimizer, recurrent="reversed").state_dict()
    measured = peers.measure({**what, **way, "arrays": what["arrays"]["as drawn"]})
    for name, before in untrained.items():
        assert (built[0].state_dict()[name] != before).any(), f"{name} was not trained"
    ours = documents.train(model, "imdb", 2)
    assert ours["seconds"] > 0 and measured["seconds"] > 0
    assert ours["parameters"] == measured["parameters"] == what["parameters"]


@pytest.fixture
def one_thread() -> Any:
    """``measure`` sets the number of threads of the whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
