"""Readouts: decoder state, token before and context to the features that predict the next token."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock

from gluon_attn.layers.cells import _added, _maps
from gluon_attn.typing import Operators, Tensor


class MaxoutReadout(HybridBlock):
    """Linear maps of several arrays, added, and of each two units the larger (Goodfellow et al., 2013; Bahdanau et al.,
    2015, appendix A.2.2).

    Args:
        units: width of the result.
        in_units: width of each array.

    Call: ``(*arrays) -> features``, arrays (batch, steps, width), features (batch, steps, units).
    """

    def __init__(self, units: int, in_units: tuple[int, ...], **parameters: Any) -> None:
        super().__init__(**parameters)
        self._units = units
        with self.name_scope():
            self.maps = _maps(2 * units, in_units)

    def hybrid_forward(self, F: Operators, *arrays: Tensor) -> Tensor:
        total = _added(self.maps, arrays)
        first = F.slice_axis(total, axis=2, begin=0, end=self._units)
        return F.maximum(first, F.slice_axis(total, axis=2, begin=self._units, end=None))


class TanhReadout(HybridBlock):
    """Linear maps of several arrays, added, and their hyperbolic tangent: called as :class:`MaxoutReadout` is."""

    def __init__(self, units: int, in_units: tuple[int, ...], **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.maps = _maps(units, in_units)

    def hybrid_forward(self, F: Operators, *arrays: Tensor) -> Tensor:
        return F.Activation(_added(self.maps, arrays), act_type="tanh")
