"""Image captioning: training on pairs of image and caption, search, and BLEU against several references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.models.efficientnet import LAST
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.batching import length_batches
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective, share_of_sum
from gluon_attn.training.recipe import Recipe
from preprocessing import flickr8k
from preprocessing.pipeline.ragged import string_arrays
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.html.embedded_images import as_text, compressed
from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import AnswerOptions, Evaluation, Task, TrainedModel, Variant
from reproductions.tasks.captioning import image_features, page, results, scores
from reproductions.tasks.captioning.data import CaptionData, CaptionSettings
from reproductions.tasks.captioning.decoding import Caption, batch, caption_images, image_of_row, likelihoods
from reproductions.tasks.captioning.nouns import attended_classes
from reproductions.tasks.captioning.scores import OFFICIAL, PEERS
from reproductions.tasks.teacher_forcing import loss_per_token

SMOKE = Recipe(epochs=2, batch_size=32, learning_rate=5e-3, clip_norm=1.0)

_DRAWN, _DRAWN_WORDS = 3, (5, 10)  # number of captions of either kind in the figures, and range of their lengths
_THUMBNAIL, _ON_PAGE = 112, 192  # side of an image in pixels in the figures and on the page of all images


@dataclass(frozen=True)
class Captioning(Task[CaptionSettings, CaptionData]):
    """Captioning of the images of one corpus. The epoch with the best validation BLEU-4 of greedy search is selected.

    Attributes:
        corpus: name of the corpus in the registry.
    """

    corpus: str = "flickr8k"

    name = "captioning"
    command = "caption"
    columns = results.COLUMNS
    metrics = results.METRICS
    notes = results.NOTES

    def prepare(self, settings: CaptionSettings, *, sample: bool = False) -> CaptionData:
        prepared = self._pipeline(settings).run("sample" if sample else self.corpus)
        return CaptionData(prepared.card["corpus"]["name"], prepared.corpora, prepared, settings.grid)

    def save(self, settings: CaptionSettings, data: CaptionData, path: Path) -> None:
        data.prepared.save(path)

    def restore(self, settings: CaptionSettings, path: Path, *, sample: bool = False) -> CaptionData:
        prepared = self._pipeline(settings).load(path)
        return CaptionData(prepared.card["corpus"]["name"], prepared.corpora, prepared, settings.grid)

    def _pipeline(self, settings: CaptionSettings) -> flickr8k.CaptionPipeline:
        return flickr8k.pipeline(min_freq=settings.min_freq, max_size=settings.max_size)

    def objective(self, settings: CaptionSettings, recipe: Recipe, data: CaptionData) -> Objective:
        train = data.prepared.splits["train"]
        ids, images, features = train.sequences(), image_of_row(data, "train"), data.features("train")
        usable = np.flatnonzero((train.lengths > 0) & (train.lengths <= settings.longest))

        def rows_of_batches(generator: np.random.RandomState) -> list[np.ndarray]:
            return [usable[rows] for rows in length_batches(train.lengths[usable], recipe.batch_size, generator)]

        def batches(generator: np.random.RandomState) -> Iterator[Batch]:
            for rows in rows_of_batches(generator):
                yield batch(features.rows(images[rows]), [ids[row] for row in rows])

        def evaluate(model: EncoderDecoder) -> dict[str, float]:
            captions = self._captions(model, data, "validation", beam=1)
            totals = self._counts(captions, data, "validation").sum(axis=0)
            nats = likelihoods(model, data, "validation").sum(axis=0)
            bleus = {name: scores.bleu_n(totals, name) for name in scores.ORDERS}
            return {**bleus, "loss": float(nats[0] / nats[1]), "perplexity": perplexity(nats)}

        steps = len(rows_of_batches(np.random.RandomState(0)))
        return Objective(batches, steps, loss_per_token, evaluate, select="bleu-4", share=share_of_sum)

    def _captions(
        self,
        model: EncoderDecoder,
        data: CaptionData,
        split: str,
        *,
        beam: int,
        alpha: float = 0.0,
        excluded: Sequence[int] = (),
    ) -> list[Caption]:
        features = data.features(split)
        return caption_images(model, data.prepared.vocabulary, features, beam=beam, alpha=alpha, excluded=excluded)

    def _counts(self, captions: Sequence[Caption], data: CaptionData, split: str) -> np.ndarray:
        references = [[" ".join(words) for words in each] for each in data.prepared.references(split)]
        return PEERS.counts([caption.text for caption in captions], references)

    def evaluate(
        self, model: EncoderDecoder, settings: CaptionSettings, data: CaptionData, last: Checkpoint
    ) -> Evaluation:
        """Caption the images of the test split.

        Predictions are by image: ``bleu`` and ``sacrebleu``, counts (images, 10); ``likelihood`` (images, 2), the nats
        and the words of all references; the captions as ``text_utf8`` and ``text_offsets``; with attention, ``nouns``
        (images, 4) from :func:`.nouns.attended_classes`; and, if the COCO evaluation is installed, ``cider`` (images,)
        and ``meteor``, counts (images, 23). The examples are captions that share many n-grams with the references, and
        captions that share few, with their images and weights.
        """
        prepared = data.prepared
        captions = self._captions(model, data, "test", beam=settings.beam, alpha=settings.alpha, excluded=(UNKNOWN_ID,))
        images, references = prepared.images("test"), prepared.references("test")
        raw = [[str(prepared.splits["test"].text[row]) for row in rows] for rows in images.rows]
        nats = likelihoods(model, data, "test")
        arrays = {
            "bleu": self._counts(captions, data, "test"),
            "sacrebleu": OFFICIAL.counts([caption.text for caption in captions], raw),
            "likelihood": np.stack([nats[rows].sum(axis=0) for rows in images.rows]),
            **scores.coco([caption.words for caption in captions], references),
            **string_arrays("text", [caption.text for caption in captions]),
        }
        examples: dict[str, Any] = {}
        pages = string_arrays("name", images.names) | string_arrays("reference", ["\n".join(each) for each in raw])
        if captions[0].weights is not None:
            arrays["nouns"] = attended_classes(captions, image_features.of_split(prepared, "test", LAST), settings.grid)
            examples["captions"] = _examples(captions, arrays["bleu"], data)
            weights = [np.asarray(caption.weights, np.float16) for caption in captions]
            pages["weights"] = np.concatenate(weights)
            pages["steps"] = np.array([len(each) for each in weights])
            # One by one: the pixels of a whole split would take hundreds of megabytes.
            encoded = [_jpeg(prepared.read([name])[0], _ON_PAGE) for name in images.names]
            pages["jpeg"] = np.frombuffer(b"".join(encoded), np.uint8)
            pages["jpeg_offsets"] = np.cumsum([0, *map(len, encoded)])
        metrics = {name: scores.bleu_n(arrays["bleu"].sum(axis=0), name) for name in scores.ORDERS}
        metrics["perplexity"] = perplexity(arrays["likelihood"].sum(axis=0))
        return Evaluation(metrics, arrays, examples, pages)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[CaptionSettings]) -> list[Row]:
        return results.rows(outcomes, variant)

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
        return results.compare(metric, better, worse)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        results.training_curves(outcomes, path)

    def figures(self, outcome: Outcome, variant: Variant[CaptionSettings], directory: Path) -> dict[str, Path]:
        return results.draw_examples(outcome, variant, directory)

    def pages(self, outcome: Outcome, variant: Variant[CaptionSettings], directory: Path) -> dict[str, Path]:
        written = results.write_captions(outcome, variant, directory)
        return written | page.write(outcome, variant, directory)

    def answer(
        self, trained: TrainedModel[CaptionSettings, CaptionData], stream: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        raise UsageError("captions are of image files, not of lines; use gluon-attn caption, or caption_files")


def caption_files(
    trained: TrainedModel[CaptionSettings, CaptionData], paths: Sequence[Path], *, beam: int | None = None
) -> list[Caption]:
    """Caption image files.

    Raises:
        InputError: if a file is missing or cannot be decoded.
    """
    settings, data = trained.variant.settings, trained.data
    features = data.features_of(data.prepared.reader.read(paths))
    return caption_images(
        trained.model,
        data.prepared.vocabulary,
        features,
        beam=beam or settings.beam,
        alpha=settings.alpha,
        excluded=(UNKNOWN_ID,),
    )


def _examples(captions: Sequence[Caption], counts: np.ndarray, data: CaptionData) -> list[dict[str, Any]]:
    """Return the captions with the highest share of n-grams found in a reference, and those with the lowest, among
    captions that fit a figure, with words, weights, references and a thumbnail of the image."""
    low, high = _DRAWN_WORDS
    words = np.array([len(caption.words) for caption in captions])
    share = counts[:, :4].sum(axis=1) / np.maximum(counts[:, 4:8].sum(axis=1), 1)
    fits = np.flatnonzero((words >= low) & (words <= high))
    ranked = fits[np.argsort(-share[fits], kind="stable")]
    best, rest = ranked[:_DRAWN], ranked[_DRAWN:]
    images = data.prepared.images("test")
    references = data.prepared.references("test")
    made = []
    for kind, rows in (("good", best), ("failure", rest[::-1][:_DRAWN])):
        for row in rows.tolist():
            name, weights = images.names[row], captions[row].weights
            assert weights is not None
            made.append(
                {
                    "kind": kind,
                    "row": row,
                    "image": name,
                    "jpeg": as_text(_jpeg(data.prepared.read([name])[0], _THUMBNAIL)),
                    "words": captions[row].words,
                    "references": [" ".join(each) for each in references[row]],
                    "weights": np.round(weights.astype(float), 4).tolist(),
                }
            )
    return made


def _jpeg(pixels: np.ndarray, side: int) -> bytes:
    """A small copy of an image as JPEG."""
    small = Image.fromarray(pixels).resize((side, side), Image.Resampling.LANCZOS)
    return compressed(np.asarray(small), "jpeg", quality=80)
