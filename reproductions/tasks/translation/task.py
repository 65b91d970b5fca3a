"""Translation: training on sentence pairs, decoding, and BLEU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np

from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.batching import pair_batches
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective, share_of_sum
from gluon_attn.training.recipe import Recipe
from preprocessing import translation as pipelines
from preprocessing.bitext.corpora import OWN_FILES
from preprocessing.bitext.pipeline import TranslationPipeline
from preprocessing.pipeline.ragged import string_arrays
from preprocessing.text.data import Split
from reproductions.protocol.attention_view import AttentionView
from reproductions.protocol.claims import Effect
from reproductions.protocol.own_data import DataOptions, OwnData
from reproductions.protocol.results import Row
from reproductions.protocol.runs import SAMPLE, Outcome
from reproductions.protocol.task import AnswerOptions, Column, Evaluation, Task, TrainedModel, Variant
from reproductions.tasks.bleu import Bleu, bleu, chrf, with_unknown_words
from reproductions.tasks.teacher_forcing import loss_per_token
from reproductions.tasks.translation import answers, attention_views, results
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import (
    Translated,
    batch,
    counts,
    likelihoods,
    translate,
    without_unknown,
)
from reproductions.tasks.translation.trainings import SMALLER

DRAWN, LONGEST_DRAWN = 3, 16  # test sentences whose alignments are kept, and source words that fit a figure


@dataclass(frozen=True)
class Translation(Task[TranslationSettings, TranslationData]):
    """Translation of a corpus in one direction. The epoch with the best validation BLEU of greedy search is kept.

    BLEU is computed on lower-cased tokens; ``sacrebleu`` and ``chrf`` on detokenised, lower-cased text, in which an
    unknown token is one word.

    Attributes:
        corpus: name of the corpus in the registry.
        source, target: languages.
        part: part of the paper's experiments; variants of one part share a figure of training curves.
        extra: collections of the corpus that are read only on request, added to the training split.
        own: the user's own data, read instead of the corpus.
    """

    corpus: str
    source: str
    target: str
    part: str = ""
    extra: tuple[str, ...] = field(default=(), kw_only=True)
    own: OwnData | None = field(default=None, kw_only=True)

    name = "translation"
    command = "translate"
    columns: ClassVar[tuple[Column, ...]] = results.COLUMNS
    metrics: ClassVar[tuple[str, ...]] = results.METRICS
    notes = results.NOTES

    @property
    def group(self) -> str:
        return self.part or self.name

    @property
    def input_language(self) -> str:
        return self.source

    @property
    def output_language(self) -> str:
        return self.target

    @property
    def official(self) -> Bleu:
        """sacreBLEU for the target language, lower-cased like the training text."""
        return Bleu("ko-mecab" if self.target == "ko" else "13a", lowercase=True)

    @property
    def reads(self) -> tuple[str, ...]:
        return self.corpus, self.source, self.target

    def at_scale(self, variant: Variant[Any], differs: str = "") -> Variant[Any]:
        """A variant with this task, on the corpus of its paper. Reported numbers for other corpora are left out;
        ``differs`` says what differs from the remaining ones; by default, the same as for small networks."""
        variant = replace(variant, task=self, title=variant.title.removesuffix(SMALLER))
        if variant.beside is not None and variant.beside.corpus == self.corpus:
            return replace(variant, differs=differs or variant.differs)
        return replace(variant, beside=None, comparable=False, differs="")

    def own_data(self, options: DataOptions) -> OwnData:
        """A folder of parallel files."""
        options.require(self.name, ("folder", "source", "target"))
        assert options.folder is not None
        return OwnData(pipelines.own_files(options.folder, str(options.source), str(options.target)), options)

    def can_read(self, own: OwnData) -> bool:
        return own.files.name == OWN_FILES

    def on(self, own: OwnData) -> Self:
        source, target = str(own.options.source), str(own.options.target)
        return replace(self, corpus=own.files.name, source=source, target=target, extra=(), own=own)

    def prepare(self, settings: TranslationSettings, *, sample: bool = False) -> TranslationData:
        corpus = SAMPLE if sample else self.corpus
        prepared = self._pipeline(corpus, settings).run(self.own.files if self.own else corpus)
        return TranslationData(prepared.card["corpus"]["name"], prepared.corpora, prepared)

    def save(self, settings: TranslationSettings, data: TranslationData, path: Path) -> None:
        (data.with_lexicon() if settings.replace_unknown else data).prepared.save(path)

    def restore(self, settings: TranslationSettings, path: Path, *, sample: bool = False) -> TranslationData:
        prepared = self._pipeline(SAMPLE if sample else self.corpus, settings).load(path)
        return TranslationData(prepared.card["corpus"]["name"], prepared.corpora, prepared)

    def _pipeline(self, corpus: str, settings: TranslationSettings) -> TranslationPipeline:
        return pipelines.pipeline(
            corpus,
            source=self.source,
            target=self.target,
            extra=() if corpus == SAMPLE else self.extra,
            **self._options(settings),
        )

    def _options(self, settings: TranslationSettings) -> dict[str, Any]:
        """Arguments of :func:`preprocessing.translation.pipeline`."""
        return settings.pipeline_options

    def objective(self, settings: TranslationSettings, recipe: Recipe, data: TranslationData) -> Objective:
        train, validation = data.prepared.splits["train"], data.prepared.splits["validation"]
        sources, targets = train.source.sequences(), train.target.sequences()

        def rows_of_batches(generator: np.random.RandomState) -> list[np.ndarray]:
            lengths, tokens = (train.source.lengths, train.target.lengths + 1), recipe.batch_tokens
            return pair_batches(*lengths, recipe.batch_size, settings.multiples, generator, batch_tokens=tokens)

        def batches(generator: np.random.RandomState) -> Iterator[Batch]:
            for rows in rows_of_batches(generator):
                yield batch([sources[row] for row in rows], [targets[row] for row in rows], settings.multiples)

        def evaluate(model: EncoderDecoder) -> dict[str, float]:
            translated = translate([model], data, validation.source, beam=1)
            totals = likelihoods(model, validation).sum(axis=0)
            score = bleu(counts(data, "validation", translated).sum(axis=0))
            return {"bleu": score, "loss": float(totals[0] / totals[1]), "perplexity": perplexity(totals)}

        steps = len(rows_of_batches(np.random.RandomState(0)))
        return Objective(batches, steps, loss_per_token, evaluate, select="bleu", share=share_of_sum)

    def choose(self, trained: TrainedModel[TranslationSettings, TranslationData]) -> dict[str, Any]:
        """The length penalty with the best validation BLEU, if the settings have several."""
        settings = trained.variant.settings
        return {"alpha": _best_alpha([trained.model], settings, trained.data)} if settings.alphas else {}

    def evaluate(
        self, model: EncoderDecoder, settings: TranslationSettings, data: TranslationData, last: Checkpoint
    ) -> Evaluation:
        """Translate the test split.

        Predictions are by sentence: ``bleu`` and ``sacrebleu`` counts (sentences, 10), ``bleu_beam_<n>`` of every
        further beam, ``bleu_replaced`` with unknown tokens replaced, ``likelihood`` (sentences, 2) the nats and the
        tokens of the reference, ``words`` of the source, and the translations as ``text_utf8`` and ``text_offsets``.
        The example ``alignments`` has the attention weights of some sentences.
        """
        test = data.prepared.splits["test"]
        translated = translate([model], data, test.source, beam=settings.beam, alpha=settings.alpha)
        texts, references = [sentence.text for sentence in translated], data.prepared.references("test")
        scored = with_unknown_words(texts)
        arrays = {
            "bleu": counts(data, "test", translated),
            "sacrebleu": self.official.counts(scored, references),
            "likelihood": likelihoods(model, test),
            "words": np.array([len(text.split()) for text in test.source.text]),
            **string_arrays("text", texts),
        }
        arrays |= self.further_counts(translated, data)
        for beam in settings.more_beams:
            again = translate([model], data, test.source, beam=beam, alpha=settings.alpha)
            arrays[f"bleu_beam_{beam}"] = counts(data, "test", again)
        examples: dict[str, Any] = {}
        if translated[0].weights is not None:
            if settings.replace_unknown:
                arrays["bleu_replaced"] = counts(data, "test", without_unknown(translated, test.source, data))
            examples["alignments"] = _alignments(translated, test.source, arrays["words"])
        metrics = {name: bleu(arrays[name].sum(axis=0)) for name in ("bleu", "sacrebleu")}
        metrics |= {"chrf": chrf(scored, references), "perplexity": perplexity(arrays["likelihood"].sum(axis=0))}
        pages = string_arrays("source", test.source.text.tolist()) | string_arrays("reference", references)
        return Evaluation(metrics, arrays, examples, pages)

    def further_counts(self, translated: Sequence[Translated], data: TranslationData) -> dict[str, np.ndarray]:
        """Counts (sentences, 10) of other ways to compute BLEU on the test split, by name, for subclasses."""
        return {}

    def combine(
        self,
        members: Sequence[Outcome],
        models: Callable[[], Sequence[TrainedModel[TranslationSettings, TranslationData]]],
    ) -> Evaluation:
        """Translate with an ensemble of all seeds, averaging their probabilities at each token."""
        trained = models()
        settings, data = trained[0].variant.settings, trained[0].data
        test = data.prepared.splits["test"].source
        networks = [member.model for member in trained]
        alpha = _best_alpha(networks, settings, data) if settings.alphas else settings.alpha
        arrays = {}
        for name, beam in {"bleu": settings.beam, **{f"bleu_beam_{n}": n for n in settings.more_beams}}.items():
            translated = translate(networks, data, test, beam=beam, alpha=alpha)
            arrays[name] = counts(data, "test", translated)
        return Evaluation({"bleu": bleu(arrays["bleu"].sum(axis=0))}, arrays)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[TranslationSettings]) -> list[Row]:
        return results.rows(outcomes, variant, self.official)

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
        return results.compare(metric, better, worse)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        results.training_curves(outcomes, path)

    def pages(self, outcome: Outcome, variant: Variant[TranslationSettings], directory: Path) -> dict[str, Path]:
        return results.write_translations(outcome, variant, directory)

    def answer(
        self,
        trained: TrainedModel[TranslationSettings, TranslationData],
        lines: BinaryIO,
        options: AnswerOptions,
    ) -> Iterator[str]:
        return answers.answer(trained, lines, options)

    def attention_of(
        self, trained: TrainedModel[TranslationSettings, TranslationData], text: str, *, beam: int | None = None
    ) -> AttentionView:
        return attention_views.of_sentence(trained, text, beam)

    def published_attention(self, outcome: Outcome) -> list[AttentionView]:
        return attention_views.of_examples(outcome)


def _best_alpha(networks: Sequence[EncoderDecoder], settings: TranslationSettings, data: TranslationData) -> float:
    """The exponent with the best BLEU on the validation split; of equal ones, the first."""
    source = data.prepared.splits["validation"].source

    def validation_bleu(alpha: float) -> float:
        translated = translate(networks, data, source, beam=settings.beam, alpha=alpha)
        return bleu(counts(data, "validation", translated).sum(axis=0))

    return max(settings.alphas, key=validation_bleu)


def _alignments(translated: Sequence[Translated], source: Split, words: np.ndarray) -> list[dict[str, Any]]:
    """Source tokens, target tokens and weights of the longest test sentences that fit a figure, in corpus order."""
    alignments: list[dict[str, Any]] = []
    if words.min() > LONGEST_DRAWN:
        return alignments
    for row in np.flatnonzero(words == words[words <= LONGEST_DRAWN].max())[:DRAWN]:
        weights = translated[row].weights
        assert weights is not None
        alignments.append(
            {
                "row": int(row),
                "source": source.words(row),
                "target": translated[row].tokens,
                "weights": weights.tolist(),
            }
        )
    return alignments
