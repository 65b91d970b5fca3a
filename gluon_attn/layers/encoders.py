"""Recurrent encoders that several models share."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn, rnn
from mxnet.initializer import LSTMBias

from gluon_attn.attention.masks import token_mask
from gluon_attn.errors import UsageError, check_layers
from gluon_attn.typing import Operators, Tensor

_CELLS = {"gru": rnn.GRU, "lstm": rnn.LSTM}


class BidirectionalEncoder(HybridBlock):
    """A stack of bidirectional recurrent layers whose states do not depend on padding.

    In a fused bidirectional layer the backward direction starts in the padding, so its states depend on the length of
    the batch. Here it reads each sentence reversed within its own length. Dropout between layers is a separate block,
    because the ``dropout`` of MXNet's fused layers has no effect on a CPU with oneDNN.

    Args:
        cell: ``gru`` or ``lstm``.
        units: width of one direction.
        layers: number of layers.
        in_units: width of the input.
        dropout: dropout before every layer but the first.

    Call: ``(sequence, valid_length) -> (states, last)`` with sequence (batch, length, in_units), valid_length (batch,),
    states (batch, length, 2 * units), and last (batch, 2 * units): the forward state of the last token next to the
    backward state of the first. States on padding are undefined; mask them. Lengths must be 1 to ``length``
    (:func:`~gluon_attn.layers.lengths.checked_lengths`).

    Raises:
        UsageError: if the cell is unknown, or if there are no layers.
    """

    def __init__(
        self, cell: str, units: int, layers: int, in_units: int, dropout: float = 0.0, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        if cell not in _CELLS:
            raise UsageError(f"cell {cell!r} is unknown; choose one of {', '.join(_CELLS)}")
        check_layers(layers)
        layer = _CELLS[cell]
        with self.name_scope():
            self.dropout = nn.Dropout(dropout)
            self.forwards = nn.HybridSequential(prefix="forward_")
            self.backwards = nn.HybridSequential(prefix="backward_")
            for index in range(layers):
                width = in_units if index == 0 else 2 * units
                with self.forwards.name_scope():
                    self.forwards.add(layer(units, input_size=width))
                with self.backwards.name_scope():
                    self.backwards.add(layer(units, input_size=width))

    def hybrid_forward(self, F: Operators, sequence: Tensor, valid_length: Tensor) -> tuple[Tensor, Tensor]:
        states = F.transpose(sequence, axes=(1, 0, 2))  # fused layers read (length, batch, units)
        reversal = _reversal(F, states, valid_length)
        pairs = _pair_rows(F, reversal)
        for index, (forward, backward) in enumerate(zip(self.forwards, self.backwards, strict=True), start=1):
            forward_states = forward(states)
            backward_states = backward(_take_rows(F, states, reversal))
            if index < len(self.forwards):
                states = self.dropout(_paired(F, forward_states, backward_states, pairs))
        # Both directions are in reading order, so the last states of both are at the same position.
        directions = forward_states, backward_states
        last = (F.SequenceLast(one, valid_length, use_sequence_length=True) for one in directions)
        return _paired(F, *directions, F.transpose(pairs, axes=(1, 0, 2))), F.concat(*last, dim=1)


def _reversal(F: Operators, states: Tensor, valid_length: Tensor) -> Tensor:
    """Source row, in the flattened states, of each state of the reversed sentences: (length, batch).

    Together with :func:`_take_rows` this equals ``SequenceReverse``, which keeps padding in place, in a tenth of the
    time.
    """
    rows = F.contrib.arange_like(F.reshape(F.slice_axis(states, axis=2, begin=0, end=1), (-1,)))
    rows = F.reshape_like(rows, states, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
    position = F.expand_dims(F.contrib.arange_like(states, axis=0), axis=1)
    length = F.expand_dims(valid_length, axis=0)
    steps = F.broadcast_sub(length - 1, 2 * position) * F.broadcast_lesser(position, length)
    batch = F.cast(F.size_array(valid_length), "float32")  # rows per time step
    return F.BlockGrad(rows + F.broadcast_mul(steps, F.expand_dims(batch, axis=0)))


def _take_rows(F: Operators, states: Tensor, rows: Tensor) -> Tensor:
    """Take ``rows`` (length, batch) of the flattened states: (length, batch, units)."""
    return F.take(F.reshape(states, (-3, 0)), rows, axis=0)


def _pair_rows(F: Operators, reversal: Tensor) -> Tensor:
    """Rows of the two states of each token (length, batch, 2) in the flattened states of both directions, forward
    states first."""
    forward = F.reshape_like(F.contrib.arange_like(F.reshape(reversal, (-1,))), reversal)
    states = F.cast(F.reshape(F.size_array(reversal), (1, 1)), "float32")
    return F.BlockGrad(F.stack(forward, F.broadcast_add(reversal, states), axis=2))


def _paired(F: Operators, forward: Tensor, backward: Tensor, pairs: Tensor) -> Tensor:
    """Concatenate the two states of each token in the order of ``pairs``: (length, batch, 2 * units), or batch first.

    A single copy of rows reorders the backward states, concatenates and transposes. Its backward pass takes a fifth of
    the time of that of ``concat`` along the units.
    """
    rows = F.reshape(F.concat(forward, backward, dim=0), (-3, 0))
    return F.reshape(F.take(rows, pairs, axis=0), (0, 0, -3))


class StatePreservingLSTM(HybridBlock):
    """LSTM layer that keeps its state unchanged on padding, so that the final state is that of the last token.

    A fused layer returns the cell state of the batch's last step only. Here an additional input, 1 on padding, closes
    the input gate and opens the forget gate, with fixed weights so large that the gates are exactly 0 and 1.

    Args:
        units: width of the states.
        in_units: width of the input.

    Call: ``(sequence, padding) -> (states, hidden, cell)``, time first: sequence (length, batch, in_units), padding
    (length, batch, 1) of 0/1, states (length, batch, units), hidden and cell (batch, units) of the last token. States
    on padding are undefined; mask them.
    """

    def __init__(self, units: int, in_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._units = units
        with self.name_scope():
            self.i2h_weight = self.params.get("i2h_weight", shape=(4 * units, in_units))
            self.h2h_weight = self.params.get("h2h_weight", shape=(4 * units, units))
            # The bias of the forget gate, second of the four, is initialised to 1 (Jozefowicz et al., 2015).
            self.i2h_bias = self.params.get("i2h_bias", shape=(4 * units,), init=LSTMBias(1.0))
            self.h2h_bias = self.params.get("h2h_bias", shape=(4 * units,), init="zeros")

    def hybrid_forward(
        self,
        F: Operators,
        sequence: Tensor,
        padding: Tensor,
        i2h_weight: Tensor,
        h2h_weight: Tensor,
        i2h_bias: Tensor,
        h2h_bias: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        column = F.ones((self._units, 1))
        # Rows of the weights: input, forget, cell, output.
        gates = F.concat(-_SATURATED * column, _SATURATED * column, 0.0 * column, 0.0 * column, dim=0)
        weight = F.concat(i2h_weight, gates, dim=1)
        vectors = (F.reshape(array, (-1,)) for array in (weight, h2h_weight, i2h_bias, h2h_bias))
        zeros = F.broadcast_axis(F.zeros_like(F.slice_axis(padding, axis=0, begin=0, end=1)), axis=2, size=self._units)
        states, _, cell = F.RNN(
            F.concat(sequence, padding, dim=2),
            F._internal._rnn_param_concat(*vectors, dim=0),
            zeros,
            zeros,
            state_size=self._units,
            num_layers=1,
            mode="lstm",
            state_outputs=True,
        )
        tokens = F.reshape(F.sum(1.0 - padding, axis=0), (-1,))
        hidden = F.SequenceLast(states, tokens, use_sequence_length=True)
        return states, hidden, F.reshape(cell, (-3, 0))


_SATURATED = 1e4  # its sigmoid is exactly 1, that of its negative exactly 0


class LSTMEncoder(HybridBlock):
    """A stack of LSTM layers that reads each sentence forwards or reversed and returns all states and the final ones.

    Args:
        units: width of a layer.
        layers: number of layers.
        in_units: width of the input.
        reverse_source: read each sentence from its last token to its first (Sutskever et al., 2014, sec. 3.3).
        dropout: dropout before every layer but the first.

    Call: ``(sequence, valid_length) -> (states, hidden, cells)`` with sequence (batch, length, in_units), states
    (batch, length, units) in sentence order even if it is read reversed, and for each layer hidden and cell (batch,
    units) after the last token read. States on padding are undefined; mask them. Lengths must be 1 to ``length``
    (:func:`~gluon_attn.layers.lengths.checked_lengths`).
    """

    def __init__(
        self,
        units: int,
        layers: int,
        in_units: int,
        *,
        reverse_source: bool = False,
        dropout: float = 0.0,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        self._reverse_source = reverse_source
        with self.name_scope():
            self.dropout = nn.Dropout(dropout)
            self.layers = nn.HybridSequential()
            with self.layers.name_scope():
                for index in range(layers):
                    self.layers.add(StatePreservingLSTM(units, in_units if index == 0 else units))

    def hybrid_forward(
        self, F: Operators, sequence: Tensor, valid_length: Tensor
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        padding = F.expand_dims(F.transpose(1.0 - token_mask(F, sequence, valid_length)), axis=2)
        states = F.transpose(sequence, axes=(1, 0, 2))
        reversal = _reversal(F, states, valid_length) if self._reverse_source else None
        if self._reverse_source:
            states = _take_rows(F, states, reversal)
        hidden, cells = [], []
        for index, layer in enumerate(self.layers):
            if index:
                states = self.dropout(states)
            states, last_hidden, last_cell = layer(states, padding)
            hidden.append(last_hidden)
            cells.append(last_cell)
        if self._reverse_source:
            states = _take_rows(F, states, reversal)
        return F.transpose(states, axes=(1, 0, 2)), hidden, cells
