"""Notes on pretraining, word vectors and language models: their numbers follow from the committed outcomes."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from preprocessing.text.pairs import films, pair_rows
from reproductions import mikolov2013, naver_self_attention
from reproductions.protocol import papers
from tests.reproductions.published_numbers import (
    korean_document,
    published_at,
    records,
    results,
    sides,
)


def test_how_many_near_copies_stay_in_the_text_of_the_word_vectors() -> None:
    """As notes, scripts and the Korean document have it: what `devlin2018` leaves out in addition."""
    (numbers,) = re.findall(
        r"then ([\d ]+) and [\d ]+ with the same letters and digits, and ([\d ]+) and",
        " ".join(papers.load("devlin2018").all_notes),
    )
    thousands = round(sum(int(number.replace(" ", "")) for number in numbers) / 1_000)
    number = f"about {thousands} 000"
    assert number in papers.load("naver_self_attention").notes[3]
    assert number in str(mikolov2013.__doc__) and number in str(naver_self_attention.__doc__)
    assert f"약 {thousands},000건" in korean_document()


def test_which_verdicts_on_word_vectors_changed_with_third_seeds() -> None:
    """As a note of `mikolov2013` has it."""
    before = {claim["id"]: claim["verdict"] for claim in published_at("8dcddf72", "mikolov2013")["claims"]}
    now = {claim["id"]: claim["verdict"] for claim in results("mikolov2013")["claims"]}
    changed = {name: verdict for name, verdict in before.items() if verdict != now[name]}
    assert changed == {"meaning": "inconclusive", "subsampling": "not judged"}
    words = "`meaning` was inconclusive (two seeds) and `subsampling` not judged"
    assert words in papers.load("mikolov2013").notes[-1]


@cache
def pretraining_text() -> Any:
    """The prepared text of `devlin2018`; near copies among all pairs of the crawl take minutes."""
    preset = papers.load("devlin2018").preset("cpu")
    return preset.task("pretraining").prepare(preset.variant("pretraining").settings).prepared


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.corpus("nsmc")
def test_how_many_reviews_are_left_out_of_the_text_for_pretraining() -> None:
    """As a note of `devlin2018` has it, from the card."""
    card = pretraining_text().card
    dropped = {
        step["name"]: [f"{one['rows']:,}".replace(",", " ") for one in step["dropped"]] for step in card["steps"]
    }
    (test, validation), near = dropped["leave-out"], dropped["leave-out-near-copies"]
    note = papers.load("devlin2018").all_notes[0]
    assert f"{test} whose text is in NSMC's test split and {validation} whose text is in our validation split" in note
    assert f"{near[0]} and {near[2]} with the same letters and digits, and {near[1]} and {near[3]} near copies" in note


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.corpus("nsmc")
def test_how_many_test_pairs_are_of_two_films() -> None:
    """As a note of `devlin2018` has it, with the pairs that its outcomes are measured on."""
    test = pretraining_text().test
    generator = np.random.RandomState(1)
    generator.randint(0, 2**31, size=2)  # the key of the masks
    apart = 100.0 * (~pair_rows(films(test.row_id), generator).together).mean()
    ((one,),) = sides("devlin2018", "pretraining")
    note = papers.load("devlin2018").notes[0]
    assert len(test) // 2 == len(one["told"])
    assert f"{apart:.2f} % of the test pairs are of two films" in note
    assert f"`pretraining` has {100.0 * one['told'].mean():.2f} % accuracy" in note


def test_how_long_a_thousand_updates_took() -> None:
    """As a note of `devlin2018` has it. An epoch has 1 000 updates."""
    names = ("pretraining-30", "pretraining", "pretraining-10", "pretraining-continued")
    histories = [records("devlin2018", name)[0]["history"] for name in names]
    slow, own, ten, more = (round(history[-1]["cpu_seconds"] / len(history)) for history in histories)
    words = f"took {slow} s of processor time in `pretraining-30`, {own} in `pretraining`, and on faster ones {ten} in "
    assert f"{words}`pretraining-10`, {more} in `-continued`." in papers.load("devlin2018").notes[0]


def test_how_many_reviews_select_the_epoch_with_few_labels() -> None:
    """As a note of `devlin2018` has it: the accuracies of validation are multiples of this."""
    for variant in ("bert-100", "vectors-100"):
        for one in records("devlin2018", variant):
            right = np.array([epoch["validation_accuracy"] for epoch in one["history"]]) / 100 * 15_015
            np.testing.assert_allclose(right, np.round(right), atol=1e-6)
    assert "selected on all 15 015 validation reviews" in papers.load("devlin2018").notes[2]


def test_how_many_parameters_direct_connections_have() -> None:
    """As a note of `bengio2003` has it."""
    counts = {row["variant"]: row["parameters"] for row in results("bengio2003")["rows"]}
    more = f"{counts['n5-direct'] - counts['n5']:,}".replace(",", " ")
    assert f"(W = C Q, {more} parameters)" in papers.load("bengio2003").notes[0]
