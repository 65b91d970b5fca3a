"""Trained word vectors for other scripts: what a finished run of ``mikolov2013`` leaves, for another vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.models.word2vec import Word2Vec
from preprocessing.text.vocabulary import SPECIALS
from reproductions.protocol.runs import Outcome, Unit, load


@dataclass(frozen=True)
class WordVectors:
    """Words, the name of the tokenizer that they are tokens of, and their vectors (words, units) float32 as they were
    trained: frequent words have longer ones than rare words. ``sha256`` is that of all trained parameters: it belongs
    among the files of whatever begins with these."""

    words: list[str]
    tokenizer: str
    vectors: np.ndarray
    sha256: str

    def rows_for(self, words: Sequence[str], tokenizer: str) -> tuple[np.ndarray, np.ndarray]:
        """A row for each of these words (len(words), units) float32, zeros where there is none, and whether there is
        one (len(words),) of bool.

        Raises:
            UsageError: the words are another tokenizer's tokens.
        """
        if tokenizer != self.tokenizer:
            raise UsageError(
                f"vectors of the tokens of {self.tokenizer}, not of {tokenizer}; choose the same tokenizer, or train "
                "vectors of this one's tokens"
            )
        places = {word: place for place, word in enumerate(self.words)}
        at = np.array([places.get(word, -1) for word in words], np.int64)
        rows = np.zeros((len(words), self.vectors.shape[1]), np.float32)
        rows[at >= 0] = self.vectors[at[at >= 0]]
        return rows, at >= 0


def word_vectors(unit: Unit) -> WordVectors:
    """The vectors that a finished training has left.

    Raises:
        UsageError: it is the training of something else, or not trained to its end.
    """
    model, _, data = load(unit)
    if not isinstance(model, Word2Vec):
        raise UsageError(f"{unit.directory}: {unit.paper} trains no word vectors; name a variant of mikolov2013")
    return WordVectors(
        data.prepared.vocabulary.learned,
        data.prepared.tokenizer.name,
        model.vectors()[len(SPECIALS) :],
        Outcome.read(unit).facts["parameters_sha256"],
    )
