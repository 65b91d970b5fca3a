"""Show, attend and tell: against NumPy, its penalty, its samples, its search."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mxnet import autograd, init, nd

from gluon_attn import runtime
from gluon_attn.decoding.beam_search import beam_search
from gluon_attn.errors import UsageError
from gluon_attn.models import show_attend_tell
from gluon_attn.models.show_attend_tell import ATTENTIONS, ShowAttendTell
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import parameters_of, sigmoid, softmax, watch_dropout

SIZES: dict[str, Any] = {
    "channels": 6,
    "annotation_units": None,
    "positions": 4,
    "units": 5,
    "attention_units": 3,
    "embedding_units": 5,
    "target_vocabulary": 12,
    "padding": 1,
}
WORDS = nd.array([[2, 4, 5, 6], [2, 7, 8, 1]], dtype="int32")
TARGETS = nd.array([[4, 5, 6, 3], [7, 8, 3, 1]], dtype="int32")
LENGTHS = nd.ones(2)


def images() -> nd.NDArray:
    return nd.array(np.random.RandomState(0).rand(2, 4, 6), dtype="float32")


def model(attention: str, *, hybrid: bool = False, **changed: Any) -> ShowAttendTell:
    runtime.seed_all(1)
    network = ShowAttendTell(attention=attention, **{**SIZES, **changed})
    network.initialize(init.Uniform(0.7))
    if hybrid:
        network.hybridize()
    return network


def test_soft_attention_is_the_papers() -> None:
    network = model("soft", penalty=0.7)
    p = parameters_of(network)
    losses, nll = network(images(), LENGTHS, WORDS, TARGETS)
    a = images().asnumpy().astype(float)[0]
    h, c = np.split(np.tanh(p["initial.weight"] @ a.mean(axis=0) + p["initial.bias"]), 2)
    total = np.zeros(4)
    for step, (word, target) in enumerate(zip(WORDS.asnumpy()[0], TARGETS.asnumpy()[0], strict=True)):
        hidden = np.tanh(p["score.query.weight"] @ h + p["score.query.bias"] + a @ p["score.key.weight"].T)
        alpha = softmax(hidden @ p["score.value.weight"][0])
        total += alpha
        z = sigmoid(p["gate.weight"] @ h + p["gate.bias"]) * (alpha @ a)
        e = p["target_embedding.weight"][word]
        gates = p["lstm.i2h.weight"] @ e + p["lstm.i2h.bias"] + p["lstm.h2h.weight"] @ np.concatenate([h, z])
        i, f, o, g = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        features = e + p["of_state.weight"] @ h + p["of_state.bias"] + p["of_context.weight"] @ z
        log_p = np.log(softmax(p["output.weight"] @ features + p["output.bias"]))
        assert nll[0, step].asscalar() == pytest.approx(-log_p[target], abs=1e-4)
    assert losses[0, 4].asscalar() == pytest.approx(0.7 * ((1 - total) ** 2).sum(), abs=1e-4)


def test_dropout_is_applied_to_annotations_words_and_features(monkeypatch: pytest.MonkeyPatch) -> None:
    network = model("soft", dropout=0.25, feature_dropout=0.5)
    rates = watch_dropout(monkeypatch)
    network(images(), LENGTHS, WORDS, TARGETS)
    assert rates == [0.5, 0.25, 0.5]


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("annotation_units", [None, 7])
def test_eager_equals_hybridized_and_a_gradient_reaches_every_parameter(
    attention: str, annotation_units: int | None
) -> None:
    sums = []
    for hybrid in (False, True):
        network = model(attention, hybrid=hybrid, annotation_units=annotation_units, penalty=1.0, entropy=0.1)
        runtime.seed_all(4)
        with autograd.record():
            loss = network(images(), LENGTHS, WORDS, TARGETS).loss.sum()
        loss.backward()
        sums.append(float(loss.asscalar()))
        for name, parameter in named_parameters(network):
            assert parameter.grad_req == "null" or float(nd.abs(parameter.grad()).sum().asscalar()) > 0, name
    assert sums[0] == pytest.approx(sums[1], rel=1e-5)


@pytest.mark.parametrize("attention", ["soft", "hard", "none"])
def test_padding_changes_nothing(attention: str) -> None:
    network = model(attention, penalty=1.0)
    short = network(images(), LENGTHS, WORDS, TARGETS)
    padding = nd.ones((2, 4), dtype="int32")
    long = network(images(), LENGTHS, nd.concat(WORDS, padding, dim=1), nd.concat(TARGETS, padding, dim=1))
    np.testing.assert_allclose(long.nll[:, :4].asnumpy(), short.nll.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(long.loss.sum(axis=1).asnumpy(), short.loss.sum(axis=1).asnumpy(), rtol=1e-5)


def test_reinforce_learns_to_attend_where_the_word_is() -> None:
    """The word is written at one position of four, and nowhere else."""
    network = model("hard", entropy=0.01, units=16, attention_units=16)
    from mxnet.gluon import Trainer

    trainer = Trainer(network.collect_params(), "adam", {"learning_rate": 0.02})
    generator = np.random.RandomState(0)

    def batch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        position, word = generator.randint(0, 4, 64), generator.randint(4, 8, 64)
        features = np.zeros((64, 4, 6), np.float32)
        features[:, :, :4] = np.eye(4)[generator.randint(0, 4, (64, 4))]
        features[np.arange(64), position] = np.concatenate([np.eye(4)[word - 4], np.tile([0, 3], (64, 1))], axis=1)
        return features, position, word

    for _ in range(250):
        features, _, word = batch()
        begin, target = np.full((64, 1), 2), word[:, None]
        with autograd.record():
            arrays = (nd.array(one, dtype="int32") for one in (begin, target))
            loss = network(nd.array(features), nd.ones(64), *arrays).loss.sum() / 64
        loss.backward()
        trainer.step(1)
    features, position, word = batch()
    found = beam_search([network], features, np.ones(64), beam=1, alpha=0.0, max_steps=1, begin=2, end=3)
    weights = np.stack([best.weights[0] for (best,) in found if best.weights is not None])
    assert (weights.argmax(axis=1) == position).mean() > 0.8
    assert np.mean([best.ids == (right,) for (best,), right in zip(found, word, strict=True)]) > 0.8


def test_the_loss_of_hard_attention_is_that_of_reinforce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations 11 and 12 for captions that all have sampled positions, from the positions and weights of each step."""
    monkeypatch.setattr(show_attend_tell, "_SAMPLED", 1.0)
    network = model("hard", reinforce=0.7, entropy=0.3)
    steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    attend = network._attend

    def recorded(*arguments: Any) -> Any:
        alpha, used, log_p = attend(*arguments)
        steps.append((alpha.asnumpy()[:, 0].astype(float), used.asnumpy()[:, 0], log_p.asnumpy()[:, 0]))
        return alpha, used, log_p

    monkeypatch.setattr(network, "_attend", recorded)
    baseline = float(network.baseline.data().asscalar())
    with autograd.record():
        losses, nll = network(images(), LENGTHS, WORDS, TARGETS)
    added = losses.asnumpy()[:, -1]
    for row, words in enumerate((4, 3)):
        log_p, entropy = 0.0, 0.0
        for alpha, used, stated in steps[:words]:
            assert sorted(used[row]) == [0, 0, 0, 1]  # a single position
            log_p += np.log(alpha[row][used[row].argmax()])
            entropy -= (alpha[row] * np.log(alpha[row])).sum()
            assert stated[row] == pytest.approx(np.log(alpha[row][used[row].argmax()]), rel=1e-5)
        reward = -nll.asnumpy()[row].sum() / words
        assert added[row] == pytest.approx(-0.7 * (reward - baseline) * log_p - 0.3 * entropy, rel=1e-4)


def test_search_with_hard_attention_may_use_all_weights() -> None:
    soft, hard = model("soft"), model("hard", argmax=False)
    for name, parameter in named_parameters(soft):
        dict(named_parameters(hard))[name].set_data(parameter.data())
    options: dict[str, Any] = {"beam": 2, "alpha": 0.0, "max_steps": 5, "begin": 2, "end": 3}
    found = [beam_search([each], images().asnumpy(), np.ones(2), **options) for each in (soft, hard)]
    assert [[one.ids for one in beam] for beam in found[0]] == [[one.ids for one in beam] for beam in found[1]]
    np.testing.assert_array_equal(found[0][0][0].weights, found[1][0][0].weights)


def test_the_baseline_follows_the_reward_in_training_only() -> None:
    network = model("hard")
    assert network.baseline.data().asscalar() == pytest.approx(-math.log(12))
    outputs = network(images(), LENGTHS, WORDS, TARGETS)
    assert network.baseline.data().asscalar() == pytest.approx(-math.log(12))
    with autograd.record():
        outputs = network(images(), LENGTHS, WORDS, TARGETS)
    reward = -(outputs.nll.asnumpy().sum(axis=1) / [4, 3]).mean()
    assert network.baseline.data().asscalar() == pytest.approx(-0.9 * math.log(12) + 0.1 * reward, rel=1e-5)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_search_gives_the_likelihood_of_training_and_weights_that_sum_to_1(attention: str) -> None:
    network = model(attention)
    (best, *_), _ = beam_search(
        [network], images().asnumpy(), np.ones(2), beam=3, alpha=0.0, max_steps=5, begin=2, end=3
    )
    if attention == "none":
        assert best.weights is None
    else:
        assert best.weights is not None and best.weights.shape[1] == 4
        np.testing.assert_allclose(best.weights.sum(axis=1), 1, rtol=1e-5)
    if attention == "random":
        return  # other noise
    ended = [*best.ids, 3][: 5 if len(best.ids) == 5 else None]
    words = nd.array([[2, *ended[:-1]]] * 2, dtype="int32")
    nll = network(images(), LENGTHS, words, nd.array([ended] * 2, dtype="int32")).nll
    assert -nll[0].sum().asscalar() == pytest.approx(best.log_p, rel=1e-4)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_grid_of_another_size_is_refused(attention: str) -> None:
    network, larger = model(attention), nd.ones((2, 9, 6))
    with pytest.raises(UsageError, match="a grid of 9 positions, but the network attends to 4"):
        network(larger, LENGTHS, WORDS, TARGETS)
    with pytest.raises(UsageError, match="a grid of 9 positions"):
        network.start(larger, LENGTHS)
    with pytest.raises(UsageError, match="a grid of 9 positions"):
        network.align(larger, LENGTHS, WORDS)


def test_an_unknown_attention_is_refused() -> None:
    with pytest.raises(UsageError, match="'sharp' is unknown; choose one of soft, hard"):
        model("sharp")
