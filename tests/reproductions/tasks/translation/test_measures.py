"""Monotonicity of alignments, and concatenated sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from preprocessing.text.data import Split
from reproductions import bahdanau2014
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation import measures, task as translation
from reproductions.tasks.translation.data import TranslationData
from reproductions.tasks.translation.decoding import Translated
from reproductions.tasks.translation.measures import (
    JOINED,
    JoinedSentences,
    grouped,
    joined_sources,
    lost_above_12_words,
    monotone_alignments,
    order_of_alignment,
    points_lost,
    share_lost,
    single_and_joined,
)
from tests.reproductions.translating import SENTENCES, counts, network, translated

SMOKE = bahdanau2014.REPRODUCTION.preset("smoke")
TASK = JoinedSentences("multi30k en-de", source="en", target="de")


@pytest.fixture(scope="module")
def data() -> TranslationData:
    return TASK.prepare(SMOKE.variant("search-all").settings, sample=True)


def aligned(*attended: int) -> Translated:
    """A sentence whose steps, the end of sentence last, attend to these source positions."""
    weights = np.full((len(attended), 8), 0.01)
    weights[np.arange(len(attended)), attended] = 1.0
    return Translated(["token"] * (len(attended) - 1), "", 0.0, weights)


def test_order_is_measured_over_tokens_without_the_end_of_sentence() -> None:
    assert order_of_alignment(aligned(1, 2, 4, 0)) == pytest.approx(1.0)
    assert order_of_alignment(aligned(4, 2, 1, 7)) == pytest.approx(-1.0)
    assert order_of_alignment(aligned(3, 3, 3, 7)) == 0.0
    assert np.isnan(order_of_alignment(aligned(1, 2, 7)))


def test_rows_are_grouped_in_order_and_an_incomplete_group_is_dropped() -> None:
    np.testing.assert_array_equal(grouped(np.arange(8), 3), [[0, 1, 2], [3, 4, 5]])
    assert grouped(np.zeros((7, 10)), 2).shape == (3, 2, 10)


def test_joined_sentences_are_concatenated_tokens(data: TranslationData) -> None:
    """Nothing is tokenised again."""
    test = data.prepared.splits["test"]
    joined, sequences = joined_sources(test, 2), test.source.sequences()
    assert len(joined) == len(test) // 2
    np.testing.assert_array_equal(joined.sequences()[1], np.concatenate(sequences[2:4]))
    assert joined.text[1] == f"{test.source.text[2]} {test.source.text[3]}"


@pytest.mark.parametrize("target", ["de", "ko"])
def test_joined_counts_of_perfect_translations_are_perfect(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in Korean, whose tokens have marks of their spacing."""
    settings = SMOKE.variant("search-all").settings
    task = JoinedSentences(f"multi30k en-{target}", source="en", target=target)
    data = task.prepare(settings, sample=True)
    test = data.prepared.splits["test"]

    def perfect(models: Any, data: TranslationData, sentences: Split, **search: Any) -> list[Translated]:
        number = len(test) // len(sentences)
        whole = [test.target.words(row) for row in range(len(test))]
        groups = grouped(np.arange(len(test)), number)
        uniform = np.full((3, 3), 1 / 3)
        return [Translated([token for row in rows for token in whole[row]], "", 0.0, uniform) for rows in groups]

    monkeypatch.setattr(measures, "translate", perfect)
    evaluation = task.evaluate(network(settings, data), settings, data, cast(Any, None))
    for number in JOINED:
        assert bleu(evaluation.predictions[f"joined_{number}"].sum(axis=0)) == pytest.approx(100.0)
        words = evaluation.predictions[f"joined_{number}_words"]
        assert words[0] == evaluation.predictions["words"][:number].sum() and len(words) == len(test) // number


def test_order_is_measured_of_networks_with_attention_only(data: TranslationData) -> None:
    for name, measured in (("search-all", True), ("encdec-all", False)):
        settings = SMOKE.variant(name).settings
        predictions = TASK.evaluate(network(settings, data), settings, data, cast(Any, None)).predictions
        assert ("monotone" in predictions) == measured
        assert predictions["joined_3"].shape == (len(data.prepared.splits["test"]) // 3, 10)


def test_order_is_of_greedy_translations_and_joined_sentences_are_searched_as_set(
    data: TranslationData, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[tuple[int, int, float]] = []

    def search(models: Any, data: Any, sentences: Split, *, beam: int, alpha: float = 0.0) -> list[Translated]:
        searched.append((len(sentences), beam, alpha))
        return [aligned(1, 2, 4, 0) if beam == 1 else aligned(4, 2, 1, 0) for _ in range(len(sentences))]

    for module in (measures, translation):
        monkeypatch.setattr(module, "translate", search)
    settings, test = replace(SMOKE.variant("search-all").settings, beam=3, alpha=0.5), data.prepared.splits["test"]
    evaluation = TASK.evaluate(network(settings, data), settings, data, cast(Any, None))
    np.testing.assert_allclose(evaluation.predictions["monotone"], np.ones(len(test)))
    joined = [(len(test) // number, 3, 0.5) for number in JOINED]
    assert searched == [(len(test), 3, 0.5), (len(test), 1, 0.0), *joined]


def test_seeds_are_averaged_before_sentences_are_resampled(tmp_path: Path) -> None:
    order = np.array([0.9, np.nan, 0.7] + [0.8] * (SENTENCES - 3))
    outcomes = [
        translated(tmp_path, "rnnsearch", 0.9, seed=seed, monotone=order + shift)
        for seed, shift in ((1, 0.1), (2, -0.1))
    ]
    effect = monotone_alignments(outcomes)
    assert effect is not None and effect.estimate.mean == pytest.approx(0.8)
    # If seeds were resampled as sentences, their difference of 0.2 would widen the interval.
    assert effect.estimate.high - effect.estimate.low < 0.02
    without = translated(tmp_path, "rnnsearch", 0.9, seed=3, monotone=np.full(SENTENCES, np.nan))
    assert monotone_alignments([without]) is None


def test_one_side_loses_more_on_long_sentences_by_all_three_measures(tmp_path: Path) -> None:
    """The first is bad on joined sentences and on the long half; the second is the same everywhere."""
    words = np.where(np.arange(SENTENCES) % 2, 20, 5)
    third = SENTENCES // 3
    halved = np.where((words > 12)[:, None], counts(0.4), counts(0.9))
    first = [translated(tmp_path, "encdec-all", 0.9, joined_3=3 * counts(0.4, third), words=words, bleu=halved)]
    second = [translated(tmp_path, "search-all", 0.9, joined_3=3 * counts(0.9, third), words=words)]
    assert single_and_joined(first).shape == (1, third, 20)
    for effect in (points_lost, share_lost, lost_above_12_words):
        assert effect(first, second).estimate.low > 0, effect.__name__
        assert effect(second, first).estimate.high < 0, effect.__name__
        assert effect(first, second).what.endswith("encdec-all minus search-all")
    scores = [bleu(counts(quality).sum(axis=0)) for quality in (0.9, 0.4)]
    assert lost_above_12_words(first, second).estimate.mean == pytest.approx(scores[0] - scores[1])


def test_a_relative_loss_is_a_share_of_the_score_on_single_sentences(tmp_path: Path) -> None:
    """Both lose half of their BLEU, the better one more points."""
    third = SENTENCES // 3
    outcomes = []
    for name, quality in (("a", 0.9), ("b", 0.6)):
        joined = 3 * np.hstack([counts(quality, third)[:, :4], 2 * counts(quality, third)[:, 4:]])
        outcomes.append([translated(tmp_path, name, quality, joined_3=joined)])
    assert points_lost(*outcomes).estimate.mean > 1
    assert share_lost(*outcomes).estimate.mean == pytest.approx(0, abs=1e-6)
