"""Attention of classifiers, as pages show it: of texts and of hops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.models.outputs import ClassifierOutput
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.loading import load_directory
from reproductions.protocol.models import included_models
from reproductions.protocol.papers import results_folder
from reproductions.protocol.runs import published_outcomes
from reproductions.protocol.task import TrainedModel, Variant
from reproductions.tasks.classification.corpora import NSMC, SST
from reproductions.tasks.classification.preprocessing_choices import Choices, ChosenNSMC
from reproductions.tasks.classification.settings import StructuredSettings

NAVER = "naver_self_attention"
HOPS = StructuredSettings(
    min_freq=1,
    max_length=6,
    embedding_units=4,
    cell="gru",
    units=3,
    hops=2,
    attention_units=3,
    hidden=0,
    embedding_dropout=0.0,
    dropout=0.0,
)


def trained(model: Any, settings: Any, task: Any) -> TrainedModel[Any, Any]:
    variant = Variant("a", "A", settings, Recipe(epochs=1, batch_size=1, learning_rate=1.0), task)
    return TrainedModel(model, variant, task, task.prepare(settings, sample=True), "0" * 64)


def uniform(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
    return ClassifierOutput(nd.zeros((len(padded), 2)), weights=nd.ones(padded.shape) / HOPS.max_length)


@pytest.fixture(scope="module")
def post() -> TrainedModel[Any, Any]:
    """The network that comes with the post."""
    return load_directory(NAVER, included_models(NAVER)["as-written"])


def test_a_text_has_the_probabilities_and_weights_that_predict_prints(post: TrainedModel[Any, Any]) -> None:
    view = post.task.attention_of(post, "정말 재미있는 영화")
    assert view.tokens == ["정말", "재미있", "는", "영화"]
    assert list(view.joined) == [False, False, True, False]
    assert view.weights is not None and view.matrix is not None
    assert view.matrix.shape == (4, 4) and view.queries == "token"
    np.testing.assert_allclose(view.matrix.mean(axis=0), view.weights, atol=1e-6)
    assert dict(view.classes)["positive"] > 0.9
    assert view.notes == [f"{100 * (1 - view.weights.sum()):.0f} % of the weight is on padding."]
    assert post.task.input_language == "ko"


def test_what_is_not_read_and_what_is_unknown_is_named(post: TrainedModel[Any, Any]) -> None:
    view = post.task.attention_of(post, "큵뷁 " + "영화 " * 40)
    assert len(view.tokens) == 30 and 0 in view.unknown
    assert view.notes[0].endswith("only the first 30 are read.")


@pytest.mark.parametrize(
    ("choices", "shown", "notes"),
    [
        ({}, "하나 둘 셋 은 는 넷", ["8 tokens, of which only the first 6 are read."]),
        ({"keep": "last"}, "셋 은 는 넷 다섯 여섯", ["8 tokens, of which only the last 6 are read."]),
        ({"stop_words": "wikidocs-okt"}, "하나 둘 셋 넷 다섯 여섯", []),
    ],
)
def test_the_note_names_the_tokens_that_are_read(choices: dict[str, str], shown: str, notes: list[str]) -> None:
    task = ChosenNSMC(choices=Choices(tokenizer="whitespace", **choices))  # type: ignore[arg-type]
    view = task.attention_of(trained(uniform, HOPS, task), "하나 둘 셋 은 는 넷 다섯 여섯")
    assert view.tokens == shown.split() and view.notes == notes


@pytest.mark.parametrize("blank", ["", " \t "])
def test_a_text_without_tokens_is_refused(post: TrainedModel[Any, Any], blank: str) -> None:
    with pytest.raises(UsageError, match="no token"):
        post.task.attention_of(post, blank)


@pytest.mark.parametrize("text", ["정말 재미있는 영화", "정말 영화"])
def test_each_hop_is_a_row_also_of_a_text_with_as_many_tokens(text: str) -> None:
    def model(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        weights = np.zeros((len(padded), 2, padded.shape[1]), np.float32)
        weights[:, 0, 0], weights[:, 1, 1] = 1, 1
        return ClassifierOutput(nd.zeros((len(padded), 2)), hops=nd.array(weights))

    task = NSMC()
    view = task.attention_of(trained(model, HOPS, task), text)
    assert view.queries == "hop" and view.matrix is not None
    np.testing.assert_array_equal(view.matrix, np.eye(len(view.tokens))[:2])
    assert view.weights is not None and view.weights.tolist() == [0.5, 0.5, 0, 0][: len(view.tokens)]


def test_tokens_after_the_longest_length_have_no_weight_and_are_not_shown() -> None:
    task = SST("sst-2")
    view = task.attention_of(trained(uniform, HOPS, task), "one two three four five six seven eight")
    assert len(view.tokens) == HOPS.max_length == 6 and view.weights is not None and len(view.weights) == 6
    assert view.notes[0] == "8 tokens, of which only the first 6 are read."


def test_a_network_without_attention_says_so() -> None:
    task = NSMC()
    view = task.attention_of(trained(lambda x, _: ClassifierOutput(nd.zeros((len(x), 2))), HOPS, task), "좋다")
    assert view.weights is None and view.notes == ["This network has no attention: there are no weights to show."]


def test_the_published_sentence_of_the_validation_split_is_no_test_text(tmp_path: Path) -> None:
    """It was titled as one, and the reading page had the label of the test text in its place."""
    (outcome, *_) = published_outcomes(results_folder("cheng2016") / "cheng2016" / "outcomes", ["sst2-lstmn"])
    (view,) = SST("sst-2").published_attention(outcome)
    assert view.title == f"validation text {outcome.examples['correct_sentence']['row'] + 1}"
    assert not SST("sst-2").published_page(outcome, "SST", tmp_path / "page.html")
