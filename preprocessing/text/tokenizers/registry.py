"""Tokenizers by name."""

from __future__ import annotations

from typing import Any

from preprocessing.errors import InputError, check_choice
from preprocessing.text.tokenizers.java_taggers import Hannanum, Kkma, Komoran, Okt, OktStem
from preprocessing.text.tokenizers.mecab import Mecab
from preprocessing.text.tokenizers.plain import Jamo, Syllable, Whitespace
from preprocessing.text.tokenizers.sentencepiece import SentencePiece
from preprocessing.text.tokenizers.tokenizer import Tokenizer

TOKENIZERS: dict[str, type[Tokenizer]] = {
    kind.name: kind
    for kind in (Mecab, Okt, OktStem, Komoran, Hannanum, Kkma, Whitespace, Syllable, Jamo, SentencePiece)
}


def get(name: str, **parameters: Any) -> Tokenizer:
    """A tokenizer by name; raises InputError for an unknown name or parameter."""
    check_choice("tokenizer", name, TOKENIZERS)
    try:
        return TOKENIZERS[name](**parameters)
    except TypeError as error:
        raise InputError(f"tokenizer {name}", str(error), remedy="leave that parameter out") from error
