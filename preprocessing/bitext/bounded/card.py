"""The card of a run in bounded memory: exact counts, and the examples that the steps themselves would show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preprocessing.bitext.bounded.run import BoundedRun, added
from preprocessing.bitext.bounded.shards import strings_of
from preprocessing.bitext.bounded.words import MERGES, WORDS, Rows
from preprocessing.bitext.data import SIDES, Bitext, BothSides
from preprocessing.bitext.reading import ReadPairs, missing_part, stand_in
from preprocessing.bitext.split import HoldOutPairs
from preprocessing.bitext.steps import (
    CheckRoundTrip,
    Deduplicate,
    FilterLengths,
    LearnJointVocabulary,
    LearnSequenceVocabulary,
    Overlap,
)
from preprocessing.bitext.subwords import ApplyBPE, LearnBPE, facts_of_merges
from preprocessing.pipeline import card as cards
from preprocessing.pipeline.pipeline import WARNINGS
from preprocessing.pipeline.ragged import Ragged, unpack_strings
from preprocessing.pipeline.step import Dropped, Notes, Step, ordered
from preprocessing.text.normalization import Lowercase, Normalize, normalizer
from preprocessing.text.steps import SHOWN, Encode, Tokenize, unknown_facts
from preprocessing.text.vocabulary import UNKNOWN_ID

Counts = dict[str, dict[str, int | None]]


@dataclass(frozen=True)
class _Counted:
    """Rows and tokens of all splits, as a card counts them."""

    units: Counts

    def counts(self) -> Counts:
        return self.units


class BoundedCard:
    """Build the card of a completed run."""

    def __init__(self, run: BoundedRun) -> None:
        self._run = run
        self._others = [split for split in run.splits if split.name != "train"]
        self._tokens: dict[str, int | None] = {f"{split.name} {side}": None for split in run.splits for side in SIDES}
        self._rows = {split.name: sum(split.rows) for split in run.splits}

    def build(self, digest: str) -> dict[str, Any]:
        """The card. ``digest``: of the arrays of the result."""
        run = self._run
        notes_of: dict[type[Any], Callable[[Any], Notes]] = {
            ReadPairs: self._read,
            Normalize: self._normalize,
            Lowercase: lambda step: Notes(),
            HoldOutPairs: lambda step: Notes(),
            Deduplicate: lambda step: self._dropped("a repeated pair"),
            Overlap: self._overlap,
            Tokenize: self._tokenize,
            FilterLengths: self._filter,
            LearnBPE: self._learn_bpe,
            ApplyBPE: self._bpe,
            LearnJointVocabulary: self._vocabulary,
            LearnSequenceVocabulary: self._vocabulary,
            Encode: self._encode,
            CheckRoundTrip: self._round_trip,
        }
        records, warnings = [], list[str]()
        facts: dict[str, Any] = {}
        before: Counts = {"rows": {}, "tokens": {}}
        for step in run.pipeline.steps:
            notes = notes_of[_kind(step)](step)
            after: Counts = {"rows": dict(self._rows), "tokens": dict(self._tokens)}
            records.append(cards.step_record(step.describe(), _Counted(before), _Counted(after), notes))  # type: ignore[arg-type]
            before = after
            facts |= notes.facts
            warnings += notes.warnings
        facts |= {WARNINGS: warnings} if warnings else {}
        splits = {
            name: {
                "rows": self._rows[name],
                **{f"{side}_tokens": self._tokens[f"{name} {side}"] for side in SIDES},
            }
            for name in ordered(self._rows)
        }
        return cards.build(run.pipeline.name, run.files, records, facts, splits, digest)

    def _read(self, step: ReadPairs) -> Notes:
        run = self._run
        surveys: dict[str, Any] = {}
        missing: dict[str, str] = {}
        dropped, warnings = [], list[str]()
        for collection in step.collections:
            own = [
                shard
                for split in run.splits
                for shard, part in zip(split.shards, run.parts[split.name], strict=True)
                if part == collection.part
            ]
            if not own:
                missing[collection.part] = missing_part(collection)
                continue
            notes = [run.reading[shard] for shard in own]
            rows = sum(len(run.shards.load(shard, ["line"])["line"]) for shard in own)
            if blanks := sum(each["blanks"] for each in notes):
                ids = [f"{collection.part}:{line}" for each in notes for line in each["blank"]]
                dropped.append(Dropped(collection.split, "an empty side", blanks, ids[:SHOWN]))
            if run.files.origin == "given" and rows == 1 and collection.split == "train":
                warnings.append(f"{collection.part}: only one pair to train on")
            copies = run.survey[collection.part]
            surveys[collection.part] = {
                "split": collection.split,
                "note": collection.note,
                "rows": rows,
                "distinct_source": rows - copies["source"],
                "distinct_target": rows - copies["target"],
                "repeated_pairs": copies["pair"],
                "padded_with_space": sum(each["padded"] for each in notes),
                "characters": {side: cards.profile_of_counts(self._characters(own, side), width=5) for side in SIDES},
            }
        facts: dict[str, Any] = {"collections": surveys}
        facts |= {"missing": missing} if missing else {}
        facts |= {"stand_ins": {a: stand_in(a, b) for a, b in step.stand_ins.items()}} if step.stand_ins else {}
        return Notes(facts=facts, dropped=dropped, warnings=warnings)

    def _characters(self, shards: list[str], side: str) -> np.ndarray:
        counts = np.zeros(0, np.int64)
        for shard in shards:
            column = f"{side}.characters"
            counts = added(counts, np.bincount(self._run.shards.load(shard, [column])[column]))
        return counts

    def _normalize(self, step: object) -> Notes:
        facts: dict[str, Any] = {}
        examples: list[tuple[str, str]] = []
        for side in SIDES:
            facts[side] = {}
            for split in self._run.splits:
                notes = [self._run.reading[shard][side] for shard in split.shards]
                facts[side][split.name] = sum(each["changed"] for each in notes)
                changed = [each["example"] for each in notes if "example" in each]
                examples += [(before, after) for before, after in changed[:1]]
        return Notes(facts={"normalized": facts}, examples=examples)

    def _dropped(self, *reasons: str) -> Notes:
        """The notes on the rows that were left out of train for these reasons."""
        dropped, examples = [], []
        for reason in reasons:
            rows = self._run.dropped.get(reason, np.empty(0, np.int64))
            if len(rows):
                self._rows["train"] -= len(rows)
                shown = list(self._pairs(rows[:SHOWN].tolist()))
                dropped.append(Dropped("train", reason, len(rows), [row_id for row_id, _ in shown]))
                examples += [(" ||| ".join(texts), f"left out: {reason}") for _, texts in shown]
        return Notes(dropped=dropped, examples=examples)

    def _overlap(self, step: Overlap) -> Notes:
        notes = self._dropped("a sentence of another split") if step.drop else Notes()
        overlap = self._run.seen.facts
        return replace(notes, facts={"overlap": overlap}, warnings=step.warnings(overlap))

    def _tokenize(self, step: object) -> Notes:
        run = self._run
        for split in run.splits:
            for side in SIDES:
                self._tokens[f"{split.name} {side}"] = _total(run.lengths[split.name][side])
        lengths = {
            side: {split.name: cards.profile_of_counts(run.lengths[split.name][side]) for split in run.splits}
            for side in SIDES
        }
        first = np.flatnonzero(run.tokenized)[:SHOWN].tolist()
        examples = [(text, " ".join(words)) for side in SIDES for text, words in self._tokenized(first, side)]
        return Notes(facts={"lengths": lengths}, examples=examples)

    def _filter(self, step: FilterLengths) -> Notes:
        reasons = step.faults(np.zeros(1), np.zeros(1))
        notes = self._dropped(*reasons)
        for side in SIDES:
            self._tokens[f"train {side}"] = self._run.words[side]["train"]
        return notes

    def _learn_bpe(self, step: LearnBPE) -> Notes:
        codes = self._run.shards.load(MERGES, ["codes"])["codes"].tobytes().decode("utf-8")
        return Notes(facts=facts_of_merges(step.operations, codes, self._run.shards.notes(MERGES)["types"]))

    def _bpe(self, step: object) -> Notes:
        run = self._run
        first = np.flatnonzero(run.selected)[:SHOWN].tolist()
        lengths: dict[str, Any] = {}
        examples = []
        for side in SIDES:
            counts = {split.name: np.zeros(0, np.int64) for split in run.splits}
            for of, _, arrays in run.written:
                counts[of] = added(counts[of], arrays[side])
            lengths[side] = {name: cards.profile_of_counts(counted) for name, counted in counts.items()}
            for split in run.splits:
                self._tokens[f"{split.name} {side}"] = _total(counts[split.name])
            final = run.shards.load(f"final-{side}", ["ids", "offsets"])
            pieces = Ragged(final["ids"], final["offsets"])
            numbers = {
                word: number for number, word in enumerate(strings_of(run.shards.load(f"{WORDS}-{side}"), "symbols"))
            }
            for _, words in self._tokenized(first, side):
                split_up = [run.symbols[side][piece] for word in words for piece in pieces[numbers[word]].tolist()]
                examples.append((" ".join(words), " ".join(split_up)))
        return Notes(facts={"piece_lengths": lengths}, examples=examples)

    def _vocabulary(self, step: object) -> Notes:
        run = self._run
        return Notes(
            facts={
                "vocabulary": {
                    side: run.learn.facts_of_counts(
                        run.vocabularies[side], run.symbols[side], run.counts[side]["train"]
                    )
                    for side in SIDES
                }
            }
        )

    def _encode(self, step: object) -> Notes:
        run = self._run
        facts: dict[str, Any] = {side: {} for side in SIDES}
        for side in SIDES:
            for split in run.splits:
                counts = np.where(run.encoding[side] == UNKNOWN_ID, run.counts[side][split.name], 0)
                with_unknown = sum(notes[side]["rows_with_unknown"] for of, notes, _ in run.written if of == split.name)
                facts[side][split.name] = unknown_facts(
                    run.symbols[side],
                    counts,
                    tokens=self._tokens[f"{split.name} {side}"] or 0,
                    rows=self._rows[split.name],
                    rows_with_unknown=with_unknown,
                )
        return Notes(facts={"unknown": facts})

    def _round_trip(self, step: object) -> Notes:
        facts: dict[str, Any] = {side: {} for side in SIDES}
        examples: list[tuple[str, str]] = []
        for side in SIDES:
            for split in self._others:
                each = [notes[side]["round_trip"] for of, notes, _ in self._run.written if of == split.name]
                facts[side][split.name] = {
                    name: sum(counts[name] for counts in each) for name in ("rows", "exact", "but_for_spaces")
                }
                shown = [counts["example"] for counts in each if "example" in counts]
                examples += [(before, after) for before, after in shown[:1]]
        return Notes(facts={"round_trip": facts}, examples=examples)

    def _pairs(self, rows: list[int]) -> Iterator[tuple[str, tuple[str, str]]]:
        """The id and the texts of rows of train."""
        for shard, part, row in self._locations(rows):
            arrays = self._run.shards.load(shard)
            texts = [_string(arrays, f"{side}.text", row) for side in SIDES]
            yield f"{part}:{arrays['line'][row]}", (texts[0], texts[1])

    def _tokenized(self, rows: list[int], side: str) -> Iterator[tuple[str, list[str]]]:
        """The prepared text and the words of rows of train."""
        run = self._run
        normalize = normalizer(run.languages[SIDES.index(side)])
        for shard, _, row in self._locations(rows):
            arrays = run.shards.load(shard)
            text = normalize(_string(arrays, f"{side}.text", row))
            tokens = Ragged.from_lengths(arrays[f"{side}.tokens"], arrays[f"{side}.lengths"])[row].tolist()
            yield (
                text.lower() if run.lowercase else text,
                [_string(arrays, f"{side}.symbols", token) for token in tokens],
            )

    def _locations(self, rows: list[int]) -> Iterator[tuple[str, str, int]]:
        """The shard, the part and the row in the shard of rows of train."""
        train: Rows = self._run.train
        ends = np.cumsum(train.rows)
        for row in rows:
            index = int(np.searchsorted(ends, row, side="right"))
            yield train.shards[index], self._run.parts["train"][index], row - int(ends[index]) + train.rows[index]


def _kind(step: Step[Bitext]) -> type[Any]:
    """The type of a step; for a step on both sides, the type of the step that is applied to a side."""
    return type(next(iter(step.steps.values()))) if isinstance(step, BothSides) else type(step)


def _total(counts: np.ndarray) -> int:
    return int((counts * np.arange(len(counts))).sum())


def _string(arrays: Mapping[str, np.ndarray], name: str, number: int) -> str:
    bounds = arrays[f"{name}.offsets"][number : number + 2]
    return unpack_strings(arrays[f"{name}.utf8"], bounds)[0]
