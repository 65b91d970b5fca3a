"""Which tokens are masked for a masked language model, and what replaces them (Devlin et al., 2019, sec. 3.1 and
appendix A.1).

Masking is dynamic (Liu et al., 2019): each epoch draws different masks. A draw is a hash of the key of the epoch, the
number of the text and the position of the token in it. It depends neither on the batch that a text is in, nor on the
order in which texts are read, nor on the number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from preprocessing.errors import InputError
from preprocessing.pipeline import card
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data
from preprocessing.text.vocabulary import MASK_ID, MASKED_SPECIALS

WORD_START = "\u2581"
"""Prefix of a SentencePiece piece at the start of a word."""

_WORD, _FATE, _OTHER = (np.uint64(number) for number in (1, 2, 3))


class Masked(NamedTuple):
    """The ids of the tokens after masking, (tokens,), and which of the tokens are predicted, (tokens,) of bool."""

    ids: np.ndarray
    chosen: np.ndarray


@dataclass(frozen=True)
class Masking:
    """The rule by which tokens are masked.

    Attributes:
        rate: probability that a word is chosen; all its tokens are then predicted.
        masked, random: shares of the chosen tokens that become ``<mask>`` or a random token; the others are unchanged.
        whole_words: whether words are chosen as a whole; otherwise each token is chosen independently.
    """

    rate: float = 0.15
    masked: float = 0.8
    random: float = 0.1
    whole_words: bool = True

    def __post_init__(self) -> None:
        shares = (self.rate, self.masked, self.random)
        if not all(0.0 <= share <= 1.0 for share in shares):
            raise InputError("masking", f"shares {shares} are not probabilities", remedy="choose from 0 to 1")
        if self.masked + self.random > 1.0:
            reason = f"shares {self.masked:g} (masked) and {self.random:g} (random) are more than 1 together"
            raise InputError("masking", reason, remedy="choose smaller ones")

    def apply(
        self, ids: np.ndarray, rows: np.ndarray, places: np.ndarray, starts: np.ndarray, *, size: int, key: int
    ) -> Masked:
        """Mask the tokens of some texts.

        Args:
            ids: (tokens,) ids of all texts, one after another, without special tokens.
            rows: (tokens,) the number of each token's text in its split.
            places: (tokens,) the position of each token in its text, from 0.
            starts: (vocabulary,) of bool, which tokens begin a word; the first token of a text always does.
            size: size of the vocabulary; a random token is any token that is not special.
            key: key of the epoch.
        """
        begins = starts[ids] | (places == 0) if self.whole_words else np.ones(len(ids), np.bool_)
        of_word = np.maximum.accumulate(np.where(begins, np.arange(len(ids)), 0))
        chosen = _uniform(key, _WORD, rows, places[of_word]) < self.rate
        fate = _uniform(key, _FATE, rows, places)
        first = len(MASKED_SPECIALS)
        other = first + (_uniform(key, _OTHER, rows, places) * (size - first)).astype(ids.dtype)
        inputs = np.where(fate < self.masked, MASK_ID, np.where(fate < self.masked + self.random, other, ids))
        return Masked(np.where(chosen, inputs, ids).astype(ids.dtype), chosen)


def _uniform(key: int, stream: np.uint64, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Uniform numbers from 0 to 1 by the finaliser of SplitMix64 (Steele et al., 2014), applied to the key, the stream,
    the row and the position."""
    values = np.full(len(rows), key, np.uint64)
    for part in (stream, rows.astype(np.uint64), places.astype(np.uint64)):
        values = values ^ part
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        values = values ^ (values >> np.uint64(31))
    uniform: np.ndarray = (values >> np.uint64(11)).astype(np.float64) / 2.0**53
    return uniform


def word_starts(tokens: Sequence[str]) -> np.ndarray:
    """Which tokens of a vocabulary begin a word, (len(tokens),) of bool."""
    return np.array([token.startswith(WORD_START) for token in tokens], np.bool_)


@dataclass(frozen=True)
class MaskWords(Step[Data]):
    """State and count how tokens are masked; the data keep the original tokens."""

    name: ClassVar[str] = "mask-words"
    masking: Masking = Masking()

    @property
    def rule(self) -> str:
        masking = self.masking
        unit = (
            "A word, the pieces from one that begins with U+2581 to the next such" if masking.whole_words else "A piece"
        )
        return (
            f"{unit}, is chosen with a probability of {masking.rate:g}; each of its pieces is to be predicted. Such a "
            f"piece becomes <mask> with a probability of {masking.masked:g}, a piece drawn uniformly from the "
            f"vocabulary with {masking.random:g}, and stays as it is otherwise. Masking is dynamic: the draws of a "
            "text are a hash (SplitMix64) of a number drawn for the epoch, the row of the text and the place in it, so "
            "they differ between epochs and depend on nothing else. The data are not changed; the counts are those of "
            "number 0."
        )

    def parameters(self) -> dict[str, Any]:
        return asdict(self.masking)

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        if data.vocabulary is None:
            raise InputError(f"step {self.name}", "there is no vocabulary yet", remedy="put an encode step before it")
        split = data.splits["validation"]
        rows = np.repeat(np.arange(len(split)), split.lengths)
        places = np.arange(len(split.ids)) - np.repeat(split.offsets[:-1], split.lengths)
        starts = word_starts(data.vocabulary.idx_to_token)
        masked = self.masking.apply(split.ids, rows, places, starts, size=len(starts), key=0)
        inputs, original = masked.ids[masked.chosen], split.ids[masked.chosen]
        chosen = int(masked.chosen.sum())
        facts = {
            "split": "validation",
            "tokens": len(split.ids),
            "predicted": chosen,
            "rate": card.rate(chosen, len(split.ids)),
            "masked": card.rate(int((inputs == MASK_ID).sum()), chosen),
            "unchanged": card.rate(int((inputs == original).sum()), chosen),
            "another": card.rate(int(((inputs != MASK_ID) & (inputs != original)).sum()), chosen),
        }
        tokens, examples = data.vocabulary.idx_to_token, []
        for row in range(min(3, len(split))):
            here = slice(split.offsets[row], split.offsets[row + 1])
            before, after = (" ".join(tokens[index] for index in ids[here]) for ids in (split.ids, masked.ids))
            examples.append((before, after))
        return data, Notes(facts={"masking": facts}, examples=examples)
