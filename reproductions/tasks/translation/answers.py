"""Translation of lines of text with a trained network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.plots import heatmap
from preprocessing.files import atomic_directory
from preprocessing.text.data import Split
from reproductions.protocol.task import AnswerOptions, TrainedModel
from reproductions.tasks.lines import blocks, name_unknown, too_long
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import TRANSLATED, Translated, translate_as_set
from reproductions.tasks.translation.results import draw_alignment

LONGEST = 500  # tokens of a line that are translated: ten times the longest training sentence


def answer(
    trained: TrainedModel[TranslationSettings, TranslationData], stream: BinaryIO, options: AnswerOptions
) -> Iterator[str]:
    """Yield the translation of each UTF-8 line, or the ``options.n_best`` likeliest separated by tabs; with
    ``options.json`` an object with their texts, tokens and ln p. The translation of a blank line is empty: an empty
    line, or an empty list.

    With ``options.alignments``, write that folder, complete or not at all: ``alignments.jsonl``, with source tokens,
    target tokens and weights of each line, and a heatmap ``line-<n>.png`` for each line.

    Raises:
        UsageError: a line is not UTF-8, ``n_best`` is larger than the beam, or alignments are requested of a network
            without attention.
    """
    beam = options.beam or trained.variant.settings.beam
    if options.n_best > beam:
        raise UsageError(f"--n-best {options.n_best}: a beam of {beam} has no more than {beam}; raise --beam")
    if options.alignments is None:
        yield from _answers(trained, stream, options)
        return
    with atomic_directory(options.alignments) as folder:
        yield from _answers(trained, stream, replace(options, alignments=folder))


def _answers(
    trained: TrainedModel[TranslationSettings, TranslationData], stream: BinaryIO, options: AnswerOptions
) -> Iterator[str]:
    for block in blocks(stream, options, options.batch_size or TRANSLATED):
        written = [(number, text) for number, text in block if text]
        encoded = trained.data.prepared.encode([text for _, text in written], processes=1)
        encoded = _shortened(encoded, [number for number, _ in written])
        name_unknown(written, encoded.sequences())
        translated = translate_as_set(
            trained, encoded, beam=options.beam, n_best=options.n_best, batch_size=options.batch_size
        )
        row = -1
        for number, text in block:
            row += bool(text)
            hypotheses = translated[row] if text else []
            if options.alignments is not None and hypotheses:
                best = hypotheses[0]
                if best.weights is None:
                    name = trained.variant.name
                    raise UsageError(f"variant {name} has no attention and so no alignments; choose another")
                _write_alignment(number, encoded.words(row), best.tokens, best.weights, options.alignments)
            yield _as_json(number, text, hypotheses) if options.json else "\t".join(each.text for each in hypotheses)


def _as_json(number: int, text: str, translated: Sequence[Translated]) -> str:
    translations = [{"text": one.text, "tokens": one.tokens, "log_p": round(one.log_p, 4)} for one in translated]
    return json.dumps({"line": number, "text": text, "translations": translations}, ensure_ascii=False)


def _shortened(sentences: Split, numbers: Sequence[int]) -> Split:
    """The sentences cut to ``LONGEST`` tokens; the line numbers of longer ones are printed on standard error."""
    assert sentences.tokens is not None and sentences.encoded is not None
    if (rows := np.flatnonzero(sentences.lengths > LONGEST)).size:
        length = int(sentences.lengths[rows[0]])
        print(too_long([numbers[row] for row in rows], length, LONGEST, "translated"), file=sys.stderr)
    return replace(sentences, tokens=sentences.tokens.truncated(LONGEST), encoded=sentences.encoded.truncated(LONGEST))


def _write_alignment(number: int, words: list[str], tokens: list[str], weights: np.ndarray, folder: Path) -> None:
    target = [*tokens, "</s>"][: len(weights)]  # the end of the sentence attends too, unless the search ended before it
    record = {"line": number, "source": words or ["<unk>"], "target": target, "weights": weights.tolist()}
    with (folder / "alignments.jsonl").open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    if not heatmap.fits(weights):
        print(f"line {number}: too long for a heatmap; its weights are in alignments.jsonl", file=sys.stderr)
    else:
        draw_alignment(words, tokens, weights, folder / f"line-{number}.png", f"line {number}")
