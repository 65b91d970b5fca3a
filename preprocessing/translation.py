"""Parallel corpora: from the official files to ids on both sides and back to text, with every decision named.

    from preprocessing import translation
    result = translation.prepare("multi30k en-de", source="en", target="de", tokens="bpe")
    result.splits["train"].source.sequences(), result.target_vocabulary, result.detokenize(["ein", "Hund", "."])

The steps, in order: read-pairs, normalize, (split-by-hash), (lower-case), (deduplicate), overlap, then one of
``words``: tokenize, (truecase), filter-lengths;
``bpe``: the same, learn-bpe, bpe;
``sentencepiece``: learn-pieces, tokenize, filter-lengths;
and for all: vocabulary, encode, check-round-trip.

Encoded rows have neither a begin nor an end: a model adds ``vocabulary.BEGIN_ID`` (2) and ``END_ID`` (3) where needed.
Padding is 1, unknown 0, as in all vocabularies here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.bitext import subwords
from preprocessing.bitext.data import SIDES, Bitext, BothSides, Pair
from preprocessing.bitext.reading import UNSPLIT, Collection, ReadPairs
from preprocessing.bitext.split import SplitPairs
from preprocessing.bitext.steps import (
    CheckRoundTrip,
    Deduplicate,
    FilterLengths,
    FitTokenizer,
    LearnSequenceVocabulary,
    Overlap,
    detokenized,
    whole_words,
)
from preprocessing.bitext.subwords import ApplyBPE, LearnBPE
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import InputError, check_positive
from preprocessing.files import result_directory, write_json, write_text
from preprocessing.pipeline.pipeline import Pipeline, RunResult
from preprocessing.pipeline.ragged import pack_strings
from preprocessing.pipeline.step import Context, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.normalization import JOINER, LANGUAGES, MOSES_LANGUAGES, Lowercase, Normalize, normalizer
from preprocessing.text.reversible import JointSentencePiece, ReversibleTokenizer, words_of
from preprocessing.text.steps import Encode, Tokenize
from preprocessing.text.truecasing import LEARNED as TRUECASED, Truecase
from preprocessing.text.vocabulary import UNKNOWN, Vocabulary

_log = logging.getLogger(__name__)

OWN_FILES = "own files"
TOKENS = ("words", "bpe", "sentencepiece")


@dataclass(frozen=True)
class ParallelCorpus:
    """The languages, collections and splits of a parallel corpus.

    ``extra``: collections that are read only on request. ``one_in``: of the split by hash. ``drop_overlap``: the
    default for leaving out train pairs with a sentence of another split. ``stand_ins``: languages that the corpus does
    not have, and those that are used instead.
    """

    languages: tuple[str, ...]
    collections: tuple[Collection, ...]
    extra: Mapping[str, Collection] = field(default_factory=dict)
    one_in: int = 0
    drop_overlap: bool = False
    stand_ins: Mapping[str, str] = field(default_factory=dict)


_OFFICIAL = tuple(Collection(split, split) for split in ("train", "validation", "test"))
_EN_KO = ("en", "ko")
_TRIPLES = ("ko", "en", "fr")

CORPORA: dict[str, ParallelCorpus] = {
    "multi30k en-de": ParallelCorpus(("en", "de"), _OFFICIAL),
    "multi30k en-fr": ParallelCorpus(("en", "fr"), _OFFICIAL),
    "tatoeba en-fr": ParallelCorpus(
        ("en", "fr"),
        (Collection("pairs", UNSPLIT, ("en", "fr"), ignored=1, member="fra.txt"),),
        one_in=50,
    ),
    "tatoeba ko-en": ParallelCorpus(
        ("ko", "en"),
        (
            Collection("tatoeba", UNSPLIT, _EN_KO, ignored=1, note="Translated by people."),
            Collection("korsts-train", "train", _EN_KO, note="The Korean side is machine translation."),
            Collection("park-train", "train", optional=True, note="News."),
            Collection("korsts-dev", "validation korsts", _EN_KO, note="Translated by people."),
            Collection("park-dev", "validation park", note="News."),
            Collection("korsts-test", "test korsts", _EN_KO, note="Translated by people."),
            Collection("park-test", "test park", note="News."),
        ),
        extra={
            "python-docs": Collection("python-docs", "train", _EN_KO, note="Technical documentation with markup."),
            "bible": Collection("bible", "train", _EN_KO, note="Archaic language on both sides."),
        },
        one_in=10,
        drop_overlap=True,
    ),
    "sample": ParallelCorpus(
        _TRIPLES,
        tuple(Collection(split, split, _TRIPLES, header=True) for split in ("train", "validation", "test")),
        stand_ins={"de": "fr"},
    ),
    OWN_FILES: ParallelCorpus(LANGUAGES, _OFFICIAL),
}


def pipeline(
    corpus: str,
    *,
    source: str | None = None,
    target: str | None = None,
    tokens: str = "words",
    lowercase: bool = True,
    truecase: bool = False,
    operations: int = 10_000,
    pieces: int = 8_000,
    min_freq: int | None = None,
    max_size: int | None = None,
    max_length: int | None = 50,
    max_ratio: float | None = 4.0,
    deduplicate: bool = True,
    drop_overlap: bool | None = None,
    extra: Sequence[str] = (),
    empty: str = "refuse",
) -> TranslationPipeline:
    """The pipeline for one of ``CORPORA``.

    ``corpus``: its name; ``"sample"`` is the embedded sentences, ``"own files"`` your own (see :func:`own_files`).
    ``source`` and ``target``: two of its languages (default: the first and the second). ``tokens``: ``"words"``,
    ``"bpe"`` (``operations`` merges, learned jointly) or ``"sentencepiece"`` (at most ``pieces`` pieces, learned
    jointly). ``lowercase`` or ``truecase`` or neither; truecasing needs words and does not apply to Korean.
    ``min_freq`` and ``max_size``: of the vocabulary of each side, without the four specials; ``min_freq`` defaults to
    2, and to 1 with sentencepiece, whose model itself leaves out rare pieces. ``max_length`` (tokens of a side: words
    with words and bpe, pieces with sentencepiece) and ``max_ratio`` leave out train pairs only; None is no limit. A
    ratio of 4 leaves out broken pairs: two rows of Multi30k whose German is ``@@``, truncated machine translations of
    KorSTS, nothing of Tatoeba en-fr. ``deduplicate``: train on each pair once. ``drop_overlap``: leave out train pairs
    with a sentence of another split (default: only where the corpus has test sets of several origins, ``tatoeba
    ko-en``). ``extra``: further collections of the corpus to train on. ``empty``: refuse a pair with an empty side, or
    drop it.

    Raises InputError for an unknown name or language or an invalid value.
    """
    known = CORPORA.get(corpus)
    if known is None:
        raise InputError(f"corpus {corpus!r}", "has no translation pipeline", remedy=f"choose {', '.join(CORPORA)}")
    source, target = source or known.languages[0], target or known.languages[1]
    columns = tuple(known.stand_ins.get(language, language) for language in (source, target))
    for language in columns:
        if language not in known.languages:
            choice = ", ".join((*known.languages, *known.stand_ins))
            raise InputError(f"language {language!r}", f"is not in corpus {corpus}", remedy=f"choose from {choice}")
    if columns[0] == columns[1]:
        raise InputError(f"{source} to {target}", "is one language, or one in place of the other", remedy="choose two")
    if unknown := [name for name in extra if name not in known.extra]:
        choice = ", ".join(known.extra) or "none for this corpus"
        raise InputError(f"extra {unknown[0]!r}", f"is not in corpus {corpus}", remedy=f"known: {choice}")
    _check_choice("tokens", tokens, TOKENS)
    _check_choice("empty", empty, ("refuse", "drop"))
    check_positive(operations=operations, pieces=pieces, min_freq=min_freq, max_size=max_size)
    check_positive(max_length=max_length, max_ratio=max_ratio)
    if lowercase and truecase:
        raise InputError(
            "truecase", "needs text that is not lower-cased", remedy="choose lowercase=False or no truecase"
        )
    if truecase and tokens == "sentencepiece":
        raise InputError("truecase", "needs words, which sentencepiece does not have", remedy="choose words or bpe")
    min_freq = min_freq or (1 if tokens == "sentencepiece" else 2)

    collections = (*known.collections, *(known.extra[name] for name in extra))
    from_text, to_text = columns
    stand_ins = {given: taken for given, taken in known.stand_ins.items() if given in (source, target)}
    steps: list[Step[Bitext]] = [ReadPairs(from_text, to_text, collections, empty, stand_ins)]
    steps += [_both(Normalize(from_text), Normalize(to_text))]
    if known.one_in:
        first = min(columns)
        steps += [SplitPairs(known.one_in, SIDES[columns.index(first)], first)]
    steps += [_both(Lowercase(), Lowercase())] if lowercase else []
    steps += [Deduplicate()] if deduplicate else []
    steps += [Overlap(known.drop_overlap if drop_overlap is None else drop_overlap)]
    from_tokenizer, to_tokenizer = words_of(from_text), words_of(to_text)
    if tokens == "sentencepiece":
        from_tokenizer = to_tokenizer = JointSentencePiece(pieces)
        steps += [FitTokenizer(from_tokenizer)]
    steps += [_both(Tokenize(from_tokenizer), Tokenize(to_tokenizer))]
    if truecase:
        steps += [BothSides(*(Truecase() if language in MOSES_LANGUAGES else None for language in columns))]
    steps += [FilterLengths(max_length, max_ratio)]
    if tokens == "bpe":
        steps += [LearnBPE(operations), _both(ApplyBPE(min_freq), ApplyBPE(min_freq))]
    learn = LearnSequenceVocabulary(min_freq, max_size)
    steps += [_both(learn, learn), _both(Encode(), Encode()), _both(CheckRoundTrip(), CheckRoundTrip())]
    parts = tuple(part for collection in collections for part in collection.parts(*columns))
    for given, taken in stand_ins.items():
        _log.warning("*** corpus %s has no text in %s; using %s instead ***", corpus, given, taken)
    return TranslationPipeline("translation", tuple(steps), from_text, to_text, from_tokenizer, to_tokenizer, parts)


def prepare(
    corpus: str | CorpusFiles, *, processes: int | None = None, cache: bool = True, **options: Any
) -> TranslationResult:
    """Run :func:`pipeline` with ``options`` on a corpus: one of ``CORPORA`` by its name, :func:`own_files`, or files of
    ``locate.given`` under the name of a known corpus."""
    name = corpus if isinstance(corpus, str) else corpus.name
    return pipeline(name, **options).run(corpus, processes=processes, cache=cache)


def own_files(folder: Path, source: str, target: str, licence: str = "not stated") -> CorpusFiles:
    """The files ``train``, ``validation`` and ``test``, each as ``.<source>`` and ``.<target>``, of a folder, one
    sentence per line; each may be compressed (``.gz``, ``.xz``). Raises InputError for a missing one."""
    paths = {}
    for part in (f"{split}.{language}" for split in ("train", "validation", "test") for language in (source, target)):
        candidates = [folder / f"{part}{ending}" for ending in ("", ".gz", ".xz")]
        paths[part] = next((path for path in candidates if path.is_file()), candidates[0])
    return locate.given(OWN_FILES, paths, licence)


@dataclass(frozen=True)
class TranslationPipeline(Pipeline[Bitext, "TranslationResult"]):
    """The pipeline of a parallel corpus. ``source`` and ``target`` are the languages of the text that is read."""

    source: str
    target: str
    source_tokenizer: ReversibleTokenizer
    target_tokenizer: ReversibleTokenizer
    parts: tuple[str, ...]

    def files(self, corpus: str | CorpusFiles) -> CorpusFiles:
        """As :meth:`Pipeline.files`, restricted to the parts that this pipeline reads; of the embedded sample always
        its sentences."""
        files = super().files(corpus)
        if files.origin == "embedded":
            files = locate.find("sample sentences")
        return files.only(self.parts)

    def nothing(self) -> Bitext:
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
        """train, validation, test, and further test sets if the corpus has any."""
        return self.data.splits

    @property
    def source_vocabulary(self) -> Vocabulary:
        """Learned on the source side of train."""
        return _learned(self.data.source)

    @property
    def target_vocabulary(self) -> Vocabulary:
        """Learned on the target side of train."""
        return _learned(self.data.target)

    @property
    def stand_ins(self) -> list[str]:
        """One message for each requested language that the corpus does not have, and for which another is used."""
        return list(self.card["facts"].get("stand_ins", {}).values())

    def encode(self, texts: Sequence[str], *, processes: int | None = None) -> Split:
        """Encode new source sentences by the same steps and the same learned state, one row per sentence."""
        state = self.data.source
        data = Data({"new": Split.of(list(texts))}, state.tokenizer, state.vocabulary, state.learned)
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
        """The target sentences of a split as in the file: the references of sacreBLEU."""
        texts: list[str] = self.splits[split].target.text.tolist()
        return texts

    def evaluation_tokens(self, texts: Sequence[str]) -> list[str]:
        """Target sentences as lines of normalised, lower-cased words, on which the peers' ``bleu`` is computed,
        whatever the tokens of the model are: for Korean, Mecab's morphemes without the marks of their spacing. A
        generated unknown word is one word, which no reference contains."""
        normalize, words = normalizer(self.pipeline.target), words_of(self.pipeline.target)

        def tokens(text: str) -> list[str]:
            return [token.removeprefix(JOINER) for token in words.tokenize(normalize(text).lower())]

        return [f" {UNKNOWN} ".join(" ".join(tokens(part)) for part in text.split(UNKNOWN)).strip() for text in texts]

    def reference_tokens(self, split: str) -> list[str]:
        """:meth:`evaluation_tokens` of the references of a split."""
        return self.evaluation_tokens(self.references(split))


def write(result: TranslationResult, directory: Path, *, overwrite: bool = False) -> None:
    """Write a result as files, the whole directory or nothing:

    ``train.npz`` and the same for every split (spaces in its name become hyphens): for each side (``source_``,
    ``target_``) ``ids`` (tokens,) int32, ``offsets`` (rows + 1,) int64, ``text_utf8`` (bytes,) uint8 and
    ``text_offsets`` (rows + 1,) int64 of the raw text, ``seen_in_train`` (rows,) bool; and ``row_id`` (rows,) str.
    ``train.tsv``...: id, source tokens, target tokens. ``vocab.source.json``, ``vocab.target.json``
    (``gluonnlp.Vocab.from_json`` reads them); ``card.json``. With bpe ``bpe.codes`` and ``bpe.source.pieces``,
    ``bpe.target.pieces``, as ``subword-nmt apply-bpe --codes C --vocabulary P`` reads them; with sentencepiece
    ``sentencepiece.model``; with truecasing ``truecase.source.json``: lower-cased words and their cased forms.

    Raises InputError when the directory is not empty, unless ``overwrite`` is true and it contains an earlier result (a
    ``card.json``), which is then replaced as a whole.
    """
    with result_directory(directory, overwrite=overwrite) as temporary:
        for name, pair in result.splits.items():
            file = name.replace(" ", "-")
            arrays = {"row_id": pair.row_id}
            for side, split in zip(SIDES, pair.sides, strict=True):
                arrays[f"{side}_ids"], arrays[f"{side}_offsets"] = split.ids, split.offsets
                utf8, text_offsets = pack_strings(split.text.tolist())
                arrays[f"{side}_text_utf8"], arrays[f"{side}_text_offsets"] = utf8, text_offsets
                arrays[f"{side}_seen_in_train"] = split.seen_in_train
            np.savez(temporary / f"{file}.npz", **arrays)
            lines = (
                f"{row_id}\t{' '.join(pair.source.words(row))}\t{' '.join(pair.target.words(row))}\n"
                for row, row_id in enumerate(pair.row_id)
            )
            write_text(temporary / f"{file}.tsv", "id\tsource\ttarget\n" + "".join(lines))
        for side, data in zip(SIDES, (result.data.source, result.data.target), strict=True):
            write_text(temporary / f"vocab.{side}.json", _learned(data).to_json() + "\n")
            for learned, file in (
                (subwords.CODES, "bpe.codes"),
                (subwords.PIECES, f"bpe.{side}.pieces"),
                (TRUECASED, f"truecase.{side}.json"),
            ):
                if learned in data.learned:
                    (temporary / file).write_bytes(data.learned[learned])
            if data.tokenizer is not None and (state := data.tokenizer.state()):
                (temporary / "sentencepiece.model").write_bytes(state)
        write_json(temporary / "card.json", result.card)


def _both(source: Step[Data], target: Step[Data]) -> BothSides:
    return BothSides(source, target)


def _learned(data: Data) -> Vocabulary:
    if data.vocabulary is None:
        raise ValueError("no vocabulary was learned")
    return data.vocabulary


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"{name} {value!r}", "no such choice", remedy=f"choose {' or '.join(choices)}")
