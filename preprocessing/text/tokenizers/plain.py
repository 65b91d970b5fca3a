"""Tokenizers that need no package: white space, characters, and the letters of Hangul."""

from __future__ import annotations

import unicodedata

from preprocessing.text.tokenizers.tokenizer import Tokenizer


def without_spaces(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


class Whitespace(Tokenizer):
    name = "whitespace"
    rule = "Tokens are the pieces between white space (Unicode)."

    def tokenize(self, text: str) -> list[str]:
        return text.split()


class Syllable(Tokenizer):
    name = "syllable"
    rule = "Each character is a token; white space is dropped. A Hangul syllable block is one character."

    def tokenize(self, text: str) -> list[str]:
        return list(without_spaces(text))


class Jamo(Tokenizer):
    name = "jamo"
    rule = (
        "Each Hangul syllable block (U+AC00 to U+D7A3) is decomposed into its conjoining jamo by Unicode NFD; each "
        "jamo and each other character is a token; white space is dropped."
    )

    def tokenize(self, text: str) -> list[str]:
        return [
            jamo
            for character in without_spaces(text)
            for jamo in (unicodedata.normalize("NFD", character) if "\uac00" <= character <= "\ud7a3" else character)
        ]
