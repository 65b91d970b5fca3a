"""The Transformer: the sizes of the paper, search over more tokens than one cache has, and what heads return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.decoding.beam_search import beam_search
from gluon_attn.errors import UsageError
from gluon_attn.models import transformer
from gluon_attn.models.transformer import Transformer
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from tests.gluon_attn.models.encoder_decoders import (
    BEGIN,
    END,
    PADDING,
    PAIRS,
    Pairs,
    model_of,
    step_by_step,
)

every_transformer = pytest.mark.parametrize("name", ["transformer", "transformer, pre-norm"])


@every_transformer
@pytest.mark.parametrize("hybridized", [False, True])
def test_the_cache_grows_and_changes_nothing(name: str, hybridized: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached keys and values against all tokens at once, over three caches' worth of tokens."""
    monkeypatch.setattr(transformer, "CACHE_MULTIPLE", 3)
    model = model_of(name)
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    source, length, inputs, targets = Pairs.of([5, 2], [8, 7]).arrays()
    log_p, weights = step_by_step(model, source, length, inputs)
    expected = -np.take_along_axis(log_p, targets.asnumpy()[:, :, None], axis=2)[:, :, 0]
    nll = model(source, length, inputs, targets).nll.asnumpy()
    np.testing.assert_allclose(nll, expected * (targets.asnumpy() != PADDING), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.align(source, length, inputs).asnumpy(), weights, rtol=1e-4, atol=1e-6)


def full_decoding(model: Transformer, source: np.ndarray, length: np.ndarray, steps: int) -> list[list[int]]:
    """Greedy search that decodes the whole target at every step."""
    targets = [[BEGIN] for _ in source]
    for _ in range(steps):
        memory, _ = model.encode(nd, nd.array(source, dtype="int32"), nd.array(length))
        embedded = model.target_embedding(nd.array(targets, dtype="int32"))
        features, _, _ = model.decode(nd, embedded, memory, (), len(targets[0]), 1)
        best = model.output(features).asnumpy()[:, -1].argmax(axis=1)
        for target, token in zip(targets, best, strict=True):
            target.append(int(token))
    return [target[1 : target.index(END)] if END in target else target[1:] for target in targets]


@every_transformer
def test_cached_search_finds_what_full_decoding_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformer, "CACHE_MULTIPLE", 2)
    for seed in range(3):
        model = model_of(name, seed=seed)
        source, length, _, _ = Pairs.of([4, 2, 5, 1], [1, 1, 1, 1], seed).arrays()
        arrays = source.asnumpy(), length.asnumpy()
        found = beam_search([model], *arrays, beam=1, alpha=0.0, max_steps=9, begin=BEGIN, end=END)
        assert [list(beams[0].ids) for beams in found] == full_decoding(model, *arrays, steps=9)


@every_transformer
def test_all_heads_of_all_layers_are_distributions(name: str) -> None:
    model = model_of(name)
    source, length, inputs, _ = PAIRS.arrays()
    encoder, decoder, crossing = model.attend(source, length, inputs)
    assert [len(each) for each in (encoder, decoder, crossing)] == [2, 2, 2]
    later = np.triu(np.ones((inputs.shape[1], inputs.shape[1])), 1) > 0
    for weights in (*encoder, *decoder, *crossing):
        np.testing.assert_allclose(weights.asnumpy().sum(axis=3), 1.0, rtol=1e-5)
    for weights in decoder:
        assert (weights.asnumpy()[:, :, later] == 0).all()
    for weights in (*encoder, *crossing):
        assert (weights.asnumpy()[1, :, :, int(length[1].asscalar()) :] == 0).all()
    mean = crossing[-1].asnumpy().mean(axis=1)
    np.testing.assert_allclose(model.align(source, length, inputs).asnumpy(), mean, rtol=1e-4, atol=1e-6)


def sizes(**changed: Any) -> dict[str, Any]:
    base = {"units": 512, "encoder_layers": 6, "decoder_layers": 6, "heads": 8, "hidden_units": 2048}
    return {**base, "source_vocabulary": 37_000, "target_vocabulary": 37_000, "padding": PADDING, **changed}


@pytest.mark.parametrize(("changed", "millions"), [({}, 63), ({"units": 1024, "heads": 16, "hidden_units": 4096}, 214)])
def test_parameters_are_those_of_the_equations(changed: dict[str, Any], millions: int) -> None:
    """Base and big with one matrix of 37 000 embeddings; the paper's Table 3 states 65 and 213 million."""
    arguments = sizes(**changed)
    model = Transformer(shared=True, tied=True, **arguments)
    d, hidden, layers = arguments["units"], arguments["hidden_units"], arguments["encoder_layers"]
    attention, feed_forward, norm = 4 * d * d, 2 * d * hidden + hidden + d, 2 * d
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert parameter_count(model) == layers * (encoder + decoder) + 37_000 * d + 37_000
    assert round(parameter_count(model) / 1e6) == millions


@pytest.mark.parametrize("heads", [0, 3])
def test_heads_that_do_not_divide_the_units_are_refused(heads: int) -> None:
    with pytest.raises(UsageError, match=f"512 units cannot be divided among {heads} heads"):
        Transformer(**sizes(heads=heads))


@pytest.mark.parametrize("side", ["encoder_layers", "decoder_layers"])
def test_a_side_without_layers_is_refused(side: str) -> None:
    with pytest.raises(UsageError, match="layers must be 1 or more, not 0"):
        Transformer(**sizes(**{side: 0}))


def test_shared_embeddings_are_one_parameter() -> None:
    model = model_of("transformer", shared=True, tied=True, source_vocabulary=11)
    assert model.source_embedding.weight is model.target_embedding.weight is model.output.weight
    names = [name for name, _ in named_parameters(model)]
    assert sum("embedding" in name for name in names) <= 1
    with pytest.raises(UsageError, match="one vocabulary, not 9 and 11 tokens"):
        model_of("transformer", shared=True)
