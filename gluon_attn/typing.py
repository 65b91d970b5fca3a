"""Types that the networks share."""

from __future__ import annotations

from typing import Any, TypeAlias

Tensor: TypeAlias = Any
"""``mxnet.nd.NDArray`` when a block runs eagerly, ``mxnet.sym.Symbol`` while its graph is built. MXNet is untyped."""

F: TypeAlias = Any
"""The module whose operators a block calls, the ``F`` of ``hybrid_forward``: ``mxnet.nd`` or ``mxnet.sym``."""
