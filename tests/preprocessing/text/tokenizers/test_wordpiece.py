"""WordPiece: the longest pieces of a given vocabulary, and its file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from preprocessing.errors import InputError
from preprocessing.text.tokenizers.wordpiece import WordPiece, read_tokens
from preprocessing.text.vocabulary import MASKED_SPECIALS, Vocabulary

FILE = "[PAD]\n[unused0]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n!\nun\n##aff\n##able\n##a\nnaive\nit\n'\ns\n"


def test_words_become_their_longest_pieces() -> None:
    tokenizer = WordPiece(["un", "##aff", "##able", "##a", "naive", "it", "'", "s", "!"])
    assert tokenizer.tokenize("Unaffable naïve!") == ["un", "##aff", "##able", "naive", "!"]
    assert tokenizer.tokenize("it's it 's") == ["it", "'", "s", "it", "'", "s"]
    assert tokenizer.tokenize("  ") == []
    restored = WordPiece().restored(tokenizer.state())
    assert restored.pieces == tokenizer.pieces
    assert WordPiece().restored(WordPiece().state()).pieces == ()


def test_what_cannot_be_divided_is_unknown_whatever_it_is_spelled_like() -> None:
    tokenizer = WordPiece(["un", "##a"])
    vocabulary = Vocabulary(tokenizer.pieces, MASKED_SPECIALS)
    tokens = tokenizer.tokenize("una other <cls>")
    assert vocabulary.indices(tokens).tolist() == [5, 6, 0, 0, 0, 0]


def test_without_pieces_nothing_can_be_read() -> None:
    with pytest.raises(ValueError, match="needs the pieces"):
        WordPiece().tokenize("a")


def test_the_file_of_a_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text(FILE, encoding="utf-8")
    tokens = read_tokens(path, sha256=hashlib.sha256(FILE.encode()).hexdigest())
    assert tokens[:7] == ["<pad>", "[unused0]", "<unk>", "<cls>", "<sep>", "<mask>", "!"]
    assert len(tokens) == 15


@pytest.mark.parametrize(
    ("content", "sha256", "reason"),
    [
        (FILE.encode(), "0" * 64, "the SHA-256 differs"),
        (FILE.replace("[CLS]", "cls").encode(), "", r"it has no \[CLS\]"),
        ((FILE + "un\n").encode(), "", "it has a token twice"),
        (b"\xff\n", "", "cannot be read"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes, sha256: str, reason: str) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=reason):
        read_tokens(path, sha256=sha256)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_tokens(tmp_path / "vocab.txt")


def test_other_pieces_are_another_tokenizer() -> None:
    first, second = WordPiece(["a", "b"]), WordPiece(["a", "##b"])
    assert first.described() != second.described() and WordPiece().parameters() == {}
