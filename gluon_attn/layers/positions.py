"""Position embeddings, which are added to token embeddings (Vaswani et al., 2017, sec. 3.5)."""

from __future__ import annotations

import math
from typing import Any

from mxnet.gluon import HybridBlock
from mxnet.initializer import Normal

from gluon_attn.errors import UsageError
from gluon_attn.typing import Operators, Tensor

POSITIONS = ("sinusoidal", "learned", "none")


class SinusoidalPositions(HybridBlock):
    """sin(p / 10000^(2i / units)) for each i below units / 2, then the cosines of the same angles (sec. 3.5).

    The paper alternates sines and cosines; only the order of the dimensions differs. Positions may be larger than any
    seen in training.

    Args:
        units: width, which must be even.

    Call: positions (n,), counted from 0 -> (n, units).

    Raises:
        UsageError: if the width is odd.
    """

    def __init__(self, units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        if units % 2:
            raise UsageError(f"sines and cosines need an even width, not {units}; choose another or learned positions")
        self._half = units // 2

    def hybrid_forward(self, F: Operators, positions: Tensor) -> Tensor:
        frequencies = F.exp(F.arange(self._half) * (-math.log(10_000) / self._half))
        angles = F.broadcast_mul(F.expand_dims(positions, axis=1), F.expand_dims(frequencies, axis=0))
        return F.concat(F.sin(angles), F.cos(angles), dim=1)


class LearnedPositions(HybridBlock):
    """A learned vector per position (Gehring et al., 2017); all positions after the last one share its vector.

    Args:
        units: width of a vector.
        length: number of positions.

    Call: positions (n,), counted from 0 -> (n, units).
    """

    def __init__(self, units: int, length: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.table = self.params.get("table", shape=(length, units), init=Normal(units**-0.5))

    def hybrid_forward(self, F: Operators, positions: Tensor, table: Tensor) -> Tensor:
        return F.take(table, positions, mode="clip")


class NoPositions(HybridBlock):
    """Zeros: the network knows nothing of the order of its tokens, except through a causal mask.

    Args:
        units: width.

    Call: positions (n,) -> (n, units).
    """

    def __init__(self, units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._units = units

    def hybrid_forward(self, F: Operators, positions: Tensor) -> Tensor:
        return F.broadcast_mul(F.expand_dims(positions, axis=1), F.zeros((1, self._units)))


def positions(kind: str, units: int, length: int) -> HybridBlock:
    """Return the block of one of ``POSITIONS``; ``length`` is the number of learned positions.

    Raises:
        UsageError: if the kind is unknown.
    """
    if kind not in POSITIONS:
        raise UsageError(f"positions {kind!r} are unknown; choose one of {', '.join(POSITIONS)}")
    if kind == "learned":
        return LearnedPositions(units, length)
    return SinusoidalPositions(units) if kind == "sinusoidal" else NoPositions(units)
