"""Readouts map decoder state, previous token and context to the features that predict the next token."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.typing import Operators, Tensor


class MaxoutReadout(HybridBlock):
    """Sum of a linear map of each input, then the maximum of each pair of units (Goodfellow et al., 2013; Bahdanau et
    al., 2015, appendix A.2.2).

    Args:
        units: width of the features.
        in_units: width of each input.

    Call: ``(*inputs) -> features``, inputs (batch, steps, width), features (batch, steps, units).
    """

    def __init__(self, units: int, in_units: tuple[int, ...], **parameters: Any) -> None:
        super().__init__(**parameters)
        self._units = units
        with self.name_scope():
            self.maps = _linear_maps(2 * units, in_units)

    def hybrid_forward(self, F: Operators, *inputs: Tensor) -> Tensor:
        total = _sum_of_maps(self.maps, inputs)
        first = F.slice_axis(total, axis=2, begin=0, end=self._units)
        return F.maximum(first, F.slice_axis(total, axis=2, begin=self._units, end=None))


class TanhReadout(HybridBlock):
    """Hyperbolic tangent of the sum of a linear map of each input. Arguments and call as in :class:`MaxoutReadout`."""

    def __init__(self, units: int, in_units: tuple[int, ...], **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.maps = _linear_maps(units, in_units)

    def hybrid_forward(self, F: Operators, *inputs: Tensor) -> Tensor:
        return F.Activation(_sum_of_maps(self.maps, inputs), act_type="tanh")


def _linear_maps(units: int, in_units: tuple[int, ...]) -> nn.HybridSequential:
    """Return a linear map per width; only the first has a bias."""
    maps = nn.HybridSequential()
    with maps.name_scope():
        for index, width in enumerate(in_units):
            maps.add(nn.Dense(units, use_bias=index == 0, flatten=False, in_units=width))
    return maps


def _sum_of_maps(maps: nn.HybridSequential, inputs: tuple[Tensor, ...]) -> Tensor:
    total, *rest = (linear(values) for linear, values in zip(maps, inputs, strict=True))
    for part in rest:
        total = total + part
    return total
