"""Structured self-attention: r hops over one sentence, each a distribution over its tokens (Lin et al., 2017, "A
structured self-attentive sentence embedding", sec. 2), and what their redundancy costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import additive_mask


class StructuredAttention(HybridBlock):
    """A = softmax(W_s2 tanh(W_s1 H^T)), the softmax over the tokens; M = A H (sec. 2.1). Neither map has a bias.

    With one hop this is attention pooling with a learned query.

    Args:
        hops: *r*, rows of A.
        units: width of the hidden layer, *d_a*.
        in_units: width of the states, *2u* in the paper.

    Call: ``(states, mask=None) -> (matrix, weights)`` with states (batch, length, in_units), mask (batch, length) of
    0/1, matrix (batch, hops, in_units), weights (batch, hops, length), zero on padding.
    """

    def __init__(self, hops: int, units: int, in_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.hidden = nn.Dense(units, activation="tanh", use_bias=False, flatten=False, in_units=in_units)
            self.score = nn.Dense(hops, use_bias=False, flatten=False, in_units=units)

    def hybrid_forward(self, F: Any, states: Any, mask: Any = None) -> tuple[Any, Any]:
        scores = F.transpose(self.score(self.hidden(states)), axes=(0, 2, 1))
        if mask is not None:
            scores = F.broadcast_add(scores, F.expand_dims(additive_mask(mask), axis=1))
        weights = F.softmax(scores, axis=-1)
        return F.batch_dot(weights, states), weights


def redundancy_penalty(F: Any, weights: Any, hops: int) -> Any:
    """P = ||A A^T - I||_F^2 for each sentence (sec. 2.2): 0 when each hop stays on a token of its own.

    The square is the paper's; GluonNLP's tutorial and what was made after it take the norm itself.

    Args:
        F: ``mxnet.nd`` or ``mxnet.sym``.
        weights: (batch, hops, length).
        hops: number of hops.

    Returns:
        (batch,), between :func:`least_penalty` and hops * (hops - 1), where all hops are on one token.
    """
    products = F.batch_dot(weights, weights, transpose_b=True)
    excess = F.broadcast_sub(products, F.expand_dims(F.eye(hops), axis=0))
    excess = F.reshape(excess, (0, 1, -1))
    return F.reshape(F.batch_dot(excess, excess, transpose_b=True), (-1,))  # a product costs a tenth of a sum


def least_penalty(tokens: int | np.ndarray, hops: int) -> Any:
    """The smallest ||A A^T - I||_F^2 that ``hops`` distributions over so many tokens can reach.

    It is 0 for hops <= tokens: each hop takes a token of its own. For r hops over T < r tokens it is

        (r - T) + (r / T - 1)^2,

    and its root for the norm without the square. Proof. G = A A^T is positive semidefinite of order r and at most T of
    its eigenvalues are not 0, so at least r - T of those of G - I are -1 and cost 1 each: r - T (for the norm its root)
    is the bound that holds for any A. Rows that sum to 1 raise it. With 1 the vector of r ones, A^T 1 has T entries
    that add up to r, so 1^T G 1 = ||A^T 1||^2 >= r^2 / T; the largest eigenvalue of G is then at least 1^T G 1 / r >=
    r / T > 1 and costs at least (r / T - 1)^2 more. Both are met at once by T hops each on a token of its own and r - T
    hops spread evenly over all: there A^T A = I + (r - T) / T^2 J, with J all ones, has the eigenvalue r / T once and 1
    otherwise.

    Args:
        tokens: tokens of a sentence, 1 or more; or an array of such.
        hops: number of hops, 1 or more.

    Returns:
        A float, or an array of the shape of ``tokens``.
    """
    missing = np.maximum(hops - np.asarray(tokens, np.float64), 0.0)
    least = missing + (missing / tokens) ** 2
    return least if np.ndim(tokens) else float(least)


def overlap(weights: np.ndarray) -> np.ndarray:
    """How much the hops of a sentence look at the same tokens: the mean over all pairs of hops of what two share.

    Two hops share sum over the tokens of min(a_t, b_t), which is 1 less half their distance in the L1 norm: 1 when they
    are the same distribution, 0 when no token has weight in both.

    Args:
        weights: (sentences, hops, length), zero on padding.

    Returns:
        (sentences,), between 0 and 1.

    Raises:
        ValueError: there is one hop and so no pair.
    """
    hops = weights.shape[1]
    if hops < 2:
        raise ValueError(f"{hops} hop overlaps with nothing; give weights of two hops or more")
    shared = np.zeros(len(weights))
    for hop in range(hops - 1):
        shared += np.minimum(weights[:, hop : hop + 1], weights[:, hop + 1 :]).sum(axis=(1, 2), dtype=np.float64)
    return shared / (hops * (hops - 1) / 2)
