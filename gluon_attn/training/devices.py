"""The device that a process computes on."""

from __future__ import annotations

import mxnet as mx

from gluon_attn.errors import UsageError


def device_of(name: str, rank: int = 0) -> mx.Context:
    """Return the device of a worker, to be used in a ``with`` statement: new arrays are created on it by default.

    Args:
        name: ``cpu``, or ``gpu:N``, the first GPU; the workers of a machine take consecutive ones.
        rank: rank of the worker.

    Raises:
        UsageError: if the name is invalid or there is no such GPU.
    """
    kind, _, number = name.partition(":")
    if name == "cpu":
        return mx.cpu()
    if kind != "gpu" or not number.isdigit():
        raise UsageError(f"device {name!r} is unknown; choose cpu or gpu:0, and for several GPUs --local-workers")
    if not mx.runtime.Features().is_enabled("CUDA"):
        raise UsageError(f"device {name}: this build of MXNet is for CPUs; install mxnet-cu112, or use --device cpu")
    gpus = mx.context.num_gpus()
    if int(number) >= gpus:
        raise UsageError(f"device {name}: MXNet finds {gpus} GPUs here; choose another, or --device cpu")
    return mx.gpu(int(number) + rank % (gpus - int(number)))
