"""The networks that steer in PyTorch are the ones of this project: with the same parameters, the same steering."""

from __future__ import annotations

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd

from benchmarks.ours import driving
from gluon_attn.training.checkpoint import named_parameters
from gluon_attn.training.drives import initial_state

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

# Ours -> the peer's, where names differ.
NAMES = {"score.query": "query", "score.key": "key", "score.value": "score", "lstm.i2h": "inputs", "lstm.h2h": "gates"}


MODELS = ["attention", "lstm", "convolutions"]


def peer_of(model: str, units: int) -> torch.nn.Module:
    from benchmarks.peers.torch_driving import Driver

    sizes = {"model": model, "units": units, "attention_units": driving.ATTENTION_UNITS}
    return Driver({**sizes, "channels": driving.CHANNELS, "height": driving.HEIGHT, "width": driving.WIDTH})


@pytest.mark.parametrize("model", MODELS)
def test_multiply_adds_are_those_that_pytorch_counts(model: str) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    peer, (sequences, frames) = peer_of(model, 64), driving.SHAPES[model]
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        peer(torch.zeros(sequences, frames, 3, driving.HEIGHT, driving.WIDTH))
    of_first_state = 0 if model == "convolutions" else 2 * 64 * driving.CHANNELS[-1] * sequences
    counted = sequences * frames * driving.multiply_adds(model, 64) + of_first_state
    assert counted == pytest.approx(counter.get_total_flops() / 2, rel=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_both_sides_are_the_same_network(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "CHANNELS", [2, 3, 3, 4, 4])
    monkeypatch.setattr(driving, "HEIGHT", 16)
    monkeypatch.setattr(driving, "WIDTH", 32)
    monkeypatch.setattr(driving, "SHAPES", {"attention": (2, 3), "lstm": (2, 3), "convolutions": (2, 3)})
    mx.random.seed(1)
    ours = driving.build(model, 5)
    ours.initialize(mx.init.Xavier(magnitude=6))
    peer = peer_of(model, 5)
    state = {}
    for name, parameter in named_parameters(ours):
        layer, _, kind = name.rpartition(".")
        if layer.startswith("convolutions.layers."):
            layer = f"convolutions.{2 * int(layer.rpartition('.')[2])}"
        state[f"{NAMES.get(layer, layer)}.{kind}"] = torch.from_numpy(parameter.data().asnumpy().copy())
    peer.load_state_dict(state)
    (batch,) = driving.drawn(model, 1)
    begin = (nd.array(array) for array in initial_state(2, ours.state_units))
    degrees = ours(nd.array(batch["frames"]), *begin).degrees.asnumpy()
    np.testing.assert_allclose(peer(torch.from_numpy(batch["frames"])).detach().numpy(), degrees, rtol=1e-3, atol=1e-4)
