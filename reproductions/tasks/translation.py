"""Translation: from sentence pairs to networks, and from networks to decoded text and BLEU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from mxnet import nd

from gluon_attn.decoding.beam_search import beam_search
from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.batching import length_batches, pad, pair_batches
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from preprocessing import translation as pipelines
from preprocessing.bitext import ibm_model_1
from preprocessing.bitext.data import Pair
from preprocessing.pipeline.ragged import pack_strings
from preprocessing.text.data import Split
from preprocessing.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID, UNKNOWN, UNKNOWN_ID
from preprocessing.translation import TranslationResult
from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import (
    AnswerOptions,
    Evaluation,
    Settings,
    Task,
    TrainedModel,
    Variant,
)
from reproductions.tasks import translation_answers, translation_results
from reproductions.tasks.bleu import PEERS, Bleu, bleu, chrf

# What batches are padded to, source and target: each pair of lengths is a compiled graph with memory of its own.
MULTIPLES = (8, 4)
SENTENCES = 64  # per batch whose likelihood is measured
# Per batch that is translated, and what its sources are padded to: a search step takes hardly longer for many sentences
# than for few, and there are few graphs of a step anyway.
TRANSLATED, TRANSLATED_MULTIPLE = 128, 4
DRAWN, LONGEST_DRAWN = 3, 16  # test sentences whose alignments are kept, and source words that fit a figure

# One full training for all main rows, one smaller training for all ablations.
STANDARD = Recipe(epochs=10, batch_size=64, learning_rate=2e-3, warmup_steps=400, decay="cosine", clip_norm=1.0)
SMALL = replace(STANDARD, epochs=8)
SMOKE = Recipe(epochs=2, batch_size=32, learning_rate=5e-3, clip_norm=1.0)


@dataclass(frozen=True, kw_only=True)
class TranslationSettings(Settings):
    """What all networks that translate share.

    Attributes:
        tokens: ``words``, ``bpe`` or ``sentencepiece``.
        operations: merges of byte pair encoding, learned jointly.
        min_freq, max_size: of either vocabulary; None for the pipeline's defaults.
        max_length: longest side of a training pair, in tokens.
        beam, alpha: of the search; ``alpha`` is the length penalty of Wu et al. (2016), 0 for none.
        more_beams: further beams that the test split is translated with.
        replace_unknown: also replace unknown tokens by means of the alignment (Luong et al., 2015, sec. 4.1).
        smoothing: label smoothing.
        tied: the output layer's weights are the target embeddings.
        embedding_units: width of source and target embeddings.
    """

    tokens: str = "bpe"
    operations: int = 5_000
    min_freq: int | None = None
    max_size: int | None = None
    max_length: int = 50
    beam: int = 5
    alpha: float = 1.0
    more_beams: tuple[int, ...] = ()
    replace_unknown: bool = False
    smoothing: float = 0.0
    tied: bool = False
    embedding_units: int


@dataclass(frozen=True)
class TranslationData:
    """A prepared parallel corpus."""

    corpus: str
    corpora: Mapping[str, str]
    prepared: TranslationResult
    packages: tuple[str, ...] = ("sacrebleu", "sacremoses", "subword-nmt")

    @property
    def digest(self) -> str:
        return self.prepared.digest

    def shared(self, settings: TranslationSettings) -> dict[str, Any]:
        """The arguments that every :class:`EncoderDecoder` takes."""
        return {
            "source_vocabulary": len(self.prepared.source_vocabulary),
            "target_vocabulary": len(self.prepared.target_vocabulary),
            "padding": PADDING_ID,
            "source_units": settings.embedding_units,
            "target_units": settings.embedding_units,
            "smoothing": settings.smoothing,
            "tied": settings.tied,
        }

    @cached_property
    def lexicon(self) -> dict[str, str]:
        """The most likely translation of each source token, learned on the training split."""
        sides = self.prepared.splits["train"].sides
        return ibm_model_1.translations(*([side.words(row) for row in range(len(side))] for side in sides))


@dataclass(frozen=True, eq=False)
class Translated:
    """One translated sentence.

    Attributes:
        tokens: target tokens as the network generated them.
        text: the same, detokenised.
        log_p: ln p of the tokens and the end of sentence.
        weights: (steps, source tokens), the end of sentence last; None without attention.
    """

    tokens: list[str]
    text: str
    log_p: float
    weights: np.ndarray | None


@dataclass(frozen=True)
class Translation(Task[TranslationSettings, TranslationData]):
    """Translation of one corpus in one direction. Kept is the epoch with the best validation BLEU of greedy search.

    BLEU is counted on lower-cased tokens, as the peers count it; ``sacrebleu`` and ``chrf`` are of detokenised,
    lower-cased text.
    """

    corpus: str
    source: str
    target: str

    name = "translation"
    command = "translate"
    columns = translation_results.COLUMNS

    @property
    def official(self) -> Bleu:
        """sacreBLEU as it is published for the target language, lower-cased: the training text is."""
        return Bleu("ko-mecab" if self.target == "ko" else "13a", lowercase=True)

    def prepare(self, settings: TranslationSettings, *, sample: bool = False) -> TranslationData:
        prepared = pipelines.prepare(
            "sample" if sample else self.corpus,
            source=self.source,
            target=self.target,
            tokens=settings.tokens,
            operations=settings.operations,
            min_freq=settings.min_freq,
            max_size=settings.max_size,
            max_length=settings.max_length,
        )
        files = prepared.card["corpus"]
        return TranslationData(files["name"], {part: file["sha256"] for part, file in files["files"].items()}, prepared)

    def objective(self, settings: TranslationSettings, recipe: Recipe, data: TranslationData) -> Objective:
        train, validation = data.prepared.splits["train"], data.prepared.splits["validation"]
        sources, targets = train.source.sequences(), train.target.sequences()

        def batches(generator: np.random.RandomState) -> Iterator[Batch]:
            lengths = train.source.lengths, train.target.lengths + 1
            for rows in pair_batches(*lengths, recipe.batch_size, MULTIPLES, generator):
                yield batch([sources[row] for row in rows], [targets[row] for row in rows])

        def loss(outputs: Any, tokens: nd.NDArray) -> nd.NDArray:
            return outputs.loss.sum() / tokens

        def evaluate(model: EncoderDecoder) -> dict[str, float]:
            translated = translate([model], data, validation.source, beam=1)
            totals = likelihoods(model, validation).sum(axis=0)
            score = bleu(counts(data, "validation", translated).sum(axis=0))
            return {"bleu": score, "loss": float(totals[0] / totals[1]), "perplexity": perplexity(totals)}

        return Objective(batches, -(-len(sources) // recipe.batch_size), loss, evaluate, select="bleu")

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
        utf8, offsets = pack_strings(texts)
        arrays = {
            "bleu": counts(data, "test", translated),
            "sacrebleu": self.official.counts(texts, references),
            "likelihood": likelihoods(model, test),
            "words": np.array([len(text.split()) for text in test.source.text]),
            "text_utf8": utf8,
            "text_offsets": offsets,
        }
        for beam in settings.more_beams:
            again = translate([model], data, test.source, beam=beam, alpha=settings.alpha)
            arrays[f"bleu_beam_{beam}"] = counts(data, "test", again)
        examples: dict[str, Any] = {}
        if translated[0].weights is not None:
            if settings.replace_unknown:
                arrays["bleu_replaced"] = counts(data, "test", without_unknown(translated, test.source, data))
            examples["alignments"] = _alignments(translated, test.source, arrays["words"])
        metrics = {name: bleu(arrays[name].sum(axis=0)) for name in ("bleu", "sacrebleu")}
        metrics |= {"chrf": chrf(texts, references), "perplexity": perplexity(arrays["likelihood"].sum(axis=0))}
        pairs = {"source": test.source.text.tolist(), "reference": references}
        packed = {name: pack_strings(column) for name, column in pairs.items()}
        both = {f"{name}_utf8": column[0] for name, column in packed.items()}
        both |= {f"{name}_offsets": column[1] for name, column in packed.items()}
        return Evaluation(metrics, arrays, examples, both)

    def combine(
        self,
        members: Sequence[Outcome],
        models: Callable[[], Sequence[TrainedModel[TranslationSettings, TranslationData]]],
    ) -> Evaluation:
        """Translate with the networks of all seeds, whose probabilities are averaged at each token."""
        trained = models()
        settings, data = trained[0].variant.settings, trained[0].data
        test = data.prepared.splits["test"].source
        networks = [member.model for member in trained]
        arrays = {}
        for name, beam in {"bleu": settings.beam, **{f"bleu_beam_{n}": n for n in settings.more_beams}}.items():
            translated = translate(networks, data, test, beam=beam, alpha=settings.alpha)
            arrays[name] = counts(data, "test", translated)
        return Evaluation({"bleu": bleu(arrays["bleu"].sum(axis=0))}, arrays)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[TranslationSettings]) -> list[Row]:
        return translation_results.rows(outcomes, variant, self.official)

    def compare(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
        return translation_results.compare(metric, better, worse)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        translation_results.training_curves(outcomes, path)

    def figures(self, outcome: Outcome, variant: Variant[TranslationSettings], directory: Path) -> dict[str, Path]:
        return translation_results.draw_alignments(outcome, variant, directory)

    def pages(self, outcome: Outcome, variant: Variant[TranslationSettings], directory: Path) -> dict[str, Path]:
        return translation_results.write_translations(outcome, variant, directory)

    def answer(
        self,
        trained: TrainedModel[TranslationSettings, TranslationData],
        lines: BinaryIO,
        options: AnswerOptions,
    ) -> Iterator[str]:
        return translation_answers.answer(trained, lines, options, translate=translate_encoded)


def inputs(sources: Sequence[np.ndarray], multiple: int = MULTIPLES[0]) -> tuple[np.ndarray, np.ndarray]:
    """Padded ids (rows, length) and lengths (rows,) of source sentences; an empty one is read as one unknown token."""
    sources = [ids if len(ids) else np.array([UNKNOWN_ID], np.int32) for ids in sources]
    return pad(sources, PADDING_ID, multiple), np.array([len(ids) for ids in sources], np.float32)


def batch(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Batch:
    """The inputs of one step: source, its lengths, the target after its begin token and with its end token. Its target
    is what the loss is divided by: the number of target tokens, ends of sentences included, (1,)."""
    begun = pad([np.append(BEGIN_ID, ids) for ids in targets], PADDING_ID, MULTIPLES[1])
    ended = pad([np.append(ids, END_ID) for ids in targets], PADDING_ID, MULTIPLES[1])
    tokens = np.array([sum(len(ids) + 1 for ids in targets)], np.float32)
    return Batch((*inputs(sources), begun, ended), tokens)


def translate(
    models: Sequence[EncoderDecoder],
    data: TranslationData,
    sentences: Split,
    *,
    beam: int,
    alpha: float = 0.0,
) -> list[Translated]:
    """Translate encoded sentences with one network or an ensemble, in batches of similar length; results are in the
    order of the sentences.

    Args:
        models: trained networks over the same data.
        data: their data.
        sentences: the source side of a split, or ``data.prepared.encode(...)``.
        beam, alpha: of the search.
    """
    sequences = sentences.sequences()
    translated: dict[int, Translated] = {}
    for rows in length_batches(sentences.lengths, TRANSLATED):
        source, lengths = inputs([sequences[row] for row in rows], TRANSLATED_MULTIPLE)
        beams = beam_search(
            models,
            source,
            lengths,
            beam=beam,
            alpha=alpha,
            max_steps=2 * lengths.astype(int) + 10,
            begin=BEGIN_ID,
            end=END_ID,
        )
        for row, length, hypotheses in zip(rows, lengths, beams, strict=True):
            best = hypotheses[0]
            weights = None if best.weights is None else best.weights[:, : int(length)]
            tokens = [data.prepared.target_vocabulary.idx_to_token[index] for index in best.ids]
            translated[row] = Translated(tokens, data.prepared.detokenize(tokens), best.log_p, weights)
    return [translated[row] for row in range(len(sequences))]


def translate_encoded(
    trained: TrainedModel[TranslationSettings, TranslationData], sentences: Split
) -> list[Translated]:
    """Translate encoded sentences as a variant's settings say."""
    settings, data = trained.variant.settings, trained.data
    translated = translate([trained.model], data, sentences, beam=settings.beam, alpha=settings.alpha)
    return without_unknown(translated, sentences, data) if settings.replace_unknown else translated


def without_unknown(translated: Sequence[Translated], sentences: Split, data: TranslationData) -> list[Translated]:
    """Translations by a network with attention, each unknown token replaced by the most likely translation of the
    source word with the largest weight, or by that word itself (Luong et al., 2015, sec. 4.1)."""
    replaced = []
    for row, sentence in enumerate(translated):
        tokens, words = list(sentence.tokens), sentences.words(row)
        if words and sentence.weights is not None:
            attended = [words[position] for position in sentence.weights.argmax(axis=1)]
            tokens = [
                data.lexicon.get(word, word) if token == UNKNOWN else token
                for token, word in zip(sentence.tokens, attended, strict=False)
            ]
        replaced.append(replace(sentence, tokens=tokens, text=data.prepared.detokenize(tokens)))
    return replaced


def likelihoods(model: EncoderDecoder, pair: Pair) -> np.ndarray:
    """For each target sentence -ln p in nats, and its number of tokens with the end of sentence: (rows, 2)."""
    sources, targets = pair.source.sequences(), pair.target.sequences()
    nats = np.zeros(len(sources))
    for rows in length_batches(pair.target.lengths, SENTENCES):
        step = batch([sources[row] for row in rows], [targets[row] for row in rows])
        outputs = model(*(nd.array(array, dtype=array.dtype) for array in step.inputs))
        nats[rows] = outputs.nll.asnumpy().sum(axis=1)
    return np.stack([nats, pair.target.lengths + 1], axis=1)


def counts(data: TranslationData, split: str, translated: Sequence[Translated]) -> np.ndarray:
    """What BLEU sums, (sentences, 10), of translations of a split as lower-cased tokens, as the peers count it."""
    tokens = data.prepared.evaluation_tokens([sentence.text for sentence in translated])
    return PEERS.counts(tokens, data.prepared.reference_tokens(split))


def _alignments(translated: Sequence[Translated], source: Split, words: np.ndarray) -> list[dict[str, Any]]:
    """Source tokens, target tokens and weights of the longest test sentences that fit a figure, in the order of the
    corpus."""
    alignments = []
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
