"""``gluon-attn preprocess``: one command for each pipeline; it writes a corpus for any framework."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from gluon_attn.errors import UsageError

if TYPE_CHECKING:
    from preprocessing.text.pipeline import Result

Out = Annotated[Path, typer.Option(help="Folder to write; it must not exist or be empty.")]
Processes = Annotated[int | None, typer.Option(help="Tokenising processes; the bytes are the same.")]
Replace = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier call wrote there.")]
Sample = Annotated[bool, typer.Option("--sample", help="The embedded sample instead of the corpus.")]
MinFreq = Annotated[int, typer.Option(help="Tokens seen less often in train are unknown.")]
MaxSize = Annotated[int | None, typer.Option(help="Entries of the vocabulary, without specials.")]


class Pipelines(TyperGroup):
    """The pipelines by name; a name that is none of them is refused in one line."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            *names, last = self.commands
            raise UsageError(f"corpus {cmd_name!r} has no pipeline; choose {', '.join(names)} or {last}")
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=Pipelines, no_args_is_help=True, help="Write a corpus as arrays, TSV, vocabulary and card, for any framework."
)


@app.command("naver")
def naver_reviews(
    out: Out,
    tokenizer: Annotated[
        str, typer.Option(help="mecab, okt, komoran, hannanum, kkma, whitespace, syllable, ...")
    ] = "mecab",
    max_length: Annotated[int | None, typer.Option(help="Cut reviews to this many tokens; whole if not given.")] = None,
    min_freq: Annotated[int, typer.Option(help="Tokens seen less often in train are unknown.")] = 2,
    text: Annotated[str, typer.Option(help="official, or repaired: without the doubled quotes.")] = "official",
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
) -> None:
    """The Naver sentiment movie corpus."""
    from preprocessing import naver
    from preprocessing.corpora import locate

    pipeline = naver.pipeline(tokenizer=tokenizer, max_length=max_length, min_freq=min_freq, text=text)
    prepared = pipeline.run(locate.find("sample" if sample else "nsmc"), processes=processes)
    _write(prepared, out, overwrite, "reviews", "tokens")


@app.command("naver-crawl")
def naver_crawl_reviews(
    out: Out,
    tokenizer: Annotated[str, typer.Option(help="As of the pipeline naver.")] = "mecab",
    min_freq: MinFreq = 5,
    max_size: MaxSize = None,
    one_in: Annotated[int, typer.Option(help="Of so many reviews one is held out for validation, one for test.")] = 100,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
) -> None:
    """The raw crawl behind it, without what it judges by: text for word vectors."""
    from preprocessing import naver_crawl

    prepared = naver_crawl.prepare(
        "sample" if sample else "nsmc-raw",
        tokenizer=tokenizer,
        min_freq=min_freq,
        max_size=max_size,
        one_in=one_in,
        processes=processes,
    )
    _write(prepared, out, overwrite, "reviews", "tokens")


@app.command("documents")
def labelled_documents(
    out: Out,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Documents of your own instead: a folder or tar archive of train and test, each neg and pos."
        ),
    ] = None,
    max_sentences: Annotated[int | None, typer.Option(help="Keep so many sentences of a document; all.")] = None,
    max_words: Annotated[int | None, typer.Option(help="Keep so many words of a sentence; all.")] = None,
    overlong: Annotated[str, typer.Option(help="What becomes of longer sentences: cut, or wrap into several.")] = "cut",
    min_freq: MinFreq = 5,
    max_size: MaxSize = None,
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
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
    )
    _write(prepared, out, overwrite, "documents", "words")


@app.command("sentences")
def labelled_sentences(
    out: Out,
    corpus: Annotated[str, typer.Option(help="sst-2 or sst-5.")] = "sst-2",
    max_length: Annotated[int | None, typer.Option(help="Cut sentences to this many tokens; whole.")] = None,
    min_freq: MinFreq = 2,
    max_size: MaxSize = None,
    sample: Sample = False,
    overwrite: Replace = False,
) -> None:
    """The Stanford Sentiment Treebank in two classes or five."""
    from preprocessing import sentences

    if corpus not in sentences.LABELS:
        raise UsageError(f"corpus {corpus!r} is unknown; choose {' or '.join(sentences.LABELS)}")
    prepared = sentences.prepare(
        f"sample {corpus}" if sample else corpus, max_length=max_length, min_freq=min_freq, max_size=max_size
    )
    _write(prepared, out, overwrite, "sentences", "tokens")


@app.command("ptb")
def language_modelling(
    out: Out,
    min_freq: MinFreq = 1,
    max_size: MaxSize = None,
    sample: Sample = False,
    overwrite: Replace = False,
) -> None:
    """The Penn Treebank for language modelling, in Mikolov's preprocessing."""
    from preprocessing import ptb

    prepared = ptb.prepare("sample" if sample else "ptb", min_freq=min_freq, max_size=max_size)
    _write(prepared, out, overwrite, "lines", "words and line ends")


@app.command("translation")
def parallel_text(
    out: Out,
    corpus: Annotated[
        str, typer.Option(help="'multi30k en-de', 'multi30k en-fr', 'tatoeba en-fr' or 'tatoeba ko-en'.")
    ] = "multi30k en-de",
    folder: Annotated[
        Path | None, typer.Option(help="Files of your own instead: train, validation, test, each .SOURCE and .TARGET.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Language to translate from; the corpus' first.")] = None,
    target: Annotated[str | None, typer.Option(help="Language to translate to; the corpus' second.")] = None,
    tokens: Annotated[str, typer.Option(help="words, bpe or sentencepiece.")] = "words",
    case: Annotated[str, typer.Option(help="lower, true (learned from train) or keep.")] = "lower",
    operations: Annotated[int, typer.Option(help="Merges of bpe, learned on both sides together.")] = 10_000,
    pieces: Annotated[int, typer.Option(help="Pieces of sentencepiece at most.")] = 8_000,
    min_freq: Annotated[int | None, typer.Option(help="Tokens seen less often in train are unknown.")] = None,
    max_size: Annotated[int | None, typer.Option(help="Entries of each vocabulary, without specials.")] = None,
    max_length: Annotated[int, typer.Option(help="Train pairs with a longer side are left out; 0: none is.")] = 50,
    max_ratio: Annotated[float, typer.Option(help="Train pairs more unequal in length are left out; 0: none is.")] = 4,
    keep_copies: Annotated[bool, typer.Option("--keep-copies", help="Train on repeated pairs as often.")] = False,
    drop_overlap: Annotated[
        bool | None, typer.Option(help="Whether train pairs with a sentence of another split are left out.")
    ] = None,
    extra: Annotated[list[str] | None, typer.Option(help="tatoeba ko-en: python-docs, bible; repeat for both.")] = None,
    empty: Annotated[str, typer.Option(help="What to do with a pair with an empty side: refuse or drop.")] = "refuse",
    sample: Sample = False,
    processes: Processes = None,
    overwrite: Replace = False,
) -> None:
    """Parallel text, in either direction."""
    from preprocessing import translation
    from preprocessing.bitext import card_page

    cases = {"lower": (True, False), "true": (False, True), "keep": (False, False)}
    if case not in cases:
        raise UsageError(f"case {case!r} is unknown; choose {', '.join(cases)}")
    if folder is not None and (source is None or target is None):
        raise UsageError("--folder needs --source and --target: they are the endings of its files")
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
    )
    translation.write(prepared, out, overwrite=overwrite)
    card_page.write(prepared.card, out / "card.html")
    for name, pair in prepared.splits.items():
        print(f"{name}: {len(pair)} pairs, {len(pair.source.ids)} and {len(pair.target.ids)} tokens")
    for part, says in prepared.card["facts"].get("missing", {}).items():
        print(f"*** {part}: {says} ***")
    for says in prepared.stand_ins:
        print(f"*** {says} ***")
    print(f"digest {prepared.digest}\nwritten to {out}; read {out / 'card.html'}")


def _write(prepared: Result, out: Path, overwrite: bool, rows: str, tokens: str) -> None:
    """Write a result with its card as a page and say what it is; ``rows`` and ``tokens`` are what it counts."""
    from preprocessing.text import card_page, writing

    writing.write(prepared, out, overwrite=overwrite)
    card_page.write(prepared.card, out / "card.html")
    for name, split in prepared.splits.items():
        print(f"{name}: {len(split)} {rows}, {len(split.ids)} {tokens}")
    print(f"digest {prepared.digest}\nwritten to {out}; read {out / 'card.html'}")
