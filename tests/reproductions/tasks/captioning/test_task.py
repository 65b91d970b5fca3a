"""Captions of the embedded drawings, with made-up features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from mxnet import init, nd

from gluon_attn import runtime
from gluon_attn.models.efficientnet import CLASSES, LAST, MIDDLE
from gluon_attn.models.encoder_decoder import EncoderDecoder
from preprocessing.flickr8k import CaptionResult
from preprocessing.text.vocabulary import END_ID, PADDING_ID, UNKNOWN_ID
from reproductions.tasks.captioning import decoding, image_features, task as captioning
from reproductions.tasks.captioning.data import SHAPES, CaptionData
from reproductions.tasks.captioning.decoding import Caption, caption_images, image_of_row, likelihoods
from reproductions.tasks.captioning.image_features import Features
from reproductions.xu2015 import REPRODUCTION

SMOKE = REPRODUCTION.preset("smoke")


VARIANT, TASK = SMOKE.variant("soft"), SMOKE.task("soft")


@pytest.fixture
def data() -> CaptionData:
    """The features of an image are its number in its split."""
    prepared = TASK.prepare(VARIANT.settings, sample=True)
    for split in ("train", "validation", "test"):
        names = prepared.prepared.images(split).names
        numbers = np.arange(len(names), dtype=np.float16)[:, None, None]
        prepared._features[split] = Features(names, (np.tile(numbers, (1, 4, 3)),))
    return prepared


def number_for_each_word(features: nd.NDArray, _: nd.NDArray, begun: nd.NDArray, ended: nd.NDArray) -> Any:
    """A stub: each word and each end costs as many nats as the number of the image, and one."""
    cost = 1 + features.asnumpy().mean(axis=(1, 2))
    real = ended.asnumpy() != PADDING_ID
    assert ((ended.asnumpy() == END_ID).sum(axis=1) == 1).all()
    return SimpleNamespace(nll=nd.array(real * cost[:, None]))


def test_a_caption_is_as_likely_as_its_own_image_makes_it(data: CaptionData) -> None:
    captions = data.prepared.splits["test"]
    measured = likelihoods(cast(Any, number_for_each_word), data, "test")
    np.testing.assert_array_equal(measured[:, 1], captions.lengths + 1)  # with the end
    images = data.prepared.images("test")
    assert len(images.names) > 1
    for number, rows in enumerate(images.rows):
        np.testing.assert_array_equal(measured[rows, 0], (1 + number) * (captions.lengths[rows] + 1))


@pytest.fixture
def random_attention(data: CaptionData, monkeypatch: pytest.MonkeyPatch) -> EncoderDecoder:
    """An untrained network with random attention, and features of the test images that differ between positions."""
    names = data.prepared.images("test").names
    values = np.random.RandomState(1).normal(size=(len(names), 4, 3)).astype(np.float16)
    data._features["test"] = Features(names, (values,))
    monkeypatch.setitem(SHAPES, VARIANT.settings.grid, (4, 3))
    monkeypatch.setattr(decoding, "LONGEST", 3)
    runtime.seed_all(3)
    network = SMOKE.variant("random").settings.build(data)
    network.initialize(init.Normal(1.0))
    return network


def test_random_attention_draws_the_same_for_captions_whatever_was_drawn_before(
    data: CaptionData, random_attention: EncoderDecoder
) -> None:
    made = []
    for seed in (1, 2):
        runtime.seed_all(seed)
        captions = caption_images(random_attention, data.prepared.vocabulary, data.features("test"), beam=2)
        made.append([(caption.words, caption.log_p, np.asarray(caption.weights).tolist()) for caption in captions])
    assert made[0] == made[1]


def test_random_attention_draws_the_same_for_likelihoods_whatever_was_drawn_before(
    data: CaptionData, random_attention: EncoderDecoder
) -> None:
    measured = []
    for seed in (1, 2):
        runtime.seed_all(seed)
        measured.append(likelihoods(random_attention, data, "test"))
    np.testing.assert_array_equal(*measured)


def test_nouns_are_shown_by_the_last_features_of_the_test_images(
    data: CaptionData, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A classifier for which the images of test show all classes on their last grid, and other features none."""

    def of_split(prepared: CaptionResult, split: str, grid: str) -> Features:
        names = prepared.images(split).names
        return Features(names, (np.full((len(names), 49, 1), (split, grid) == ("test", LAST), np.float16),))

    def write(model: Any, vocabulary: Any, features: Features, **search: Any) -> list[Caption]:
        return [Caption(["a", "horse"], 0.0, np.full((3, 196), 1 / 196)) for _ in features.names]

    monkeypatch.setattr(captioning, "caption_images", write)
    monkeypatch.setattr(image_features, "of_split", of_split)
    every_class = SimpleNamespace(classify=lambda pooled: np.tile(pooled, CLASSES))
    monkeypatch.setattr(image_features, "network", lambda: every_class)
    settings = replace(VARIANT.settings, grid=MIDDLE)
    evaluation = TASK.evaluate(cast(Any, number_for_each_word), settings, data, cast(Any, None))
    np.testing.assert_allclose(evaluation.predictions["nouns"], 1.0, rtol=1e-3)
    assert evaluation.predictions["nouns"].shape == (len(data.prepared.images("test").names), 4)


def test_captions_that_are_too_long_or_empty_are_not_trained_on(data: CaptionData) -> None:
    train = data.prepared.splits["train"]
    longest = int(np.median(train.lengths))
    assert (train.lengths > longest).any()
    objective = TASK.objective(replace(VARIANT.settings, longest=longest), VARIANT.recipe, data)
    batches = list(objective.batches(np.random.RandomState(1)))
    kept = train.lengths[(train.lengths > 0) & (train.lengths <= longest)]
    assert sum(float(batch.target[0]) for batch in batches) == kept.sum() + len(kept)
    assert sum(len(batch.inputs[0]) for batch in batches) == len(kept) and len(batches) == objective.steps
    numbers = np.concatenate([batch.inputs[0].mean(axis=(1, 2)) for batch in batches])
    of_kept = image_of_row(data, "train")[(train.lengths > 0) & (train.lengths <= longest)]
    assert sorted(numbers.tolist()) == sorted(of_kept.tolist())


def test_validation_is_greedy_and_test_is_searched_as_set_without_the_unknown_word(
    data: CaptionData, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[tuple[int, dict[str, Any]]] = []

    def write(model: Any, vocabulary: Any, features: Features, **search: Any) -> list[Caption]:
        searched.append((len(features.names), search))
        return [Caption(["a", "square"], 0.0, None) for _ in features.names]

    def even(model: Any, data: CaptionData, split: str) -> np.ndarray:
        lengths = data.prepared.splits[split].lengths + 1
        return np.stack([2.0 * lengths, lengths], axis=1)

    monkeypatch.setattr(captioning, "caption_images", write)
    monkeypatch.setattr(captioning, "likelihoods", even)
    settings = replace(VARIANT.settings, beam=3, alpha=0.5)
    evaluation = TASK.evaluate(cast(Any, None), settings, data, cast(Any, None))
    selected = TASK.objective(settings, VARIANT.recipe, data).evaluate(cast(Any, None))
    images = [len(data.prepared.images(split).names) for split in ("test", "validation")]
    greedy: dict[str, Sequence[int] | float] = {"beam": 1, "alpha": 0.0, "excluded": ()}
    assert searched == [(images[0], {"beam": 3, "alpha": 0.5, "excluded": (UNKNOWN_ID,)}), (images[1], greedy)]
    assert images[0] != images[1] or data.prepared.images("test").names != data.prepared.images("validation").names
    assert evaluation.predictions["likelihood"].shape == (images[0], 2), "of all references of an image together"
    assert evaluation.predictions["likelihood"][:, 1].sum() == (data.prepared.splits["test"].lengths + 1).sum()
    assert evaluation.metrics["perplexity"] == selected["perplexity"] == pytest.approx(np.exp(2))
