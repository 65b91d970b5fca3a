"""Translation that also measures what each head of a Transformer attends to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mxnet import nd

from gluon_attn.evaluation.heads import at_offset, same_word, weight_on
from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.transformer import Transformer
from gluon_attn.plots.heads import attention_lines
from gluon_attn.training.batching import length_batches
from gluon_attn.training.checkpoint import Checkpoint
from preprocessing.bitext.subwords import SEPARATOR, joined
from reproductions.protocol.attention_view import Alternative, AttentionView, Heads
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Evaluation, TrainedModel
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import SENTENCES, batch
from reproductions.tasks.translation.results import stacked
from reproductions.tasks.translation.task import Translation

# Name of the criterion -> the attention that it applies to, and its name in figures.
CRITERIA: Mapping[str, tuple[str, str]] = {
    "before": ("encoder", "the token before"),
    "after": ("encoder", "the token after"),
    "word": ("encoder", "other pieces of the same word"),
    "decoder_before": ("decoder", "the token before"),
    "lexicon": ("crossing", "the source token whose likeliest translation is generated"),
}
BEGIN, END = "<s>", "</s>"  # begin and end of a sentence in figures and on pages
LARGEST_MATRIX = 60  # maximum number of tokens along one side of a matrix on a page
SHORTEST, LONGEST = 8, 16  # source tokens of the sentence in the figures


@dataclass(frozen=True)
class AttentionHeads(Translation):
    """Translation that also measures the heads of a Transformer on the test split, given the references.

    Predictions ``heads_<criterion>`` (sentences, layers, heads) are the weights that heads give to the keys defined by
    a criterion of :data:`CRITERIA`, averaged over the tokens of a sentence; NaN if a sentence has no such token. The
    example ``heads`` has, for each criterion, the head with the largest mean over all sentences, on one sentence.
    """

    def evaluate(
        self, model: EncoderDecoder, settings: TranslationSettings, data: TranslationData, last: Checkpoint
    ) -> Evaluation:
        evaluation = super().evaluate(model, settings, data, last)
        if isinstance(model, Transformer):
            arrays, examples = _measured(model, data)
            evaluation.predictions.update(arrays)
            evaluation.examples["heads"] = examples
        return evaluation

    def attention_of(
        self, trained: TrainedModel[TranslationSettings, TranslationData], text: str, *, beam: int | None = None
    ) -> AttentionView:
        """As for any translation; the best hypothesis has all heads if network and text are small enough to show."""
        view = super().attention_of(trained, text, beam=beam)
        best = view.alternatives[0]
        if not isinstance(trained.model, Transformer) or max(len(view.tokens), len(best.tokens)) >= LARGEST_MATRIX:
            return view
        return replace(view, heads=_heads(trained.model, trained.data, text, best.tokens))

    def published_attention(self, outcome: Outcome) -> list[AttentionView]:
        """Return the alignments, and the head that attends most to each criterion."""
        shown = [each for each in outcome.examples.get("heads", ()) if each["kind"] != "decoder"]
        return super().published_attention(outcome) + [_view(example) for example in shown]


def _heads(model: Transformer, data: TranslationData, text: str, translated: Sequence[str]) -> list[Heads]:
    source = data.prepared.encode([text], processes=1)
    vocabulary = data.prepared.target_vocabulary
    words, target = source.words(0), np.array([vocabulary[token] for token in translated], np.int32)
    inputs = batch(source.sequences(), [target]).inputs[:3]
    attended = model.attend(*(nd.array(array, dtype=array.dtype) for array in inputs))
    encoder, decoder, crossing = (np.stack([layer.asnumpy()[0] for layer in kind]) for kind in attended)
    begun, ended = [BEGIN, *translated], [*translated, END]
    queries, keys = len(begun), len(words)
    return [
        Heads("encoder: a source token to all source tokens", words, words, encoder[:, :, :keys, :keys]),
        Heads("decoder: a token to those before it", begun, begun, decoder[:, :, :queries, :queries], causal=True),
        Heads("decoder: a generated token to the source", ended, words, crossing[:, :, :queries, :keys]),
    ]


def _view(example: Mapping[str, Any]) -> AttentionView:
    title = f"layer {example['layer']}, head {example['head']}, test text {example['row'] + 1}, {example['what']}"
    matrix = np.array(example["weights"], np.float32)
    if example["kind"] == "crossing":
        generated = example["queries"][:-1]
        one = Alternative(generated, " ".join(joined(generated)), None, matrix)
        return AttentionView(tokens=example["keys"], alternatives=[one], title=f"decoder, {title}")
    return AttentionView(tokens=example["keys"], weights=matrix.mean(axis=0), matrix=matrix, title=f"encoder, {title}")


def _measured(model: Transformer, data: TranslationData) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    test = data.prepared.splits["test"]
    sources, targets = test.source.sequences(), test.target.sequences()
    drawn = next((row for row, ids in enumerate(sources) if SHORTEST <= len(ids) <= LONGEST), 0)
    measured: dict[str, dict[int, np.ndarray]] = {name: {} for name in CRITERIA}
    shown: dict[str, np.ndarray] = {}
    for rows in length_batches(test.source.lengths, SENTENCES):
        inputs = batch([sources[row] for row in rows], [targets[row] for row in rows]).inputs[:3]
        attended = model.attend(*(nd.array(array, dtype=array.dtype) for array in inputs))
        # (batch, layers, heads, queries, keys)
        all_weights = [np.stack([layer.asnumpy() for layer in kind], axis=1) for kind in attended]
        for number, row in enumerate(rows):
            words, generated = test.source.words(row), [*test.target.words(row), None]
            sizes = ((len(words),) * 2, (len(generated),) * 2, (len(generated), len(words)))
            weights = {
                kind: array[number, :, :, :queries, :keys]
                for kind, array, (queries, keys) in zip(
                    ("encoder", "decoder", "crossing"), all_weights, sizes, strict=True
                )
            }
            for name, marks in _marks(words, generated, data.lexicon).items():
                of_kind = weights[CRITERIA[name][0]]
                flat = weight_on(of_kind.reshape(-1, *of_kind.shape[2:]), marks)
                measured[name][row] = flat.reshape(of_kind.shape[:2])
            if row == drawn:
                shown = weights
    arrays = {f"heads_{name}": np.stack([of[row] for row in range(len(sources))]) for name, of in measured.items()}
    tokens = {"encoder": test.source.words(drawn), "decoder": [BEGIN, *test.target.words(drawn)]}
    tokens["crossing"] = [*test.target.words(drawn), END]
    examples = []
    for name, (kind, what) in CRITERIA.items():
        best = best_head(arrays[f"heads_{name}"])
        keys = tokens["encoder"] if kind == "crossing" else tokens[kind]
        weights_of_best = shown[kind][best].round(4).tolist()
        examples.append(
            {"criterion": name, "what": what, "kind": kind, "layer": best[0] + 1, "head": best[1] + 1, "row": drawn}
            | {"mean": float(_mean(arrays[f"heads_{name}"])[best])}
            | {"queries": tokens[kind], "keys": keys, "weights": weights_of_best}
        )
    return arrays, examples


def _marks(words: Sequence[str], generated: Sequence[str | None], lexicon: Mapping[str, str]) -> dict[str, np.ndarray]:
    translations = [lexicon.get(word) for word in words]
    aligned = [[token is not None and token == translation for translation in translations] for token in generated]
    return {
        "before": at_offset(len(words), -1),
        "after": at_offset(len(words), 1),
        "word": same_word(np.array([word.endswith(SEPARATOR) for word in words])),
        "decoder_before": at_offset(len(generated), -1),
        "lexicon": np.array(aligned, bool).reshape(len(generated), len(words)),
    }


def best_head(measured: np.ndarray) -> tuple[int, int]:
    """Return layer and head with the largest mean over sentences of (sentences, layers, heads)."""
    mean = _mean(measured)
    layer, head = np.unravel_index(int(np.argmax(mean)), mean.shape)
    return int(layer), int(head)


def _mean(measured: np.ndarray) -> np.ndarray:
    """Average over the sentences that have a value; 0 if none has."""
    total: np.ndarray = np.nansum(measured, axis=0) / np.maximum(1, np.isfinite(measured).sum(axis=0))
    return total


def attends(criterion: str, share: float) -> Callable[[Sequence[Outcome]], Effect | None]:
    """Return the effect of the claim that some head gives more than ``share`` of its weight to the criterion's keys."""
    return partial(_attends, criterion, share)


def _attends(criterion: str, share: float, outcomes: Sequence[Outcome]) -> Effect | None:
    weights = [array[:, *best_head(array)] for array in stacked(outcomes, f"heads_{criterion}")]
    mean = np.mean(weights, axis=0, dtype=np.float64)  # over seeds, each with its best head
    mean = mean[~np.isnan(mean)]
    if not len(mean):
        return None
    what = f"mean weight of the best head on {CRITERIA[criterion][1]}, minus {share:g}"
    return Effect(bootstrap(mean - share, seed=0), what, "sentences")


def heads(*variants: str) -> Draw:
    """Draw the heads that attend most to each criterion, on one test sentence."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for name in variants:
            for outcome in groups.get(name, ())[:1]:
                shown = [example for example in outcome.examples.get("heads", ()) if example["kind"] != "decoder"]
                if shown:
                    path = directory / f"heads_{name}.png"
                    attention_lines([_titled(example) for example in shown], path)
                    paths[f"heads of {name}"] = path
        return paths

    return draw


def _titled(example: Mapping[str, Any]) -> tuple[str, list[str], list[str], np.ndarray]:
    where = {"encoder": "encoder", "crossing": "decoder to source"}[example["kind"]]
    title = f"{where}, layer {example['layer']}, head {example['head']}\n{_SHORT[example['criterion']]}: "
    title += f"{example['mean']:.0%} of the weight on test"
    return title, example["queries"], example["keys"], np.array(example["weights"])


_SHORT = {"before": "token before", "after": "token after", "word": "same word", "lexicon": "translation"}
