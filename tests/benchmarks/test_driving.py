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


@pytest.mark.parametrize("model", ["attention", "lstm", "convolutions"])
def test_both_sides_are_the_same_network(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.peers.torch_driving import Driver

    monkeypatch.setattr(driving, "CHANNELS", [2, 3, 3, 4, 4])
    monkeypatch.setattr(driving, "HEIGHT", 16)
    monkeypatch.setattr(driving, "WIDTH", 32)
    monkeypatch.setattr(driving, "SHAPES", {"attention": (2, 3), "lstm": (2, 3), "convolutions": (2, 3)})
    mx.random.seed(1)
    ours = driving.build(model, 5)
    ours.initialize(mx.init.Xavier(magnitude=6))
    sizes = {"model": model, "units": 5, "attention_units": driving.ATTENTION_UNITS}
    peer = Driver({**sizes, "channels": driving.CHANNELS, "height": 16, "width": 32})
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
