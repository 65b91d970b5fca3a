"""From one learned query to many heads, one generalisation at a time.

    1  pooled           softmax(M w)^T M                     a learned vector w scores each memory
    2  scaled_dot       softmax(M q / sqrt(d))^T M           a query, which may change, replaces w
    3  many_queries     softmax(Q M^T / sqrt(d)) M           several queries attend to one memory
    4  keys_and_values  softmax(Q K^T / sqrt(d)) V           keys are compared, values are returned
    5  self_attention   softmax(X W^Q (X W^K)^T / sqrt(d)) X W^V    one sequence gives all three
    6  masked           ... + mask                           some positions are hidden from some queries
    7  multi_head       [head_1; ...; head_h] W^O            several heads in parallel

Each function contains the previous one as a special case (5 contains 4 where there are as many queries as keys); the
tests show how. These functions are for reading and for tests: networks use :mod:`.pooling`, :mod:`.multiplicative`,
:mod:`.structured` and :mod:`.multihead`, which are faster.

All functions take ``F`` (``mxnet.nd`` or ``mxnet.sym``) and tensors with the batch first: memory (batch,
memory_length, units), queries (batch, queries, units). They return contexts and weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from gluon_attn.typing import Operators, Tensor


def pooled(F: Operators, memory: Tensor, score: Tensor) -> tuple[Tensor, Tensor]:
    """Pool with a learned score vector (units, 1); context (batch, units), weights (batch, memory_length)."""
    scores = F.reshape(F.dot(memory, score), (0, -1))
    weights = F.softmax(scores, axis=-1)
    context = F.reshape(F.batch_dot(F.expand_dims(weights, axis=1), memory), (0, -1))
    return context, weights


def scaled_dot(F: Operators, query: Tensor, memory: Tensor, units: int) -> tuple[Tensor, Tensor]:
    """Attend with one query (batch, units) per sequence, as in a decoder; shapes as in :func:`pooled`. If all queries
    are w sqrt(units), this is :func:`pooled`."""
    scores = F.batch_dot(memory, F.expand_dims(query, axis=2)) * units**-0.5
    weights = F.softmax(F.reshape(scores, (0, -1)), axis=-1)
    return F.reshape(F.batch_dot(F.expand_dims(weights, axis=1), memory), (0, -1)), weights


def many_queries(F: Operators, queries: Tensor, memory: Tensor, units: int) -> tuple[Tensor, Tensor]:
    """Contexts (batch, queries, units) and weights (batch, queries, memory_length). With one query, this is
    :func:`scaled_dot`."""
    weights = F.softmax(F.batch_dot(queries, memory, transpose_b=True) * units**-0.5, axis=-1)
    return F.batch_dot(weights, memory), weights


def keys_and_values(
    F: Operators, queries: Tensor, keys: Tensor, values: Tensor, units: int, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Values may differ in width from queries and keys. If the memory is both, this is :func:`many_queries`.

    ``mask`` is added to the scores; :func:`masked` uses it.
    """
    scores = F.batch_dot(queries, keys, transpose_b=True) * units**-0.5
    weights = F.softmax(scores if mask is None else F.broadcast_add(scores, mask), axis=-1)
    return F.batch_dot(weights, values), weights


def self_attention(
    F: Operators, x: Tensor, projections: Sequence[Tensor], units: int, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Queries, keys and values are three projections (in_units, ...) of one sequence x (batch, length, in_units). If x
    is queries, keys and values concatenated and the projections select them, this is :func:`keys_and_values`."""
    queries, keys, values = (F.dot(x, projection) for projection in projections)
    return keys_and_values(F, queries, keys, values, units, mask)


def masked(F: Operators, x: Tensor, projections: Sequence[Tensor], units: int, mask: Tensor) -> tuple[Tensor, Tensor]:
    """``mask``, broadcast to (batch, length, length), is 0 where a query may attend and very negative where it may not.
    If it is 0 everywhere, this is :func:`self_attention`."""
    return self_attention(F, x, projections, units, mask)


def multi_head(
    F: Operators, x: Tensor, heads: Sequence[Sequence[Tensor]], output: Tensor, units: int, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Each head has its own projections; ``output`` (heads * value_units, out_units) maps all contexts of a token.
    Weights are (batch, heads, length, length). With one head and the identity as ``output``, this is :func:`masked`."""
    contexts, weights = zip(*(masked(F, x, projections, units, mask) for projections in heads), strict=True)
    return F.dot(F.concat(*contexts, dim=2), output), F.stack(*weights, axis=1)
