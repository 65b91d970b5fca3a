"""Weights that are one parameter have all of its gradients, and are updated and counted once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.models.deep_lstm import DeepLSTM
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.outputs import TranslationOutput
from gluon_attn.models.rnnencdec import RNNEncDec
from gluon_attn.models.rnnsearch import RNNSearch
from gluon_attn.training.checkpoint import named_parameters, parameter_arrays, parameter_count, set_parameters
from gluon_attn.training.loop import fit
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from tests.gluon_attn.models.encoder_decoders import (
    HIDDEN,
    PAIRS,
    TARGET_UNITS,
    UNITS,
    common,
    parameter_gradients,
    step_by_step,
)
from tests.gluon_attn.support import initialize


def tied_model(name: str) -> EncoderDecoder:
    widths = {"maxout_units": TARGET_UNITS} if name in ("rnnsearch", "rnnencdec") else {"target_units": UNITS}
    kind = RNNSearch if name == "rnnsearch" else RNNEncDec if name == "rnnencdec" else DeepLSTM
    if kind is DeepLSTM:
        widths |= {"layers": 2, "reverse_source": True}
    elif kind is RNNSearch:
        widths |= {"attention_units": HIDDEN}
    return initialize(kind(**common(tied=True, **widths)), *PAIRS.arrays())


@pytest.mark.parametrize("name", ["rnnsearch", "rnnencdec", "lstm"])
@pytest.mark.parametrize("hybridized", [False, True])
def test_tied_weights_are_one_parameter_with_both_gradients(name: str, hybridized: bool) -> None:
    model = tied_model(name)
    assert model.output.weight is model.target_embedding.weight
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    loss, gradients = parameter_gradients(model, PAIRS.arrays())
    source, length, inputs, _ = PAIRS.arrays()
    log_p, _ = step_by_step(model, source, length, inputs)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1.0, rtol=1e-5)

    # The same network with two equal matrices: the tied gradient is the sum of theirs.
    untied = type(model)(
        **common(
            **({"maxout_units": TARGET_UNITS} if name != "lstm" else {"target_units": UNITS}),
            **({"attention_units": HIDDEN} if name == "rnnsearch" else {}),
            **({"layers": 2, "reverse_source": True} if name == "lstm" else {}),
        )
    )
    initialize(untied, *PAIRS.arrays(), seed=9)
    arrays = parameter_arrays(model)
    set_parameters(untied, {**arrays, "target_embedding.weight": arrays["output.weight"]})
    its_loss, its = parameter_gradients(untied, PAIRS.arrays())
    np.testing.assert_allclose(loss, its_loss, rtol=1e-4, atol=1e-5)
    both = its["output.weight"] + its["target_embedding.weight"]
    np.testing.assert_allclose(gradients["output.weight"], both, rtol=1e-3, atol=1e-5)


def test_tied_weights_are_updated_and_counted_once(tmp_path: Path) -> None:
    """w <- w - rate * gradient, however often the parameter is used in the model."""
    model = tied_model("rnnencdec")
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
    once = {id(one): int(np.prod(one.shape)) for _, one in named_parameters(model)}
    assert parameter_count(model) == sum(once.values())
