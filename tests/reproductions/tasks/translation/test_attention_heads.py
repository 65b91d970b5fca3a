"""Heads over the test split: arrays, the best head, the claim, the figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gluon_attn.plots.heads import LONGEST
from reproductions import bahdanau2014, vaswani2017
from reproductions.protocol.papers import results_folder
from reproductions.protocol.runs import published_outcomes
from reproductions.protocol.task import Evaluation, TrainedModel
from reproductions.tasks.translation import attention_heads
from reproductions.tasks.translation.attention_heads import CRITERIA, attends, best_head, heads, prefers
from reproductions.tasks.translation.data import TranslationData
from tests.reproductions.translating import SENTENCES, network, translated

SETTINGS = vaswani2017.REPRODUCTION.preset("smoke").variant("transformer").settings
LAST = cast(Any, SimpleNamespace())


def evaluated(settings: Any) -> tuple[Evaluation, TranslationData]:
    data = vaswani2017.GERMAN.prepare(settings, sample=True)
    return vaswani2017.GERMAN.evaluate(network(settings, data), settings, data, LAST), data


def test_every_head_is_measured_on_every_sentence() -> None:
    evaluation, data = evaluated(SETTINGS)
    rows = len(data.prepared.splits["test"])
    for name in CRITERIA:
        array = evaluation.predictions[f"heads_{name}"]
        assert array.shape == (rows, SETTINGS.layers, SETTINGS.heads)
        assert ((array >= 0) & (array <= 1) | np.isnan(array)).all()
    assert np.isfinite(evaluation.predictions["heads_before"]).all()
    assert {example["criterion"] for example in evaluation.examples["heads"]} >= {"before", "noun"}
    for example in evaluation.examples["heads"]:
        weights = np.array(example["weights"])
        assert weights.shape == (len(example["queries"]), len(example["keys"]))
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-2)
        best = evaluation.predictions[f"heads_{example['criterion']}"][:, example["layer"] - 1, example["head"] - 1]
        np.testing.assert_array_equal(best, evaluation.predictions[f"head_{example['criterion']}"])
        assert example["mean"] == pytest.approx(np.nanmean(best))
    assert len(data.prepared.splits["test"].source.words(example["row"])) == len(example["keys"])


def test_heads_are_chosen_on_validation() -> None:
    """Both splits exchanged, the other head is the best one where they disagree."""
    settings = replace(SETTINGS, heads=8)
    evaluation, data = evaluated(settings)
    splits = data.prepared.splits
    exchanged = {**splits, "test": splits["validation"], "validation": splits["test"]}
    prepared = replace(data.prepared, data=data.prepared.data.with_splits(exchanged))
    data = replace(data, prepared=prepared)
    other = vaswani2017.GERMAN.evaluate(network(settings, data), settings, data, LAST)
    assert evaluation.predictions["heads_before"].shape == (len(splits["test"]), 1, 8)
    disagreed = 0
    for name, criterion in (("before", "before"), ("after", "after"), ("noun", "noun"), ("second_word", "noun")):
        head = best_head(other.predictions[f"heads_{criterion}"])
        disagreed += head != best_head(evaluation.predictions[f"heads_{criterion}"])
        np.testing.assert_array_equal(
            evaluation.predictions[f"head_{name}"], evaluation.predictions[f"heads_{name}"][:, *head]
        )
    assert disagreed


def test_nouns_of_articles_are_measured_in_english_alone() -> None:
    data = vaswani2017.FROM_GERMAN.prepare(SETTINGS, sample=True)
    evaluation = vaswani2017.FROM_GERMAN.evaluate(network(SETTINGS, data), SETTINGS, data, LAST)
    assert np.isnan(evaluation.predictions["heads_noun"]).all()
    assert "noun" not in {example["criterion"] for example in evaluation.examples["heads"]}


def test_a_network_without_heads_is_only_translated_with() -> None:
    settings = bahdanau2014.REPRODUCTION.preset("smoke").variant("rnnsearch").settings
    evaluation, _ = evaluated(settings)
    assert not any(name.startswith("heads") for name in (*evaluation.predictions, *evaluation.examples))


def test_the_best_head_is_that_of_the_largest_mean() -> None:
    measured = np.zeros((3, 2, 2))
    measured[:, 1, 0], measured[1] = 0.6, np.nan
    assert best_head(measured) == (1, 0)


def test_a_claim_measures_the_weight_of_the_best_head(tmp_path: Path) -> None:
    outcomes = []
    for seed, layer in ((1, 0), (2, 1)):
        measured = np.full((SENTENCES, 2, 2), 0.1)
        measured[:, layer, 1] = 0.8
        outcomes.append(translated(tmp_path, "transformer", 0.9, seed=seed, heads_before=measured))
    effect = attends("before")(outcomes)
    assert effect is not None and effect.estimate.mean == pytest.approx(0.8) and "the token before" in effect.what
    nothing = np.full((SENTENCES, 2, 2), np.nan)
    assert attends("lexicon")([translated(tmp_path, "small", 0.9, heads_lexicon=nothing)]) is None


def test_a_claim_takes_the_head_that_is_best_on_validation_if_it_is_recorded(tmp_path: Path) -> None:
    every = np.tile(np.array([[0.9, 0.6]]), (SENTENCES, 1, 1))
    new = translated(tmp_path, "transformer", 0.9, seed=1, heads_before=every, head_before=every[:, 0, 1])
    old = translated(tmp_path, "transformer", 0.9, seed=2, heads_before=every)
    effects = [attends("before")(outcomes) for outcomes in ([new], [old], [new, old])]
    assert [effect.estimate.mean for effect in effects if effect] == pytest.approx([0.6, 0.9, 0.75])
    splits = [effect.what.partition("chosen on ")[2].partition(",")[0] for effect in effects if effect]
    assert splits == ["validation", "the other half of test", "validation or the other half of test"]
    assert attends("noun")([old]) is None


def test_a_claim_compares_a_criterion_with_its_control(tmp_path: Path) -> None:
    outcomes = []
    for seed, share in ((1, 0.5), (2, 0.7)):
        arrays = {"head_noun": np.full(SENTENCES, share), "head_second_word": np.full(SENTENCES, 0.2)}
        arrays["head_noun"][1:] = np.nan  # the other sentences have no such noun
        outcomes.append(translated(tmp_path, "transformer", 0.9, seed=seed, **arrays))
    effect = prefers("noun", "second_word")(outcomes)
    assert (
        effect is not None
        and effect.estimate.mean == pytest.approx(0.4)
        and "minus the weight on the second word" in effect.what
    )
    old = translated(tmp_path, "transformer", 0.9, seed=3)
    assert prefers("noun", "second_word")([old]) is None
    with_old = prefers("noun", "second_word")([*outcomes, old])
    assert with_old is not None and with_old.estimate.mean == effect.estimate.mean


def test_a_head_is_never_chosen_on_the_sentences_on_which_it_is_measured(tmp_path: Path) -> None:
    """One head is best on even sentences and another one on odd ones: each half gets the head of the other."""
    measured = np.full((SENTENCES, 1, 2), 0.2)
    measured[::2, 0, 0] = measured[1::2, 0, 1] = 0.9
    effect = attends("before")([translated(tmp_path, "transformer", 0.9, heads_before=measured)])
    assert effect is not None and effect.estimate.mean == pytest.approx(0.2)


def test_heads_are_drawn_from_examples(tmp_path: Path) -> None:
    evaluation, _ = evaluated(SETTINGS)
    outcome = translated(tmp_path, "transformer", 0.9, examples=evaluation.examples)
    drawn = heads("transformer", "missing")({"transformer": [outcome]}, tmp_path)
    assert list(drawn) == ["heads of transformer"] and drawn["heads of transformer"].exists()


def test_heads_over_sentences_of_other_lengths_are_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = {"kind": "encoder", "weights": np.eye(LONGEST + 1).tolist()}
    outcome = translated(tmp_path, "transformer", 0.9, examples={"heads": [long]})
    assert heads("transformer")({"transformer": [outcome]}, tmp_path) == {}
    monkeypatch.setattr(attention_heads, "SHORTEST", 1_000)
    evaluation, _ = evaluated(SETTINGS)
    assert evaluation.examples["heads"] == [] and np.isfinite(evaluation.predictions["heads_before"]).all()


def test_attached_morphemes_are_drawn_with_hyphens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fonts lack the mark of the pipeline."""
    drawn: list[Any] = []
    monkeypatch.setattr(attention_heads, "attention_lines", lambda shown, path: drawn.extend(shown))
    example = {"kind": "encoder", "layer": 1, "head": 1, "criterion": "before", "mean": 0.5}
    example |= {"queries": ["학교", "￭에서"], "keys": ["학교", "￭에서"], "weights": np.eye(2).tolist()}
    outcome = translated(tmp_path, "transformer", 0.9, examples={"heads": [example]})
    heads("transformer")({"transformer": [outcome]}, tmp_path)
    assert drawn[0][1:3] == (["학교", "-에서"], ["학교", "-에서"])


def test_a_page_gets_all_heads_for_the_best_translation() -> None:
    data = vaswani2017.GERMAN.prepare(SETTINGS, sample=True)
    variant = vaswani2017.REPRODUCTION.preset("smoke").variant("transformer")
    model = network(SETTINGS, data)
    trained = TrainedModel(model, variant, vaswani2017.GERMAN, data, "0" * 64)
    text = str(data.prepared.splits["test"].source.text[0])
    view = vaswani2017.GERMAN.attention_of(trained, text, beam=2)
    words, generated = list(view.tokens), list(view.alternatives[0].tokens)
    encoder, decoder, crossing = view.heads
    assert (list(encoder.rows), list(encoder.columns)) == (words, words)
    assert list(decoder.rows) == list(decoder.columns) == ["<s>", *generated] and decoder.causal
    assert (list(crossing.rows), list(crossing.columns)) == ([*generated, "</s>"], words)
    for kind in view.heads:
        assert kind.weights.shape == (SETTINGS.layers, SETTINGS.heads, len(kind.rows), len(kind.columns))
        np.testing.assert_allclose(kind.weights.sum(axis=-1), 1, atol=1e-5)
    assert not np.triu(decoder.weights[0, 0], 1).any()
    # The alignment of a translation is the mean over the heads of one layer; a translation that was cut has no end.
    means, alignment = crossing.weights.mean(axis=1), view.alternatives[0].weights
    assert alignment is not None
    assert any(np.allclose(mean[: len(alignment)], alignment, atol=1e-5) for mean in means)
    assert view.as_json()["heads"][1]["causal"] is True


def test_published_heads_are_views_of_their_criterion(tmp_path: Path) -> None:
    evaluation, _ = evaluated(SETTINGS)
    outcome = translated(tmp_path, "transformer", 0.9, examples=evaluation.examples)
    shown = [view for view in vaswani2017.GERMAN.published_attention(outcome) if "layer" in view.title]
    assert [view.title.rpartition(", ")[2] for view in shown] == [
        example["what"] for example in evaluation.examples["heads"] if example["kind"] != "decoder"
    ]
    assert shown[0].matrix is not None and len(shown[0].matrix) == len(shown[0].tokens)
    assert shown[-1].alternatives[0].weights is not None


def test_published_translations_are_shown_as_words() -> None:
    (outcome, *_) = published_outcomes(results_folder("vaswani2017") / "vaswani2017" / "outcomes", ["transformer"])
    texts = [view.alternatives[0].text for view in vaswani2017.GERMAN.published_attention(outcome) if view.alternatives]
    assert texts[-1] == "ein mann mit einem orangefarbenen hut , der etwas anstarrt ."
    assert "picknicktisch" in texts[1] and not any("@@" in text for text in texts)


def test_a_control_is_measured_of_the_head_of_its_criterion() -> None:
    """Also where another head attends more to the control. The sample's validation split has no such noun, so that the
    heads are chosen on its test split here."""
    settings = replace(SETTINGS, heads=8)
    data = vaswani2017.GERMAN.prepare(settings, sample=True)
    whole = data.prepared.data
    same = whole.with_splits({**data.prepared.splits, "validation": data.prepared.splits["test"]})
    data = replace(data, prepared=replace(data.prepared, data=same))
    differed = 0
    for seed in (1, 2, 3):
        arrays = vaswani2017.GERMAN.evaluate(network(settings, data, seed), settings, data, LAST).predictions
        head = best_head(arrays["heads_noun"])
        np.testing.assert_array_equal(arrays["head_noun"], arrays["heads_noun"][:, *head])
        np.testing.assert_array_equal(arrays["head_second_word"], arrays["heads_second_word"][:, *head])
        differed += head != best_head(arrays["heads_second_word"])
    assert differed
