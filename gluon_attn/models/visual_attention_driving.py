"""Steering from camera frames with visual attention (Kim and Canny, 2017, section 3).

    x_t = CNN(frame_t)                                  a grid of l regions with d features each, no pooling (3.2)
    alpha_t = softmax(f_attn(x_{t,i}, h_{t-1}))         one weight per region (eq. 3)
    y_t = flatten(l alpha_{t,i} x_{t,i})                regions keep their position (eq. 4)
    h_t, c_t = LSTM(y_t, h_{t-1}, c_{t-1})              h_0, c_0 = tanh(W mean_i x_{0,i} + b) (eq. 5)
    u_t = w . h_t + b                                   steering

f_attn has one tanh layer, as in Xu et al. (2015). The factor l is ours: with it, equal weights leave the features
unchanged, so a network without attention is this network with alpha = 1 / l. The paper compares with networks without
attention and without memory.

The loss is the mean absolute error plus lambda times a penalty on regions that are never attended to (doubly stochastic
attention; Xu et al., 2015, eq. 14): :func:`unattended`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.additive import AdditiveScore
from gluon_attn.errors import UsageError
from gluon_attn.layers.cells import StepLSTM, unstack
from gluon_attn.layers.graphs import Graphs
from gluon_attn.typing import Operators, Tensor

KERNELS = (5, 5, 5, 3, 3)
STRIDES = (2, 2, 2, 1, 1)
FEWEST = 3
"""Minimum number of convolutions."""
DOWNSCALE = 8  # the strides of the first three
"""Side, in pixels, of the square that a cell of the grid covers."""


class Steering(NamedTuple):
    """Output of a network for frames (batch, steps, 3, height, width).

    Attributes:
        degrees: (batch, steps).
        weights: (batch, steps, regions), row by row of the grid; None without attention.
        features: (batch, steps, regions, channels), None if the network has no memory.
        states: h and c after each step, each (batch, steps, units); empty without memory.
    """

    degrees: nd.NDArray
    weights: nd.NDArray | None = None
    features: nd.NDArray | None = None
    states: tuple[nd.NDArray, ...] = ()


class Convolutions(HybridBlock):
    """Five convolutions without pooling (sec. 3.2): (batch, 3, height, width) -> (batch, regions, channels[-1]).

    Args:
        channels: number of channels of each convolution; the paper has five, and with three or four the last are left
            out.
        height, width: size of the frames; regions = (height / 8) * (width / 8).

    Raises:
        UsageError: if there are fewer than three channels or more than five, or if the size is not a multiple of 8.
    """

    def __init__(self, channels: tuple[int, ...], height: int, width: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        if not FEWEST <= len(channels) <= len(KERNELS):
            raise UsageError(f"{len(channels)} convolutions: give {FEWEST} to {len(KERNELS)} numbers of channels")
        if height % DOWNSCALE or width % DOWNSCALE:
            raise UsageError(f"frames of {width} x {height} pixels: choose multiples of {DOWNSCALE}")
        self.grid = (height // DOWNSCALE, width // DOWNSCALE)
        self.channels = channels[-1]
        with self.name_scope():
            self.layers = nn.HybridSequential()
            for inputs, outputs, kernel, stride in zip((3, *channels), channels, KERNELS, STRIDES, strict=False):
                self.layers.add(nn.Conv2D(outputs, kernel, stride, kernel // 2, in_channels=inputs, activation="relu"))

    def hybrid_forward(self, F: Operators, frames: Tensor) -> Tensor:
        return F.transpose(F.reshape(self.layers(frames), (0, 0, -1)), axes=(0, 2, 1))


class ConvolutionalDriver(HybridBlock):
    """Convolutions and two dense layers for each frame on its own (the paper's CNN+FCN).

    Args:
        channels, height, width: see :class:`Convolutions`.
        units: width of the layer between the features and the output.
        dropout: dropout rate of that layer.
        unit: degrees that correspond to an output of 1, so that outputs are neither tiny nor huge.

    Call: ``(frames (batch, steps, 3, height, width)) -> Steering``.
    """

    def __init__(
        self,
        *,
        channels: tuple[int, ...],
        height: int,
        width: int,
        units: int,
        dropout: float = 0.0,
        unit: float = 1.0,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        self._unit = unit
        with self.name_scope():
            self.convolutions = Convolutions(channels, height, width)
            rows, columns = self.convolutions.grid
            self.hidden = nn.Dense(units, in_units=rows * columns * channels[-1], activation="relu")
            self.dropout = nn.Dropout(dropout)
            self.output = nn.Dense(1, in_units=units)

    @property
    def state_units(self) -> int:
        """Width of h and of c: 0, as there is no memory."""
        return 0

    def forward(self, frames: nd.NDArray, *state: nd.NDArray) -> Any:
        output = super().forward(frames)
        return Steering(output) if isinstance(output, nd.NDArray) else output

    def hybrid_forward(self, F: Operators, frames: Tensor) -> Tensor:
        hidden = self.dropout(self.hidden(self.convolutions(F.reshape(frames, (-3, -2)))))
        return self._unit * F.reshape_like(self.output(hidden), frames, lhs_begin=0, lhs_end=2, rhs_begin=0, rhs_end=2)


class RecurrentDriver(HybridBlock):
    """Convolutions and an LSTM, with attention over the grid or without (the paper's CNN+LSTM).

    Args:
        channels, height, width: see :class:`Convolutions`.
        units: width of the LSTM.
        attention_units: width of the tanh layer in f_attn; 0 for no attention.
        steps: number of frames of a sequence, over which the graph is unrolled.
        dropout: dropout rate of h before the output.
        feature_dropout: dropout rate of y.
        unit: degrees that correspond to an output of 1.

    Call: ``(frames, start, h, c) -> Steering``: frames (batch, steps, 3, height, width); start (batch, 1), 1 for
    sequences that begin here, whose state is computed from their first frame, 0 for sequences that continue; h and c
    (batch, units), the states of the latter.

    Raises:
        UsageError: when called, if sequences have another number of frames, or inputs different numbers of sequences.
    """

    def __init__(
        self,
        *,
        channels: tuple[int, ...],
        height: int,
        width: int,
        units: int,
        attention_units: int,
        steps: int,
        dropout: float = 0.0,
        feature_dropout: float = 0.0,
        unit: float = 1.0,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        self._units, self._steps, self._unit = units, steps, unit
        self._graphs = Graphs(self)
        with self.name_scope():
            self.convolutions = Convolutions(channels, height, width)
            rows, columns = self.convolutions.grid
            self._regions = rows * columns
            self.score = AdditiveScore(attention_units, units, channels[-1]) if attention_units else None
            self.first_h = nn.Dense(units, in_units=channels[-1], activation="tanh")
            self.first_c = nn.Dense(units, in_units=channels[-1], activation="tanh")
            self.feature_dropout = nn.Dropout(feature_dropout)
            self.lstm = StepLSTM(units, self._regions * channels[-1])
            self.dropout = nn.Dropout(dropout)
            self.output = nn.Dense(1, in_units=units, flatten=False)

    @property
    def state_units(self) -> int:
        """Width of h and of c."""
        return self._units

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of regions."""
        return self.convolutions.grid

    def forward(self, frames: nd.NDArray, *state: nd.NDArray) -> Any:
        if isinstance(frames, nd.NDArray):
            if frames.shape[1] != self._steps:
                raise UsageError(
                    f"sequences of {frames.shape[1]} frames, but the network reads {self._steps}; cut them to that"
                )
            if any(len(array) != len(frames) for array in state):
                raise UsageError(f"start, h and c must have a row for each of the {len(frames)} sequences")
        output = super().forward(frames, *state)
        if not isinstance(output[0], nd.NDArray):
            return output
        degrees, features, h, c, *weights = output
        return Steering(degrees, weights[0] if weights else None, features, (h, c))

    def hybrid_forward(self, F: Operators, frames: Tensor, start: Tensor, h: Tensor, c: Tensor) -> Any:
        flat = self.convolutions(F.reshape(frames, (-3, -2)))  # (batch * steps, regions, channels)
        features = F.reshape(flat, (-4, -1, self._steps, 0, 0))
        each = unstack(F, features, self._steps)
        first = F.mean(each[0], axis=1)
        h = F.broadcast_mul(start, self.first_h(first)) + F.broadcast_mul(1 - start, h)
        c = F.broadcast_mul(start, self.first_c(first)) + F.broadcast_mul(1 - start, c)
        all_h, all_c, all_weights = [], [], []
        if self.score is None:
            inputs = unstack(F, self.lstm.inputs(self.feature_dropout(F.reshape(features, (0, 0, -1)))), self._steps)
        else:
            keys = unstack(F, F.reshape(self.score.keys(F, flat), (-4, -1, self._steps, 0, 0)), self._steps)
        for step in range(self._steps):
            if self.score is None:
                lstm_input = inputs[step]
            else:
                scores = self.score(F.expand_dims(h, axis=1), keys[step])
                weights = F.softmax(F.reshape(scores, (0, -1)))
                all_weights.append(weights)
                lstm_input = self._read(F, weights, each[step])
            h, c = self.lstm(lstm_input, h, c)
            all_h.append(h)
            all_c.append(c)
        stacked = F.stack(*all_h, axis=1)
        degrees = self._unit * F.reshape(self.output(self.dropout(stacked)), (0, -1))
        attention = (F.stack(*all_weights, axis=1),) if all_weights else ()
        return (degrees, features, stacked, F.stack(*all_c, axis=1), *attention)

    def _read(self, F: Operators, weights: Tensor, features: Tensor) -> Tensor:
        """Project the weighted features for the gates."""
        weighted = F.broadcast_mul(self._regions * F.expand_dims(weights, axis=2), features)
        return self.lstm.inputs(self.feature_dropout(F.reshape(weighted, (0, -1))))

    def begin(self, features: nd.NDArray) -> tuple[nd.NDArray, nd.NDArray]:
        """Return h and c (batch, units) before the first frame, from its features (batch, regions, channels)."""
        mean = features.mean(axis=1)
        return self.first_h(mean), self.first_c(mean)

    def steer(self, weights: nd.NDArray, features: nd.NDArray, h: nd.NDArray, c: nd.NDArray) -> nd.NDArray:
        """Steer single frames with given attention weights, as causal filtering modifies them (sec. 3.4).

        Args:
            weights: (batch, regions); they need not sum to 1.
            features: (batch, regions, channels), features of the frames.
            h, c: (batch, units), states before the frames.

        Returns:
            (batch,) degrees.
        """
        return self._graphs(self._steer, weights, features, h, c)

    def _steer(self, F: Operators, weights: Tensor, features: Tensor, h: Tensor, c: Tensor) -> Tensor:
        h, _ = self.lstm(self._read(F, weights, features), h, c)
        return self._unit * F.reshape(self.output(self.dropout(h)), (-1,))


def unattended(F: Operators, weights: Tensor) -> Tensor:
    """Squared deviation from 1 of the total attention to each region over a sequence, (1 - sum_t alpha_{t,i})^2,
    averaged over the regions (Xu et al., 2015, eq. 14): weights (batch, steps, regions) -> (batch,)."""
    return F.mean(F.square(1 - F.sum(weights, axis=1)), axis=1)


class LastSteering(HybridBlock):
    """Baseline without a network: the steering of the previous frame times a factor; 0 drives straight ahead.

    Args:
        factor: 0 or 1.

    Call: ``(before (frames,)) -> (frames,)`` degrees.
    """

    def __init__(self, factor: float, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._factor = factor

    def hybrid_forward(self, F: Operators, before: Tensor) -> Tensor:
        return self._factor * before
