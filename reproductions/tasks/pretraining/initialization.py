"""Parameters from a pretrained network, to fine-tune it or to continue its pretraining."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import named_parameters, parameter_arrays
from preprocessing.text.vocabulary import Vocabulary
from reproductions.protocol.task import TrainedModel

_ENCODER = "bert."


def initialize_from(
    pretrained: TrainedModel[Any, Any], model: HybridBlock, vocabulary: Vocabulary, shared: tuple[str, ...]
) -> None:
    """Initialise the encoder of a network, and what else both networks have, from a pretrained one.

    Args:
        pretrained: the pretrained network.
        model: the network.
        vocabulary: vocabulary of the network.
        shared: name prefixes of the parameters that are taken.

    Raises:
        UsageError: if the pretrained network has no encoder, another vocabulary, or other sizes.
    """
    name = pretrained.variant.name
    given = {key: value for key, value in parameter_arrays(pretrained.model).items() if key.startswith(shared)}
    own = dict(named_parameters(model))
    taken = {key: parameter for key, parameter in own.items() if key in given}
    if not _encoder(given) or _encoder(given) != _encoder(own):
        raise UsageError(f"{name}: its encoder is not that of this network; give both the same settings")
    if pretrained.data.prepared.vocabulary != vocabulary:
        raise UsageError(f"{name}: pretrained with another vocabulary; give both the same settings of pieces")
    for key, parameter in taken.items():
        if parameter.shape != given[key].shape:
            shapes = f"{given[key].shape}, here {parameter.shape}"
            raise UsageError(f"{name}: {key} has shape {shapes}; give both the same sizes")
    for key, parameter in taken.items():
        parameter.set_data(nd.array(given[key]))


def _encoder(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.startswith(_ENCODER)}
