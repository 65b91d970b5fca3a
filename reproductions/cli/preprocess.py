"""``gluon-attn preprocess``: one command per pipeline, which writes a corpus as files for any framework."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError, ParameterError

if TYPE_CHECKING:
    from preprocessing.text.pipeline import Result

Out = Annotated[Path, typer.Option(help="Output folder; must be empty or not exist.")]
Processes = Annotated[int | None, typer.Option(help="Worker processes; the output does not depend on it.")]
Replace = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result in the output folder.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache of results.")]
Sample = Annotated[bool, typer.Option("--sample", help="Use the embedded sample instead of the corpus.")]
MinFreq = Annotated[int, typer.Option(help="Minimum frequency in train; rarer tokens are unknown.")]
MaxSize = Annotated[int | None, typer.Option(help="Maximum vocabulary size, without specials.")]


class Pipelines(TyperGroup):
    """The pipelines by name; an unknown name is refused in one line."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            *names, last = self.commands
            raise UsageError(f"corpus {cmd_name!r} has no pipeline; choose {', '.join(names)} or {last}")
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a parameter that is refused is named as the option that was typed."""
        try:
            return super().invoke(ctx)
        except ParameterError as error:
            option = f"--{error.parameter.replace('_', '-')} {error.value}"
            raise InputError(option, error.reason, remedy=error.remedy) from None


app = typer.Typer(
    cls=Pipelines, no_args_is_help=True, help="Write a corpus as arrays, TSV, vocabulary and card, for any framework."
)


@app.command("naver")
def naver_reviews(
    out: Out,
    tokenizer: Annotated[
        str, typer.Option(help="mecab, okt, komoran, hannanum, kkma, whitespace, syllable, ...")
    ] = "mecab",
    max_length: Annotated[int | None, typer.Option(help="Maximum tokens per review (default: no limit).")] = None,
    min_freq: Annotated[int, typer.Option(help="Minimum frequency in train; rarer tokens are unknown.")] = 2,
    text: Annotated[str, typer.Option(help="official, or repaired: without the doubled quotes.")] = "official",
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder of your own files: train.tsv, test.tsv and, if you have it, validation.tsv, in the layout of "
            "NSMC (id, document, label); a label is any text."
        ),
    ] = None,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """The Naver sentiment movie corpus."""
    from preprocessing import naver
    from preprocessing.text import own_texts

    pipeline = naver.pipeline(tokenizer=tokenizer, max_length=max_length, min_freq=min_freq, text=text)
    if folder is not None:
        own = own_texts.own_texts_of(folder)
        prepared = own_texts.reading_own_texts(pipeline).run(own, processes=processes, cache=not no_cache)
    else:
        prepared = pipeline.run("sample" if sample else "nsmc", processes=processes, cache=not no_cache)
    _write(prepared, out, overwrite, "reviews", "tokens")


@app.command("naver-crawl")
def naver_crawl_reviews(
    out: Out,
    tokenizer: Annotated[str, typer.Option(help="As for naver.")] = "mecab",
    min_freq: MinFreq = 5,
    max_size: MaxSize = None,
    one_in: Annotated[int, typer.Option(help="One review in this many goes to validation, one to test.")] = 100,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """The raw NSMC crawl, without the reviews of the validation and test splits: text for word vectors."""
    from preprocessing import naver_crawl

    prepared = naver_crawl.prepare(
        "sample" if sample else "nsmc-raw",
        tokenizer=tokenizer,
        min_freq=min_freq,
        max_size=max_size,
        one_in=one_in,
        processes=processes,
        cache=not no_cache,
    )
    _write(prepared, out, overwrite, "reviews", "tokens")


@app.command("naver-pretraining")
def naver_pretraining_text(
    out: Out,
    pieces: Annotated[int, typer.Option(help="Maximum number of subword pieces.")] = 8000,
    max_length: Annotated[int, typer.Option(help="Maximum pieces per review.")] = 60,
    one_in: Annotated[int, typer.Option(help="One review in this many goes to validation, one to test.")] = 100,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """The raw NSMC crawl in subword pieces, without near copies of the validation and test reviews."""
    from preprocessing import naver_pretraining

    prepared = naver_pretraining.prepare(
        "sample" if sample else "nsmc-raw",
        pieces=pieces,
        max_length=max_length,
        one_in=one_in,
        processes=processes,
        cache=not no_cache,
    )
    _write(prepared, out, overwrite, "reviews", "pieces")


@app.command("documents")
def labelled_documents(
    out: Out,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Your own documents: a folder or tar archive of {train,test}/{neg,pos}/<number>_<rating>.txt."
        ),
    ] = None,
    max_sentences: Annotated[int | None, typer.Option(help="Maximum sentences per document (default: all).")] = None,
    max_words: Annotated[int | None, typer.Option(help="Maximum words per sentence (default: all).")] = None,
    overlong: Annotated[str, typer.Option(help="Longer sentences: cut, or wrap into several.")] = "cut",
    min_freq: MinFreq = 5,
    max_size: MaxSize = None,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """The film reviews of IMDB (Maas et al., 2011), sentence by sentence."""
    from preprocessing import documents

    prepared = documents.prepare(
        documents.own_documents(folder) if folder else "sample" if sample else "imdb",
        max_sentences=max_sentences,
        max_words=max_words,
        overlong=overlong,
        min_freq=min_freq,
        max_size=max_size,
        processes=processes,
        cache=not no_cache,
    )
    _write(prepared, out, overwrite, "documents", "words")


@app.command("sentences")
def labelled_sentences(
    out: Out,
    corpus: Annotated[str, typer.Option(help="sst-2 or sst-5.")] = "sst-2",
    max_length: Annotated[int | None, typer.Option(help="Maximum tokens per sentence (default: no limit).")] = None,
    min_freq: MinFreq = 2,
    max_size: MaxSize = None,
    sample: Sample = False,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """The Stanford Sentiment Treebank in two classes or five."""
    from preprocessing import sentences

    if corpus not in sentences.LABELS:
        raise UsageError(f"corpus {corpus!r} is unknown; choose {' or '.join(sentences.LABELS)}")
    prepared = sentences.prepare(
        f"sample {corpus}" if sample else corpus,
        max_length=max_length,
        min_freq=min_freq,
        max_size=max_size,
        cache=not no_cache,
    )
    _write(prepared, out, overwrite, "sentences", "tokens")


@app.command("ptb")
def language_modelling(
    out: Out,
    min_freq: MinFreq = 1,
    max_size: MaxSize = None,
    sample: Sample = False,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """The Penn Treebank for language modelling, in Mikolov's preprocessing."""
    from preprocessing import ptb

    prepared = ptb.prepare("sample" if sample else "ptb", min_freq=min_freq, max_size=max_size, cache=not no_cache)
    _write(prepared, out, overwrite, "lines", "words and line ends")


@app.command("flickr8k")
def captioned_images(
    out: Out,
    corpus: Annotated[str, typer.Option(help="flickr8k, flickr30k or coco.")] = "flickr8k",
    min_freq: MinFreq = 5,
    max_size: MaxSize = None,
    sample: Sample = False,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """Photographs with captions: Flickr8k, Flickr30k, COCO. Captions are written, and how to read the images."""
    from preprocessing import flickr8k

    if corpus not in flickr8k.CORPORA:
        raise UsageError(f"corpus {corpus!r} is unknown; choose {', '.join(flickr8k.CORPORA)}")
    prepared = flickr8k.prepare(
        "sample" if sample else corpus, min_freq=min_freq, max_size=max_size, cache=not no_cache
    )
    _write(prepared, out, overwrite, "captions", "words")


@app.command("translation")
def parallel_text(
    out: Out,
    corpus: Annotated[
        str, typer.Option(help="'multi30k en-de' or en-fr, 'tatoeba en-fr' or ko-en, 'wmt14 en-de' or en-fr.")
    ] = "multi30k en-de",
    folder: Annotated[
        Path | None, typer.Option(help="Folder of your own files: train, validation, test, each .SOURCE and .TARGET.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source language (default: the first of the corpus).")] = None,
    target: Annotated[str | None, typer.Option(help="Target language (default: the second of the corpus).")] = None,
    tokens: Annotated[str, typer.Option(help="words, bpe or sentencepiece.")] = "words",
    case: Annotated[str, typer.Option(help="lower, true (learned from train) or keep.")] = "lower",
    operations: Annotated[int, typer.Option(help="Number of BPE merges, learned on both sides jointly.")] = 10_000,
    pieces: Annotated[int, typer.Option(help="Maximum number of SentencePiece pieces.")] = 8_000,
    min_freq: Annotated[int | None, typer.Option(help="Minimum frequency in train; rarer tokens are unknown.")] = None,
    max_size: Annotated[int | None, typer.Option(help="Maximum size of each vocabulary, without specials.")] = None,
    max_length: Annotated[int, typer.Option(help="Leave out train pairs with a longer side; 0: none.")] = 50,
    max_ratio: Annotated[float, typer.Option(help="Leave out train pairs with a larger length ratio; 0: none.")] = 4,
    keep_copies: Annotated[bool, typer.Option("--keep-copies", help="Keep duplicate pairs in train.")] = False,
    drop_overlap: Annotated[
        bool | None, typer.Option(help="Leave out train pairs with a sentence of another split.")
    ] = None,
    extra: Annotated[list[str] | None, typer.Option(help="tatoeba ko-en: python-docs, bible; repeat for both.")] = None,
    empty: Annotated[
        str | None, typer.Option(help="Pairs with an empty side: refuse or drop (default: refuse; wmt14: drop).")
    ] = None,
    bounded: Annotated[
        bool | None,
        typer.Option(help="Keep text on disk, in memory that does not grow with it (default: for 64 MiB and more)."),
    ] = None,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """Parallel text, in either direction."""
    from preprocessing import translation

    cases = {"lower": (True, False), "true": (False, True), "keep": (False, False)}
    if case not in cases:
        raise UsageError(f"case {case!r} is unknown; choose {', '.join(cases)}")
    if folder is not None and (source is None or target is None):
        raise UsageError("--folder needs --source and --target, the suffixes of its files")
    lowercase, truecase = cases[case]
    prepared = translation.prepare(
        translation.own_files(folder, str(source), str(target)) if folder else "sample" if sample else corpus,
        source=source,
        target=target,
        tokens=tokens,
        lowercase=lowercase,
        truecase=truecase,
        operations=operations,
        pieces=pieces,
        min_freq=min_freq,
        max_size=max_size,
        max_length=max_length or None,
        max_ratio=max_ratio or None,
        deduplicate=not keep_copies,
        drop_overlap=drop_overlap,
        extra=extra or (),
        empty=empty,
        processes=processes,
        cache=not no_cache,
        bounded=bounded,
    )
    translation.write(prepared, out, overwrite=overwrite, page=True)
    for name, pair in prepared.splits.items():
        print(f"{name}: {len(pair)} pairs, {len(pair.source.ids)} and {len(pair.target.ids)} tokens")
    for part, message in prepared.card["facts"].get("missing", {}).items():
        print(f"*** {part}: {message} ***")
    for message in prepared.stand_ins:
        print(f"*** {message} ***")
    _warn(prepared.warnings)
    print(f"digest {prepared.digest}\nwritten to {out}; see {out / 'card.html'}")


@app.command("driving")
def drives(
    out: Out,
    corpus: Annotated[str, typer.Option(help="udacity lake or udacity track.")] = "udacity lake",
    frames: Annotated[
        Path | None, typer.Option(help="Your own frames: a folder, a tar archive, or HDF5 in comma.ai's layout.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="Their log: driving_log.csv, interpolated.csv, or HDF5 in comma.ai's layout.")
    ] = None,
    height: Annotated[int, typer.Option(help="Height of the resized frames.")] = 80,
    width: Annotated[int, typer.Option(help="Width of the resized frames.")] = 160,
    smoothing: Annotated[float, typer.Option(help="Factor of the exponential smoothing of targets; 1: none.")] = 0.2,
    target: Annotated[
        str, typer.Option(help="degrees, or inverse radius (1/km), which needs a log with the speed in m/s.")
    ] = "degrees",
    wheel_base: Annotated[float | None, typer.Option(help="Of the car, metres (default: comma.ai's, 2.67).")] = None,
    steering_ratio: Annotated[float | None, typer.Option(help="Steering wheel to wheels (default: 15.3).")] = None,
    slip: Annotated[float | None, typer.Option(help="Factor of the squared speed (default: 0.0014).")] = None,
    block: Annotated[float | None, typer.Option(help="Seconds of a block (default: 20; of the sample 2).")] = None,
    gap: Annotated[float | None, typer.Option(help="Seconds left out between splits (default: a tenth).")] = None,
    test_only: Annotated[
        bool, typer.Option("--test-only", help="All frames are test: a road never trained on.")
    ] = False,
    gaps: Annotated[str, typer.Option(help="Gaps in time of over a second: refuse or divide.")] = "refuse",
    sample: Sample = False,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """Drives: frames of a car's camera and how it was steered."""
    from preprocessing import driving

    if (frames is None) != (log is None):
        raise UsageError("a drive of your own needs both --frames and --log")
    if corpus not in driving.CORPORA:
        raise UsageError(
            f"--corpus {corpus}: no drive; choose {' or '.join(driving.CORPORA)}, or give --frames and --log"
        )
    given = {"wheel_base": wheel_base, "steering_ratio": steering_ratio, "slip": slip}
    seconds = block if block is not None else driving.SAMPLE_BLOCKS if sample else driving.BLOCKS
    prepared = driving.prepare(
        driving.own_drive(frames, log) if frames and log else "sample" if sample else corpus,
        height=height,
        width=width,
        smoothing=smoothing,
        block_seconds=seconds,
        gap_seconds=gap if gap is not None else seconds / 10,
        gaps=gaps,
        target=target,
        car={name: value for name, value in given.items() if value is not None},
        cycle=driving.TEST_ONLY if test_only else driving.CYCLE,
        cache=not no_cache,
    )
    driving.write(prepared, out, overwrite=overwrite, page=True)
    for name, split in prepared.splits.items():
        print(f"{name}: {len(split)} frames, stretches without a gap: {len(split.stretches)}")
    _warn(prepared.warnings)
    print(f"digest {prepared.digest}\nwritten to {out}; see {out / 'card.html'}")


@app.command("cifar10")
def cifar10_images(
    out: Out,
    size: Annotated[int, typer.Option(help="Height and width to which images are resized.")] = 32,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder or tar archive of your own: {train,test}/CLASS/NAME.jpg, or the official *_batch*.bin."
        ),
    ] = None,
    sample: Sample = False,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """Images in ten classes: pixels, labels and their normalization."""
    from preprocessing import cifar10

    corpus = cifar10.own_images(folder) if folder else "sample" if sample else "cifar10"
    prepared = cifar10.prepare(corpus, size=size, cache=not no_cache)
    cifar10.write(prepared, out, overwrite=overwrite, page=True)
    for name, split in prepared.splits.items():
        print(f"{name}: {len(split)} images")
    print(
        f"read from {cifar10.archive_of(prepared)}\ndigest {prepared.digest}\nwritten to {out}; see {out / 'card.html'}"
    )


def _write(prepared: Result, out: Path, overwrite: bool, rows: str, tokens: str) -> None:
    """Write a result with the page of its card and print its size; ``rows`` and ``tokens`` name what is counted."""
    from preprocessing.text import writing

    writing.write(prepared, out, overwrite=overwrite, page=True)
    for name, split in prepared.splits.items():
        print(f"{name}: {len(split)} {rows}, {len(split.ids)} {tokens}")
    _warn(prepared.warnings)
    print(f"digest {prepared.digest}\nwritten to {out}; see {out / 'card.html'}")


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
