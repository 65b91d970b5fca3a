"""Redundancy of hops (Lin et al., 2017): their overlap, and the lowest possible penalty."""

from __future__ import annotations

from typing import Any

import numpy as np


def least_penalty(tokens: int | np.ndarray, hops: int) -> Any:
    """The smallest ||A A^T - I||_F^2 that ``hops`` distributions over ``tokens`` tokens can reach.

    It is 0 for hops <= tokens, when each hop attends to a different token. For r hops over T < r tokens it is

        (r - T) + (r / T - 1)^2,

    or its square root for the norm without the square. Proof. G = A A^T is positive semidefinite of order r, and at
    most T of its eigenvalues are nonzero, so at least r - T eigenvalues of G - I are -1 and contribute 1 each. This
    bound, r - T, holds for any A; rows that sum to 1 raise it. With 1 the vector of r ones, A^T 1 has T entries that
    sum to r, so 1^T G 1 = ||A^T 1||^2 >= r^2 / T. The largest eigenvalue of G is then at least 1^T G 1 / r >= r / T > 1
    and contributes at least (r / T - 1)^2 more. Both bounds are attained if T hops attend to one token each and r - T
    hops are uniform: then A^T A = I + (r - T) / T^2 J, with J all ones, has the eigenvalue r / T once and 1 otherwise.

    Args:
        tokens: number of tokens of a sentence, at least 1, or an array of such numbers.
        hops: number of hops, at least 1.

    Returns:
        A float, or an array of the shape of ``tokens``.
    """
    missing = np.maximum(hops - np.asarray(tokens, np.float64), 0.0)
    least = missing + (missing / tokens) ** 2
    return least if np.ndim(tokens) else float(least)


def overlap(weights: np.ndarray) -> np.ndarray:
    """Mean overlap of all pairs of hops: how much the hops of a sentence attend to the same tokens.

    The overlap of two hops is the sum over tokens of min(a_t, b_t), which is 1 minus half of their L1 distance: 1 if
    the distributions are equal, 0 if no token has weight in both.

    Args:
        weights: (sentences, hops, length), zero on padding.

    Returns:
        (sentences,), between 0 and 1.

    Raises:
        ValueError: if there are fewer than two hops.
    """
    hops = weights.shape[1]
    if hops < 2:
        raise ValueError(f"{hops} hop has no overlap; at least two hops are needed")
    shared = np.zeros(len(weights))
    for hop in range(hops - 1):
        shared += np.minimum(weights[:, hop : hop + 1], weights[:, hop + 1 :]).sum(axis=(1, 2), dtype=np.float64)
    return shared / (hops * (hops - 1) / 2)
