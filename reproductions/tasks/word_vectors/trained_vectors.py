"""Trained word vectors: nearest neighbours, a map of words, and vectors for another vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.word_vectors import mds, nearest, unit_vectors
from preprocessing.text.pipeline import Result
from reproductions.protocol.task import TrainedModel

NEIGHBOURS = 10
_ON_MAP = 6  # the nearest words of each word on a map


@dataclass(frozen=True, eq=False)
class TrainedVectors:
    """The vectors of a vocabulary.

    Attributes:
        words: vocabulary, without special tokens.
        tokenizer: name of the tokenizer that produced the words.
        vectors: (words, units) float32 as trained, not normalised: frequent words have longer vectors.
    """

    words: list[str]
    tokenizer: str
    vectors: np.ndarray

    @classmethod
    def of(cls, trained: TrainedModel[Any, Any]) -> TrainedVectors:
        """The vectors of a trained network.

        Raises:
            UsageError: the network has no word vectors.
        """
        if not hasattr(trained.model, "vectors"):
            raise UsageError(f"{trained.variant.name}: has no word vectors; name a variant that trains them")
        return cls.of_network(trained.model, trained.data.prepared)

    @classmethod
    def of_network(cls, model: Any, prepared: Result) -> TrainedVectors:
        """The vectors of a network whose vocabulary is that of the prepared texts."""
        vocabulary = prepared.vocabulary
        return cls(vocabulary.learned, prepared.tokenizer.name, model.vectors()[len(vocabulary.specials) :])

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def rows_for(self, words: Sequence[str], tokenizer: str) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of the words of another vocabulary.

        Args:
            words: the other vocabulary.
            tokenizer: name of the tokenizer that produced its words.

        Returns:
            Vectors (len(words), units) float32, zeros for a word without vector, and a mask of the words that have one,
            (len(words),) bool.

        Raises:
            UsageError: the vectors were trained with another tokenizer.
        """
        if tokenizer != self.tokenizer:
            raise UsageError(
                f"vectors of the tokens of {self.tokenizer}, not of {tokenizer}; choose the same tokenizer, or train "
                f"vectors of the tokens of {tokenizer}"
            )
        indices = np.array([self.index.get(word, -1) for word in words], np.int64)
        known = indices >= 0
        rows = np.zeros((len(words), self.vectors.shape[1]), np.float32)
        rows[known] = self.vectors[indices[known]]
        return rows, known

    def table(self, words: Sequence[str]) -> list[dict[str, Any]]:
        """For each word its ten nearest neighbours with their cosines, the nearest first, as JSON values; none for a
        word without vector."""
        known = [word for word in words if word in self.index]
        ids, cosines = nearest(self.vectors, np.array([self.index[word] for word in known], int), NEIGHBOURS)
        neighbours = {
            word: [[self.words[row], cosine] for row, cosine in zip(*pairs, strict=True)]
            for word, *pairs in zip(known, ids.tolist(), cosines.tolist(), strict=True)
        }
        return [{"word": word, "nearest": neighbours.get(word, [])} for word in words]

    def map(self, words: Sequence[str]) -> dict[str, Any]:
        """Groups of words and their positions in a plane, as JSON values. There is a group for each word with a vector:
        the word, then those of its nearest neighbours that are in no earlier group. Positions are of all words in
        order, (words, 2). Empty if no word has a vector."""
        centres = [self.index[word] for word in words if word in self.index]
        if not centres:
            return {}
        rows, _ = nearest(self.vectors, np.array(centres), _ON_MAP)
        taken, groups = set(centres), []
        for centre, others in zip(centres, rows.tolist(), strict=True):
            groups.append([centre, *(row for row in others if row not in taken)])
            taken.update(others)
        positions = mds(self.vectors[np.concatenate(groups)])
        return {"groups": [[self.words[row] for row in group] for group in groups], "positions": positions.tolist()}

    def nearest_to(self, words: Sequence[str]) -> list[tuple[str, float]]:
        """The ten nearest neighbours of the mean of the normalised vectors of these words, which are excluded, with
        their cosines; empty if no word has a vector."""
        rows = sorted({self.index[word] for word in words if word in self.index})
        if not rows:
            return []
        with_mean = np.vstack([self._directions, self._directions[rows].mean(axis=0)])
        others = np.setdiff1d(np.arange(len(self._directions)), rows)
        ids, cosines = nearest(with_mean, np.array([len(self._directions)]), NEIGHBOURS, others)
        return list(zip([self.words[row] for row in ids[0]], cosines[0].tolist(), strict=True))

    @cached_property
    def _directions(self) -> np.ndarray:
        return unit_vectors(self.vectors)
