"""Transformer layers (Vaswani et al., 2017, sec. 3.1-3.3).

    post-norm (the paper)    x <- LayerNorm(x + Dropout(sublayer(x)))
    pre-norm                 x <- x + Dropout(sublayer(LayerNorm(x)))    Wang et al. (2019); Xiong et al. (2020)

Sublayers are self-attention, in decoders also attention to the encoder's states, and a feed-forward network with one
hidden layer. Sequences are (length, batch, units), the layout of MXNet's interleaved attention products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.multihead import CrossAttention, SelfAttention
from gluon_attn.errors import UsageError
from gluon_attn.layers.normalization import LayerNorm
from gluon_attn.typing import Operators, Tensor

NORMS = ("post", "pre")


class Residual(HybridBlock):
    """Residual connection around a sublayer, with layer normalisation and dropout.

    Args:
        units: width.
        dropout: dropout rate of the sublayer's output (sec. 5.4).
        norm: ``post`` or ``pre``.

    Raises:
        UsageError: if ``norm`` is unknown.
    """

    def __init__(self, units: int, dropout: float, norm: str, **parameters: Any) -> None:
        super().__init__(**parameters)
        if norm not in NORMS:
            raise UsageError(f"norm {norm!r} is unknown; choose one of {', '.join(NORMS)}")
        self._is_pre = norm == "pre"
        with self.name_scope():
            self.norm = LayerNorm(units)
            self.dropout = nn.Dropout(dropout)

    def around(self, x: Tensor, sublayer: Callable[[Tensor], tuple[Tensor, Any]]) -> tuple[Tensor, Any]:
        """Apply a sublayer that returns its output and anything else; return the new x and the latter."""
        output, more = sublayer(self.input(x))
        return self.add(x, output), more

    def input(self, x: Tensor) -> Tensor:
        """The input of the sublayer."""
        return self.norm(x) if self._is_pre else x

    def add(self, x: Tensor, output: Tensor) -> Tensor:
        """The new x, given the output of the sublayer."""
        total = x + self.dropout(output)
        return total if self._is_pre else self.norm(total)


class FeedForward(HybridBlock):
    """W_2 max(0, W_1 x + b_1) + b_2 (eq. 2).

    Args:
        units: width of input and output.
        hidden_units: width of the hidden layer.
        activation: ``relu``, or ``gelu`` (Hendrycks and Gimpel, 2016).
    """

    def __init__(self, units: int, hidden_units: int, activation: str = "relu", **parameters: Any) -> None:
        super().__init__(**parameters)
        self._activation = activation
        with self.name_scope():
            self.hidden = nn.Dense(hidden_units, flatten=False, in_units=units)
            self.output = nn.Dense(units, flatten=False, in_units=hidden_units)

    def hybrid_forward(self, F: Operators, x: Tensor) -> Tensor:
        hidden = self.hidden(x)
        if self._activation == "gelu":  # a tenth of the time of a GELU composed of erf
            return self.output(F.LeakyReLU(hidden, act_type="gelu"))
        return self.output(F.Activation(hidden, act_type=self._activation))


class EncoderLayer(HybridBlock):
    """Encoder layer: self-attention and a feed-forward network.

    Args:
        units, heads, key_units, bias, relative_length: see :class:`SelfAttention`.
        hidden_units, activation: see :class:`FeedForward`.
        dropout, norm: see :class:`Residual`.

    Call: ``(x, mask=None) -> (x, weights)`` with x (length, batch, units), additive mask and weights (batch * heads,
    length, length).
    """

    def __init__(
        self,
        *,
        units: int,
        heads: int,
        hidden_units: int,
        key_units: int | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        norm: str = "post",
        bias: bool = False,
        relative_length: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.attention = SelfAttention(units, heads, key_units, bias, relative_length)
            self.attention_residual = Residual(units, dropout, norm)
            self.feed_forward = FeedForward(units, hidden_units, activation)
            self.feed_forward_residual = Residual(units, dropout, norm)

    def hybrid_forward(self, F: Operators, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x, weights = self.attention_residual.around(x, lambda x: self.attention(x, *_given(mask)))
        x, _ = self.feed_forward_residual.around(x, lambda x: (self.feed_forward(x), None))
        return x, weights

    def at(
        self, F: Operators, x: Tensor, mask: Tensor | None, places: Sequence[Tensor]
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """The outputs at some places only: for a last layer of which not all outputs are read. Every token is attended
        to; what follows attention is computed where it is needed.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            x, mask: as in a call.
            places: each (places,), the index ``position * batch + row`` of a token.

        Returns:
            the outputs (places, units) at each of the places, and the weights of a call.
        """

        def taken(values: Tensor, at: Tensor) -> Tensor:
            return F.take(F.reshape(values, (-3, 0)), at, axis=0)

        heads, weights = self.attention.attend(F, self.attention_residual.input(x), mask)
        return tuple(self._finish(taken(x, at), taken(heads, at)) for at in places), weights

    def _finish(self, x: Tensor, heads: Tensor) -> Tensor:
        """What follows attention."""
        x = self.attention_residual.add(x, self.attention.output(heads))
        return self.feed_forward_residual.around(x, lambda x: (self.feed_forward(x), None))[0]


class DecoderLayer(HybridBlock):
    """Decoder layer: masked self-attention, attention to a memory, and a feed-forward network. Arguments as in
    :class:`EncoderLayer`, without biases and relative positions.

    Call: ``(x, memory, mask, memory_mask) -> (x, weights, memory_weights)`` with x (length, batch, units), memory
    (memory_length, batch, units), additive mask and weights (batch * heads, length, length), additive memory_mask and
    memory_weights (batch * heads, length, memory_length).
    """

    def __init__(
        self,
        *,
        units: int,
        heads: int,
        hidden_units: int,
        key_units: int | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        norm: str = "post",
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.attention = SelfAttention(units, heads, key_units)
            self.attention_residual = Residual(units, dropout, norm)
            self.memory_attention = CrossAttention(units, heads, key_units)
            self.memory_residual = Residual(units, dropout, norm)
            self.feed_forward = FeedForward(units, hidden_units, activation)
            self.feed_forward_residual = Residual(units, dropout, norm)

    def hybrid_forward(
        self, F: Operators, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        x, weights = self.attention_residual.around(x, lambda x: self.attention(x, mask))
        x, memory_weights = self.memory_residual.around(x, lambda x: self.memory_attention(x, memory, memory_mask))
        x, _ = self.feed_forward_residual.around(x, lambda x: (self.feed_forward(x), None))
        return x, weights, memory_weights

    def step(
        self,
        F: Operators,
        x: Tensor,
        cache: tuple[Tensor, Tensor],
        memory: tuple[Tensor, Tensor],
        masks: tuple[Tensor, Tensor],
        place: Tensor,
        beam: int,
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Decode the next token of each hypothesis.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            x: (batch * beam, units).
            cache: keys and values of the previous tokens, see :meth:`SelfAttention.step`.
            memory: keys and values of the memory, see :meth:`CrossAttention.keys_and_values`.
            masks: masks of the cache and of the memory.
            place: the entry of the token in the cache, see :meth:`SelfAttention.step`.
            beam: number of hypotheses per sentence.

        Returns:
            x; memory_weights (batch * beam, heads, memory_length); key and value of the token, for the cache.
        """

        def attend(x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            context, key, value = self.attention.step(F, x, *cache, masks[0], place)
            return context, (key, value)

        x, new = self.attention_residual.around(x, attend)
        x, weights = self.memory_residual.around(x, lambda x: self.memory_attention.step(F, x, *memory, masks[1], beam))
        x, _ = self.feed_forward_residual.around(x, lambda x: (self.feed_forward(x), None))
        return x, weights, new


def _given(mask: Tensor | None) -> tuple[Tensor, ...]:
    return () if mask is None else (mask,)
