"""Batches for pretraining, initialisation from a pretrained network, and a network that learns."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from mxnet import init, nd

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.models.outputs import PretrainingOutput
from gluon_attn.training.checkpoint import parameter_arrays
from gluon_attn.training.loop import fit
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from preprocessing.text.masking import Masking
from preprocessing.text.pairs import films, pair_rows
from preprocessing.text.vocabulary import CLASSIFY_ID, MASK_ID, MASKED_SPECIALS, PADDING_ID, SEPARATOR_ID
from reproductions.protocol.task import AnswerOptions, TrainedModel, Variant
from reproductions.tasks.pretraining.batches import PairBatch, ReviewPairs, share_of_pairs
from reproductions.tasks.pretraining.bert_settings import BertSettings, PretrainingData, PretrainingSettings
from reproductions.tasks.pretraining.fine_tuning import FineTuning
from reproductions.tasks.pretraining.task import Pretraining, likeliest, measure

SIZES: dict[str, Any] = {"pieces": 800, "units": 16, "layers": 1, "heads": 2, "hidden_units": 32, "length": 128}
SIZES |= {"pretraining_length": 60, "dropout": 0.0}
SETTINGS = PretrainingSettings(**SIZES, steps=12, whole_words=True)
RECIPE = Recipe(epochs=3, batch_size=1, batch_tokens=512, learning_rate=1e-2)
TASK = Pretraining()


@pytest.fixture(scope="module")
def data() -> PretrainingData:
    return TASK.prepare(SETTINGS, sample=True)


def one_pass(data: PretrainingData, masking: Masking | None, seed: int = 1) -> list[PairBatch]:
    pairs = ReviewPairs(data.prepared.train, data.prepared.vocabulary, masking, 512)
    return list(pairs.one_pass(np.random.RandomState(seed)))


def test_every_review_is_in_one_pair_with_its_special_tokens(data: PretrainingData) -> None:
    reviews = {tuple(ids) for ids in map(np.ndarray.tolist, data.prepared.train.sequences())}
    read = []
    for batch in one_pass(data, Masking(rate=0.0)):
        ids, segments, lengths, *_ = batch.inputs
        assert ids.size <= 512 or len(ids) == 1
        for row, segment, length in zip(ids, segments, lengths.astype(int), strict=True):
            assert row[0] == CLASSIFY_ID and row[length - 1] == SEPARATOR_ID and (row[length:] == PADDING_ID).all()
            (middle,) = np.flatnonzero(row[: length - 1] == SEPARATOR_ID)
            assert segment.tolist() == [0] * (middle + 1) + [1] * (length - middle - 1) + [0] * (len(row) - length)
            read += [tuple(row[1:middle].tolist()), tuple(row[middle + 1 : length - 1].tolist())]
    assert len(read) == len(data.prepared.train) // 2 * 2 and set(read) <= reviews


def test_masked_pieces_are_predicted_where_they_were(data: PretrainingData) -> None:
    plain = one_pass(data, Masking(rate=0.0))
    masked = one_pass(data, Masking(rate=0.3))
    share = []
    for batch, original in zip(masked, plain, strict=True):
        ids, _, _, places, targets, _ = batch.inputs
        counted = batch.counts
        columns, rows = np.divmod(places[counted], len(ids))
        assert (rows == batch.rows[counted]).all()
        np.testing.assert_array_equal(original.inputs[0][rows, columns], targets[counted])
        changed = np.argwhere(ids != original.inputs[0])
        assert {tuple(each) for each in changed.tolist()} <= set(zip(rows.tolist(), columns.tolist(), strict=True))
        share.append((ids[rows, columns] == MASK_ID).mean())
        weights = batch.training.target
        assert weights.sum() == pytest.approx(1, abs=1e-5) and (weights[~counted] == 0).all()
    assert np.mean(share) == pytest.approx(0.8, abs=0.05)


def test_each_pass_masks_and_pairs_again_and_a_seed_repeats_it(data: PretrainingData) -> None:
    first, again, other = (one_pass(data, Masking(), seed) for seed in (1, 1, 2))
    for one, same in zip(first, again, strict=True):
        for array, copy in zip(one.inputs, same.inputs, strict=True):
            np.testing.assert_array_equal(array, copy)
    assert any(
        one.inputs[0].shape != two.inputs[0].shape or (one.inputs[0] != two.inputs[0]).any()
        for one, two in zip(first, other, strict=False)
    )


def test_the_state_before_predicts_the_next_piece(data: PretrainingData) -> None:
    for batch in one_pass(data, None)[:5]:
        ids, _, lengths, places, targets, _ = batch.inputs
        columns, rows = np.divmod(places[batch.counts], len(ids))
        np.testing.assert_array_equal(ids[rows, columns + 1], targets[batch.counts])
        assert batch.counts.sum() == (lengths - 1).sum()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shares", [2, 3, 40])
def test_shares_have_each_pair_and_each_prediction_once(data: PretrainingData, shares: int, causal: bool) -> None:
    """Also where there are more shares than pairs."""
    batch = one_pass(data, None if causal else Masking())[3]
    whole, ids = batch.training, batch.inputs[0]
    parts = [share_of_pairs(whole, number, shares) for number in range(shares)]
    counted = [part for part in parts if part.weight]
    assert len(counted) == min(shares, len(ids)) and sum(part.weight for part in parts) == pytest.approx(1.0)
    for index in (0, 1, 2, 5):
        parted = np.concatenate([part.batch.inputs[index] for part in counted])
        np.testing.assert_array_equal(parted, batch.inputs[index])
    total, read = 0.0, []
    for part in counted:
        own, places, targets = (part.batch.inputs[index] for index in (0, 3, 4))
        real = part.batch.target > 0
        columns, rows = np.divmod(places[real], len(own))
        read += list(zip(map(tuple, own[rows]), columns, targets[real], strict=True))
        total += part.weight * part.batch.target.sum()
    columns, rows = np.divmod(batch.inputs[3][batch.counts], len(ids))
    assert sorted(read) == sorted(zip(map(tuple, ids[rows]), columns, batch.inputs[4][batch.counts], strict=True))
    assert total == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("changed", [{}, {"pairs": False}, {"pairs": False, "causal": True}])
def test_micro_batches_train_as_a_batch_at_once(data: PretrainingData, changed: dict[str, Any], tmp_path: Path) -> None:
    """By gradient descent: Adam would enlarge the rounding errors of gradients that are zero, those of key biases."""
    recipe = replace(RECIPE, epochs=1, optimizer="sgd", learning_rate=0.5)
    settings = replace(SETTINGS, steps=4, **changed)
    trained = []
    for count in (1, 3):
        runtime.seed_all(1)
        model = settings.build(data)
        model.initialize(init.Xavier())
        folder = RunDirectory(tmp_path / str(count), {})
        objective = TASK.objective(settings, recipe, data)
        history = fit(model, objective, recipe, folder, seed=1, micro_batches=count).history
        trained.append((parameter_arrays(model), history[0]["train_loss"]))
    (at_once, loss), (in_micro_batches, same_loss) = trained
    assert loss == pytest.approx(same_loss, rel=1e-5)
    assert max(float(np.abs(at_once[name] - in_micro_batches[name]).max()) for name in at_once) < 1e-5


def test_before_training_pieces_are_as_likely_as_they_are_frequent(data: PretrainingData) -> None:
    model = SETTINGS.build(data)
    SETTINGS.initialize(model, data)
    ids = np.concatenate([np.asarray(row) for row in data.prepared.train.sequences()])
    counts = np.array([1 + np.count_nonzero(ids == piece) for piece in range(data.vocabulary_size)])
    np.testing.assert_allclose(nd.softmax(model.bias.data()).asnumpy(), counts / counts.sum(), rtol=1e-4)
    frequencies = np.log(counts / counts.sum())
    predicted = measure(model, SETTINGS, data, data.prepared.validation).likelihood.sum(axis=0)
    assert predicted[0] / predicted[1] == pytest.approx(-frequencies[ids].mean(), rel=0.15)


@pytest.fixture(scope="module")
def trained(data: PretrainingData, tmp_path_factory: pytest.TempPathFactory) -> TrainedModel[Any, Any]:
    runtime.seed_all(1)
    model = SETTINGS.build(data)
    SETTINGS.initialize(model, data)
    model.hybridize()
    folder = RunDirectory(tmp_path_factory.mktemp("run"), {}, resume=False, overwrite=True)
    history = fit(model, TASK.objective(SETTINGS, RECIPE, data), RECIPE, folder, seed=1).history
    first, *_, last = [epoch["validation_perplexity"] for epoch in history]
    assert last < first < 0.5 * len(data.prepared.vocabulary)
    return TrainedModel(model, Variant("tiny", "", SETTINGS, RECIPE, TASK), TASK, data, "")


def test_a_classifier_starts_from_the_pretrained_encoder(trained: TrainedModel[Any, Any]) -> None:
    task, settings = FineTuning(), BertSettings(**SIZES)
    data = task.prepare(settings, sample=True)
    given = parameter_arrays(trained.model)
    for pooling in ("first", "lstm"):
        model = replace(settings, pooling=pooling).build(data)
        model.initialize(init.Xavier())
        task.initialize(model, data, trained)
        own = parameter_arrays(model)
        shared = own.keys() & given.keys()
        assert {name for name in own if name.startswith("bert.")} <= shared
        assert ("pooler.weight" in shared) == (pooling == "first")
        for name in shared:
            np.testing.assert_array_equal(own[name], given[name])


def test_pretraining_continues_from_all_parameters_of_a_network(
    data: PretrainingData, trained: TrainedModel[Any, Any]
) -> None:
    model = SETTINGS.build(data)
    SETTINGS.initialize(model, data)
    before, expected = (measure(each, SETTINGS, data, data.prepared.validation) for each in (model, trained.model))
    TASK.initialize(model, data, trained)
    again = measure(model, SETTINGS, data, data.prepared.validation)
    np.testing.assert_allclose(again.likelihood, expected.likelihood, rtol=1e-5)
    np.testing.assert_array_equal(again.told, expected.told)
    assert again.likelihood.sum() < before.likelihood.sum()
    other = replace(SETTINGS, hidden_units=64).build(data)
    other.initialize(init.Xavier())
    with pytest.raises(UsageError, match="give both the same sizes"):
        TASK.initialize(other, data, trained)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"layers": 2}, "tiny: its encoder is not that of this network"),
        ({"hidden_units": 64}, r"has shape \(32,\), here \(64,\); give both the same sizes"),
        ({"pieces": 700}, "tiny: pretrained with another vocabulary"),
    ],
)
def test_another_encoder_is_refused(trained: TrainedModel[Any, Any], changed: dict[str, Any], reason: str) -> None:
    task, settings = FineTuning(), replace(BertSettings(**SIZES), **changed)
    data = task.prepare(settings, sample=True)
    model = settings.build(data)
    model.initialize(init.Xavier())
    before = parameter_arrays(model)
    with pytest.raises(UsageError, match=reason):
        task.initialize(model, data, trained)
    for name, array in parameter_arrays(model).items():
        np.testing.assert_array_equal(array, before[name])


def test_lines_have_a_perplexity(trained: TrainedModel[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.BytesIO("이야기가 참 좋았다\n\n".encode())
    first, blank = TASK.answer(trained, stream, AnswerOptions())
    assert 1 < float(first) < 2000 and blank == ""
    assert capsys.readouterr().err == ""
    list(TASK.answer(trained, io.BytesIO(("가나 다라 " * 60).encode()), AnswerOptions()))
    assert "line 1: " in capsys.readouterr().err, "that only its first pieces are read"
    with pytest.raises(UsageError, match="tiny: shows no weights here"):
        list(TASK.answer(trained, io.BytesIO(b"a\n"), AnswerOptions(weights=True)))


@pytest.mark.parametrize(
    ("text", "answered", "note"),
    [
        ("𓀀𓀀𓀀", True, "line 1: unknown to the vocabulary: 1 of 2 pieces (3 characters); read and predicted as <unk>\n"),
        (
            "영𓀀화",
            True,
            "line 1: unknown to the vocabulary: 1 of 4 pieces (1 character); read and predicted as <unk>\n",
        ),
        ("\u200b\x01", False, "line 1: has no pieces, and so no perplexity\n"),
        ("  ", False, ""),
    ],
)
def test_what_a_network_cannot_read_is_told(
    trained: TrainedModel[Any, Any], text: str, answered: bool, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (answer,) = TASK.answer(trained, io.BytesIO(f"{text}\n".encode()), AnswerOptions())
    assert bool(answer) == answered and capsys.readouterr().err == note


def test_unknown_pieces_that_are_not_read_are_not_counted(
    trained: TrainedModel[Any, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    list(TASK.answer(trained, io.BytesIO(("가나 다라 " * 60 + "𓀀").encode()), AnswerOptions()))
    assert "unknown" not in capsys.readouterr().err


def test_the_likeliest_pieces_for_each_mask(trained: TrainedModel[Any, Any]) -> None:
    example = likeliest(trained.model, trained.data, "이야기가 참 좋았다")
    assert len(example["tokens"]) == len(example["probability"]) == len(example["predicted"])
    for best in example["predicted"]:
        p = [probability for _, probability in best]
        assert len(best) == 5 and p == sorted(p, reverse=True) and not any(token.startswith("<") for token, _ in best)


def test_a_page_gets_all_heads_over_a_text_with_its_special_tokens(trained: TrainedModel[Any, Any]) -> None:
    view = TASK.attention_of(trained, "이야기가 참 좋았다")
    (heads,) = view.heads
    assert list(heads.rows) == list(heads.columns) == ["<cls>", *view.tokens, "<sep>"]
    assert heads.weights.shape == (1, 2, len(heads.rows), len(heads.rows)) and view.weights is None
    np.testing.assert_allclose(heads.weights.sum(axis=-1), 1.0, rtol=1e-5)
    (alone,) = TASK.attention_of(trained, "이야기가").heads
    assert list(alone.rows) == [*heads.rows[: len(alone.rows) - 1], "<sep>"]
    assert np.abs(alone.weights - heads.weights[:, :, : len(alone.rows), : len(alone.rows)]).max() > 1e-3
    with pytest.raises(UsageError, match="no token in this text"):
        TASK.attention_of(trained, " ")


def test_a_long_text_has_no_heads_and_a_note_says_so(trained: TrainedModel[Any, Any]) -> None:
    view = TASK.attention_of(trained, "영화 " * 80)
    assert len(view.tokens) == 60 and not view.heads
    assert [note.partition(",")[0] for note in view.notes] == [
        "80 tokens",
        "Heads are shown for texts of up to 58 pieces.",
    ]


def test_a_fine_tuned_network_shows_its_heads_too() -> None:
    task, settings = FineTuning(), BertSettings(**SIZES)
    data = task.prepare(settings, sample=True)
    model = settings.build(data)
    settings.initialize(model, data)
    view = task.attention_of(TrainedModel(model, Variant("b", "", settings, RECIPE, task), task, data, ""), "참 좋았다")
    assert view.classes and view.weights is not None
    assert view.heads[0].weights.shape == (1, 2, len(view.tokens) + 2, len(view.tokens) + 2)


def test_what_is_saved_restores_the_vocabulary(trained: TrainedModel[Any, Any], tmp_path: Path) -> None:
    TASK.save(SETTINGS, trained.data, tmp_path / "saved.npz")
    restored = TASK.restore(SETTINGS, tmp_path / "saved.npz", sample=True)
    assert restored.prepared.vocabulary == trained.data.prepared.vocabulary and restored.digest == trained.data.digest


def test_left_to_right_the_perplexity_of_a_line_is_that_of_each_next_piece(data: PretrainingData) -> None:
    """Each piece is predicted from the beginning of the text alone, one at a time."""
    settings = replace(SETTINGS, pairs=False, causal=True)
    runtime.seed_all(1)
    model = settings.build(data)
    model.initialize(init.Normal(0.5))
    text = "정말 재미있는 영화"
    ids = data.prepared.encode([text], processes=1).ids
    nats = []
    for count, piece in enumerate(ids.tolist()):
        read = np.array([[CLASSIFY_ID, *ids[:count]]], np.int32)
        arrays = read, np.zeros_like(read), np.full(1, count + 1, np.float32), np.array([count], np.int32)
        p = model.predict(*(nd.array(array, dtype=array.dtype) for array in arrays)).asnumpy()[0]
        nats.append(-np.log(p[piece]))
    network: TrainedModel[Any, Any] = TrainedModel(model, Variant("tiny", "", settings, RECIPE, TASK), TASK, data, "")
    (answer,) = TASK.answer(network, io.BytesIO(f"{text}\n".encode()), AnswerOptions())
    assert len(ids) > 3 and float(answer) == pytest.approx(np.exp(np.mean(nats)), rel=1e-3)


class Stub:
    """Predicts that every two reviews are of one film; of pieces, that all are equally likely."""

    def __init__(self, vocabulary: int = 0) -> None:
        self.vocabulary = vocabulary

    def __call__(self, ids: nd.NDArray, *rest: nd.NDArray) -> PretrainingOutput:
        places = rest[2]
        pairs = nd.array([[0.0, 1.0]] * len(ids)) if len(rest) > 4 else None
        return PretrainingOutput(nd.ones(places.shape), None if pairs is None else nd.zeros((len(ids),)), pairs)

    def predict(self, read: nd.NDArray, segments: nd.NDArray, lengths: nd.NDArray, places: nd.NDArray) -> nd.NDArray:
        columns, rows = np.divmod(places.asnumpy().astype(int), len(read))
        assert (read.asnumpy()[rows, columns] == MASK_ID).all(), "the predicted piece is the masked one"
        return nd.full((len(rows), self.vocabulary), 1 / self.vocabulary)


@pytest.mark.parametrize("causal", [False, True])
def test_a_pair_has_its_own_pieces_and_its_own_answer(causal: bool) -> None:
    data = TASK.prepare(SETTINGS, sample=True)
    settings, split = replace(SETTINGS, causal=causal, pairs=not causal), data.prepared.validation
    measured = measure(cast(Any, Stub()), settings, data, split)
    generator = np.random.RandomState(1)
    generator.randint(0, 2**31, 2)  # the key of the masks
    pairs = pair_rows(films(split.row_id), generator)
    assert len(measured.likelihood) == len(pairs.first) == len(split) // 2
    assert len(set(pairs.together.tolist())) == 2, "there are pairs of one film and of two"
    np.testing.assert_array_equal(measured.likelihood[:, 0], measured.likelihood[:, 1])  # each piece costs one nat
    if causal:
        pieces = split.lengths[pairs.first] + split.lengths[pairs.second] + 2  # and the ends of both reviews
        np.testing.assert_array_equal(measured.likelihood[:, 1], pieces)
    else:
        np.testing.assert_array_equal(measured.told, pairs.together)


def test_special_tokens_are_never_among_the_likeliest_pieces() -> None:
    """And each piece is predicted where it is masked: see the stub."""
    data = TASK.prepare(SETTINGS, sample=True)
    vocabulary = data.prepared.vocabulary
    example = likeliest(cast(Any, Stub(len(vocabulary))), data, "이야기가 참 좋았다")
    first = vocabulary.idx_to_token[len(MASKED_SPECIALS) : len(MASKED_SPECIALS) + 5]
    assert [[token for token, _ in each] for each in example["predicted"]] == [first] * len(example["tokens"])
