"""Text classification: training on a corpus, and evaluation by accuracy and attention weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Generic, Self, TypeVar

import numpy as np
from mxnet import nd
from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

from gluon_attn.errors import UsageError
from gluon_attn.models.outputs import Classifier, ClassifierOutput
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective, share_of_mean
from gluon_attn.training.recipe import Recipe
from preprocessing.corpora import CorpusFiles
from preprocessing.pipeline.ragged import string_arrays
from preprocessing.text import own_texts
from preprocessing.text.data import Split
from preprocessing.text.pipeline import Result, TextPipeline
from reproductions.protocol.attention_view import AttentionView
from reproductions.protocol.claims import Effect
from reproductions.protocol.own_data import DataOptions, OwnData
from reproductions.protocol.results import Row
from reproductions.protocol.runs import SAMPLE, Outcome
from reproductions.protocol.task import AnswerOptions, Evaluation, Task, TrainedModel, Variant
from reproductions.tasks.classification import answers, attention_views, results
from reproductions.tasks.classification.accuracy import CLUSTER, compare, scores
from reproductions.tasks.classification.inputs import Text, drop_tokens
from reproductions.tasks.classification.predictions import TextPredictions, classify
from reproductions.tasks.classification.settings import ClassificationData, ClassificationSettings
from reproductions.tasks.word_vectors.trained_vectors import TrainedVectors


@dataclass(frozen=True)
class EvaluatedModel:
    """A trained network with its predictions for the test split, as input of further measurements.

    Attributes:
        model, data: the network with the parameters of its best epoch, and its data.
        predictions: predictions for the test split, without matrices.
        last: the checkpoint, which also holds the parameters of the last epoch.
    """

    model: Classifier
    data: ClassificationData
    predictions: TextPredictions
    last: Checkpoint

    @property
    def test(self) -> Split:
        """The test split."""
        return self.data.prepared.test


@dataclass(frozen=True)
class MeasurementResult:
    """Results of a measurement: additional predictions and examples of an :class:`Evaluation`."""

    predictions: Mapping[str, np.ndarray] = field(default_factory=dict)
    examples: Mapping[str, Any] = field(default_factory=dict)


Measurement = Callable[[EvaluatedModel], MeasurementResult]

SettingsT = TypeVar("SettingsT", bound=ClassificationSettings)


@dataclass(frozen=True)
class Classification(Task[SettingsT, ClassificationData], Generic[SettingsT]):
    """Classification of the texts of one corpus, whose pipeline a subclass defines. The epoch with the best validation
    accuracy is selected.

    Attributes:
        corpus: name of the corpus.
        language: language of its texts, as an HTML language code.
        items: name of its texts, such as reviews.
        measurements: additional measurements of a trained network.
        train_label: name of the training loss in figures, if it has more terms than the cross-entropy.
        own: user data that are read instead of the corpus.
    """

    corpus: str
    language: str
    items: str = "reviews"
    measurements: tuple[Measurement, ...] = ()
    train_label: str = "train"
    own: OwnData | None = field(default=None, kw_only=True)

    name = "classification"
    command = "predict"
    columns = results.COLUMNS
    metrics = ("accuracy",)

    @property
    def group(self) -> str:
        return self.corpus

    @property
    def input_language(self) -> str:
        return self.language

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels of the corpus; the index is the label."""
        return "negative", "positive"

    @abstractmethod
    def pipeline(self, settings: SettingsT) -> TextPipeline:
        """Return the preprocessing pipeline of the corpus."""

    def clusters(self, test: Split) -> np.ndarray | None:
        """The cluster of each test text of the corpus, (texts,), if a network's errors on texts of one cluster depend
        on each other: the bootstrap then draws clusters. None if all are independent."""
        return None

    def own_data(self, options: DataOptions) -> OwnData:
        """TSV files, given separately or as a folder with the usual names."""
        options.require(self.name, ("train", "test"), ("folder",), optional=("validation",) if options.train else ())
        if options.folder is not None:
            return OwnData(self.own_folder(options.folder), options)
        assert options.train is not None and options.test is not None
        return OwnData(own_texts.own_texts(options.train, options.test, options.validation), options)

    def own_folder(self, folder: Path) -> CorpusFiles:
        """Return the files of a folder of user data."""
        return own_texts.own_texts_of(folder)

    def can_read(self, own: OwnData) -> bool:
        return own.files.name == own_texts.OWN_TEXTS

    def on(self, own: OwnData) -> Self:
        return replace(self, corpus=own.files.name, own=own)

    def _pipeline(self, settings: SettingsT) -> TextPipeline:
        pipeline = self.pipeline(settings)
        return own_texts.reading_own_texts(pipeline) if self.corpus == own_texts.OWN_TEXTS else pipeline

    def prepare(self, settings: SettingsT, *, sample: bool = False) -> ClassificationData:
        files = self.own.files if self.own else "sample" if sample else self.corpus
        return self._data(settings, self._pipeline(settings).run(files))

    def save(self, settings: SettingsT, data: ClassificationData, path: Path) -> None:
        prepared = data.prepared
        replace(prepared, data=prepared.data.with_learned(**data.inputs.learned)).save(path)

    def restore(self, settings: SettingsT, path: Path, *, sample: bool = False) -> ClassificationData:
        return self._data(settings, self._pipeline(settings).load(path))

    def _data(self, settings: SettingsT, prepared: Result) -> ClassificationData:
        name, corpora = prepared.card["corpus"]["name"], prepared.corpora
        if name == SAMPLE:  # its parts for different corpora have files with the same names
            corpora = {f"{self.corpus} {part}": sha256 for part, sha256 in corpora.items()}
        return ClassificationData(
            name,
            corpora,
            prepared,
            settings.inputs(prepared),
            own_texts.learned_labels(prepared.data.learned) or self.label_names,
        )

    def initialize(self, model: Classifier, data: ClassificationData, pretrained: TrainedModel[Any, Any]) -> None:
        """Initialise the token embeddings from trained word vectors; tokens without a vector keep their random values.

        Raises:
            UsageError: if the pretrained network has no word vectors, or vectors of other tokens or of another width.
        """
        vectors = TrainedVectors.of(pretrained)
        rows, known = vectors.rows_for(data.prepared.vocabulary.idx_to_token, data.prepared.tokenizer.name)
        weight = model.token_embedding.weight
        drawn = weight.data().asnumpy()
        if rows.shape != drawn.shape:
            raise UsageError(
                f"{pretrained.variant.name}: word vectors of {rows.shape[1]} units cannot initialise embeddings of "
                f"{drawn.shape[1]}; make them equal"
            )
        weight.set_data(nd.array(np.where(known[:, None], rows, drawn)))

    def training_texts(self, data: ClassificationData) -> tuple[Sequence[Text], np.ndarray]:
        """The texts that are trained on, and their targets: labels (texts,), or probabilities (texts, classes)."""
        return data.inputs.texts(data.prepared.train), data.prepared.train.label

    def objective(self, settings: SettingsT, recipe: Recipe, data: ClassificationData) -> Objective:
        (texts, targets), validation = self.training_texts(data), data.prepared.validation
        held_out = data.inputs.texts(validation)
        cross_entropy = SoftmaxCrossEntropyLoss(sparse_label=targets.ndim == 1)
        cross_entropy.hybridize()
        steps = -(-len(texts) // recipe.batch_size)
        # The warm-up of the corpus may be longer than the whole training on few texts of a user.
        warmup = min(settings.warmup_of_terms, steps) if self.own else settings.warmup_of_terms

        def batches(generator: np.random.RandomState) -> Iterator[Batch]:
            for rows in data.inputs.training_batches(texts, recipe.batch_size, generator):
                some = drop_tokens([texts[row] for row in rows], settings.token_dropout, generator)
                yield Batch(data.inputs.arrays(some), targets[rows].astype(np.float32))

        def loss(output: ClassifierOutput, target: nd.NDArray) -> nd.NDArray:
            if not warmup:
                return settings.losses(output, cross_entropy(output.logits, target))
            plain = cross_entropy(output.logits, target[:, 0])
            return plain + target[:, 1] * (settings.losses(output, plain) - plain)

        def with_weight(batch: Batch, step: int) -> Batch:
            """The batch with target (texts, 2): labels, and the share of the additional terms at this step."""
            share = np.full(len(batch.target), min(1.0, step / warmup), np.float32)
            return Batch(batch.inputs, np.stack([batch.target, share], axis=1))

        def evaluate(model: Classifier) -> dict[str, float]:
            return scores(classify(model, data.inputs, held_out).probabilities, validation.label)

        at_step = with_weight if warmup else None
        return Objective(batches, steps, loss, evaluate, share=share_of_mean, at_step=at_step)

    def evaluate(
        self, model: Classifier, settings: SettingsT, data: ClassificationData, last: Checkpoint
    ) -> Evaluation:
        """Evaluate on the test split.

        Predictions are by text: ``right``; ``label``; ``seen_in_train``; ``cluster``, if texts have one;
        ``probability``, that of the second class if there are two classes, otherwise (texts, classes). For networks
        with attention, texts are those shown by :func:`.results.reading_page`. Measurements add predictions and
        examples.
        """
        test = data.prepared.test
        texts = data.inputs.texts(test)
        predictions = classify(model, data.inputs, texts)
        arrays = {
            "probability": predictions.probability if data.classes == 2 else predictions.probabilities,
            "right": predictions.predicted == test.label,
            "label": test.label,
            "seen_in_train": test.seen_in_train,
        }
        clusters = None if self.own or data.corpus == SAMPLE else self.clusters(test)
        if clusters is not None:
            arrays[CLUSTER] = clusters
        examples: dict[str, Any] = {}
        evaluated = EvaluatedModel(model, data, predictions, last)
        for measure in self.measurements:
            result = measure(evaluated)
            arrays |= result.predictions
            examples |= result.examples
        pages = self._texts(test, predictions, data) if predictions.has_weights else {}
        return Evaluation(scores(predictions.probabilities, test.label), arrays, examples, pages)

    def _texts(self, test: Split, predictions: TextPredictions, data: ClassificationData) -> dict[str, np.ndarray]:
        """Return the test split with the weight of each token, for a page."""
        counts = np.array([len(weights) for weights in predictions.token_weights])
        return {
            "row_id": test.row_id,
            **string_arrays("text", test.text.tolist()),
            **string_arrays("symbols", list(test.symbols)),
            "tokens": np.concatenate([test.tokenized[row][:count] for row, count in enumerate(counts)]),
            "token_counts": counts,
            "token_weights": np.concatenate(predictions.token_weights).astype(np.float32),
            "labels": np.array(data.labels),
            "language": np.array(self.language),
        }

    def combine(
        self, members: Sequence[Outcome], models: Callable[[], Sequence[TrainedModel[SettingsT, ClassificationData]]]
    ) -> Evaluation:
        """Average the probabilities of all seeds, without the networks."""
        return results.combined(members)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[SettingsT]) -> list[Row]:
        return results.rows(outcomes, variant, self.items)

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
        return compare(better, worse, self.items)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        results.training_curves(outcomes, path, train_label=self.train_label)

    def answer(
        self, trained: TrainedModel[SettingsT, ClassificationData], lines: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        return answers.answer(trained, lines, options)

    def attention_of(
        self, trained: TrainedModel[SettingsT, ClassificationData], text: str, *, beam: int | None = None
    ) -> AttentionView:
        return attention_views.of_text(trained, text)

    def published_attention(self, outcome: Outcome) -> list[AttentionView]:
        return attention_views.of_examples(outcome, self.label_names)

    def published_page(self, outcome: Outcome, title: str, path: Path) -> bool:
        labels = self.label_names
        return results.write_published_page(outcome, path, title, labels, self.language)
