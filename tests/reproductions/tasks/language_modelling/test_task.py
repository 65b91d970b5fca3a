"""The task of language modelling: every word is predicted from all words before it; outcomes and answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import init, nd

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.models.language_model import LanguageModel
from gluon_attn.training.bptt import stream_perplexity
from preprocessing import ptb
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.cheng2016 import REPRODUCTION, Language, Tape
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import AnswerOptions, TrainedModel, Variant
from reproductions.tasks.language_modelling import results as lm_results
from reproductions.tasks.language_modelling.results import (
    attention_by_distance,
    nearest_third,
    of_blocks,
    outside_window,
)
from reproductions.tasks.language_modelling.task import LanguageModelling, LanguageModellingData, line_weights
from tests.reproductions.support import outcome

TASK = LanguageModelling("ptb")
SMOKE = REPRODUCTION.preset("smoke")
LINES, WINDOW = 30, 9


def trained(name: str, tape: Tape | None = None) -> tuple[LanguageModel, Language, LanguageModellingData]:
    """An untrained network with clearly non-uniform weights."""
    settings: Language = SMOKE.variant(name).settings
    if tape:
        settings = replace(settings, tape=tape)
    data = TASK.prepare(settings, sample=True)
    runtime.seed_all(1)
    model = settings.build(data)
    model.initialize(init.Normal(0.8))
    return model, settings, data


def in_one_call(model: Any, call: Callable[..., Any], ids: np.ndarray, first: int) -> np.ndarray:
    """The whole text in one call, after an end of line."""
    before = nd.array(np.append(first, ids[:-1])[None], dtype="int32")
    targets = [nd.array(ids[None], dtype="int32")] if call == model else []
    values = call(before, *targets, *model.start(1))
    return np.asarray(values[1 if call == model else 0].asnumpy()[0])


# --- measurements ---


@pytest.mark.parametrize("name", ["lstm", "lstmn"])
def test_every_word_of_the_test_file_is_predicted_from_all_earlier_words(name: str) -> None:
    model, settings, data = trained(name)
    evaluation = TASK.evaluate(model, settings, data, None)  # type: ignore[arg-type]
    arrays = evaluation.predictions
    test, end = data.prepared.test, data.prepared.vocabulary[ptb.END_OF_LINE]
    nll = in_one_call(model, model, test.ids, end)
    by_line = [nll[start:stop].sum() for start, stop in zip(test.offsets[:-1], test.offsets[1:], strict=True)]
    np.testing.assert_allclose(arrays["likelihood"][:, 0], by_line, rtol=1e-4)
    assert arrays["likelihood"][:, 1].tolist() == [len(text.split()) + 1 for text in test.text]
    assert evaluation.metrics["perplexity"] == pytest.approx(np.exp(nll.mean(dtype=np.float64)), rel=1e-4)
    assert set(arrays) == {"likelihood"} | ({"weight_by_distance"} if name == "lstmn" else set())
    assert set(evaluation.examples) == ({"lines"} if name == "lstmn" else set())
    if name == "lstmn":
        weights = in_one_call(model, model.attend, test.ids, end)
        np.testing.assert_allclose(arrays["weight_by_distance"].sum(axis=0), weights.sum(axis=0)[::-1], rtol=1e-4)
        first = weights[: test.offsets[1]].sum(axis=0)[::-1]
        np.testing.assert_allclose(arrays["weight_by_distance"][0], first, rtol=1e-4, atol=1e-6)
        # All words but the first have memories.
        assert arrays["weight_by_distance"].sum() == pytest.approx(len(test.ids) - 1, rel=1e-5)


@pytest.mark.parametrize("window", [4, 9])
def test_the_weights_of_a_line_are_in_the_context_of_all_earlier_lines(window: int) -> None:
    """Of a line of seven words, which one tape covers and the other does not."""
    model, settings, data = trained("lstmn", Tape(window, 10))
    split, line = data.prepared.validation, 2
    assert split.lengths[line] - 1 == 7
    matrix = line_weights(model, settings, data, split, line)
    weights = in_one_call(model, model.attend, split.ids, data.prepared.vocabulary[ptb.END_OF_LINE])
    start, words = split.offsets[line], split.lengths[line] - 1
    assert matrix.shape == (words, words)
    for t in range(words):
        for column in range(words):
            distance = t + 1 - column  # Column 0 is the end of the previous line.
            expected = weights[start + t + 1, window - distance] if 0 < distance <= window else 0.0
            assert matrix[t, column] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    # Some weight is on earlier lines.
    assert (matrix.sum(axis=1) < 1.0 + 1e-5).all() and matrix.sum(axis=1).min() < 0.99
    np.testing.assert_array_equal(matrix[outside_window(matrix, window)], 0.0)


def test_example_lines_are_the_first_short_ones_without_unknown_words() -> None:
    _, settings, data = trained("lstmn")
    data = replace(data, prepared=ptb.prepare("sample", min_freq=4))
    model = settings.build(data)
    model.initialize()
    split = data.prepared.validation
    examples = TASK.evaluate(model, settings, data, None).examples["lines"]  # type: ignore[arg-type]
    short = [line for line, ids in enumerate(split.sequences()) if 7 <= len(ids) <= 13]
    known = [line for line in short if UNKNOWN_ID not in split.sequences()[line]]
    assert [example["line"] for example in examples] == known[:3] != short[:3]
    for example in examples:
        assert [*example["words"], ptb.END_OF_LINE] == split.words(example["line"])
        assert example["window"] == WINDOW
        expected = line_weights(model, settings, data, split, example["line"])
        np.testing.assert_array_equal(np.array(example["weights"], np.float32), expected)


def test_an_epoch_is_selected_by_the_perplexity_of_the_validation_text() -> None:
    model, settings, data = trained("lstm")
    objective = TASK.objective(settings, SMOKE.variant("lstm").recipe, data)
    assert objective.select == "perplexity"
    pieces = data.pieces(data.prepared.validation.ids, SMOKE.variant("lstm").recipe.batch_size, settings.steps)
    assert objective.evaluate(model)["perplexity"] == stream_perplexity(model, pieces)


def test_restarts_and_truncation_follow_the_settings() -> None:
    """Each word of train is a target once per epoch; a row that restarts has the initial state."""
    _, settings, data = trained("lstm")
    recipe = SMOKE.variant("lstm").recipe
    for restart, starts in ((0.0, [True, False]), (1.0, [True, True])):
        objective = TASK.objective(replace(settings, restart=restart), recipe, data)
        batches = []
        for batch in objective.batches(np.random.RandomState(1)):
            batches.append(batch)
            state = [nd.ones(array.shape) for array in batch.inputs[2:]]
            output = type("Output", (), {"state": state, "loss": nd.ones((1,))})
            objective.loss(output, nd.array(batch.target))
        assert {batch.inputs[0].shape for batch in batches} == {(recipe.batch_size, settings.steps)}
        assert sum(int(batch.target.sum()) for batch in batches) == len(data.prepared.train.ids)
        assert [all(not array.any() for array in batch.inputs[2:]) for batch in batches[:2]] == starts


# --- outcomes ---


def made_up(folder: Path, name: str, nats: float, *, seed: int = 1, near: float = 1 / WINDOW, **record: Any) -> Outcome:
    """An outcome with this many nats per word, and this share of the weight on the nearest memory."""
    tokens = 3.0 + np.arange(LINES) % 7
    shares = np.append(near, np.full(WINDOW - 1, (1 - near) / (WINDOW - 1)))
    arrays = {"likelihood": np.stack([nats * tokens, tokens], axis=1), "weight_by_distance": tokens[:, None] * shares}
    history = [{"epoch": 1, "validation_perplexity": 90.0}, {"epoch": 2, "validation_perplexity": 80.0 + seed}]
    return outcome(folder, name, seed, arrays, **{"corpus": "ptb", "history": history, **record})


def test_rows_are_perplexities_next_to_the_reported_one(tmp_path: Path) -> None:
    variant: Variant[Any] = REPRODUCTION.preset("cpu").variant("lstmn")
    test, validation = TASK.rows(
        [made_up(tmp_path, "lstmn", nats, seed=seed) for seed, nats in ((1, 4.6), (2, 4.8))], variant
    )
    assert (test.split, test.metric, test.corpus) == ("test", "perplexity", "ptb")
    assert test.per_seed == pytest.approx({"1": np.exp(4.6), "2": np.exp(4.8)})
    assert test.mean == pytest.approx((np.exp(4.6) + np.exp(4.8)) / 2)
    assert test.reported and test.reported["value"] == 108.0 and test.comparable
    assert (validation.split, validation.mean, validation.ci95) == ("validation", 81.5, (81.0, 82.0))
    assert validation.reported is None


@pytest.mark.parametrize(
    ("better", "worse", "expected"), [(4.7, 4.8, "supported"), (4.8, 4.7, "contradicted"), (4.7, 4.7, "inconclusive")]
)
def test_better_is_lower_perplexity(better: float, worse: float, expected: str, tmp_path: Path) -> None:
    sides = [
        [made_up(tmp_path, name, nats, seed=seed) for seed in (1, 2)]
        for name, nats in (("better", better), ("worse", worse))
    ]
    effect = TASK.compare("", *sides)
    estimate = effect.estimate
    assert (
        estimate.mean == pytest.approx(np.exp(worse) - np.exp(better)) and effect.items == "blocks of up to 100 lines"
    )
    of_interval = "supported" if estimate.low > 0 else "contradicted" if estimate.high < 0 else "inconclusive"
    assert of_interval == expected
    with pytest.raises(UsageError, match="metric 'bleu' is unknown in language modelling; choose from perplexity"):
        TASK.compare("bleu", *sides)


def test_the_nearest_third_is_compared_with_its_uniform_share(tmp_path: Path) -> None:
    even, near = (
        nearest_third([made_up(tmp_path / str(share), "lstmn", 4.7, near=share)]) for share in (1 / WINDOW, 0.5)
    )
    assert even.estimate.mean == pytest.approx(0.0, abs=1e-9)
    assert near.estimate.mean == pytest.approx(100 * (0.5 + 2 * 0.5 / 8 - 1 / 3)), "the nearest 3 of 9"
    assert "nearest 3 of 9" in near.what and near.estimate.low > 0


def test_figures_are_drawn_from_outcomes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = {"line": 4, "words": ["a", "b", "c"], "weights": [[1, 0, 0], [0.5, 0.5, 0], [0, 0.2, 0.3]], "window": 2}
    variant: Variant[Any] = SMOKE.variant("lstmn")
    drawn = TASK.figures(outcome(tmp_path, "lstmn", examples={"lines": [line, line]}), variant, tmp_path)
    assert drawn == {f"attention {number} of lstmn": tmp_path / f"attention_lstmn_{number}.png" for number in (1, 2)}
    assert all(path.exists() for path in drawn.values())
    assert TASK.figures(outcome(tmp_path, "lstm"), SMOKE.variant("lstm"), tmp_path) == {}
    groups = {"lstmn": [made_up(tmp_path / "run", "lstmn", 4.7)]}
    assert attention_by_distance("lstmn", "absent")(groups, tmp_path)["weights by distance"].exists()
    assert attention_by_distance("absent")(groups, tmp_path) == {}
    weights: dict[str, np.ndarray] = {}
    monkeypatch.setattr(lm_results, "weights_by_distance", lambda by_name, path: weights.update(by_name))
    attention_by_distance("near")({"near": [made_up(tmp_path / "near", "near", 4.7, near=0.5)]}, tmp_path)
    assert weights["near"] == pytest.approx([0.5, *[0.5 / (WINDOW - 1)] * (WINDOW - 1)]), "means over words"


def test_memories_outside_the_window_are_later_or_too_old() -> None:
    assert outside_window(np.zeros((4, 4)), 2).astype(int).tolist() == [
        [0, 1, 1, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [1, 1, 0, 0],
    ]


# --- answers ---


def test_a_line_gets_its_own_perplexity() -> None:
    model, settings, data = trained("lstmn")
    variant = replace(SMOKE.variant("lstmn"), settings=settings)
    text = "the company said it would n't"
    answers = list(
        TASK.answer(
            TrainedModel(model, variant, TASK, data, ""),
            BytesIO(f"{text}\n\n{text}\nzebra\n".encode()),
            AnswerOptions(),
        )
    )
    line = data.prepared.encode([text])
    nll = in_one_call(model, model, line.ids, data.prepared.vocabulary[ptb.END_OF_LINE])
    assert answers[0] == answers[2] and answers[1] == ""
    perplexity, words, unknown = answers[0].split("\t")
    assert float(perplexity) == pytest.approx(np.exp(nll.mean()), abs=0.01) and (words, unknown) == ("6", "0")
    assert answers[3].split("\t")[1:] == ["1", "1"]


def test_weights_are_shown_for_the_word_with_most_attention() -> None:
    model, _, data = trained("lstmn", Tape(3, 10))
    variant: Variant[Any] = SMOKE.variant("lstmn")
    trained_model = TrainedModel[Any, Any](model, variant, TASK, data, "")
    words = ["the", "company", "said", "it", "would"]
    (answer,) = TASK.answer(trained_model, BytesIO(" ".join(words).encode()), AnswerOptions(weights=True))
    line = data.prepared.encode([" ".join(words)])
    weights = in_one_call(model, model.attend, line.ids, data.prepared.vocabulary[ptb.END_OF_LINE])
    before = [ptb.END_OF_LINE, *words]
    expected = []
    for position, word in enumerate(words, start=1):
        memory = max(range(max(0, position - 3), position), key=lambda m: weights[position, 3 + m - position])
        expected.append(f"{word}>{before[memory]}:{weights[position, 3 + memory - position]:.3f}")
    assert answer.split("\t")[3].split(" ") == expected
    assert expected[0] == f"the>{ptb.END_OF_LINE}:1.000", "the first word has one memory"


def test_weights_of_a_network_without_attention_are_refused() -> None:
    model, settings, data = trained("lstm")
    variant: Variant[Any] = replace(SMOKE.variant("lstm"), settings=settings)
    with pytest.raises(UsageError, match="variant lstm has no attention and so no weights"):
        list(TASK.answer(TrainedModel(model, variant, TASK, data, ""), BytesIO(b"the\n"), AnswerOptions(weights=True)))


def test_a_line_by_itself_is_shown_with_what_each_word_attends_to() -> None:
    model, _, data = trained("lstmn")
    network = TrainedModel(model, SMOKE.variant("lstmn"), TASK, data, "0" * 64)
    words = data.prepared.vocabulary.idx_to_token[5:8]
    view = TASK.attention_of(network, " ".join([*words, "qqqq"]))
    assert view.tokens == [ptb.END_OF_LINE, *words, "qqqq"] and view.unknown == [4]
    assert view.matrix is not None and view.matrix.shape == (4, 4) and view.queries == "word"
    np.testing.assert_allclose(view.matrix.sum(axis=1), 1, atol=1e-4)
    assert np.all(np.triu(view.matrix, 1) == 0)
    assert len(view.surprise) == 5 and min(view.surprise) > 0
    with pytest.raises(UsageError, match="no word"):
        TASK.attention_of(network, " ")


def test_the_nearest_third_is_compared_with_its_own_share_of_the_tape(tmp_path: Path) -> None:
    """Of five memories one, of twenty six: their uniform share is not a third."""
    for window in (5, 20):
        tokens = 3.0 + np.arange(40) % 7
        given = {"weight_by_distance": tokens[:, None] * np.full(window, 1 / window)}
        given["likelihood"] = np.stack([tokens, tokens], axis=1)
        effect = nearest_third([outcome(tmp_path / str(window), "lstmn", arrays=given)])
        assert effect.estimate.mean == pytest.approx(0.0, abs=1e-9)


def test_a_block_has_a_hundred_lines_and_there_are_at_least_twenty(tmp_path: Path) -> None:
    for lines, blocks in ((4_050, 41), (60, 20), (2_000, 20)):
        given = {"likelihood": np.ones((lines, 2))}
        sums = of_blocks([outcome(tmp_path / str(lines), "lstm", arrays=given)], "likelihood")
        assert sums.shape == (1, blocks, 2) and sums.sum() == 2 * lines and lm_results.BLOCK == 100
