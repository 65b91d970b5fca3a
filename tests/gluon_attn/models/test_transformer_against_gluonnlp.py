"""Encoder and decoder of the Transformer are GluonNLP's, with the same parameters and masks.

Both multiply embeddings by sqrt(units) and add positions. GluonNLP's sines and cosines have other angles than the
paper's: in the paper a sine and a cosine share a frequency, there each column has its own. Our network therefore has
learned positions here, set to its table. Left out are dropout, and the layer normalisation of the inputs
(``norm_inputs``), a default of GluonNLP that the paper does not have. GluonNLP sets the outputs at padding to zero, and
we do not, since nothing reads them; real tokens are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gluonnlp.model.transformer import TransformerDecoder, TransformerEncoder
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.layers.test_transformer import DECODER_LAYER, ENCODER_LAYER, give
from tests.gluon_attn.models.encoder_decoders import HIDDEN, PADDING, PAIRS, UNITS, model_of

LENGTH = 8
SIZES: dict[str, Any] = {"units": UNITS, "hidden_size": HIDDEN, "num_heads": 2, "max_length": LENGTH}
SIZES |= {"norm_inputs": False, "output_attention": True}
ARRAYS = PAIRS.arrays(more_source=1, more_target=2, garbage=7)


def give_stack(theirs: Any, ours: HybridBlock, positions: HybridBlock, names: dict[str, str]) -> None:
    """Copy the parameters of all layers into GluonNLP's stack, and its positions into ours."""
    numbered = {
        f"{layer}.{its}": f"{layer}.{own}"
        for layer in range(len(theirs.transformer_cells))
        for its, own in names.items()
    }
    give(theirs.transformer_cells, ours, numbered)
    positions.table.set_data(theirs.position_weight.data())
    assert len(named_parameters(theirs)) == len(numbered) + 1, "it has more than layers and positions"


def outputs_of(encoder: Any, decoder: Any, model: Any) -> tuple[nd.NDArray, nd.NDArray, tuple[list[nd.NDArray], ...]]:
    """GluonNLP's states of the encoder (batch, source_length, units) and of the decoder (batch, steps, units), and all
    weights in the order of :meth:`Transformer.attend`."""
    source, length, inputs, targets = ARRAYS
    states, of_encoder = encoder(model.source_embedding(source), None, length)
    memory, steps = decoder.init_state_from_encoder(states, length), (targets != PADDING).sum(axis=1)
    features, _, of_decoder = decoder(model.target_embedding(inputs), memory, steps.astype("float32"))
    weights = [one for (one,) in of_encoder], [one for one, _ in of_decoder], [one for _, one in of_decoder]
    return states, features, weights


@pytest.mark.parametrize("hybridized", [False, True])
def test_states_features_and_weights_are_gluonnlps(hybridized: bool) -> None:
    layers = {"encoder_layers": 2, "decoder_layers": 3}
    model: Any = model_of("transformer", positions="learned", length=LENGTH, **layers)
    encoder, decoder = TransformerEncoder(num_layers=2, **SIZES), TransformerDecoder(num_layers=3, **SIZES)
    encoder.initialize()
    decoder.initialize()
    outputs_of(encoder, decoder, model)  # shapes are known after the first call
    give_stack(encoder, model.encoder, model.source_positions, ENCODER_LAYER)
    give_stack(decoder, model.decoder, model.target_positions, DECODER_LAYER)
    states, features, weights = outputs_of(encoder, decoder, model)

    model.hybridize(hybridized)
    source, length, inputs, targets = ARRAYS
    memory, _ = model.encode(nd, source, length)
    own_features, _, _ = model.decode(nd, model.target_embedding(inputs), memory, (), inputs.shape[1], 1)
    own_states, own_weights = memory[0].swapaxes(0, 1), model.attend(source, length, inputs)
    for row, target in enumerate(PAIRS.targets):
        tokens, steps = len(PAIRS.sources[row]), len(target) + 1
        assert_equal(own_states[row, :tokens], states[row, :tokens])
        assert_equal(own_features[row, :steps], features[row, :steps])
        for ours, theirs, queries in zip(own_weights, weights, (tokens, steps, steps), strict=True):
            for one, other in zip(ours, theirs, strict=True):
                assert_equal(one[row, :, :queries], other[row, :, :queries])
    # The loss is that of training, which has a graph of its own.
    nll = -nd.pick(nd.log_softmax(model.output(features)), targets) * (targets != PADDING).astype("float32")
    assert_equal(model(*ARRAYS).nll, nll)


def assert_equal(ours: nd.NDArray, theirs: nd.NDArray) -> None:
    np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-4, atol=1e-5)
