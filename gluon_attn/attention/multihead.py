"""Multi-head attention (Vaswani et al., 2017, sec. 3.2.2).

    head_i = softmax(Q_i K_i^T / sqrt(d_k)) V_i    Q_i = W_i^Q query, K_i = W_i^K memory, V_i = W_i^V memory
    MultiHead = W^O [head_1; ...; head_h]

The same equations are implemented in two forms that share their parameters. In training, all queries are processed at
once: one product computes the projections of all heads, the batch is the second axis, and MXNet's interleaved products
read each head in place, without transposing. In search, one query is processed at a time, and the
projected keys and values are cached by head.

As in the paper there are no biases by default. A bias of the keys would have no effect: it adds the same number to all
scores of a query. BERT (Devlin et al., 2019) has biases everywhere.

Masks are additive (:func:`~gluon_attn.attention.masks.additive_mask`) and are built once for all layers.
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import Xavier

from gluon_attn.attention.relative import RelativeKeys
from gluon_attn.errors import UsageError
from gluon_attn.typing import Operators, Tensor, Tensors


class HeadProjections(HybridBlock):
    """Several projections of one input for all heads, computed by one product.

    Args:
        heads: number of heads.
        width: width of a head in the output; narrower projections are padded with zeros.
        in_units: width of the input.
        widths: width of a head in each projection, by the projection's name.
        bias: whether to add a bias; then no projection may be narrower than ``width``.

    Call: x (..., in_units) -> (..., heads * projections * width); head by head, all projections in order.

    Raises:
        UsageError: if there is a bias and a narrower projection.
    """

    def __init__(
        self, heads: int, width: int, in_units: int, widths: dict[str, int], bias: bool = False, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        if bias and min(widths.values()) < width:
            raise UsageError(f"projections narrower than {width} units have no biases; choose {width} or no biases")
        self._heads, self._width, self._in_units, self._widths = heads, width, in_units, widths
        with self.name_scope():
            for name, own in widths.items():
                # The variance that Xavier's initialisation gives query, key and value of self-attention as one matrix.
                weight = self.params.get(name, shape=(heads * own, in_units), init=Xavier(magnitude=1.5))
                setattr(self, name, weight)
            if bias:
                self.bias = self.params.get("bias", shape=(heads * len(widths) * width,), init="zeros")

    def hybrid_forward(self, F: Operators, x: Tensor, bias: Tensor | None = None, **weights: Tensor) -> Tensor:
        parts = []
        for name, own in self._widths.items():
            parts.append(F.reshape(weights[name], (self._heads, own, self._in_units)))
            if own < self._width:
                parts.append(F.zeros((self._heads, self._width - own, self._in_units)))
        interleaved = F.reshape(F.concat(*parts, dim=1) if len(parts) > 1 else parts[0], (-3, 0))
        units = self._heads * len(self._widths) * self._width
        if bias is None:
            return F.FullyConnected(x, interleaved, no_bias=True, num_hidden=units, flatten=False)
        return F.FullyConnected(x, interleaved, bias, num_hidden=units, flatten=False)


class _MultiHead(HybridBlock):
    """Base class of self- and cross-attention."""

    def __init__(
        self, units: int, heads: int, key_units: int | None = None, bias: bool = False, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        if heads < 1 or units % heads:
            raise UsageError(f"{units} units cannot be divided among {heads} heads; choose a multiple of them")
        self._heads, self._width = heads, units // heads
        self._key_width = key_units or self._width
        if self._key_width > self._width:
            raise UsageError(f"keys of {key_units} units are wider than values of {self._width}; choose less")
        if bias and self._key_width < self._width:
            raise UsageError(f"keys of {key_units} units have no biases here; choose {self._width} units or no biases")
        self._bias = bias
        with self.name_scope():
            self._add_projections(units)
            self.output = nn.Dense(units, use_bias=bias, flatten=False, in_units=units)  # W^O

    def _add_projections(self, units: int) -> None:
        raise NotImplementedError

    def _projections(self, units: int, *names: str) -> HeadProjections:
        widths = {"query": self._key_width, "key": self._key_width, "value": self._width}
        return HeadProjections(self._heads, self._width, units, {name: widths[name] for name in names}, self._bias)

    def _weights(self, F: Operators, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Weights from MXNet's interleaved products, which divide by the square root of the width of a head."""
        if self._key_width < self._width:
            scores = scores * (self._width / self._key_width) ** 0.5
        return F.softmax(scores if mask is None else scores + mask, axis=-1)


class SelfAttention(_MultiHead):
    """Every token attends to the tokens of its own sequence.

    Args:
        units: width of tokens and output, *d_model*; values of a head have width ``units / heads``, *d_v*.
        heads: *h*.
        key_units: *d_k*, width of the queries and keys of a head; at most ``units / heads``, the default.
        bias: whether the projections and the output have biases.
        relative_length: number of tokens of every sequence, if scores also depend on the offset between two tokens
            (:class:`~gluon_attn.attention.relative.RelativeKeys`); None if they do not.

    Call: ``(tokens, mask=None) -> (context, weights)`` with tokens and context (length, batch, units), additive mask
    and weights (batch * heads, length, length).

    Raises:
        UsageError: if there are no heads or ``units`` is not a multiple of them, or if keys are wider than values, or
            narrower while there are biases.
    """

    def __init__(
        self,
        units: int,
        heads: int,
        key_units: int | None = None,
        bias: bool = False,
        relative_length: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(units, heads, key_units, bias, **parameters)
        with self.name_scope():
            self.relative = RelativeKeys(relative_length, self._width) if relative_length else None

    def _add_projections(self, units: int) -> None:
        self.projection = self._projections(units, "query", "key", "value")

    def hybrid_forward(self, F: Operators, tokens: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        heads, weights = self.attend(F, tokens, mask)
        return self.output(heads), weights

    def attend(self, F: Operators, tokens: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The same without the output projection: all heads side by side, (length, batch, units), and the weights."""
        projected = self.projection(tokens)
        scores = F.contrib.interleaved_matmul_selfatt_qk(projected, heads=self._heads)
        if self.relative is not None:
            scores = scores + self.relative(projected)
        weights = self._weights(F, scores, mask)
        return F.contrib.interleaved_matmul_selfatt_valatt(projected, weights, heads=self._heads), weights

    def step(
        self, F: Operators, token: Tensor, keys: Tensor, values: Tensor, mask: Tensor, place: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Attend from the next token to itself and to the tokens before it.

        Its key and value are not written into the cache here: copying the cache would take longer than attending to it.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            token: (batch, units).
            keys, values: (batch * heads, capacity, width), the cache; 0 at the entry of this token.
            mask: (1, capacity), additive; marks the entries up to that of this token.
            place: (1, capacity), 1 at the entry of this token, else 0.

        Returns:
            context (batch, units), and the key and the value of this token (batch * heads, 1, width).

        Raises:
            UsageError: if scores depend on relative positions, which have no step.
        """
        if self.relative is not None:
            raise UsageError("relative positions have no step for a single token; give the whole sequence")
        projected = F.reshape(self.projection(token), (-1, 3, self._width))
        query, key, value = (F.slice_axis(projected, axis=1, begin=part, end=part + 1) for part in range(3))
        query = query * self._key_width**-0.5
        # Products with one row, and with one column, are faster than sums and broadcasting.
        own = F.FullyConnected(query * key, F.ones((1, self._width)), no_bias=True, num_hidden=1)
        scores = F.batch_dot(query, keys, transpose_b=True) + F.expand_dims(F.dot(own, place), axis=1)
        weights = F.softmax(F.broadcast_add(scores, F.expand_dims(mask, axis=0)), axis=-1)
        of_token = F.expand_dims(F.dot(F.reshape(weights, (-3, 0)), place, transpose_b=True), axis=1)
        context = F.batch_dot(weights, values) + F.broadcast_mul(of_token, value)
        return self.output(F.reshape(context, (-1, self._heads * self._width))), key, value


class CrossAttention(_MultiHead):
    """Every token attends to a memory, the encoder's states. Arguments as in :class:`SelfAttention`, without
    ``relative_length``.

    Call: ``(tokens, memory, mask=None) -> (context, weights)`` with tokens and context (length, batch, units), memory
    (memory_length, batch, units), additive mask and weights (batch * heads, length, memory_length). Raises as
    :class:`SelfAttention`.
    """

    def _add_projections(self, units: int) -> None:
        self.query = self._projections(units, "query")
        self.memory = self._projections(units, "key", "value")

    def hybrid_forward(
        self, F: Operators, tokens: Tensor, memory: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        query, projected = self.query(tokens), self.memory(memory)
        scores = F.contrib.interleaved_matmul_encdec_qk(query, projected, heads=self._heads)
        weights = self._weights(F, scores, mask)
        context = F.contrib.interleaved_matmul_encdec_valatt(projected, weights, heads=self._heads)
        return self.output(context), weights

    def keys_and_values(self, F: Operators, memory: Tensor) -> Tensors:
        """Keys and values (batch, heads, memory_length, width) of a memory (memory_length, batch, units), computed once
        per sentence."""
        projected = F.reshape(self.memory(memory), (0, 0, self._heads, 2, self._width))
        projected = F.transpose(projected, axes=(3, 1, 2, 0, 4))
        return tuple(
            F.reshape(F.slice_axis(projected, axis=0, begin=part, end=part + 1), (-3, 0, 0, 0)) for part in (0, 1)
        )

    def step(
        self, F: Operators, tokens: Tensor, keys: Tensor, values: Tensor, mask: Tensor, beam: int
    ) -> tuple[Tensor, Tensor]:
        """Attend from one token of each hypothesis.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            tokens: (batch * beam, units).
            keys, values: from :meth:`keys_and_values`.
            mask: (batch, memory_length), additive.
            beam: number of hypotheses per sentence, all of which attend to the same memory.

        Returns:
            context (batch * beam, units), weights (batch * beam, heads, memory_length).
        """
        query = F.transpose(F.reshape(self.query(tokens), (-1, beam, self._heads, self._width)), axes=(0, 2, 1, 3))
        query, keys, values = (F.reshape(each, (-3, 0, 0)) for each in (query, keys, values))
        scores = F.batch_dot(query * self._key_width**-0.5, keys, transpose_b=True)
        scores = F.broadcast_add(F.reshape(scores, (-4, -1, self._heads, 0, 0)), F.reshape(mask, (0, 1, 1, -1)))
        weights = F.softmax(scores, axis=-1)
        context = F.batch_dot(F.reshape(weights, (-3, 0, 0)), values)
        context = F.transpose(F.reshape(context, (-4, -1, self._heads, 0, 0)), axes=(0, 2, 1, 3))
        context = F.reshape(context, (-3, -3))
        return self.output(context), F.reshape(F.transpose(weights, axes=(0, 2, 1, 3)), (-3, 0, 0))
