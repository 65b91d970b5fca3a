"""The peers of ``vision_speed`` are the same networks as ours: as many parameters, and the same logits."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd

from benchmarks.ours.vision import multiply_adds_of_resnet, multiply_adds_of_vit
from gluon_attn.models.resnet import ResNet
from gluon_attn.models.vision_transformer import VisionTransformer
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import normal

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

from benchmarks.peers import torch_vision as peers  # noqa: E402

VIT: dict[str, Any] = {
    "size": 8, "patch": 2, "units": 12, "layers": 2, "heads": 3, "hidden_units": 20, "classes": 5, "dropout": 0.0,
}  # fmt: skip
RESNET: dict[str, Any] = {"width": 4, "blocks": 2, "classes": 5}


def theirs_of(ours: Any, theirs: Any) -> None:
    """Copy our parameters to the peer, by name."""
    own = {name: torch.tensor(parameter.data().asnumpy()) for name, parameter in named_parameters(ours)}
    wanted = theirs.state_dict()
    if isinstance(ours, VisionTransformer):
        wanted["first"], wanted["positions"] = (
            own["class_token"],
            torch.cat([own["positions.first"], own["positions.table"]])[None],
        )
        for kind in ("weight", "bias"):
            wanted[f"patches.{kind}"] = own[f"embedding.projection.{kind}"]
            wanted[f"output.{kind}"] = own[f"output.{kind}"]
            gain = "gamma" if kind == "weight" else "beta"
            wanted[f"norm.{kind}"] = own[f"norm.{gain}"].ravel()
            for layer in range(VIT["layers"]):
                for number, residual in enumerate(("attention_residual", "feed_forward_residual")):
                    wanted[f"layers.{layer}.norms.{number}.{kind}"] = own[
                        f"encoder.{layer}.{residual}.norm.{gain}"
                    ].ravel()
                wanted[f"layers.{layer}.hidden.{kind}"] = own[f"encoder.{layer}.feed_forward.hidden.{kind}"]
                wanted[f"layers.{layer}.narrow.{kind}"] = own[f"encoder.{layer}.feed_forward.output.{kind}"]
        for layer in range(VIT["layers"]):
            attention = f"encoder.{layer}.attention"
            parts = [own[f"{attention}.projection.{name}"] for name in ("query", "key", "value")]
            wanted[f"layers.{layer}.projection.weight"] = torch.cat(parts)
            wanted[f"layers.{layer}.output.weight"] = own[f"{attention}.output.weight"]
    else:
        wanted |= {name.replace("gamma", "weight").replace("beta", "bias"): value for name, value in own.items()}
    theirs.load_state_dict(wanted)


@pytest.mark.parametrize(("kind", "settings"), [(VisionTransformer, VIT), (ResNet, RESNET)])
def test_the_peer_has_the_same_logits_and_parameters(kind: Any, settings: dict[str, Any]) -> None:
    ours = kind(**settings)
    ours.initialize(mx.init.Normal(0.3))
    images = normal(2, 3, 8, 8)
    ours(nd.array(images))
    theirs = peers.build(settings).eval()
    theirs_of(ours, theirs)
    with torch.no_grad():
        expected = theirs(torch.tensor(images)).numpy()
    np.testing.assert_allclose(ours(nd.array(images)).asnumpy(), expected, rtol=1e-3, atol=1e-4)
    counted = sum(int(np.prod(one.shape)) for _, one in named_parameters(ours) if one.grad_req != "null")
    assert counted == sum(parameter.numel() for parameter in theirs.parameters())


def test_multiply_adds_are_those_that_pytorch_counts() -> None:
    """PyTorch does not count the products of its fused attention on a CPU: two of tokens x tokens x units a layer."""
    from torch.utils.flop_counter import FlopCounterMode

    of_attention = 2 * VIT["units"] * 17**2 * VIT["layers"]
    for settings, counted, more in (
        (VIT | {"pooling": "class"}, multiply_adds_of_vit, of_attention),
        (RESNET | {"size": 8}, multiply_adds_of_resnet, 0),
    ):
        model = peers.build(settings).eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(torch.zeros(1, 3, 8, 8))
        assert counted(settings) == pytest.approx(counter.get_total_flops() / 2 + more, rel=1e-6), settings
