"""Measurements of attention hops, the texts that figures show, and what figures need."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.evaluation.hops import least_penalty
from gluon_attn.models.outputs import ClassifierOutput
from gluon_attn.plots.heatmap import LONGEST_MATRIX
from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification.corpora import NSMC
from reproductions.tasks.classification.hops import (
    hops_of_review,
    less_overlap,
    measure_hops,
    penalty_by_length,
    summed_hops,
)
from reproductions.tasks.classification.settings import StructuredSettings
from reproductions.tasks.classification.task import EvaluatedModel
from tests.reproductions.support import outcome

SETTINGS = StructuredSettings(
    min_freq=1,
    max_length=30,
    embedding_units=4,
    cell="gru",
    units=3,
    hops=2,
    attention_units=3,
    hidden=0,
    embedding_dropout=0.0,
    dropout=0.0,
)
TASK = NSMC(measurements=(measure_hops,))


def first_and_last(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
    """A stub: of two hops the first attends to the first token, the second to the last."""
    weights = np.zeros((len(padded), 2, padded.shape[1]), np.float32)
    weights[:, 0, 0] = 1
    weights[np.arange(len(padded)), 1, lengths.asnumpy().astype(int) - 1] = 1
    return ClassifierOutput(nd.zeros((len(padded), 2)), hops=nd.array(weights), penalty=nd.zeros((len(padded),)))


def one_hop(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
    return ClassifierOutput(nd.zeros((len(padded), 2)), hops=nd.ones((len(padded), 1, padded.shape[1])))


def test_overlap_and_cost_are_measured_on_every_test_text() -> None:
    data = TASK.prepare(SETTINGS, sample=True)
    last: Any = None
    model: Any = first_and_last
    arrays = TASK.evaluate(model, SETTINGS, data, last).predictions
    lengths = data.prepared.test.lengths
    np.testing.assert_array_equal(arrays["token_counts"], lengths)
    np.testing.assert_allclose(arrays["overlap"], lengths == 1)
    np.testing.assert_allclose(arrays["cost"], 2.0 * (lengths == 1))
    assert least_penalty(1, 2) == 2.0
    model = one_hop
    assert "overlap" not in TASK.evaluate(model, SETTINGS, data, last).predictions


def test_less_overlap_is_an_effect_over_non_empty_texts(tmp_path: Path) -> None:
    free, strict = (
        [outcome(tmp_path, name, seed, {"overlap": np.where(np.arange(50) == 0, np.nan, shared)}) for seed in (1, 2)]
        for name, shared in (("free", 0.8), ("strict", 0.3))
    )
    effect = less_overlap(free, strict)
    assert effect.estimate.mean == pytest.approx(0.5) and effect.estimate.low > 0


def example(row: int, tokens: int = 3) -> dict[str, Any]:
    words = [f"word{row}-{number}" for number in range(tokens)]
    weights = [1 / tokens] * tokens
    return {
        "row": row,
        "tokens": words,
        "weights": weights,
        "label": "positive",
        "predicted": 1,
        "probabilities": [0.25, 0.75],
        "matrix": [weights, weights],
    }


def made_up(folder: Path, name: str, right: list[bool]) -> Outcome:
    """Its examples are the texts 5, 2 and 7, the nearest to the wanted length first."""
    examples = {"of_length_3": [example(row) for row in (5, 2, 7)]}
    return outcome(folder, name, arrays={"right": right}, examples=examples)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of the figures."""
    titles: list[str] = []
    monkeypatch.setattr(
        "reproductions.tasks.classification.hops.attention_matrix",
        lambda rows, tokens, weights, path, title, **_: titles.append(title),
    )
    monkeypatch.setattr(
        "reproductions.tasks.classification.hops.highlighted_text.draw",
        lambda paragraphs, path, title: titles.extend(paragraph.heading for paragraph in paragraphs),
    )
    return titles


def test_a_figure_shows_the_nearest_text_that_all_networks_classify_correctly(drawn: list[str], tmp_path: Path) -> None:
    free = made_up(tmp_path, "free", [True] * 8)
    strict = made_up(tmp_path, "strict", [row != 5 for row in range(8)])
    draw = hops_of_review("free", "strict", tokens=3)
    assert set(draw({"free": [free], "strict": [strict]}, tmp_path)) == {"hops of free", "hops of strict"}
    assert [title.split(" (")[1].split(",")[0] for title in drawn] == ["test example 3"] * 2
    drawn.clear()
    draw({"free": [free]}, tmp_path)
    assert "test example 6" in drawn[0] and "positive, 0.75" in drawn[0]


def test_hops_over_a_text_that_is_too_long_for_a_figure_are_not_drawn(drawn: list[str], tmp_path: Path) -> None:
    free = made_up(tmp_path, "free", [True] * 8)
    for example in free.examples["of_length_3"]:
        example["matrix"] = np.full((2, LONGEST_MATRIX + 1), 0.01).tolist()
    assert hops_of_review("free", tokens=3)({"free": [free]}, tmp_path) == {} and drawn == []


def test_summed_hops_are_of_the_same_texts_in_corpus_order(drawn: list[str], tmp_path: Path) -> None:
    free, strict = (made_up(tmp_path, name, [row != 5 for row in range(8)]) for name in ("free", "strict"))
    draw = summed_hops("nsmc", "free", "strict", tokens=3, count=2)
    assert draw({"free": [free], "strict": [strict]}, tmp_path).keys() == {"summed hops, nsmc"}
    assert [heading.split(":")[0] for heading in drawn] == [
        f"{name}, test example {number}" for name in ("free", "strict") for number in (3, 8)
    ]


def test_missing_outcomes_give_no_figure(drawn: list[str], tmp_path: Path) -> None:
    free = made_up(tmp_path, "free", [True] * 8)
    bare = outcome(tmp_path, "strict", arrays={"right": [True] * 8})
    assert summed_hops("nsmc", "free", "strict", tokens=3, count=2)({"free": [free]}, tmp_path) == {}
    assert summed_hops("nsmc", "free", "strict", tokens=3, count=2)({"free": [free], "strict": [bare]}, tmp_path) == {}
    for groups in ({}, {"strict": [bare]}):
        assert hops_of_review("free", "strict", tokens=3)(groups, tmp_path) == {}
        assert penalty_by_length("free", hops=2)(groups, tmp_path) == {}
    assert drawn == []


def test_the_penalty_of_each_length_is_next_to_its_minimum(tmp_path: Path) -> None:
    arrays = {"token_counts": [1, 1, 2, 30], "cost": np.array([2, 4, 1, 9], np.float16)}
    seen = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "reproductions.tasks.classification.hops.score_by_length",
            lambda lines, labels, *_, bounds, **__: seen.update(lines, labels=labels, bounds=bounds),
        )
        penalty_by_length("free", hops=2)({"free": [outcome(tmp_path, "free", arrays=arrays)]}, tmp_path)
    assert seen == {"free": [3.0, 1.0], "labels": ["1", "2"], "bounds": {"minimum": [2.0, 0.0]}}


def test_the_cost_of_hops_that_share_tokens_is_the_squared_norm() -> None:
    """Two equal hops on one token: A A^T is all ones, and its distance from I has the square 2."""

    def on_the_first(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        weights = np.zeros((len(padded), 2, padded.shape[1]), np.float32)
        weights[:, :, 0] = 1
        return ClassifierOutput(nd.zeros((len(padded), 2)), hops=nd.array(weights))

    data = TASK.prepare(SETTINGS, sample=True)
    model: Any = on_the_first
    found = measure_hops(EvaluatedModel(model, data, cast(Any, None), cast(Any, None))).predictions
    has_tokens = data.prepared.test.lengths > 0
    assert has_tokens.any()
    np.testing.assert_array_equal(found["cost"][has_tokens], 2.0)
    np.testing.assert_array_equal(found["overlap"][has_tokens], 1.0)
