"""Split parallel text without official splits into train, validation and test: by hash, with no sentence in two
splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from preprocessing.bitext.data import SIDES, Bitext, Pair
from preprocessing.bitext.reading import UNSPLIT
from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Split
from preprocessing.text.normalization import loose_key
from preprocessing.text.steps import hash_numbers


@dataclass(frozen=True)
class SplitPairs(Step[Bitext]):
    """Split pairs that have no official split, so that no sentence is in two splits."""

    name: ClassVar[str] = "split-by-hash"
    one_in: int
    anchor: str
    language: str

    @property
    def rule(self) -> str:
        return (
            "Two sentences of one language count as the same when their lower-cased letters and digits are the same "
            "(normalised text; case, punctuation and spacing do not count; a text without letters and digits "
            "is compared as it is). Pairs that share a source or a target sentence, directly or through other pairs, "
            f"form a group, and a group is never divided. Of each group, the first of its sentences in {self.language} "
            "by code points, in that form, is hashed: the first 8 hexadecimal digits of the SHA-256 (UTF-8) as a "
            f"number, modulo {self.one_in}; 0 is test, 1 is validation, all others are train. Groups that hold a pair "
            "of a collection of train go to train. The choice depends on the text alone: neither the order "
            "of the rows nor the direction of translation nor a seed matters."
        )

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        splits = data.splits
        unsplit = splits.pop(UNSPLIT)
        official = splits.get("train")
        group, number = _hashed_groups([unsplit, *([official] if official else [])], self.anchor, self.one_in)
        for root in group[len(unsplit) :]:
            number[root] = self.one_in
        remainders = np.array([number[root] for root in group[: len(unsplit)]], np.int64)
        chosen = {"validation": unsplit.take(remainders == 1), "test": unsplit.take(remainders == 0)}
        train = unsplit.take(remainders > 1)
        empty = [name for name, part in {"train": train, **chosen}.items() if not len(part)]
        warnings = [f"{len(unsplit)} pairs are too few to divide: {' and '.join(empty)} have none"] if empty else []
        others = {name: pair for name, pair in splits.items() if name not in ("train", *chosen)}
        divided = set(group[: len(unsplit)])
        sizes = Counter(root for root in group if root in divided)
        facts = {
            "pairs": len(unsplit),
            "groups": len(sizes),
            "groups_of_one_pair": sum(size == 1 for size in sizes.values()),
            "largest_group": max(sizes.values()),
            "groups_with_pairs_of_train": len(divided.intersection(group[len(unsplit) :])),
            "rows": {"train": len(train), **{name: len(pair) for name, pair in chosen.items()}},
        }
        train = concatenated([train, official]) if official else train
        notes = Notes(facts={"hash_split": facts}, warnings=warnings)
        return data.with_splits({"train": train, **chosen, **others}), notes


@dataclass(frozen=True)
class HoldOutPairs(Step[Bitext]):
    """Hold out validation pairs if no validation files are given."""

    name: ClassVar[str] = "hold-out"
    one_in: int
    anchor: str
    language: str

    @property
    def rule(self) -> str:
        return (
            "Only where there are no validation files: train pairs that share a source or a target sentence, directly "
            "or through other pairs, form a group, and a group is never divided; sentences are the same when their "
            "lower-cased letters and digits are. A group goes to validation when the first 8 hexadecimal digits of the "
            f"SHA-256 (UTF-8) of the first of its sentences in {self.language} by code points, in that form, read as "
            f"a number, are divisible by {self.one_in}; otherwise it stays in train."
        )

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        splits = data.splits
        if "validation" in splits:
            return data, Notes()
        train = splits["train"]
        group, number = _hashed_groups([train], self.anchor, self.one_in)
        held_out = np.array([number[root] == 0 for root in group], np.bool_)
        for name, rows in (("train", ~held_out), ("validation", held_out)):
            if not rows.any():
                reason = f"too few pairs ({len(train)}) to hold out one in {self.one_in}: none is left for {name}"
                raise InputError("train", reason, remedy="give validation files, or more pairs")
        splits = {**splits, "train": train.take(~held_out), "validation": train.take(held_out)}
        return data.with_splits(splits), Notes(facts={"held_out": {"pairs": int(held_out.sum()), "of": len(train)}})


def _hashed_groups(splits: Sequence[Pair], anchor: str, one_in: int) -> tuple[list[int], dict[int, int]]:
    """The group of each pair of these splits, and for each group the hash of its anchor modulo ``one_in``."""
    keys = {side: [loose_key(text) for split in splits for text in getattr(split, side).prepared] for side in SIDES}
    group = groups(keys["source"], keys["target"])
    anchors = _firsts(group, keys[anchor])
    return group, dict(zip(anchors, (hash_numbers(anchors.values()) % one_in).tolist(), strict=True))


def groups(source: Sequence[str], target: Sequence[str]) -> list[int]:
    """For each pair, the number of its group: the row of one of the group's pairs. Pairs with equal source or equal
    target are in one group, and so are those that are connected through others (union-find)."""
    parent = list(range(len(source)))

    def root(row: int) -> int:
        top = row
        while parent[top] != top:
            top = parent[top]
        while parent[row] != top:
            parent[row], row = top, parent[row]
        return top

    for column in (source, target):
        first: dict[str, int] = {}
        for row, key in enumerate(column):
            own, other = root(row), root(first.setdefault(key, row))
            parent[max(own, other)] = min(own, other)
    return [root(row) for row in range(len(source))]


def concatenated(pairs: Sequence[Pair]) -> Pair:
    """All rows of untokenised pairs, in order."""

    def side(splits: Sequence[Split]) -> Split:
        columns = {
            column: np.concatenate([getattr(split, column) for split in splits])
            for column in ("row_id", "text", "label", "seen_in_train")
        }
        return Split(**columns, normalized=np.concatenate([split.prepared for split in splits]))

    return Pair(side([pair.source for pair in pairs]), side([pair.target for pair in pairs]))


def _firsts(group: Sequence[int], keys: Sequence[str]) -> dict[int, str]:
    """For each group, the first of its keys by code points."""
    first: dict[int, str] = {}
    for root, key in zip(group, keys, strict=True):
        if root not in first or key < first[root]:
            first[root] = key
    return first
