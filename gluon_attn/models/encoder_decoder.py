"""Base class of all encoder-decoders: p(target | source) token by token, by the same code in training and in search."""

from __future__ import annotations

from typing import Any

from mxnet import nd
from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import Normal

from gluon_attn.errors import UsageError
from gluon_attn.layers.graphs import Graphs
from gluon_attn.layers.lengths import checked_lengths
from gluon_attn.models.outputs import TranslationOutput
from gluon_attn.typing import Operators, Tensor, Tensors


class EncoderDecoder(HybridBlock):
    """A network that encodes a source, a sentence or something else, and predicts the target token by token.

    A subclass defines ``encode`` and ``decode``. Training unrolls ``decode`` over the target; search calls it for one
    token at a time, for all hypotheses of a beam. They exchange the memory, whose first axis is the batch, and the
    state, whose first axis is the hypotheses, with those of one sentence adjacent.

    Args:
        source_vocabulary, target_vocabulary: number of tokens, including the special ones; None for a source without
            tokens and embeddings, such as an image.
        padding: id of the padding after a target.
        source_units, target_units: width of an embedding.
        feature_units: width of the features that ``decode`` returns for the output layer.
        dropout: dropout rate of both embeddings.
        smoothing: probability mass that label smoothing distributes uniformly over the vocabulary (Szegedy et al.,
            2016, sec. 7).
        tied: whether the output layer's weights are the target embeddings; needs ``feature_units == target_units``.
        shared: whether source and target embeddings are one matrix; needs one vocabulary and ``source_units ==
            target_units``.

    Call: ``(source, source_length, inputs, targets) -> TranslationOutput``: source (batch, source_length) of int32, or
    any other input of the subclass's ``encode``; source_length (batch,); inputs (batch, steps), the target preceded by
    the begin-of-sentence token; targets (batch, steps), the target followed by the end-of-sentence token; padded.

    Raises:
        UsageError: if widths or vocabularies that must be equal are not.
        ValueError: when called, if a source has no tokens or more than there are ids.
    """

    def __init__(
        self,
        *,
        source_vocabulary: int | None,
        target_vocabulary: int,
        padding: int,
        source_units: int,
        target_units: int,
        feature_units: int,
        dropout: float = 0.0,
        smoothing: float = 0.0,
        tied: bool = False,
        shared: bool = False,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if shared and source_vocabulary != target_vocabulary:
            counts = f"{source_vocabulary} and {target_vocabulary}"
            raise UsageError(f"shared embeddings need one vocabulary, not {counts} tokens")
        if shared and source_units != target_units:
            raise UsageError(f"shared embeddings need equal widths, not {source_units} and {target_units} units")
        if tied and feature_units != target_units:
            raise UsageError(f"tied weights need equal widths, not {feature_units} features and {target_units} units")
        self._graphs = Graphs(self)
        self._vocabulary, self._padding, self._smoothing = target_vocabulary, padding, smoothing
        with self.name_scope():
            # Vectors of length about 1. Initializers that depend on the shape make the embeddings of a large
            # vocabulary tiny, and attention then takes epochs longer to distinguish positions.
            if source_vocabulary is not None:
                self.source_embedding = nn.Embedding(
                    source_vocabulary,
                    source_units,
                    weight_initializer=Normal(source_units**-0.5),
                    sparse_grad=not (shared and tied),
                )
            self.target_embedding = nn.Embedding(
                target_vocabulary,
                target_units,
                weight_initializer=Normal(target_units**-0.5),
                sparse_grad=not tied,
                params=self.source_embedding.params if shared else None,
            )
            self.embedding_dropout = nn.Dropout(dropout)
            self.output = nn.Dense(
                target_vocabulary,
                flatten=False,
                in_units=feature_units,
                params=self.target_embedding.params if tied else None,
            )

    def encode(self, F: Operators, source: Tensor, source_length: Tensor) -> tuple[Tensors, Tensors]:
        """Encode source sentences: ``(memory, state)``, the arrays that are constant over target tokens and those that
        change with each target token.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            source: (batch, source_length) of int32.
            source_length: (batch,).
        """
        raise NotImplementedError

    def decode(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, steps: int, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        """Read ``steps`` target tokens and compute the features that predict the token after each.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            embedded: (batch * beam, steps, target_units), embeddings of the previous tokens.
            memory, state: from ``encode`` or from the previous call.
            steps: number of tokens.
            beam: number of hypotheses per sentence, all of which attend to the same memory.

        Returns:
            features (batch * beam, steps, feature_units) for the output layer; weights (batch * beam, steps,
            memory_length), or None without attention; the state after the last token.
        """
        raise NotImplementedError

    def forward(
        self, source: nd.NDArray, source_length: nd.NDArray, inputs: nd.NDArray, targets: nd.NDArray
    ) -> TranslationOutput:
        source_length = checked_lengths(source_length, source.shape[1])
        arrays = (source, source_length, inputs, targets)
        return TranslationOutput(*self._graphs(self._losses, *arrays, steps=inputs.shape[1]))

    def start(self, source: nd.NDArray, source_length: nd.NDArray) -> tuple[Tensors, Tensors]:
        """Encode source sentences: ``(memory, state)`` for :meth:`step`, with one hypothesis per sentence."""
        source_length = checked_lengths(source_length, source.shape[1])
        memory, state = self._graphs(self.encode, source, source_length)
        return tuple(memory), tuple(state)

    def step(
        self, tokens: nd.NDArray, memory: Tensors, state: Tensors
    ) -> tuple[nd.NDArray, nd.NDArray | None, Tensors]:
        """Predict the next token.

        Args:
            tokens: (batch * beam,) of int32, the previous tokens; begin-of-sentence at first.
            memory, state: from :meth:`start` or from the previous call.

        Returns:
            ln p (batch * beam, target_vocabulary); weights (batch * beam, memory_length), or None without attention;
            the state after the token.
        """
        beam = len(tokens) // len(memory[0]) if memory else 1
        arrays = (tokens, *memory, *state)
        log_p, state, *weights = self._graphs(self._step, *arrays, of_memory=len(memory), beam=beam)
        return log_p, weights[0] if weights else None, tuple(state)

    def align(self, source: nd.NDArray, source_length: nd.NDArray, inputs: nd.NDArray) -> nd.NDArray:
        """Return the attention weights (batch, steps, memory_length) for given targets: the alignment.

        Raises:
            UsageError: if the network has no attention.
        """
        source_length = checked_lengths(source_length, source.shape[1])
        weights: nd.NDArray = self._graphs(self._weights, source, source_length, inputs, steps=inputs.shape[1])
        return weights

    def _losses(
        self, F: Operators, source: Tensor, source_length: Tensor, inputs: Tensor, targets: Tensor, *, steps: int
    ) -> tuple[Tensor, Tensor]:
        memory, state = self.encode(F, source, source_length)
        features, _, _ = self.decode(F, self._embedded(inputs), memory, state, steps, beam=1)
        return self._of_tokens(F, features, targets)

    def _of_tokens(self, F: Operators, features: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Smoothed and plain -ln p (batch, steps) of the targets, 0 on padding."""
        log_p = F.log_softmax(self.output(features), axis=-1)
        real = F.cast(targets, "float32") != self._padding
        nll = -F.pick(log_p, targets, axis=-1) * real
        if not self._smoothing:
            return nll, nll
        # A product with ones costs a tenth of a sum over the vocabulary.
        total = F.FullyConnected(log_p, F.ones((1, self._vocabulary)), no_bias=True, num_hidden=1, flatten=False)
        spread = -F.reshape(total, (0, -1)) * real / self._vocabulary
        return (1.0 - self._smoothing) * nll + self._smoothing * spread, nll

    def _step(self, F: Operators, tokens: Tensor, *arrays: Tensor, of_memory: int, beam: int) -> Tensors:
        embedded = self._embedded(F.expand_dims(tokens, axis=1))
        features, weights, state = self.decode(F, embedded, arrays[:of_memory], arrays[of_memory:], 1, beam)
        log_p = F.log_softmax(F.reshape(self.output(features), (-3, 0)), axis=-1)
        return (log_p, state) if weights is None else (log_p, state, F.reshape(weights, (-3, 0)))

    def _weights(self, F: Operators, source: Tensor, source_length: Tensor, inputs: Tensor, *, steps: int) -> Tensor:
        memory, state = self.encode(F, source, source_length)
        _, weights, _ = self.decode(F, self._embedded(inputs), memory, state, steps, beam=1)
        if weights is None:
            raise UsageError("this network has no attention, so it has no alignments; choose one with attention")
        return weights

    def _embedded(self, ids: Tensor) -> Tensor:
        return self.embedding_dropout(self.target_embedding(ids))
