"""Sums of float32 numbers in every order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.training.distributed.exact_sums import divided, magnitude

SPANS = {"alike": 0, "far apart": 40, "as far as float32 goes": 140}


def gradients(workers: int, span: int) -> list[np.ndarray]:
    """With exponents that differ by up to ``span``, and elements that cancel each other but for a rest."""
    generator = np.random.RandomState(workers + span)
    scale = 2.0 ** -generator.randint(0, span + 1, (workers, 500))
    values = (generator.standard_normal((workers, 500)) * scale).astype(np.float32)
    values[-1, :250] = -values[0, :250]
    return list(values)


def in_order(addends: Iterable[nd.NDArray]) -> np.ndarray:
    """As a server adds up: each that arrives to the sum so far, in float32."""
    return sum(addends, nd.zeros(500)).asnumpy()


def exact_sum(values: list[np.ndarray], order: Iterable[int]) -> np.ndarray:
    largest = max(float(magnitude(nd.array(one)).asscalar()) for one in values)
    coarse, fine = zip(*(divided(nd.array(values[i]), largest, len(values)) for i in order), strict=True)
    total: np.ndarray = in_order(coarse) + in_order(fine)
    return total


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
@pytest.mark.parametrize("workers", [3, 4, 64])
def test_sums_are_the_same_in_every_order(workers: int, span: int) -> None:
    values = gradients(workers, span)
    generator = np.random.RandomState(1)
    orders = itertools.permutations(range(workers)) if workers < 5 else (generator.permutation(64) for _ in range(4))
    first, *others = [exact_sum(values, order) for order in orders]
    assert all(np.array_equal(first, other) for other in others)
    forward, back = (in_order(nd.array(values[i]) for i in order) for order in (range(workers), range(workers)[::-1]))
    assert not np.array_equal(forward, back)  # so these are numbers whose order matters


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
@pytest.mark.parametrize("workers", [3, 64])
def test_sums_are_right_to_the_bits_that_are_promised(workers: int, span: int) -> None:
    values = gradients(workers, span)
    right = np.array([math.fsum(map(float, column)) for column in zip(*values, strict=True)])
    largest = max(float(np.abs(one).max()) for one in values)
    rounding = workers * largest * 2.0 ** -(49 - 2 * math.ceil(math.log2(workers)))
    error = np.abs(exact_sum(values, range(workers)) - right)
    assert (error <= rounding + np.abs(right) * 2.0**-23).all()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_stays_so(value: float) -> None:
    values = [np.full(500, value, np.float32), *gradients(3, 0)]
    assert not np.isfinite(exact_sum(values, range(4))).any()


@pytest.mark.parametrize("size", [0.0, 1e-45, 1e-30, 3e38])
def test_sums_of_the_smallest_and_largest_numbers_are_finite(size: float) -> None:
    total = exact_sum([np.full(500, size, np.float32), *(np.zeros(500, np.float32) for _ in range(2))], range(3))
    assert total == pytest.approx(size, rel=1e-6, abs=1e-31)
