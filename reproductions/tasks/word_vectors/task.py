"""Word vectors: trained on texts, and evaluated by whether neighbouring words share a sentiment, which is not used in
training."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.negative_sampling import Sampling, TokenStream, held_out_loss, word_vector_objective
from gluon_attn.training.objective import Objective
from gluon_attn.training.recipe import Recipe
from preprocessing import documents, naver_crawl, ptb
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.text.data import Split
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.vocabulary import Vocabulary
from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import AnswerOptions, Evaluation, Settings, Task, TrainedModel, Variant
from reproductions.tasks.lines import lines
from reproductions.tasks.prepared import PreparedCorpus, hashes
from reproductions.tasks.word_vectors import results
from reproductions.tasks.word_vectors.sentiment_lexicon import Agreement, SentimentLexicon, agreement, for_test
from reproductions.tasks.word_vectors.trained_vectors import NEIGHBOURS, TrainedVectors

RATED = "imdb"
"""Corpus of rated reviews that defines the sentiment of words of other texts."""

FREQUENT, CLEAR = 100, 3.0
"""Defaults of ``frequent`` and ``clear`` in :class:`WordVectorSettings`."""

FREQUENT_ON_SAMPLE, CLEAR_ON_SAMPLE = 5, 1.0
"""Upper limits of ``frequent`` and ``clear`` on the embedded sample, which has few words."""

_DRAWS = 1  # the seed of what is drawn when a loss is measured: the same for all trainings


@dataclass(frozen=True, kw_only=True)
class WordVectorSettings(Settings):
    """Settings shared by all networks trained with negative sampling.

    Attributes:
        tokenizer, one_in: arguments of the crawl's pipeline; None for other corpora.
        min_freq: minimum frequency of a word in the vocabulary.
        units: width of a vector.
        window, negatives, noise, threshold, length: see :class:`Sampling`.
        held_out_rows: pieces of text in an evaluation batch; in training it is the recipe's batch size.
        frequent: a word in fewer rated reviews is rare; only other words count as neighbours.
        clear: minimum distance of the log odds from zero, in standard errors, of a word with a clear sentiment.
    """

    tokenizer: str | None = None
    one_in: int | None = None
    min_freq: int = 5
    units: int
    window: int = 5
    negatives: int
    noise: int = 64
    threshold: float
    length: int = 32
    held_out_rows: int = 64
    frequent: int = FREQUENT
    clear: float = CLEAR

    @property
    @abstractmethod
    def example(self) -> str:
        """The unit that the loss is averaged over."""

    def on_sample(self) -> Self:
        """The settings for the embedded sample, in which few words are frequent."""
        return replace(
            self,
            one_in=None if self.one_in is None else min(self.one_in, 10),
            min_freq=min(self.min_freq, 2),
            frequent=min(self.frequent, FREQUENT_ON_SAMPLE),
            clear=min(self.clear, CLEAR_ON_SAMPLE),
        )

    def sampling(self, rows: int) -> Sampling:
        """How examples are sampled, with this many pieces of text in a batch."""
        return Sampling(
            window=self.window,
            negatives=self.negatives,
            noise=self.noise,
            threshold=self.threshold,
            rows=rows,
            length=self.length,
        )


@dataclass(frozen=True, eq=False)
class WordVectorData(PreparedCorpus[Result]):
    """Prepared texts, and the evaluation of their word vectors.

    Attributes:
        clear_errors: minimum distance of the log odds from zero, in standard errors, of a word with a clear sentiment.
        frequent_reviews: minimum number of labelled reviews with a frequent word.
        rated: other, labelled reviews, if the texts are not labelled.
    """

    clear_errors: float
    frequent_reviews: int
    rated: Result | None = None

    @cached_property
    def texts(self) -> dict[str, TokenStream]:
        """The words with a vector, by split."""
        return {name: _words(split, self.prepared.vocabulary) for name, split in self.prepared.splits.items()}

    @cached_property
    def lexicon(self) -> SentimentLexicon:
        """The sentiment of each word, from the ratings of training reviews."""
        if self.rated is None:
            return SentimentLexicon.of(self.prepared.train, len(self.prepared.vocabulary))
        rated, words = self.rated.vocabulary, self.prepared.vocabulary.idx_to_token
        ids = [rated.token_to_idx.get(word, -1) for word in words]
        return SentimentLexicon.of(self.rated.train, len(rated)).of_words(np.array(ids))

    @cached_property
    def clear(self) -> np.ndarray:
        """Ids of the words with a clear sentiment."""
        ids = self.lexicon.clear(self.clear_errors)
        return ids[ids >= len(self.prepared.vocabulary.specials)]

    @cached_property
    def frequent(self) -> np.ndarray:
        """Ids of the words that are frequent enough for a reliable sentiment."""
        ids = np.flatnonzero(self.lexicon.reviews >= self.frequent_reviews)
        return ids[ids >= len(self.prepared.vocabulary.specials)]

    def queries(self, *, test: bool) -> np.ndarray:
        """Ids of the query words with a clear sentiment, for test or validation."""
        return self.clear[for_test(self.prepared.vocabulary.tokens(self.clear)) == test]

    def held_out(self, split: str) -> TokenStream:
        """The words of a split. Subsampling and noise use the counts of the training split."""
        return replace(self.texts[split], counts=self.texts["train"].counts)

    def measured(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """For each test query: ``agreement`` and ``chance`` in per cent, ``reviews``, the number of rated reviews in
        which the word occurs, and ``rare``, whether it is a rare word."""
        queries = self.queries(test=True)
        measured = self.agreement(vectors, queries)
        return {
            "agreement": measured.share,
            "chance": measured.chance,
            "reviews": self.lexicon.reviews[queries],
            "rare": ~np.isin(queries, self.frequent),
        }

    def agreement(self, vectors: np.ndarray, queries: np.ndarray) -> Agreement:
        """How many of the nearest frequent words share the sentiment of the queries."""
        return agreement(vectors, self.lexicon, queries, self.frequent, NEIGHBOURS)


@dataclass(frozen=True)
class WordVectors(Task[WordVectorSettings, WordVectorData]):
    """Word vectors of reviews (corpus ``nsmc-raw`` or ``imdb``) or news (``ptb``). The epoch with the lowest loss on
    held-out texts is kept.

    Attributes:
        listed: words whose nearest neighbours are stored with the outcome.
        mapped: words that the map shows with their nearest neighbours.
        rated_elsewhere: whether sentiment is taken from IMDb's reviews, since the texts are not rated.
    """

    corpus: str
    listed: tuple[str, ...] = ()
    mapped: tuple[str, ...] = ()
    rated_elsewhere: bool = False

    name = "word vectors"
    command = "neighbours"
    columns = results.COLUMNS
    metrics = results.METRICS

    @property
    def corpora(self) -> tuple[str, ...]:
        return (self.corpus, RATED) if self.rated_elsewhere else (self.corpus,)

    def prepare(self, settings: WordVectorSettings, *, sample: bool = False) -> WordVectorData:
        """Read and preprocess the texts, and estimate the sentiment of their words.

        Raises:
            UsageError: too few words have a clear sentiment, or are frequent.
        """
        files = _FILES[self.corpus]("sample" if sample else self.corpus)
        prepared = self._pipeline(settings, sample=sample).run(files)
        data = self._data(settings, prepared, sample=sample)
        if self.rated_elsewhere:
            data = replace(data, rated=rated_reviews(sample=sample))
        queries = [len(data.queries(test=test)) for test in (False, True)]
        if not all(queries) or len(data.frequent) <= NEIGHBOURS:
            reason = f"{sum(queries)} words of clear sentiment, {len(data.frequent)} frequent words"
            raise UsageError(f"corpus {data.corpus}: {reason}; too few to evaluate vectors; give more rated reviews")
        return data

    def save(self, settings: WordVectorSettings, data: WordVectorData, path: Path) -> None:
        data.prepared.save(path)

    def restore(self, settings: WordVectorSettings, path: Path, *, sample: bool = False) -> WordVectorData:
        prepared = self._pipeline(settings, sample=sample).load(path)
        return self._data(settings, prepared, sample=sample)

    def _pipeline(self, settings: WordVectorSettings, *, sample: bool) -> TextPipeline:
        settings = settings.on_sample() if sample else settings
        names = ("tokenizer", "one_in", "min_freq")
        options = {name: value for name in names if (value := getattr(settings, name)) is not None}
        return _PIPELINES[self.corpus](**options)

    def _data(self, settings: WordVectorSettings, prepared: Result, *, sample: bool) -> WordVectorData:
        settings = settings.on_sample() if sample else settings
        name = prepared.card["corpus"]["name"]
        return WordVectorData(name, hashes(prepared), prepared, settings.clear, settings.frequent)

    def objective(self, settings: WordVectorSettings, recipe: Recipe, data: WordVectorData) -> Objective:
        queries = data.queries(test=False)

        def evaluate(model: Any) -> dict[str, float]:
            share = data.agreement(model.vectors(), queries).share
            return {"loss": _loss(model, settings, data, "validation"), "agreement": float(share.mean())}

        return word_vector_objective(data.texts["train"], settings.sampling(recipe.batch_size), evaluate)

    def evaluate(self, model: Any, settings: WordVectorSettings, data: WordVectorData, last: Checkpoint) -> Evaluation:
        """Evaluate the vectors on test.

        Predictions are by word: :meth:`WordVectorData.measured`. The examples are ``neighbours``, the nearest
        neighbours of the listed words, and ``map``.
        """
        arrays = data.measured(model.vectors())
        metrics = {"loss": _loss(model, settings, data, "test"), "agreement": float(arrays["agreement"].mean())}
        vectors = TrainedVectors.of_network(model, data.prepared)
        examples = {"neighbours": vectors.table(self.listed), "map": vectors.map(self.mapped)}
        return Evaluation(metrics, arrays, examples)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[WordVectorSettings]) -> list[Row]:
        settings = variant.settings.on_sample() if outcomes[0].on_sample else variant.settings
        return results.rows(outcomes, variant, settings.frequent)

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
        return results.compare(metric, better, worse)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        results.training_curves(outcomes, path)

    def figures(self, outcome: Outcome, variant: Variant[WordVectorSettings], directory: Path) -> dict[str, Path]:
        return results.draw_map(outcome, directory)

    def answer(
        self, trained: TrainedModel[WordVectorSettings, WordVectorData], stream: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        """The ten nearest neighbours of each line, separated by tabs, each with its cosine if ``options.weights``. For
        a line of several words, the neighbours of the mean of their normalised vectors."""
        vectors, tokenizer = TrainedVectors.of(trained), trained.data.prepared.tokenizer
        for number, text in lines(stream, options.source):
            pairs = vectors.nearest_to(tokenizer.tokenize(text))
            if text and not pairs:
                print(f"line {number}: none of its words has a vector", file=sys.stderr)
            yield "\t".join(f"{word} {cosine:.2f}" if options.weights else word for word, cosine in pairs)


_PIPELINES: Mapping[str, Callable[..., TextPipeline]] = {
    "nsmc-raw": naver_crawl.pipeline,
    "imdb": documents.pipeline,
    "ptb": ptb.pipeline,
}
_FILES: Mapping[str, Callable[[str], CorpusFiles]] = {
    "nsmc-raw": naver_crawl.files,
    "imdb": locate.find,
    "ptb": locate.find,
}


def rated_reviews(*, sample: bool) -> Result:
    """The reviews of :data:`RATED`, or their embedded sample.

    Raises:
        InputError: the corpus is missing or damaged.
    """
    return documents.prepare("sample", min_freq=2) if sample else documents.prepare(RATED)


def _words(split: Split, vocabulary: Vocabulary) -> TokenStream:
    """The texts of a split, without words that have no vector."""
    known = split.ids >= len(vocabulary.specials)
    text = np.repeat(np.arange(len(split), dtype=np.int32), split.lengths)
    return TokenStream(split.ids[known], text[known], np.bincount(split.ids[known], minlength=len(vocabulary)))


def _loss(model: Any, settings: WordVectorSettings, data: WordVectorData, split: str) -> float:
    """The loss on a held-out split."""
    return held_out_loss(model, data.held_out(split), settings.sampling(settings.held_out_rows), _DRAWS)
