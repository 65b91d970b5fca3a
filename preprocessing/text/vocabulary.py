"""The vocabulary: tokens by descending frequency, ties by the token, in the layout of ``gluonnlp.Vocab``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from preprocessing.errors import InputError

if TYPE_CHECKING:
    import gluonnlp

UNKNOWN, PADDING, BEGIN, END = "<unk>", "<pad>", "<bos>", "<eos>"
UNKNOWN_ID, PADDING_ID, BEGIN_ID, END_ID = 0, 1, 2, 3

SPECIALS = (UNKNOWN, PADDING)
STREAM_SPECIALS = (UNKNOWN,)
"""For text read as one stream: there is no padding, and the end of a line is an ordinary word."""

SEQUENCE_SPECIALS = (UNKNOWN, PADDING, BEGIN, END)
"""For text that a model generates, which needs begin and end tokens."""

CLASSIFY, SEPARATOR, MASK = "<cls>", "<sep>", "<mask>"
CLASSIFY_ID, SEPARATOR_ID, MASK_ID = 2, 3, 4
MASKED_SPECIALS = (UNKNOWN, PADDING, CLASSIFY, SEPARATOR, MASK)
"""For text with masked tokens to predict (Devlin et al., 2019)."""


class Vocabulary:
    """A fixed list of tokens: ``<unk>`` is 0, ``<pad>`` (if any) 1, then further specials and the learned tokens.

    A corpus token that is spelled like a special is unknown: text can never produce padding or an end.
    """

    def __init__(self, tokens: Iterable[str], specials: tuple[str, ...] = SPECIALS) -> None:
        """``tokens``: the learned tokens in their final order, without the specials. ``specials``: ``SPECIALS``,
        ``SEQUENCE_SPECIALS``, ``STREAM_SPECIALS`` or ``MASKED_SPECIALS``; their ids are their positions."""
        self.specials = specials
        self.idx_to_token: list[str] = [*specials, *tokens]
        self.token_to_idx: dict[str, int] = {token: index for index, token in enumerate(self.idx_to_token)}
        if len(self.token_to_idx) != len(self.idx_to_token):
            raise ValueError("the tokens of a vocabulary must be distinct and differ from the specials")

    @classmethod
    def learn(
        cls,
        symbols: Sequence[str],
        counts: np.ndarray,
        *,
        min_freq: int = 1,
        max_size: int | None = None,
        specials: tuple[str, ...] = SPECIALS,
    ) -> Vocabulary:
        """Symbols with at least ``min_freq`` occurrences, at most ``max_size`` of them (specials not counted).

        ``counts``: (len(symbols),) occurrences of each symbol. Order: descending count, then ascending token.
        """
        if min_freq < 1:
            raise ValueError(f"min_freq must be at least 1, got {min_freq}")
        frequency = counts.tolist()
        frequent = np.flatnonzero(counts >= min_freq).tolist()
        candidates = [index for index in frequent if symbols[index] not in specials]
        candidates.sort(key=lambda index: (-frequency[index], symbols[index]))
        return cls((symbols[index] for index in candidates[:max_size]), specials)

    @property
    def learned(self) -> list[str]:
        """The tokens after the specials."""
        return self.idx_to_token[len(self.specials) :]

    def __len__(self) -> int:
        return len(self.idx_to_token)

    def __contains__(self, token: object) -> bool:
        return token in self.token_to_idx

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.idx_to_token == other.idx_to_token

    def __hash__(self) -> int:
        return hash(tuple(self.idx_to_token))

    def __getitem__(self, token: str) -> int:
        """The id of a token; 0 when it is unknown. As in ``gluonnlp.Vocab``, a special is found by its name."""
        return self.token_to_idx.get(token, UNKNOWN_ID)

    def indices(self, tokens: Sequence[str]) -> np.ndarray:
        """Ids (len(tokens),) int32 of tokens *that come from text*: 0 for unknown tokens and for those spelled like a
        special."""
        ids = np.fromiter((self.token_to_idx.get(token, UNKNOWN_ID) for token in tokens), np.int32, len(tokens))
        ids[ids < len(self.specials)] = UNKNOWN_ID
        return ids

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids; raises IndexError outside the vocabulary."""
        ids = list(ids)
        if min(ids, default=0) < 0:
            raise IndexError(f"id {min(ids)} is outside the vocabulary")
        return [self.idx_to_token[index] for index in ids]

    def to_json(self) -> str:
        """One JSON object that ``gluonnlp.Vocab.from_json`` reads as well."""
        return json.dumps(
            {
                "idx_to_token": self.idx_to_token,
                "token_to_idx": self.token_to_idx,
                "reserved_tokens": list(self.specials[1:]),
                "unknown_token": UNKNOWN,
                "identifiers_to_tokens": {
                    "bos_token": BEGIN if BEGIN in self.specials else None,
                    "eos_token": END if END in self.specials else None,
                    "padding_token": PADDING if PADDING in self.specials else None,
                },
            },
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str, *, where: str = "vocabulary") -> Vocabulary:
        """Read what :meth:`to_json` wrote; raises InputError (``where`` names the file) for anything else."""
        try:
            stored = json.loads(text)
            tokens = stored["idx_to_token"]
            if tokens[:1] != [UNKNOWN] or not all(isinstance(token, str) for token in tokens):
                raise ValueError("the first token is not <unk>")
            specials = (UNKNOWN, *(stored["reserved_tokens"] or ()))
            known = (SPECIALS, SEQUENCE_SPECIALS, STREAM_SPECIALS, MASKED_SPECIALS)
            if specials not in known or tokens[: len(specials)] != list(specials):
                raise ValueError("its reserved tokens are not the first ones")
            return cls(tokens[len(specials) :], specials)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(where, f"not a vocabulary ({error})", remedy="write it again with `preprocess`") from error

    def to_gluonnlp(self) -> gluonnlp.Vocab:
        """A ``gluonnlp.Vocab`` with the same indices; GluonNLP, and with it MXNet, is imported only when this is
        called."""
        import gluonnlp

        return gluonnlp.Vocab.from_json(self.to_json())
