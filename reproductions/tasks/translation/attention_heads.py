"""Translation that also measures what each head of a Transformer attends to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from gluon_attn.plots.heads import attention_lines, fits
from gluon_attn.training.batching import length_batches
from gluon_attn.training.checkpoint import Checkpoint
from preprocessing.bitext.data import Pair
from preprocessing.bitext.subwords import SEPARATOR, joined
from reproductions.protocol.attention_view import LARGEST_MATRIX, Alternative, AttentionView, Heads
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Evaluation, TrainedModel
from reproductions.tasks.translation.article_nouns import noun_of_article
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import batch
from reproductions.tasks.translation.results import as_drawn
from reproductions.tasks.translation.task import Translation

# Name of the criterion -> the attention that it applies to, and its name in figures.
CRITERIA: Mapping[str, tuple[str, str]] = {
    "before": ("encoder", "the token before"),
    "after": ("encoder", "the token after"),
    "word": ("encoder", "other pieces of the same word"),
    "noun": ("encoder", "the noun whose article is three or more words earlier"),
    "second_word": ("encoder", "the second word after such an article"),
    "decoder_before": ("decoder", "the token before"),
    "lexicon": ("crossing", "the source token whose likeliest translation is generated"),
}
CONTROLS = {"second_word": "noun"}  # measured in the best head of the other criterion, and not drawn
BEGIN, END = "<s>", "</s>"  # begin and end of a sentence in figures and on pages
SHORTEST, LONGEST = 8, 16  # source tokens of the sentence in the figures
_SENTENCES = 64  # per batch


@dataclass(frozen=True)
class AttentionHeads(Translation):
    """Translation that also measures the heads of a Transformer, given the references.

    Predictions ``heads_<criterion>`` (sentences, layers, heads) are the weights that heads give to the keys defined by
    a criterion of :data:`CRITERIA` on the test split, averaged over the tokens of a sentence; NaN if a sentence has no
    such token. ``head_<criterion>`` (sentences,) are those of the head with the largest mean on the validation split;
    of a control, those of the best head of the criterion that it belongs to. The example ``heads`` has this head on one
    test sentence, for each criterion that applies.
    """

    def evaluate(
        self, model: EncoderDecoder, settings: TranslationSettings, data: TranslationData, last: Checkpoint
    ) -> Evaluation:
        evaluation = super().evaluate(model, settings, data, last)
        if isinstance(model, Transformer):
            test, validation = (_measured(model, data, split) for split in ("test", "validation"))
            best = {name: best_head(validation[CONTROLS.get(name, name)]) for name in validation}
            evaluation.predictions.update({f"heads_{name}": array for name, array in test.items()})
            evaluation.predictions.update({f"head_{name}": test[name][:, *head] for name, head in best.items()})
            evaluation.examples["heads"] = _examples(model, data, test, best)
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


def _measured(model: Transformer, data: TranslationData, split: str) -> dict[str, np.ndarray]:
    """The weight of all heads on the keys of each criterion: (sentences, layers, heads)."""
    pair = data.prepared.splits[split]
    measured: dict[str, dict[int, np.ndarray]] = {name: {} for name in CRITERIA}
    for rows in length_batches(pair.source.lengths, _SENTENCES):
        for row, weights in zip(rows, _attended(model, pair, rows), strict=True):
            for name, marks in _marks(data, pair.source.words(row), pair.target.words(row)).items():
                of_kind = weights[CRITERIA[name][0]]
                flat = weight_on(of_kind.reshape(-1, *of_kind.shape[2:]), marks)
                measured[name][row] = flat.reshape(of_kind.shape[:2])
    return {name: np.stack([of[row] for row in range(len(pair))]) for name, of in measured.items()}


def _attended(model: Transformer, pair: Pair, rows: Sequence[int] | np.ndarray) -> Iterator[dict[str, np.ndarray]]:
    """For each of these sentences, the weights (layers, heads, queries, keys) of each kind of attention."""
    sources, targets = pair.source.sequences(), pair.target.sequences()
    inputs = batch([sources[row] for row in rows], [targets[row] for row in rows]).inputs[:3]
    attended = model.attend(*(nd.array(array, dtype=array.dtype) for array in inputs))
    # (batch, layers, heads, queries, keys)
    encoder, decoder, crossing = (np.stack([layer.asnumpy() for layer in kind], axis=1) for kind in attended)
    for number, row in enumerate(rows):
        source_length, generated = len(sources[row]), len(targets[row]) + 1
        yield {
            "encoder": encoder[number, :, :, :source_length, :source_length],
            "decoder": decoder[number, :, :, :generated, :generated],
            "crossing": crossing[number, :, :, :generated, :source_length],
        }


def _marks(data: TranslationData, words: Sequence[str], target: Sequence[str]) -> dict[str, np.ndarray]:
    """The keys of each criterion: (queries, keys) of bool."""
    translations = [data.lexicon.get(word) for word in words]
    generated = [*target, None]  # the end of sentence has no translation
    aligned = [[token is not None and token == translation for translation in translations] for token in generated]
    english = data.prepared.pipeline.source == "en"
    none = np.zeros((len(words), len(words)), bool)
    nouns, second_words = noun_of_article(words) if english else (none, none)
    return {
        "before": at_offset(len(words), -1),
        "after": at_offset(len(words), 1),
        "word": same_word(np.array([word.endswith(SEPARATOR) for word in words])),
        "noun": nouns,
        "second_word": second_words,
        "decoder_before": at_offset(len(generated), -1),
        "lexicon": np.array(aligned, bool).reshape(len(generated), len(words)),
    }


def _examples(
    model: Transformer, data: TranslationData, test: Mapping[str, np.ndarray], best: Mapping[str, tuple[int, int]]
) -> list[dict[str, Any]]:
    """The best head of each criterion that applies, on the first test sentence of a size that fits a figure to which
    most criteria apply; none if no sentence has such a size."""
    pair = data.prepared.splits["test"]
    suitable = (pair.source.lengths >= SHORTEST) & (pair.source.lengths <= LONGEST)
    if not suitable.any():
        return []
    applied = np.sum([np.isfinite(array[:, 0, 0]) for array in test.values()], axis=0)
    row = int(np.argmax(suitable * (1 + applied)))
    (weights,) = _attended(model, pair, [row])
    words, target = pair.source.words(row), pair.target.words(row)
    tokens = {
        "encoder": (words, words),
        "decoder": ([BEGIN, *target], [BEGIN, *target]),
        "crossing": ([*target, END], words),
    }
    examples = []
    for name, (kind, what) in CRITERIA.items():
        if name in CONTROLS or not np.isfinite(test[name]).any():
            continue
        (layer, head), (queries, keys) = best[name], tokens[kind]
        examples.append(
            {"criterion": name, "what": what, "kind": kind, "layer": layer + 1, "head": head + 1, "row": row}
            | {"mean": float(_mean(test[name])[layer, head]), "queries": queries, "keys": keys}
            | {"weights": weights[kind][layer, head].round(4).tolist()}
        )
    return examples


def best_head(measured: np.ndarray) -> tuple[int, int]:
    """Return layer and head with the largest mean over sentences of (sentences, layers, heads)."""
    mean = _mean(measured)
    layer, head = np.unravel_index(int(np.argmax(mean)), mean.shape)
    return int(layer), int(head)


def _mean(measured: np.ndarray) -> np.ndarray:
    """Average over the sentences that have a value; 0 if none has."""
    total: np.ndarray = np.nansum(measured, axis=0) / np.maximum(1, np.isfinite(measured).sum(axis=0))
    return total


def attends(criterion: str) -> Callable[[Sequence[Outcome]], Effect | None]:
    """Return the effect of the claim that some head attends to the criterion's keys: the weight that it gives them."""
    return partial(_attends, criterion)


def _attends(criterion: str, outcomes: Sequence[Outcome]) -> Effect | None:
    if any(f"heads_{criterion}" not in outcome.predictions for outcome in outcomes):
        return None  # scored before heads were measured by this criterion
    splits, weights = zip(*(_of_best(criterion, outcome) for outcome in outcomes), strict=True)
    mean = np.mean(weights, axis=0, dtype=np.float64)  # over seeds, each with its best head
    mean = mean[~np.isnan(mean)]
    if not len(mean):
        return None
    chosen = " or ".join(dict.fromkeys(splits))
    what = f"mean weight of the best head, chosen on {chosen}, on {CRITERIA[criterion][1]}"
    return Effect(bootstrap(mean, seed=0), what, "sentences")


def prefers(criterion: str, control: str) -> Callable[[Sequence[Outcome]], Effect | None]:
    """Return the effect of the claim that some head gives more weight to a criterion's keys than to its control's."""
    return partial(_prefers, criterion, control)


def _prefers(criterion: str, control: str, outcomes: Sequence[Outcome]) -> Effect | None:
    outcomes = [outcome for outcome in outcomes if f"head_{control}" in outcome.predictions]
    if not outcomes:
        return None  # scored before there was this control
    sides = ([outcome.predictions[f"head_{name}"] for outcome in outcomes] for name in (criterion, control))
    weights, controls = (np.mean(side, axis=0, dtype=np.float64) for side in sides)  # over seeds
    difference = weights - controls
    difference = difference[~np.isnan(difference)]
    if not len(difference):
        return None
    what = (
        f"weight of the best head, chosen on validation, on {CRITERIA[criterion][1]}, minus the weight on "
        f"{CRITERIA[control][1]}"
    )
    return Effect(bootstrap(difference, seed=0), what, "sentences")


def _of_best(criterion: str, outcome: Outcome) -> tuple[str, np.ndarray]:
    """Where the best head is chosen, and the weights (sentences,) of this head on test."""
    if (chosen := f"head_{criterion}") in outcome.predictions:
        return "validation", outcome.predictions[chosen]
    array = outcome.predictions[f"heads_{criterion}"]  # scored before heads were measured on validation
    weights, even = np.empty(len(array), array.dtype), np.arange(len(array)) % 2 == 0
    for half in (even, ~even):
        weights[half] = array[half][:, *best_head(array[~half])]
    return "the other half of test", weights


def heads(*variants: str) -> Draw:
    """Draw the heads that attend most to each criterion, on one test sentence, unless it is too long."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for name in variants:
            for outcome in groups.get(name, ())[:1]:
                shown = [example for example in outcome.examples.get("heads", ()) if example["kind"] != "decoder"]
                if shown and all(fits(example["weights"]) for example in shown):
                    path = directory / f"heads_{name}.png"
                    attention_lines([_titled(example) for example in shown], path)
                    paths[f"heads of {name}"] = path
        return paths

    return draw


def _titled(example: Mapping[str, Any]) -> tuple[str, list[str], list[str], np.ndarray]:
    where = {"encoder": "encoder", "crossing": "decoder to source"}[example["kind"]]
    title = f"{where}, layer {example['layer']}, head {example['head']}\n{_SHORT[example['criterion']]}: "
    title += f"{example['mean']:.0%} of the weight on test"
    return title, as_drawn(example["queries"]), as_drawn(example["keys"]), np.array(example["weights"])


_SHORT = {
    "before": "token before",
    "after": "token after",
    "word": "same word",
    "noun": "noun of an article",
    "lexicon": "translation",
}
