"""The WordPiece tokenizer (Wu et al., 2016) of the networks of Devlin et al. (2019), with the pieces of a vocabulary
that was learned elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from preprocessing.errors import InputError
from preprocessing.text.tokenizers.tokenizer import Tokenizer, import_package
from preprocessing.text.vocabulary import CLASSIFY, MASK, MASKED_SPECIALS, PADDING, SEPARATOR, UNKNOWN, Vocabulary

SPECIALS = {"[UNK]": UNKNOWN, "[PAD]": PADDING, "[CLS]": CLASSIFY, "[SEP]": SEPARATOR, "[MASK]": MASK}
"""The special tokens of such a vocabulary, mapped to their names in this package."""


class WordPiece(Tokenizer):
    """The tokenizer of GluonNLP for the uncased networks.

    ``pieces``: the vocabulary without its special tokens.
    """

    name = "wordpiece"
    rule = (
        "Text is lower-cased and loses its accents; words and punctuation marks are the longest pieces of the "
        "vocabulary from left to right, later pieces of a word begin with ##, and a word that cannot be divided is "
        "unknown; by GluonNLP's BERTTokenizer."
    )
    packages = ("gluonnlp",)

    def __init__(self, pieces: Sequence[str] = ()) -> None:
        self.pieces = tuple(pieces)

    def parameters(self) -> dict[str, Any]:
        return {"pieces_sha256": hashlib.sha256(self.state()).hexdigest()} if self.pieces else {}

    def state(self) -> bytes:
        return "\n".join(self.pieces).encode("utf-8")

    def restored(self, state: bytes) -> WordPiece:
        return type(self)(state.decode("utf-8").split("\n") if state else ())

    def tokenize(self, text: str) -> list[str]:
        pieces: list[str] = self._tokenizer(text)
        return pieces

    @cached_property
    def _tokenizer(self) -> Any:
        if not self.pieces:
            raise ValueError("a WordPiece tokenizer needs the pieces of a vocabulary")
        vocabulary = Vocabulary(self.pieces, MASKED_SPECIALS).to_gluonnlp()
        return import_package("gluonnlp").data.BERTTokenizer(vocabulary, lower=True)


def read_tokens(path: Path, *, sha256: str = "") -> list[str]:
    """The tokens of a ``vocab.txt``, one per line, in the order of their ids in the published network; special tokens
    get the names used here.

    Raises InputError if the file is missing, has another ``sha256`` (if given), or is not such a vocabulary.
    """
    remedy = "install its package again"
    try:
        content = path.read_bytes()
        tokens = content.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read ({error})", remedy=remedy) from error
    if sha256 and hashlib.sha256(content).hexdigest() != sha256:
        raise InputError(path, "is not the published file: the SHA-256 differs", remedy=remedy)
    missing = [token for token in SPECIALS if token not in tokens]
    if missing or len(set(tokens)) != len(tokens):
        reason = f"has no {missing[0]}" if missing else "has a token twice"
        raise InputError(path, f"no vocabulary of WordPiece: it {reason}", remedy=remedy)
    return [SPECIALS.get(token, token) for token in tokens]
