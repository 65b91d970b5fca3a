"""Steps for choices that descriptions of experiments leave open: cleaning, stop words, copies, cuts and splits.

Each is a rule that is used in practice, with its source. They make it possible to measure the effect of such a choice;
the defaults of the pipelines use none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from preprocessing.errors import InputError, check_choice
from preprocessing.pipeline import card
from preprocessing.pipeline.step import Context, Dropped, Notes, Step
from preprocessing.text.data import Data, Split, object_column
from preprocessing.text.steps import SHOWN, hash_numbers, label_balance
from preprocessing.text.tokenizers.mecab import Mecab


def _substitute(pattern: str, replacement: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)
    return lambda text: compiled.sub(replacement, text)


CLEANING: dict[str, tuple[str, Callable[[str], str]]] = {
    "lower-case": ("letters are lower-cased (Unicode)", str.lower),
    "repetitions": (
        "a letter or digit that occurs three times or more in a row is written twice, as by soynlp's repeat_normalize",
        _substitute(r"(\w)\1{2,}", r"\1\1"),
    ),
    "laughter": ("runs of ㅋ, ㅎ, ㅠ and ㅜ are replaced by a space", _substitute("[ㅋㅎㅠㅜ]+", " ")),
    "punctuation": (
        "every character that is neither a letter, a digit nor white space (Unicode) is replaced by a space",
        _substitute(r"[^\w\s]|_", " "),
    ),
    "hangul-only": (
        "everything but Hangul syllables, compatibility jamo and the space is removed, as in wikidocs.net/44249",
        _substitute("[^ㄱ-ㅎㅏ-ㅣ가-힣 ]", ""),
    ),
    "no-spaces": ("white space is removed", _substitute(r"\s+", "")),
}
"""Cleaning rules by name: a description, and a function of a text."""

STOP_WORDS: dict[str, tuple[str, str]] = {
    "wikidocs-okt": ("wikidocs.net/44249, for Okt", "의 가 이 은 들 는 좀 잘 걍 과 도 를 으로 자 에 와 한 하다"),
    "wikidocs-mecab": (
        "wikidocs.net/94600, for Mecab",
        "도 는 다 의 가 이 은 한 에 하 고 을 를 인 듯 과 와 네 들 지 임 게",
    ),
}
"""Published stop word lists by name: the source, and the words separated by spaces."""


@dataclass(frozen=True)
class Clean(Step[Data]):
    """Clean the text by rules of :data:`CLEANING`, in the given order.

    Raises:
        ParameterError: a rule is unknown.
    """

    name = "clean"
    version = 2
    for_new_rows = True
    rules: tuple[str, ...]

    def __post_init__(self) -> None:
        for rule in self.rules:
            check_choice("clean", rule, CLEANING)

    @property
    def rule(self) -> str:
        rules = "; then ".join(CLEANING[rule][0] for rule in self.rules)
        return f"What the tokenizer reads is cleaned: {rules}. The raw text is kept as well."

    def parameters(self) -> dict[str, Any]:
        return {"rules": list(self.rules)}

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        splits, changed, examples = {}, {}, []
        for name, split in data.splits.items():
            texts = split.prepared.tolist()
            cleaned = [self.cleaned(text) for text in texts]
            splits[name] = replace(split, normalized=object_column(cleaned))
            pairs = [pair for pair in zip(texts, cleaned, strict=True) if pair[0] != pair[1]]
            changed[name] = len(pairs)
            examples += pairs[:1]
        return data.with_splits(splits), Notes(facts={"cleaned": changed}, examples=examples)

    def cleaned(self, text: str) -> str:
        """One text after all rules."""
        for rule in self.rules:
            text = CLEANING[rule][1](text)
        return text


@dataclass(frozen=True)
class RemoveStopWords(Step[Data]):
    """Remove the tokens of one of the lists :data:`STOP_WORDS`.

    Raises:
        ParameterError: the list is unknown.
    """

    name = "stop-words"
    for_new_rows = True
    words: str

    def __post_init__(self) -> None:
        check_choice("stop_words", self.words, STOP_WORDS)

    @property
    def rule(self) -> str:
        source, words = STOP_WORDS[self.words]
        return f"The tokens of the list of {source}, are removed: {words}."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        words = STOP_WORDS[self.words][1].split()
        splits, removed = {}, {}
        for name, split in data.splits.items():
            mask = np.array([symbol not in words for symbol in split.symbols], np.bool_)[split.tokenized.ids]
            splits[name] = replace(split, tokens=split.tokenized.where(mask))
            removed[name] = card.rate(int((~mask).sum()), len(mask))
        return data.with_splits(splits), Notes(facts={"rate_of_tokens_removed": removed})


class MecabByTag(Mecab):
    """Mecab without the morphemes that Lucene's Korean analyser (Nori) leaves out by default.

    The stop tags (``KoreanPartOfSpeechStopFilter.DEFAULT_STOP_TAGS``) are those of the same dictionary; for an
    inflected form, whose tag names several morphemes, the first one counts.
    """

    name = "mecab-by-tag"
    stop_tags: ClassVar[tuple[str, ...]] = (
        *("E", "IC", "J", "MAG", "MAJ", "MM", "SP", "SSC", "SSO", "SC", "SE"),
        *("XPN", "XSA", "XSN", "XSV", "UNA", "NA", "VSV"),
    )
    rule = (
        f"{Mecab.rule} Morphemes are left out whose tag, of several the first, is one of the default stop tags of "
        f"Lucene's Korean analyser, {', '.join(stop_tags)}; E and J are all tags that start with E or J."
    )
    output = ""

    def _words(self, piece: str) -> list[str]:
        # Not splitlines(): a text may contain what Python takes for the end of a line.
        lines = [line.split("\t") for line in self._parse(piece).split("\n")]
        tagged = [(line[0], line[1].split(",")[0].split("+")[0]) for line in lines if len(line) == 2]
        content = [words for words, tag in tagged if tag not in self.stop_tags and tag[0] not in "EJ"]
        return [word for words in content for word in words.split()]  # white space that Mecab does not know is a word


@dataclass(frozen=True)
class KeepLast(Step[Data]):
    """Limit the length of each row, keeping its end."""

    name = "keep-last"
    for_new_rows = True
    keeps = "last"
    max_length: int

    @property
    def rule(self) -> str:
        return f"The last {self.max_length} tokens of each row are kept, the others are cut off."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        rows = {name: split.tokenized for name, split in data.splits.items()}
        splits = {name: replace(data.splits[name], tokens=each.ends(self.max_length)) for name, each in rows.items()}
        return data.with_splits(splits), Notes(facts={"truncation": card.truncation(rows, [self.max_length])})


@dataclass(frozen=True)
class DropCopies(Step[Data]):
    """Leave out training rows whose text occurs elsewhere, before validation rows are split off.

    Attributes:
        of: ``train`` leaves out all but the first of equal texts; ``test`` leaves out all rows whose text is in the
            test split.

    Raises:
        ParameterError: ``of`` is neither of the two.
    """

    name = "drop-copies"
    of: str

    def __post_init__(self) -> None:
        check_choice("of", self.of, ("train", "test"))

    @property
    def rule(self) -> str:
        if self.of == "test":
            return "Rows of the train file whose text occurs verbatim in the test file are left out."
        return "Of rows of the train file with the same text only the first is kept, whatever their labels."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        copy = self._copies(train, data.splits["test"])
        originals = train.take(~copy)
        if not len(originals):
            remedy = "give texts that are not in test, or keep the copies"
            raise InputError("train", f"every row is a copy in {self.of}; none is left", remedy=remedy)
        dropped = [Dropped("train", f"a copy in {self.of}", int(copy.sum()), train.row_id[copy][:SHOWN].tolist())]
        notes = Notes(facts={"train": {"rows": len(originals), **label_balance(originals.label)}}, dropped=dropped)
        return data.with_splits({**data.splits, "train": originals}), notes

    def _copies(self, train: Split, test: Split) -> np.ndarray:
        seen = set(test.text) if self.of == "test" else set()
        copies = []
        for text in train.text:
            copies.append(text in seen)
            if self.of == "train":
                seen.add(text)
        return np.array(copies, np.bool_)


@dataclass(frozen=True)
class SplitTail(Step[Data]):
    """Split off the last training rows as validation rows."""

    name = "split-tail"
    one_in: int = 10

    @property
    def rule(self) -> str:
        return (
            f"The last rows of the train file, one in {self.one_in} of all (rounded down), go to validation; the "
            "others stay in train. Test is not changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        chosen = np.arange(len(train)) >= len(train) - len(train) // self.one_in
        splits = {**data.splits, "train": train.take(~chosen), "validation": train.take(chosen)}
        few = f"{len(train)} rows are too few to split off one in {self.one_in}: validation has none"
        return data.with_splits(splits), Notes(warnings=[] if chosen.any() else [few])


@dataclass(frozen=True)
class LimitLabelled(Step[Data]):
    """Keep only some training rows, as if no others were labelled, after the steps that learn from all texts."""

    name = "limit-labelled"
    rows: int

    @property
    def rule(self) -> str:
        return (
            f"{self.rows} rows of train are kept, those with the smallest number in digits 17 to 24 of the SHA-256 of "
            "their text (UTF-8), ties by order. What was learned from the texts before, such as the vocabulary, is not "
            "changed: texts without a label are plentiful. Validation and test are not changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        if self.rows > len(train):
            reason = f"{self.rows} rows are wanted, train has {len(train)}"
            remedy = f"choose a variant with at most {len(train)} labelled rows, or give more training rows"
            raise InputError(f"step {self.name}", reason, remedy=remedy)
        chosen = np.zeros(len(train), np.bool_)
        chosen[np.argsort(hash_numbers(train.text, first_digit=16), kind="stable")[: self.rows]] = True
        labelled = train.take(chosen)
        dropped = [Dropped("train", "its label is not used", int((~chosen).sum()), [])]
        notes = Notes(facts={"labelled": {"rows": len(labelled), **label_balance(labelled.label)}}, dropped=dropped)
        return data.with_splits({**data.splits, "train": labelled}), notes
