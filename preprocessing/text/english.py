"""English text from the web: paragraphs of plain text, sentences and words. The rules are our own, except those of
Moses."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator

from preprocessing.text.moses import wordwise
from preprocessing.text.normalization import visible
from preprocessing.text.tokenizers.tokenizer import Tokenizer

# --- plain text ---

_BREAK = re.compile(r"</?(?:br|p|hr)\b[^<>]{0,99}>", re.IGNORECASE)
_STYLE = re.compile(r"</?(?:i|b|u|em|strong)\s{0,9}/?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_EMPTY_LINE = re.compile(r"\n\s*\n")
_DASHES = re.compile(r"(?: ?(?:--|[–—―])[-–—―]*)+ ?")
_PLAIN = str.maketrans(
    {
        **{chr(code): bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)},
        **dict.fromkeys("“”„‟«»", '"'),
        **dict.fromkeys("‘’‚‛´`", "'"),
        **dict.fromkeys("‐‑‒−", "-"),
        "…": "...",
    }
)
_PLAIN |= {code: text.translate(_PLAIN) for code, text in _PLAIN.items()}

PLAIN_RULE = (
    "HTML: <br>, <p> and <hr>, opening or closing, in any spelling, end a paragraph; <i>, <b>, <u>, <em> and <strong> "
    "are removed; an entity with its semicolon becomes its character; any other tag stays as text. An empty line "
    "ends a paragraph, a line feed alone is white space. Characters U+0080 to U+009F are read as "
    'Windows-1252. Unicode NFC; typographic quotation marks and apostrophes and the backtick become " '
    "and ', an ellipsis three full stops, hyphens U+2010 to U+2012 and U+2212 the plain one; a dash (U+2013 to U+2015, "
    "or two hyphens and more) becomes -- between spaces; other control and format characters (categories Cc, Cf, Cs) "
    "are removed; each run of white space becomes one space. Paragraphs without text are removed. The raw text is kept "
    "as well."
)


def plain_text(text: str) -> str:
    """The paragraphs of a text, one per line, by ``PLAIN_RULE``; an empty string for a text without paragraphs."""
    if "<" in text:
        text = _STYLE.sub("", _BREAK.sub("\n\n", text))
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).translate(_PLAIN))
    elif "`" in text:
        text = text.replace("`", "'")
    # Composed again: a removed format character may have kept a letter and its accent apart.
    seen = (unicodedata.normalize("NFC", visible(part)) for part in _EMPTY_LINE.split(text))
    spaced = (" ".join(part.split()) for part in seen)
    paragraphs = (_DASHES.sub(" -- ", part).strip() for part in spaced)
    return "\n".join(paragraph for paragraph in paragraphs if paragraph)


# --- sentences ---


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Never at the end of a sentence: a name or a word follows.
_LEADING = _listed(
    """Mr Mrs Ms Dr Prof Gen Col Maj Capt Cpt Cmdr Lt Sgt Cpl Pvt Adm Gov Sen Rep Rev Fr Hon Pres Supt Insp Det St Ste
    Mt Messrs Mme Mlle Msgr mr mrs ms dr prof st vs Vs v eg ie cf viz esp approx incl aka feat e.g i.e a.k.a E.g I.e"""
)
# Not at the end when a number follows.
_NUMBERED = _listed("No Nos no nos Vol vol pp p pg Ch ch Fig fig Ep ep Art Nr")
# At the end only when the following word begins a sentence more often than a name.
_TRAILING = _listed(
    """Jr Sr jr sr Esq Inc Co Corp Ltd Bros co etc Etc ect al Ave Blvd Rd Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov
    Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun min mins sec secs hr hrs yr yrs dept Dept assoc orig Ph Ph.D Phd"""
)
_STARTERS = _listed(
    """The This That These Those There Here It Its It's He He's She She's They They're We We're You You're I I'm
    I've I'd I'll His Her Their My Our Your A An And But Or So Yet Nor Also In On At By For From Of With
    Without To As If When While Where After Before Since Because Although Though However Even Once Until
    Unless What Why How Who Which Is Are Was Were Do Does Did Don't Can Could Would Should Will Has Have Had
    Not No Yes Then Now Just Only One Two Some Most Many All Each Every Both Another Other Such Maybe Perhaps
    Overall Unfortunately Instead Still Well Anyway Let's That's What's There's"""
)
_INITIALS = re.compile(r"[A-Z]|[A-Za-z](?:\.[A-Za-z])+")
_STOP = re.compile(r"""[.!?]+(?:\s[.!?]+)*["')\]}]*""")
_OPENING = "\"'([{*<-"
_FOLLOWING = re.compile(r"[\"'(\[{*<\s-]*([\w']*)([.])?")
_GLUED = re.compile(r"[A-Z](?:[a-z]|['’]|\s)")
_LONGEST_ABBREVIATION = 12

SENTENCES_RULE = (
    "The end of a paragraph ends a sentence. Within a paragraph a sentence may end after a stop: a run of . ! ? (also "
    "with spaces between them) and the closing quotation marks and brackets after it. It ends there when white space "
    "follows, or when a lower-case letter or digit is right before the stop and a capital letter with a lower-case "
    "one, an apostrophe or white space right after it (film.The), except: (1) the stop has ! or ? and a closing mark, "
    "and a lower-case letter follows ('What?' he said); (2) the stop is two or more full stops and a lower-case "
    "letter follows; (3) the stop is one full stop, and (a) the word before it is one of "
    f"{' '.join(sorted(_LEADING))}; (b) it is one of {' '.join(sorted(_NUMBERED))} and a digit follows; (c) it is one "
    f"of {' '.join(sorted(_TRAILING))}, a single capital letter other than I, or letters with full stops between them "
    f"(U.S), unless one of these words follows that is not an initial itself: {' '.join(sorted(_STARTERS))}; (d) it is "
    "the first word of the sentence and a number or a single letter (1. The); (e) the stop has a closing mark and a "
    "lower-case letter follows. Opening quotation marks, brackets, * < - are skipped to find what follows. So decimal "
    "numbers, addresses and clock times are not split, and a sentence may begin with a lower-case letter. A piece "
    "without a letter or digit belongs to the sentence before it, at the beginning of the text to the one after it."
)


def split_sentences(text: str) -> list[str]:
    """The sentences of plain text with one paragraph per line, by ``SENTENCES_RULE``; [] for blank text."""
    sentences: list[list[str]] = []
    wordless: list[str] = []
    for paragraph in text.split("\n"):
        for piece in _pieces(paragraph):
            if any(map(str.isalnum, piece)):
                sentences.append([*wordless, piece])
                wordless = []
            elif sentences:
                sentences[-1].append(piece)
            else:
                wordless.append(piece)
    if wordless:
        sentences = [wordless]
    return [" ".join(pieces) for pieces in sentences]


def _pieces(paragraph: str) -> Iterator[str]:
    start = 0
    for stop in _STOP.finditer(paragraph):
        if _ends_sentence(paragraph, start, stop):
            yield paragraph[start : stop.end()].strip()
            start = stop.end()
    if rest := paragraph[start:].strip():
        yield rest


def _ends_sentence(paragraph: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a stop ends the sentence that begins at ``start``; the numbers are those of ``SENTENCES_RULE``.

    A single capital letter that is the whole sentence so far is taken for an initial, not for the mark of a list: in
    "A. The film", the stop ends a sentence.
    """
    before, end = stop.start(), stop.end()
    if end == len(paragraph):
        return True
    if paragraph[end] != " ":
        last = paragraph[before - 1 : before]
        if not ((last.islower() or last.isdigit()) and _GLUED.match(paragraph, end)):
            return False
    match = _FOLLOWING.match(paragraph, end)
    assert match is not None, "the pattern also matches nothing"
    following, is_initial = match[1], match[2] is not None and len(match[1]) == 1
    lower, closes = following[:1].islower(), stop[0][-1] not in ".!?"
    if "!" in stop[0] or "?" in stop[0]:
        return not (closes and lower)
    if stop[0].count(".") > 1:
        return not lower
    word = paragraph[max(start, before - _LONGEST_ABBREVIATION) : before].rpartition(" ")[2].lstrip(_OPENING + ".")
    if word in _LEADING or (word in _NUMBERED and following[:1].isdigit()):
        return False
    if word in _TRAILING or (word != "I" and _INITIALS.fullmatch(word)):
        return following in _STARTERS and not is_initial
    if paragraph[start:before].strip(_OPENING + " ") == word and (word.isdigit() or len(word) == 1):
        return False
    return not (closes and lower)


# --- words ---


class EnglishWords(Tokenizer):
    """Lower-cased words and punctuation marks of one sentence."""

    name = "english-words"
    rule = (
        "Words and punctuation marks by Moses' tokenizer.perl -l en, in its port sacremoses.MosesTokenizer, one "
        "sentence at a time: hyphenated words stay whole, don't becomes don 't, special characters are not escaped. "
        "Then the words are lower-cased (Unicode); abbreviations are recognised by their capitals before that."
    )
    packages = ("sacremoses",)

    def tokenize(self, text: str) -> list[str]:
        return " ".join(wordwise("en").tokenize(text)).lower().split()
