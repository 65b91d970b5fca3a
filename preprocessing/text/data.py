"""The data of a text pipeline: splits of columns, and the state that the steps learned from the training split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from preprocessing.errors import InputError
from preprocessing.pipeline.ragged import PackedStrings, Ragged, pack_strings, packed_strings, unpack_strings
from preprocessing.pipeline.step import ordered
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.vocabulary import PADDING_ID, SPECIALS, Vocabulary

_NO_ROWS = Ragged.from_rows([])
_LEARNED = "learned."


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of one split, column by column; all columns have the same number of rows.

    ``row_id`` (rows,) str; ``text`` (rows,) object array of str, or a ``PackedStrings`` if it stays on disk; ``label``
    (rows,) int8, -1 without a label; ``seen_in_train`` (rows,) bool, never true in the training split. ``tokens``
    refers to ``symbols`` (the surface forms, shared by all splits) and ``encoded`` to the vocabulary; both are None
    until their step has run. ``normalized`` (rows,) object array of str is the text as passed to the tokenizer, if it
    differs from ``text``; it is None in a finished result. ``sentences``, for rows that are documents, has the
    number of tokens of each sentence of each row, in order; they sum to the length of the row.
    """

    row_id: np.ndarray
    text: np.ndarray
    label: np.ndarray
    seen_in_train: np.ndarray
    symbols: Sequence[str] = ()
    tokens: Ragged | None = None
    encoded: Ragged | None = None
    normalized: np.ndarray | None = None
    sentences: Ragged | None = None

    @classmethod
    def of(cls, texts: Sequence[str], *, row_id: Sequence[str] | None = None, label: np.ndarray | None = None) -> Split:
        """Untokenised rows; ids count from 0 and labels are -1 unless given."""
        rows = len(texts)
        return cls(
            row_id=np.array(row_id if row_id is not None else [str(row) for row in range(rows)], dtype=np.str_),
            text=object_column(texts),
            label=np.full(rows, -1, np.int8) if label is None else label,
            seen_in_train=np.zeros(rows, np.bool_),
        )

    def __len__(self) -> int:
        return len(self.text)

    @property
    def prepared(self) -> np.ndarray:
        """The text as passed to the tokenizer, (rows,) object array of str."""
        return self.text if self.normalized is None else self.normalized

    @property
    def tokenized(self) -> Ragged:
        """``tokens``; raises InputError when the texts are not tokenised yet."""
        if self.tokens is None:
            raise InputError("step", "the texts are not tokenised yet", remedy="put a tokenize step before it")
        return self.tokens

    @property
    def ids(self) -> np.ndarray:
        """Vocabulary ids of all rows in one array, (tokens,) int32."""
        return self._encoded.ids

    @property
    def offsets(self) -> np.ndarray:
        """(rows + 1,) int64: row ``i`` is ``ids[offsets[i]:offsets[i + 1]]``."""
        return self._encoded.offsets

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per row, (rows,) int64."""
        return self._encoded.lengths

    def sequences(self) -> Sequence[np.ndarray]:
        """The ids of each row as an array (tokens,) int32, a view; for ids on disk, it is made when the row is read."""
        encoded = self._encoded
        return encoded if isinstance(encoded.ids, np.memmap) else [encoded[row] for row in range(len(encoded))]

    def padded(self, max_length: int | None = None, pad: int = PADDING_ID) -> np.ndarray:
        """(rows, T) int32 ids with ``pad`` after each row; T is ``max_length``, else the longest row."""
        return self._encoded.padded(pad, max_length)

    def words(self, row: int) -> list[str]:
        """The tokens of one row as in the text, including those that are not in the vocabulary."""
        return [self.symbols[symbol] for symbol in self.tokenized[row]]

    @property
    def sentence_lengths(self) -> Ragged:
        """Tokens per sentence: row ``i`` has one number for each sentence of document ``i``."""
        if self.sentences is None:
            reason = "the rows are not divided into sentences"
            raise InputError("step", reason, remedy="use the steps of the pipeline documents")
        return self.sentences

    def sentence_ranges(self, row: int) -> np.ndarray:
        """The sentences of one row as ranges of its words, (sentences, 2) int64: start and end of each."""
        ends = np.cumsum(self.sentence_lengths[row], dtype=np.int64)
        return np.stack([ends - self.sentence_lengths[row], ends], axis=1)

    def sentence_words(self, row: int) -> list[list[str]]:
        """The words of one row, sentence by sentence."""
        words = self.words(row)
        return [words[start:stop] for start, stop in self.sentence_ranges(row)]

    def take(self, rows: np.ndarray) -> Split:
        """The selected rows; ``rows`` are indices or a boolean mask of shape (rows,)."""
        return Split(
            row_id=self.row_id[rows],
            text=self.text[rows],
            label=self.label[rows],
            seen_in_train=self.seen_in_train[rows],
            symbols=self.symbols,
            tokens=None if self.tokens is None else self.tokens.take(rows),
            encoded=None if self.encoded is None else self.encoded.take(rows),
            normalized=None if self.normalized is None else self.normalized[rows],
            sentences=None if self.sentences is None else self.sentences.take(rows),
        )

    @property
    def _encoded(self) -> Ragged:
        if self.encoded is None:
            raise InputError("step", "the tokens are not encoded yet", remedy="put an encode step before it")
        return self.encoded


@dataclass(frozen=True, eq=False)
class Data:
    """All splits, and what the steps learned. Steps never change a Data: they return a new one.

    ``learned``: what steps other than tokenizer and vocabulary learned from the training split, by name.
    """

    splits: Mapping[str, Split] = field(default_factory=dict)
    tokenizer: Tokenizer | None = None
    vocabulary: Vocabulary | None = None
    learned: Mapping[str, bytes] = field(default_factory=dict)

    def with_splits(self, splits: Mapping[str, Split]) -> Data:
        """The same state with other splits."""
        return replace(self, splits=dict(splits))

    def with_learned(self, **learned: bytes) -> Data:
        """The same splits with more learned state."""
        return replace(self, learned={**self.learned, **learned})

    def rows(self) -> dict[str, int]:
        """Rows by split."""
        return {name: len(split) for name, split in self.splits.items()}

    def token_counts(self) -> dict[str, int | None]:
        """Tokens by split, None before tokenisation."""
        rows = {name: split.encoded or split.tokens for name, split in self.splits.items()}
        return {name: None if ragged is None else len(ragged.ids) for name, ragged in rows.items()}

    def counts(self) -> dict[str, dict[str, int | None]]:
        """Rows and tokens by split."""
        return {"rows": dict(self.rows()), "tokens": self.token_counts()}

    def finished(self) -> Data:
        """The splits in the order train, validation, test, others; without the columns that only the steps need."""
        return self.with_splits({name: replace(self.splits[name], normalized=None) for name in ordered(self.splits)})

    def without_rows(self) -> Data:
        """The same state without splits."""
        return self.with_splits({})

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays (no objects): the canonical form, which is hashed and cached."""
        symbols = next((split.symbols for split in self.splits.values()), ())
        arrays: dict[str, np.ndarray] = {}
        arrays["symbols.utf8"], arrays["symbols.offsets"] = pack_strings(symbols)
        state = self.tokenizer.state() if self.tokenizer else b""
        arrays["tokenizer.state"] = np.frombuffer(state, np.uint8)
        learned = self.vocabulary.learned if self.vocabulary else []
        arrays["vocabulary.utf8"], arrays["vocabulary.offsets"] = pack_strings(learned)
        for name, state in self.learned.items():
            arrays[_LEARNED + name] = np.frombuffer(state, np.uint8)
        for name, split in self.splits.items():
            arrays[f"{name}.row_id"] = split.row_id
            arrays[f"{name}.text.utf8"], arrays[f"{name}.text.offsets"] = packed_strings(split.text)
            arrays[f"{name}.label"], arrays[f"{name}.seen_in_train"] = split.label, split.seen_in_train
            for column, ragged in (("tokens", split.tokens), ("encoded", split.encoded)):
                ragged = ragged or _NO_ROWS
                arrays[f"{name}.{column}.ids"], arrays[f"{name}.{column}.offsets"] = ragged.ids, ragged.offsets
            if split.sentences is not None:
                arrays[f"{name}.sentences.ids"] = split.sentences.ids
                arrays[f"{name}.sentences.offsets"] = split.sentences.offsets
        return arrays

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, np.ndarray],
        tokenizer: Tokenizer | None,
        specials: tuple[str, ...] = SPECIALS,
    ) -> Data:
        """The inverse of :meth:`to_arrays`; ``tokenizer`` is the unfitted one, its state comes from the arrays."""
        symbols = unpack_strings(arrays["symbols.utf8"], arrays["symbols.offsets"])
        splits = {}
        for name in [key.removesuffix(".row_id") for key in arrays if key.endswith(".row_id")]:
            splits[name] = Split(
                row_id=arrays[f"{name}.row_id"],
                text=_texts(arrays[f"{name}.text.utf8"], arrays[f"{name}.text.offsets"]),
                label=arrays[f"{name}.label"],
                seen_in_train=arrays[f"{name}.seen_in_train"],
                symbols=symbols,
                tokens=_column(arrays, name, "tokens"),
                encoded=_column(arrays, name, "encoded"),
                sentences=(
                    Ragged(arrays[f"{name}.sentences.ids"], arrays[f"{name}.sentences.offsets"])
                    if f"{name}.sentences.ids" in arrays
                    else None
                ),
            )
        fitted = tokenizer.restored(arrays["tokenizer.state"].tobytes()) if tokenizer else None
        words = unpack_strings(arrays["vocabulary.utf8"], arrays["vocabulary.offsets"])
        uses_vocabulary = words or not splits or any(split.encoded is not None for split in splits.values())
        vocabulary = Vocabulary(words, specials) if uses_vocabulary else None
        learned = {key.removeprefix(_LEARNED): arrays[key].tobytes() for key in arrays if key.startswith(_LEARNED)}
        return cls(splits, fitted, vocabulary, learned)


def _column(arrays: Mapping[str, np.ndarray], split: str, name: str) -> Ragged | None:
    """Tokens or ids of a split; None if its pipeline has no step that makes them."""
    ids, offsets = arrays[f"{split}.{name}.ids"], arrays[f"{split}.{name}.offsets"]
    return Ragged(ids, offsets) if len(offsets) == len(arrays[f"{split}.row_id"]) + 1 else None


def _texts(utf8: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Packed texts as a column; those on disk stay there."""
    if isinstance(utf8, np.memmap):
        return cast(np.ndarray, PackedStrings(utf8, offsets))
    return object_column(unpack_strings(utf8, offsets))


def object_column(texts: Sequence[str]) -> np.ndarray:
    """Strings as an object array (rows,), whatever their lengths."""
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    return column
