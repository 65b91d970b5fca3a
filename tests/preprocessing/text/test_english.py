"""English from the web: removal of markup, sentence boundaries, words; by example and by property."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings, strategies as st
from sacremoses import MosesTokenizer

from preprocessing.text.english import EnglishWords, plain_text, split_sentences

WEB = st.text(" .!?,'\"()[]<>/br-…—&;\n\t`’aAbBI1é\x85\x96\u200b", max_size=40)
ANYTHING = WEB | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a<br />b<BR/>c<br>d</br >e< br>f", "a\nb\nc\nd\ne< br>f"),
        ('<p class="x">one</p><hr><p>two', "one\ntwo"),
        ("a\nb\r\nc\n \n\nd", "a b c\nd"),
        ("an <i>old</i> <strong>car</strong> <grin> < 3", "an old car <grin> < 3"),
        ("Q&amp;A &#8230; &quot;x&quot; &A; AT&T &#10;&#10; &notit", 'Q&A ... "x" &A; AT&T\n&notit'),
        ("he\x92s \x93here\x94\x85 now\x96then \x8d", 'he\'s "here"... now -- then'),
        ("“a” ‘b’ «c» `d´ e…", "\"a\" 'b' \"c\" 'd' e..."),
        ("\u1fefd\u1ffd é", "'d' é"),  # of Greek, which are those of `d´ in NFC
        ("a--b — c – – d —- e-f ---", "a -- b -- c -- d -- e-f --"),
        ("so\xadft \u200bspace\u00a0d e\u0301", "soft space d é"),
        ("cafe\u200b\u0301 \u1112\u200b\u1161\u11ab", "caf\u00e9 한"),  # composed after the removal
        (" \t<br><br> \u200b ", ""),
        ("", ""),
    ],
)
def test_plain_text(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@given(WEB)
def test_plain_text_has_no_markup(text: str) -> None:
    plain = plain_text(text)
    paragraphs = plain.split("\n") if plain else []
    assert all(paragraph == " ".join(paragraph.split()) != "" for paragraph in paragraphs)
    assert not set(plain) & set("…—’`\x85\x96\u200b\t") and "<br>" not in plain.lower()


@pytest.mark.parametrize(
    "marked",
    [
        "It was good. |I liked it.",
        "it was bad. |it was long. |i left",
        "What?! |Really... |I see. |no... never mind.",
        "Wow! |what a film.",
        '"What?" he said. |"Go away!" |She went.',
        "He said 'no.' |Then (for once) he meant it.) |Good.",
        "(It was long. |And dull.) |So there!",
        "It was (see it!) and then tell me.",
        "I liked (some of it.) and left.",
        "Mr. Brook met Dr. Hale at St. Anne vs. the world, e.g. in May. |They talked.",
        "Samuel L. Brook and J. R. R. Hale of the U.S. Army wrote it, etc. and so on.",
        "He lives in the U.S. |The film does not.",
        "Cars, boats, etc. |But no planes.",
        "I saw Robert Hale Jr. on stage. |He was good.",
        "It is by J. A. Hale, not by A. Hale.",
        "It costs $3.50 at 7.30 p.m. on weekdays. |Cheap.",
        "See No. 2 first. |No. |It is better.",
        "1. The plot is thin. |2. The acting is not. |B. Fine.",
        "Who? |Not I. |Not him.",
        "great film.|The end was great!|It's over...|I left. |Or in 2001.|Great",
        "Mr.Brook, vs.Hale, etc.Hale",
        "Visit www.example.com or v1.2 of I.D.C. news. |Done.",
        "well . . . maybe . . . |I think.",
        "Ten out of ten!!! |:) Buy it.",
        "End of paragraph\nand a new one. |Fin",
        "Good. -- ... |Bad.",
        "* * * Good. |Bad. * * *",
        "...",
        "? ! .",
        "",
        "\n",
    ],
)
def test_sentence_boundaries(marked: str) -> None:
    """A bar marks the beginning of each sentence but the first of a paragraph."""
    expected = [sentence.strip() for sentence in marked.replace("\n", "|").split("|")]
    assert split_sentences(marked.replace("|", "")) == [sentence for sentence in expected if sentence]


def test_text_without_letters_joins_a_neighbouring_sentence() -> None:
    assert split_sentences("*****\nGood.\n10/10\n-----\n;)") == ["***** Good.", "10/10 ----- ;)"]
    assert split_sentences("!!!\n???") == ["!!! ???"]


@given(ANYTHING)
def test_sentences_are_complete_and_contain_letters(text: str) -> None:
    plain = plain_text(text)
    sentences = split_sentences(plain)
    assert " ".join(sentences).split() == plain.split() or "".join(sentences) == "".join(plain.split("\n"))
    assert "".join("".join(sentences).split()) == "".join(plain.split())
    assert len(sentences) <= 1 or all(any(map(str.isalnum, sentence)) for sentence in sentences)
    assert all(sentence and "\n" not in sentence for sentence in sentences)


@pytest.mark.parametrize("unit", ["a. ", "a.B", "Mr. ", ". ", "((", "a ", "<br ", "\n ", "-- ", "&#1", "ab.Cd", "'! "])
def test_very_long_text_terminates(unit: str) -> None:
    plain = plain_text(unit * 50_000)
    assert "".join("".join(split_sentences(plain)).split()) == "".join(plain.split())


def test_words() -> None:
    words = EnglishWords()
    assert words.tokenize("Mr. Brook didn't pay $3.50, did he?") == (
        ["mr.", "brook", "didn", "'t", "pay", "$", "3.50", ",", "did", "he", "?"]
    )
    assert words.tokenize("A well-made film -- by J. Hale...") == (
        ["a", "well-made", "film", "--", "by", "j.", "hale", "..."]
    )
    assert words.tokenize('"Stop!" <br> ÉCOLE') == ['"', "stop", "!", '"', "<", "br", ">", "école"]
    assert words.tokenize(" ") == [] and words.versions() == {"sacremoses": "0.2.0"}
    assert pickle.loads(pickle.dumps(words)).tokenize("A.") == ["a."]


MOSES = MosesTokenizer("en")


@given(
    st.text(" ..,''\"-!()aAbzZ19é_$", max_size=25)
    | st.lists(
        st.sampled_from(["Mr.", "Mr", "x.", "o'c", "1,2", "U.S.", "Z", " ", ",", "...", ".", "5,", "'", "-", ")"])
    ).map("".join)
    | st.lists(st.sampled_from(["a", "b-c", "d,", "e.", "(f)", "7,5", "g's", "$8", "?"])).map(" ".join)
    | st.sampled_from(["So do I.", "No.", "Ask Mr.", "Ask Mr .", "DOTMULTI", "a'b'c", "", ".", " ", "(Mr).", "A-Mr."])
)
@settings(max_examples=1_000)
def test_sentences_are_tokenised_as_by_moses(text: str) -> None:
    words = MOSES.tokenize(text, escape=False)
    assert EnglishWords().tokenize(text) == " ".join(words).lower().split()
