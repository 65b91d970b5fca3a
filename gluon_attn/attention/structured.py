"""Structured self-attention: r hops over one sentence, each a distribution over its tokens (Lin et al., 2017, "A
structured self-attentive sentence embedding", sec. 2), and the penalty on their redundancy.

    A = softmax(W_s2 tanh(W_s1 H^T))    M = A H    P = ||A A^T - I||_F^2
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import additive_mask
from gluon_attn.typing import Operators, Tensor


class StructuredAttention(HybridBlock):
    """A = softmax(W_s2 tanh(W_s1 H^T)) over the tokens; M = A H (sec. 2.1). Neither projection has a bias.

    With one hop, this is attention pooling with a learned query.

    Args:
        hops: *r*, number of rows of A.
        units: width of the hidden layer, *d_a*.
        in_units: width of the states, *2u* in the paper.

    Call: ``(states, mask=None) -> (matrix, weights)`` with states (batch, length, in_units), 0/1 mask (batch, length),
    matrix (batch, hops, in_units), weights (batch, hops, length), zero on padding.
    """

    def __init__(self, hops: int, units: int, in_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.hidden = nn.Dense(units, activation="tanh", use_bias=False, flatten=False, in_units=in_units)
            self.score = nn.Dense(hops, use_bias=False, flatten=False, in_units=units)

    def hybrid_forward(self, F: Operators, states: Tensor, mask: Tensor = None) -> tuple[Tensor, Tensor]:
        scores = F.transpose(self.score(self.hidden(states)), axes=(0, 2, 1))
        if mask is not None:
            scores = F.broadcast_add(scores, F.expand_dims(additive_mask(mask), axis=1))
        weights = F.softmax(scores, axis=-1)
        return F.batch_dot(weights, states), weights


def redundancy_penalty(F: Operators, weights: Tensor, hops: int) -> Tensor:
    """P = ||A A^T - I||_F^2 of each sentence (sec. 2.2): 0 if each hop attends to a single token and no two to the
    same.

    The norm is squared as in the paper; GluonNLP's tutorial and its descendants use the norm itself.

    Args:
        F: ``mxnet.nd`` or ``mxnet.sym``.
        weights: (batch, hops, length).
        hops: number of hops.

    Returns:
        (batch,), at least :func:`~gluon_attn.evaluation.hops.least_penalty`; of two hops or more at most
        hops * (hops - 1), which is reached if all attend to the same single token.
    """
    products = F.batch_dot(weights, weights, transpose_b=True)
    excess = F.broadcast_sub(products, F.expand_dims(F.eye(hops), axis=0))
    excess = F.reshape(excess, (0, 1, -1))
    return F.reshape(F.batch_dot(excess, excess, transpose_b=True), (-1,))  # a tenth of the time of a sum
