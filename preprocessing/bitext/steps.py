"""The steps of a translation pipeline that need both sides of a pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from preprocessing.bitext.data import SIDES, Bitext, Pair
from preprocessing.bitext.subwords import CODES, joined
from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context, Dropped, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.normalization import loose_key
from preprocessing.text.steps import SHOWN, LearnVocabulary
from preprocessing.text.tokenizers.reversible import ReversibleTokenizer
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.truecasing import LEARNED as TRUECASED, detruecased, rows_of_words
from preprocessing.text.vocabulary import SEQUENCE_SPECIALS


@dataclass(frozen=True)
class Deduplicate(Step[Bitext]):
    """Train on each pair once."""

    name: ClassVar[str] = "deduplicate"

    @property
    def rule(self) -> str:
        return (
            "Of train pairs with the same source and the same target, as prepared so far, the first is kept. Pairs "
            "that share only one side are kept. No other split is changed."
        )

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        train = data.splits["train"]
        first: dict[tuple[str, str], int] = {}
        rows = zip(train.source.prepared, train.target.prepared, strict=True)
        keep = np.array([first.setdefault(pair, row) == row for row, pair in enumerate(rows)], np.bool_)
        return _with_train(data, keep, "a repeated pair")


@dataclass(frozen=True)
class Overlap(Step[Bitext]):
    """Count and mark the sentences of other splits that occur in train."""

    name: ClassVar[str] = "overlap"
    drop: bool = False

    @property
    def rule(self) -> str:
        marked = (
            "A sentence of another split is marked seen_in_train when one with the same lower-cased letters and digits "
            "occurs in train on its side. Counted are such sentences, and those whose prepared text occurs there "
            "verbatim."
        )
        if not self.drop:
            return f"{marked} Nothing is dropped."
        return (
            f"A train pair is left out when its source or target has the letters and digits of a sentence of another "
            f"split on that side. {marked} The counts are before pairs are left out, the marks after."
        )

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        splits = data.splits
        others = {name: pair for name, pair in splits.items() if name != "train"}
        keys = {name: {side: _keys(getattr(pair, side)) for side in SIDES} for name, pair in splits.items()}
        overlap = {name: _overlap(pair, splits["train"], keys[name], keys["train"]) for name, pair in others.items()}
        dropped = Notes()
        trained = {side: set(keys["train"][side]) for side in SIDES}
        if self.drop:
            keep = np.ones(len(splits["train"]), np.bool_)
            for side in SIDES:
                elsewhere = {key for name in others for key in keys[name][side]}
                keep &= np.array([key not in elsewhere for key in keys["train"][side]], np.bool_)
            data, dropped = _with_train(data, keep, "a sentence of another split")
            trained = {
                side: {key for key, is_kept in zip(keys["train"][side], keep, strict=True) if is_kept} for side in SIDES
            }
        marked = {"train": data.splits["train"]}
        for name, pair in others.items():
            seen = {side: np.array([key in trained[side] for key in keys[name][side]], np.bool_) for side in SIDES}
            marked[name] = Pair(*(replace(getattr(pair, side), seen_in_train=seen[side]) for side in SIDES))
        return data.with_splits(marked), replace(dropped, facts={"overlap": overlap}, warnings=self.warnings(overlap))

    def warnings(self, overlap: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """A warning for each split whose pairs are all in train, from the fact of this step."""
        whole = [name for name, counts in overlap.items() if counts["letters"]["pair"] == counts["rows"]]
        return [] if self.drop else [f"{name}: every pair is in train too; BLEU says little" for name in whole]


def _overlap(pair: Pair, train: Pair, keys: dict[str, list[str]], train_keys: dict[str, list[str]]) -> dict[str, Any]:
    """How many rows of a split have their source, target, either, or the same pair in train."""
    counts: dict[str, Any] = {"rows": len(pair)}
    verbatim = {side: getattr(pair, side).prepared.tolist() for side in SIDES}
    train_verbatim = {side: getattr(train, side).prepared.tolist() for side in SIDES}
    for kind, own, trained in (("letters", keys, train_keys), ("verbatim", verbatim, train_verbatim)):
        seen = {side: set(trained[side]) for side in SIDES}
        pairs = set(zip(trained["source"], trained["target"], strict=True))
        rows = list(zip(own["source"], own["target"], strict=True))
        counts[kind] = {
            "source": sum(source in seen["source"] for source, _ in rows),
            "target": sum(target in seen["target"] for _, target in rows),
            "either": sum(source in seen["source"] or target in seen["target"] for source, target in rows),
            "pair": sum(row in pairs for row in rows),
        }
    return counts


@dataclass(frozen=True)
class FilterLengths(Step[Bitext]):
    """Leave out train pairs that are too long, empty, or too different in length."""

    name: ClassVar[str] = "filter-lengths"
    max_length: int | None = None
    max_ratio: float | None = None

    @property
    def rule(self) -> str:
        limits = ["a side has no tokens"]
        limits += [f"a side has more than {self.max_length} tokens"] if self.max_length is not None else []
        limits += (
            [f"one side has more than {self.max_ratio:g} times as many tokens as the other"]
            if self.max_ratio is not None
            else []
        )
        left_out = f"A train pair is left out when {', or '.join(limits)}."
        return f"{left_out} The other splits keep all rows at full length."

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        train = data.splits["train"]
        faults = self.faults(*(side.tokenized.lengths for side in train.sides))
        keep = np.ones(len(train), np.bool_)
        dropped, examples = [], []
        for reason, fault in faults.items():
            rows = np.flatnonzero(fault & keep)
            keep[rows] = False
            if len(rows):
                dropped.append(Dropped("train", reason, len(rows), train.row_id[rows[:SHOWN]].tolist()))
            examples += [
                (f"{train.source.text[row]} ||| {train.target.text[row]}", f"left out: {reason}")
                for row in rows[:SHOWN]
            ]
        return _with_train(data, keep, "")[0], Notes(dropped=dropped, examples=examples)

    def faults(self, source: np.ndarray, target: np.ndarray) -> dict[str, np.ndarray]:
        """The rows that are left out, (rows,) of bool by reason, given the number of tokens of each side, (rows,)."""
        shorter, longer = np.minimum(source, target), np.maximum(source, target)
        faults = {"a side without tokens": shorter == 0}
        if self.max_length is not None:
            faults[f"more than {self.max_length} tokens"] = longer > self.max_length
        if self.max_ratio is not None:
            faults[f"a length ratio above {self.max_ratio:g}"] = longer > self.max_ratio * shorter
        return faults


@dataclass(frozen=True)
class FitTokenizer(Step[Bitext]):
    """Train one tokenizer on both sides."""

    name: ClassVar[str] = "learn-pieces"
    tokenizer: Tokenizer

    @property
    def rule(self) -> str:
        return (
            "The tokenizer of the next step is trained on the training split: the source texts in order, then the "
            "target texts."
        )

    def parameters(self) -> dict[str, Any]:
        return self.tokenizer.described()

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        texts = [text for side in data.splits["train"].sides for text in side.prepared]
        fitted = self.tokenizer.fit(texts)
        return Bitext(replace(data.source, tokenizer=fitted), replace(data.target, tokenizer=fitted)), Notes()


class LearnSequenceVocabulary(LearnVocabulary):
    """Learn a vocabulary with ids for begin and end of sentence."""

    specials: ClassVar[tuple[str, ...]] = SEQUENCE_SPECIALS


@dataclass(frozen=True)
class LearnJointVocabulary(Step[Bitext]):
    """Learn one vocabulary for both sides."""

    name: ClassVar[str] = "vocabulary"
    learn: LearnSequenceVocabulary

    @property
    def rule(self) -> str:
        return f"One vocabulary of both sides, whose tokens are counted together. {self.learn.rule}"

    def parameters(self) -> dict[str, Any]:
        return {"joint": True, **self.learn.parameters()}

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        sides = data.splits["train"].sides
        counts: Counter[str] = Counter()
        for side in sides:
            of_side = side.tokenized.counts(len(side.symbols)).tolist()
            counts.update(dict(zip(side.symbols, of_side, strict=True)))
        vocabulary = self.learn.learn(list(counts), np.array(list(counts.values()), np.int64))
        facts = {name: self.learn.facts(vocabulary, side) for name, side in zip(SIDES, sides, strict=True)}
        joint = Bitext(replace(data.source, vocabulary=vocabulary), replace(data.target, vocabulary=vocabulary))
        return joint, Notes(facts={"vocabulary": facts})


@dataclass(frozen=True)
class CheckRoundTrip(Step[Data]):
    """Count the rows that detokenisation restores."""

    name: ClassVar[str] = "check-round-trip"

    @property
    def rule(self) -> str:
        return (
            "The tokens of every split except train are detokenised and compared with the text that was tokenised: "
            "counted are the rows restored exactly (after truecasing: except for case), and those restored except "
            "for spaces. Nothing is changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        counts, examples = {}, []
        for name, split in data.splits.items():
            if name == "train":
                continue
            restored = [detokenized(data, tokens) for tokens in rows_of_words(split)]
            wanted = split.prepared.tolist()
            if TRUECASED in data.learned:
                restored, wanted = [text.lower() for text in restored], [text.lower() for text in wanted]
            rows = list(zip(wanted, restored, strict=True))
            counts[name] = {
                "rows": len(rows),
                "exact": sum(before == after for before, after in rows),
                "but_for_spaces": sum(before.replace(" ", "") == after.replace(" ", "") for before, after in rows),
            }
            examples += [(before, after) for before, after in rows if before != after][:1]
        return data, Notes(facts={"round_trip": counts}, examples=examples)


def detokenized(data: Data, tokens: Sequence[str]) -> str:
    """Tokens of one side as text: pieces are joined into words, sentences are capitalised if they were truecased, and
    words are joined by the rules of the language. Any tokens are accepted; special tokens are treated as words."""
    tokens = whole_words(data, tokens)
    if TRUECASED in data.learned:
        tokens = detruecased(tokens)
    if not isinstance(data.tokenizer, ReversibleTokenizer):
        raise InputError(
            "detokenisation", "this side has no tokenizer with an inverse", remedy="use translation.pipeline"
        )
    return data.tokenizer.detokenize(tokens)


def whole_words(data: Data, tokens: Sequence[str]) -> Sequence[str]:
    """Tokens of one side with the pieces of byte pair encoding joined into words."""
    return joined(tokens) if CODES in data.learned else tokens


def _with_train(data: Bitext, keep: np.ndarray, reason: str) -> tuple[Bitext, Notes]:
    train = data.splits["train"]
    if not keep.any():
        raise InputError("train split", "no pair is left", remedy="relax the filters, or give more pairs")
    dropped = Dropped("train", reason, int((~keep).sum()), train.row_id[~keep][:SHOWN].tolist())
    examples = [
        (f"{train.source.text[row]} ||| {train.target.text[row]}", f"left out: {reason}")
        for row in np.flatnonzero(~keep)[:SHOWN]
    ]
    without = data.with_splits({**data.splits, "train": train.take(keep)})
    return without, Notes(dropped=[dropped] if dropped.rows else [], examples=examples)


def _keys(split: Split) -> list[str]:
    return [loose_key(text) for text in split.prepared]
