"""Commands for reviews, documents, sentences and parallel text. Each imports only its own pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gluon_attn.errors import UsageError
from preprocessing.errors import check_choice
from reproductions.cli.preprocess.output import MaxSize, MinFreq, NoCache, Out, Processes, Replace, Sample, warn, write


def naver_reviews(
    out: Out,
    tokenizer: Annotated[
        str,
        typer.Option(
            help="mecab, okt, okt-stem, komoran, hannanum, kkma, whitespace, syllable, jamo or sentencepiece."
        ),
    ] = "mecab",
    max_length: Annotated[int | None, typer.Option(help="Maximum tokens per review (default: no limit).")] = None,
    min_freq: Annotated[int, typer.Option(help="Minimum frequency in train; rarer tokens are unknown.")] = 2,
    max_size: MaxSize = None,
    text: Annotated[str, typer.Option(help="official, or repaired: without the doubled quotes.")] = "official",
    clean: Annotated[
        list[str] | None,
        typer.Option(
            help="lower-case, repetitions, laughter, punctuation, hangul-only, no-spaces; repeat for several, in order."
        ),
    ] = None,
    stop_words: Annotated[
        str | None,
        typer.Option(help="Remove wikidocs-okt, wikidocs-mecab, or tags: Lucene's parts of speech (default: none)."),
    ] = None,
    keep: Annotated[str, typer.Option(help="Which tokens of a long review to keep: first or last.")] = "first",
    copies: Annotated[
        str, typer.Option(help="Equal texts in train: keep, or drop copies of-train or of-test.")
    ] = "keep",
    validation: Annotated[
        str, typer.Option(help="Split a tenth of train off for validation: by hash, or its tail.")
    ] = "hash",
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

    if keep == "last" and max_length is None:
        raise UsageError("--keep last has no effect without --max-length; leave it out, or give --max-length")
    pipeline = naver.pipeline(
        tokenizer=tokenizer,
        max_length=max_length,
        min_freq=min_freq,
        max_size=max_size,
        text=text,
        clean=clean or (),
        stop_words=stop_words,
        keep=keep,
        copies=copies,
        validation=validation,
    )
    if folder is not None:
        if validation != "hash":
            message = "--validation applies to NSMC only; with --folder, add validation.tsv to the folder"
            raise UsageError(f"{message} (without it, a tenth of train is held out by hash)")
        if text == "repaired":
            message = "--text repaired undoes the quoting of NSMC's official files, which yours do not have"
            raise UsageError(f"{message}; leave it out with --folder")
        own = own_texts.own_texts_of(folder)
        prepared = own_texts.reading_own_texts(pipeline).run(own, processes=processes, cache=not no_cache)
    else:
        prepared = pipeline.run("sample" if sample else "nsmc", processes=processes, cache=not no_cache)
    write(prepared, out, overwrite, "reviews", "tokens")


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
    write(prepared, out, overwrite, "reviews", "tokens")


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
    write(prepared, out, overwrite, "reviews", "pieces")


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
    validation: Annotated[str, typer.Option(help="Split validation off by hash of the text, or by film.")] = "hash",
    min_freq: MinFreq = 5,
    max_size: MaxSize = None,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """The film reviews of IMDb (Maas et al., 2011), sentence by sentence."""
    from preprocessing import documents

    if overlong == "wrap" and max_words is None:
        raise UsageError("--overlong wrap has no effect without --max-words; leave it out, or give --max-words")
    prepared = documents.prepare(
        documents.own_documents(folder) if folder else "sample" if sample else "imdb",
        max_sentences=max_sentences,
        max_words=max_words,
        overlong=overlong,
        validation=validation,
        min_freq=min_freq,
        max_size=max_size,
        processes=processes,
        cache=not no_cache,
    )
    write(prepared, out, overwrite, "documents", "words")


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

    check_choice("corpus", corpus, sentences.LABELS)
    prepared = sentences.prepare(
        f"sample {corpus}" if sample else corpus,
        max_length=max_length,
        min_freq=min_freq,
        max_size=max_size,
        cache=not no_cache,
    )
    write(prepared, out, overwrite, "sentences", "tokens")


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
    write(prepared, out, overwrite, "lines", "words and line ends")


def parallel_text(
    out: Out,
    corpus: Annotated[
        str, typer.Option(help="'multi30k en-de' or en-fr, 'tatoeba en-fr' or ko-en, 'wmt14 en-de' or en-fr.")
    ] = "multi30k en-de",
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder of your own files: train, test and optionally validation, each .SOURCE and .TARGET."),
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source language (default: the first of the corpus).")] = None,
    target: Annotated[str | None, typer.Option(help="Target language (default: the second of the corpus).")] = None,
    tokens: Annotated[str, typer.Option(help="words, bpe or sentencepiece.")] = "words",
    case: Annotated[str, typer.Option(help="lower, true (learned from train) or keep.")] = "lower",
    operations: Annotated[
        int | None, typer.Option(help="With bpe: number of merges, learned on both sides jointly (default: 10000).")
    ] = None,
    pieces: Annotated[
        int | None, typer.Option(help="With sentencepiece: maximum number of pieces (default: 8000).")
    ] = None,
    min_freq: Annotated[int | None, typer.Option(help="Minimum frequency in train; rarer tokens are unknown.")] = None,
    max_size: Annotated[
        int | None, typer.Option(help="Maximum size of each vocabulary, without special tokens.")
    ] = None,
    max_length: Annotated[int, typer.Option(help="Leave out train pairs with a longer side; 0: no limit.")] = 50,
    max_ratio: Annotated[
        float, typer.Option(help="Leave out train pairs with a larger length ratio; 0: no limit.")
    ] = 4,
    keep_copies: Annotated[bool, typer.Option("--keep-copies", help="Keep duplicate pairs in train.")] = False,
    drop_overlap: Annotated[
        bool | None, typer.Option(help="Leave out train pairs with a sentence of another split.")
    ] = None,
    extra: Annotated[
        list[str] | None,
        typer.Option(help="tatoeba ko-en: python-docs, bible, jhe (only to test on); repeat for several."),
    ] = None,
    empty: Annotated[
        str | None, typer.Option(help="Pairs with an empty side: refuse or drop (default: refuse; wmt14: drop).")
    ] = None,
    bounded: Annotated[
        bool | None,
        typer.Option(help="Keep the text on disk, not in memory (default: for 64 MiB and more)."),
    ] = None,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """Parallel text, in either direction."""
    from preprocessing import translation

    cases = {"lower": (True, False), "true": (False, True), "keep": (False, False)}
    check_choice("case", case, cases)
    if folder is not None and (source is None or target is None):
        raise UsageError("--folder needs --source and --target, the suffixes of its files")
    sizes = {"operations": (operations, "bpe"), "pieces": (pieces, "sentencepiece")}
    given = {name: value for name, (value, _) in sizes.items() if value is not None}
    for name in given:
        if tokens != sizes[name][1]:
            raise UsageError(f"--{name} has no effect with --tokens {tokens}; leave it out, or choose {sizes[name][1]}")
    lowercase, truecase = cases[case]
    prepared = translation.prepare(
        translation.own_files(folder, str(source), str(target)) if folder else "sample" if sample else corpus,
        source=source,
        target=target,
        tokens=tokens,
        lowercase=lowercase,
        truecase=truecase,
        **given,
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
    warn(prepared.warnings)
    print(f"digest {prepared.digest}\nwritten to {out}; see {out / 'card.html'}")
