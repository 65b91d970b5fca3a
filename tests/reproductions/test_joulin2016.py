"""The script of Joulin et al.: what a text is to it, its variants, and that it trains and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.models.fasttext import ngrams
from reproductions import joulin2016
from tests.reproductions.support import dead_settings, gluon_attn

SMOKE, CPU, PAPERS_OWN = (joulin2016.PRESETS[name] for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]
OTHER: dict[str, Any] = {
    "model": {"bag": "hierarchical"},
    "corpus": {"nsmc": "sst-2", "imdb": "sst-2", "sst-2": "sst-5", "sst-5": "sst-2"},
    "tokenizer": {"mecab": "syllable"},
}


@pytest.mark.parametrize("name", ["nsmc-bigrams", "imdb-words", "imdb-bigrams", "sst5-bigrams"])
def test_no_setting_is_dead(name: str) -> None:
    """But for the buckets of no bigrams, and a length that no text reaches."""
    spared = {"max_length", *(() if name.endswith("bigrams") else ("buckets",))}
    assert set(dead_settings(joulin2016, SMOKE, name, {**OTHER, "orders": Orders()})) <= spared


class Orders(dict[Any, Any]):
    """One order more; lists are no keys."""

    def __getitem__(self, orders: list[int]) -> list[int]:
        return [*orders, 3]


@pytest.mark.parametrize("name", ["nsmc-bigrams", "imdb-bigrams"])
def test_a_text_is_its_words_and_the_buckets_of_its_bigrams_behind_the_vocabulary(name: str) -> None:
    data = joulin2016.prepare(SMOKE, SMOKE.variant(name))
    train, size = data.prepared.train, len(data.prepared.vocabulary)
    for ids, text in zip(train.sequences(), data.texts(train), strict=True):
        np.testing.assert_array_equal(text[: len(ids)], ids)
        np.testing.assert_array_equal(text[len(ids) :], size + ngrams(ids, 2, data.buckets))
    assert sum(map(len, data.texts(train))) > 1.5 * len(train.ids)


def test_without_bigrams_the_table_has_the_words_alone() -> None:
    for name, with_buckets in (("nsmc-words", 0), ("nsmc-bigrams", 1)):
        variant = PAPERS_OWN.variant(name)
        data = joulin2016.prepare(SMOKE, SMOKE.variant(name))
        buckets = variant.settings["buckets"] if with_buckets else 0
        model = joulin2016.build(variant, joulin2016.Bags(**{**vars(data), "buckets": variant.settings["buckets"]}))
        shapes = [parameter.shape for parameter in model.collect_params().values()]
        assert shapes == [(len(data.prepared.vocabulary) + buckets, 10), (2, 10), (2,)]
    assert variant.settings["buckets"] == 10_000_000


def test_presets_differ_in_scale_and_pairs_in_the_bigrams() -> None:
    assert [variant.name for variant in SMOKE.variants] == [variant.name for variant in PAPERS_OWN.variants] == ALL
    for words, bigrams in zip(CPU.variants[::2], CPU.variants[1::2], strict=True):
        assert {**words.settings, "orders": [2]} == bigrams.settings and words.recipe == bigrams.recipe


def test_trained_on_the_sample_it_answers_in_the_classes_of_its_corpus(tmp_path: Path) -> None:
    answer = gluon_attn("run", "joulin2016", "--preset", "smoke", "--runs", tmp_path, "--variant", "sst5-bigrams")
    assert answer.code == 0, answer.err
    drawn = {path.name for path in (tmp_path / "joulin2016" / "smoke-portable" / "figures").iterdir()}
    assert drawn == {"training_curves_sst5.png"}
    options = ("joulin2016", "--preset", "smoke", "--runs", tmp_path, "--variant", "sst5-bigrams")
    told = gluon_attn("predict", *options, stdin=b"a good film\n")
    label, probability = told.out.strip().split("\t")
    assert label in ("very negative", "negative", "neutral", "positive", "very positive")
    assert 0.2 <= float(probability) < 1
    refusal = gluon_attn("predict", *options, "--weights", stdin=b"a good film\n").refusal
    assert "has no attention and so no weights" in refusal
