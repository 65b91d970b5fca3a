"""The card of a result: what one must know to make the same data again, and what one should know before using it.

All numbers are computed from the data; none is typed in. A card holds no path, date, host or number of processes: the
same input gives the same card, byte for byte. Its structure (``card.json``; every rate is a fraction between 0 and 1):

    format        1
    pipeline      name of the pipeline
    digest        SHA-256 of the canonical bytes of the data
    sample        true when the corpus is the embedded sample: its numbers mean nothing
    corpus        name, title, licence, homepage,
                  files: {part: {file, url or null, sha256, rows: official count or null}}
    steps         in order, each: name, version, rule, parameters: {name: value}
                    rows     {split: {in, out}}   (in is 0 for a split that the step made)
                    tokens   {split: {in, out}}, null before tokenisation
                    dropped  [{split, reason, rows, examples: [row id]}]
                    examples [{before, after}]
    splits        {split: {rows, tokens, labels: {label: rows}, rate_of_label_1}} of the finished data
    facts         computed on the way, by topic:
      survey        {part: {rows, empty, doubled_quotes, distinct_texts, duplicate_rows, texts_with_both_labels,
                    labels: {label: rows}, rate_of_label_1, characters: profile}} of the official files as they are
                    read; duplicate_rows = rows - distinct_texts
      leaks_as_read {rows, of_test, empty, label_of_last_copy_agrees, label_of_a_copy_agrees,
                    label_of_all_copies_agrees}: test rows whose text stands verbatim in the official train file,
                    empty rows included
      leaks         the same without the empty rows: the rows with seen_in_train
      quotes        {split: rows that the step `unquote` changed}; only with that step
      lengths       {split: profile} of tokens per row, before truncation
      truncation    [{max_length, splits: {split: {rows_cut, rate_of_rows, tokens_cut, rate_of_tokens}}}] for several
                    lengths, the pipeline's own among them
      vocabulary    size, specials, min_freq, max_size, types_in_train, types_kept, tokens_in_train,
                    rate_of_train_tokens_kept, most_frequent: [[token, count]]
      unknown       {split: {tokens, unknown, rate, rows_with_unknown, rate_of_rows, types,
                    most_frequent: [[token, count]]}}, of the encoded (truncated) rows

The card of documents has besides, and without doubled_quotes and truncation:

    splits        also sentences of each split
    facts
      content       SHA-256 of the documents, however they are packed (``document_reading.content_sha256``)
      normalized    {split: documents that plain-text changed}
      sentences_per_document, words_per_sentence
                    {split: profile}, before either is limited
      word_truncation, sentence_truncation
                    as truncation, of words in a sentence and of sentences in a document: their "rows" are sentences
                    and documents, their "tokens" words and sentences

That of the raw crawl of NSMC has a survey of the part ``crawl``, without doubled_quotes and texts_with_both_labels, and
besides

      crawl         {films, sha256, reviews_without_label}, the SHA-256 of its films however they are packed
                    (``naver_rebuild.read_crawl``)
      left_out      {test, validation: {official_rows, of_them_empty, of_them_in_the_crawl, reviews_left_out}}: rows of
                    these splits of NSMC, and reviews of the crawl that have the text of one

That of sentences in official splits has ``copies`` {"<split> in <other>": as leaks, of_test being the share of the
split} instead of the two leaks, that of text for language modelling ``lines`` {split: {lines, without_words, words,
words_and_line_ends, unknown_as_it_stands, types}} instead of survey; ``labels`` is empty where rows carry none.

The card of a translation pipeline has the same structure; what is counted of one text there is counted of two here:

    corpus        file is ``archive: member`` where one file of a zip archive is read; sha256 is then the member's
    steps         tokens by ``<split> <side>``; a step that is applied to each side has parameters {source, target}
    splits        {split: {rows, source_tokens, target_tokens}}
    facts
      collections   {part: {split, note, rows, distinct_source, distinct_target, repeated_pairs, padded_with_space,
                    characters: {side: profile}}} of the files as they are read
      missing       {part: what is said of it}; only where a corpus is used without one of its collections
      stand_ins     {language: what is said of it}; only where the text of another one is taken for it
      normalized    {side: {split: rows that normalisation changed}}
      hash_split    {pairs, groups, groups_of_one_pair, largest_group, groups_with_pairs_of_train, rows: {split: rows}}
      overlap       {split: {rows, letters: counts, verbatim: counts}}, counts {source, target, either, pair}: rows
                    whose source, target, either, or very pair stands in train
      truecase      {side: {words, with_several_ways}}
      bpe           {asked_for, learned, types_in_train}: merges
      lengths, vocabulary, unknown
                    as above, by side: {side: {split: profile}}, {side: ...}, {side: {split: ...}}; lengths are those
                    before train pairs are left out for them
      piece_lengths {side: {split: profile}} after words were cut into pieces
      round_trip    {side: {split: {rows, exact, but_for_spaces}}}: rows that detokenisation restores

A profile is {rows, total, mean, min, max, percentiles: {"1", "5", "10", "25", "50", "75", "90", "95", "99"},
histogram: {width, counts}}; counts[i] rows have a length from i * width to (i + 1) * width - 1. Without rows, mean,
min, max and all percentiles are null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.pipeline.ragged import Ragged
from preprocessing.pipeline.step import Dataset
from preprocessing.text.data import Data

if TYPE_CHECKING:
    from preprocessing.pipeline.step import Notes

FORMAT = 1
PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)
LENGTHS_OF_INTEREST = (10, 20, 30, 40, 50, 60, 80, 100)


def build(
    pipeline: str,
    files: CorpusFiles,
    steps: list[dict[str, Any]],
    facts: dict[str, Any],
    splits: dict[str, Any],
    digest: str,
) -> dict[str, Any]:
    """The card as a JSON-able dict; its structure is in the module's docstring."""
    return {
        "format": FORMAT,
        "pipeline": pipeline,
        "digest": digest,
        "sample": files.origin == "embedded",
        "corpus": {
            "name": files.name,
            "title": files.title,
            "licence": files.licence,
            "homepage": files.homepage,
            "files": {
                part: {
                    "file": f"{path.name}: {files.members[part]}" if part in files.members else path.name,
                    "url": files.urls.get(part),
                    "sha256": files.sha256[part],
                    "rows": files.rows.get(part),
                }
                for part, path in files.paths.items()
            },
        },
        "steps": steps,
        "splits": splits,
        "facts": facts,
    }


def splits(data: Data) -> dict[str, Any]:
    """The entry ``splits`` of a card of labelled texts."""
    rows, tokens = data.rows(), data.token_counts()
    return {
        name: {
            "rows": rows[name],
            "tokens": tokens[name],
            **({} if split.sentences is None else {"sentences": len(split.sentences.ids)}),
            **label_balance(split.label),
        }
        for name, split in data.splits.items()
    }


def step_record(description: dict[str, Any], before: Dataset, after: Dataset, notes: Notes) -> dict[str, Any]:
    """One entry of ``steps``: what the step is, and what went in and came out of it."""
    rows_in, rows_out = before.rows(), after.rows()
    tokens_in, tokens_out = before.token_counts(), after.token_counts()
    rows = {name: {"in": rows_in.get(name, 0), "out": rows_out.get(name, 0)} for name in _names(rows_in, rows_out)}
    tokens = {name: {"in": tokens_in.get(name), "out": tokens_out.get(name)} for name in _names(tokens_in, tokens_out)}
    return {
        **description,
        "rows": rows,
        "tokens": tokens if any(count["out"] is not None for count in tokens.values()) else None,
        "dropped": [asdict(dropped) for dropped in notes.dropped],
        "examples": [{"before": before_text, "after": after_text} for before_text, after_text in notes.examples],
    }


def _names(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys([*before, *after]))


def label_balance(label: np.ndarray) -> dict[str, Any]:
    """How many rows carry each label (-1 is none), and the fraction that carries 1."""
    values, counts = np.unique(label[label >= 0], return_counts=True)
    labels = {str(value): int(count) for value, count in zip(values, counts, strict=True)}
    return {"labels": labels, "rate_of_label_1": rate(labels.get("1", 0), len(label))}


def profile(lengths: np.ndarray, width: int = 1) -> dict[str, Any]:
    """Distribution of lengths (rows,): percentiles are lengths that occur (the smallest that covers the share)."""
    if len(lengths) == 0:
        return {
            "rows": 0,
            "total": 0,
            "mean": None,
            "min": None,
            "max": None,
            "percentiles": {str(percent): None for percent in PERCENTILES},
            "histogram": {"width": width, "counts": []},
        }
    ordered = np.sort(lengths)
    at = [ordered[max(0, -(-percent * len(ordered) // 100) - 1)] for percent in PERCENTILES]
    return {
        "rows": len(lengths),
        "total": int(lengths.sum()),
        "mean": rate(int(lengths.sum()), len(lengths)),
        "min": int(ordered[0]),
        "max": int(ordered[-1]),
        "percentiles": {str(percent): int(value) for percent, value in zip(PERCENTILES, at, strict=True)},
        "histogram": {"width": width, "counts": np.bincount(lengths // width).tolist()},
    }


def truncation(rows: Mapping[str, Ragged], max_lengths: Sequence[int]) -> list[dict[str, Any]]:
    """What each maximum length would cut from each split."""
    table = []
    for max_length in max_lengths:
        splits = {}
        for name, ragged in rows.items():
            over = np.maximum(ragged.lengths - max_length, 0)
            rows_cut, tokens_cut = int((over > 0).sum()), int(over.sum())
            splits[name] = {
                "rows_cut": rows_cut,
                "rate_of_rows": rate(rows_cut, len(ragged)),
                "tokens_cut": tokens_cut,
                "rate_of_tokens": rate(tokens_cut, len(ragged.ids)),
            }
        table.append({"max_length": max_length, "splits": splits})
    return table


def rate(part: int, whole: int) -> float:
    """The fraction, rounded to six digits; 0 of nothing is 0."""
    return round(part / whole, 6) if whole else 0.0
