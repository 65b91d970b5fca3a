"""What the tests of translation share: made-up outcomes, networks for the sample, parameter counts, one step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from mxnet import autograd, init, nd

from gluon_attn import runtime
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.checkpoint import named_parameters
from preprocessing.text.vocabulary import END_ID, UNKNOWN_ID
from reproductions.protocol import papers
from reproductions.protocol.runs import Outcome
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from tests.reproductions.support import outcome

SENTENCES = 40


def counts(quality: float, sentences: int = SENTENCES) -> np.ndarray:
    """BLEU counts of sentences of ten words of which a share is correct."""
    right = int(10 * quality)
    row = [right, max(0, right - 1), max(0, right - 2), max(0, right - 3), 10, 9, 8, 7, 10, 10]
    return np.array([row] * sentences, np.int32)


def translated(
    folder: Path,
    variant: str,
    quality: float,
    *,
    seed: int | str = 1,
    examples: dict[str, Any] | None = None,
    texts: dict[str, Any] | None = None,
    history: Sequence[dict[str, float]] = ({"validation_bleu": 1.0}, {"validation_bleu": 3.0}),
    **arrays: Any,
) -> Outcome:
    """A made-up outcome of translations of which a share is correct."""
    given = {
        "bleu": counts(quality),
        "sacrebleu": counts(quality - 0.1),
        "likelihood": np.tile([20.0 / quality, 10.0], (SENTENCES, 1)),
        "words": np.arange(SENTENCES),
        **arrays,
    }
    record = {"history": list(history), "metrics": {"chrf": 50.0}}
    return outcome(
        folder, variant, seed, given, examples=examples, texts=texts, corpus="sample", preset="smoke", **record
    )


def network(settings: TranslationSettings, data: TranslationData, seed: int = 5) -> EncoderDecoder:
    """An untrained network: its output is meaningless but deterministic."""
    runtime.seed_all(seed)
    model = settings.build(data)
    model.initialize()
    model.hybridize(static_alloc=True, static_shape=True)
    return cast(EncoderDecoder, model)


def undecided(model: EncoderDecoder) -> EncoderDecoder:
    """The same network, but at every step it generates an unknown token or, almost as likely, ends the sentence.

    Which translation is best depends on the search.
    """
    bias = model.output.bias.data().copy()
    bias[UNKNOWN_ID], bias[END_ID] = 20.3, 20.0
    model.output.bias.set_data(bias)
    return model


def parameter_count(paper: str, variant: str, source: int, target: int, preset: str = "paper") -> int:
    """Parameters of the network of a variant of a preset with vocabularies of these sizes; nothing is allocated."""
    settings = papers.load(paper).preset(preset).variant(variant).settings
    words = SimpleNamespace(source_vocabulary=range(source), target_vocabulary=range(target))
    model = settings.build(TranslationData("sample", {}, cast(Any, words)))
    return sum(int(np.prod(parameter.shape)) for _, parameter in named_parameters(model))


def lstm(units: int, inputs: int, biases: int) -> int:
    """Parameters of one LSTM layer with this many biases per gate."""
    return 4 * units * (inputs + units + biases)


def rnnencdec_parameters(n: int, m: int, readout: int, words: int) -> int:
    """Parameters of RNNencdec with n units, embeddings of m and ``words`` on both sides, from appendix A."""
    encoder = 3 * (n * (m + n) + 2 * n)  # MXNet's unit has two biases per gate.
    summary = 2 * (n * n + n)
    decoder = 3 * n * (m + n + n) + 3 * n
    maxout = 2 * readout * (n + m + n) + 2 * readout
    return 2 * words * m + encoder + summary + decoder + maxout + words * (readout + 1)


def learns_in_one_step(paper: str, name: str) -> None:
    """Assert that every parameter of a variant of the smoke preset has a gradient, and that a step along it lowers the
    loss.
    """
    preset = papers.load(paper).preset("smoke")
    variant, task = preset.variant(name), preset.task(name)
    data = task.prepare(variant.settings, sample=True)
    runtime.seed_all(3)
    model = variant.settings.build(data)
    model.initialize(init.Xavier())
    objective = task.objective(variant.settings, variant.recipe, data)
    batch = next(iter(objective.batches(np.random.RandomState(1))))
    inputs, tokens = [nd.array(array, dtype=array.dtype) for array in batch.inputs], nd.array(batch.target)
    losses = []
    for _ in range(2):
        with autograd.record(train_mode=False):
            loss = objective.loss(model(*inputs), tokens)
        loss.backward()
        for parameter_name, parameter in model.collect_params().items():
            gradient = parameter.grad().tostype("default").asnumpy()
            assert np.abs(gradient).max() > 0, f"{name}: {parameter_name} has no gradient"
            parameter.set_data(parameter.data() - 0.05 * nd.array(gradient))
        losses.append(float(loss.asscalar()))
    assert losses[1] < losses[0], name


OTHER: dict[str, dict[Any, Any]] = {
    "tokens": {"bpe": "words", "words": "bpe"},
    "operations": {5_000: 50},
    "min_freq": {None: 3, 2: 3},
    "max_size": {None: 30},
    "max_length": {50: 9},
    "more_beams": {(): (2,), (1, 2): (3,)},
    "alphas": {(): (0.5, 1.5)},
}
"""For ``dead_settings``: other values that matter on the embedded sentences."""
SEARCH_SETTINGS = {"beam", "alpha", "alphas", "more_beams", "replace_unknown"}
"""What is read only in search."""
