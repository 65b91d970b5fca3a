"""Types that the networks share. MXNet is untyped, so these say what is meant and nothing is checked."""

from __future__ import annotations

from typing import Any, TypeAlias

Operators: TypeAlias = Any
"""The ``F`` of ``hybrid_forward``: ``mxnet.nd`` when a block runs eagerly, ``mxnet.sym`` while its graph is built."""

Tensor: TypeAlias = Any
"""``mxnet.nd.NDArray`` with the one, ``mxnet.sym.Symbol`` with the other."""

Tensors: TypeAlias = tuple[Tensor, ...]
