"""Trained word vectors for other scripts: what a finished run of ``mikolov2013`` leaves, for another vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gluon_attn.errors import UsageError
from preprocessing.ragged import pack_strings, unpack_strings
from reproductions.experiment import PAPERS
from reproductions.runner import Outcome, Unit


@dataclass(frozen=True)
class WordVectors:
    """Words, the name of the tokenizer that they are tokens of, and their vectors (words, units) float32 as they were
    trained. ``sha256`` is that of all trained parameters: it belongs into the digest of whatever begins with these."""

    words: list[str]
    tokenizer: str
    vectors: np.ndarray
    sha256: str

    def rows_for(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """A row for each of these words (len(words), units) float32, zeros where there is none, and whether there is
        one (len(words),) of bool."""
        places = {word: place for place, word in enumerate(self.words)}
        at = np.array([places.get(word, -1) for word in words], np.int64)
        rows = np.zeros((len(words), self.vectors.shape[1]), np.float32)
        rows[at >= 0] = self.vectors[at[at >= 0]]
        return rows, at >= 0


def as_arrays(words: Sequence[str], tokenizer: str, vectors: np.ndarray) -> dict[str, np.ndarray]:
    """Words and vectors as a training leaves them, among the arrays of its ``evaluate``."""
    utf8, offsets = pack_strings(words)
    return {"vectors": vectors, "tokenizer": np.array(tokenizer), "words_utf8": utf8, "words_offsets": offsets}


def word_vectors(outcome: Outcome) -> WordVectors:
    """The vectors that a finished training has left.

    Raises:
        UsageError: it is the training of something else.
    """
    unit, arrays = outcome.unit, outcome.predictions
    if "vectors" not in arrays:
        raise UsageError(f"{unit.directory}: {unit.paper} trains no word vectors; name a variant of mikolov2013")
    words = unpack_strings(arrays["words_utf8"], arrays["words_offsets"])
    return WordVectors(words, str(arrays["tokenizer"]), arrays["vectors"], outcome.facts["parameters_sha256"])


def unit_named(name: str, beside: Unit) -> Unit:
    """The training that a setting such as ``mikolov2013/skip-gram`` names: with seed 1, otherwise as another training
    of the same preset, profile, corpus and runs.

    Raises:
        UsageError: the name is not that of a script and a variant.
    """
    paper, _, variant = name.partition("/")
    if paper not in PAPERS or not variant:
        raise UsageError(f"vectors {name!r} are unknown; name script and variant, as in mikolov2013/skip-gram")
    return replace(beside, paper=paper, variant=variant, seed=1)


def vectors_for(words: Sequence[str], unit: Unit, *, tokenizer: str = "mecab") -> tuple[np.ndarray, np.ndarray]:
    """Trained vectors for the words of a vocabulary, for a network to begin with.

    Args:
        words: of the vocabulary, in its order, specials included: they have no vector.
        unit: the training of the vectors.
        tokenizer: name of the one whose tokens the words are.

    Returns:
        Vectors (words, units) float32, zeros for words that have none, and which words have one (words,) of bool. They
        are as they were trained: frequent words have longer ones than rare words.

    Raises:
        UsageError: they are not trained to their end, are of another tokenizer's tokens, or are no word vectors.
    """
    found = word_vectors(Outcome.read(unit))
    if found.tokenizer != tokenizer:
        raise UsageError(
            f"{unit.directory}: vectors of the tokens of {found.tokenizer}, not of {tokenizer}; "
            "choose the same tokenizer, or train vectors of this one's tokens"
        )
    return found.rows_for(words)
