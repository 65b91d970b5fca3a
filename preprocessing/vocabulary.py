"""The vocabulary: tokens by descending frequency, ties by the token, with the layout of ``gluonnlp.Vocab``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from preprocessing.errors import InputError

if TYPE_CHECKING:
    import gluonnlp

UNKNOWN, PADDING = "<unk>", "<pad>"
UNKNOWN_ID, PADDING_ID = 0, 1


class Vocabulary:
    """A fixed list of tokens: ``<unk>`` is 0, ``<pad>`` is 1, the learned tokens follow.

    A corpus token that is spelled like one of the two specials is unknown: text can never produce padding.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        """``tokens``: the learned tokens in their final order, without the specials."""
        self.idx_to_token: list[str] = [UNKNOWN, PADDING, *tokens]
        self.token_to_idx: dict[str, int] = {token: index for index, token in enumerate(self.idx_to_token)}
        if len(self.token_to_idx) != len(self.idx_to_token):
            raise ValueError("the tokens of a vocabulary must be distinct and differ from the specials")

    @classmethod
    def learn(
        cls, symbols: Sequence[str], counts: np.ndarray, *, min_freq: int = 1, max_size: int | None = None
    ) -> Vocabulary:
        """Keep symbols seen ``min_freq`` times or more, at most ``max_size`` of them (specials not counted).

        ``counts``: (len(symbols),) occurrences of each symbol. Order: descending count, then ascending token.
        """
        if min_freq < 1:
            raise ValueError(f"min_freq must be at least 1, got {min_freq}")
        frequency = counts.tolist()
        frequent = np.flatnonzero(counts >= min_freq).tolist()
        kept = [index for index in frequent if symbols[index] not in (UNKNOWN, PADDING)]
        kept.sort(key=lambda index: (-frequency[index], symbols[index]))
        return cls(symbols[index] for index in kept[:max_size])

    def __len__(self) -> int:
        return len(self.idx_to_token)

    def __contains__(self, token: object) -> bool:
        return token in self.token_to_idx

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.idx_to_token == other.idx_to_token

    def __hash__(self) -> int:
        return hash(tuple(self.idx_to_token))

    def __getitem__(self, token: str) -> int:
        """The id of a token; 0 when it is unknown. As in ``gluonnlp.Vocab``, the specials' names find the specials."""
        return self.token_to_idx.get(token, UNKNOWN_ID)

    def indices(self, tokens: Sequence[str]) -> np.ndarray:
        """Ids (len(tokens),) int32 of tokens *that come from text*: unknown ones and look-alikes of specials get 0."""
        found = np.fromiter((self.token_to_idx.get(token, UNKNOWN_ID) for token in tokens), np.int32, len(tokens))
        found[found == PADDING_ID] = UNKNOWN_ID
        return found

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids; raises IndexError outside the vocabulary."""
        return [self.idx_to_token[index] for index in ids]

    def to_json(self) -> str:
        """One JSON object that ``gluonnlp.Vocab.from_json`` reads as well."""
        return json.dumps(
            {
                "idx_to_token": self.idx_to_token,
                "token_to_idx": self.token_to_idx,
                "reserved_tokens": [PADDING],
                "unknown_token": UNKNOWN,
                "identifiers_to_tokens": {"bos_token": None, "eos_token": None, "padding_token": PADDING},
            },
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str, *, where: str = "vocabulary") -> Vocabulary:
        """Read what :meth:`to_json` wrote; raises InputError (``where`` names the file) when it is anything else."""
        try:
            tokens = json.loads(text)["idx_to_token"]
            if tokens[:2] != [UNKNOWN, PADDING] or not all(isinstance(token, str) for token in tokens):
                raise ValueError("the first two tokens are not <unk> and <pad>")
            return cls(tokens[2:])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(where, f"not a vocabulary ({error})", remedy="write it again with `preprocess`") from error

    def to_gluonnlp(self) -> gluonnlp.Vocab:
        """A ``gluonnlp.Vocab`` with the very same indices; imports GluonNLP, and with it MXNet, only here."""
        import gluonnlp

        return gluonnlp.Vocab.from_json(self.to_json())
