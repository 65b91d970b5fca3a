"""Truecasing: the first word of a sentence is written in its most frequent case inside training sentences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sacremoses import MosesDetruecaser, MosesTruecaser

from preprocessing.pipeline.ragged import Ragged
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.steps import SHOWN
from preprocessing.text.tokenizers.tokenizer import installed_version

LEARNED = "truecase"


@dataclass(frozen=True)
class Truecase(Step[Data]):
    """Restore the case that each word has inside sentences."""

    name: ClassVar[str] = "truecase"
    for_new_rows: ClassVar[bool] = True

    @property
    def rule(self) -> str:
        return (
            "As Moses' train-truecaser.perl and truecase.perl, in their port sacremoses.MosesTruecaser: the cased "
            "forms of each word are counted where it does not begin a sentence of the training split; the commonest "
            "form (ties by code points) replaces the first word of a sentence and any form that was not counted; other "
            "words stay. Detokenisation capitalises the first word of each sentence."
        )

    def parameters(self) -> dict[str, Any]:
        return {"versions": {"sacremoses": installed_version("sacremoses")}}

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        facts: dict[str, Any] = {}
        if LEARNED not in data.learned:
            forms = learn(rows_of_words(data.splits["train"]))
            data = data.with_learned(**{LEARNED: json.dumps(forms, ensure_ascii=False).encode("utf-8")})
            facts["truecase"] = {
                "words": len(forms),
                "with_several_ways": sum(len(cased) > 1 for cased in forms.values()),
            }
        truecaser = _truecaser(json.loads(data.learned[LEARNED]))
        table: dict[str, int] = {}
        ids: dict[str, list[int]] = {}
        examples: list[tuple[str, str]] = []
        for name, split in data.splits.items():
            ids[name] = []
            for words in rows_of_words(split):
                cased = truecaser.truecase(" ".join(words), use_known=True)
                if len(cased) != len(words):
                    raise ValueError(f"the truecaser returned {len(cased)} words for {len(words)}: {words}")
                if cased != words and len(examples) < SHOWN:
                    examples.append((" ".join(words), " ".join(cased)))
                ids[name] += [table.setdefault(word, len(table)) for word in cased]
        symbols = list(table)
        splits = {
            name: replace(
                split,
                symbols=symbols,
                tokens=Ragged.from_lengths(np.array(ids[name], np.int32), split.tokenized.lengths),
            )
            for name, split in data.splits.items()
        }
        return data.with_splits(splits), Notes(facts=facts, examples=examples)


def learn(rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """The cased forms of each word inside sentences: lower-cased word -> forms, by descending frequency, ties by code
    points."""
    truecaser = MosesTruecaser()
    counts: dict[str, Counter[str]] = {}
    for words in rows:
        for lowered, word, weight in truecaser.learn_truecase_weights(words):
            counts.setdefault(lowered, Counter())[word] += weight
    return {lowered: _by_frequency(counts[lowered]) for lowered in sorted(counts)}


def detruecased(tokens: Sequence[str]) -> list[str]:
    """The tokens with the first word of each sentence capitalised."""
    cased: list[str] = MosesDetruecaser().detruecase(" ".join(tokens))
    return cased


def rows_of_words(split: Split) -> list[list[str]]:
    """The words of every row."""
    words = list(map(split.symbols.__getitem__, split.tokenized.ids.tolist()))
    return [words[start:stop] for start, stop in pairwise(split.tokenized.offsets.tolist())]


def _by_frequency(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda form: (-counts[form], form))


def _truecaser(forms: dict[str, list[str]]) -> MosesTruecaser:
    truecaser = MosesTruecaser()
    truecaser.model = {
        "best": {lowered: cased[0] for lowered, cased in forms.items()},
        "known": {form for cased in forms.values() for form in cased[1:]},
    }
    return truecaser
