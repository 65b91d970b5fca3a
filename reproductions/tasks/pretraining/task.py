"""Pretraining on unlabelled reviews: masked pieces or next pieces, and whether two reviews are of the same film."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.metrics import perplexity_of
from gluon_attn.models.bert import BertForPretraining
from gluon_attn.models.outputs import PretrainingOutput
from gluon_attn.training.batching import pad
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from preprocessing import naver_pretraining
from preprocessing.text.data import Split
from preprocessing.text.masking import WORD_START, Masking
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.vocabulary import CLASSIFY_ID, MASK_ID, MASKED_SPECIALS, PADDING_ID, SEPARATOR_ID, UNKNOWN
from reproductions.protocol.attention_view import AttentionView
from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import AnswerOptions, Evaluation, Task, TrainedModel, Variant
from reproductions.tasks.classification.accuracy import per_cent
from reproductions.tasks.lines import lines, too_long
from reproductions.tasks.prepared import hashes
from reproductions.tasks.pretraining import attention_views, results
from reproductions.tasks.pretraining.batches import ReviewPairs, share_of_pairs
from reproductions.tasks.pretraining.bert_settings import PretrainingData, PretrainingSettings
from reproductions.tasks.pretraining.initialization import initialize_from

_BATCH_TOKENS = 4096  # of a batch that is measured, or of a recipe that states none
_DRAWS = 1  # the seed of pairs and masks when a network is measured: the same for all networks
_SHOWN = 5  # pieces that are shown for a mask


class Measured(NamedTuple):
    """For each pair of a split: -ln p of its predictions in nats and their number (pairs, 2), and whether "same film"
    was classified correctly (pairs,), or None for a network without this task."""

    likelihood: np.ndarray
    told: np.ndarray | None


@dataclass(frozen=True)
class Pretraining(Task[PretrainingSettings, PretrainingData]):
    """Pretraining on the crawl of Naver film reviews. The epoch with the lowest validation perplexity is kept.

    Attributes:
        corpus: name of the corpus.
        sentences: example texts, whose pieces are masked one at a time; the predictions are stored with the outcome.
    """

    corpus: str = "nsmc-raw"
    sentences: tuple[str, ...] = ()

    name = "pretraining"
    command = "perplexity"
    columns = results.COLUMNS
    metrics = ("perplexity",)
    notes = results.NOTES

    @property
    def corpora(self) -> tuple[str, ...]:
        return (self.corpus, "nsmc")

    @property
    def input_language(self) -> str:
        return "ko"

    def prepare(self, settings: PretrainingSettings, *, sample: bool = False) -> PretrainingData:
        files = naver_pretraining.files("sample" if sample else self.corpus)
        return self._data(self._pipeline(settings, sample=sample).run(files))

    def save(self, settings: PretrainingSettings, data: PretrainingData, path: Path) -> None:
        data.prepared.save(path)

    def restore(self, settings: PretrainingSettings, path: Path, *, sample: bool = False) -> PretrainingData:
        return self._data(self._pipeline(settings, sample=sample).load(path))

    def _pipeline(self, settings: PretrainingSettings, *, sample: bool) -> TextPipeline:
        options = settings.text_options(sample=sample)
        return naver_pretraining.pipeline(max_length=settings.pretraining_length, masking=_masking(settings), **options)

    def _data(self, prepared: Result) -> PretrainingData:
        name = prepared.card["corpus"]["name"]
        return PretrainingData(name, hashes(prepared), prepared, packages=("sentencepiece",))

    def initialize(self, model: BertForPretraining, data: PretrainingData, pretrained: TrainedModel[Any, Any]) -> None:
        """Continue the pretraining of a network: take all its parameters, and none of the optimizer's state.

        Raises:
            UsageError: if it has no encoder, another vocabulary, or other sizes.
        """
        initialize_from(pretrained, model, data.prepared.vocabulary, ("",))

    def objective(self, settings: PretrainingSettings, recipe: Recipe, data: PretrainingData) -> Objective:
        train = _pairs(settings, data, data.prepared.train, recipe.batch_tokens or _BATCH_TOKENS)

        def batches(generator: np.random.RandomState) -> Iterator[Batch]:
            return (batch.training for batch in islice(train.endless(generator), settings.steps))

        def loss(output: PretrainingOutput, weights: nd.NDArray) -> nd.NDArray:
            predicted = (output.losses * weights).sum()
            return predicted if output.pair_losses is None else predicted + output.pair_losses.mean()

        def evaluate(model: BertForPretraining) -> dict[str, float]:
            return _scores(measure(model, settings, data, data.prepared.validation))

        return Objective(batches, settings.steps, loss, evaluate, select="perplexity", share=share_of_pairs)

    def evaluate(
        self, model: BertForPretraining, settings: PretrainingSettings, data: PretrainingData, last: Checkpoint
    ) -> Evaluation:
        """Evaluate on the test split. Predictions are by pair: ``likelihood`` and ``told`` of :class:`Measured`. The
        example ``masks`` has the pieces of each sentence and, for each of them, the likeliest pieces in its place."""
        measured = measure(model, settings, data, data.prepared.test)
        arrays = {"likelihood": measured.likelihood}
        if measured.told is not None:
            arrays["told"] = measured.told
        examples = {} if settings.causal else {"masks": [likeliest(model, data, each) for each in self.sentences]}
        return Evaluation(_scores(measured), arrays, examples)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[PretrainingSettings]) -> list[Row]:
        return results.rows(outcomes, variant)

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
        return results.compare(better, worse)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        results.training_curves(outcomes, path)

    def answer(
        self, trained: TrainedModel[PretrainingSettings, PretrainingData], stream: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        """The perplexity of each line: that of each piece, masked alone, given all others (pseudo-perplexity; Salazar
        et al., 2020), or that of each next piece. The answer to a line without pieces is an empty line. What a
        perplexity does not tell (:func:`_notes`) is printed on standard error.

        Raises:
            UsageError: attention weights are requested, or a line is not UTF-8.
        """
        if options.weights:
            raise UsageError(f"{trained.variant.name}: shows no weights here; leave out --weights")
        data, settings = trained.data, trained.variant.settings
        for number, text in lines(stream, options.source):
            pieces = data.prepared.tokenizer.tokenize(text)
            for note in _notes(number, text, pieces, settings.pretraining_length, data):
                print(note, file=sys.stderr)
            if not pieces:
                yield ""
                continue
            ids = _encoded(data, text)
            p = _probabilities(trained.model, ids, causal=settings.causal)
            of_pieces = np.maximum(p[np.arange(len(ids)), ids], 1e-30)
            yield f"{perplexity_of(-float(np.log(of_pieces).mean())):.2f}"

    def attention_of(
        self, trained: TrainedModel[PretrainingSettings, PretrainingData], text: str, *, beam: int | None = None
    ) -> AttentionView:
        return attention_views.of_text(trained, text)


def _notes(number: int, text: str, pieces: Sequence[str], limit: int, data: PretrainingData) -> Iterator[str]:
    """Warnings about a line: it has no pieces, is cut, or has unknown pieces."""
    if text and not pieces:
        yield f"line {number}: has no pieces, and so no perplexity"
    if len(pieces) > limit:
        yield too_long([number], len(pieces), limit, "read")
    limited = pieces[:limit]
    if unknown := [piece for piece in limited if piece not in data.prepared.vocabulary]:
        characters = len("".join(unknown).replace(WORD_START, ""))
        shown = f"{len(unknown)} of {len(limited)} pieces ({characters} character{'s' if characters > 1 else ''})"
        yield f"line {number}: unknown to the vocabulary: {shown}; read and predicted as {UNKNOWN}"


def _masking(settings: PretrainingSettings) -> Masking:
    return Masking(settings.rate, settings.masked, settings.random, settings.whole_words)


def _pairs(settings: PretrainingSettings, data: PretrainingData, split: Split, batch_tokens: int) -> ReviewPairs:
    masking = None if settings.causal else _masking(settings)
    return ReviewPairs(split, data.prepared.vocabulary, masking, batch_tokens, settings.pairs)


def measure(model: BertForPretraining, settings: PretrainingSettings, data: PretrainingData, split: Split) -> Measured:
    """Evaluate a split with fixed pairs and masks."""
    pairs = len(split) // 2
    likelihood, told = np.zeros((pairs, 2)), np.zeros(pairs, np.bool_)
    reader = _pairs(settings, data, split, _BATCH_TOKENS)
    for batch in reader.one_pass(np.random.RandomState(_DRAWS)):
        output = model(*(nd.array(array, dtype=array.dtype) for array in batch.inputs))
        losses, rows = output.losses.asnumpy()[batch.counts], batch.pairs[batch.rows[batch.counts]]
        np.add.at(likelihood, (rows, 0), losses)
        np.add.at(likelihood, (rows, 1), 1)
        if output.pair_logits is not None:
            told[batch.pairs] = output.pair_logits.asnumpy().argmax(axis=1) == batch.inputs[-1]
    return Measured(likelihood, told if settings.pairs else None)


def _scores(measured: Measured) -> dict[str, float]:
    scores = {"perplexity": perplexity(measured.likelihood.sum(axis=0))}
    scores["loss"] = math.log(scores["perplexity"])
    return scores if measured.told is None else scores | {"told": per_cent(measured.told)}


def _encoded(data: PretrainingData, text: str) -> np.ndarray:
    return data.prepared.encode([text], processes=1).ids


def _probabilities(model: BertForPretraining, ids: np.ndarray, *, causal: bool = False) -> np.ndarray:
    """Probability of every piece of the vocabulary at each position of a text, given the others: (pieces,
    vocabulary)."""
    whole = np.concatenate([[CLASSIFY_ID], ids, [SEPARATOR_ID]]).astype(np.int32)
    rows = 1 if causal else len(ids)
    masked = np.tile(pad([whole], PADDING_ID), (rows, 1))
    places = np.arange(len(ids), dtype=np.int32)
    if not causal:
        masked[np.arange(rows), 1 + np.arange(rows)] = MASK_ID
        places = (1 + places) * rows + places
    arrays = masked, np.zeros_like(masked), np.full(rows, len(whole), np.float32), places
    probabilities: np.ndarray = model.predict(*(nd.array(array, dtype=array.dtype) for array in arrays)).asnumpy()
    return probabilities


def likeliest(model: BertForPretraining, data: PretrainingData, text: str) -> dict[str, Any]:
    """The pieces of a text and, for each one masked alone, the likeliest pieces in its place with probabilities."""
    ids = _encoded(data, text)
    p = _probabilities(model, ids)
    p[:, : len(MASKED_SPECIALS)] = 0
    best = np.argsort(-p, axis=1, kind="stable")[:, :_SHOWN]
    tokens = data.prepared.vocabulary.idx_to_token
    predicted = [
        [[tokens[index], float(p[row, index])] for index in of_row] for row, of_row in enumerate(best.tolist())
    ]
    own = [float(p[row, index]) for row, index in enumerate(ids.tolist())]
    return {"text": text, "tokens": [tokens[index] for index in ids], "probability": own, "predicted": predicted}
