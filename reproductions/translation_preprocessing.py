"""What undescribed preprocessing is worth, on translation of captions.

The companion of ``naver_preprocessing``, smaller. One network, RNNsearch of 128 units on Multi30k, English to German,
is trained on text that is prepared in several ways: words or pieces, how many of them, with and without case. And the
translations of one network are scored in several ways, since a BLEU without its tokenizer and its case names no number
(Post, 2018, "A call for clarity in reporting BLEU scores", finds differences of up to 1.8 points on WMT).

The base is that of ``bahdanau2014`` at its smaller setting: lower-cased Moses tokens, 5 000 byte pairs learned on both
sides. BLEU is that of the peers, on lower-cased tokens, so that networks with and without case compare. Further columns
score the same translations: of pieces that are not joined to words, and of detokenised text by sacreBLEU with its
tokenizers 13a, intl, none and char, lower-cased but for one.

Claims: byte pairs are better than words; lower-casing helps; scored with case a network without case loses more than 5
points, and against one with case; BLEU of pieces is more than 2 points higher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from reproductions.protocol.claims import Better, Measured
from reproductions.protocol.reproduction import Override, Reproduction
from reproductions.protocol.task import Variant
from reproductions.tasks.preprocessing_choices import worth_of_choices
from reproductions.tasks.transformer_settings import RNNSearchSettings
from reproductions.tasks.translation import SMALL, SMOKE
from reproductions.tasks.translation_choices import (
    BLEU,
    PIECES,
    ChosenTranslation,
    TranslationChoices,
    one_network_two_ways,
)

POST = "Post (2018), arXiv:1804.08771"
BASE = "base"
network = RNNSearchSettings(units=128, embedding_units=128, smoothing=0.1, tied=True, dropout=0.2)
GERMAN = ChosenTranslation("multi30k en-de", source="en", target="de")

# For each aspect its choices: the name of the variant, its title, and what is changed in choices and settings.
Changes = Mapping[str, Any]
ASPECTS: dict[str, dict[str, tuple[str, Changes]]] = {
    "tokens": {
        "words": ("words", {"tokens": "words"}),
        "bpe-1000": ("1 000 byte pairs", {"operations": 1_000}),
        "bpe-10000": ("10 000 byte pairs", {"operations": 10_000}),
        "sentencepiece-4000": ("4 000 pieces of SentencePiece", {"tokens": "sentencepiece", "pieces": 4_000}),
    },
    "case": {
        "cased": ("case kept", {"lowercase": False}),
        "truecased": ("truecased", {"lowercase": False, "truecase": True}),
    },
}


def chosen(name: str, title: str, changes: Changes) -> Variant[Any]:
    """A variant with these changes in its settings or in the choices of its task."""
    of_settings = {key: value for key, value in changes.items() if key in ("tokens", "operations")}
    choices = TranslationChoices(**{key: value for key, value in changes.items() if key not in of_settings})
    return Variant(name, title, replace(network, **of_settings), SMALL, replace(GERMAN, choices=choices))


def smoke(variant: Variant[RNNSearchSettings]) -> Variant[RNNSearchSettings]:
    return replace(variant, settings=replace(variant.settings, units=16, embedding_units=16), recipe=SMOKE)


REPRODUCTION = Reproduction(
    title="What undescribed preprocessing is worth, on translation of captions",
    source=POST,
    task=GERMAN,
    reported=(),
    variants=(
        chosen(BASE, "lower-cased, 5 000 byte pairs", {}),
        *(chosen(name, title, changes) for choices in ASPECTS.values() for name, (title, changes) in choices.items()),
    ),
    claims=(
        Better("subwords", "Byte pairs are better than words", BASE, "words"),
        Better("case", "Lower-casing helps", BASE, "cased"),
        Better("cased", "Scored with case, a network with case is better", "cased", BASE, POST, metric="bleu_cased"),
        Measured(
            "pieces",
            "BLEU of pieces is more than 2 points higher than that of words",
            POST,
            (BASE,),
            partial(one_network_two_ways, PIECES, "bleu", 2.0),
        ),
        Measured(
            "without-case",
            "Scored with case, a network without it loses more than 5 points",
            POST,
            (BASE,),
            partial(one_network_two_ways, "sacrebleu", "bleu_cased", 5.0),
        ),
    ),
    headline=(BASE, "words"),
    seeds=(1, 2, 3),
    smoke=Override(smoke),
    paper=Override(lambda variant: variant if variant.name == BASE else None, seeds=(1, 2, 3)),
    figures=(
        worth_of_choices(
            BASE,
            {aspect: {name: title for name, (title, _) in choices.items()} for aspect, choices in ASPECTS.items()},
            "worth",
            BLEU,
        ),
    ),
)
