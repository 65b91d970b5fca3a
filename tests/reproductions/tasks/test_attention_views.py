"""What networks attend to, as pages show it: of texts, of hops, of translations, and of published examples."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.models.outputs import ClassifierOutput
from gluon_attn.training.recipe import Recipe
from reproductions.protocol import papers
from reproductions.protocol.attention_view import Alternative, AttentionView, joined_tokens
from reproductions.protocol.loading import load_directory
from reproductions.protocol.models import included_models
from reproductions.protocol.runs import published_outcomes
from reproductions.protocol.task import TrainedModel, Variant
from reproductions.tasks.classification import NSMC, SST
from reproductions.tasks.classifier_settings import StructuredSettings
from reproductions.tasks.translation import Translation
from tests.reproductions.translating import network

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


@pytest.mark.parametrize("blank", ["", " \t "])
def test_a_text_without_tokens_is_refused(post: TrainedModel[Any, Any], blank: str) -> None:
    with pytest.raises(UsageError, match="no token"):
        post.task.attention_of(post, blank)


def test_each_hop_is_a_row() -> None:
    def model(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        weights = np.zeros((len(padded), 2, padded.shape[1]), np.float32)
        weights[:, 0, 0], weights[:, 1, 1] = 1, 1
        return ClassifierOutput(nd.zeros((len(padded), 2)), hops=nd.array(weights))

    task = NSMC()
    view = task.attention_of(trained(model, HOPS, task), "정말 재미있는 영화")
    assert view.queries == "hop" and view.matrix is not None
    np.testing.assert_array_equal(view.matrix, np.eye(4)[:2])
    assert view.weights is not None and view.weights.tolist() == [0.5, 0.5, 0, 0]


def test_tokens_after_the_longest_length_have_no_weight_and_are_not_shown() -> None:
    def model(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        return ClassifierOutput(nd.zeros((len(padded), 2)), weights=nd.ones(padded.shape) / HOPS.max_length)

    task = SST("sst-2")
    view = task.attention_of(trained(model, HOPS, task), "one two three four five six seven eight")
    assert len(view.tokens) == HOPS.max_length == 6 and view.weights is not None and len(view.weights) == 6
    assert view.notes[0] == "8 tokens, of which only the first 6 are read."


def test_a_network_without_attention_says_so() -> None:
    task = NSMC()
    view = task.attention_of(trained(lambda x, _: ClassifierOutput(nd.zeros((len(x), 2))), HOPS, task), "좋다")
    assert view.weights is None and view.notes == ["This network has no attention: there are no weights to show."]


def test_a_translation_has_the_alternatives_of_the_beam() -> None:
    variant = papers.load("bahdanau2014").preset("smoke").variant("rnnsearch-ko-en")
    task: Any = variant.task
    assert isinstance(task, Translation) and task.input_language == "ko"
    data = task.prepare(variant.settings, sample=True)
    model = TrainedModel(network(variant.settings, data), variant, task, data, "0" * 64)
    view = task.attention_of(model, "아이가 앉아 있다.", beam=3)
    assert len(view.alternatives) == 3
    scores = [each.log_p for each in view.alternatives]
    assert all(score is not None and score < 0 for score in scores)
    for each in view.alternatives:
        assert each.weights is not None and each.weights.shape[1] == len(view.tokens)
        assert len(each.weights) in (len(each.tokens), len(each.tokens) + 1)
        np.testing.assert_allclose(each.weights.sum(axis=1), 1, atol=1e-3)
    assert len(task.attention_of(model, "아이가 앉아 있다.").alternatives) == variant.settings.beam
    with pytest.raises(UsageError, match="at most 100"):
        task.attention_of(model, "가 " * 200)


def test_every_published_example_is_shown() -> None:
    shown = 0
    for paper in papers.names():
        preset = papers.load(paper).preset("cpu")
        for outcome in published_outcomes(papers.results_folder(paper) / paper / "outcomes", preset.names):
            for view in preset.task(outcome.variant).published_attention(outcome):
                values = json.loads(json.dumps(view.as_json(), allow_nan=False))
                assert values["tokens"] and values["title"]
                check(view)
                shown += 1
    assert shown > 100


def check(view: AttentionView) -> None:
    """Weights fit the tokens and are distributions, or less."""
    count = len(view.tokens)
    rows = [] if view.weights is None else [view.weights]
    if view.matrix is not None:
        rows += list(view.matrix)
    rows += [row for each in view.alternatives if each.weights is not None for row in each.weights]
    assert rows
    for row in rows:
        assert len(row) in (count, count - 1) and np.all(np.asarray(row) >= 0) and np.sum(row) < 1.01


@pytest.mark.parametrize(
    ("text", "tokens", "joined"),
    [
        ("재미있는 영화", ["재미있", "는", "영화"], [False, True, False]),
        ("  a  b", ["a", "b"], [False, False]),
        ("Don't", ["do", "n't"], [False, False]),
        ("", [], []),
    ],
)
def test_spaces_are_those_of_the_text(text: str, tokens: list[str], joined: list[bool]) -> None:
    assert joined_tokens(text, tokens) == joined


@pytest.mark.parametrize(
    ("weights", "windows"),
    [
        ([[0.5, 0.5, 0.0], [0.0, 0.3, 0.7]], [[0, 2], [1, 3]]),
        ([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7]], None),
        ([[0.5, 0.0, 0.5], [0.0, 0.3, 0.7]], None),
        ([[0.0, 0.0, 0.0], [0.0, 0.3, 0.7]], None),
        (None, None),
    ],
)
def test_the_window_of_local_attention_is_where_it_has_weights(weights: Any, windows: Any) -> None:
    given = None if weights is None else np.array(weights)
    view = AttentionView(tokens=["a", "b", "c"], alternatives=[Alternative(["x"], "x", None, given)])
    (alternative,) = view.as_json()["alternatives"]
    assert alternative["windows"] == windows and alternative["weights"] == weights
