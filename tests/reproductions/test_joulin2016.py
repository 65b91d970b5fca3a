"""The script of Joulin et al.: its embedding table, its variants, training and answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reproductions.joulin2016 import REPRODUCTION
from tests.reproductions.support import dead_settings, gluon_attn, run_and_score

SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]


@pytest.mark.parametrize("name", ["nsmc-bigrams", "imdb-words", "imdb-bigrams", "sst5-bigrams"])
def test_no_setting_is_dead(name: str) -> None:
    """Except the buckets without bigrams, and a length that no text reaches."""
    variant = SMOKE.variant(name)
    spared = {"max_length", *(() if name.endswith("bigrams") else ("buckets",))}
    assert (
        set(dead_settings(variant, SMOKE.task(name), {"orders": {(): (3,), (2,): (2, 3)}, "max_words": {None: 2}}))
        == spared
    )


def test_without_bigrams_the_table_has_words_only() -> None:
    data: Any = SimpleNamespace(vocabulary_size=1_000, classes=2)
    for name, rows in (("nsmc-words", 1_000), ("nsmc-bigrams", 1_000 + 10_000_000)):
        model = PAPERS_OWN.variant(name).settings.build(data)
        assert [parameter.shape for parameter in model.collect_params().values()] == [(rows, 10), (2, 10), (2,)]


def test_presets_differ_in_scale_and_pairs_in_the_bigrams() -> None:
    assert [variant.name for variant in SMOKE.variants] == [variant.name for variant in PAPERS_OWN.variants] == ALL
    *pairs, cut = CPU.variants
    for words, bigrams in zip(pairs[::2], pairs[1::2], strict=True):
        assert replace(words.settings, orders=(2,)) == bigrams.settings and words.recipe == bigrams.recipe
        assert words.task == bigrams.task
    whole = CPU.variant("imdb-bigrams")
    assert cut.settings == replace(whole.settings, max_words=400)
    assert (cut.recipe, cut.task) == (whole.recipe, whole.task)


@pytest.mark.slow
def test_trained_on_the_sample_it_answers_in_the_classes_of_its_corpus(tmp_path: Path) -> None:
    answer = run_and_score("joulin2016", "--preset", "smoke", "--runs", tmp_path, "--variant", "sst5-bigrams")
    assert answer.code == 0, answer.err
    drawn = {path.name for path in (tmp_path / "joulin2016" / "smoke-portable" / "figures").iterdir()}
    assert drawn == {"training_curves_sst5.png"}
    options = ("joulin2016", "--preset", "smoke", "--runs", tmp_path, "--variant", "sst5-bigrams")
    predicted = gluon_attn("predict", *options, stdin=b"a good film\n")
    label, probability = predicted.out.strip().split("\t")
    assert label in ("very negative", "negative", "neutral", "positive", "very positive")
    assert 0.2 <= float(probability) < 1
    refused = gluon_attn("predict", *options, "--weights", stdin=b"a good film\n")
    assert refused.code == 2 and "variant sst5-bigrams has no attention and so no weights" in refused.err
