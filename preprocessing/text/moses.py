"""Moses' tokenizer in its port sacremoses, applied word by word: the same tokens in a twentieth of the time.

Nearly all rules of the tokenizer look at single characters and their neighbours, so the tokens of a word between spaces
do not depend on the sentence, and are remembered. The exceptions are full stops after abbreviations, decided here by
the following token, and apostrophes and commas at the ends of the sentence or next to each other: such a sentence is
tokenised by sacremoses as a whole.
"""

from __future__ import annotations

from functools import lru_cache

from sacremoses import MosesTokenizer

REMEMBERED = 1 << 17
"""Size of the word cache, which is emptied when it is full."""

_RULED = frozenset(".,'")
"""Characters with rules of their own. Any other character that is not a letter, digit, hyphen or backtick is a
token."""

_MARKER = "MULTI"  # sacremoses replaces runs of full stops by a marker with this word


class WordwiseMoses:
    """``tokenize(text)`` returns the tokens of ``MosesTokenizer(language).tokenize(text, escape=False)``."""

    def __init__(self, language: str) -> None:
        self._whole = MosesTokenizer(language)
        self._letters, self._lower = frozenset(self._whole.IsAlpha), frozenset(self._whole.IsLower)
        self._plain = frozenset(self._whole.IsAlnum) | {"-"}  # no rule changes a word of these characters
        self._before_numbers = frozenset(self._whole.NUMERIC_ONLY_PREFIXES)
        self._abbreviations = frozenset(self._whole.NONBREAKING_PREFIXES) - self._before_numbers
        whole = self._whole
        self._commas = (whole.COMMA_SEPARATE_1, whole.COMMA_SEPARATE_2)
        self._apostrophes = {"en": whole.ENGLISH_SPECIFIC_APOSTROPHE, "fr": whole.FR_IT_SPECIFIC_APOSTROPHE}.get(
            language, [whole.NON_SPECIFIC_APOSTROPHE]
        )
        self._known: dict[str, tuple[str, ...]] = {}

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        text = text.strip(" ")
        if not text.isprintable() or _MARKER in text or text[:1] in ("'", ",") or ("'" in text and _delicate(text)):
            whole: list[str] = self._whole.tokenize(text, escape=False)
            return whole
        tokens: list[str] = []
        known = self._known
        for word in text.split(" "):
            pieces = known.get(word)
            tokens += self._divided(word) if pieces is None else pieces
        if "." in text:
            self._separate_full_stops(tokens)
        return tokens

    def _divided(self, word: str) -> tuple[str, ...]:
        """The tokens of a word inside a sentence; a final full stop is not separated yet."""
        plain = self._plain
        if plain.issuperset(word[:-1]) and (word[-1:] in plain or word[-1:] == "."):
            return self._remembered(word, (word,))
        if plain.issuperset(word[:-1]) and len(word) > 1 and word[-1] == ",":
            return self._remembered(word, (word[:-1], ","))
        if _RULED.isdisjoint(word):
            padded = "".join(each if each in plain or each == "`" else f" {each} " for each in word)
            return self._remembered(word, tuple(padded.split()))
        whole = self._whole
        pattern, replacement = whole.PAD_NOT_ISALNUM
        text = whole.replace_multidots(pattern.sub(replacement, f" {word} "))
        for pattern, replacement in (*self._commas, *self._apostrophes):
            text = pattern.sub(replacement, text)
        return self._remembered(word, tuple(whole.restore_multidots(text).split()))

    def _remembered(self, word: str, pieces: tuple[str, ...]) -> tuple[str, ...]:
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[word] = pieces
        return pieces

    def _separate_full_stops(self, tokens: list[str]) -> None:
        """Separate each full stop at the end of a token, except those of abbreviations (in place)."""
        ends = [number for number, token in enumerate(tokens) if token[-1] == "." and token.strip(".")]
        for number in reversed(ends):
            prefix = tokens[number][:-1]
            following = tokens[number + 1] if number + 1 < len(tokens) else ""
            if (
                ("." in prefix and not self._letters.isdisjoint(prefix))
                or prefix in self._abbreviations
                or (following and following[0] in self._lower)
                or (prefix in self._before_numbers and following[:1].isascii() and following[:1].isdigit())
            ):
                continue
            tokens[number : number + 1] = [prefix, "."]


@lru_cache
def wordwise(language: str) -> WordwiseMoses:
    """The tokenizer of a language, created once per process."""
    return WordwiseMoses(language)


def _delicate(text: str) -> bool:
    """Whether apostrophes are at the end of the sentence or next to each other, where rules overlap."""
    return text[-1] == "'" or "''" in text or "' '" in text
