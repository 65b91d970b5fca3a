"""Beam search against GluonNLP's, greedy search against an argmax, and an exhaustive beam against enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from gluonnlp.model import BeamSearchSampler, BeamSearchScorer
from mxnet import init, nd

from gluon_attn import runtime
from gluon_attn.attention.global_attention import GlobalAttention
from gluon_attn.attention.multiplicative import GeneralScore
from gluon_attn.decoding.beam_search import SENTENCE_MULTIPLE, Hypothesis, beam_search, length_penalty
from gluon_attn.errors import UsageError
from gluon_attn.models.deep_lstm import DeepLSTM
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.rnnencdec import RNNEncDec
from gluon_attn.models.rnnsearch import RNNSearch
from gluon_attn.models.transformer import Transformer
from gluon_attn.typing import Tensors
from tests.gluon_attn.support import array

VOCABULARY, UNITS, PADDING, BEGIN, END = 30, 12, 1, 2, 3
COMMON = {
    "units": UNITS,
    "source_units": UNITS,
    "target_units": UNITS,
    "source_vocabulary": VOCABULARY,
    "target_vocabulary": VOCABULARY,
    "padding": PADDING,
}
MODELS: dict[str, Callable[[], EncoderDecoder]] = {
    "rnnsearch": lambda: RNNSearch(attention_units=UNITS, maxout_units=UNITS // 2, **COMMON),
    "rnnencdec": lambda: RNNEncDec(maxout_units=UNITS // 2, **COMMON),
    "lstm, general, feeding": lambda: DeepLSTM(
        layers=2,
        reverse_source=True,
        attention=GlobalAttention(GeneralScore(UNITS, UNITS)),
        input_feeding=True,
        **COMMON,
    ),
    "transformer": lambda: Transformer(
        units=UNITS,
        encoder_layers=2,
        decoder_layers=2,
        heads=2,
        hidden_units=2 * UNITS,
        positions="learned",
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        padding=PADDING,
    ),
}
every_model = pytest.mark.parametrize("name", MODELS)


def model_of(name: str, seed: int = 0) -> EncoderDecoder:
    """Translations that end early, late or never; like a trained model it never generates padding."""
    runtime.seed_all(seed)
    model = MODELS[name]()
    model.initialize(init.Normal(0.9))
    bias = np.zeros(VOCABULARY, np.float32)
    bias[[PADDING, END]] = -1e4, 2.0
    if isinstance(model, Transformer):  # as drawn, it repeats the first token for ever
        bias[END] = 5.0
        positions = model.target_positions.table
        positions.set_data(nd.random.normal(scale=4.0, shape=positions.shape))
    model.output.bias.set_data(array(bias))
    model.hybridize(static_alloc=True)
    return model


def sources(count: int, width: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.RandomState(seed)
    ids = generator.randint(4, VOCABULARY, (count, width)).astype(np.int32)
    return ids, generator.randint(2, width + 1, count).astype(np.float32)


def find(
    models: Sequence[Any], source: np.ndarray, length: np.ndarray, *, beam: int, alpha: float, max_steps: int = 20
) -> list[list[Hypothesis]]:
    return beam_search(
        cast("list[EncoderDecoder]", list(models)),
        source,
        length,
        beam=beam,
        alpha=alpha,
        max_steps=max_steps,
        begin=BEGIN,
        end=END,
    )


# --- against GluonNLP and against the argmax ---


def search_by_gluonnlp(
    model: EncoderDecoder, source: np.ndarray, length: np.ndarray, *, beam: int, alpha: float, max_steps: int
) -> list[list[tuple[tuple[int, ...], float]]]:
    memory, state = model.start(array(source), array(length))

    def step(tokens: nd.NDArray, states: list[list[nd.NDArray]]) -> tuple[nd.NDArray, list[list[nd.NDArray]]]:
        log_p, _, after = model.step(tokens.astype("int32"), tuple(states[0]), tuple(states[1]))
        return log_p, [states[0], list(after)]

    sampler = BeamSearchSampler(beam, step, END, BeamSearchScorer(alpha, 5), max_length=max_steps)
    start = nd.full((len(source),), BEGIN)
    samples, scores, lengths = (output.asnumpy() for output in sampler(start, [list(memory), list(state)]))
    results = []
    for row in range(len(source)):
        beams = []
        for rank in range(beam):
            ids = [int(i) for i in samples[row, rank, 1 : int(lengths[row, rank])]][:max_steps]
            beams.append((tuple(ids[:-1] if ids[-1:] == [END] else ids), float(scores[row, rank])))
        results.append(beams)
    return results


@every_model
@pytest.mark.parametrize(("beam", "alpha"), [(1, 0.0), (3, 0.0), (5, 1.0), (4, 0.6)])
def test_equals_the_sampler_of_gluonnlp(name: str, beam: int, alpha: float) -> None:
    lengths = set()
    for seed in (0, 4):
        model, (source, length) = model_of(name, seed), sources(9, seed=seed)
        expected = search_by_gluonnlp(model, source, length, beam=beam, alpha=alpha, max_steps=15)
        hypotheses = find([model], source, length, beam=beam, alpha=alpha, max_steps=15)
        assert [[one.ids for one in beams] for beams in hypotheses] == [[ids for ids, _ in beams] for beams in expected]
        for ours, theirs in zip(hypotheses, expected, strict=True):
            np.testing.assert_allclose([one.score for one in ours], [score for _, score in theirs], rtol=1e-4)
        lengths |= {len(one.ids) for beams in hypotheses for one in beams}
    assert len(lengths) > 2, "the comparison is weak: all translations have one length"


@pytest.mark.parametrize("beam", [1, 3])
def test_excluded_tokens_are_never_generated(beam: int) -> None:
    """The result is that of a network whose ln p of the excluded tokens is -inf."""
    model, (source, length) = model_of("rnnsearch"), sources(5)
    search = partial(beam_search, beam=beam, alpha=0.6, max_steps=12, begin=BEGIN, end=END)

    def ids(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
        return [[one.ids for one in hypotheses] for hypotheses in found]

    free = ids(search([model], source, length))
    excluded = sorted({token for hypotheses in free for one in hypotheses for token in one})[:2]
    assert len(excluded) == 2, "the test needs two tokens that are generated"

    class Forbidding:
        start = staticmethod(model.start)

        @staticmethod
        def step(tokens: nd.NDArray, memory: Tensors, state: Tensors) -> tuple[nd.NDArray, Any, Tensors]:
            log_p, weights, after = model.step(tokens, memory, state)
            log_p[:, list(excluded)] = -np.inf
            return log_p, weights, after

    found = ids(search([model], source, length, excluded=excluded))
    assert found == ids(search([cast("EncoderDecoder", Forbidding())], source, length))
    assert not {token for hypotheses in found for one in hypotheses for token in one} & set(excluded)


@every_model
def test_a_beam_of_one_is_the_argmax_of_each_step(name: str) -> None:
    """Sentence by sentence, not compiled, token by token."""
    model, (source, length) = model_of(name), sources(6)
    hypotheses = find([model], source, length, beam=1, alpha=0.7, max_steps=12)
    model.hybridize(False)
    for row in range(len(source)):
        memory, state = model.start(array(source[row : row + 1, : int(length[row])]), array(length[row : row + 1]))
        ids: list[int] = []
        total, token = 0.0, BEGIN
        while len(ids) < 12 and token != END:
            log_p, _, state = model.step(array([token], "int32"), memory, state)
            token = int(log_p.asnumpy()[0].argmax())
            total += float(log_p.asnumpy()[0].max())
            ids.append(token)
        (best,) = hypotheses[row]
        assert best.ids == tuple(ids[:-1] if token == END else ids)
        assert best.log_p == pytest.approx(total, rel=1e-4)
        assert best.score == pytest.approx(total / length_penalty(len(ids), 0.7), rel=1e-4)


def test_the_length_penalty_is_that_of_wu() -> None:
    assert [length_penalty(length, 0.0) for length in (1, 5, 50)] == [1.0, 1.0, 1.0]
    assert [length_penalty(length, 1.0) for length in (1, 7, 13)] == [1.0, 2.0, 3.0]
    assert length_penalty(4, 0.6) == pytest.approx(((5 + 4) / (5 + 1)) ** 0.6)


def test_no_sentences_have_no_translations_and_a_beam_fits_the_vocabulary() -> None:
    model, (source, length) = model_of("rnnsearch"), sources(2)
    assert find([model], source[:0], length[:0], beam=2, alpha=0.0) == []
    with pytest.raises(UsageError, match="a beam of 31 is wider than the vocabulary of 30 tokens"):
        find([model], source, length, beam=31, alpha=0.0)
    with pytest.raises(UsageError, match="beam must be 1 or more, not 0"):
        find([model], source, length, beam=0, alpha=0.0)


@every_model
def test_each_sentence_has_its_own_limit_of_steps(name: str) -> None:
    model, (source, length) = model_of(name), sources(3)
    limits = np.array([2, 5, 8])
    together = find([model], source, length, beam=3, alpha=0.6, max_steps=limits)
    for row, limit in enumerate(limits.tolist()):
        one = slice(row, row + 1)
        (alone,) = find([model], source[one], length[one], beam=3, alpha=0.6, max_steps=limit)
        assert [each.ids for each in together[row]] == [each.ids for each in alone]
        assert max(len(each.ids) for each in alone) <= limit


# --- scores and weights of a hypothesis ---


@every_model
def test_log_p_score_and_weights_are_those_of_a_forced_translation(name: str) -> None:
    model, (source, length) = model_of(name), sources(5)
    ended = 0
    for row, beams in enumerate(find([model], source, length, beam=4, alpha=0.8, max_steps=9)):
        assert len(beams) == 4 and len({one.ids for one in beams}) == 4
        assert all(better.score >= worse.score for better, worse in pairwise(beams))
        for one in beams:
            steps = min(len(one.ids) + 1, 9)  # The end of sentence counts too, unless the translation was cut off.
            ended += len(one.ids) < 9
            targets = array([[*one.ids, END][:steps]], "int32")
            inputs = array([[BEGIN, *one.ids][:steps]], "int32")
            sentence = array(source[row : row + 1]), array(length[row : row + 1])
            nll = model(*sentence, inputs, targets).nll
            assert one.log_p == pytest.approx(-float(nll.asnumpy().sum()), rel=1e-4)
            assert one.score == pytest.approx(one.log_p / length_penalty(steps, 0.8), rel=1e-6)
            if name == "rnnencdec":
                assert one.weights is None
            else:
                assert one.weights is not None and one.weights.shape == (steps, source.shape[1])
                np.testing.assert_allclose(
                    one.weights, model.align(*sentence, inputs).asnumpy()[0], rtol=1e-3, atol=1e-5
                )
    assert 0 < ended < 5 * 4


@every_model
def test_order_and_batch_composition_change_nothing(name: str) -> None:
    model, (source, length) = model_of(name), sources(40, seed=5)  # More sentences than a batch is rounded up to.
    together = find([model], source, length, beam=3, alpha=0.6)
    order = np.random.RandomState(1).permutation(40)
    for row, beams in zip(order, find([model], source[order], length[order], beam=3, alpha=0.6), strict=True):
        assert [one.ids for one in beams] == [one.ids for one in together[row]]
    for row in (0, 17, 39):
        padded = np.concatenate([source[row : row + 1], np.full((1, 4), 9, np.int32)], axis=1)
        (alone,) = find([model], padded, length[row : row + 1], beam=3, alpha=0.6)
        assert [one.ids for one in alone] == [one.ids for one in together[row]]
        np.testing.assert_allclose(
            [one.score for one in alone], [one.score for one in together[row]], rtol=1e-4, atol=1e-5
        )


# --- a model that depends on the whole prefix, against a plain search ---


class Toy:
    """A model whose probabilities of the next token differ for every source sentence and every prefix.

    Mixing up a row of the memory or of the state changes every later number.
    """

    def __init__(self, vocabulary: int, likely: int, seed: int = 0, ends: float = 0.0) -> None:
        self.vocabulary, self.likely, self.seed, self.ends = vocabulary, likely, seed, ends
        self.rows: list[int] = []

    def log_p(self, sentence: Sequence[int], prefix: Sequence[int]) -> np.ndarray:
        """(vocabulary,) of float32; only END and the ``likely`` tokens after it are ever generated."""
        generator = np.random.RandomState(runtime.derive(self.seed, tuple(sentence), tuple(prefix)))
        scores = np.full(self.vocabulary, -1e4)
        scores[END : END + 1 + self.likely] = generator.normal(size=1 + self.likely)
        scores[END] += self.ends
        return (scores - np.log(np.exp(scores).sum())).astype(np.float32)

    def weights(self, sentence: Sequence[int], prefix: Sequence[int]) -> np.ndarray:
        return np.random.RandomState(runtime.derive(self.seed, "weights", tuple(sentence), tuple(prefix))).dirichlet(
            np.ones(len(sentence))
        )

    def start(self, source: nd.NDArray, source_length: nd.NDArray) -> tuple[Tensors, Tensors]:
        return (source,), (nd.zeros((len(source), 12)), nd.zeros((len(source), 1)))

    def step(self, tokens: nd.NDArray, memory: Tensors, state: Tensors) -> tuple[nd.NDArray, nd.NDArray, Tensors]:
        self.rows.append(len(tokens))
        source, prefixes, count = memory[0].asnumpy(), state[0].asnumpy(), state[1].asnumpy()
        assert len(prefixes) == len(count) == len(tokens)
        source = source.repeat(len(tokens) // len(source), axis=0)  # A beam has one memory.
        log_p, weights = [], []
        for row, token in enumerate(tokens.asnumpy()):
            prefixes[row, int(count[row, 0])] = token
            history = prefixes[row, 1 : int(count[row, 0]) + 1].astype(int).tolist()
            log_p.append(self.log_p(source[row].tolist(), history))
            weights.append(self.weights(source[row].tolist(), history))
        return array(np.stack(log_p)), array(np.stack(weights), "float32"), (array(prefixes), array(count + 1))


def plain_search(
    toys: Sequence[Toy], sentence: Sequence[int], *, beam: int, alpha: float, max_steps: int
) -> tuple[list[tuple[tuple[int, ...], float, float]], list[int]]:
    """Translations (ids with END, score, ln p), best first, and how many unfinished ones each step continued."""
    beams: list[tuple[tuple[int, ...], float, float]] = [((), 0.0, 0.0)]
    unfinished = []
    for step in range(1, max_steps + 1):
        rest = [one for one in beams if one[0][-1:] != (END,)]
        if not rest:
            break
        unfinished.append(len(rest))
        for ids, _, log_p in rest:
            p = np.mean([np.exp(toy.log_p(sentence, ids)) for toy in toys], axis=0)
            for token in range(END, END + 1 + toys[0].likely):
                total = log_p + float(np.log(p[token]))
                beams.append(((*ids, token), total / length_penalty(step, alpha), total))
        beams = sorted((one for one in beams if one not in rest), key=lambda one: -one[1])[:beam]
    return beams, unfinished


def without_end(ids: tuple[int, ...]) -> tuple[int, ...]:
    return ids[:-1] if ids[-1:] == (END,) else ids


@pytest.mark.parametrize(("beam", "alpha", "ends"), [(1, 0.0, 0.5), (3, 0.0, 0.5), (4, 1.0, 0.5), (4, 0.6, -1.0)])
@pytest.mark.parametrize("members", [1, 2])
def test_equals_a_search_without_batches(beam: int, alpha: float, ends: float, members: int) -> None:
    toys = [Toy(12, 5, seed=seed, ends=ends) for seed in range(members)]
    source = np.random.RandomState(2).randint(4, 9, (7, 3)).astype(np.int32)
    hypotheses = find(toys, source, np.full(7, 3), beam=beam, alpha=alpha, max_steps=8)
    for sentence, beams in zip(source.tolist(), hypotheses, strict=True):
        expected, _ = plain_search(toys, sentence, beam=beam, alpha=alpha, max_steps=8)
        assert [one.ids for one in beams] == [without_end(ids) for ids, _, _ in expected]
        np.testing.assert_allclose([one.score for one in beams], [score for _, score, _ in expected], rtol=1e-5)
        np.testing.assert_allclose([one.log_p for one in beams], [log_p for _, _, log_p in expected], rtol=1e-5)
        for one, (ids, _, _) in zip(beams, expected, strict=True):
            weights = [toys[0].weights(sentence, ids[:i]) for i in range(len(ids))]
            assert one.weights is not None
            np.testing.assert_allclose(one.weights, weights, rtol=1e-5)


def test_finished_sentences_cost_nothing() -> None:
    """One row per sentence, then one per unfinished position in the beam of each sentence that has any.

    The number of rows is rounded up to a multiple, so that few shapes are compiled.
    """
    toy = Toy(12, 5, ends=0.5)
    source = np.random.RandomState(2).randint(4, 9, (20, 3)).astype(np.int32)
    find([toy], source, np.full(20, 3), beam=4, alpha=0.6, max_steps=10)
    counts = [plain_search([toy], one, beam=4, alpha=0.6, max_steps=10)[1] for one in source.tolist()]
    steps = max(map(len, counts))
    unfinished = [sum(step < len(count) for count in counts) for step in range(steps)]
    wanted = [left if left == 1 else -(-left // SENTENCE_MULTIPLE) * SENTENCE_MULTIPLE for left in unfinished]
    assert toy.rows == [wanted[0], *(4 * left for left in wanted[1:])]
    assert unfinished[0] == 20 and 0 < min(unfinished) < 10


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_an_exhaustive_beam_finds_the_best_translation(alpha: float, seed: int) -> None:
    """Three likely tokens and three steps: 27 translations and those that end earlier fit into a beam of 40."""
    toy = Toy(40, 3, seed=seed, ends=-0.5)
    sentence = [4, 5]
    everything: list[tuple[float, tuple[int, ...]]] = []

    def enumerate_from(ids: tuple[int, ...], log_p: float) -> None:
        if ids[-1:] == (END,) or len(ids) == 3:
            everything.append((log_p / length_penalty(len(ids), alpha), without_end(ids)))
            return
        p = toy.log_p(sentence, ids)
        for token in range(END, END + 4):
            enumerate_from((*ids, token), log_p + float(p[token]))

    enumerate_from((), 0.0)
    assert len(everything) == 1 + 3 + 9 * 4
    (beams,) = find([toy], np.array([sentence], np.int32), np.array([2]), beam=40, alpha=alpha, max_steps=3)
    expected = sorted(everything, reverse=True)
    assert [one.ids for one in beams[:5]] == [ids for _, ids in expected[:5]]
    np.testing.assert_allclose([one.score for one in beams], [score for score, _ in expected], rtol=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_that_does_not_end_is_cut_off(beam: int) -> None:
    toy = Toy(12, 5, ends=-50.0)
    (beams,) = find([toy], np.array([[4, 5]], np.int32), np.array([2]), beam=beam, alpha=1.0, max_steps=6)
    assert len(toy.rows) == 6
    assert [len(one.ids) for one in beams] == [6] * beam
    assert all(one.weights is not None and one.weights.shape == (6, 2) for one in beams)


def test_a_search_without_steps_finds_nothing() -> None:
    model, (source, length) = model_of("rnnsearch"), sources(2)
    assert beam_search([model], source, length, beam=2, alpha=0.0, max_steps=0, begin=BEGIN, end=END) == [[], []]


def test_a_translation_that_ends_at_once_is_empty() -> None:
    toy = Toy(12, 5, ends=50.0)
    (beams,) = find([toy], np.array([[4, 5]], np.int32), np.array([2]), beam=1, alpha=1.0, max_steps=6)
    assert [one.ids for one in beams] == [()] and len(toy.rows) == 1
    assert beams[0].log_p == pytest.approx(0.0, abs=1e-5)
    assert beams[0].weights is not None and beams[0].weights.shape == (1, 2)


# --- ensembles ---


@every_model
def test_an_ensemble_of_one_model_twice_is_that_model(name: str) -> None:
    model, (source, length) = model_of(name), sources(6)
    once, twice = (find(models, source, length, beam=3, alpha=0.6) for models in ([model], [model, model]))
    assert [[one.ids for one in beams] for beams in twice] == [[one.ids for one in beams] for beams in once]
    for ours, theirs in zip(twice, once, strict=True):
        np.testing.assert_allclose([one.score for one in ours], [one.score for one in theirs], rtol=1e-4)


def test_different_networks_can_form_an_ensemble() -> None:
    """Greedy search against the mean of both probabilities, token by token."""
    models, (source, length) = [model_of("rnnencdec", 1), model_of("lstm, general, feeding", 2)], sources(4)
    hypotheses = find(models, source, length, beam=1, alpha=0.0, max_steps=8)
    for row in range(4):
        states = [model.start(array(source[row : row + 1]), array(length[row : row + 1])) for model in models]
        token = BEGIN
        ids: list[int] = []
        while len(ids) < 8 and token != END:
            steps = [
                model.step(array([token], "int32"), memory, state)
                for model, (memory, state) in zip(models, states, strict=True)
            ]
            states = [(memory, after) for (memory, _), (_, _, after) in zip(states, steps, strict=True)]
            token = int(np.mean([np.exp(log_p.asnumpy()[0]) for log_p, _, _ in steps], axis=0).argmax())
            ids.append(token)
        assert hypotheses[row][0].ids == without_end(tuple(ids))


class Fixed:
    """Gives each token the same probability at every step."""

    def __init__(self, *log_p: float) -> None:
        self.log_p = np.array(log_p, np.float32)

    def start(self, source: nd.NDArray, length: nd.NDArray) -> tuple[Tensors, Tensors]:
        return (nd.zeros((len(source), 1)),), (nd.zeros((len(source), 1)),)

    def step(self, tokens: nd.NDArray, memory: Tensors, state: Tensors) -> tuple[nd.NDArray, None, Tensors]:
        return array(np.tile(self.log_p, (len(tokens), 1))), None, state


def test_a_network_whose_probabilities_are_not_numbers_is_refused() -> None:
    with pytest.raises(UsageError, match="probabilities are not numbers; train it again with a lower learning rate"):
        find([Fixed(math.nan, math.nan, math.nan)], *sources(2), beam=2, alpha=0.0)


def test_of_equal_scores_the_first_hypothesis_and_the_first_token_come_first() -> None:
    found = beam_search(
        [cast("EncoderDecoder", Fixed(*[-np.log(6)] * 6))],
        np.full((2, 3), 4, np.int32),
        np.full(2, 3, np.float32),
        beam=2,
        alpha=0.0,
        max_steps=2,
        begin=BEGIN,
        end=END,
        excluded=(0, PADDING, BEGIN, END),
    )
    assert [[one.ids for one in hypotheses] for hypotheses in found] == [[(4, 4), (4, 5)]] * 2


def test_tokens_that_all_models_find_unlikely_have_their_mean_probability() -> None:
    """The probabilities are below the least number of 32 bits."""
    ensemble = [Fixed(*[-1000.0] * 4, of_first, -300.0) for of_first in (-200.0, -201.0)]
    source = np.full((1, 2), 4, np.int32)
    (beams,) = find(ensemble, source, np.full(1, 2, np.float32), beam=2, alpha=0.0, max_steps=1)
    assert [one.ids for one in beams] == [(4,), (5,)]
    expected = [-200 + np.log((1 + np.exp(-1)) / 2), -300]
    np.testing.assert_allclose([one.log_p for one in beams], expected, rtol=1e-6)
