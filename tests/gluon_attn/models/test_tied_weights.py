"""A matrix with several uses is one parameter: it has the sum of their gradients, and is updated and counted once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.outputs import TranslationOutput
from gluon_attn.training.checkpoint import parameter_arrays, parameter_count, set_parameters
from gluon_attn.training.loop import fit
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from tests.gluon_attn.models.encoder_decoders import (
    PAIRS,
    TARGET_UNITS,
    TARGET_VOCABULARY,
    UNITS,
    model_of,
    parameter_gradients,
    step_by_step,
)


class Tied(NamedTuple):
    """A network, the arguments that tie its weights, and its layers that have the same matrix, sorted."""

    network: str
    arguments: dict[str, Any]
    layers: tuple[str, ...] = ("output", "target_embedding")

    def model(self, **changed: Any) -> EncoderDecoder:
        return model_of(self.network, **(self.arguments | changed))


TIED = {
    "rnnsearch": Tied("rnnsearch", {"tied": True, "maxout_units": TARGET_UNITS}),
    "rnnencdec": Tied("rnnencdec", {"tied": True, "maxout_units": TARGET_UNITS}),
    "lstm": Tied("lstm reversed", {"tied": True, "target_units": UNITS}),
    "transformer": Tied("transformer", {"tied": True}),
    "transformer, embeddings": Tied(
        "transformer",
        {"shared": True, "source_vocabulary": TARGET_VOCABULARY},
        ("source_embedding", "target_embedding"),
    ),
    "transformer, one matrix": Tied("transformer, one matrix", {}, ("output", "source_embedding", "target_embedding")),
}


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("hybridized", [False, True])
def test_tied_weights_are_one_parameter_with_the_sum_of_the_gradients(name: str, hybridized: bool) -> None:
    """Against the same network with equal matrices that are parameters of their own."""
    tied = TIED[name]
    first, *others = (f"{layer}.weight" for layer in tied.layers)
    model = tied.model()
    assert len({id(getattr(model, layer).weight) for layer in tied.layers}) == 1
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    loss, gradients = parameter_gradients(model, PAIRS.arrays())
    source, length, inputs, _ = PAIRS.arrays()
    log_p, _ = step_by_step(model, source, length, inputs)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1.0, rtol=1e-5)

    untied = tied.model(tied=False, shared=False, seed=9)
    arrays = parameter_arrays(model)
    set_parameters(untied, arrays | {other: arrays[first] for other in others})
    its_loss, its = parameter_gradients(untied, PAIRS.arrays())
    np.testing.assert_allclose(loss, its_loss, rtol=1e-4, atol=1e-5)
    assert min(np.abs(its[key]).max() for key in (first, *others)) > 1e-3, "a use has no gradient"
    its[first] = sum((its.pop(other) for other in others), its[first])
    assert gradients.keys() == its.keys()
    for key, gradient in gradients.items():
        np.testing.assert_allclose(gradient, its[key], rtol=1e-3, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", ["rnnencdec", "transformer, one matrix"])
def test_tied_weights_are_updated_and_counted_once(name: str, tmp_path: Path) -> None:
    """w <- w - rate * gradient, however often the parameter is used in the model."""
    model = TIED[name].model()
    arrays = PAIRS.arrays()
    _, gradients = parameter_gradients(model, arrays)
    before = parameter_arrays(model)

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        yield Batch(tuple(one.asnumpy() for one in arrays), arrays[3].asnumpy())

    def loss(output: TranslationOutput, target: nd.NDArray) -> nd.NDArray:
        return output.loss.sum()

    objective = Objective(batches, 1, loss, lambda _: {"accuracy": 0.0})
    recipe = Recipe(epochs=1, batch_size=3, learning_rate=0.1, optimizer="sgd")
    fit(model, objective, recipe, RunDirectory(tmp_path, {}), seed=1)
    after = parameter_arrays(model)
    for key, gradient in gradients.items():
        np.testing.assert_allclose(after[key], before[key] - 0.1 * gradient, rtol=1e-4, atol=1e-5, err_msg=key)
    layers = TIED[name].layers
    untied = TIED[name].model(tied=False, shared=False)
    assert parameter_count(untied) == parameter_count(model) + (len(layers) - 1) * before[f"{layers[0]}.weight"].size
