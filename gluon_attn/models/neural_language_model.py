"""The neural probabilistic language model (Bengio, Ducharme, Vincent and Janvin, 2003, JMLR 3, section 2, eq. 1).

    x = (C(w_{t-1}), C(w_{t-2}), ..., C(w_{t-n+1}))        concatenated features of the n - 1 previous words
    y = b + W x + U tanh(d + H x)                          W = 0 without direct connections
    p(w_t | w_{t-1}, ..., w_{t-n+1}) = softmax(y)_{w_t}

C has m features for each word, shared by all positions; the tanh layer has h units. There are |V| (1 + nm + h) +
h (1 + (n - 1) m) parameters with direct connections, |V| (n - 1) m less without.

Two options are not in the paper and off by default: dropout on the features and on the tanh layer, and ``tied``, with
which the output weights of a word are its features: y = b + C (P tanh(d + H x) + Q x) with P (m, h), and Q (m,
(n - 1) m) for direct connections; that is, U = C P and W = C Q. The paper also proposes features for output words, in
another form (section 5, the energy-minimisation network).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import Uniform

from gluon_attn.errors import UsageError
from gluon_attn.typing import Operators, Tensor


class NeuralLanguageModel(HybridBlock):
    """p(word | the n - 1 previous words), from word features and one tanh layer.

    Args:
        vocabulary_size: number of words, |V|.
        order: *n*; the network reads the ``order - 1`` words before the predicted one.
        feature_units: number of features of a word, *m*.
        hidden_units: units of the tanh layer, *h*.
        direct: whether the features are directly connected to the output, by *W*.
        tied: whether the output weights are the word features; the output layer's input is then projected to their
            width.
        feature_dropout, dropout: dropout rates of the features and of the tanh layer.

    Call: ``(contexts, targets) -> (batch,)``: -ln p of each target in nats; contexts (batch, order - 1) of int32, the
    nearest word first, and targets (batch,) of int32.

    Raises:
        UsageError: if ``order`` is below 2.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        order: int,
        feature_units: int,
        hidden_units: int,
        direct: bool = False,
        tied: bool = False,
        feature_dropout: float = 0.0,
        dropout: float = 0.0,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if order < 2:
            raise UsageError(f"order must be 2 or more, not {order}")
        self.order = order
        self._direct = direct
        width = (order - 1) * feature_units
        with self.name_scope():
            self.features = nn.Embedding(
                vocabulary_size, feature_units, weight_initializer=Uniform(0.1), sparse_grad=not tied
            )
            self.feature_dropout = nn.Dropout(feature_dropout)
            self.hidden = nn.Dense(hidden_units, in_units=width, activation="tanh", flatten=False)
            self.dropout = nn.Dropout(dropout)
            # U and W are one matrix, and so are P and Q: its input is the tanh layer and the features, concatenated.
            joined = hidden_units + (width if direct else 0)
            self.projection = nn.Dense(feature_units, in_units=joined, use_bias=False, flatten=False) if tied else None
            self.output = nn.Dense(
                vocabulary_size,
                in_units=feature_units if tied else joined,
                flatten=False,
                params=self.features.params if tied else None,
            )
        # In the paper, weight decay applies to all weights including the features, but not to biases (sec. 2, eq. 2).
        # Here untied features decay when they are read: MXNet updates only the rows of a sparse gradient.
        for layer in (self.hidden, self.output):
            layer.bias.wd_mult = 0.0

    def hybrid_forward(self, F: Operators, contexts: Tensor, targets: Tensor) -> Tensor:
        features = self.feature_dropout(F.reshape(self.features(contexts), (0, -1)))
        hidden = self.dropout(self.hidden(features))
        if self._direct:
            hidden = F.concat(hidden, features, dim=1)
        if self.projection is not None:
            hidden = self.projection(hidden)
        return -F.pick(F.log_softmax(self.output(hidden), axis=-1), targets, axis=-1)

    def vectors(self) -> np.ndarray:
        """Return the features (vocabulary, feature_units) of all words."""
        vectors: np.ndarray = self.features.weight.data().asnumpy()
        return vectors
