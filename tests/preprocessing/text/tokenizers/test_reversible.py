"""Detokenisation inverts tokenisation: on chosen sentences, and for Korean on any text."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, strategies as st

from preprocessing.bitext.subwords import SEPARATOR
from preprocessing.corpora.locate import SAMPLE_ROOT
from preprocessing.text.normalization import JOINER, SPACE, normalizer
from preprocessing.text.tokenizers.reversible import JoinedMecab, JointSentencePiece, words_of

SENTENCES = {
    "en": [
        "A man's dog doesn't bark, and the neighbours' cats sleep.",
        '"Hello," she said, "it\'s 3.50 dollars (cheap)!"',
        "The two-storey house of Mr. Smith, e.g., costs $5,000... right?",
        "We're here; they'll come at noon [or later].",
        "Is it 50% off? Yes!",
    ],
    "de": [
        "Ein Mann, der „Hallo“ ruft, läuft über saftig-grünes Gras.",
        "Wer hat das gesehen? Niemand!",
        "Z.B. kostet das Brot 2,50 Euro (ohne Käse).",
        "Zwei T-Shirts und 1.000 Bücher; das ist alles.",
        "Dr. Müller fährt um 9 Uhr nach Köln.",
    ],
    "fr": [
        "L'enfant n'a pas vu « la mer » aujourd'hui.",
        "Combien coûte l'autre chapeau rouge ?",
        "Qu'est-ce que c'est ? Rien !",
        "Deux vaches-à-lait, trois œufs (frais) et 1,5 litre d'eau.",
        "J'ai dit que l'homme s'appelait M. Dupont.",
    ],
    "ko": [
        "학교에서 친구 3명을 만났다.",
        '그는 "안녕(hello)?"이라고 말했어요…',
        "값은 1,000원이고요, 할인은 50%예요!",
        "이메일은 a@@b.com 입니다@",
        "나는밥을먹었다ㅋㅋㅋ 진짜로 ㅠㅠ",
        "3.5km/h로 걸었다",
    ],
}
KOREAN = st.text("가나다학교에서먹었다 ㅋㅠ!?.,~@\"'()[]aZ09é😀￭▁-", max_size=40)


@pytest.mark.parametrize(
    ("language", "sentence"), [(language, text) for language in SENTENCES for text in SENTENCES[language]]
)
def test_detokenising_restores_the_normalised_sentence(language: str, sentence: str) -> None:
    tokenizer, normal = words_of(language), normalizer(language)(sentence)
    tokens = tokenizer.tokenize(normal)
    assert tokenizer.detokenize(tokens) == normal
    assert len(tokens) > len(normal.split()), "the comparison is empty: nothing was tokenised"


@given(text=KOREAN | st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_korean_text_is_restored_exactly_and_token_by_token(text: str) -> None:
    tokenizer, normal = JoinedMecab(), normalizer("ko")(text)
    tokens = tokenizer.tokenize(normal)
    assert tokenizer.detokenize(tokens) == normal
    assert "".join(token.removeprefix(JOINER) for token in tokens) == normal.replace(" ", "")
    assert not any(token.endswith(SEPARATOR) or token == JOINER for token in tokens)


def test_the_joiner_marks_missing_spaces() -> None:
    assert JoinedMecab().tokenize("학교에서 밥을 먹었다.") == ["학교", "￭에서", "밥", "￭을", "먹", "￭었", "￭다", "￭."]
    assert JoinedMecab().detokenize(["￭에서", "학교", "<unk>", "￭."]) == "에서 학교 <unk>."
    assert JoinedMecab().tokenize(" ") == [] and JoinedMecab().detokenize([]) == ""


def test_moses_tokenises_as_the_script() -> None:
    assert words_of("en").tokenize("the dog's T-shirt isn't e.g. 3.50.") == [
        *("the", "dog", "'s", "T-shirt", "isn", "'t", "e.g.", "3.50", ".")
    ]
    assert words_of("fr").tokenize("l'eau d'aujourd'hui") == ["l'", "eau", "d'", "aujourd'", "hui"]
    assert words_of("de").tokenize('das "<Gras> & Heu"') == ["das", '"', "<", "Gras", ">", "&", "Heu", '"']


@pytest.mark.parametrize("language", ["en", "fr", "ko"])
def test_the_sentences_of_the_sample_are_restored(language: str) -> None:
    tokenizer, normalize = words_of(language), normalizer(language)
    rows = (SAMPLE_ROOT / "sentences" / "train.tsv").read_text(encoding="utf-8").splitlines()
    column = rows[0].split("\t").index(language)
    normal = [normalize(row.split("\t")[column]) for row in rows[1:]]
    failed = [text for text in normal if tokenizer.detokenize(tokenizer.tokenize(text)) != text]
    assert failed == [] and len(normal) == 240


def test_sentencepiece_text_is_restored_exactly() -> None:
    texts = [normalizer(language)(text) for language in SENTENCES for text in SENTENCES[language]]
    fitted = JointSentencePiece(300).fit(texts)
    assert isinstance(fitted, JointSentencePiece)
    for text in texts:
        pieces = fitted.tokenize(text)
        assert fitted.detokenize(pieces) == text and pieces[0].startswith(SPACE)
    # Not normalised again: the compatibility form of a ligature is unchanged.
    assert "œufs" in fitted.detokenize(fitted.tokenize("trois œufs")) and "½" in "".join(fitted.tokenize("½"))
    assert JointSentencePiece(300).fit(texts).state() == fitted.state()
    again = JointSentencePiece(300).restored(fitted.state())
    assert isinstance(again, JointSentencePiece) and again.tokenize(texts[0]) == fitted.tokenize(texts[0])


@pytest.mark.parametrize("language", ["en", "de", "fr", "ko"])
def test_a_used_tokenizer_can_be_sent_to_another_process(language: str) -> None:
    tokenizer = words_of(language)
    tokens = tokenizer.tokenize("a b, c.")
    sent = pickle.dumps(tokenizer)
    assert len(sent) < 1_000
    assert pickle.loads(sent).tokenize("a b, c.") == tokens
