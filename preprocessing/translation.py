"""Parallel corpora: from the official files to ids on both sides and back to text, with every decision stated.

    from preprocessing import translation
    result = translation.prepare("multi30k en-de", source="en", target="de", tokens="bpe")
    result.splits["train"].source.sequences(), result.target_vocabulary, result.detokenize(["ein", "Hund", "."])

The steps, in order: read-pairs, normalize, (split-by-hash or hold-out), (lower-case), (deduplicate), overlap, then, by
the kind of tokens, ``words``: tokenize, (truecase), filter-lengths; ``bpe``: the same, then learn-bpe, bpe;
``sentencepiece``: learn-pieces, tokenize, filter-lengths; and for all kinds: vocabulary, encode, check-round-trip.

Encoded rows have neither a begin nor an end token: a model adds ``vocabulary.BEGIN_ID`` (2) and ``END_ID`` (3) where
needed. Padding is 1, unknown 0, as in all vocabularies here with padding.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preprocessing.bitext.corpora import CORPORA, OWN_FILES
from preprocessing.bitext.data import SIDES, Bitext, BothSides
from preprocessing.bitext.pipeline import TranslationPipeline, TranslationResult
from preprocessing.bitext.reading import ReadPairs
from preprocessing.bitext.split import HoldOutPairs, SplitPairs
from preprocessing.bitext.steps import (
    CheckRoundTrip,
    Deduplicate,
    FilterLengths,
    FitTokenizer,
    LearnJointVocabulary,
    LearnSequenceVocabulary,
    Overlap,
)
from preprocessing.bitext.subwords import ApplyBPE, LearnBPE
from preprocessing.bitext.writing import write as write
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import InputError, ParameterError, check_at_least_one, check_choice, check_positive
from preprocessing.pipeline.step import Step
from preprocessing.text.normalization import MOSES_LANGUAGES, Lowercase, Normalize
from preprocessing.text.steps import Encode, Tokenize
from preprocessing.text.tokenizers.reversible import JointSentencePiece, words_of
from preprocessing.text.truecasing import Truecase

_log = logging.getLogger(__name__)

TOKENS = ("words", "bpe", "sentencepiece")


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
    joint_vocabulary: bool = False,
    max_length: int | None = 50,
    max_ratio: float | None = 4.0,
    deduplicate: bool = True,
    drop_overlap: bool | None = None,
    extra: Sequence[str] = (),
    empty: str | None = None,
) -> TranslationPipeline:
    """The pipeline for one of ``CORPORA``.

    ``corpus``: its name; ``"sample"`` is the embedded sentences, ``"own files"`` your own (see :func:`own_files`).
    ``source`` and ``target``: two of its languages (default: the first and the second). ``tokens``: ``"words"``,
    ``"bpe"`` (``operations`` merges, learned jointly) or ``"sentencepiece"`` (at most ``pieces`` pieces, learned
    jointly). ``lowercase`` or ``truecase`` or neither; truecasing needs words and does not apply to Korean.
    ``min_freq`` and ``max_size``: limits of the vocabulary of each side, without the four special tokens; ``min_freq``
    defaults to 2, and to 1 with sentencepiece, whose model itself leaves out rare pieces. ``joint_vocabulary``: use one
    vocabulary for both sides. ``max_length`` (tokens of a side: words with words and bpe, pieces with sentencepiece)
    and ``max_ratio`` leave out train pairs only; None is no limit. A ratio of 4 leaves out broken pairs: two rows of
    Multi30k whose German is ``@@``, truncated machine translations of KorSTS, nothing of Tatoeba en-fr.
    ``deduplicate``: train on each pair once. ``drop_overlap``: leave out train pairs with a sentence of another split
    (default: only if the corpus has test sets of several origins, ``tatoeba ko-en``). ``extra``: further collections of
    the corpus, to train or to test on. ``empty``: refuse a pair with an empty side, or drop it (default: refuse, with
    WMT'14 drop).

    Raises InputError for an unknown name or language or an invalid value.
    """
    known = CORPORA.get(corpus)
    if known is None:
        raise ParameterError("corpus", corpus, "has no translation pipeline", remedy=f"choose {', '.join(CORPORA)}")
    if corpus == OWN_FILES and not (source and target):
        reason = "source and target are not given"
        raise InputError("your own files", reason, remedy="give both, as to own_files")
    source, target = source or known.languages[0], target or known.languages[1]
    columns = tuple(known.stand_ins.get(language, language) for language in (source, target))
    for language in columns:
        if language not in known.languages:
            choice = ", ".join((*known.languages, *known.stand_ins))
            raise InputError(f"language {language!r}", f"is not in corpus {corpus}", remedy=f"choose from {choice}")
    if columns[0] == columns[1]:
        raise InputError(f"{source} to {target}", "source and target are the same text", remedy="choose two languages")
    if unknown := [name for name in extra if name not in known.extra]:
        choice = ", ".join(known.extra) or "none for this corpus"
        raise ParameterError("extra", unknown[0], f"is not in corpus {corpus}", remedy=f"known: {choice}")
    check_choice("tokens", tokens, TOKENS)
    empty = empty or known.empty
    check_choice("empty", empty, ("refuse", "drop"))
    check_positive(operations=operations, pieces=pieces, min_freq=min_freq, max_size=max_size)
    check_positive(max_length=max_length)
    check_at_least_one(max_ratio=max_ratio)
    if lowercase and truecase:
        raise InputError(
            "truecase", "needs text that is not lower-cased", remedy="choose lowercase=False or no truecase"
        )
    if truecase and tokens == "sentencepiece":
        raise InputError("truecase", "needs words, which sentencepiece does not have", remedy="choose words or bpe")
    min_freq = min_freq or (1 if tokens == "sentencepiece" else 2)

    collections = (*known.collections, *(known.extra[name] for name in extra))
    from_text, to_text = columns
    stand_ins = {language: other for language, other in known.stand_ins.items() if language in (source, target)}
    steps: list[Step[Bitext]] = [ReadPairs(from_text, to_text, collections, empty, stand_ins, known.longest)]
    steps += [BothSides(Normalize(from_text), Normalize(to_text))]
    if known.one_in:
        first = min(columns)
        steps += [SplitPairs(known.one_in, SIDES[columns.index(first)], first)]
    if known.hold_out:
        first = min(columns)
        steps += [HoldOutPairs(known.hold_out, SIDES[columns.index(first)], first)]
    steps += [BothSides(Lowercase(), Lowercase())] if lowercase else []
    steps += [Deduplicate()] if deduplicate else []
    steps += [Overlap(known.drop_overlap if drop_overlap is None else drop_overlap)]
    from_tokenizer, to_tokenizer = words_of(from_text), words_of(to_text)
    if tokens == "sentencepiece":
        from_tokenizer = to_tokenizer = JointSentencePiece(pieces)
        steps += [FitTokenizer(from_tokenizer)]
    steps += [BothSides(Tokenize(from_tokenizer), Tokenize(to_tokenizer))]
    if truecase:
        steps += [BothSides(*(Truecase() if language in MOSES_LANGUAGES else None for language in columns))]
    steps += [FilterLengths(max_length, max_ratio)]
    if tokens == "bpe":
        steps += [LearnBPE(operations), BothSides(ApplyBPE(min_freq), ApplyBPE(min_freq))]
    learn = LearnSequenceVocabulary(min_freq, max_size)
    steps += [LearnJointVocabulary(learn) if joint_vocabulary else BothSides(learn, learn)]
    steps += [BothSides(Encode(), Encode()), BothSides(CheckRoundTrip(), CheckRoundTrip())]
    parts = tuple(part for collection in collections for part in collection.parts(*columns))
    for language, other in stand_ins.items():
        _log.warning("*** corpus %s has no text in %s; using %s instead ***", corpus, language, other)
    return TranslationPipeline("translation", tuple(steps), from_text, to_text, from_tokenizer, to_tokenizer, parts)


def prepare(
    corpus: str | CorpusFiles,
    *,
    processes: int | None = None,
    cache: bool = True,
    bounded: bool | None = None,
    **options: Any,
) -> TranslationResult:
    """Run :func:`pipeline` with ``options`` on a corpus: one of ``CORPORA`` by its name, :func:`own_files`, or files of
    ``locate.given`` under the name of a known corpus. ``bounded``: see :meth:`TranslationPipeline.run`."""
    name = corpus if isinstance(corpus, str) else corpus.name
    return pipeline(name, **options).run(corpus, processes=processes, cache=cache, bounded=bounded)


def own_files(folder: Path | str, source: str, target: str, licence: str = "not stated") -> CorpusFiles:
    """Your own parallel files in a folder, as a corpus: ``train``, ``validation`` and ``test``, each with the endings
    ``.<source>`` and ``.<target>``, one sentence per line; each may be compressed (``.gz``, ``.xz``). If both
    validation files are missing, one in twenty train pairs is held out. Raises InputError for any other missing
    file."""
    paths, absent = {}, set()
    for part in (f"{split}.{language}" for split in ("train", "validation", "test") for language in (source, target)):
        candidates = [Path(folder, f"{part}{ending}") for ending in ("", ".gz", ".xz")]
        paths[part] = next((path for path in candidates if path.is_file()), candidates[0])
        if not paths[part].exists():
            absent.add(part)
    validation = {f"validation.{language}" for language in (source, target)}
    if validation <= absent:
        paths = {part: path for part, path in paths.items() if part not in validation}
    return locate.given(OWN_FILES, paths, licence)
