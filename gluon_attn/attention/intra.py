"""Attention within one text, from a word to the memories before it (Cheng, Dong and Lapata, 2016, "Long short-term
memory-networks for machine reading", sec. 3.1)."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import additive_mask
from gluon_attn.decoders import StepLSTM, each_step

Arrays = tuple[Any, ...]


class IntraAttention(HybridBlock):
    """a_i = v . tanh(W_h h_i + W_x x_t + W_h~ h~_{t-1}); weights = softmax over the memories i (eq. 4 and 5).

    Args:
        units: width of the hidden layer.
        in_units: width of a word x.
        state_units: width of a hidden state h and of h~, the weighted sum of them.

    Call, for one step: ``(query, keys[, gap]) -> weights`` with query (batch, units), the sum of W_x x_t of
    :meth:`words` and W_h~ h~_{t-1} of ``attended``; keys (batch, memories, units) of ``key``; gap (batch, memories),
    what is added to the scores so that a place without memory gets no weight; weights (batch, memories).
    """

    def __init__(self, units: int, in_units: int, state_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.word = nn.Dense(units, use_bias=False, flatten=False, in_units=in_units)
            self.attended = nn.Dense(units, use_bias=False, in_units=state_units)
            self.key = nn.Dense(units, use_bias=False, flatten=False, in_units=state_units)
            self.hidden = nn.Activation("tanh")
            self.score = nn.Dense(1, use_bias=False, flatten=False, in_units=units)

    def words(self, sequence: Any) -> Any:
        """W_x x, for all steps at once: sequence (batch, steps, in_units)."""
        return self.word(sequence)

    def hybrid_forward(self, F: Any, query: Any, keys: Any, gap: Any = None) -> Any:
        # A product with ones repeats the query for every key; its backward pass is a product too, not a slow sum.
        ones = F.ones_like(F.slice_axis(keys, axis=2, begin=0, end=1))
        sums = F.batch_dot(ones, F.expand_dims(query, axis=1)) + keys
        score = F.reshape(self.score(self.hidden(sums)), (0, -1))
        return F.softmax(score if gap is None else score + gap, axis=-1)


class LSTMN(HybridBlock):
    """A long short-term memory-network: an LSTM whose state before a word is what it attends to of all states before.

        [h~_t; c~_t] = sum of weights_i [h_i; c_i]      i, f, o = sigmoid(W [h~_t, x_t] + b)    g = tanh(same)
        c_t = f c~_t + i g    h_t = o tanh(c_t)         (eq. 6 to 9; h~ and c~ are 0 before the first word)

    The paper's tape holds every state before; here it holds the last ``window``, so that a step costs the same however
    long the stream. With a window as long as the text, or longer, the two are the same network.

    What no step changes is computed once for all of them (W_x x and the words' part of the gates), W_h h_i once for
    each state when it enters the tape.

    Args:
        units: width of h and of c.
        in_units: width of a word.
        window: the number of states on the tape.
        attention_units: width of the hidden layer of the attention; ``units`` if None.
    """

    def __init__(
        self, units: int, in_units: int, window: int = 15, attention_units: int | None = None, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        if window < 1:
            raise ValueError(f"a tape of {window} states cannot be attended to; keep one or more")
        self.units, self.window = units, window
        with self.name_scope():
            self.attention = IntraAttention(attention_units or units, in_units, units)
            self.lstm = StepLSTM(units, in_units)

    def state_shapes(self, batch: int) -> tuple[tuple[int, ...], ...]:
        """Shapes of the state that :meth:`read` carries; zeros are the state before the first word.

        The tape (batch, window, 2 * units) of [h; c], the latest behind; 1 for each place that holds a state (batch,
        window); h~ of the last step (batch, units).
        """
        return (batch, self.window, 2 * self.units), (batch, self.window), (batch, self.units)

    def read(self, F: Any, sequence: Any, steps: int, state: Arrays | None = None) -> tuple[Any, Any, Arrays]:
        """Read ``steps`` words.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            sequence: (batch, steps, in_units).
            steps: number of words.
            state: of the call before, or None before the first word.

        Returns:
            states h (batch, steps, units); weights (batch, steps, window), of step t at place j that of the state of
            step t - window + j, so that the last place is the word before, and 0 where there is no such state; the
            state after, empty if None was given. Weights and the state after pass no gradient.
        """
        words = each_step(F, self.attention.words(sequence), steps)
        inputs = each_step(F, self.lstm.inputs(sequence), steps)
        nothing = F.zeros_like(F.slice_axis(words[0], axis=1, begin=0, end=1))  # (batch, 1)
        if state is None:
            # One place, of zeros, for the first word to look at; it makes room for the first state.
            attended = F.broadcast_axis(nothing, axis=1, size=self.units)
            memories, known, gap = F.expand_dims(F.concat(attended, attended, dim=1), axis=1), nothing, None
        else:
            memories, known, attended = state
            known = F.concat(known, F.broadcast_axis(nothing + 1.0, axis=1, size=steps), dim=1)
            gap = additive_mask(known)
        tape, keys = memories, self.attention.key(F.slice_axis(memories, axis=2, begin=0, end=self.units))
        held = 0 if state is None else self.window
        hidden, weights = [], []
        for t in range(steps):
            query = words[t] + self.attention.attended(attended)
            # From step `window` on, every place holds a state of this call.
            some_empty = gap is not None and t < self.window
            gaps = (F.slice_axis(gap, axis=1, begin=t, end=t + self.window),) if some_empty else ()
            looked = self.attention(query, keys, *gaps)
            # As a transposed column: a row would cost a fifth more.
            context = F.reshape(F.batch_dot(F.expand_dims(looked, axis=2), tape, transpose_a=True), (-3, 0))
            attended = F.slice_axis(context, axis=1, begin=0, end=self.units)
            h, c = self.lstm(inputs[t], attended, F.slice_axis(context, axis=1, begin=self.units, end=None))
            places = held or 1
            if t == 0:
                looked = looked * F.slice_axis(known, axis=1, begin=0, end=places)  # a softmax over nothing is even
            if places < self.window:
                looked = F.concat(F.broadcast_axis(nothing, axis=1, size=self.window - places), looked, dim=1)
            weights.append(looked)
            hidden.append(h)
            memory, key = F.expand_dims(F.concat(h, c, dim=1), axis=1), F.expand_dims(self.attention.key(h), axis=1)
            stay = min(held, self.window - 1)
            tape, keys = _entered(F, tape, memory, held, stay), _entered(F, keys, key, held, stay)
            held = stay + 1
        after: Arrays = ()
        if state is not None:
            after = tape, F.slice_axis(known, axis=1, begin=steps, end=None), attended
        # Shut off, they are no part of the backward pass; open, zeros would be sent through all of it.
        shut_off = F.BlockGrad(F.stack(*weights, axis=1)), tuple(F.BlockGrad(array) for array in after)
        return F.stack(*hidden, axis=1), *shut_off


def _entered(F: Any, tape: Any, newest: Any, held: int, stay: int) -> Any:
    """A tape (batch, held, units) of which the last places stay, and behind them the newest (batch, 1, units)."""
    if not stay:
        return newest
    return F.concat(F.slice_axis(tape, axis=1, begin=held - stay, end=None) if stay < held else tape, newest, dim=1)
