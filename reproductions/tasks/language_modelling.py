"""What a script that models language needs: data, training task, what is measured line by line, and prediction."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import Estimate, bootstrap_difference, bootstrap_metric, perplexity
from gluon_attn.models.language_model import LanguageModel
from gluon_attn.models.lstmn import LSTMN
from gluon_attn.training import bptt
from gluon_attn.training.bptt import Piece, language_objective, losses
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Objective
from preprocessing import ptb
from preprocessing.text.data import Split
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.protocol.experiment import Preset, Variant
from reproductions.protocol.results import Row
from reproductions.protocol.rows import row_of
from reproductions.protocol.runs import Outcome, Unit, load
from reproductions.tasks.classification import Data
from reproductions.tasks.lines import lines


def prepare(preset: Preset, variant: Variant) -> Data:
    """Read and preprocess the Penn Treebank; on the embedded sample its news."""
    prepared = ptb.prepare("sample" if preset.corpus == "sample" else variant.settings["corpus"])
    return Data(prepared.card["corpus"]["name"], prepared.corpora, prepared, labels=())


def pieces(data: Data, ids: np.ndarray, rows: int, steps: int) -> list[Piece]:
    """A text as a network reads it: from the end of a line on, so that the first word is predicted too."""
    return bptt.pieces(ids, rows, steps, first=data.prepared.vocabulary[ptb.END_OF_LINE])


def task(variant: Variant, data: Data, start: Sequence[nd.NDArray]) -> Objective:
    """Training stream and validation of a variant; ``start``: the state of its rows before the first word."""
    rows, steps = variant.recipe.batch_size, variant.settings["steps"]
    training, validation = (
        pieces(data, data.prepared.splits[name].ids, rows, steps) for name in ("train", "validation")
    )
    return language_objective(start, training, validation, restart=variant.settings["restart"])


def evaluate(
    model: LanguageModel, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Read the test split once, with the parameters of the best epoch: the whole file as one stream, so that each word
    is predicted behind all that stand before it.

    Returns:
        Its perplexity, and arrays by line: ``likelihood`` (lines, 2), -ln p in nats and the number of words with the
        end of the line; of an LSTMN ``looked`` (lines, window), the sum over these of the weights that the words read
        give the memories before them, the nearest first.
    """
    test = data.prepared.splits["test"]
    stream = pieces(data, test.ids, 1, variant.settings["steps"])
    arrays = {"likelihood": np.stack([_by_line(test, losses(model, stream)), test.lengths], axis=1)}
    if isinstance(model.reader, LSTMN):
        arrays["looked"] = _by_line(test, bptt.attention_weights(model, stream)[:, ::-1])
    return {"perplexity": perplexity(arrays["likelihood"].sum(axis=0))}, arrays


def _by_line(split: Split, values: np.ndarray) -> np.ndarray:
    """Values of each token (tokens, ...) summed over the lines (lines, ...); every line has its end at least."""
    summed: np.ndarray = np.add.reduceat(values.astype(np.float64), split.offsets[:-1], axis=0)
    return summed


def rows(outcomes: Sequence[Outcome], variant: Variant) -> list[Row]:
    """Perplexity on test, with the bootstrap's interval over lines, and the one that selected the epoch, with the range
    over seeds."""
    each = np.stack([outcome.predictions["likelihood"] for outcome in outcomes])
    best = [min(epoch["validation_perplexity"] for epoch in outcome.facts["history"]) for outcome in outcomes]
    test = [perplexity(one.sum(axis=0)) for one in each], bootstrap_metric(each, perplexity, seed=0)
    validation = best, Estimate(float(np.mean(best)), min(best), max(best))
    return [
        row_of(outcomes, variant, split=split, metric="perplexity", signature=signature, values=values, ci95=interval)
        for split, signature, (values, interval) in (
            ("test", "of each word and end of line, the file as one stream", test),
            ("validation", "best epoch", validation),
        )
    ]


def difference(groups: Mapping[str, Sequence[Outcome]], first: str, second: str) -> Estimate:
    """Perplexity of the first variant minus that of the second, mean of their seeds, by paired bootstrap over lines."""
    sides = [np.stack([outcome.predictions["likelihood"] for outcome in groups[name]]) for name in (first, second)]
    return bootstrap_difference(sides[0], sides[1], perplexity, seed=0)


def what_words_look_at(model: LanguageModel, variant: Variant, data: Data, split: Split, line: int) -> np.ndarray:
    """Weights (words, words) of one line, read behind all lines before it. Row t is what word t of the line looks at:
    at the end of the line before in column 0, at word i in column i + 1, nowhere behind column t, nor further back than
    the tape reaches. What a row lacks to 1 is on words of the lines before.
    """
    begin, end = split.offsets[line : line + 2]
    looked = bptt.attention_weights(model, pieces(data, split.ids[:end], 1, variant.settings["steps"]))
    words = int(end - begin) - 1
    found = np.zeros((words, words), np.float32)
    for t in range(words):
        memories = min(t + 1, looked.shape[1])
        # Row i of `looked` is of the step that reads token i - 1; its last place is the token before that one.
        found[t, t + 1 - memories : t + 1] = looked[begin + t + 1, -memories:]
    return found


def predict(unit: Unit, stream: BinaryIO, *, weights: bool) -> Iterator[str]:
    """Read lines of UTF-8 as the corpus has them (words between spaces, small letters, N for numbers), each by itself,
    and yield for each its perplexity with the end of the line, the number of its words, and how many of them are
    unknown; if asked for, each word with the one that it looks at most and that weight. An empty line gives an empty
    answer.

    Raises:
        UsageError: a line is not UTF-8, or weights are asked of a network without attention.
    """
    model, variant, data = load(unit)
    if weights and not isinstance(model.reader, LSTMN):
        raise UsageError(f"variant {unit.variant} has no attention and so no weights; choose another --variant")
    if data.corpus == "sample":
        print("*** TRAINED ON THE EMBEDDED SAMPLE: THESE ANSWERS MEAN NOTHING ***", file=sys.stderr)
    for _, text in lines(stream):
        if not text:
            yield ""
            continue
        line = data.prepared.encode([text])
        read = pieces(data, line.ids, 1, variant.settings["steps"])
        words, unknown = line.words(0)[:-1], int((line.ids == UNKNOWN_ID).sum())
        answer = f"{np.exp(losses(model, read).mean(dtype=np.float64)):.2f}\t{len(words)}\t{unknown}"
        if weights:
            answer += "\t" + " ".join(_most_looked_at(words, bptt.attention_weights(model, read)))
        yield answer


def _most_looked_at(words: Sequence[str], looked: np.ndarray) -> Iterator[str]:
    """``word>looked-at:weight`` for each word of a line; looked: (words + 1, window)."""
    before: list[Any] = [ptb.END_OF_LINE, *words]
    for place, word in enumerate(words, start=1):
        back = int(looked[place, ::-1].argmax()) + 1
        yield f"{word}>{before[place - back]}:{looked[place, -back]:.3f}"
