"""Normalisation of Unicode forms, white space, quotation marks and dashes; lower-casing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

from sacremoses import MosesPunctNormalizer

from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data, object_column
from preprocessing.text.tokenizers.tokenizer import installed_version

MOSES_LANGUAGES = ("de", "en", "fr")
LANGUAGES = (*MOSES_LANGUAGES, "ko")

JOINER = "\uffed"  # ￭, before a morpheme that is attached to the one before it
SPACE = "\u2581"  # ▁ of a SentencePiece piece that begins a word

_INVISIBLE = ("Cc", "Cf", "Cs")
_NARROW_SPACES = "\u2009\u202f\u2007"
_GUILLEMETS = re.compile(r"«\s+|\s+»")

# The Moses script would put a space before a bracket, which Korean text does not have; so Korean has its own table.
_KOREAN = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»〝〞＂", '"'),
        **dict.fromkeys("‘’‚‛´`＇", "'"),
        **dict.fromkeys("‐‑‒–—―−－", "-"),
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "＂＇－"},
        "…": "...",
        "。": ".",
        "、": ",",
    }
)


@dataclass(frozen=True)
class Normalize(Step[Data]):
    """Normalise Unicode, punctuation and white space."""

    name: ClassVar[str] = "normalize"
    for_new_rows: ClassVar[bool] = True
    language: str

    @property
    def rule(self) -> str:
        if self.language == "ko":
            punctuation = (
                "typographic and full-width quotation marks, apostrophes and dashes become \" ' -, other full-width "
                "ASCII characters (U+FF01 to U+FF5E) the plain ones, an ellipsis three full stops, U+3002 and U+3001 "
                "full stop and comma"
            )
        else:
            inside = "white space inside the guillemets « » is removed; " if self.language == "fr" else ""
            punctuation = (
                f"{inside}punctuation as by Moses' normalize-punctuation.perl -l {self.language}, in its port "
                "sacremoses.MosesPunctNormalizer with its default settings: among others, typographic quotation marks, "
                "apostrophes, dashes and ellipses become \" ' - ..., white space around brackets and before : ; is "
                "made regular, and "
                + (
                    "a comma or full stop after a closing quotation mark is put before it"
                    if self.language == "en"
                    else "a comma or full stop before a closing quotation mark is put after it"
                )
            )
        return (
            "Unicode NFC; control and format characters that are not white space (categories Cc, Cf) are removed; "
            "U+2009, U+202F and U+2007 become U+00A0; "
            f"{punctuation}; each run of white space becomes one space, none at the ends. The two characters with "
            "which tokens are marked later are replaced: U+FFED by U+25A0, U+2581 by an underscore. The raw text is "
            "kept as well."
        )

    def parameters(self) -> dict[str, Any]:
        versions = {} if self.language == "ko" else {"sacremoses": installed_version("sacremoses")}
        return {"language": self.language, "versions": versions}

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        normalize = normalizer(self.language)
        splits, changed, examples = {}, {}, []
        for name, split in data.splits.items():
            normalized = object_column([normalize(text) for text in split.prepared])
            splits[name] = replace(split, normalized=normalized)
            differs = [row for row, text in enumerate(normalized) if text != split.text[row]]
            changed[name] = len(differs)
            examples += [(split.text[row], normalized[row]) for row in differs[:1]]
        return data.with_splits(splits), Notes(facts={"normalized": changed}, examples=examples)


@dataclass(frozen=True)
class Lowercase(Step[Data]):
    """Lower-case the text."""

    name: ClassVar[str] = "lower-case"
    for_new_rows: ClassVar[bool] = True

    @property
    def rule(self) -> str:
        return "Text is lower-cased (Unicode). References for evaluation are still the raw text."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        splits = {
            name: replace(split, normalized=object_column([text.lower() for text in split.prepared]))
            for name, split in data.splits.items()
        }
        return data.with_splits(splits), Notes()


@lru_cache
def normalizer(language: str) -> Callable[[str], str]:
    """The function that normalises one text of a language; raises InputError for a language without rules."""
    if language not in LANGUAGES:
        raise InputError(f"language {language!r}", "has no rules here", remedy=f"known are {', '.join(LANGUAGES)}")
    punctuation = _korean if language == "ko" else _moses(language)

    def normalize(text: str) -> str:
        text = visible(unicodedata.normalize("NFC", text))
        if not text.isascii():
            for space in _NARROW_SPACES:  # faster than translate if the text has none
                text = text.replace(space, "\u00a0")
            if language == "fr":
                text = _GUILLEMETS.sub(lambda match: match[0].strip(), text)
        # Removed characters and replaced punctuation may have stood between a letter and its mark.
        text = unicodedata.normalize("NFC", punctuation(text))
        return " ".join(text.split()).replace(JOINER, "\u25a0").replace(SPACE, "_")

    return normalize


def _korean(text: str) -> str:
    return text.translate(_KOREAN)


def _moses(language: str) -> Callable[[str], str]:
    """``MosesPunctNormalizer(language).normalize``, but a rule is tried only if the text contains what it needs: the
    original tries all its rules on every sentence, and nearly none of them applies."""
    rules = [
        (_NEEDS.get(rule, ""), re.compile(rule), replacement)
        for rule, replacement in MosesPunctNormalizer(language).substitutions
    ]

    def normalize(text: str) -> str:
        for needed, rule, replacement in rules:
            if needed in text:
                text = rule.sub(replacement, text)
        return text.strip()

    return normalize


# What a text must contain for a rule of MosesPunctNormalizer to change it; rules that are not listed are always tried.
_NEEDS = {
    **{rule: rule for rule in "\r`„“”–—´‘‚’…«»"},
    **{
        rule: rule
        for rule in (" :", " ;", "''", "´´", ',"', ",\u00a0", "«\u00a0", "\u00a0«\u00a0", "\u00a0»\u00a0", "\u00a0»")
    },
    **{rule: rule for rule in ("\u00a0%", "nº\u00a0", "\u00a0:", "\u00a0ºC", "\u00a0cm", "\u00a0;")},
    r"\r": "\r",
    r"\(": "(",
    r"\)": ")",
    r" +": "  ",
    r"\) ([.!:?;,])": ") ",
    r"\( ": "( ",
    r" \)": " )",
    r"(\d) %": " %",
    "([a-zA-Z])‘([a-zA-Z])": "‘",
    "([a-zA-Z])’([a-zA-Z])": "’",
    "\u00a0\\?": "\u00a0?",
    "\u00a0\\!": "\u00a0!",
    r'"([,.]+)': '"',
    r'(\.+)"(\s*[^<])': '."',
    "(\\d)\u00a0(\\d)": "\u00a0",
}


def visible(text: str) -> str:
    """The text without its control and format characters, except white space."""
    if text.isprintable():
        return text
    return "".join(
        character for character in text if character.isspace() or unicodedata.category(character) not in _INVISIBLE
    )


_NOT_LETTERS = re.compile(r"[\W_]+")


def loose_key(text: str) -> str:
    """The letters and digits of a text in lower case: equal for sentences that differ at most in case, punctuation and
    spacing. A text without letters and digits is its own key."""
    return _NOT_LETTERS.sub("", text.casefold()) or text
