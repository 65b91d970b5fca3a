"""The task of word vectors: data, measurements, outcomes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from mxnet import init

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.training.negative_sampling import held_out_loss
from preprocessing import naver_crawl
from preprocessing.text.vocabulary import SPECIALS
from reproductions.mikolov2013 import REPRODUCTION, Settings
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import AnswerOptions, TrainedModel, Variant
from reproductions.tasks.word_vectors.results import RARE, above_chance, neighbours_page
from reproductions.tasks.word_vectors.sentiment_lexicon import SentimentLexicon
from reproductions.tasks.word_vectors.task import WordVectorData, WordVectors
from reproductions.tasks.word_vectors.trained_vectors import NEIGHBOURS
from tests.reproductions.support import dead_settings, outcome

TASK = WordVectors("nsmc-raw", ("배우", "감독", "없는낱말"), ("배우", "최고"))
SMOKE = REPRODUCTION.preset("smoke").variant("skip-gram")
SETTINGS: Settings = SMOKE.settings


@pytest.fixture(scope="module")
def data() -> WordVectorData:
    return TASK.prepare(SETTINGS, sample=True)


def network(data: WordVectorData, settings: Settings = SETTINGS) -> Any:
    runtime.seed_all(1)
    model = settings.build(data)
    model.initialize(init.Normal(0.5))
    return model


# --- data ---


def test_texts_have_only_words_with_a_vector(data: WordVectorData) -> None:
    for name, split in data.prepared.splits.items():
        words = data.texts[name]
        known = [ids[ids >= len(SPECIALS)] for ids in split.sequences()]
        np.testing.assert_array_equal(words.ids, np.concatenate(known))
        np.testing.assert_array_equal(words.text, np.repeat(np.arange(len(split)), [len(ids) for ids in known]))
        assert words.ids.dtype == words.text.dtype == np.int32, "which a change would alter all trainings"
        assert words.counts.sum() == len(words.ids) and len(words.counts) == len(data.prepared.vocabulary)
    assert (data.prepared.validation.ids < len(SPECIALS)).any(), "some words are unknown"


def test_the_crawl_is_identified_by_its_contents_not_by_its_archive(data: WordVectorData) -> None:
    assert data.corpus == "sample" and set(data.corpora) == {"raw", "train", "test"}
    of_the_folder = naver_crawl.files("sample").sha256["raw"]
    assert data.corpora["raw"] == data.prepared.card["facts"]["crawl"]["sha256"] != of_the_folder


def test_a_word_is_a_query_on_validation_or_on_test(data: WordVectorData) -> None:
    validation, test = (data.queries(test=test) for test in (False, True))
    assert len(validation) and len(test) and not set(validation) & set(test)
    assert sorted([*validation, *test]) == data.clear.tolist()
    assert min(data.clear.min(), data.frequent.min()) >= len(SPECIALS)


def test_words_of_news_have_their_sentiment_in_reviews() -> None:
    """Those that are in both vocabularies; the words of news start at another id."""
    task = WordVectors("ptb", rated_elsewhere=True)
    news = task.prepare(replace(SETTINGS, tokenizer=None, one_in=None), sample=True)
    assert news.rated is not None
    words, reviews = news.prepared.vocabulary, news.rated.vocabulary
    lexicon = SentimentLexicon.of(news.rated.train, len(reviews))
    shared = [word for word in words.learned if word in reviews]
    assert 10 < len(shared) < len(words.learned)
    here, there = (np.array([vocabulary[word] for word in shared]) for vocabulary in (words, reviews))
    np.testing.assert_array_equal(news.lexicon.reviews[here], lexicon.reviews[there])
    np.testing.assert_array_equal(news.lexicon.log_odds[here], lexicon.log_odds[there])
    assert set(news.clear) <= set(here) and set(news.frequent) <= set(here)
    absent = [words[word] for word in words.learned if word not in reviews]
    assert not news.lexicon.reviews[absent].any() and words.specials == ("<unk>",)
    assert (news.texts["train"].ids > 0).all() and (news.texts["train"].ids == 1).any(), "1 is a word"


def test_held_out_words_have_the_counts_of_the_training_split(data: WordVectorData) -> None:
    held_out = data.held_out("test")
    assert held_out.counts is data.texts["train"].counts and held_out.ids is data.texts["test"].ids


@dataclass(frozen=True, kw_only=True)
class Unlimited(Settings):
    """Settings that are not lowered on the embedded sample."""

    def on_sample(self) -> Self:
        return self


@pytest.mark.parametrize("setting", [{"frequent": 10_000}, {"clear": 1e3}])
def test_a_corpus_too_small_for_evaluation_is_refused(setting: dict[str, Any]) -> None:
    given = {field.name: getattr(SETTINGS, field.name) for field in fields(SETTINGS)}
    with pytest.raises(UsageError, match=r"corpus sample: [0-9]+ words of clear sentiment.* give more rated reviews"):
        TASK.prepare(Unlimited(**{**given, **setting}), sample=True)


def test_the_embedded_sample_lowers_the_limits_of_any_preset() -> None:
    large: Settings = REPRODUCTION.preset("cpu").variant("skip-gram").settings
    data = TASK.prepare(large, sample=True)
    assert data.corpus == "sample" and all(len(data.queries(test=test)) for test in (False, True))
    assert len(data.texts["validation"].ids) and len(data.frequent) > NEIGHBOURS
    lowered = large.on_sample()
    assert (lowered.min_freq, lowered.one_in, lowered.frequent, lowered.clear) == (2, 10, 5, 1.0)
    assert SETTINGS.on_sample().min_freq == 1, "limits only lower"


OTHER: dict[str, dict[Any, Any]] = {
    "kind": {"skip-gram": "cbow"},
    "tokenizer": {"mecab": "syllable"},
    "one_in": {100: 9},
    "threshold": {1e-2: 1e-3},
}


def test_no_setting_is_dead(data: WordVectorData) -> None:
    """The three that training does not read change the evaluation."""
    given = replace(SETTINGS, frequent=4, clear=0.5)
    assert set(dead_settings(replace(SMOKE, settings=given), TASK, OTHER)) == {"held_out_rows", "frequent", "clear"}
    clear, frequent = (
        TASK.prepare(replace(SETTINGS, **change), sample=True) for change in ({"clear": 0.5}, {"frequent": 4})
    )
    assert len(clear.clear) > len(data.clear) and len(frequent.frequent) > len(data.frequent)
    losses = [
        TASK.evaluate(network(data), replace(SETTINGS, held_out_rows=rows), data, None).metrics["loss"]  # type: ignore[arg-type]
        for rows in (8, 4)
    ]
    assert losses[0] != losses[1]


# --- measurements ---


def test_an_epoch_is_selected_by_its_loss_and_both_are_measured(data: WordVectorData) -> None:
    objective = TASK.objective(SETTINGS, SMOKE.recipe, data)
    assert objective.select == "loss"
    model = SETTINGS.build(data)
    model.initialize()
    metrics = objective.evaluate(model)
    assert metrics["loss"] == pytest.approx(6 * np.log(2), rel=1e-3) and 0 < metrics["agreement"] < 100
    assert objective.evaluate(model) == metrics


def test_words_loss_and_sentiment_are_those_of_the_split(data: WordVectorData) -> None:
    """Agreement is counted among frequent words, for other words than in validation; the loss is of other reviews."""
    model = network(data)
    evaluation = TASK.evaluate(model, SETTINGS, data, None)  # type: ignore[arg-type]
    queries = data.queries(test=True)
    arrays = evaluation.predictions
    expected = data.agreement(model.vectors(), queries)
    np.testing.assert_array_equal(arrays["agreement"], expected.share)
    np.testing.assert_array_equal(arrays["chance"], expected.chance)
    np.testing.assert_array_equal(arrays["reviews"], data.lexicon.reviews[queries])
    np.testing.assert_array_equal(arrays["rare"], arrays["reviews"] < SETTINGS.on_sample().frequent)
    assert evaluation.metrics["agreement"] == arrays["agreement"].mean()
    validation = TASK.objective(SETTINGS, SMOKE.recipe, data).evaluate(model)
    for split, metrics in (("test", evaluation.metrics), ("validation", validation)):
        held_out = replace(data.texts[split], counts=data.texts["train"].counts)
        assert metrics["loss"] == held_out_loss(model, held_out, SETTINGS.sampling(8), 1)
        assert metrics["loss"] != held_out_loss(model, data.texts[split], SETTINGS.sampling(8), 1), "with own counts"
    assert (
        evaluation.metrics["loss"] != validation["loss"] and evaluation.metrics["agreement"] != validation["agreement"]
    )
    neighbours = evaluation.examples["neighbours"]
    assert [entry["word"] for entry in neighbours] == list(TASK.listed)
    assert [len(entry["nearest"]) for entry in neighbours] == [NEIGHBOURS, NEIGHBOURS, 0]
    assert [group[0] for group in evaluation.examples["map"]["groups"]] == list(TASK.mapped)


# --- outcomes ---


def made_up(folder: Path, variant: str, agreement: np.ndarray, seed: int = 1, rare: int = 40, **record: Any) -> Outcome:
    """An outcome with 100 words, the first of them rare."""
    words = np.arange(100)
    arrays = {"agreement": agreement, "chance": np.full(100, 50.0), "reviews": words, "rare": words < rare}
    history = [{"epoch": 1, "validation_loss": 3.0}, {"epoch": 2, "validation_loss": 2.5}]
    given = {"corpus": "sample", "history": history, "metrics": {"loss": 2.0 + seed}} | record
    return outcome(folder, variant, seed, arrays, **given)


def test_rows_are_of_all_words_of_rare_words_and_of_the_losses(tmp_path: Path) -> None:
    seeds = [made_up(tmp_path, "cbow", np.where(np.arange(100) < 40, 20.0, 70.0) + seed, seed) for seed in (1, 2)]
    variant: Variant[Any] = REPRODUCTION.preset("smoke").variant("cbow")
    rows = TASK.rows(seeds, variant)
    assert [(row.metric, row.split, row.mean, row.per_seed) for row in rows] == [
        ("agreement", "test", 51.5, {"1": 51.0, "2": 52.0}),
        ("agreement", "test", 21.5, {"1": 21.0, "2": 22.0}),
        ("loss", "test", 3.5, {"1": 3.0, "2": 4.0}),
        ("loss", "validation", 2.5, {"1": 2.5, "2": 2.5}),
    ]
    assert "100 words of clear sentiment" in rows[0].signature
    assert "40 rare words, in fewer than 5 rated reviews" in rows[1].signature
    assert rows[2].signature == "nats per word, 5 negatives, threshold 0.01"
    low, high = rows[0].ci95
    assert low < 51.5 < high and high - low > 5, "the interval is that over words"
    for column, row in zip(TASK.columns, rows, strict=False):
        assert (column.metric, column.signature in row.signature) == (row.metric, True)
    assert TASK.columns[0].signature not in rows[1].signature and TASK.columns[1].signature not in rows[0].signature


def test_the_rare_words_of_a_corpus_are_those_of_the_settings(tmp_path: Path) -> None:
    large: Variant[Any] = REPRODUCTION.preset("cpu").variant("cbow")
    row = TASK.rows([made_up(tmp_path, "cbow", np.full(100, 60.0), corpus="nsmc-raw")], large)[1]
    assert "in fewer than 100 rated reviews" in row.signature


def test_two_sides_are_compared_on_all_words_or_on_rare_ones(tmp_path: Path) -> None:
    level, rare = np.full(100, 60.0) + np.arange(100) % 3, np.arange(100) < 40
    better = [made_up(tmp_path, "better", level)]
    worse = [
        made_up(tmp_path, "worse", level - np.where(rare, 10, -20) + shift, seed) for seed, shift in ((1, 2), (2, -2))
    ]
    effects = {metric: TASK.compare(metric, better, worse) for metric in ("", "agreement", RARE)}
    assert {metric: effect and round(effect.estimate.mean, 6) for metric, effect in effects.items()} == {
        "": -8.0,
        "agreement": -8.0,
        RARE: 10.0,
    }
    of_rare = effects[RARE]
    assert of_rare and "rare words" in of_rare.what
    with pytest.raises(UsageError, match="metric 'bleu' is unknown in word vectors; choose from agreement, agr"):
        TASK.compare("bleu", better, worse)


def test_without_rare_words_there_are_no_rare_rows(tmp_path: Path) -> None:
    sides = [[made_up(tmp_path, name, np.full(100, 60.0), rare=0)] for name in ("better", "worse")]
    assert TASK.compare(RARE, *sides) is None and TASK.compare("", *sides) is not None
    assert [row.metric for row in TASK.rows(sides[0], SMOKE)] == ["agreement", "loss", "loss"]


def test_agreement_above_chance_is_a_mean_of_seeds(tmp_path: Path) -> None:
    effect = above_chance([made_up(tmp_path, "cbow", np.full(100, 50.0 + seed), seed) for seed in (1, 2)])
    assert effect and (effect.estimate.mean, effect.estimate.low) == (1.5, 1.5)


def test_without_measured_neighbours_there_is_nothing_to_compare(tmp_path: Path) -> None:
    measured = [made_up(tmp_path, "cbow", np.full(100, 60.0))]
    without = [outcome(tmp_path, "network", arrays={"likelihood": np.ones((3, 2))})]
    assert above_chance(without) is None
    assert TASK.compare("", measured, without) is None and TASK.compare(RARE, without, measured) is None


def test_the_page_of_neighbours_has_a_line_per_word_and_variant(tmp_path: Path) -> None:
    tables = {
        "one": [{"word": "good", "nearest": [["great", 0.876], ["fine", 0.5]]}, {"word": "new", "nearest": []}],
        "two": [{"word": "good", "nearest": [["bad", 0.9]]}, {"word": "new", "nearest": [["old", 0.25]]}],
    }
    groups = {name: [outcome(tmp_path, name, examples={"neighbours": table})] for name, table in tables.items()}
    groups["none"] = [outcome(tmp_path, "none")]
    paths = neighbours_page("nearest words", "near.tsv", "one", "two", "none", "absent")(groups, tmp_path)
    assert paths == {"nearest words": tmp_path / "near.tsv"}
    assert [line.split("\t") for line in (tmp_path / "near.tsv").read_text(encoding="utf-8").splitlines()[1:]] == [
        ["good", "one", "great 0.88", "fine 0.50"],
        ["good", "two", "bad 0.90"],
        ["new", "one", "no vector"],
        ["new", "two", "old 0.25"],
    ]
    assert neighbours_page("nearest words", "other.tsv", "none")(groups, tmp_path) == {}
    assert not (tmp_path / "other.tsv").exists()


def test_a_map_is_drawn_from_the_outcome_alone(tmp_path: Path) -> None:
    words = {"groups": [["good", "great"], ["bad"]], "positions": [[0.0, 0.0], [0.1, 0.2], [1.0, 0.5]]}
    drawn = TASK.figures(outcome(tmp_path, "skip-gram", examples={"map": words}), SMOKE, tmp_path)
    assert drawn == {"map of skip-gram": tmp_path / "map_skip-gram.png"} and drawn["map of skip-gram"].exists()
    assert TASK.figures(outcome(tmp_path, "two", examples={"map": {}}), SMOKE, tmp_path) == {}


def test_options_of_the_crawl_are_refused_by_other_corpora() -> None:
    with pytest.raises(TypeError, match="tokenizer"):
        WordVectors("imdb").prepare(SETTINGS, sample=True)


def test_answers_have_no_cosines_by_default(data: WordVectorData) -> None:
    trained = TrainedModel(network(data), SMOKE, TASK, data, "")
    plain, cosines = (
        list(TASK.answer(trained, BytesIO("배우\n\n없는\n".encode()), AnswerOptions(weights=weights)))
        for weights in (False, True)
    )
    assert [cell.rsplit(" ", 1)[0] for cell in cosines[0].split("\t")] == plain[0].split("\t")
    assert len(plain[0].split("\t")) == NEIGHBOURS and plain[1] == ""
