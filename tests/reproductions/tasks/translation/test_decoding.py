"""Batches of sentence pairs, their likelihood, and translation, on the embedded sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.decoding.beam_search import Hypothesis
from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.models.encoder_decoder import EncoderDecoder
from preprocessing.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID, UNKNOWN_ID
from reproductions import bahdanau2014
from reproductions.protocol.task import TrainedModel, Variant
from reproductions.tasks.bleu import PEERS
from reproductions.tasks.translation import decoding
from reproductions.tasks.translation.data import TranslationData
from reproductions.tasks.translation.decoding import (
    batch,
    likelihoods,
    translate,
    translate_as_set,
    without_unknown,
)
from tests.reproductions.tasks.translation import test_task as translation
from tests.reproductions.translating import network, undecided

SMOKE = bahdanau2014.REPRODUCTION.preset("smoke")


@pytest.fixture(scope="module")
def variant() -> Variant[Any]:
    return SMOKE.variant("rnnsearch-ko-en")


@pytest.fixture(scope="module")
def data(variant: Variant[Any]) -> TranslationData:
    prepared = SMOKE.task(variant.name).prepare(variant.settings, sample=True)
    assert isinstance(prepared, TranslationData)
    return prepared


@pytest.fixture(scope="module")
def model(variant: Variant[Any], data: TranslationData) -> EncoderDecoder:
    return network(variant.settings, data)


def test_a_batch_has_begin_and_end_of_each_target_and_its_token_count() -> None:
    sources = [np.array([7, 8, 9], np.int32), np.array([], np.int32)]
    step = batch(sources, [np.array([4, 5], np.int32), np.array([6], np.int32)])
    source, length, begun, ended = step.inputs
    assert length.tolist() == [3, 1]
    assert source[0].tolist()[:4] == [7, 8, 9, PADDING_ID] and source[1, 0] == UNKNOWN_ID
    assert begun[:, :3].tolist() == [[BEGIN_ID, 4, 5], [BEGIN_ID, 6, PADDING_ID]]
    assert ended[:, :3].tolist() == [[4, 5, END_ID], [6, END_ID, PADDING_ID]]
    assert step.target.tolist() == [5.0]


def test_the_loss_is_the_mean_over_tokens_whatever_the_padding(
    variant: Variant[Any], data: TranslationData, model: EncoderDecoder
) -> None:
    train = data.prepared.splits["train"]
    sources, targets = train.source.sequences()[:3], train.target.sequences()[:3]
    step = batch(sources, targets)
    output = model(*(nd.array(array, dtype=array.dtype) for array in step.inputs))
    objective = SMOKE.task(variant.name).objective(variant.settings, variant.recipe, data)
    loss = objective.loss(output, nd.array(step.target))
    totals = likelihoods(model, train.take(np.arange(3))).sum(axis=0)
    assert loss.asscalar() == pytest.approx(float(output.loss.sum().asscalar()) / step.target[0], rel=1e-5)
    plain = float(output.nll.sum().asscalar()) / step.target[0]
    assert plain == pytest.approx(totals[0] / totals[1], rel=1e-5) and step.target[0] == totals[1]
    assert np.log(perplexity(totals)) == pytest.approx(plain, rel=1e-5)


def test_translations_are_in_order_whatever_the_batches(
    data: TranslationData, model: EncoderDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = data.prepared.splits["test"].source
    together = translate([model], data, source, beam=2, alpha=1.0)
    monkeypatch.setattr(decoding, "TRANSLATED", 7)
    apart = translate([model], data, source, beam=2, alpha=1.0)
    assert [sentence.tokens for sentence in together] == [sentence.tokens for sentence in apart]
    assert len(together) == len(source)
    for row, sentence in enumerate(together):
        assert sentence.weights is not None and sentence.weights.shape[1] == max(1, source.lengths[row])
        np.testing.assert_allclose(sentence.weights.sum(axis=1), 1.0, rtol=1e-4)


def test_a_translation_may_be_twice_as_long_as_its_source_and_ten_tokens_more(
    variant: Variant[Any], data: TranslationData
) -> None:
    """A network that never ends a sentence is cut off at that length."""
    endless = network(variant.settings, data)
    bias = endless.output.bias.data().copy()
    bias[END_ID] = -1e9
    endless.output.bias.set_data(bias)
    source = data.prepared.splits["test"].source
    sentences = translate([endless], data, source, beam=1)
    assert [len(sentence.tokens) for sentence in sentences] == [2 * max(1, n) + 10 for n in source.lengths]


def test_the_length_penalty_is_passed_to_the_search(variant: Variant[Any], data: TranslationData) -> None:
    source, model = data.prepared.splits["test"].source, undecided(network(variant.settings, data))

    def mean_length(alpha: float) -> float:
        return float(np.mean([len(one.tokens) for one in translate([model], data, source, beam=3, alpha=alpha)]))

    assert mean_length(2.0) > 1 > mean_length(0.0)


def test_an_unknown_word_is_replaced_by_the_source_word_with_most_attention(
    variant: Variant[Any], data: TranslationData, model: EncoderDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = data.prepared.splits["test"].source.take(np.arange(1))
    length = int(source.lengths[0])
    weights = np.full((2, length), 0.01)
    weights[0, length - 1] = 1.0

    def search(*_: Any, **__: Any) -> list[list[Hypothesis]]:
        return [[Hypothesis((UNKNOWN_ID,), 0.0, 0.0, weights)]]

    monkeypatch.setattr(decoding, "beam_search", search)
    word = source.words(0)[-1]
    unreplaced = translate([model], data, source, beam=1)
    assert unreplaced[0].tokens == ["<unk>"]
    for lexicon, expected in (({}, word), ({word: "so"}, "so")):
        known = replace(data)
        vars(known)["lexicon"] = lexicon
        (replaced,) = without_unknown(unreplaced, source, known)
        assert replaced.tokens == [expected] and replaced.text == data.prepared.detokenize([expected])
        for replaces, tokens in ((False, ["<unk>"]), (True, [expected])):
            settings, task = replace(variant.settings, replace_unknown=replaces), SMOKE.task(variant.name)
            trained = TrainedModel(model, replace(variant, settings=settings), task, known, "")
            assert [one.tokens for (one,) in translate_as_set(trained, source)] == [tokens]


def test_an_unknown_word_is_one_word_and_always_wrong(data: TranslationData) -> None:
    tokens, reference = data.prepared.evaluation_tokens(["A <unk> runs.", "<unk>", "A dog runs."]), "a dog runs ."
    assert tokens == ["a <unk> runs .", "<unk>", reference]
    matches = PEERS.counts(tokens[:1], [reference])[0]
    assert matches[0] == 3 and matches[8] == 4


def test_the_lexicon_has_every_source_token_of_train(data: TranslationData) -> None:
    source = data.prepared.splits["train"].source
    assert set(data.lexicon) == {token for row in range(len(source)) for token in source.words(row)}
    assert data.lexicon is data.lexicon, "it is learned once"


@pytest.fixture(scope="module")
def of_the_task() -> TranslationData:
    return translation.TASK.prepare(translation.SETTINGS, sample=True)


def test_answers_are_searched_with_the_length_penalty_of_the_settings(of_the_task: TranslationData) -> None:
    model, source = undecided(network(translation.SETTINGS, of_the_task)), of_the_task.prepared.splits["test"].source
    for alpha in (0.0, 2.0):
        settings = replace(translation.SETTINGS, alpha=alpha, replace_unknown=False)
        trained = TrainedModel(
            model, replace(translation.VARIANT, settings=settings), translation.TASK, of_the_task, ""
        )
        expected = translate([model], of_the_task, source, beam=settings.beam, alpha=alpha)
        assert [one.tokens for one, *_ in translate_as_set(trained, source)] == [one.tokens for one in expected]
        assert all(one.tokens for one in expected) == (alpha == 2.0), "the penalty decides"
