"""What the PyTorch peers share: their optimizers, the training loop, and the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.stopwatch import keep_to, second_time
from gluon_attn import runtime

OPTIMIZERS = ("fused adam", "sparse adam")


def optimizers_of(model: nn.Module, name: str, rate: float) -> list[torch.optim.Optimizer]:
    """Adam over all parameters; ``sparse adam`` updates only the rows of the embedding that a batch has touched."""
    if name != "sparse adam":
        return [torch.optim.Adam(model.parameters(), rate, fused=True)]
    embedding = model.get_parameter("embedding.weight")
    rest = [parameter for parameter in model.parameters() if parameter is not embedding]
    return [torch.optim.SparseAdam([embedding], rate), torch.optim.Adam(rest, rate, fused=True)]


def second_epoch(
    model: nn.Module,
    optimizers: Sequence[torch.optim.Optimizer],
    losses: Callable[[], Iterator[Tensor]],
    clip_norm: float | None = None,
) -> dict[str, float]:
    """Train for two epochs and time the second; the first compiles and warms up.

    Args:
        model: the network.
        optimizers: of its parameters.
        losses: the loss of each batch of an epoch, computed when it is asked for.
        clip_norm: gradients are scaled down to it; None for no clipping.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second epoch, ``warm_up_seconds`` of the first, and the number of
        trained ``parameters``.
    """

    def epoch() -> None:
        for loss in losses():
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            if clip_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
            for optimizer in optimizers:
                optimizer.step()
            if not loss.isfinite():
                raise ArithmeticError(f"the loss is {loss.item()}")

    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return {**second_time(epoch), "parameters": trained}


def main(measure: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
    """Measure what the JSON on the command line describes, with its number of ``threads``, and print JSON."""
    wanted = json.loads(sys.argv[1])
    keep_to(wanted["threads"])
    runtime.keep_memory()  # as our side does
    torch.set_num_threads(wanted["threads"])
    torch.manual_seed(1)
    print(json.dumps(measure(wanted)))
