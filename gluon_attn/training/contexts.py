"""Words with their n - 1 previous words: training and evaluation of feed-forward language models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.metrics import perplexity_of
from gluon_attn.models.neural_language_model import NeuralLanguageModel
from gluon_attn.training.objective import Batch, Objective, Share, share_of_rows

_AT_ONCE = 1_024


def contexts(ids: np.ndarray, order: int, first: int) -> np.ndarray:
    """Return the previous words of each word of a text, (tokens, order - 1) int32, the nearest first.

    Args:
        ids: (tokens,), the text.
        order: number of words including the predicted one, 2 or more.
        first: the word that precedes the text; the end of a line in a text of lines.
    """
    padded = np.concatenate([np.full(order - 1, first), ids]).astype(np.int32)
    return np.lib.stride_tricks.sliding_window_view(padded[:-1], order - 1)[:, ::-1]


def context_losses(model: NeuralLanguageModel, ids: np.ndarray, first: int) -> np.ndarray:
    """-ln p of each word of a text in nats, (tokens,), given the previous words."""
    before, losses = contexts(ids, model.order, first), []
    for start in range(0, len(ids), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        losses.append(model(nd.array(before[some], dtype="int32"), nd.array(ids[some], dtype="int32")).asnumpy())
    return np.concatenate(losses)


def context_objective(
    training: np.ndarray, validation: np.ndarray, *, order: int, batch_size: int, first: int
) -> Objective:
    """Objective of predicting each word of a text from the previous words, for
    :func:`gluon_attn.training.loop.fit`; the epoch is selected by the perplexity of the validation text.

    A batch has words from the whole text, drawn without replacement in each epoch; the last batch is filled up with
    words of the first.

    Args:
        training, validation: (tokens,), texts.
        order, first: as in :func:`contexts`.
        batch_size: number of words per batch.
    """
    before, targets = contexts(training, order, first), training.astype(np.int32)
    steps = -(-len(targets) // batch_size)

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        drawn = np.resize(generator.permutation(len(targets)), (steps, batch_size))
        for positions in drawn:
            # The model predicts its inputs; the target of the loss is a placeholder.
            yield Batch((before[positions], targets[positions]), np.zeros(1, np.float32))

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        assert isinstance(model, NeuralLanguageModel)
        loss = float(context_losses(model, validation, first).mean(dtype=np.float64))
        return {"perplexity": perplexity_of(loss), "loss": loss}

    return Objective(batches, steps, _loss, evaluate, select="perplexity", share=_share)


def _share(batch: Batch, number: int, shares: int) -> Share:
    rows, own = share_of_rows(len(batch.inputs[0]), number, shares)
    inputs = tuple(values[own] for values in batch.inputs)
    return Share(Batch(inputs, batch.target), rows / len(batch.inputs[0]))


def _loss(losses: nd.NDArray, _: nd.NDArray) -> nd.NDArray:
    return losses
