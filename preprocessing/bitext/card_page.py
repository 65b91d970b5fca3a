"""The card of parallel text as a page, and the contents of its ``tokens``, ``splits`` and ``facts`` (for the rest see
``pipeline/card.py``, for facts of one side ``text/card_page.py``):

    steps           tokens by ``<split> <side>``; a step applied to each side has parameters {source, target}
    splits          {split: {rows, source_tokens, target_tokens}}
    facts
      collections   {part: {split, note, rows, distinct_source, distinct_target, repeated_pairs, padded_with_space,
                    characters: {side: profile}}} of the files as read, without pairs with an empty side
      missing       {part: message}, only if a corpus is used without one of its collections
      stand_ins     {language: message}, only if the text of another language is used instead
      normalized    {side: {split: rows changed by normalisation}}
      hash_split    {pairs, groups, groups_of_one_pair, largest_group, groups_with_pairs_of_train, rows: {split: rows}}
      held_out      {pairs, of}: pairs of train that became the validation split, if no files are given for it
      overlap       {split: {rows, letters: counts, verbatim: counts}}, counts {source, target, either, pair}: rows
                    whose source, target, either, or pair occurs in train
      truecase      {side: {words, with_several_ways}}
      bpe           {asked_for, learned, types_in_train}: merges; learned_from_types, only if not from all types
      lengths, vocabulary, unknown
                    as for one text, by side; lengths are those before train pairs are left out because of them
      piece_lengths {side: {split: profile}} after words are split into pieces
      round_trip    {side: {split: {rows, exact, but_for_spaces}}}: rows restored by detokenisation
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preprocessing.pipeline.card_page import card_page
from preprocessing.pipeline.card_page.card_page import histograms

TOPICS = (
    "collections",
    "missing",
    "stand_ins",
    "hash_split",
    "overlap",
    "round_trip",
    "lengths",
    "piece_lengths",
    "vocabulary",
    "unknown",
)
"""Facts with a section of their own on the page; other facts are shown as JSON."""


def write(card: Mapping[str, Any], path: Path) -> None:
    """Write the page of a card, whole or not at all; the same card gives the same bytes. Topics of ``TOPICS`` may be
    missing from its facts."""
    facts = {topic: card["facts"].get(topic, {}) for topic in TOPICS}
    for topic in ("lengths", "piece_lengths", "unknown", "round_trip"):
        facts[topic] = _by_split(facts[topic])
    card_page.write(
        card,
        path,
        template="bitext/card_page.html.j2",
        topics=TOPICS,
        facts=facts,
        token_plots=histograms(facts["lengths"]),
        piece_plots=histograms(facts["piece_lengths"]),
        vocabularies={f", {side}": vocabulary for side, vocabulary in facts["vocabulary"].items()},
    )


def _by_split(fact: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A fact by side and split, regrouped by ``<split>, <side>``."""
    splits = dict.fromkeys(name for side in fact.values() for name in side)
    return {f"{name}, {side}": fact[side][name] for name in splits for side in fact}
