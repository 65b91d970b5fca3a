"""Word weights in the context of their sentences, and figures of reviews with both levels of attention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.models.outputs import ClassifierOutput
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.tasks.classification import document_attention
from reproductions.tasks.classification.corpora import IMDb
from reproductions.tasks.classification.document_attention import (
    draw_shaded_reviews,
    shaded_reviews,
    weighs_more,
    weights_by_label,
    words_in_context,
)
from reproductions.yang2016 import Settings
from tests.reproductions.support import outcome

SETTINGS = Settings(min_freq=1)
TASK = IMDb(measurements=(words_in_context("good"), shaded_reviews))


def first_word(words: nd.NDArray, counts: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
    """A stub: the first word of a sentence has three times the weight of any other, all sentences the same."""
    real = np.arange(words.shape[2]) < lengths.asnumpy()[:, :, None]
    weights = real * np.where(np.arange(words.shape[2]) == 0, 3.0, 1.0)
    weights /= np.maximum(weights.sum(axis=2, keepdims=True), 1)
    sentences = (np.arange(words.shape[1]) < counts.asnumpy()[:, None]) / counts.asnumpy()[:, None]
    return ClassifierOutput(
        nd.zeros((len(words), 2)), word_weights=nd.array(weights), sentence_weights=nd.array(sentences)
    )


def test_the_relative_weight_of_a_word_is_its_weight_times_the_words_of_its_sentence() -> None:
    """Whatever the other sentences of the review, a uniform weight is 1."""
    data = TASK.prepare(SETTINGS, sample=True)
    last: Any = None
    model: Any = first_word
    evaluation = TASK.evaluate(model, SETTINGS, data, last)
    test = data.prepared.test
    expected, rows = [], []
    for row in range(len(test)):
        for sentence in test.sentence_words(row):
            for position, word in enumerate(sentence):
                if word == "good":
                    rows.append(row)
                    expected.append((3 if position == 0 else 1) * len(sentence) / (len(sentence) + 2))
    assert rows, "the word is not in the sample"
    np.testing.assert_array_equal(evaluation.predictions["rows_of_good"], rows)
    np.testing.assert_allclose(evaluation.predictions["weights_of_good"], expected, rtol=1e-4)

    shaded = json.loads(json.dumps(evaluation.examples))["review_negative"]
    assert shaded["label"] == "negative" and test.label[shaded["row"]] == 0
    assert shaded["sentences"] == test.sentence_words(shaded["row"])
    assert shaded["sentence_shades"] == pytest.approx([1.0] * len(shaded["sentences"]))
    first = max(3 / (len(sentence) + 2) for sentence in shaded["sentences"])
    lengths = [len(sentence) for sentence in shaded["sentences"]]
    assert shaded["shades"][0] == pytest.approx(3 / (lengths[0] + 2) / first, rel=1e-4) and max(shaded["shades"]) == 1


def test_a_word_outside_the_vocabulary_does_not_occur_and_unknown_words_are_not_it(tmp_path: Path) -> None:
    task = IMDb(measurements=(words_in_context("gut"),))
    data = task.prepare(SETTINGS, sample=True)
    assert "gut" not in data.prepared.vocabulary and (data.prepared.test.ids == UNKNOWN_ID).any()
    last: Any = None
    model: Any = first_word
    arrays = task.evaluate(model, SETTINGS, data, last).predictions
    assert arrays["weights_of_gut"].shape == arrays["rows_of_gut"].shape == (0,)
    finished = outcome(tmp_path, "att", arrays=arrays)
    assert weighs_more("gut", 1, [finished]) is None
    assert weights_by_label("att", "gut")({"att": [finished]}, tmp_path) == {}


def test_a_word_with_more_weight_in_its_class_supports_the_claim(tmp_path: Path) -> None:
    label = np.arange(60) % 2
    arrays = {
        "label": label,
        "rows_of_good": np.repeat(np.arange(60), 2),
        "weights_of_good": np.repeat(np.where(label == 1, 2.0, 0.5), 2),
    }
    outcomes = [outcome(tmp_path, "att", seed, arrays) for seed in (1, 2)]
    positive, negative = weighs_more("good", 1, outcomes), weighs_more("good", 0, outcomes)
    assert positive and negative
    assert positive.estimate.mean == pytest.approx(1.5) and positive.estimate.low > 0
    assert negative.estimate.mean == pytest.approx(-1.5) and "negative minus others" in negative.what


def test_a_word_of_one_class_only_is_not_compared(tmp_path: Path) -> None:
    arrays = {"label": np.arange(60) % 2, "rows_of_good": np.arange(1, 60, 2), "weights_of_good": np.full(30, 2.0)}
    outcomes = [outcome(tmp_path, "att", seed, arrays) for seed in (1, 2)]
    assert weighs_more("good", 1, outcomes) is None and weighs_more("good", 0, outcomes) is None


def test_the_figure_names_the_labels_of_ones_own_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(document_attention, "weights_histogram", lambda samples, path: drawn.extend(samples))
    arrays = {"label": [0, 1], "rows_of_good": [0, 1], "weights_of_good": [1.0, 2.0]}
    texts = {"labels": np.array(["1", "2"])}
    finished = outcome(tmp_path, "att", arrays=arrays, texts=texts, data={"name": "own documents"})
    assert weights_by_label("att", "good")({"att": [finished]}, tmp_path)
    assert drawn == ['"good" in texts with label 1', '"good" in texts with label 2']


def test_classes_of_ones_own_texts_are_not_those_of_the_claim(tmp_path: Path) -> None:
    arrays = {"label": [0, 1], "rows_of_good": [0, 1], "weights_of_good": [1.0, 2.0]}
    finished = outcome(tmp_path, "att", arrays=arrays, data={"name": "own documents"})
    assert weighs_more("good", 1, [finished]) is None


def test_a_class_that_is_never_right_has_no_example() -> None:
    """The stub classifies all reviews as negative."""
    data = TASK.prepare(SETTINGS, sample=True)
    last: Any = None
    model: Any = first_word
    assert list(TASK.evaluate(model, SETTINGS, data, last).examples) == ["review_negative"]


def test_figures_are_drawn_from_the_outcome(tmp_path: Path) -> None:
    review = {
        "row": 3,
        "sentences": [["a", "good", "film"], ["yes"]],
        "shades": [0.1, 1.0, 0.2, 0.5],
        "sentence_shades": [1.0, 0.5],
        "label": "positive",
        "probability": 0.9,
    }
    arrays = {"label": [0, 1], "weights_of_good": [1.0, 2.0, 3.0], "rows_of_good": [0, 1, 1]}
    finished = outcome(tmp_path, "att", arrays=arrays, examples={"review_positive": review})
    paths = draw_shaded_reviews("att")({"att": [finished]}, tmp_path)
    assert list(paths) == ["positive review"] and paths["positive review"].stat().st_size > 1_000
    assert weights_by_label("att", "good")({"att": [finished]}, tmp_path)["weights of good"].stat().st_size > 1_000
    own = outcome(
        tmp_path,
        "own",
        examples={"review_positive": review},
        texts={"labels": ["culture", "sport"]},
        data={"name": "own"},
    )
    paths = draw_shaded_reviews("own")({"own": [own]}, tmp_path)
    assert {what: path.name for what, path in paths.items()} == {"text with label sport": "text_2.png"}
    assert draw_shaded_reviews("att")({}, tmp_path) == weights_by_label("att", "good")({}, tmp_path) == {}
