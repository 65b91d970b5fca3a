"""Types shared by the networks. MXNet is untyped, so these types are documentation and are not checked."""

from __future__ import annotations

from typing import Any, TypeAlias

Operators: TypeAlias = Any
"""The ``F`` of ``hybrid_forward``: ``mxnet.nd`` when a block runs eagerly, ``mxnet.sym`` while its graph is built."""

Tensor: TypeAlias = Any
"""``mxnet.nd.NDArray`` in eager mode, ``mxnet.sym.Symbol`` while a graph is built."""

Tensors: TypeAlias = tuple[Tensor, ...]
