"""Language models: each word is predicted from the previous words."""

from __future__ import annotations

from typing import Any

from mxnet import nd
from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import Uniform

from gluon_attn.errors import UsageError
from gluon_attn.layers.graphs import Graphs
from gluon_attn.models.lstmn import LSTMN, SequenceEncoder
from gluon_attn.models.outputs import LanguageModelOutput
from gluon_attn.typing import Operators, Tensor, Tensors

NO_TARGET = -1
"""Target of steps without a word to predict. It is not an id of the vocabulary."""


class LanguageModel(HybridBlock):
    """p(next word | previous words), several steps per call, with the state carried from call to call (truncated
    backpropagation through time).

    Args:
        vocabulary_size: number of words.
        embedding_units: width of an embedding.
        encoder: encodes the embeddings; :class:`LSTMN` or :class:`FusedLSTM`.
        dropout: dropout rate of the embeddings and of the states.
        tied: whether the output layer's weights are the embeddings; needs ``embedding_units == encoder.units``.

    Call: ``(inputs, targets, *state) -> LanguageModelOutput``: inputs and targets (batch, steps) of int32, state from
    :meth:`start` or from the previous call. No gradient flows back into the given state. The target ``NO_TARGET`` marks
    steps after the last word of a stream: their loss is 0, and the state after them is undefined.

    Raises:
        UsageError: if the weights are tied and the widths differ.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        encoder: SequenceEncoder,
        dropout: float = 0.0,
        tied: bool = False,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if tied and encoder.units != embedding_units:
            raise UsageError(f"tied weights need equal widths, not {encoder.units} and {embedding_units} units")
        self._graphs = Graphs(self)
        with self.name_scope():
            self.embedding = nn.Embedding(
                vocabulary_size, embedding_units, weight_initializer=Uniform(0.1), sparse_grad=not tied
            )
            self.dropout = nn.Dropout(dropout)
            self.reader = encoder
            self.output = nn.Dense(
                vocabulary_size,
                flatten=False,
                in_units=encoder.units,
                params=self.embedding.params if tied else None,
            )

    @property
    def window(self) -> int | None:
        """Number of memories that a word can attend to; None without attention."""
        return getattr(self.reader, "window", None)

    def start(self, batch: int) -> tuple[nd.NDArray, ...]:
        """Return the state before the first word."""
        return tuple(nd.zeros(shape) for shape in self.reader.state_shapes(batch))

    def forward(self, inputs: nd.NDArray, targets: nd.NDArray, *state: nd.NDArray) -> LanguageModelOutput:
        carried = [array.detach() for array in state]
        loss, nll, *after = self._graphs(self._losses, inputs, targets, *carried, steps=inputs.shape[1])
        return LanguageModelOutput(loss, nll, tuple(after))

    def attend(self, inputs: nd.NDArray, *state: nd.NDArray) -> tuple[nd.NDArray, Tensors]:
        """Return the weights (batch, steps, window) of :meth:`LSTMN.unroll`, and the state after the last step.

        Raises:
            TypeError: if the encoder is a plain LSTM.
        """
        if not isinstance(self.reader, LSTMN):
            raise TypeError("a plain LSTM has no attention; only an LSTMN has weights")
        weights, *after = self._graphs(self._weights, inputs, *state, steps=inputs.shape[1])
        return weights, tuple(after)

    def _losses(self, F: Operators, inputs: Tensor, targets: Tensor, *state: Tensor, steps: int) -> Tensors:
        states, _, after = self.reader.unroll(F, self._embedded(inputs), steps, state)
        log_p = F.log_softmax(self.output(self.dropout(states)), axis=-1)
        # For NO_TARGET, `pick` returns ln p of the first word; the product sets it to 0.
        nll = -F.pick(log_p, targets, axis=-1) * (F.cast(targets, "float32") != NO_TARGET)
        return nll, nll, *after

    def _weights(self, F: Operators, inputs: Tensor, *state: Tensor, steps: int) -> Tensors:
        _, weights, after = self.reader.unroll(F, self._embedded(inputs), steps, state)
        return weights, *after

    def _embedded(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids))
