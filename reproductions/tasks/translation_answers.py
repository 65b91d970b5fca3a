"""Translating lines of text with a trained network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.plots.heatmap import LONGEST_MATRIX
from preprocessing.text.data import Split
from reproductions.protocol.task import AnswerOptions, TrainedModel
from reproductions.tasks.lines import lines
from reproductions.tasks.translation_data import TranslationData, TranslationSettings
from reproductions.tasks.translation_decoding import translate_as_set
from reproductions.tasks.translation_results import draw_alignment

AT_ONCE = 256  # lines, where nobody waits for each
LONGEST = 500  # tokens of a line that are translated: ten times the longest training sentence


def answer(
    trained: TrainedModel[TranslationSettings, TranslationData], stream: BinaryIO, options: AnswerOptions
) -> Iterator[str]:
    """Yield a translation for each line of UTF-8; an empty one for an empty line.

    With ``options.alignments``, that folder gets ``alignments.jsonl``, for each line source tokens, target tokens and
    weights, and a heatmap ``line-<n>.png`` of each.

    Raises:
        UsageError: a line is not UTF-8, or alignments are asked of a network without attention.
    """
    numbered = lines(stream)
    while some := list(islice(numbered, 1 if options.interactive else AT_ONCE)):
        texts = [text for _, text in some]
        encoded = _shortened(trained.data.prepared.encode(texts, processes=1), [number for number, _ in some])
        translated = translate_as_set(trained, encoded)
        for row, ((number, text), sentence) in enumerate(zip(some, translated, strict=True)):
            if options.alignments is not None and text:
                if sentence.weights is None:
                    name = trained.variant.name
                    raise UsageError(f"variant {name} has no attention and so no alignments; choose another")
                words = encoded.words(row)
                _write_alignment(number, words, sentence.tokens, sentence.weights, options.alignments)
            yield sentence.text if text else ""


def _shortened(sentences: Split, numbers: Sequence[int]) -> Split:
    """The sentences up to ``LONGEST`` tokens; longer ones are named on standard error by the number of their line."""
    assert sentences.tokens is not None and sentences.encoded is not None
    for row in np.flatnonzero(sentences.lengths > LONGEST):
        length = sentences.lengths[row]
        print(f"line {numbers[row]}: {length} tokens, only the first {LONGEST} are translated", file=sys.stderr)
    return replace(sentences, tokens=sentences.tokens.truncated(LONGEST), encoded=sentences.encoded.truncated(LONGEST))


def _write_alignment(number: int, words: list[str], tokens: list[str], weights: np.ndarray, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    record = {"line": number, "source": words, "target": tokens, "weights": weights.tolist()}
    with (folder / "alignments.jsonl").open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    if max(len(words), len(weights)) > LONGEST_MATRIX:
        print(f"line {number}: too long for a heatmap; its weights are in alignments.jsonl", file=sys.stderr)
    else:
        draw_alignment(words, tokens, weights, folder / f"line-{number}.png", f"line {number}")
