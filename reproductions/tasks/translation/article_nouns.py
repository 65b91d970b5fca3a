"""The nouns of indefinite articles in English: a dependency that a written rule finds, without a parser.

From an article to its noun is a dependency that some heads of Transformers follow (Clark et al., 2019, "What does BERT
look at?", sec. 4.2). Only nouns that are not the next word count, since a head that attends to the next token finds
those as well. The rule keeps what is almost certain: the words after *a* or *an*, up to the next function word or
punctuation mark, are a noun phrase and its last word is the noun, unless one of the words may be a verb. The article is
singular, so a verb of its noun ends in -s, or in -ing or -ed as a participle; a phrase with such a word is left out.

Of 100 such nouns drawn from the validation captions of Multi30k, 95 were the nouns of their articles, judged by hand.
The others were verbs without an ending, as in "watching a boat go by".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from preprocessing.bitext.subwords import SEPARATOR, joined

ARTICLES = frozenset(("a", "an"))

_PUNCTUATION = '. , ; : ! ? ( ) "'
_PREPOSITIONS = """
    about above across after against along alongside amid among around at away back before behind below beneath beside
    between beyond by down during for from in inside into near of off on onto out outside over past through to together
    toward towards under underneath up upon with within without
"""
_CONJUNCTIONS = "and as because but if or than that when where while"
_DETERMINERS = "a an another each every her his its my no one our some the their there these this those your"
_PRONOUNS = "he him himself herself i it itself me she them they us we what which who whom whose you"
_AUXILIARIES = "am are be can could did do does had has have is may might must should was were will would"
_AFTER_THE_NOUN = "alone asleep full next"
ENDS = frozenset(
    " ".join(
        (_PUNCTUATION, _PREPOSITIONS, _CONJUNCTIONS, _DETERMINERS, _PRONOUNS, _AUXILIARIES, _AFTER_THE_NOUN)
    ).split()
)
"""Words that end the phrase of an article."""

_WORD = re.compile(r"[a-z]+(-[a-z]+)*")
_PERHAPS_VERB = re.compile(r".*([^s]s|..ing|..ed)")


def article_nouns(words: Sequence[str]) -> list[tuple[int, int]]:
    """The positions of articles and of their nouns in a lower-cased sentence, which are at least two words apart."""
    pairs = []
    for article in (position for position, word in enumerate(words) if word in ARTICLES):
        end = next((position for position in range(article + 1, len(words)) if words[position] in ENDS), None)
        phrase = words[article + 1 : end]
        if end is not None and len(phrase) > 1 and all(map(_is_nominal, phrase)):
            pairs.append((article, end - 1))
    return pairs


def noun_of_article(pieces: Sequence[str]) -> np.ndarray:
    """Mark (pieces, pieces) of bool the pieces of the noun that belongs to each article of a sentence."""
    last = np.array([not piece.endswith(SEPARATOR) for piece in pieces], bool)
    word = np.cumsum(last) - last  # of each piece
    marks = np.zeros((len(pieces), len(pieces)), bool)
    for article, noun in article_nouns(joined(pieces)):
        marks |= (word == article)[:, None] & (word == noun)
    return marks


def _is_nominal(word: str) -> bool:
    return bool(_WORD.fullmatch(word)) and not _PERHAPS_VERB.fullmatch(word)
