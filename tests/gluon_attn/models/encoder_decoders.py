"""Small encoder-decoders of every kind and sentence pairs for them, which several tests share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from mxnet import autograd, nd
from mxnet.gluon import HybridBlock

from gluon_attn.attention.additive import AdditiveScore
from gluon_attn.attention.global_attention import GlobalAttention, LocationScore
from gluon_attn.attention.local import MonotonicAttention, PredictiveAttention
from gluon_attn.attention.multiplicative import DotScore, GeneralScore
from gluon_attn.models.deep_lstm import DeepLSTM
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.rnnencdec import RNNEncDec
from gluon_attn.models.rnnsearch import RNNSearch
from gluon_attn.models.transformer import Transformer
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, dense, initialize

UNITS, HIDDEN, MAXOUT, SOURCE_UNITS, TARGET_UNITS = 6, 7, 3, 4, 5
SOURCE_VOCABULARY, TARGET_VOCABULARY = 9, 11
PADDING, BEGIN, END = 1, 2, 3  # 0 is a token like any other.

ATTENTIONS: dict[str, Callable[[], HybridBlock]] = {
    "dot": lambda: GlobalAttention(DotScore()),
    "general": lambda: GlobalAttention(GeneralScore(UNITS, UNITS)),
    "concat": lambda: GlobalAttention(AdditiveScore(HIDDEN, UNITS, UNITS, use_bias=False)),
    "location": lambda: GlobalAttention(LocationScore(20, UNITS)),
    "local-m": lambda: MonotonicAttention(GeneralScore(UNITS, UNITS), 1),
    "local-p": lambda: PredictiveAttention(GeneralScore(UNITS, UNITS), 2, UNITS),
}


def common(**changed: Any) -> dict[str, Any]:
    return {
        "units": UNITS,
        "source_units": SOURCE_UNITS,
        "target_units": TARGET_UNITS,
        "source_vocabulary": SOURCE_VOCABULARY,
        "target_vocabulary": TARGET_VOCABULARY,
        "padding": PADDING,
        **changed,
    }


def rnnsearch(**changed: Any) -> RNNSearch:
    return RNNSearch(**common(**{"attention_units": HIDDEN, "maxout_units": MAXOUT, **changed}))


def rnnencdec(**changed: Any) -> RNNEncDec:
    return RNNEncDec(**common(**{"maxout_units": MAXOUT, **changed}))


def deep_lstm(attention: str | None, **changed: Any) -> DeepLSTM:
    cell = ATTENTIONS[attention]() if attention else None
    return DeepLSTM(**common(**{"layers": 2, "reverse_source": False, "attention": cell, **changed}))


def transformer(**changed: Any) -> Transformer:
    sizes = {name: value for name, value in common().items() if name not in ("source_units", "target_units")}
    own = {"encoder_layers": 2, "decoder_layers": 2, "heads": 2, "hidden_units": HIDDEN}
    return Transformer(**{**sizes, **own, **changed})


MODELS: dict[str, Callable[..., EncoderDecoder]] = {
    "rnnsearch": rnnsearch,
    "rnnencdec": rnnencdec,
    "lstm": lambda **changed: deep_lstm(None, **changed),
    "lstm reversed": lambda **changed: deep_lstm(None, reverse_source=True, **changed),
    "transformer": transformer,
    "transformer, pre-norm": lambda **changed: transformer(
        norm="pre", positions="learned", length=4, key_units=2, **changed
    ),
    "transformer, one matrix": lambda **changed: transformer(
        **{"shared": True, "tied": True, "source_vocabulary": TARGET_VOCABULARY, **changed}
    ),
    **{f"lstm, {name}": lambda name=name, **changed: deep_lstm(name, **changed) for name in ATTENTIONS},
    **{
        f"lstm reversed, {name}, feeding": lambda name=name, **changed: deep_lstm(
            name, reverse_source=True, input_feeding=True, **changed
        )
        for name in ATTENTIONS
    },
}
WITHOUT_ATTENTION = ("rnnencdec", "lstm", "lstm reversed")
every_model = pytest.mark.parametrize("name", MODELS)
every_attention = pytest.mark.parametrize("name", [name for name in MODELS if name not in WITHOUT_ATTENTION])


@dataclass(frozen=True)
class Pairs:
    """Sentence pairs of random ids other than padding, begin and end."""

    sources: list[list[int]]
    targets: list[list[int]]

    @classmethod
    def of(cls, source_lengths: list[int], target_lengths: list[int], seed: int = 0) -> Pairs:
        generator = np.random.RandomState(seed)

        def ids(length: int, vocabulary: int) -> list[int]:
            return generator.choice([0, *range(4, vocabulary)], length).tolist()

        return cls(
            [ids(length, SOURCE_VOCABULARY) for length in source_lengths],
            [ids(length, TARGET_VOCABULARY) for length in target_lengths],
        )

    def arrays(self, more_source: int = 0, more_target: int = 0, garbage: int | None = None) -> list[nd.NDArray]:
        """The model's four inputs, padded by more than needed, with ``garbage`` wherever padding may be anything."""
        padding = PADDING if garbage is None else garbage
        return [
            rectangle(self.sources, padding, more_source),
            array([len(one) for one in self.sources], "float32"),
            rectangle([[BEGIN, *one] for one in self.targets], padding, more_target),
            rectangle([[*one, END] for one in self.targets], PADDING, more_target),
        ]

    def alone(self, row: int) -> Pairs:
        return Pairs([self.sources[row]], [self.targets[row]])


def rectangle(sentences: list[list[int]], padding: int, more: int) -> nd.NDArray:
    width = max(map(len, sentences)) + more
    return array([one + [padding] * (width - len(one)) for one in sentences], "int32")


PAIRS = Pairs.of([5, 1, 3], [2, 4, 0])


def model_of(name: str, *, seed: int = 0, scale: float = 0.5, **changed: Any) -> EncoderDecoder:
    model = MODELS[name](**changed)
    initialize(model, *PAIRS.arrays(), scale=scale, seed=seed)
    for parameter_name, parameter in named_parameters(model):
        if parameter_name.endswith("gamma"):  # around 1, or layer normalisation forgets its input
            parameter.set_data(parameter.data() + 1.0)
    return model


def compiled(model: EncoderDecoder) -> EncoderDecoder:
    model.hybridize(static_alloc=True, static_shape=True)
    return model


def step_by_step(model: EncoderDecoder, source: nd.NDArray, length: nd.NDArray, inputs: nd.NDArray) -> tuple[Any, Any]:
    """ln p (batch, steps, vocabulary) and weights (batch, steps, source_length) as search computes them."""
    memory, state = model.start(source, length)
    log_p, weights = [], []
    for i in range(inputs.shape[1]):
        one, alignment, state = model.step(inputs[:, i], memory, state)
        log_p.append(one.asnumpy())
        weights += [] if alignment is None else [alignment.asnumpy()]
    return np.stack(log_p, axis=1), np.stack(weights, axis=1) if weights else None


def parameter_gradients(model: EncoderDecoder, arrays: list[nd.NDArray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    with autograd.record():
        loss, _ = model(*arrays)
        total = loss.sum()
    total.backward()
    return loss.asnumpy(), {name: dense(one.grad()) for name, one in named_parameters(model)}
