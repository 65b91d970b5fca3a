"""Byte pair encoding (Sennrich et al., 2016) by subword-nmt, with one set of merges for both languages."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from subword_nmt.apply_bpe import BPE

from preprocessing.bitext.data import Bitext
from preprocessing.bitext.merges import learn_merges
from preprocessing.bitext.splitting import SEPARATOR, Splitter
from preprocessing.errors import InputError
from preprocessing.pipeline import card
from preprocessing.pipeline.ragged import Ragged
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.steps import SHOWN
from preprocessing.text.tokenizers.tokenizer import installed_version

CODES, PIECES = "bpe_codes", "bpe_pieces"

TYPES = 1 << 19
"""Maximum number of distinct words that merges are learned from, which bounds memory. In a corpus of millions of pairs
these are the most frequent words; the others occur a few times each."""


@dataclass(frozen=True)
class LearnBPE(Step[Bitext]):
    """Learn the merges."""

    name: ClassVar[str] = "learn-bpe"
    operations: int = 10_000

    @property
    def rule(self) -> str:
        return (
            f"At most {self.operations} merges, learned by subword-nmt's learn_bpe from the words of the training "
            "split, both sides together, with their counts; the most frequent adjacent pair is merged first, ties by "
            "the pair (code points); no pair that occurs only once is merged. Nothing is random."
        )

    def parameters(self) -> dict[str, Any]:
        return {"operations": self.operations, "versions": {"subword-nmt": installed_version("subword-nmt")}}

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        counts: Counter[str] = Counter()
        for side in data.splits["train"].sides:
            counts.update(_counts(side))
        codes = learn(counts, self.operations)
        state = {CODES: codes.encode("utf-8")}
        return (
            Bitext(data.source.with_learned(**state), data.target.with_learned(**state)),
            Notes(facts=facts_of_merges(self.operations, codes, len(counts))),
        )


@dataclass(frozen=True)
class ApplyBPE(Step[Data]):
    """Split words into subwords."""

    name: ClassVar[str] = "bpe"
    for_new_rows: ClassVar[bool] = True
    min_freq: int = 1

    @property
    def rule(self) -> str:
        return (
            "Each word is split into pieces by the merges, as by subword-nmt's apply_bpe; every piece except the last "
            f"of a word ends in {SEPARATOR}. A merged piece that occurs less than {self.min_freq} times in the "
            "training split of this side is split again (subword-nmt's --vocabulary-threshold), so that words of one "
            "language have no pieces that are known only from the other. Detokenisation joins a piece that ends in "
            f"{SEPARATOR} to the next one."
        )

    def parameters(self) -> dict[str, Any]:
        return {"min_freq": self.min_freq, "versions": {"subword-nmt": installed_version("subword-nmt")}}

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        if CODES not in data.learned:
            raise InputError("step bpe", "no merges are learned yet", remedy="put a learn-bpe step before it")
        codes = data.learned[CODES].decode("utf-8")
        if PIECES not in data.learned:
            frequency = _pieces(_counts(data.splits["train"]), Splitter(codes))
            data = data.with_learned(**{PIECES: written(frequency)})
        known = frequent(data.learned[PIECES].decode("utf-8"), self.min_freq)
        bpe = BPE(io.StringIO(codes), vocab=known)
        symbols = next(iter(data.splits.values())).symbols
        number: dict[str, int] = {}
        table = Ragged.from_rows(
            [[number.setdefault(piece, len(number)) for piece in bpe.segment_tokens([symbol])] for symbol in symbols]
        )
        splits = {
            name: replace(split, symbols=list(number), tokens=split.tokenized.expanded(table))
            for name, split in data.splits.items()
        }
        lengths = {name: card.profile(split.tokenized.lengths) for name, split in splits.items()}
        before, after = next(iter(data.splits.values())), next(iter(splits.values()))
        examples = [(" ".join(before.words(row)), " ".join(after.words(row))) for row in range(min(SHOWN, len(before)))]
        return data.with_splits(splits), Notes(facts={"piece_lengths": lengths}, examples=examples)


def learn(counts: Counter[str], operations: int) -> str:
    """The merges as subword-nmt writes them; raises InputError when no pair of characters can be merged."""
    if not any(len(word) > 1 for word in counts):
        raise InputError("step learn-bpe", "the training split has no word of two characters", remedy="give more text")
    merges = learn_merges(most_frequent(counts, TYPES), operations)
    if not merges:
        reason = "no two adjacent characters occur twice in the training split"
        raise InputError("step learn-bpe", reason, remedy="give more text, or choose words as tokens")
    return "".join(("#version: 0.2\n", *(f"{first} {second}\n" for first, second in merges)))


def most_frequent(counts: Mapping[str, int], types: int) -> dict[str, int]:
    """The ``types`` most frequent words, ties by the word, in the order in which they are given."""
    if len(counts) <= types:
        return dict(counts)
    least = sorted(counts.values(), reverse=True)[types - 1]
    more = sum(count > least for count in counts.values())
    tied = set(sorted(word for word, count in counts.items() if count == least)[: types - more])
    return {word: count for word, count in counts.items() if count > least or word in tied}


def facts_of_merges(operations: int, codes: str, types: int) -> dict[str, Any]:
    """What a card states about merges: ``types`` is the number of distinct words in train."""
    facts = {"asked_for": operations, "learned": codes.count("\n") - 1, "types_in_train": types}
    return {"bpe": facts | ({"learned_from_types": TYPES} if types > TYPES else {})}


def joined(tokens: Sequence[str]) -> list[str]:
    """Pieces joined into words; a separator at the end of the last piece is ignored."""
    words: list[str] = []
    start = ""
    for token in tokens:
        if token.endswith(SEPARATOR):
            start += token.removesuffix(SEPARATOR)
        else:
            words.append(start + token)
            start = ""
    return [*words, start] if start else words


def _counts(split: Split) -> Counter[str]:
    """How often each symbol occurs in a split."""
    counts = split.tokenized.counts(len(split.symbols)).tolist()
    return Counter({symbol: count for symbol, count in zip(split.symbols, counts, strict=True) if count})


def _pieces(counts: Counter[str], splitter: Splitter) -> Counter[str]:
    pieces: Counter[str] = Counter()
    for word, count in counts.items():
        for piece in splitter.pieces(word):
            pieces[piece] += count
    return pieces


def written(frequency: Counter[str]) -> bytes:
    """Pieces in the format of subword-nmt, ``piece count`` on each line, by descending frequency, ties by the piece."""
    listed = sorted(frequency, key=lambda piece: (-frequency[piece], piece))
    return "".join(f"{piece} {frequency[piece]}\n" for piece in listed).encode("utf-8")


def frequent(pieces: str, min_freq: int) -> set[str]:
    """The pieces in the format of :func:`written` that occur at least ``min_freq`` times."""
    listed = (line.split(" ") for line in pieces.split("\n") if line)
    return {piece for piece, count in listed if int(count) >= min_freq}
