"""Language modelling from the n - 1 previous words: n-gram models, neural n-gram models, and mixtures of the two."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gluon_attn.evaluation.mixture import mixed, mixture_weights
from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.metrics import perplexity_of
from gluon_attn.models.kneser_ney import KneserNey
from gluon_attn.models.neural_language_model import NeuralLanguageModel
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.contexts import context_losses, context_objective
from gluon_attn.training.objective import Objective
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.results import Row
from reproductions.protocol.runs import SAMPLE, Outcome
from reproductions.protocol.task import Evaluation, Settings, Variant
from reproductions.tasks.language_modelling import ngram_results
from reproductions.tasks.language_modelling.task import LanguageModellingData, WordPrediction, by_line
from reproductions.tasks.word_vectors.results import agreement_rows
from reproductions.tasks.word_vectors.task import (
    CLEAR,
    CLEAR_ON_SAMPLE,
    FREQUENT,
    FREQUENT_ON_SAMPLE,
    RATED,
    WordVectorData,
    rated_reviews,
)
from reproductions.tasks.word_vectors.trained_vectors import TrainedVectors


@dataclass(frozen=True, kw_only=True)
class NgramSettings(Settings):
    """An n-gram model. The order is its only setting: discounts are estimated."""

    order: int = 5

    def build(self, data: LanguageModellingData) -> KneserNey:
        return ngrams(self.order, data)


@dataclass(frozen=True, kw_only=True)
class ContextSettings(Settings):
    """Settings shared by the networks that read the n - 1 previous words.

    Attributes:
        order: *n*.
        mixed_with: order of the n-gram model that the network is mixed with in evaluation.
    """

    order: int = 5
    mixed_with: int = 5

    @abstractmethod
    def build(self, data: LanguageModellingData) -> NeuralLanguageModel:
        """The network for this vocabulary, not initialised."""


def ngrams(order: int, data: LanguageModellingData) -> KneserNey:
    """The n-gram model of the training split; it has no estimates if the data have no rows."""
    train = data.prepared.splits.get("train")
    return KneserNey(
        order=order,
        vocabulary_size=data.vocabulary_size,
        first=data.end_of_line,
        text=None if train is None else train.ids,
    )


@dataclass(frozen=True)
class NgramModelling(WordPrediction[NgramSettings]):
    """Prediction by an n-gram model. It is counted, not trained: a run is one epoch without steps."""

    group = ""

    def objective(self, settings: NgramSettings, recipe: Recipe, data: LanguageModellingData) -> Objective:
        def evaluate(model: Any) -> dict[str, float]:
            loss = float(self.losses(model, settings, data, data.prepared.validation.ids).mean())
            return {"perplexity": perplexity_of(loss), "loss": loss}

        return Objective.untrained(evaluate, select="perplexity")

    def losses(self, model: Any, settings: NgramSettings, data: LanguageModellingData, ids: np.ndarray) -> np.ndarray:
        losses: np.ndarray = -model.log_probabilities(ids)
        return losses

    def evaluate(
        self, model: Any, settings: NgramSettings, data: LanguageModellingData, last: Checkpoint
    ) -> Evaluation:
        """Predictions are by line: ``likelihood`` (lines, 2), -ln p in nats and the number of words including the end
        of the line."""
        likelihood = self.likelihood(model, settings, data, data.prepared.test)
        return Evaluation({"perplexity": perplexity(likelihood.sum(axis=0))}, {"likelihood": likelihood})


@dataclass(frozen=True)
class ContextModelling(WordPrediction[ContextSettings]):
    """Prediction by a network from the n - 1 previous words, alone and mixed with an n-gram model.

    The weight of the network in the mixture depends on the length of the longest context that occurs in the training
    split: the longer it is, the more reliable the n-gram model. The weights maximise the likelihood of the validation
    split.

    Attributes:
        listed: words whose nearest neighbours, by the network's features, are stored with the outcome.
        mapped: words that the map of a variant shows with their nearest neighbours.
    """

    listed: tuple[str, ...] = ()
    mapped: tuple[str, ...] = ()

    columns = ngram_results.COLUMNS
    notes = (
        *WordPrediction.notes,
        f"Networks of every context length are mixed with the same {ContextSettings.mixed_with}-grams. *n* counts the "
        "predicted word: with n = 5 a network reads the four words before it.",
    )

    @property
    def corpora(self) -> tuple[str, ...]:
        return (self.corpus,) if self.own else (self.corpus, RATED)

    def objective(self, settings: ContextSettings, recipe: Recipe, data: LanguageModellingData) -> Objective:
        train, validation = data.prepared.train.ids, data.prepared.validation.ids
        first = data.end_of_line
        return context_objective(train, validation, order=settings.order, batch_size=recipe.batch_size, first=first)

    def losses(self, model: Any, settings: ContextSettings, data: LanguageModellingData, ids: np.ndarray) -> np.ndarray:
        return context_losses(model, ids, data.end_of_line)

    def evaluate(
        self, model: Any, settings: ContextSettings, data: LanguageModellingData, last: Checkpoint
    ) -> Evaluation:
        """Predictions are by line, (lines, 2), -ln p in nats and the number of words including the end of the line:
        ``likelihood`` of the network, ``mixture`` with weights by the length of the known context, ``even_mixture``
        with equal weights. Except on user data, for words with a clear sentiment in IMDb's reviews they include
        :meth:`WordVectorData.measured` of the features. Examples: the ``weights`` of the network in the mixture by
        length of the known context, with the number of validation ``words`` that they were estimated from,
        ``neighbours`` and ``map``.
        """
        counted = ngrams(settings.mixed_with, data)
        counted.initialize()
        validation, test = data.prepared.validation, data.prepared.test
        network = {split: -self.losses(model, settings, data, split.ids) for split in (validation, test)}
        known = {split: counted.context_lengths(split.ids) for split in (validation, test)}
        others = {split: counted.log_probabilities(split.ids) for split in (validation, test)}
        weights = mixture_weights(network[validation], others[validation], known[validation], settings.mixed_with)
        arrays = {
            name: np.stack([by_line(test, -log_p), test.lengths], axis=1)
            for name, log_p in (
                ("likelihood", network[test]),
                ("mixture", mixed(network[test], others[test], weights[known[test]])),
                ("even_mixture", mixed(network[test], others[test], 0.5)),
            )
        }
        metrics = {
            "perplexity": perplexity(arrays["likelihood"].sum(axis=0)),
            "mixture perplexity": perplexity(arrays["mixture"].sum(axis=0)),
        }
        words = np.bincount(known[validation], minlength=settings.mixed_with)
        if not self.own:  # the user's words may be of any language, and need not occur in these reviews
            arrays |= _words_of(data).measured(model.vectors())
            metrics["agreement"] = float(arrays["agreement"].mean())
        vectors = TrainedVectors.of_network(model, data.prepared)
        examples = {
            "mixture": {"weights": weights.tolist(), "words": words.tolist()},
            "neighbours": vectors.table(self.listed),
            "map": vectors.map(self.mapped),
        }
        return Evaluation(metrics, arrays, examples)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[ContextSettings]) -> list[Row]:
        made = ngram_results.rows(outcomes, variant, variant.settings.mixed_with)
        if self.own:
            return made
        frequent = FREQUENT_ON_SAMPLE if outcomes[0].on_sample else FREQUENT
        return made + agreement_rows(outcomes, variant, frequent)


def _words_of(data: LanguageModellingData) -> WordVectorData:
    """The words of the corpus with their sentiment in reviews."""
    sample = data.corpus == SAMPLE
    frequent, clear = (FREQUENT_ON_SAMPLE, CLEAR_ON_SAMPLE) if sample else (FREQUENT, CLEAR)
    rated = rated_reviews(sample=sample)
    return WordVectorData(data.corpus, data.corpora, data.prepared, clear, frequent, rated)
