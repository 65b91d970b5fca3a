"""Sums of float32 numbers that are the same in every order of the addends.

Adding up is exact, and so does not depend on the order, where all addends are multiples of one unit and no sum is
larger than 2^24 units: float32 has them all. So an array is divided into two, of which each is added up by itself: a
coarse one with a unit for the largest element of all addends, and what that leaves, with a unit for half of the coarse
one. With N addends, together they have 49 - 2 log2(N) bits below the largest element; what is smaller is rounded off,
as is what is below 1e-31.

This needs nothing of who adds up but float32. Sums in float64 would do as well, but the servers of MXNet 1.9 may add up
float64 arrays in float32: whether they do is a variable without an initial value (``multi_precision_`` of
``KVStoreDistServer``).
"""

from __future__ import annotations

import math

from mxnet import nd

_DIGITS = 24
"""Bits of a float32 number."""

_SMALLEST, _LARGEST = 2.0**-60, 2.0**120
"""Between them are the magnitudes whose units and their inverses are ordinary float32 numbers."""


def magnitude(array: nd.NDArray) -> nd.NDArray:
    """The largest absolute value, (1,)."""
    return nd.maximum(array.max(), -array.min()).reshape((1,))


def units(largest: float, addends: int) -> tuple[float, float]:
    """The coarse and the fine unit.

    Args:
        largest: magnitude of all elements of all addends.
        addends: how many there are.
    """
    if not math.isfinite(largest):
        return 1.0, 1.0  # whatever the units, the sum is not finite either
    _, exponent = math.frexp(min(max(largest, _SMALLEST), _LARGEST))  # largest <= 2^exponent
    bits = _DIGITS - math.ceil(math.log2(addends))
    coarse = 2.0 ** (exponent - bits)
    return coarse, coarse / 2.0 ** (bits + 1)


def divided(array: nd.NDArray, largest: float, addends: int) -> tuple[nd.NDArray, nd.NDArray]:
    """The coarse part of an array and the fine one; the sum of all addends is the sum of both parts' sums."""
    coarse, fine = units(largest, addends)
    first = nd.rint(array * (1.0 / coarse)) * coarse
    return first, nd.rint((array - first) * (1.0 / fine)) * fine
