"""Positional encodings: the paper's formula, learned ones, and none."""

from __future__ import annotations

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.layers.positions import positions
from tests.gluon_attn.support import array, initialize


def test_sinusoids_are_the_papers_in_another_order() -> None:
    """PE(p, 2i) = sin(p / 10000^(2i / d)), PE(p, 2i + 1) = cos of the same (sec. 3.5)."""
    units, numbers = 8, np.array([0, 1, 2, 5, 700])
    code = positions("sinusoidal", units, 0)
    code.initialize()
    expected = np.empty((len(numbers), units))
    for i in range(units // 2):
        angle = numbers / 10_000 ** (2 * i / units)
        expected[:, i], expected[:, units // 2 + i] = np.sin(angle), np.cos(angle)
    np.testing.assert_allclose(code(array(numbers, "float32")).asnumpy(), expected, atol=1e-4)


def test_a_shift_of_the_position_is_a_rotation_of_the_code() -> None:
    """ "For any fixed offset k, PE(p + k) can be represented as a linear function of PE(p)" (sec. 3.5)."""
    code = positions("sinusoidal", 6, 0)
    code.initialize()
    rows = code(array(np.arange(20), "float32")).asnumpy()
    products = rows @ rows.T
    for offset in range(1, 5):
        np.testing.assert_allclose(np.diag(products, offset), products[0, offset], atol=1e-5)


def test_learned_positions_after_the_last_share_its_vector() -> None:
    code = positions("learned", 3, 4)
    numbers = array([0, 3, 9], "float32")
    initialize(code, numbers)
    rows = code(numbers).asnumpy()
    assert rows.shape == (3, 3) and np.abs(rows[0] - rows[1]).max() > 0.01
    np.testing.assert_array_equal(rows[1], rows[2])


def test_no_positions_add_nothing() -> None:
    assert (positions("none", 5, 0)(array([0, 7], "float32")).asnumpy() == np.zeros((2, 5))).all()


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="positions 'cubic' are unknown; choose one of sinusoidal, learned, none"):
        positions("cubic", 4, 8)
    with pytest.raises(UsageError, match="even width, not 5"):
        positions("sinusoidal", 5, 0)
