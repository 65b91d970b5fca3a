"""The syllables of tokens: the id of each token with the ids of its first syllables, for models that read both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from preprocessing.text.data import Split
from preprocessing.text.vocabulary import PADDING_ID, Vocabulary


@dataclass(frozen=True)
class Spelling:
    """The vocabulary of syllables (characters) of tokens.

    The frequency of a character in ``syllables`` counts each time that it occurs in a token; ``width`` is the number of
    syllables of a token: longer tokens are cut, shorter ones padded.
    """

    syllables: Vocabulary
    width: int

    @classmethod
    def learn(cls, train: Split, *, width: int, min_freq: int) -> Spelling:
        """The characters with at least ``min_freq`` occurrences in the tokens of the training split."""
        counts: Counter[str] = Counter()
        for symbol, count in zip(train.symbols, train.tokenized.counts(len(train.symbols)).tolist(), strict=True):
            for character in symbol:
                counts[character] += count
        characters = list(counts)
        frequency = np.array([counts[character] for character in characters])
        return cls(Vocabulary.learn(characters, frequency, min_freq=min_freq), width)

    def state(self) -> bytes:
        """The learned characters, which :meth:`restored` reads."""
        return "".join(self.syllables.learned).encode("utf-8")

    @classmethod
    def restored(cls, state: bytes, *, width: int) -> Spelling:
        """The spelling with this :meth:`state`."""
        return cls(Vocabulary(state.decode("utf-8")), width)

    def sequences(self, split: Split) -> list[np.ndarray]:
        """For each row of a split (tokens, 1 + width) int32: the id of the token, then those of its syllables."""
        tokens = split.tokenized
        spelled = np.full((len(split.symbols), self.width), PADDING_ID, np.int32)
        for row, symbol in zip(spelled, split.symbols, strict=True):
            start = symbol[: self.width]
            row[: len(start)] = self.syllables.indices(start)
        both = np.column_stack([split.ids, spelled[tokens.ids]])
        return [both[start:stop] for start, stop in pairwise(split.offsets.tolist())]
