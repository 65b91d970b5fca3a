"""``gluon-attn preprocess``: one command for each pipeline; it writes a corpus for any framework."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gluon_attn.errors import UsageError

Out = Annotated[Path, typer.Option(help="Folder to write; it must not exist or be empty.")]
Processes = Annotated[int | None, typer.Option(help="Tokenising processes; the bytes are the same.")]
Replace = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier call wrote there.")]
Sample = Annotated[bool, typer.Option("--sample", help="The embedded sample instead of the corpus.")]


class Pipelines(TyperGroup):
    """The pipelines by name; a name that is none of them is refused in one line."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            raise UsageError(f"corpus {cmd_name!r} has no pipeline; choose {' or '.join(self.commands)}")
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
    from preprocessing import card_page, corpora, naver

    pipeline = naver.pipeline(tokenizer=tokenizer, max_length=max_length, min_freq=min_freq, text=text)
    prepared = pipeline.run(corpora.find("sample" if sample else "nsmc"), processes=processes)
    naver.write(prepared, out, overwrite=overwrite)
    card_page.write(prepared.card, out / "card.html")
    for name, split in prepared.splits.items():
        print(f"{name}: {len(split.label)} reviews, {len(split.ids)} tokens")
    print(f"digest {prepared.digest}\nwritten to {out}; read {out / 'card.html'}")


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
    from preprocessing import card_page, translation

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
