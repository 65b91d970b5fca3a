"""Pretraining batches: pairs of reviews with masked pieces, drawn again in every epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gluon_attn.training.batching import pair_batches
from gluon_attn.training.objective import Batch, Share, share_of_rows
from preprocessing.pipeline.ragged import Ragged
from preprocessing.text.data import Split
from preprocessing.text.masking import Masking, word_starts
from preprocessing.text.pairs import Pairs, films, pair_rows
from preprocessing.text.vocabulary import CLASSIFY_ID, PADDING_ID, SEPARATOR_ID, Vocabulary
from reproductions.tasks.pretraining.bert_settings import MULTIPLE

_PREDICTIONS_MULTIPLE = 16
_SPECIAL = 3  # <cls> first <sep> second <sep>


class PairBatch(NamedTuple):
    """A batch: the input arrays of the network, the indices of the pairs (batch,), and for each prediction the row of
    its pair and whether it counts."""

    inputs: tuple[np.ndarray, ...]
    pairs: np.ndarray
    rows: np.ndarray
    counts: np.ndarray

    @property
    def training(self) -> Batch:
        """The batch as the trainer reads it. The target is the weight of each prediction; the weights sum to one."""
        return Batch(self.inputs, (self.counts / max(1, self.counts.sum())).astype(np.float32))


@dataclass(frozen=True, eq=False)
class ReviewPairs:
    """The reviews of one split as pairs.

    Attributes:
        split: encoded reviews, whose ids start with the film.
        vocabulary: vocabulary of pieces.
        masking: masking rule; None to predict each next piece instead.
        batch_tokens: maximum number of pieces in a batch, including padding.
        tells: whether the network also predicts if both reviews are of the same film.
    """

    split: Split
    vocabulary: Vocabulary
    masking: Masking | None
    batch_tokens: int
    tells: bool = True

    def endless(self, generator: np.random.RandomState) -> Iterator[PairBatch]:
        """An endless stream of batches. Each pass pairs and masks all reviews again."""
        while True:
            yield from self.one_pass(generator)

    def one_pass(self, generator: np.random.RandomState) -> Iterator[PairBatch]:
        """One pass over all reviews in random order."""
        key = int(generator.randint(0, 2**31)) << 31 | int(generator.randint(0, 2**31))
        pairs = pair_rows(self._film, generator)
        lengths = self._lengths[pairs.first] + self._lengths[pairs.second] + _SPECIAL
        rows = self.batch_tokens // MULTIPLE
        plan = pair_batches(lengths, lengths, rows, (MULTIPLE, MULTIPLE), generator, batch_tokens=self.batch_tokens)
        for chosen in plan:
            yield self.batch(pairs, chosen, key)

    def batch(self, pairs: Pairs, chosen: np.ndarray, key: int) -> PairBatch:
        """A batch of the chosen pairs. ``key`` is the key of the pass; masks are drawn from it."""
        first, second = pairs.first[chosen], pairs.second[chosen]
        lengths = self._lengths[first], self._lengths[second]
        total = lengths[0] + lengths[1] + _SPECIAL
        count, width = len(chosen), -(-int(total.max()) // MULTIPLE) * MULTIPLE
        ids = np.full((count, width), PADDING_ID, np.int32)
        segments = np.zeros((count, width), np.int32)
        predicted = np.zeros((count, width), np.bool_)
        targets = np.zeros((count, width), np.int32)
        ids[:, 0] = CLASSIFY_ID
        ids[np.arange(count), lengths[0] + 1] = SEPARATOR_ID
        ids[np.arange(count), total - 1] = SEPARATOR_ID
        columns = np.arange(width)
        segments[(columns >= lengths[0][:, None] + 2) & (columns < total[:, None])] = 1
        for reviews, of_review, start in zip(
            (first, second), lengths, (np.ones_like(total), lengths[0] + 2), strict=True
        ):
            own = self._encoded.take(reviews)
            row = np.repeat(np.arange(count), of_review)
            place = np.arange(len(own.ids)) - np.repeat(own.offsets[:-1], of_review)
            column = place + start[row]
            targets[row, column] = own.ids
            ids[row, column] = own.ids
            if self.masking is not None:
                size = len(self.vocabulary)
                masked = self.masking.apply(own.ids, reviews[row], place, self._starts, size=size, key=key)
                ids[row, column], predicted[row, column] = masked
        if self.masking is None:
            targets, predicted = ids, (columns > 0) & (columns < total[:, None])
        rows, columns = np.nonzero(predicted)
        predicting = columns - (self.masking is None)  # the state before a piece predicts it
        size = _padded(len(rows))
        places, wanted, of_row = (np.zeros(size, kind) for kind in (np.int32, np.float32, np.int64))
        places[: len(rows)], wanted[: len(rows)] = predicting * count + rows, targets[rows, columns]
        of_row[: len(rows)] = rows
        together = pairs.together[chosen].astype(np.float32)
        arrays = (ids, segments, total.astype(np.float32), places, wanted, *([together] if self.tells else []))
        return PairBatch(arrays, chosen, of_row, np.arange(size) < len(rows))

    @property
    def _encoded(self) -> Ragged:
        assert self.split.encoded is not None
        return self.split.encoded

    @cached_property
    def _lengths(self) -> np.ndarray:
        return self.split.lengths

    @cached_property
    def _film(self) -> np.ndarray:
        return films(self.split.row_id)

    @cached_property
    def _starts(self) -> np.ndarray:
        return word_starts(self.vocabulary.idx_to_token)


def share_of_pairs(batch: Batch, number: int, shares: int) -> Share:
    """Return a share of the pairs of a batch, with the predictions in them.

    The weights of predictions are those of the whole batch, divided by the weight of the share, which multiplies the
    loss of the pairs as well.
    """
    count = len(batch.inputs[0])
    used, own = share_of_rows(count, number, shares)
    *of_pairs, places, targets = batch.inputs[:5]
    together = batch.inputs[5:]
    position, row = np.divmod(places, count)
    here = (batch.target > 0) & (row >= own.start) & (row < own.stop)
    rows, weight = own.stop - own.start, used / count
    size = _padded(int(here.sum()))
    arrays = [np.zeros(size, array.dtype) for array in (places, targets, batch.target)]
    values = position[here] * rows + row[here] - own.start, targets[here], batch.target[here] / (weight or 1.0)
    for array, value in zip(arrays, values, strict=True):
        array[: len(value)] = value
    inputs = (*(each[own] for each in of_pairs), *arrays[:2], *(each[own] for each in together))
    return Share(Batch(inputs, arrays[2]), weight)


def _padded(predictions: int) -> int:
    """A number of predictions rounded up, at least one, since MXNet has no empty arrays."""
    return max(1, -(-predictions // _PREDICTIONS_MULTIPLE)) * _PREDICTIONS_MULTIPLE
