"""From one learned query to many heads, one generalisation at a time.

    1  pooled           softmax(M w)^T M                     a learned score w for each memory
    2  scaled_dot       softmax(M q / sqrt(d))^T M           the score is a product with a query, which may change
    3  many_queries     softmax(Q M^T / sqrt(d)) M           several queries attend to one memory
    4  keys_and_values  softmax(Q K^T / sqrt(d)) V           what is compared is not what is returned
    5  self_attention   softmax(X W^Q (X W^K)^T / sqrt(d)) X W^V    all three are read from one sequence
    6  masked           ... + mask                           not every query may attend to everything
    7  multi_head       [head_1; ...; head_h] W^O            several of them side by side

Each rung is the one above it in this list in a special case; the tests show which. They are for reading and for tests:
networks use :mod:`.pooling`, :mod:`.multiplicative`, :mod:`.structured` and :mod:`.multihead`, which are faster.

All are functions of ``F`` (``mxnet.nd`` or ``mxnet.sym``) and tensors with the batch first: memory (batch,
memory_length, units), queries (batch, queries, units). They return contexts and weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from gluon_attn.typing import Operators, Tensor


def pooled(F: Operators, memory: Tensor, score: Tensor) -> tuple[Tensor, Tensor]:
    """A learned score (units, 1) ranks the memories; context (batch, units), weights (batch, memory_length)."""
    scores = F.reshape(F.dot(memory, score), (0, -1))
    weights = F.softmax(scores, axis=-1)
    context = F.reshape(F.batch_dot(F.expand_dims(weights, axis=1), memory), (0, -1))
    return context, weights


def scaled_dot(F: Operators, query: Tensor, memory: Tensor, units: int) -> tuple[Tensor, Tensor]:
    """One query (batch, units) for each sequence, as in a decoder; shapes as :func:`pooled`. With the same query
    w sqrt(units) for all, it is :func:`pooled`."""
    scores = F.batch_dot(memory, F.expand_dims(query, axis=2)) * units**-0.5
    weights = F.softmax(F.reshape(scores, (0, -1)), axis=-1)
    return F.reshape(F.batch_dot(F.expand_dims(weights, axis=1), memory), (0, -1)), weights


def many_queries(F: Operators, queries: Tensor, memory: Tensor, units: int) -> tuple[Tensor, Tensor]:
    """Contexts (batch, queries, units) and weights (batch, queries, memory_length). With one query, it is
    :func:`scaled_dot`."""
    weights = F.softmax(F.batch_dot(queries, memory, transpose_b=True) * units**-0.5, axis=-1)
    return F.batch_dot(weights, memory), weights


def keys_and_values(
    F: Operators, queries: Tensor, keys: Tensor, values: Tensor, units: int, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Values may have another width than queries and keys. With the memory as both, it is :func:`many_queries`.

    ``mask``, which is added to the scores, is for :func:`masked`.
    """
    scores = F.batch_dot(queries, keys, transpose_b=True) * units**-0.5
    weights = F.softmax(scores if mask is None else F.broadcast_add(scores, mask), axis=-1)
    return F.batch_dot(weights, values), weights


def self_attention(
    F: Operators, x: Tensor, projections: Sequence[Tensor], units: int, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Queries, keys and values are three projections (in_units, ...) of one sequence x (batch, length, in_units). Where
    x is queries, keys and values side by side and the projections select them, it is :func:`keys_and_values`."""
    queries, keys, values = (F.dot(x, projection) for projection in projections)
    return keys_and_values(F, queries, keys, values, units, mask)


def masked(F: Operators, x: Tensor, projections: Sequence[Tensor], units: int, mask: Tensor) -> tuple[Tensor, Tensor]:
    """``mask`` (batch, length, length) or broadcast to it is 0 where a query may attend and very negative where it may
    not. Without such places, it is :func:`self_attention`."""
    return self_attention(F, x, projections, units, mask)


def multi_head(
    F: Operators, x: Tensor, heads: Sequence[Sequence[Tensor]], output: Tensor, units: int, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Each head has projections of its own; ``output`` (heads * value_units, out_units) maps all contexts of a token.
    Weights are (batch, heads, length, length). With one head and the identity as ``output``, it is :func:`masked`."""
    contexts, weights = zip(*(masked(F, x, projections, units, mask) for projections in heads), strict=True)
    return F.dot(F.concat(*contexts, dim=2), output), F.stack(*weights, axis=1)
