"""Decoders that read the reference: the target of a batch, the loss of a token, and the likelihood of references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mxnet import nd

from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.batching import length_batches, pad
from gluon_attn.training.objective import Batch
from preprocessing.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID

_ROWS = 64  # per batch whose likelihood is measured


def begun_and_ended(targets: Sequence[np.ndarray], multiple: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The targets of a batch with a begin token, as they are read, and with an end token, as they are predicted, both
    (rows, length), padded to a multiple of some length; and the number of tokens with ends, (1,), which divides the
    loss."""
    begun = pad([np.append(BEGIN_ID, ids) for ids in targets], PADDING_ID, multiple)
    ended = pad([np.append(ids, END_ID) for ids in targets], PADDING_ID, multiple)
    return begun, ended, np.array([sum(len(ids) + 1 for ids in targets)], np.float32)


def loss_per_token(outputs: Any, tokens: nd.NDArray) -> nd.NDArray:
    """The loss of a batch, whose target is its number of tokens."""
    return outputs.loss.sum() / tokens


def likelihoods(model: EncoderDecoder, lengths: np.ndarray, batch_of: Callable[[np.ndarray], Batch]) -> np.ndarray:
    """For each reference, -ln p in nats and the number of tokens including the end: (rows, 2).

    Args:
        model: the network.
        lengths: (rows,), number of tokens of each reference.
        batch_of: function that returns the batch of these rows.
    """
    nats = np.zeros(len(lengths))
    for rows in length_batches(lengths, _ROWS):
        outputs = model(*(nd.array(array, dtype=array.dtype) for array in batch_of(rows).inputs))
        nats[rows] = outputs.nll.asnumpy().sum(axis=1)
    return np.stack([nats, lengths + 1], axis=1)
