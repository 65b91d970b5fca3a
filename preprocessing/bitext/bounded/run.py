"""The run of a translation pipeline in bounded memory: the passes over the chunks, and what is computed in between.

Everything is written to a folder, the shards below ``shards-...`` and the arrays of the result below ``columns``. A run
that was killed continues from what is there; neither that nor the number of processes changes a byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import call
from pathlib import Path

import numpy as np

from preprocessing.bitext.bounded import chunks as chunking, overlap
from preprocessing.bitext.bounded.chunks import Chunk, chunks
from preprocessing.bitext.bounded.columns import reserve
from preprocessing.bitext.bounded.copies import FindCopies
from preprocessing.bitext.bounded.first_pass import FirstPass
from preprocessing.bitext.bounded.last_pass import FINAL, Destination, LastPass, Sizes
from preprocessing.bitext.bounded.pool import Pool, workers
from preprocessing.bitext.bounded.shards import Shards, packed, strings_of
from preprocessing.bitext.bounded.steps import Translating, find
from preprocessing.bitext.bounded.words import (
    BLOCK,
    MERGES,
    PIECES,
    WORDS,
    JoinPieces,
    LearnMerges,
    NumberWords,
    Rows,
    SplitWords,
)
from preprocessing.bitext.data import SIDES
from preprocessing.bitext.reading import ReadPairs, missing_files
from preprocessing.bitext.steps import (
    Deduplicate,
    FilterLengths,
    LearnJointVocabulary,
    LearnSequenceVocabulary,
    Overlap,
)
from preprocessing.bitext.subwords import CODES, PIECES as FREQUENCIES, ApplyBPE, LearnBPE
from preprocessing.corpora import CorpusFiles
from preprocessing.errors import InputError
from preprocessing.pipeline.ragged import Ragged
from preprocessing.progress import progress
from preprocessing.text.data import Data
from preprocessing.text.normalization import Lowercase
from preprocessing.text.vocabulary import Vocabulary

COLUMNS = "columns"
"""Folder of the result's arrays."""


class BoundedRun:
    """A run. The attributes are set by its passes and read by the card, besides the shards.

    Attributes:
        splits: the rows of each split, train first.
        parts: for each split, the part of the corpus to which each of its shards belongs.
        reading: notes of the first pass, by shard.
        survey: for each part, the number of copies of a ``source``, a ``target`` and a ``pair``.
        seen: which sentences of the other splits occur in train.
        dropped: rows of train that are left out, by reason.
        tokenized, selected: which rows of train are tokenized, and which are in the result.
        lengths: for each split and side, how many rows have each number of tokens.
        words: for each side, the number of words of each split.
        symbols, counts: for each side, its words or pieces, and how often each occurs in each split.
        learn: the step that learns the vocabularies.
        vocabularies, states, encoding: for each side the vocabulary, the learned state and the id of each symbol.
        written: split, notes and arrays of each shard of the result.
    """

    def __init__(self, pipeline: Translating, files: CorpusFiles, folder: Path) -> None:
        self.pipeline, self.files, self.folder = pipeline, files, folder
        self.shards, self.out = Shards(folder / f"shards-{chunking.CHUNK}"), folder / COLUMNS
        for each in (self.shards.folder, self.out):
            each.mkdir(parents=True, exist_ok=True)
        self.lowercase = find(pipeline.steps, Lowercase, required=False) is not None
        self.merges: LearnBPE | None = find(pipeline.steps, LearnBPE, required=False)
        self.languages = (pipeline.source, pipeline.target)

    def compute(self, processes: int | None) -> None:
        """Run all passes. Raises InputError for bad files or a full disk; what is finished is kept."""
        with workers(processes) as pool:
            self._read(pool)
            self._find_copies(pool)
            self.seen = overlap.measure(self.shards, self.splits, find(self.pipeline.steps, Overlap), pool)
            self._choose_rows()
            self._number_words(pool)
            splitting = self._count_symbols()
            self._learn_vocabularies()
            self._encode_symbols(splitting)
            self._write_columns(pool)

    def remove_shards(self) -> None:
        """Delete what only the run needs."""
        shutil.rmtree(self.shards.folder)

    def _read(self, pool: Pool) -> None:
        step: ReadPairs = find(self.pipeline.steps, ReadPairs)
        tokenizers = self.pipeline.source_tokenizer, self.pipeline.target_tokenizer
        first = FirstPass(
            self.shards.folder,
            self.languages,
            tokenizers,
            self.lowercase,
            step.empty,
            step.longest,
            self.files.origin == "given",
        )
        if "all" not in self.shards:
            listed: list[list[str]] = []

            def every() -> Iterator[Chunk]:
                for collection in step.collections:
                    parts = collection.parts(step.source, step.target)
                    if absent := [part for part in parts if part not in self.files.paths]:
                        if collection.optional:
                            continue
                        raise missing_files(self.files, absent)
                    paths = self.files.path(parts[0]), self.files.path(parts[1])
                    for chunk in chunks(self.files, collection, paths, len(listed)):
                        listed.append([chunk.name, collection.part, collection.split])
                        yield chunk

            for _ in progress(pool.map(first, every()), "read", "chunk"):
                pass
            rows = [len(self.shards.load(name, ["line"])["line"]) for name, *_ in listed]
            self.shards.save("all", {"rows": np.array(rows, np.int64)}, listed)
        listed, rows = self.shards.notes("all"), self.shards.load("all")["rows"].tolist()
        by_split: dict[str, list[tuple[str, int]]] = {}
        self.parts: dict[str, list[str]] = {}
        for (name, part, split), count in zip(listed, rows, strict=True):
            by_split.setdefault(split, []).append((name, count))
            self.parts.setdefault(split, []).append(part)
        self.reading = {name: self.shards.notes(name) for name, *_ in listed}
        self.splits = tuple(
            Rows(
                split,
                tuple(name for name, _ in of_split),
                tuple(count for _, count in of_split),
                masked=split == "train",
            )
            for split, of_split in by_split.items()
        )

    @property
    def train(self) -> Rows:
        return next(split for split in self.splits if split.name == "train")

    def _find_copies(self, pool: Pool) -> None:
        kinds = {"source": ("source",), "target": ("target",), "pair": SIDES}
        if "copies" not in self.shards:
            tasks: dict[tuple[str, str], FindCopies] = {}
            for split in self.splits:
                for part in dict.fromkeys(self.parts[split.name]):
                    own = [row for row, each in enumerate(self.parts[split.name]) if each == part]
                    shards = tuple(split.shards[row] for row in own)
                    rows = tuple(split.rows[row] for row in own)
                    for kind, sides in kinds.items():
                        tasks[part, kind] = FindCopies(self.shards.folder, shards, rows, "raw", sides)
            if find(self.pipeline.steps, Deduplicate, required=False):
                tasks["", ""] = FindCopies(self.shards.folder, self.train.shards, self.train.rows, "prepared", SIDES)
            copies = dict(zip(tasks, progress(pool.map(call, tasks.values()), "copies", "task"), strict=True))
            counts = [[*key, len(rows)] for key, rows in copies.items() if key[0]]
            of_train = {"train": copies["", ""]} if ("", "") in copies else {}
            self.shards.save("copies", of_train, counts)
        self.survey: dict[str, dict[str, int]] = {}
        for part, kind, count in self.shards.notes("copies"):
            self.survey.setdefault(part, {})[kind] = count
        self._copies = self.shards.load("copies").get("train")

    def _choose_rows(self) -> None:
        """Choose the rows of train that are tokenised and those that are in the result."""
        rows = sum(self.train.rows)
        tokenized = np.ones(rows, np.bool_)
        self.dropped: dict[str, np.ndarray] = {}
        if self._copies is not None:
            self._drop(tokenized, "a repeated pair", self._copies)
        if self.seen.elsewhere is not None:
            self._drop(tokenized, "a sentence of another split", np.flatnonzero(self.seen.elsewhere & tokenized))
        selected = tokenized.copy()
        lengths = [
            np.concatenate(
                [self.shards.load(shard, [f"{side}.lengths"])[f"{side}.lengths"] for shard in self.train.shards]
            )
            for side in SIDES
        ]
        for reason, fault in find(self.pipeline.steps, FilterLengths).faults(*lengths).items():
            self._drop(selected, reason, np.flatnonzero(fault & selected))
        self.lengths = {
            split.name: {side: self._lengths(split, side, tokenized) for side in SIDES} for split in self.splits
        }
        self.tokenized, self.selected = tokenized, selected
        if "rows-train" not in self.shards:
            self.shards.save("rows-train", {"tokenized": tokenized, "selected": selected})

    def _drop(self, rows: np.ndarray, reason: str, dropped: np.ndarray) -> None:
        rows[dropped] = False
        self.dropped[reason] = dropped
        if not rows.any():
            raise InputError("train split", "no pair is left", remedy="relax the filters, or give more pairs")

    def _lengths(self, split: Rows, side: str, tokenized: np.ndarray) -> np.ndarray:
        """How many rows have each number of tokens, before any are left out because of it."""
        counts = np.zeros(0, np.int64)
        start = 0
        for shard, rows in zip(split.shards, split.rows, strict=True):
            own = self.shards.load(shard, [f"{side}.lengths"])[f"{side}.lengths"]
            counts = added(counts, np.bincount(own[tokenized[start : start + rows]] if split.masked else own))
            start += rows
        return counts

    def _number_words(self, pool: Pool) -> None:
        folder = self.shards.folder
        for _ in progress(pool.map(NumberWords(folder, self.splits), SIDES), "words", "side", len(SIDES)):
            pass
        if self.merges is None:
            return
        for _ in pool.map(LearnMerges(folder, self.merges.operations), ["train"]):
            pass
        sizes = {side: len(self.shards.load(f"{WORDS}-{side}", ["counts.train"])["counts.train"]) for side in SIDES}
        blocks = {side: -(-size // BLOCK) for side, size in sizes.items()}
        tasks = [(side, number) for side in SIDES for number in range(blocks[side])]
        for _ in progress(pool.map(SplitWords(folder), tasks), "pieces", "block", len(tasks)):
            pass
        apply: ApplyBPE = find(self.pipeline.steps, ApplyBPE)
        for _ in pool.map(JoinPieces(folder, apply.min_freq), [(side, "train", blocks[side]) for side in SIDES]):
            pass

    def _count_symbols(self) -> dict[str, tuple[dict[str, bytes], Ragged]]:
        """Count the symbols of each side; returns what was learned to split its words, and the pieces of each word."""
        self.symbols: dict[str, list[str]] = {}
        self.counts: dict[str, dict[str, np.ndarray]] = {}
        self.words: dict[str, dict[str, int]] = {}
        splitting: dict[str, tuple[dict[str, bytes], Ragged]] = {}
        for side in SIDES:
            columns = ["symbols.utf8", "symbols.offsets", *(f"counts.{split.name}" for split in self.splits)]
            arrays = self.shards.load(f"{WORDS}-{side}", columns)
            counts = {split.name: arrays[f"counts.{split.name}"] for split in self.splits}
            self.words[side] = {name: int(counted.sum()) for name, counted in counts.items()}
            learned: dict[str, bytes] = {}
            if self.merges is None:
                self.symbols[side] = strings_of(arrays, "symbols")
                ids = np.arange(len(self.symbols[side]), dtype=np.int32)
                pieces = Ragged.from_lengths(ids, np.ones(len(ids), np.int64))
            else:
                final = self.shards.load(f"{PIECES}-{side}")
                self.symbols[side] = strings_of(final, "symbols")
                pieces = Ragged(final["ids"], final["offsets"])
                learned = {CODES: self.shards.load(MERGES, ["codes"])["codes"].tobytes()}
                learned[FREQUENCIES] = final["frequency"].tobytes()
            size = len(self.symbols[side])
            self.counts[side] = {
                name: np.bincount(pieces.ids, np.repeat(counted, pieces.lengths), size).astype(np.int64)
                for name, counted in counts.items()
            }
            splitting[side] = learned, pieces
        return splitting

    def _learn_vocabularies(self) -> None:
        train = {side: self.counts[side]["train"] for side in SIDES}
        joint: LearnJointVocabulary | None = find(self.pipeline.steps, LearnJointVocabulary, required=False)
        if joint is not None:
            together: dict[str, int] = {}
            for side in SIDES:
                for symbol, times in zip(self.symbols[side], train[side].tolist(), strict=True):
                    together[symbol] = together.get(symbol, 0) + times
            self.learn: LearnSequenceVocabulary = joint.learn
            vocabulary = self.learn.learn(list(together), np.array(list(together.values()), np.int64))
            self.vocabularies: dict[str, Vocabulary] = dict.fromkeys(SIDES, vocabulary)
        else:
            self.learn = find(self.pipeline.steps, LearnSequenceVocabulary)
            self.vocabularies = {side: self.learn.learn(self.symbols[side], train[side]) for side in SIDES}

    def _encode_symbols(self, splitting: Mapping[str, tuple[dict[str, bytes], Ragged]]) -> None:
        """Set the state of both sides and the ids of all symbols, which the last pass reads from the shards."""
        self.states: list[Data] = []
        self.encoding: dict[str, np.ndarray] = {}
        tokenizers = self.pipeline.source_tokenizer, self.pipeline.target_tokenizer
        for side, tokenizer in zip(SIDES, tokenizers, strict=True):
            learned, pieces = splitting[side]
            self.states.append(Data({}, tokenizer, self.vocabularies[side], learned))
            self.encoding[side] = self.vocabularies[side].indices(self.symbols[side])
            if f"{FINAL}-{side}" not in self.shards:
                arrays = {"ids": pieces.ids, "offsets": pieces.offsets, "encoding": self.encoding[side]}
                self.shards.save(f"{FINAL}-{side}", arrays | packed("symbols", self.symbols[side]))

    def _write_columns(self, pool: Pool) -> None:
        destinations = [
            Destination(split, index, part)
            for split in self.splits
            for index, part in enumerate(self.parts[split.name])
        ]
        if "sizes" not in self.shards:
            sizes = progress(pool.map(Sizes(self.shards.folder), destinations), "measure", "chunk", len(destinations))
            self.shards.save("sizes", {"sizes": np.array([[a, *b, *c] for a, b, c in sizes], np.int64)})
        sizes = self.shards.load("sizes")["sizes"]
        width, located, start = {}, [], 0
        self._sizes: dict[str, np.ndarray] = {}
        for split in self.splits:
            own = sizes[start : start + len(split.shards)]
            ends = np.cumsum(own, axis=0)
            self._sizes[split.name] = ends[-1]
            for destination, (row, *rest) in zip(
                destinations[start : start + len(split.shards)], (ends - own).tolist(), strict=True
            ):
                located.append(replace(destination, row=row, text=(rest[0], rest[1]), tokens=(rest[2], rest[3])))
            width[split.name] = self._width(split)
            start += len(split.shards)
        if "created" not in self.shards:
            for split in self.splits:
                seen = [self.seen.marks.get((split.name, side)) for side in SIDES]
                reserve(self.out, split.name, self._sizes[split.name], width[split.name], seen)
            self.shards.save("created", {})
        last = LastPass(
            self.shards.folder, self.out, self.languages, self.lowercase, (self.states[0], self.states[1]), width
        )
        self.written = [
            (split.name, self.shards.notes(name), self.shards.load(name, SIDES))
            for split, name in zip(
                (destination.split for destination in located),
                progress(pool.map(last, located), "write", "chunk", len(located)),
                strict=True,
            )
        ]

    def _width(self, split: Rows) -> int:
        """Characters of the longest id of a row that was read."""
        longest = 1
        for shard, part in zip(split.shards, self.parts[split.name], strict=True):
            lines = self.shards.load(shard, ["line"])["line"]
            longest = max(longest, len(part) + 1 + len(str(int(lines[-1]))) if len(lines) else 1)
        return longest


def added(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The sum of two arrays of counts, the shorter one filled with zeros."""
    total = np.zeros(max(len(first), len(second)), np.int64)
    total[: len(first)] += first
    total[: len(second)] += second
    return total
