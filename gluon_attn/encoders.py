"""Encoders that several models share."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn, rnn

_CELLS = {"gru": rnn.GRU, "lstm": rnn.LSTM}


class BidirectionalEncoder(HybridBlock):
    """A stack of bidirectional recurrent layers whose states do not depend on padding.

    A fused bidirectional layer starts its backward pass in the padding, so its states change with the length of the
    batch. Here the backward direction reads the sentence reversed by its own length. Dropout stands between single
    layers as a block of its own, because the ``dropout`` of MXNet's fused layers does nothing on a processor with
    oneDNN.

    Args:
        cell: ``gru`` or ``lstm``.
        units: width of one direction.
        layers: number of layers.
        in_units: width of the input.
        dropout: dropout before every layer but the first.

    Call: ``(sequence, valid_length) -> (states, last)`` with sequence (batch, length, in_units), valid_length (batch,),
    states (batch, length, 2 * units), and last (batch, 2 * units): the forward state of the last token beside the
    backward state of the first. States on padding are undefined; mask them.
    """

    def __init__(
        self, cell: str, units: int, layers: int, in_units: int, dropout: float = 0.0, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
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

    def hybrid_forward(self, F: Any, sequence: Any, valid_length: Any) -> tuple[Any, Any]:
        states = F.transpose(sequence, axes=(1, 0, 2))  # the fused layers run time first
        reversal = _reversal(F, states, valid_length)
        for index, (forward, backward) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            if index:
                states = self.dropout(states)
            ahead = forward(states)
            back = backward(_rows(F, states, reversal))
            behind = _rows(F, back, reversal)
            states = F.concat(ahead, behind, dim=2)
        # Both directions end at the last token that they read: reversed, the backward one ends there too.
        last = F.SequenceLast(F.concat(ahead, back, dim=2), valid_length, use_sequence_length=True)
        return F.transpose(states, axes=(1, 0, 2)), last


def _reversal(F: Any, states: Any, valid_length: Any) -> Any:
    """Where each state of the reversed sentences comes from: (length, batch), rows of the flattened states.

    With :func:`_rows` the same as ``SequenceReverse``, padding left where it is, at a tenth of its cost.
    """
    rows = F.contrib.arange_like(F.reshape(F.slice_axis(states, axis=2, begin=0, end=1), (-1,)))
    rows = F.reshape_like(rows, states, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
    position = F.expand_dims(F.contrib.arange_like(states, axis=0), axis=1)
    length = F.expand_dims(valid_length, axis=0)
    steps = F.broadcast_sub(length - 1, 2 * position) * F.broadcast_lesser(position, length)
    batch = F.cast(F.size_array(valid_length), "float32")  # rows from one time to the next
    return F.BlockGrad(rows + F.broadcast_mul(steps, F.expand_dims(batch, axis=0)))


def _rows(F: Any, states: Any, rows: Any) -> Any:
    """The states (length, batch, units) that stand at ``rows`` (length, batch) of the flattened states."""
    return F.take(F.reshape(states, (-3, 0)), rows, axis=0)
