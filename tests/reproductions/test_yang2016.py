"""The script of Yang et al.: its variants, the weights of words in context, and what becomes of its outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from reproductions import mikolov2013, yang2016
from reproductions.protocol.results import Claim
from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification import prepare
from tests.reproductions.support import dead_settings, gluon_attn, outcome

SMOKE, CPU, PAPERS_OWN = (yang2016.PRESETS[name] for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]
OTHER: dict[str, Any] = {
    "model": {"hierarchical": "structured", "structured": "hierarchical"},
    "corpus": {"imdb": "sst-2"},
    "overlong": {"wrap": "cut"},
    "cell": {"gru": "lstm"},
    "pooling": {"attention": "mean", "mean": "max", "max": "mean", None: "mean"},
    "masked": {True: False},
    "vectors": {"mikolov2013/imdb": "mikolov2013/skip-gram"},
}


@pytest.mark.parametrize("name", ALL)
def test_no_setting_is_dead(name: str) -> None:
    """But for what only attention has or the runner reads, and for lengths that no text of the sample reaches."""
    spared = {"max_length", "max_words", "overlong", "vectors"}
    if name in ("ave", "max"):
        spared.add("attention_units")
    assert set(dead_settings(yang2016, SMOKE, name, OTHER)) <= spared


def test_presets_differ_in_scale_and_systems_in_one_thing() -> None:
    assert [variant.name for variant in SMOKE.variants] == ALL
    for preset in (SMOKE, CPU):
        att, ave, maximum, flat = (preset.variant(name) for name in ("att", "ave", "max", "flat"))
        for other, pooling in ((ave, "mean"), (maximum, "max")):
            assert {**att.settings, "pooling": pooling} == other.settings
        shared = att.settings.keys() & flat.settings.keys() - {"model", "pooling"}
        assert all(att.settings[name] == flat.settings[name] for name in shared) and len(shared) > 8
        assert att.recipe == ave.recipe == maximum.recipe == flat.recipe


def test_every_word_begins_with_a_vector_of_the_same_reviews() -> None:
    """Both scripts know the same words, and a word has the same width."""
    for preset in (SMOKE, CPU, PAPERS_OWN):
        vectors = mikolov2013.PRESETS[preset.name].variant("imdb").settings
        for settings in (variant.settings for variant in preset.variants):
            assert settings["vectors"] == "mikolov2013/imdb"
            assert (settings["corpus"], settings["embedding_units"]) == (vectors["corpus"], vectors["units"])
            assert preset is SMOKE or settings["min_freq"] == vectors["min_freq"]


def test_the_paper_preset_has_the_sizes_of_section_3() -> None:
    """Embeddings of 200, 50 units each way, context vectors of 100, words seen more than five times, batches of 64."""
    (variant,) = PAPERS_OWN.variants
    assert variant == CPU.variant("att")
    sizes = {"embedding_units": 200, "units": 50, "attention_units": 100, "min_freq": 6}
    assert {name: variant.settings[name] for name in sizes} == sizes and variant.recipe.batch_size == 64


class Even:
    """Not a network: the first word of a sentence has three times the weight of each other, all sentences the same."""

    def __call__(self, words: nd.NDArray, counts: nd.NDArray, lengths: nd.NDArray) -> tuple[nd.NDArray, ...]:
        there = np.arange(words.shape[2]) < lengths.asnumpy()[:, :, None]
        weights = there * np.where(np.arange(words.shape[2]) == 0, 3.0, 1.0)
        weights /= np.maximum(weights.sum(axis=2, keepdims=True), 1)
        sentences = (np.arange(words.shape[1]) < counts.asnumpy()[:, None]) / counts.asnumpy()[:, None]
        return nd.zeros((len(words), 2)), nd.array(weights), nd.array(sentences)


def test_the_weight_of_a_word_is_that_in_its_sentence_times_the_words_of_it() -> None:
    """Whatever the other sentences of the review, an even weight is 1."""
    variant = SMOKE.variant("att")
    data = prepare(SMOKE, variant)
    model: Any = Even()
    _, arrays = yang2016.evaluate(model, variant, data, None)  # type: ignore[arg-type]
    test = data.prepared.splits["test"]
    expected, rows = [], []
    for row in range(len(test)):
        for sentence in test.sentence_words(row):
            for place, word in enumerate(sentence):
                if word == "good":
                    rows.append(row)
                    expected.append((3 if place == 0 else 1) * len(sentence) / (len(sentence) + 2))
    assert rows, "the word does not stand in the sample"
    np.testing.assert_array_equal(arrays["rows_of_good"], rows)
    np.testing.assert_allclose(arrays["weights_of_good"], expected, rtol=1e-4)


def made(folder: Path, name: str, right: float, **arrays: Any) -> Outcome:
    reviews = len(prepare(SMOKE, SMOKE.variant("att")).prepared.splits["test"])
    return outcome(folder, name, 1, {"right": np.arange(reviews) < right * reviews, **arrays}, paper="yang2016")


def by_id(claims: list[Claim]) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims}


def test_words_that_weigh_more_where_they_should_support_the_claims(tmp_path: Path) -> None:
    label = prepare(SMOKE, SMOKE.variant("att")).prepared.splits["test"].label
    rows = np.arange(len(label))
    arrays = {
        "rows_of_good": np.repeat(rows, 2),
        "weights_of_good": np.repeat(np.where(label == 1, 2.0, 0.5), 2),
        "rows_of_bad": rows,
        "weights_of_bad": np.where(label == 1, 2.0, 0.5),
    }
    claims = by_id(yang2016.conclude([made(tmp_path, "att", 0.5, **arrays)], SMOKE)[1])
    assert set(claims) == {"context-good", "context-bad"}
    assert claims["context-good"].effect == pytest.approx(1.5) and claims["context-good"].verdict == "supported"
    assert claims["context-bad"].effect == pytest.approx(-1.5) and claims["context-bad"].verdict == "not supported"


@pytest.mark.parametrize(("other", "verdict"), [(0.5, "supported"), (0.0, "not supported")])
def test_mean_and_maximum_are_alike_within_the_margin_only(other: float, verdict: str, tmp_path: Path) -> None:
    claims = by_id(yang2016.conclude([made(tmp_path, "ave", 0.5), made(tmp_path, "max", other)], SMOKE)[1])
    assert claims["ave-max"].verdict == verdict


def test_trained_on_the_sample_it_draws_and_answers(tmp_path: Path) -> None:
    chosen = ("--variant", "best", "--variant", "att")
    answer = gluon_attn("run", "yang2016", "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    place = tmp_path / "yang2016" / "smoke-portable"
    drawn = {path.name for path in (place / "figures").iterdir()}
    assert {"training_curves.png", "review_positive.png", "review_negative.png", "weights_of_good.png"} <= drawn
    assert (place / "reviews.html").stat().st_size > 10_000
    options = ("yang2016", "--preset", "smoke", "--runs", tmp_path, "--variant", "att", "--weights")
    text = b"A good film. Not bad at all!\n\n..."
    told = gluon_attn("predict", *options, stdin=text)
    assert told.code == 0, told.err
    first, second, third = told.out.splitlines()
    tokens = [pair.rpartition(":")[0] for pair in first.split("\t")[2].split(" ")]
    assert tokens == ["a", "good", "film", ".", "not", "bad", "at", "all", "!"] and second == "" and third
    endless = b"Good. " * 3_000 + b"\nbad\n" + b"word " * 2_000 + b"\n"
    told = gluon_attn("predict", *options, stdin=endless)
    assert told.code == 0 and told.out.count("\t") == told.out.count("\n") * 2 == 6
    assert len(told.out.splitlines()[0].split("\t")[2].split(" ")) == 6_000
