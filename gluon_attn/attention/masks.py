"""Masks from lengths: 1 where there is a token, 0 where there is padding."""

from __future__ import annotations

from gluon_attn.typing import Operators, Tensor


def token_mask(F: Operators, sequence: Tensor, valid_length: Tensor) -> Tensor:
    """Mark the tokens of padded sequences.

    Args:
        F: ``mxnet.nd`` or ``mxnet.sym``.
        sequence: (batch, length, ...); only its length is used.
        valid_length: (batch,), number of tokens, at least 1; float32, or the dtype of a ``sequence`` of floats.

    Returns:
        0/1 mask (batch, length) of the same dtype.
    """
    position = F.expand_dims(F.contrib.arange_like(sequence, axis=1), axis=0)
    return F.broadcast_lesser(position, F.expand_dims(valid_length, axis=1))


def memory_mask(F: Operators, query: Tensor, mask: Tensor) -> Tensor:
    """Repeat a token mask of the memory for every query, as ``AttentionCell`` expects.

    Args:
        F: ``mxnet.nd`` or ``mxnet.sym``.
        query: (batch, query_length, ...); only its length is used.
        mask: (batch, memory_length).

    Returns:
        (batch, query_length, memory_length).
    """
    zero = F.zeros_like(F.contrib.arange_like(query, axis=1))
    return F.broadcast_add(F.expand_dims(mask, axis=1), F.reshape(zero, (1, -1, 1)))


def heads_mask(F: Operators, queries: Tensor, mask: Tensor, heads: int) -> Tensor:
    """Repeat a token mask of the memory for every head and query, as multi-head attention expects.

    Args:
        F: ``mxnet.nd`` or ``mxnet.sym``.
        queries: (query_length, batch, ...); only its length is used.
        mask: (batch, memory_length), 0/1 or additive.
        heads: number of heads.

    Returns:
        (batch * heads, query_length, memory_length).
    """
    zero = F.zeros_like(F.contrib.arange_like(queries, axis=0))
    by_head = F.repeat(F.expand_dims(mask, axis=1), repeats=heads, axis=0)
    return F.broadcast_add(by_head, F.reshape(zero, (1, -1, 1)))


def causal_mask(F: Operators, tokens: Tensor) -> Tensor:
    """Mark, for each token, itself and the tokens before it: 0/1 mask (1, length, length) of tokens (length, batch,
    ...), of which only the length is used."""
    position = F.contrib.arange_like(tokens, axis=0)
    visible = F.broadcast_lesser_equal(F.expand_dims(position, axis=0), F.expand_dims(position, axis=1))
    return F.expand_dims(visible, axis=0)


def additive_mask(mask: Tensor) -> Tensor:
    """Mask that is added to the scores before the softmax: 0 for tokens, -1e18 for padding (GluonNLP's value; float16
    cannot hold it).

    On a CPU, adding takes a tenth of the time of ``where``. Every sentence must have at least one token.
    """
    return (mask - 1.0) * 1e18
