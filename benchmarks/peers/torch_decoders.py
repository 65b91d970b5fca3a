"""Beam search over the ``RNNSearch`` of ``torch_translators`` and the ``Transformer`` of ``torch_transformers`` in
PyTorch, eager.

Written for speed: sentences of similar length are one batch, the encoder's states, keys and values are stored once per
sentence whatever the beam, finished sentences leave the batch, no gradients are recorded.

    python -m benchmarks.peers.torch_decoders '{"arrays": "test.npz", "threads": 2, ...}'

prints the measurement as one line of JSON; see :func:`measure`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers.torch_training import main
from benchmarks.peers.torch_transformers import Transformer
from benchmarks.peers.torch_translators import RNNSearch
from benchmarks.stopwatch import second_time

_SAME = {
    "source_embedding.weight": "source_embedding.weight",
    "initial.weight": "initial.weight",
    "initial.bias": "initial.bias",
    "query.weight": "attention.score.query.weight",
    "key.weight": "attention.score.key.weight",
    "score.weight": "attention.score.value.weight",
    "gates.weight": "gru.gates.weight",
    "proposal.weight": "gru.proposal.weight",
    "readout.bias": "readout.maps.0.bias",
    "output.weight": "output.weight",
    "output.bias": "output.bias",
}


def state_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The parameters of ``gluon_attn.models.rnnsearch.RNNSearch``, as those of the peer."""
    state = {theirs: arrays[ours] for theirs, ours in _SAME.items()}
    state["target_embedding.weight"] = arrays.get("target_embedding.weight", arrays["output.weight"])  # or tied
    for suffix, direction in (("", "forwards"), ("_reverse", "backwards")):
        for theirs, ours in (("ih", "i2h"), ("hh", "h2h")):
            for sort in ("weight", "bias"):
                state[f"encoder.{sort}_{theirs}_l0{suffix}"] = arrays[f"encoder.{direction}.0._unfused.0.{ours}_{sort}"]
    for theirs, ours in (("from_token.weight", "in.weight"), ("from_token.bias", "in.bias")):
        state[theirs] = np.concatenate([arrays[f"gru.gates_{ours}"], arrays[f"gru.proposal_{ours}"]])
    state["from_context.weight"] = np.concatenate([arrays["gru.gates_of.weight"], arrays["gru.proposal_of.weight"]])
    state["readout.weight"] = np.concatenate([arrays[f"readout.maps.{part}.weight"] for part in range(3)], axis=1)
    return {name: torch.from_numpy(array) for name, array in state.items()}


_TRANSFORMER = {
    "projection": "attention.projection",
    "output": "attention.output",
    "query": "memory_attention.query",
    "memory": "memory_attention.memory",
    "memory_output": "memory_attention.output",
    "feed_forward.0": "feed_forward.hidden",
    "feed_forward.2": "feed_forward.output",
}
_NORMS = {
    "encoder": ("attention_residual", "feed_forward_residual"),
    "decoder": ("attention_residual", "memory_residual", "feed_forward_residual"),
}


def transformer_state_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The parameters of ``gluon_attn.models.transformer.Transformer``, pre-norm and with one matrix of embeddings, as
    those of the peer."""
    matrix = arrays["output.weight"]  # of embeddings too
    state = {"embedding.weight": matrix, "output.weight": matrix, "output.bias": arrays["output.bias"]}
    for side, norms in _NORMS.items():
        layers = len({name.split(".")[1] for name in arrays if name.startswith(f"{side}.")})
        norm_of = {f"{side}_norm": f"{side}_norm"}
        for layer in range(layers):
            prefix = f"{side}.{layer}"
            norm_of |= {f"{prefix}.norms.{number}": f"{prefix}.{name}.norm" for number, name in enumerate(norms)}
            for theirs, ours in _TRANSFORMER.items():
                state |= _matrix(f"{prefix}.{theirs}", f"{prefix}.{ours}", arrays)
        for theirs, ours in norm_of.items():
            state[f"{theirs}.weight"], state[f"{theirs}.bias"] = (
                arrays[f"{ours}.{name}"].ravel() for name in ("gamma", "beta")
            )
    return {name: torch.from_numpy(array) for name, array in state.items()}


def _matrix(theirs: str, ours: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A layer's weight, of several projections one below the other, and its bias, if there is one."""
    parts = [f"{ours}.{name}" for name in ("query", "key", "value", "weight") if f"{ours}.{name}" in arrays]
    state = {f"{theirs}.weight": np.concatenate([arrays[part] for part in parts])} if parts else {}
    return {**state, f"{theirs}.bias": arrays[f"{ours}.bias"]} if f"{ours}.bias" in arrays else state


Network = RNNSearch | Transformer
NETWORKS: dict[str, tuple[Callable[..., Network], Callable[..., dict[str, Tensor]]]] = {
    "rnnsearch": (RNNSearch, state_of),
    "transformer": (Transformer, transformer_state_of),
}


def build(settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Network:
    """The network ``settings["model"]`` with our parameters, ready to decode."""
    network, parameters = NETWORKS[settings["model"]]
    model = network(settings)
    model.load_state_dict(parameters(arrays))
    return model.eval()


@torch.inference_mode()
def beam_search(
    model: Network, source: Tensor, lengths: Tensor, *, beam: int, alpha: float, limits: Tensor, begin: int, end: int
) -> list[list[int]]:
    """The best translation of each sentence, without begin and end, by ln p / ((5 + length) / 6) ** alpha.

    A finished translation stays in the beam as long as its score is among the best.

    Args:
        model: the network.
        source: (sentences, length), padded.
        lengths: (sentences,).
        beam, alpha: width, and exponent of the length penalty.
        limits: (sentences,), where a translation is cut off that has not ended.
        begin, end: ids of begin and end of sentence.
    """
    translations: list[list[int]] = [[] for _ in range(len(source))]
    memory, state = model.encode(source, lengths)
    sentence = torch.arange(len(source))
    tokens = torch.full((len(source), 1), begin)
    prefixes = tokens[:, :, None]
    log_p = torch.zeros(len(source), 1)
    score, ended = log_p, torch.zeros_like(tokens, dtype=torch.bool)
    for step in range(1, int(limits.max()) + 1):
        logits, state = model.step(tokens, memory, state)
        best, ids = logits.log_softmax(2).topk(beam)
        total = log_p[:, :, None] + best
        # A finished translation has one continuation with an unchanged score; tokens after its end are cut off below.
        candidates = (total / ((5 + step) / 6) ** alpha).masked_fill(ended[:, :, None], -torch.inf)
        candidates[:, :, 0] = torch.where(ended, score, candidates[:, :, 0])
        score, order = candidates.flatten(1).topk(beam)
        origin = order // beam
        tokens, log_p = ids.flatten(1).gather(1, order), total.flatten(1).gather(1, order)
        ended = ended.gather(1, origin) | (tokens == end)
        rows = (torch.arange(len(origin))[:, None] * state[0].shape[1] + origin).flatten()
        state = tuple(one.flatten(0, 1).index_select(0, rows).unflatten(0, origin.shape) for one in state)
        prefixes = torch.cat(
            [prefixes.flatten(0, 1).index_select(0, rows).unflatten(0, origin.shape), tokens[:, :, None]], 2
        )
        complete = ended.all(1) | (limits == step)
        if complete.any():
            for which, hypothesis in zip(sentence[complete].tolist(), prefixes[complete, 0, 1:].tolist(), strict=True):
                translations[which] = hypothesis[: hypothesis.index(end)] if end in hypothesis else hypothesis
            unfinished = (~complete).nonzero().squeeze(1)
            if not len(unfinished):
                break
            alive = (sentence, limits, tokens, prefixes, log_p, score, ended)
            sentence, limits, tokens, prefixes, log_p, score, ended = (one.index_select(0, unfinished) for one in alive)
            memory, state = (tuple(one.index_select(0, unfinished) for one in each) for each in (memory, state))
    return translations


def translate(
    model: Network, source: Tensor, lengths: Tensor, *, sentences: int, limits: Tensor, **search: Any
) -> list[list[int]]:
    """Translate all sentences, ``sentences`` of similar length at a time; in their order."""
    translations: list[list[int]] = [[] for _ in range(len(source))]
    for rows in torch.sort(lengths, stable=True).indices.split(sentences):
        width = int(lengths[rows].max())
        hypotheses = beam_search(model, source[rows, :width], lengths[rows], limits=limits[rows], **search)
        for row, ids in zip(rows.tolist(), hypotheses, strict=True):
            translations[row] = ids
    return translations


def measure(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Translate all sentences twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``source`` (sentences, length), ``lengths`` and ``limits``
            (sentences,), all int64, and the parameters as ``parameters/<our name>``), ``threads``, ``settings`` of the
            network, ``batch`` (sentences of one), ``search`` (``beam``, ``alpha``, ``begin``, ``end``).

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``, and ``ids`` of the
        translations.
    """
    with np.load(spec["arrays"]) as arrays:
        source, lengths, limits = (torch.from_numpy(arrays[name]) for name in ("source", "lengths", "limits"))
        ours = {name.removeprefix("parameters/"): arrays[name] for name in arrays.files if "/" in name}
    model = build(spec["settings"], ours)
    translations: list[list[int]] = []

    def work() -> None:
        search = {"sentences": spec["batch"], "limits": limits, **spec["search"]}
        translations[:] = translate(model, source, lengths, **search)

    measured = second_time(work)
    return {**measured, "parameters": sum(one.numel() for one in model.parameters()), "ids": translations}


if __name__ == "__main__":
    main(measure)
