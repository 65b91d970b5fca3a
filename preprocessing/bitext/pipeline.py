"""A pipeline of a parallel corpus, and its result: pairs of ids, two vocabularies, and the way back to text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preprocessing.bitext.bounded import result as bounded_result
from preprocessing.bitext.bounded.steps import obstacle
from preprocessing.bitext.data import SIDES, Bitext, BothSides, Pair
from preprocessing.bitext.steps import detokenized, whole_words
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import InputError, check_positive, checked_list
from preprocessing.pipeline.pipeline import Pipeline, RunResult
from preprocessing.pipeline.step import Context
from preprocessing.text.data import Data, Split
from preprocessing.text.normalization import JOINER, normalizer
from preprocessing.text.tokenizers.reversible import ReversibleTokenizer, words_of
from preprocessing.text.vocabulary import UNKNOWN, Vocabulary

LARGE = 1 << 26
"""Size in bytes, roughly after decompression, from which a corpus is not held in memory: about half a million pairs."""


@dataclass(frozen=True)
class TranslationPipeline(Pipeline[Bitext, "TranslationResult"]):
    """The pipeline for a parallel corpus. ``source`` and ``target`` are the languages of the text that is read."""

    source: str
    target: str
    source_tokenizer: ReversibleTokenizer
    target_tokenizer: ReversibleTokenizer
    parts: tuple[str, ...]

    def files(self, corpus: str | CorpusFiles) -> CorpusFiles:
        """Like :meth:`Pipeline.files`, restricted to the parts that this pipeline reads; for the embedded sample,
        always its sentences."""
        files = super().files(corpus)
        if files.origin == "embedded":
            files = locate.find("sample sentences")
            if not set(self.parts) <= set(files.paths):
                remedy = 'call translation.prepare("sample"), which has a pipeline for it'
                raise InputError("sample", "is not read by the pipeline of another corpus", remedy=remedy)
        return files.only(self.parts)

    def run(
        self,
        corpus: str | CorpusFiles,
        *,
        processes: int | None = None,
        cache: bool = True,
        bounded: bool | None = None,
    ) -> TranslationResult:
        """Like :meth:`Pipeline.run`. ``bounded``: run in memory that does not grow with the corpus, with the result on
        disk and mapped into memory; its bytes are the same. By default, this is done for files of more than ``LARGE``
        bytes, and if the result of such a run is in the cache.

        Raises InputError if ``bounded`` is true and a step needs all text at once.
        """
        check_positive(processes=processes)
        files = self.files(corpus)
        if bounded is None:
            large = _bytes(files) > LARGE or (cache and bounded_result.is_complete(self, files))
            bounded = large and not obstacle(self, files)
        elif bounded and (reason := obstacle(self, files)):
            raise InputError("--bounded", f"cannot be combined with {reason}", remedy="leave it out")
        if not bounded:
            return super().run(files, processes=processes, cache=cache)
        data, card = bounded_result.run(self, files, processes=processes, keep=cache)
        return self.result(data, card, card["digest"])

    def empty(self) -> Bitext:
        return Bitext()

    def restored(self, arrays: Mapping[str, np.ndarray]) -> Bitext:
        return Bitext.from_arrays(arrays, self.source_tokenizer, self.target_tokenizer)

    def splits_of_card(self, data: Bitext) -> dict[str, Any]:
        tokens = data.token_counts()
        return {
            name: {"rows": rows, **{f"{side}_tokens": tokens[f"{name} {side}"] for side in SIDES}}
            for name, rows in data.rows().items()
        }

    def result(self, data: Bitext, card: dict[str, Any], digest: str) -> TranslationResult:
        return TranslationResult(self, data, card, digest)


@dataclass(frozen=True, eq=False, repr=False)
class TranslationResult(RunResult["TranslationPipeline", Bitext]):
    """Data, card and digest of one run on parallel text."""

    @property
    def splits(self) -> dict[str, Pair]:
        """The splits train, validation, test, and further validation and test sets if the corpus has any."""
        return self.data.splits

    @property
    def source_vocabulary(self) -> Vocabulary:
        """The vocabulary learned on the source side of train."""
        return _learned(self.data.source)

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The vocabulary learned on the target side of train."""
        return _learned(self.data.target)

    @property
    def stand_ins(self) -> list[str]:
        """One message for each requested language that the corpus does not have, and for which another is used."""
        return list(self.card["facts"].get("stand_ins", {}).values())

    def encode(self, texts: Iterable[str], *, processes: int | None = None) -> Split:
        """Encode new source sentences by the same steps and the same learned state, one row per sentence.

        Raises ParameterError for a single sentence instead of a list."""
        state = self.data.source
        data = Data({"new": Split.of(checked_list(texts))}, state.tokenizer, state.vocabulary, state.learned)
        for step in self.pipeline.steps:
            own = step.source if isinstance(step, BothSides) else None
            if own is not None and own.for_new_rows:
                data, _ = own.apply(data, Context(processes=processes))
        return data.finished().splits["new"]

    def detokenize(self, tokens: Sequence[str], *, side: str = "target") -> str:
        """Tokens of one side as text: the inverse of the steps from normalised text to tokens."""
        return detokenized(getattr(self.data, side), tokens)

    def words(self, tokens: Sequence[str], *, side: str = "target") -> list[str]:
        """Tokens of one side as words, the pieces of byte pair encoding joined."""
        return list(whole_words(getattr(self.data, side), tokens))

    def references(self, split: str) -> list[str]:
        """The target sentences of a split as in the file: the references for sacreBLEU."""
        texts: list[str] = self.splits[split].target.text.tolist()
        return texts

    def evaluation_tokens(self, texts: Sequence[str]) -> list[str]:
        """Target sentences as lines of normalised, lower-cased words, on which the peers' ``bleu`` is computed,
        whatever the tokens of the model are. For Korean, the words are Mecab's morphemes without the marks of their
        spacing. A generated unknown word is one word, which no reference contains."""
        normalize, words = normalizer(self.pipeline.target), words_of(self.pipeline.target)

        def tokens(text: str) -> list[str]:
            return [token.removeprefix(JOINER) for token in words.tokenize(normalize(text).lower())]

        return [f" {UNKNOWN} ".join(" ".join(tokens(part)) for part in text.split(UNKNOWN)).strip() for text in texts]

    def reference_tokens(self, split: str) -> list[str]:
        """:meth:`evaluation_tokens` of the references of a split."""
        return self.evaluation_tokens(self.references(split))


def _learned(data: Data) -> Vocabulary:
    if data.vocabulary is None:
        raise ValueError("no vocabulary was learned")
    return data.vocabulary


def _bytes(files: CorpusFiles) -> int:
    """Bytes of text in files; an estimate for compressed ones."""
    return sum(path.stat().st_size * (4 if path.suffix in (".gz", ".xz") else 1) for path in files.paths.values())
