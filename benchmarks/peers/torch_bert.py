"""An encoder of BERT's architecture in eager PyTorch, from the names of a published file of weights: the reference of
the network in GluonNLP."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

EPSILON = 1e-12


def encode(tensors: Mapping[str, Tensor], ids: Tensor, valid_length: Tensor, *, heads: int) -> tuple[Tensor, Tensor]:
    """States (batch, length, units) of ids (batch, length), of which valid_length (batch,) are read, and the pooled
    state of the first token (batch, units). Dropout is off; states of padding mean nothing."""
    units = tensors["embeddings.word_embeddings.weight"].shape[1]

    def dense(x: Tensor, name: str) -> Tensor:
        return functional.linear(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    def normalized(x: Tensor, name: str) -> Tensor:
        return functional.layer_norm(x, (units,), tensors[f"{name}.weight"], tensors[f"{name}.bias"], EPSILON)

    def divided(x: Tensor) -> Tensor:
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    visible = (torch.arange(ids.shape[1]) < valid_length[:, None])[:, None, None, :]
    x = functional.embedding(ids, tensors["embeddings.word_embeddings.weight"])
    x = x + tensors["embeddings.token_type_embeddings.weight"][0]
    x = normalized(x + tensors["embeddings.position_embeddings.weight"][: ids.shape[1]], "embeddings.LayerNorm")
    layers = {name.split(".")[2] for name in tensors if name.startswith("encoder.layer.")}
    for layer in (f"encoder.layer.{number}" for number in sorted(layers, key=int)):
        query, key, value = (divided(dense(x, f"{layer}.attention.self.{name}")) for name in ("query", "key", "value"))
        attended = (
            functional.scaled_dot_product_attention(query, key, value, attn_mask=visible).transpose(1, 2).flatten(2)
        )
        x = normalized(x + dense(attended, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        hidden = functional.gelu(dense(x, f"{layer}.intermediate.dense"))
        x = normalized(x + dense(hidden, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x, torch.tanh(dense(x[:, 0], "pooler.dense"))
