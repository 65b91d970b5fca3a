"""Pieces of words by SentencePiece, trained on the training split."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from preprocessing.errors import InputError
from preprocessing.text.tokenizers.tokenizer import Tokenizer, import_package

_DEFAULT_LONGEST = 4192  # bytes; SentencePiece's default of max_sentence_length


class SentencePiece(Tokenizer):
    """SentencePiece (Kudo and Richardson, 2018), unigram model, trained on the training split only."""

    name = "sentencepiece"
    rule = (
        "Pieces of a SentencePiece unigram model trained on the training split only, in one thread, without sampling; "
        "text is normalised by nmt_nfkc first, and U+2581 marks the start of a word."
    )
    packages = ("sentencepiece",)
    training: ClassVar[dict[str, Any]] = {"normalization_rule_name": "nmt_nfkc"}

    def __init__(self, vocab_size: int = 8000, model: bytes = b"") -> None:
        """``vocab_size``: an upper bound on the number of pieces; a small corpus yields fewer. ``model``: a trained
        model; without one, :meth:`fit` trains it."""
        self.vocab_size, self.model = vocab_size, model

    def parameters(self) -> dict[str, Any]:
        own = {"vocab_size": self.vocab_size, "model_type": "unigram"}
        return {**own, "model_sha256": self.sha256} if self.model else own

    def fit(self, texts: Sequence[str]) -> SentencePiece:
        if self.model:
            return self
        trainer = import_package("sentencepiece").SentencePieceTrainer
        written = io.BytesIO()
        # Longer texts than this many bytes would be left out of the training without a word.
        longest = max((len(text.encode("utf-8")) for text in texts), default=0)
        limit = {"max_sentence_length": longest} if longest > _DEFAULT_LONGEST else {}
        try:
            trainer.train(
                # SentencePiece leaves out every text that contains U+2585, by which it marks unknown characters.
                sentence_iterator=(_spaced(text).replace("\u2585", " ") for text in texts),
                model_writer=written,
                model_type="unigram",
                vocab_size=self.vocab_size,
                hard_vocab_limit=False,
                num_threads=1,
                shuffle_input_sentence=False,
                minloglevel=2,
                **limit,
                **self.training,
            )
        except RuntimeError as error:
            reason = f"cannot be trained on {len(texts)} texts: {' '.join(str(error).split())}"
            remedy = "give more text or another number of pieces"
            raise InputError("tokenizer sentencepiece", reason, remedy=remedy) from error
        return type(self)(self.vocab_size, written.getvalue())

    def state(self) -> bytes:
        return self.model

    def restored(self, state: bytes) -> SentencePiece:
        return type(self)(self.vocab_size, state)

    def tokenize(self, text: str) -> list[str]:
        pieces: list[str] = self._processor.encode(_spaced(text), out_type=str)
        return pieces

    @property
    def pieces(self) -> frozenset[str]:
        """The pieces of the model, without those that stand for no text."""
        processor = self._processor
        sizes = range(processor.get_piece_size())
        hidden = [index for index in sizes if processor.is_control(index) or processor.is_unknown(index)]
        return frozenset(processor.id_to_piece(index) for index in sizes if index not in hidden)

    @property
    def sha256(self) -> str:
        """SHA-256 of the model."""
        return hashlib.sha256(self.model).hexdigest()

    @cached_property
    def _processor(self) -> Any:
        if not self.model:
            raise ValueError("train the SentencePiece tokenizer with fit() first")
        return import_package("sentencepiece").SentencePieceProcessor(model_proto=self.model)


def _spaced(text: str) -> str:
    """The text with a space for each white space, some of which SentencePiece would delete, such as U+0085."""
    return re.sub(r"\s", " ", text)
