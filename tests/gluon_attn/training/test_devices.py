"""The device of a worker; a GPU that is not here is refused in one line."""

from __future__ import annotations

import mxnet as mx
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.training import devices
from gluon_attn.training.devices import device_of


def test_arrays_are_made_on_the_device() -> None:
    with device_of("cpu"):
        assert mx.nd.zeros(1).context == mx.cpu()


@pytest.mark.parametrize("name", ["tpu", "gpu", "gpu:", "gpu:-1", "gpu:a", "gpu:0,gpu:1"])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(
        UsageError, match=f"^device '{name}' is unknown; choose cpu or gpu:0, and for several GPUs --local-workers$"
    ):
        device_of(name)


@pytest.mark.skipif(mx.runtime.Features().is_enabled("CUDA"), reason="this build of MXNet has CUDA")
def test_a_build_for_cpus_says_so() -> None:
    with pytest.raises(UsageError, match=r"^device gpu:0: this build of MXNet is for CPUs; install mxnet-cu112"):
        device_of("gpu:0")


def test_workers_take_the_gpus_of_a_machine_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices.mx.runtime.Features, "is_enabled", lambda *_: True)
    monkeypatch.setattr(devices.mx.context, "num_gpus", lambda: 3)
    assert [device_of("gpu:1", rank).device_id for rank in range(4)] == [1, 2, 1, 2]
    with pytest.raises(UsageError, match=r"^device gpu:3: MXNet finds 3 GPUs here"):
        device_of("gpu:3")
