"""Sums of float32 numbers that do not depend on the order of the addends.

A sum in float32 is exact, and therefore independent of the order, if all addends are multiples of one unit and no
partial sum exceeds 2^24 units. An array is thus divided into two parts that are summed separately: a coarse part, whose
unit is chosen for the largest element of all addends, and the remainder, whose unit is chosen for half of the coarse
unit. With N addends, both parts together keep 49 - 2 log2(N) bits below the largest element; anything smaller is
rounded off, and so is anything below 1e-31.

The method only requires that sums are computed in float32. Sums in float64 would be sufficient as well, but the servers
of MXNet 1.9 may sum float64 arrays in float32, depending on an uninitialised variable (``multi_precision_`` of
``KVStoreDistServer``).
"""

from __future__ import annotations

import math

from mxnet import nd

_DIGITS = 24
"""Significant bits of a float32 number."""

_SMALLEST, _LARGEST = 2.0**-60, 2.0**120
"""Range of magnitudes whose units, and the inverses of these, are normal float32 numbers."""


def magnitude(array: nd.NDArray) -> nd.NDArray:
    """Return the largest absolute value, (1,)."""
    return nd.maximum(array.max(), -array.min()).reshape((1,))


def units(largest: float, addends: int) -> tuple[float, float]:
    """Return the coarse and the fine unit.

    Args:
        largest: largest magnitude of any element of any addend.
        addends: number of addends.
    """
    if not math.isfinite(largest):
        return 1.0, 1.0  # the sum is not finite, whatever the units
    _, exponent = math.frexp(min(max(largest, _SMALLEST), _LARGEST))  # largest <= 2^exponent
    bits = _DIGITS - math.ceil(math.log2(addends))
    coarse = 2.0 ** (exponent - bits)
    return coarse, coarse / 2.0 ** (bits + 1)


def divided(array: nd.NDArray, largest: float, addends: int) -> tuple[nd.NDArray, nd.NDArray]:
    """Return the coarse and the fine part of an array; the sum of all addends is the sum over both parts."""
    coarse, fine = units(largest, addends)
    first = nd.rint(array * (1.0 / coarse)) * coarse
    return first, nd.rint((array - first) * (1.0 / fine)) * fine
