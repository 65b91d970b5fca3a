"""Methods of a block as compiled graphs, one for each combination of shapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.typing import Operators, Tensor


class Graphs:
    """Calls methods of a block as compiled graphs.

    A compiled graph of MXNet has one memory plan and computes it again whenever the shapes of its inputs change; and a
    loop over the target's tokens is unrolled when the graph is built. So each method has a graph for each combination
    of shapes, and batches should come in few shapes. Before the block is hybridized its methods are called directly.

    Graphs are built without ``static_alloc`` and ``static_shape``, whatever the owner was hybridized with. Static plans
    for dozens of shapes take 9 GB instead of 1 GB and save 4 % of the time. With ``static_shape``, MXNet 1.9.1 returns
    stale weight gradients if a graph is called twice within one ``autograd.record()`` before ``backward()``.

    Args:
        owner: the block whose methods are called; compiled once it is hybridized.
    """

    def __init__(self, owner: HybridBlock) -> None:
        self._owner = owner
        self._graphs: dict[Any, _Graph] = {}

    def __call__(self, method: Callable[..., Any], *arrays: nd.NDArray, **numbers: int) -> Any:
        """``method(F, *arrays, **numbers)``, where ``method`` knows no shapes but those that the numbers state.

        Args:
            method: a bound method of the owner; it may call any of the owner's children.
            arrays: its inputs.
            numbers: constants of the graph, such as the number of steps to unroll.
        """
        if not self._owner._active:
            return method(nd, *arrays, **numbers)
        key = (method, *numbers.items(), *(array.shape for array in arrays))
        if key in self._graphs:
            return self._graphs[key](*arrays)
        self._graphs[key] = _Graph(self._owner, partial(method, **numbers))
        with warnings.catch_warnings():
            # The graph of one method does not use the parameters of the others, and is not meant to.
            warnings.filterwarnings("ignore", message=".*not used by any computation")
            return self._graphs[key](*arrays)


class _Graph(HybridBlock):
    """One method of a block as a separate block, which shares the parameters."""

    def __init__(self, owner: HybridBlock, method: Callable[..., Any]) -> None:
        super().__init__(prefix="")
        self.register_child(owner, "owner")
        self._method = method
        self._active = True

    def hybrid_forward(self, F: Operators, *arrays: Tensor) -> Any:
        return self._method(F, *arrays)
