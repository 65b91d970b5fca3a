"""Self-training: texts, their targets, and what is recorded about teachers and unlabelled texts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.models.outputs import ClassifierOutput
from gluon_attn.training.recipe import Recipe
from preprocessing import naver_unlabelled
from reproductions.naver_self_attention import REPRODUCTION
from reproductions.tasks.classification.corpora import NSMC
from reproductions.tasks.classification.self_training import SelfTraining

VARIANT = REPRODUCTION.preset("smoke").variant("best-self-trained")
SETTINGS = replace(VARIANT.settings, token_dropout=0.0)
RECIPE = Recipe(epochs=1, batch_size=16, learning_rate=0.1)


def teacher(logit: float, data: Any) -> Any:
    """A network that gives every text the logits (0, ``logit``)."""

    def model(*inputs: nd.NDArray) -> ClassifierOutput:
        return ClassifierOutput(nd.array(np.tile([[0.0, logit]], (len(inputs[0]), 1))))

    return SimpleNamespace(model=model, data=data)


@pytest.fixture(scope="module")
def data() -> Any:
    return SelfTraining().prepare(SETTINGS, sample=True)


def test_labels_and_the_mean_of_the_teachers_probabilities_are_the_targets(data: Any) -> None:
    plain = NSMC().prepare(SETTINGS, sample=True)
    task = SelfTraining().taught_by([teacher(0.0, plain), teacher(np.log(3.0), plain)])
    texts, targets = task.training_texts(data)
    train, unlabelled = plain.prepared.train, naver_unlabelled.prepare("sample").train
    assert len(texts) == len(targets) == len(train) + len(unlabelled)
    np.testing.assert_array_equal(targets[: len(train)], np.eye(2)[train.label])
    np.testing.assert_allclose(targets[len(train) :], np.tile([[0.375, 0.625]], (len(unlabelled), 1)), rtol=1e-6)
    encoded = plain.inputs.texts(plain.prepared.encode(unlabelled.text.tolist()))
    for own, expected in zip(texts[len(train) :], encoded, strict=True):
        np.testing.assert_array_equal(own, expected)


def test_without_the_crawl_the_training_texts_are_read_twice() -> None:
    plain, task = NSMC().prepare(SETTINGS, sample=True), SelfTraining(crawl=False)
    data = task.prepare(SETTINGS, sample=True)
    assert data.corpora == plain.corpora and task.corpora == ("nsmc",)
    texts, targets = task.taught_by([teacher(np.log(3.0), plain)]).training_texts(data)
    train, half = plain.prepared.train, len(targets) // 2
    assert len(texts) == len(targets) == 2 * len(train)
    np.testing.assert_array_equal(targets[:half], np.eye(2)[train.label])
    np.testing.assert_allclose(targets[half:], np.tile([[0.25, 0.75]], (half, 1)), rtol=1e-6)
    for labelled, taught in zip(texts[:half], texts[half:], strict=True):
        np.testing.assert_array_equal(labelled, taught)


def test_an_epoch_has_all_texts_with_their_targets(data: Any) -> None:
    task = SelfTraining().taught_by([teacher(1.0, NSMC().prepare(SETTINGS, sample=True))])
    objective = task.objective(SETTINGS, RECIPE, data)
    batches = list(objective.batches(np.random.RandomState(1)))
    _, targets = task.training_texts(data)
    read = np.concatenate([batch.target for batch in batches])
    assert len(batches) == objective.steps
    np.testing.assert_array_equal(np.sort(read[:, 1]), np.sort(targets[:, 1]))
    logits, target = np.array([[0.2, -0.4]], np.float32), np.array([[0.25, 0.75]], np.float32)
    expected = -(target * (logits - np.log(np.exp(logits).sum()))).sum()
    loss = objective.loss(ClassifierOutput(nd.array(logits)), nd.array(target))
    np.testing.assert_allclose(loss.asnumpy(), [expected], rtol=1e-5)


def test_teachers_read_texts_as_they_were_trained(data: Any) -> None:
    """With their own vocabulary, which need not be that of the student."""
    rare = NSMC().prepare(replace(SETTINGS, min_freq=3), sample=True)
    seen: list[int] = []

    def model(*inputs: nd.NDArray) -> ClassifierOutput:
        seen.append(int(inputs[0].asnumpy()[..., 0].max()))
        return ClassifierOutput(nd.zeros((len(inputs[0]), 2)))

    SelfTraining().taught_by([SimpleNamespace(model=model, data=rare)]).training_texts(data)  # type: ignore[list-item]
    assert max(seen) < rare.vocabulary_size < data.vocabulary_size


def test_without_teachers_nothing_is_trained(data: Any) -> None:
    with pytest.raises(UsageError, match="self-training needs trained networks; name them as `teachers`"):
        SelfTraining().objective(SETTINGS, RECIPE, data)


def test_other_tasks_have_no_use_for_teachers() -> None:
    with pytest.raises(UsageError, match="classification learns from no other network; remove `teachers`"):
        NSMC().taught_by([teacher(0.0, None)])


def test_the_unlabelled_texts_are_recorded(data: Any) -> None:
    """By their own digest: that of the data is that of the corpus."""
    assert data.corpora["unlabelled"] == naver_unlabelled.prepare("sample").digest
    assert data.digest == NSMC().prepare(SETTINGS, sample=True).digest
    assert SelfTraining().corpora == ("nsmc", "nsmc-raw")


def test_a_user_has_no_crawl() -> None:
    assert not SelfTraining().can_read(Any)  # type: ignore[arg-type]
