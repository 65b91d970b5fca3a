"""A published network with BERT's architecture: ``all-MiniLM-L6-v2`` of sentence-transformers, loaded into GluonNLP's
:class:`gluonnlp.model.BERTModel` without PyTorch.

It has 6 layers of 384 units. It is not one of Devlin et al.'s networks: it was distilled from a larger network (Wang et
al., 2020, "MiniLM") and trained further on a billion sentence pairs, so that sentences with the same meaning have
similar mean states.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gluonnlp.model import BERTEncoder, BERTModel
from mxnet.gluon import nn
from mxnet.initializer import Normal
from safetensors import SafetensorError
from safetensors.numpy import load

from gluon_attn.attention.masks import token_mask
from gluon_attn.errors import UsageError
from gluon_attn.models.bert import DEVIATION
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor, Tensors

FILE = "model.safetensors"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights file."""

POOLINGS = ("first", "mean")

_TOKENS = "embeddings.word_embeddings.weight"


def bert_model(
    *,
    vocabulary_size: int,
    units: int,
    layers: int,
    heads: int,
    hidden_units: int,
    length: int,
    dropout: float = 0.0,
    with_pooler: bool = True,
) -> BERTModel:
    """Return the encoder, optionally with its pooler, without the pretraining outputs; arguments as in
    :class:`gluon_attn.models.bert.Bert`."""
    encoder = BERTEncoder(
        units=units,
        num_layers=layers,
        num_heads=heads,
        hidden_size=hidden_units,
        max_length=length,
        dropout=dropout,
        weight_initializer=Normal(DEVIATION),
    )
    return BERTModel(
        encoder,
        vocab_size=vocabulary_size,
        token_type_vocab_size=2,
        units=units,
        embed_size=units,
        embed_initializer=Normal(DEVIATION),
        use_pooler=with_pooler,
        use_decoder=False,
        use_classifier=False,
    )


class PublishedBertClassifier(Classifier):
    """A classifier of single texts on top of a :func:`bert_model`.

    Args:
        bert: the encoder, which reads ``<cls> text <sep>``.
        units: width of the encoder.
        classes: number of labels.
        pooling: features of the classifier: ``first``, the pooled state of the first token; ``mean``, the mean of all
            states, as the network was published, for an encoder without pooler.
        dropout: dropout rate before the dense layer.

    Call: ``(ids, valid_length) -> ClassifierOutput``: ids (batch, length) of int32 and valid_length (batch,), both
    including special tokens; only logits.

    Raises:
        UsageError: if ``pooling`` is unknown.
    """

    def __init__(
        self,
        bert: BERTModel,
        *,
        units: int,
        classes: int,
        pooling: str = "first",
        dropout: float = 0.0,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if pooling not in POOLINGS:
            raise UsageError(f"pooling {pooling!r} is unknown; choose one of {', '.join(POOLINGS)}")
        self._pooling = pooling
        with self.name_scope():
            self.bert = bert
            self.dropout = nn.Dropout(dropout)
            self.output = nn.Dense(classes, in_units=units, weight_initializer=Normal(DEVIATION))

    @property
    def token_embedding(self) -> nn.Embedding:
        return self.bert.word_embed[0]

    def hybrid_forward(self, F: Operators, ids: Tensor, valid_length: Tensor) -> Tensors:
        outputs = self.bert(ids, F.zeros_like(ids), valid_length)
        pooled = self._mean(F, outputs, valid_length) if self._pooling == "mean" else outputs[1]
        return (self.output(self.dropout(pooled)),)

    @staticmethod
    def _mean(F: Operators, states: Tensor, valid_length: Tensor) -> Tensor:
        # Not attention.pooling.mean_pooling: it rounds differently, and a published network was trained with this sum.
        mask = F.expand_dims(token_mask(F, states, valid_length), axis=2)
        return F.broadcast_div(F.sum(F.broadcast_mul(states, mask), axis=1), F.reshape(valid_length, (-1, 1)))


def read_weights(path: Path, *, sha256: str = SHA256) -> dict[str, np.ndarray]:
    """Read the tensors of a weights file, by name.

    Raises:
        UsageError: if the file is missing or damaged, or is another file.
    """
    remedy = "install its package again"
    try:
        content = path.read_bytes()
        if sha256 and hashlib.sha256(content).hexdigest() != sha256:
            raise UsageError(f"{path}: not the published weights, the SHA-256 differs; {remedy}")
        tensors: dict[str, np.ndarray] = load(content)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    except KeyError as error:  # a type of the format that NumPy does not have, such as BF16
        raise UsageError(f"{path}: has tensors of type {error.args[0]}, which cannot be read; {remedy}") from None
    except (SafetensorError, ValueError) as error:  # ValueError: a shape that is impossible in NumPy
        raise UsageError(f"{path}: not a valid safetensors file ({' '.join(str(error).split())}); {remedy}") from None
    return tensors


def published_parameters(
    tensors: Mapping[str, np.ndarray], names: Iterable[str], rows: Sequence[int]
) -> dict[str, np.ndarray]:
    """Return the parameters of a :func:`bert_model` by name.

    Args:
        tensors: tensors of the file, by name.
        names: names of all parameters of the network.
        rows: (vocabulary_size,), the row in the file's token embeddings of each token of the network.

    Raises:
        UsageError: if a tensor is missing.
    """
    parameters = {}
    for name in names:
        published = published_name(name)
        if published not in tensors:
            raise UsageError(f"the weights have no {published}; they belong to a different network")
        parameters[name] = tensors[published][list(rows)] if published == _TOKENS else tensors[published]
    return parameters


def published_name(name: str) -> str:
    """Return the file's name of a parameter of :func:`bert_model`."""
    for start, published in _NAMES:
        if name.startswith(start):
            name = published + name.removeprefix(start)
            break
    if name.startswith(_LAYERS):
        number, _, rest = name.removeprefix(_LAYERS).partition(".")
        part = next(part for part in _LAYER_NAMES if rest.startswith(part))
        name = f"encoder.layer.{number}.{_LAYER_NAMES[part]}{rest.removeprefix(part)}"
    owner, _, kind = name.rpartition(".")
    return f"{owner}.{_KINDS.get(kind, kind)}"


_KINDS = {"gamma": "weight", "beta": "bias"}
_LAYERS = "encoder.transformer_cells."
_NAMES = (
    ("word_embed.0", "embeddings.word_embeddings"),
    ("token_type_embed.0", "embeddings.token_type_embeddings"),
    ("encoder.position_weight", "embeddings.position_embeddings.weight"),
    ("encoder.layer_norm", "embeddings.LayerNorm"),
    ("pooler", "pooler.dense"),
)
_LAYER_NAMES = {
    "attention_cell.proj_query": "attention.self.query",
    "attention_cell.proj_key": "attention.self.key",
    "attention_cell.proj_value": "attention.self.value",
    "proj": "attention.output.dense",
    "layer_norm": "attention.output.LayerNorm",
    "ffn.ffn_1": "intermediate.dense",
    "ffn.ffn_2": "output.dense",
    "ffn.layer_norm": "output.LayerNorm",
}
