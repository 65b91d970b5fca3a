"""Batches, scores and weights of networks that read texts, with a network whose answers are known beforehand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mxnet import init, nd
from mxnet.gluon import nn

from gluon_attn.errors import UsageError
from gluon_attn.models.outputs import ClassifierOutput
from gluon_attn.training.recipe import Recipe
from preprocessing.pipeline.ragged import Ragged
from preprocessing.text.data import Split
from preprocessing.text.vocabulary import PADDING_ID, UNKNOWN_ID, Vocabulary
from reproductions.protocol.experiment import Preset, Variant
from reproductions.protocol.papers import preset, script
from reproductions.protocol.runs import Unit, load
from reproductions.tasks.classification import (
    Data,
    Read,
    begin_with,
    classify,
    drop_tokens,
    inputs,
    prepare,
    scores,
    task,
)
from reproductions.tasks.word_vectors import WordVectors
from tests.reproductions.support import PAPER, outcome


def variant(model: str = "masked", max_length: int = 5, **settings: Any) -> Variant:
    return Variant("made-up", "", {"model": model, "max_length": max_length, **settings}, Recipe(1, 3, 0.1))


def ids(*rows: Sequence[int]) -> list[np.ndarray]:
    return [np.array(row, np.int32) for row in rows]


def split(rows: list[np.ndarray], label: Sequence[int]) -> Split:
    made = Split.of([""] * len(rows), label=np.array(label, np.int8))
    return Split(
        made.row_id, made.text, made.label, made.seen_in_train, encoded=Ragged.from_rows([row.tolist() for row in rows])
    )


def data(**splits: Split) -> Data:
    return Data("nsmc", {}, SimpleNamespace(splits=splits, digest="d"))  # type: ignore[arg-type]


# --- what a network begins with ---


@pytest.mark.parametrize("spelled", [False, True])
def test_words_that_have_a_trained_vector_begin_with_it_and_the_others_as_drawn(spelled: bool) -> None:
    vocabulary = Vocabulary(["배우", "감독", "영화"])
    table = nn.Embedding(len(vocabulary), 3)
    table.initialize(init.Constant(0.5))
    prepared = SimpleNamespace(vocabulary=vocabulary, tokenizer=SimpleNamespace(name="mecab"))
    known = Data("nsmc", {}, prepared, spelling=spelled or None)  # type: ignore[arg-type]
    model = SimpleNamespace(embedding=SimpleNamespace(token=table) if spelled else table)
    trained = WordVectors(["영화", "배우"], "mecab", np.array([[1, 2, 3], [4, 5, 6]], np.float32), "")
    begin_with(model, variant(), known, trained)  # type: ignore[arg-type]
    drawn = [0.5] * 3
    assert table.weight.data().asnumpy().tolist() == [drawn, drawn, [4, 5, 6], drawn, [1, 2, 3]]
    narrow = WordVectors(["영화"], "mecab", np.ones((1, 2), np.float32), "")
    with pytest.raises(UsageError, match="embeddings of 3 units cannot begin with vectors of 2; make them equal"):
        begin_with(model, variant(), known, narrow)  # type: ignore[arg-type]


# --- what a network reads ---


def test_the_network_of_the_post_reads_a_fixed_length_and_no_lengths() -> None:
    (padded,) = inputs(variant("as written"), ids([7, 8], [], [2, 3, 4, 5, 6, 7, 8]))
    assert padded.tolist() == [
        [7, 8, PADDING_ID, PADDING_ID, PADDING_ID],
        [UNKNOWN_ID, PADDING_ID, PADDING_ID, PADDING_ID, PADDING_ID],
        [2, 3, 4, 5, 6],
    ]


def test_other_networks_read_padding_to_a_multiple_of_four_and_the_lengths() -> None:
    padded, lengths = inputs(variant(), ids([7, 8], [], [2, 3, 4, 5, 6, 7, 8]))
    assert padded.shape == (3, 8) and padded.dtype == np.int32
    assert lengths.tolist() == [2, 1, 5] and lengths.dtype == np.float32
    assert padded[2].tolist() == [2, 3, 4, 5, 6, PADDING_ID, PADDING_ID, PADDING_ID]


@pytest.mark.parametrize("model", ["as written", "masked"])
def test_an_epoch_reads_every_review_once_with_its_label(model: str) -> None:
    rows = ids([2], [3, 3], [4, 4, 4], [5], [6, 6], [7], [8, 8, 8, 8])
    train = split(rows, [0, 1, 0, 1, 0, 1, 0])
    made = task(variant(model), data(train=train, validation=train))
    batches = list(made.batches(np.random.RandomState(1)))
    assert made.steps == len(batches) == 3
    read = sorted(
        (int(batch.inputs[0][row, 0]), int(label)) for batch in batches for row, label in enumerate(batch.target)
    )
    assert read == [(int(row[0]), int(label)) for row, label in zip(rows, train.label, strict=True)]
    again, other = (list(made.batches(np.random.RandomState(seed))) for seed in (1, 2))
    assert all((one.inputs[0] == two.inputs[0]).all() for one, two in zip(batches, again, strict=True))
    assert any(
        one.inputs[0].shape != two.inputs[0].shape or (one.inputs[0] != two.inputs[0]).any()
        for one, two in zip(batches, other, strict=True)
    )


def test_tokens_that_come_with_their_syllables_are_padded_as_rows() -> None:
    """An empty review is one unknown token without syllables."""
    padded, lengths = inputs(variant(), [np.array([[7, 3], [8, 4]], np.int32), np.zeros((0, 2), np.int32)])
    assert padded.dtype == np.int32 and lengths.tolist() == [2, 1]
    nothing = [PADDING_ID, PADDING_ID]
    assert padded.tolist() == [
        [[7, 3], [8, 4], nothing, nothing],
        [[UNKNOWN_ID, PADDING_ID], nothing, nothing, nothing],
    ]


def test_half_of_the_dropped_tokens_lose_their_syllables_too() -> None:
    tokens = np.tile(np.array([7, 3, 4], np.int32), (10_000, 1))
    [dropped] = drop_tokens([tokens], 0.2, np.random.RandomState(0))
    kinds, counts = np.unique(dropped, axis=0, return_counts=True)
    assert kinds.tolist() == [[UNKNOWN_ID, PADDING_ID, PADDING_ID], [UNKNOWN_ID, 3, 4], [7, 3, 4]]
    np.testing.assert_allclose(counts / 10_000, [0.1, 0.1, 0.8], atol=4 * np.sqrt(0.16 / 10_000))
    assert (tokens == [7, 3, 4]).all()  # the corpus itself stays as it is


def test_dropped_tokens_are_unknown_as_often_as_asked_and_nothing_else_changes() -> None:
    rows = [np.full(1_000, 7), np.full(9_000, 9)]
    dropped = drop_tokens(rows, 0.15, np.random.RandomState(0))
    assert [set(row.tolist()) for row in dropped] == [{UNKNOWN_ID, 7}, {UNKNOWN_ID, 9}]
    share = np.mean(np.concatenate(dropped) == UNKNOWN_ID)
    assert share == pytest.approx(0.15, abs=4 * np.sqrt(0.15 * 0.85 / 10_000))
    assert drop_tokens(rows, 0.0, np.random.RandomState(0)) is rows


# --- what it answers ---


class Counting:
    """Not a network: the logit of "positive" is the first id, and each token's weight is its id over the sum."""

    def __init__(self, *, attention: str) -> None:
        self.attention = attention

    def __call__(self, padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        assert padded.dtype == np.int32
        first = padded[:, 0].astype("float32")
        logits = nd.stack(nd.zeros_like(first), first - 5, axis=1)
        values = padded.asnumpy() * (np.arange(padded.shape[1]) < lengths.asnumpy()[:, None])
        weights = values / np.maximum(values.sum(axis=1, keepdims=True), 1)
        if self.attention == "matrix":
            length = padded.shape[1]
            matrix = np.repeat(weights[:, None], length, axis=1) * (1 + np.arange(length))[:, None]
            return ClassifierOutput(logits, matrix=nd.array(matrix))
        return ClassifierOutput(logits, weights=nd.array(weights) if self.attention == "vector" else None)


REVIEWS = ids([2, 6], [9], [], [4, 1, 1, 1, 3, 3, 3], [8, 8])


def test_answers_come_back_in_the_order_of_the_reviews() -> None:
    read = classify(Counting(attention="vector"), variant(), REVIEWS)
    expected = 1 / (1 + np.exp(5 - np.array([2, 9, UNKNOWN_ID, 4, 8])))
    np.testing.assert_allclose(read.probability, expected, rtol=1e-5)
    for weights, wanted in zip(
        read.token_weights, [[0.25, 0.75], [1], [], [0.4, 0.1, 0.1, 0.1, 0.3], [0.5, 0.5]], strict=True
    ):
        np.testing.assert_allclose(weights, wanted, rtol=1e-6)


def test_the_weight_of_a_token_is_its_mean_over_the_queries_of_the_review_alone() -> None:
    read = classify(Counting(attention="matrix"), variant(), REVIEWS, matrices=True)
    np.testing.assert_allclose(read.matrices[0], [[0.25, 0.75], [0.5, 1.5]], rtol=1e-6)
    np.testing.assert_allclose(read.token_weights[0], [0.375, 1.125], rtol=1e-6)
    assert [matrix.shape for matrix in read.matrices] == [(2, 2), (1, 1), (0, 0), (5, 5), (2, 2)]
    assert read.token_weights[2].shape == (0,)


def test_without_attention_there_are_no_weights() -> None:
    read = classify(Counting(attention=""), variant(), REVIEWS, matrices=True)
    assert [len(weights) for weights in read.token_weights] == [0] * 5
    assert read.probability.min() > 0


def test_scores_are_accuracy_and_cross_entropy() -> None:
    read = classify(Counting(attention=""), variant(), ids([9], [2], [4], [8]))
    found = scores(read, data(validation=split(ids([9], [2], [4], [8]), [1, 0, 1, 0])), "validation")
    probability = 1 / (1 + np.exp(5 - np.array([9, 2, 4, 8])))
    right = np.array([probability[0], 1 - probability[1], probability[2], 1 - probability[3]])
    assert found["accuracy"] == 50.0
    assert found["loss"] == pytest.approx(-np.log(right).mean(), rel=1e-5)


# --- trained networks ---


def test_a_network_trained_on_other_data_is_not_loaded(tmp_path: Path) -> None:
    trained = outcome(tmp_path, "mean", 1, {})
    with pytest.raises(
        UsageError, match="seed-1: trained on other data than the sample corpus gives now; run it again"
    ):
        load(trained.unit)


def test_a_network_that_is_not_trained_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not trained to its end"):
        load(Unit(PAPER, "smoke", "mean", 1, "portable", None, tmp_path))


def test_a_checkpoint_of_another_network_is_not_loaded(tmp_path: Path) -> None:
    """The settings were changed after the training, in a way that leaves the preprocessing alone; or the code was."""
    from gluon_attn.training import checkpoint

    smoke = preset(PAPER, "smoke")
    settings = dict(smoke.variant("mean").settings)
    digest = script(PAPER).prepare(smoke, smoke.variant("mean")).digest
    trained = outcome(tmp_path, "mean", 1, {}, pipeline=digest)
    config = trained.unit.directory / "config.json"
    config.write_text(json.dumps({"settings": {**settings, "units": settings["units"] + 1}}), encoding="utf-8")
    with pytest.raises(UsageError, match="trained with other settings than mean has now; run it again"):
        load(trained.unit)
    config.write_text(json.dumps({"settings": settings}), encoding="utf-8")
    checkpoint.save(trained.unit.directory / "checkpoint.npz", {"best": {"embedding.weight": np.zeros((3, 2))}}, {})
    with pytest.raises(UsageError, match="parameters belong to another model"):
        load(trained.unit)


# --- documents, more classes, a penalty ---

DOCUMENTS = [ids([7, 8], [9]), [], ids([2, 3, 4])]


def test_documents_are_read_by_sentence_and_an_empty_one_as_one_unknown_word() -> None:
    padded, counts, words = inputs(variant("hierarchical"), DOCUMENTS)
    assert padded.tolist() == [
        [[7, 8, PADDING_ID], [9, PADDING_ID, PADDING_ID]],
        [[UNKNOWN_ID, PADDING_ID, PADDING_ID], [PADDING_ID] * 3],
        [[2, 3, 4], [PADDING_ID] * 3],
    ]
    assert counts.tolist() == [2, 1, 1] and words.tolist() == [[2, 1], [1, 0], [3, 0]]
    assert padded.dtype == counts.dtype == words.dtype == np.int32


def test_dropped_words_of_documents_leave_the_sentences_as_they_are() -> None:
    documents = [[np.full(4_000, 7), np.full(6_000, 9)]]
    [dropped] = drop_tokens(documents, 0.15, np.random.RandomState(0))
    assert [set(sentence.tolist()) for sentence in dropped] == [{UNKNOWN_ID, 7}, {UNKNOWN_ID, 9}]
    assert np.mean(np.concatenate(dropped) == UNKNOWN_ID) == pytest.approx(0.15, abs=0.015)
    assert set(documents[0][0].tolist()) == {7}


def test_the_weight_of_a_word_of_a_document_is_that_in_its_sentence_times_that_of_the_sentence() -> None:
    def model(padded: nd.NDArray, counts: nd.NDArray, words: nd.NDArray) -> ClassifierOutput:
        real = np.arange(padded.shape[2]) < words.asnumpy()[:, :, None]
        of_words = padded.asnumpy() * real / np.maximum(1, (padded.asnumpy() * real).sum(axis=2, keepdims=True))
        of_sentences = words.asnumpy() / words.asnumpy().sum(axis=1, keepdims=True)
        logits = nd.zeros((len(padded), 3))
        return ClassifierOutput(logits, word_weights=nd.array(of_words), sentence_weights=nd.array(of_sentences))

    read = classify(model, variant("hierarchical"), DOCUMENTS)  # type: ignore[arg-type]
    np.testing.assert_allclose(read.token_weights[0], [2 / 3 * 7 / 15, 2 / 3 * 8 / 15, 1 / 3], rtol=1e-6)
    np.testing.assert_allclose(read.token_weights[2], [2 / 9, 3 / 9, 4 / 9], rtol=1e-6)
    assert [len(weights) for weights in read.token_weights] == [3, 0, 3]
    assert [np.round(weights * 3).tolist() for weights in read.sentence_weights] == [[2, 1], [], [3]]
    np.testing.assert_allclose(read.probabilities, 1 / 3, rtol=1e-6)


def test_hops_of_a_short_text_are_all_kept() -> None:
    def model(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        hops = nd.ones((len(padded), 3, padded.shape[1])) / padded.shape[1]
        return ClassifierOutput(nd.zeros((len(padded), 2)), hops=hops, penalty=nd.zeros((len(padded),)))

    read = classify(model, variant("structured", hops=3), ids([4, 5], [6]), matrices=True)  # type: ignore[arg-type]
    assert [matrix.shape for matrix in read.matrices] == [(3, 2), (3, 1)]
    np.testing.assert_allclose(read.token_weights[0], [0.25, 0.25])


def test_scores_of_several_classes() -> None:
    probabilities = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    read = Read(probabilities, [], [], [])
    found = scores(read, data(test=split(ids([2], [3]), [0, 1])), "test")
    assert found["accuracy"] == 50.0
    assert found["loss"] == pytest.approx(-(np.log(0.5) + np.log(0.2)) / 2)


def test_the_penalty_is_a_part_of_the_loss() -> None:
    made = data(train=split(ids([2], [3]), [0, 1]), validation=split(ids([2]), [0]))
    output = ClassifierOutput(nd.zeros((2, 2)), hops=nd.ones((2, 3, 1)), penalty=nd.array([4.0, 8.0]))
    plain, with_it = (
        task(variant("structured", penalty=part), made).loss(output, nd.array([0, 1])) for part in (0, 0.5)
    )
    np.testing.assert_allclose(with_it.asnumpy() - plain.asnumpy(), [2.0, 4.0], rtol=1e-6)
    np.testing.assert_allclose(plain.asnumpy(), np.log(2), rtol=1e-5)


def test_a_corpus_is_prepared_as_its_settings_say_and_on_the_sample_by_its_part() -> None:
    chosen = Preset("smoke", "sample", (1,), (), ())
    five = prepare(chosen, variant("structured", corpus="sst-5", min_freq=1))
    assert five.labels[2] == "neutral" and five.prepared.train.label.max() == 4 and five.corpus == "sample"
    read = prepare(chosen, variant("hierarchical", corpus="imdb", min_freq=1))
    train = read.prepared.train
    texts = read.texts(train)
    assert [len(text) for text in texts] == train.sentence_lengths.lengths.tolist()
    assert np.concatenate(texts[0]).tolist() == train.sequences()[0].tolist()
