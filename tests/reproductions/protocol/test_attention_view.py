"""Tokens, weights and windows as pages show them; the published examples of all papers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from reproductions.protocol import papers
from reproductions.protocol.attention_view import Alternative, AttentionView, joined_tokens
from reproductions.protocol.runs import published_outcomes


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
        ("Don't", ["do", "n't"], [False, True]),
        ("The plot, the end.", ["the", "plot", ",", "the", "end", "."], [False, False, True, False, False, True]),
        ("A plot, an end, a b", ["<unk>", "plot", ",", "<unk>", "end", ","], [False, False, True, False, False, True]),
        ("ㅋㅋㅋㅋ 영화가 ㅋㅋ", ["ㅋㅋ", "영화", "가", "ㅋㅋ"], [False, False, True, False]),
        ("한 편의 시, 한", ["<unk>", "시", ",", "한"], [False, False, True, False]),
        ("<br> 한 편의 시, 한", ["하나", "한", "편"], [False, False, False]),
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
