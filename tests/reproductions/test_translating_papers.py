"""What single scripts that translate measure besides: joined sentences, order, beams, windows of length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.models.encoder_decoder import EncoderDecoder
from preprocessing.text.data import Split
from reproductions import bahdanau2014, luong2015, sutskever2014
from reproductions.protocol.results import Claim
from reproductions.tasks import translation
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation import Data, Translation
from tests.reproductions.tasks.test_translation_results import SENTENCES, counts, made

SMOKE = bahdanau2014.PRESETS["smoke"]


def by_id(claims: list[Claim]) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims}


def test_rows_are_put_together_in_order_and_a_rest_is_left_out() -> None:
    np.testing.assert_array_equal(bahdanau2014._together(np.arange(8), 3), [[0, 1, 2], [3, 4, 5]])
    assert bahdanau2014._together(np.zeros((7, 10)), 2).shape == (3, 2, 10)


def test_joined_captions_are_their_tokens_behind_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is right of each caption alone is right of them joined: nothing is tokenised again."""
    variant = SMOKE.variant("search-all")
    data = translation.prepare(SMOKE, variant)
    test = data.prepared.splits["test"]
    read: list[Split] = []

    def perfect(models: Any, data: Data, sentences: Split, **search: Any) -> list[Translation]:
        read.append(sentences)
        whole = [test.target.words(row) for row in range(len(test))]
        groups = bahdanau2014._together(np.arange(len(test)), 2)
        return [Translation([token for row in rows for token in whole[row]], "", 0.0, None) for rows in groups]

    monkeypatch.setattr(bahdanau2014, "translate", perfect)
    model: Any = EncoderDecoder
    found = bahdanau2014._joined_counts(model, variant, data, 2)
    assert bleu(found.sum(axis=0)) == pytest.approx(100.0)
    sequences = test.source.sequences()
    np.testing.assert_array_equal(read[0].sequences()[1], np.concatenate(sequences[2:4]))


def test_losing_more_on_long_sentences_counts_for_the_claim_in_all_three_ways(tmp_path: Path) -> None:
    """The encoder-decoder is bad joined and bad on the long half; RNNsearch is the same everywhere."""
    words = np.where(np.arange(SENTENCES) % 2, 20, 5)
    third = SENTENCES // 3
    halved = np.where((words > 12)[:, None], counts(0.4), counts(0.9))
    encdec = made(tmp_path, "encdec-all", 0.9, joined_3=3 * counts(0.4, third), words=words, bleu=halved)
    search = made(tmp_path, "search-all", 0.9, joined_3=3 * counts(0.9, third), words=words)
    claims = by_id(bahdanau2014._of_length([encdec], [search], SMOKE))
    assert {claim.verdict for claim in claims.values()} == {"supported"}
    turned = by_id(bahdanau2014._of_length([search], [encdec], SMOKE))
    assert {claim.verdict for claim in turned.values()} == {"not supported"}
    assert set(claims) == {"length", "length-share", "length-captions"}


def test_order_is_that_of_sentences_and_seeds_are_averaged_first(tmp_path: Path) -> None:
    order = np.array([0.9, np.nan, 0.7] + [0.8] * (SENTENCES - 3))
    outcomes = [
        made(tmp_path, "rnnsearch", 0.9, seed=seed, monotone=order + shift) for seed, shift in ((1, 0.1), (2, -0.1))
    ]
    _, claims = bahdanau2014.conclude(outcomes, SMOKE)
    (claim,) = claims
    assert claim.effect == pytest.approx(0.3) and claim.verdict == "supported"
    # Were the seeds taken for sentences, their distance of 0.2 would widen the interval.
    assert claim.ci95[1] - claim.ci95[0] < 0.02
    assert "bootstrap over sentences, mean of 2 trainings" in claim.measure


def test_most_of_the_gain_from_a_beam_comes_from_the_second(tmp_path: Path) -> None:
    def effect(one: float, two: float, twelve: float) -> float:
        arrays = {"bleu_beam_1": counts(one), "bleu_beam_2": counts(two), "bleu": counts(twelve)}
        return sutskever2014._beam_2([arrays]).mean

    assert effect(0.5, 0.8, 0.9) > 0 > effect(0.5, 0.6, 0.9)
    assert effect(0.5, 0.8, 0.8) == pytest.approx(bleu(counts(0.8).sum(axis=0)) - bleu(counts(0.5).sum(axis=0)))


def test_the_claims_of_luong_that_are_no_comparisons_of_two_variants(tmp_path: Path) -> None:
    words = np.where(np.arange(SENTENCES) % 2, 20, 5)
    better_long = np.where((words > 12)[:, None], counts(0.9), counts(0.6))
    outcomes = [
        made(tmp_path, "local-p-general", 0.7, bleu_replaced=counts(0.8), words=words),
        made(tmp_path, "dropout", 0.6, words=words),
        made(tmp_path, "location", 0.6, words=words, bleu=better_long),
    ]
    _, claims = luong2015.conclude(outcomes, luong2015.PRESETS["smoke"])
    found = by_id(claims)
    assert found["unknown"].effect == pytest.approx(bleu(counts(0.8).sum(axis=0)) - bleu(counts(0.7).sum(axis=0)))
    assert found["long"].verdict == "supported" and found["attention"].verdict == "supported"
    assert ", bootstrap over sentences, one training;" in found["unknown"].measure
    assert all("one training a side" in claim.measure for claim in claims if claim.id != "unknown")


def test_what_is_reported_stands_beside_one_search_only(tmp_path: Path) -> None:
    arrays = {"bleu_beam_2": counts(0.8), "bleu_beam_1": counts(0.7)}
    rows, _ = sutskever2014.conclude([made(tmp_path, "reversed", 0.9, **arrays)], sutskever2014.PRESETS["smoke"])
    with_peer = [row.signature for row in rows if row.reported]
    assert len(with_peer) == 1 and "; beam 12," in with_peer[0]
