"""Tokenizers with an inverse, which joins the tokens of a translation model into readable text."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from sacremoses import MosesDetokenizer

from preprocessing.text.moses import wordwise
from preprocessing.text.normalization import JOINER, SPACE
from preprocessing.text.tokenizers.mecab import Mecab
from preprocessing.text.tokenizers.sentencepiece import SentencePiece
from preprocessing.text.tokenizers.tokenizer import Tokenizer, import_package

SEED = 1


class ReversibleTokenizer(Tokenizer):
    """A tokenizer of normalised text with an inverse."""

    @abstractmethod
    def detokenize(self, tokens: Sequence[str]) -> str:
        """The text of the tokens. Any tokens are accepted: those that a model generates need not be an output of
        :meth:`tokenize`."""


class Moses(ReversibleTokenizer):
    """The tokenizer of Moses and its detokenizer, in their port sacremoses."""

    name = "moses"
    packages = ("sacremoses",)

    def __init__(self, language: str) -> None:
        self.language = language
        self.rule = (
            f"Words and punctuation marks by Moses' tokenizer.perl -l {language}, in its port "
            "sacremoses.MosesTokenizer: hyphenated words stay whole, special characters are not escaped. "
            f"Detokenisation is Moses' detokenizer.perl -l {language}; it sets spaces by rule; the step "
            "check-round-trip counts the sentences that it does not restore."
        )

    def parameters(self) -> dict[str, Any]:
        return {"language": self.language}

    def tokenize(self, text: str) -> list[str]:
        return wordwise(self.language).tokenize(text)

    def detokenize(self, tokens: Sequence[str]) -> str:
        text: str = self._detokenizer.detokenize(tokens, unescape=False)
        return text

    @cached_property
    def _detokenizer(self) -> MosesDetokenizer:
        return MosesDetokenizer(self.language)


class JoinedMecab(Mecab, ReversibleTokenizer):
    """Mecab's morphemes, with a mark on those without a space before them."""

    name = "mecab"
    rule = (
        "Morphemes of MeCab-ko with mecab-ko-dic; every @ is a separate token. A morpheme without a space "
        f"between it and the one before has the prefix U+FFED ({JOINER}): 학교에서 becomes 학교 "
        f"{JOINER}에서. Detokenisation puts a space before every token without the mark, and restores the "
        "normalised text exactly."
    )

    def tokenize(self, text: str) -> list[str]:
        joined: list[str] = []
        end = 0
        for morpheme in super().tokenize(text):
            start = text.index(morpheme, end)
            attached = start == end > 0
            end = start + len(morpheme)
            # The separator of subword-nmt is @@: no token may end with it.
            for piece in _AT.findall(morpheme):
                joined.append(JOINER + piece if attached else piece)
                attached = True
        return joined

    def detokenize(self, tokens: Sequence[str]) -> str:
        spaced = (token[1:] if token.startswith(JOINER) else f" {token}" for token in tokens)
        return "".join(spaced).removeprefix(" ")


_AT = re.compile(r"@|[^@]+")


class JointSentencePiece(SentencePiece, ReversibleTokenizer):
    """One SentencePiece model for both languages, learned from normalised text."""

    rule = (
        "Pieces of one SentencePiece unigram model learned from the training split of both sides, in one thread, "
        f"without sampling, with seed {SEED}; every character of the training text is a "
        f"piece, the text is not normalised again, and U+2581 ({SPACE}) marks the start of a word. Detokenisation "
        "joins the pieces and restores the normalised text exactly."
    )
    training: ClassVar[dict[str, Any]] = {"normalization_rule_name": "identity", "character_coverage": 1.0}

    def fit(self, texts: Sequence[str]) -> SentencePiece:
        import_package("sentencepiece").set_random_generator_seed(SEED)
        return super().fit(texts)

    def detokenize(self, tokens: Sequence[str]) -> str:
        return "".join(tokens).replace(SPACE, " ").strip()


def words_of(language: str) -> ReversibleTokenizer:
    """The word tokenizer of a language."""
    return JoinedMecab() if language == "ko" else Moses(language)
