"""Compiled graphs of a model's methods, one for each shape they are called with."""

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

    A compiled graph of MXNet has one plan for its memory and makes it anew whenever the shapes of its inputs change;
    and a loop over the target's tokens is unrolled when a graph is built. So there is one graph for each method and
    shapes, and batches should come in few shapes. A block that is not hybridized is called as it is.

    No graph asks for a fixed plan of its memory (``static_alloc``), whatever the owner was hybridized with: with dozens
    of shapes those plans held 9 GB where 1 GB does, and saved 4 % of the time. Under ``static_shape``, MXNet 1.9.1 also
    gives the same gradients of the weights for ever to a graph that one recording calls twice before it goes backward.

    Args:
        owner: the block whose methods are called; compiled once it is hybridized.
    """

    def __init__(self, owner: HybridBlock) -> None:
        self._owner = owner
        self._graphs: dict[Any, _Graph] = {}

    def __call__(self, method: Callable[..., Any], *arrays: nd.NDArray, **numbers: int) -> Any:
        """``method(F, *arrays, **numbers)``, a method that knows no shape but what the numbers tell."""
        if not self._owner._active:
            return method(nd, *arrays, **numbers)
        key = (method.__name__, *numbers.items(), *(array.shape for array in arrays))
        if key not in self._graphs:
            self._graphs[key] = _Graph(self._owner, partial(method, **numbers))
            with warnings.catch_warnings():
                # A graph that encodes does not use the parameters that decode, and is meant not to.
                warnings.filterwarnings("ignore", message=".*not used by any computation")
                return self._graphs[key](*arrays)
        return self._graphs[key](*arrays)


class _Graph(HybridBlock):
    """One method of a block as a block of its own, which shares the parameters."""

    def __init__(self, owner: HybridBlock, method: Callable[..., Any]) -> None:
        super().__init__(prefix="")
        self.register_child(owner, "owner")
        self._method = method
        self._active = True

    def hybrid_forward(self, F: Operators, *arrays: Tensor) -> Any:
        return self._method(F, *arrays)
