"""Compile methods of a block, one graph per combination of shapes."""

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

    A compiled MXNet graph has one memory plan, which is computed again whenever the shapes of its inputs change, and a
    loop over target tokens is unrolled when the graph is built. Therefore each method has one graph per combination of
    shapes, and batches should have few distinct shapes. Until the block is hybridized, its methods are called directly.

    Graphs are built without ``static_alloc`` and ``static_shape``, regardless of how the owner was hybridized. Static
    plans for dozens of shapes take 9 GB instead of 1 GB and save 4 % of the time. With ``static_shape``, MXNet 1.9.1
    returns stale weight gradients if a graph is called twice within one ``autograd.record()`` before ``backward()``.

    A block with such graphs needs arrays: it cannot be exported as a symbol, nor be a child of a hybridized block.

    Args:
        owner: the block whose methods are called; they are compiled once it is hybridized.
    """

    def __init__(self, owner: HybridBlock) -> None:
        self._owner = owner
        self._graphs: dict[Any, _Graph] = {}

    def __call__(self, method: Callable[..., Any], *arrays: nd.NDArray, **numbers: int) -> Any:
        """Call ``method(F, *arrays, **numbers)``. The method must not depend on shapes other than those in ``numbers``.

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
            # The graph of one method need not use the parameters of the others.
            warnings.filterwarnings("ignore", message=".*not used by any computation")
            return self._graphs[key](*arrays)


class _Graph(HybridBlock):
    """One method of a block, wrapped as a block that shares the owner's parameters."""

    def __init__(self, owner: HybridBlock, method: Callable[..., Any]) -> None:
        super().__init__(prefix="")
        self.register_child(owner, "owner")
        self._method = method
        self._active = True

    def hybrid_forward(self, F: Operators, *arrays: Tensor) -> Any:
        return self._method(F, *arrays)
