"""Settings that all translation networks share, and how they are passed on."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mxnet.gluon import Block, nn

from gluon_attn.models.deep_lstm import DeepLSTM
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.rnnencdec import RNNEncDec
from gluon_attn.models.rnnsearch import RNNSearch
from gluon_attn.models.transformer import Transformer
from preprocessing.text.vocabulary import PADDING_ID
from reproductions import bahdanau2014
from reproductions.protocol import papers
from reproductions.tasks.translation.data import TranslationData
from reproductions.tasks.translation.task import Translation

TRANSLATING = [name for name in papers.names() if isinstance(papers.load(name).task, Translation)]
WORDS = SimpleNamespace(source_vocabulary=range(30), target_vocabulary=range(40))
DATA = TranslationData("sample", {}, cast(Any, WORDS))
JOINT = TranslationData(
    "sample", {}, cast(Any, SimpleNamespace(source_vocabulary=range(40), target_vocabulary=range(40)))
)


def dropouts(block: Block) -> Iterator[float]:
    """The rates of all dropouts in a network."""
    if isinstance(block, nn.Dropout):
        yield block._rate
    for child in block._children.values():
        yield from dropouts(child)


def test_shared_arguments_come_from_settings_and_vocabularies() -> None:
    settings = bahdanau2014.REPRODUCTION.preset("cpu").variant("rnnsearch").settings
    assert DATA.shared(settings) == {
        "source_vocabulary": 30,
        "target_vocabulary": 40,
        "padding": PADDING_ID,
        "units": 256,
        "source_units": 256,
        "target_units": 256,
        "dropout": 0.3,
        "smoothing": 0.1,
        "tied": True,
    }


@pytest.mark.parametrize("paper", TRANSLATING)
def test_every_dropout_of_a_network_has_the_rate_of_its_settings(paper: str) -> None:
    dropped: dict[type[EncoderDecoder], int] = {
        RNNEncDec: 2,  # Embeddings, features.
        RNNSearch: 3,  # The encoder's states too.
        DeepLSTM: 3,  # Embeddings, between layers of either side.
    }
    for variant in papers.load(paper).preset("cpu").variants:
        if variant.settings.dropout:
            model = variant.settings.build(JOINT)
            if isinstance(model, Transformer):  # Both embeddings; each sublayer.
                dropped[Transformer] = 1 + 5 * variant.settings.layers
            assert list(dropouts(model)).count(variant.settings.dropout) == dropped[type(model)], variant.name
