"""The peers of ``bert_speed`` are the same networks as ours: the same loss on the same batch, as many parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.ours import bert
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from preprocessing.text.vocabulary import PADDING_ID
from tests.gluon_attn.support import array, initialize

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

from benchmarks.peers import torch_bert_training as peers  # noqa: E402

UNITS = 32
# Ours -> the peer's, in this order.
NAMES = {
    "attention.projection": "projection",
    "attention.output": "output",
    "feed_forward.hidden": "hidden",
    "feed_forward.output": "narrow",
    "attention_residual.norm": "norms.0",
    "feed_forward_residual.norm": "norms.1",
    "gamma": "weight",
    "beta": "bias",
}


def copy(ours: Any, theirs: Any, heads: int) -> None:
    """Copy our parameters to the peer, by name."""
    own = {name: torch.tensor(parameter.data().asnumpy()) for name, parameter in named_parameters(ours)}
    for prefix in [name.removesuffix(".query") for name in own if name.endswith(".query")]:
        parts = [own.pop(f"{prefix}.{part}") for part in ("query", "key", "value")]
        own[f"{prefix}.weight"] = torch.cat(parts)
        own[f"{prefix}.bias"] = own[f"{prefix}.bias"].unflatten(0, (heads, 3, -1)).transpose(0, 1)
    wanted, given = theirs.state_dict(), {}
    for name, value in own.items():
        for mine, other in NAMES.items():
            name = name.replace(mine, other)
        given[name] = value.reshape(wanted[name].shape)
    theirs.load_state_dict(given)


def both(model: str) -> tuple[Any, Any, Any, Any]:
    """Our network with random parameters, the peer with the same parameters, the objective, and a batch of the
    embedded sample. Normalisation multiplies by numbers around one, so that a state depends on its token after all
    layers."""
    variant, data, objective, (batch,) = bert.prepared(model, UNITS, 1)
    ours = initialize(variant.settings.build(data), *map(array, batch.inputs), scale=0.2)
    for name, parameter in named_parameters(ours):
        if name.endswith("gamma"):
            parameter.set_data(1 + parameter.data())
    theirs = peers.build(bert.settings_of(variant, data)).eval()
    copy(ours, theirs, variant.settings.heads)
    return ours, theirs, objective, batch


def read_by(theirs: Any, batch: Any) -> list[Any]:
    """The inputs of the peer."""
    arrays = bert.arrays_of(batch)
    return [torch.from_numpy(arrays[name]) for name in theirs.inputs]


@pytest.mark.parametrize("model", bert.VARIANTS)
def test_the_peer_has_the_same_loss_and_parameters(model: str) -> None:
    ours, theirs, objective, batch = both(model)
    assert (batch.inputs[0] == PADDING_ID).any()
    loss = objective.loss(ours(*map(array, batch.inputs)), array(batch.target)).mean().asscalar()
    with torch.no_grad():
        assert theirs(*read_by(theirs, batch)).item() == pytest.approx(float(loss), rel=1e-5)
    assert sum(parameter.numel() for parameter in theirs.parameters()) == parameter_count(ours)


def test_the_classifier_has_the_same_logits() -> None:
    ours, theirs, _, batch = both("fine-tuning")
    ids, lengths, _ = read_by(theirs, batch)
    logits = ours(*map(array, batch.inputs)).logits.asnumpy()
    assert np.abs(logits).max() > 0.1
    with torch.no_grad():
        np.testing.assert_allclose(theirs.logits(ids, lengths).numpy(), logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", bert.VARIANTS)
def test_multiply_adds_are_those_that_pytorch_counts(model: str) -> None:
    """Each text is read alone, so without padding. PyTorch does not count the products of its fused attention on a CPU:
    two of length x length x units a layer."""
    from torch.utils.flop_counter import FlopCounterMode

    variant, data, _, _ = bert.prepared(model, UNITS, 1)
    settings = bert.settings_of(variant, data)
    theirs = peers.build(settings).eval()
    lengths, predictions = np.array([7, 4]), 3 if model == "pretraining" else 0
    counted = 0.0
    for length in lengths.tolist():
        ids = torch.full((1, length), 9)
        places = torch.arange(2 if length == 7 else 1)
        given = {"ids": ids, "segments": 0 * ids, "lengths": torch.tensor([length]), "places": places}
        given |= {"targets": 9 + places, "together": torch.ones(1, dtype=int), "labels": torch.ones(1, dtype=int)}
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            theirs(*(given[name] for name in theirs.inputs))
        counted += counter.get_total_flops() / 2 + 2 * UNITS * length**2 * settings["layers"]
    assert bert.multiply_adds(settings, lengths, predictions) == pytest.approx(counted, rel=1e-6)


@pytest.mark.parametrize("model", bert.VARIANTS)
def test_the_peer_trains_on_the_batches_that_are_described(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "texts.npz"
    what = bert.describe(model, UNITS, 2, path)
    batches = bert.prepared(model, UNITS, 2)[-1]
    assert what["tokens"] == sum((batch.inputs[0] != PADDING_ID).sum() for batch in batches)
    predictions = [(batch.target > 0).sum() if model == "pretraining" else 0 for batch in batches]
    lengths = [(batch.inputs[0] != PADDING_ID).sum(axis=1) for batch in batches]
    forward = sum(map(bert.multiply_adds, [what["settings"]] * 2, lengths, predictions))
    assert what["gflop"] == pytest.approx(6e-9 * forward)
    trained = peers.build(what["settings"])
    before = {name: value.clone() for name, value in trained.state_dict().items()}
    monkeypatch.setattr(peers, "build", lambda _: trained)
    measured = peers.measure({**what, "arrays": str(path), "threads": 1, "compile": False})
    assert measured["seconds"] > 0 and measured["parameters"] == what["parameters"]
    assert [name for name, value in trained.state_dict().items() if (value == before[name]).all()] == []
