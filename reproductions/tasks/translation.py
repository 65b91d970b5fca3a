"""What the scripts that translate share: data, training task, decoding, and what is measured on the test split."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from mxnet import nd

from gluon_attn.decoding.beam_search import beam_search
from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.outputs import TranslationOutput
from gluon_attn.plots import heatmap
from gluon_attn.training.batching import length_batches, pad, pair_batches
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from preprocessing import translation
from preprocessing.bitext import ibm_model_1
from preprocessing.bitext.data import Pair
from preprocessing.pipeline.ragged import pack_strings
from preprocessing.text.data import Split
from preprocessing.text.normalization import JOINER
from preprocessing.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID, UNKNOWN, UNKNOWN_ID
from preprocessing.translation import TranslationResult
from reproductions.protocol.experiment import Preset, Variant
from reproductions.protocol.runs import Unit, load
from reproductions.tasks.bleu import Bleu, bleu, chrf
from reproductions.tasks.lines import lines

# What batches are padded to, source and target: each pair of lengths is a compiled graph with memory of its own.
MULTIPLES = (8, 4)
SENTENCES = 64  # of a batch whose likelihood is measured
# Of a batch that is translated, and what it is padded to: many sentences take hardly more steps than few, and of the
# graphs of a step there are few anyway.
TRANSLATED, TRANSLATED_MULTIPLE = 128, 4
LONGEST = 500  # tokens of a line that is translated: ten times the longest that is trained on
DRAWN, LONGEST_DRAWN = 3, 16  # test sentences whose alignments are kept, and source words that fit a figure
# One full training for all main rows, one smaller for all ablations.
RECIPE = Recipe(epochs=10, batch_size=64, learning_rate=2e-3, warmup_steps=400, decay="cosine", clip_norm=1.0)
SHORTER = replace(RECIPE, epochs=8)
SMOKE_RECIPE = Recipe(epochs=2, batch_size=32, learning_rate=5e-3, clip_norm=1.0)
PEERS = Bleu(tokenize="none", lowercase=True)
_OPTIONS = ("source", "target", "tokens", "operations", "min_freq", "max_size", "max_length")


@dataclass(frozen=True)
class Data:
    """The prepared corpus of one variant; ``packages`` have a part in its numbers besides those that always have."""

    corpus: str
    corpora: dict[str, str]
    prepared: TranslationResult
    packages: tuple[str, ...] = ("sacrebleu", "sacremoses", "subword-nmt")

    @property
    def digest(self) -> str:
        return self.prepared.digest

    @property
    def official(self) -> Bleu:
        """sacreBLEU as it is published for the target language, on running text; of small letters, since networks
        that learn from small letters say no others."""
        return Bleu("ko-mecab" if self.prepared.pipeline.target == "ko" else "13a", lowercase=True)

    @cached_property
    def lexicon(self) -> dict[str, str]:
        """What each source token most likely means, learned from the training split."""
        sides = self.prepared.splits["train"].sides
        return ibm_model_1.translations(*([side.words(row) for row in range(len(side))] for side in sides))


@dataclass(frozen=True, eq=False)
class Translation:
    """One translated sentence.

    Attributes:
        tokens: of the target, as the network said them.
        text: the same as running text.
        log_p: ln p of the tokens and the end of sentence.
        weights: (steps, source tokens), the end of sentence last; None without attention.
    """

    tokens: list[str]
    text: str
    log_p: float
    weights: np.ndarray | None


def prepare(preset: Preset, variant: Variant) -> Data:
    """Read and preprocess the corpus of a variant; on the embedded sample its sentences."""
    corpus = "sample" if preset.corpus == "sample" else variant.settings["corpus"]
    options = {name: variant.settings[name] for name in _OPTIONS if name in variant.settings}
    prepared = translation.prepare(corpus, **options)
    return Data(prepared.card["corpus"]["name"], prepared.corpora, prepared)


def sizes(variant: Variant, data: Data) -> dict[str, Any]:
    """What every network of :class:`EncoderDecoder` is built with, from the settings and the data."""
    settings = variant.settings
    return {
        "source_vocabulary": len(data.prepared.source_vocabulary),
        "target_vocabulary": len(data.prepared.target_vocabulary),
        "padding": PADDING_ID,
        "source_units": settings["embedding_units"],
        "target_units": settings["embedding_units"],
        "smoothing": settings["smoothing"],
        "tied": settings["tied"],
    }


def inputs(sources: Sequence[np.ndarray], multiple: int = MULTIPLES[0]) -> tuple[np.ndarray, np.ndarray]:
    """Padded ids (rows, length) and lengths (rows,) of source sentences; an empty one is read as one unknown token."""
    sources = [ids if len(ids) else np.array([UNKNOWN_ID], np.int32) for ids in sources]
    return pad(sources, PADDING_ID, multiple), np.array([len(ids) for ids in sources], np.float32)


def batch(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Batch:
    """What one step reads: the source, its lengths, the target behind its begin and with its end; and, as what the loss
    is divided by, the number of target tokens with the end of each sentence, (1,)."""
    begun = pad([np.append(BEGIN_ID, ids) for ids in targets], PADDING_ID, MULTIPLES[1])
    ended = pad([np.append(ids, END_ID) for ids in targets], PADDING_ID, MULTIPLES[1])
    tokens = np.array([sum(len(ids) + 1 for ids in targets)], np.float32)
    return Batch((*inputs(sources), begun, ended), tokens)


def task(variant: Variant, data: Data) -> Objective:
    """Training batches, loss and validation of a variant; kept is the epoch with the best BLEU of greedy search."""
    train, validation = data.prepared.splits["train"], data.prepared.splits["validation"]
    size = variant.recipe.batch_size
    sources, targets = train.source.sequences(), train.target.sequences()

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        for rows in pair_batches(train.source.lengths, train.target.lengths + 1, size, MULTIPLES, generator):
            yield batch([sources[row] for row in rows], [targets[row] for row in rows])

    def loss(output: TranslationOutput, tokens: nd.NDArray) -> nd.NDArray:
        return output.loss.sum() / tokens

    def evaluate(model: EncoderDecoder) -> dict[str, float]:
        found = translate([model], data, validation.source, beam=1)
        totals = likelihoods(model, validation).sum(axis=0)
        score = bleu(counts(data, "validation", found).sum(axis=0))
        return {"bleu": score, "loss": float(totals[0] / totals[1]), "perplexity": perplexity(totals)}

    return Objective(batches, -(-len(sources) // size), loss, evaluate, select="bleu")


def translate(
    models: Sequence[EncoderDecoder],
    data: Data,
    sentences: Split,
    *,
    beam: int,
    alpha: float = 0.0,
) -> list[Translation]:
    """Translate encoded sentences with one network or an ensemble, in batches of like length, in their order.

    Args:
        models: trained networks over the same data.
        data: their data.
        sentences: the source side of a split, or ``data.prepared.encode(...)``.
        beam, alpha: of the search.
    """
    sequences = sentences.sequences()
    found: list[Translation | None] = [None] * len(sequences)
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
            found[row] = Translation(tokens, data.prepared.detokenize(tokens), best.log_p, weights)
    return [one for one in found if one is not None]


def without_unknown(found: Sequence[Translation], sentences: Split, data: Data) -> list[Translation]:
    """Translations by a network with attention, each unknown token replaced by what the source word with the largest
    weight most likely means, or by that word itself (Luong et al., 2015, sec. 4.1)."""
    replaced = []
    for row, one in enumerate(found):
        tokens, words = list(one.tokens), sentences.words(row)
        if words and one.weights is not None:
            looked_at = [words[place] for place in one.weights.argmax(axis=1)]
            tokens = [
                data.lexicon.get(word, word) if token == UNKNOWN else token
                for token, word in zip(one.tokens, looked_at, strict=False)
            ]
        replaced.append(replace(one, tokens=tokens, text=data.prepared.detokenize(tokens)))
    return replaced


def likelihoods(model: EncoderDecoder, pair: Pair) -> np.ndarray:
    """For each target sentence -ln p in nats, and its number of tokens with the end of sentence: (rows, 2)."""
    sources, targets = pair.source.sequences(), pair.target.sequences()
    nats = np.zeros(len(sources))
    for rows in length_batches(pair.target.lengths, SENTENCES):
        read = batch([sources[row] for row in rows], [targets[row] for row in rows])
        output = model(*(nd.array(array, dtype=array.dtype) for array in read.inputs))
        nats[rows] = output.nll.asnumpy().sum(axis=1)
    return np.stack([nats, pair.target.lengths + 1], axis=1)


def counts(data: Data, split: str, found: Sequence[Translation]) -> np.ndarray:
    """What BLEU sums, (sentences, 10), of translations of a split as lower-cased words, as the peers count it."""
    said = data.prepared.evaluation_tokens([one.text for one in found])
    return PEERS.counts(said, data.prepared.reference_tokens(split))


def evaluate(
    model: EncoderDecoder, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Translate the test split once, with the parameters of the best epoch.

    Returns:
        Metrics, and arrays by sentence: ``bleu`` and ``sacrebleu`` counts (sentences, 10), ``likelihood``
        (sentences, 2) the nats and the tokens of the reference, ``words`` of the source, and the translations as
        ``text_utf8`` and ``text_offsets``; of networks with attention also those of :func:`_alignments`. Settings may
        ask for more BLEU counts: ``more_beams`` for ``bleu_beam_<n>`` of each, ``unknown`` for ``bleu_replaced`` of
        networks with attention.
    """
    test, settings = data.prepared.splits["test"], variant.settings
    found = translate([model], data, test.source, **search_of(variant))
    texts, references = [one.text for one in found], data.prepared.references("test")
    utf8, offsets = pack_strings(texts)
    arrays = {
        "bleu": counts(data, "test", found),
        "sacrebleu": data.official.counts(texts, references),
        "likelihood": likelihoods(model, test),
        "words": np.array([len(text.split()) for text in test.source.text]),
        "text_utf8": utf8,
        "text_offsets": offsets,
    }
    for beam in settings["more_beams"]:
        others = translate([model], data, test.source, **{**search_of(variant), "beam": beam})
        arrays[f"bleu_beam_{beam}"] = counts(data, "test", others)
    if settings["unknown"] and found[0].weights is not None:
        arrays["bleu_replaced"] = counts(data, "test", without_unknown(found, test.source, data))
    if found[0].weights is not None:
        arrays |= _alignments(found, arrays["words"])
    metrics = {name: bleu(arrays[name].sum(axis=0)) for name in ("bleu", "sacrebleu")}
    metrics |= {"chrf": chrf(texts, references), "perplexity": perplexity(arrays["likelihood"].sum(axis=0))}
    return metrics, arrays


def _alignments(found: Sequence[Translation], words: np.ndarray) -> dict[str, np.ndarray]:
    """The alignments of some test sentences, the longest that fit a figure, in the order of the corpus: their rows as
    ``aligned``, what was said, its tokens apart by spaces, as ``aligned_utf8`` and ``aligned_offsets``, and the weights
    of each row (steps, source tokens) as ``alignment_<row>``."""
    rows = np.flatnonzero(words == words[words <= LONGEST_DRAWN].max())[:DRAWN]
    utf8, offsets = pack_strings([" ".join(found[row].tokens) for row in rows])
    arrays = {"aligned": rows, "aligned_utf8": utf8, "aligned_offsets": offsets}
    for row in rows:
        weights = found[row].weights
        assert weights is not None
        arrays[f"alignment_{row}"] = weights
    return arrays


def draw(words: Sequence[str], tokens: Sequence[str], weights: np.ndarray, path: Path, title: str) -> None:
    """The alignment of one translation: a row for each target token, a column for each source token. A morpheme that
    is attached to the one before it begins with a hyphen, as grammars write it: fonts lack the mark of the pipeline."""
    said, read = (
        [token.replace(JOINER, "-") for token in some]
        for some in ([*tokens, "</s>"][: len(weights)], words or ["<unk>"])
    )
    heatmap.attention_matrix(said, read, weights, path, title, axis_labels=("target", "source"))


def translate_lines(unit: Unit, stream: BinaryIO, *, interactive: bool, alignments: Path | None) -> Iterator[str]:
    """Read source sentences, one a line of UTF-8, and yield a translation for each; an empty line for an empty one.

    Args:
        unit: a trained network.
        stream: the lines.
        interactive: answer each line before the next is read; else many are translated at a time.
        alignments: a folder that gets ``alignments.jsonl``, for each line source and target tokens and weights, and a
            heatmap ``line-<n>.png`` of each; None for none.

    Raises:
        UsageError: a line is not UTF-8, or alignments are asked of a network without attention.
    """
    model, variant, data = load(unit)
    if data.corpus == "sample":
        print("*** TRAINED ON THE EMBEDDED SAMPLE: THESE TRANSLATIONS MEAN NOTHING ***", file=sys.stderr)
    numbered = lines(stream)
    while read := list(islice(numbered, 1 if interactive else 2 * TRANSLATED)):
        texts = [text for _, text in read]
        encoded = _shortened(data.prepared.encode(texts, processes=1), [number for number, _ in read])
        found = translate([model], data, encoded, **search_of(variant))
        if variant.settings["unknown"]:
            found = without_unknown(found, encoded, data)
        for row, ((number, text), one) in enumerate(zip(read, found, strict=True)):
            if alignments is not None and text:
                if one.weights is None:
                    raise UsageError(f"variant {unit.variant} has no attention and so no alignments; choose another")
                _write_alignment(number, encoded.words(row), one.tokens, one.weights, alignments)
            yield one.text if text else ""


def _shortened(sentences: Split, numbers: Sequence[int]) -> Split:
    """The sentences without what is behind ``LONGEST`` tokens, said on standard error with the numbers of the lines."""
    assert sentences.tokens is not None and sentences.encoded is not None
    for row in np.flatnonzero(sentences.lengths > LONGEST):
        print(f"line {numbers[row]}: {sentences.lengths[row]} tokens, the first {LONGEST} are read", file=sys.stderr)
    return replace(sentences, tokens=sentences.tokens.truncated(LONGEST), encoded=sentences.encoded.truncated(LONGEST))


def _write_alignment(number: int, words: list[str], tokens: list[str], weights: np.ndarray, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    fact = {"line": number, "source": words, "target": tokens, "weights": weights.tolist()}
    with (folder / "alignments.jsonl").open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps(fact, ensure_ascii=False) + "\n")
    if max(len(words), len(weights)) > heatmap.LONGEST_MATRIX:
        print(f"line {number}: too long for a heatmap; its weights are in alignments.jsonl", file=sys.stderr)
    else:
        draw(words, tokens, weights, folder / f"line-{number}.png", f"line {number}")


def search_of(variant: Variant) -> dict[str, Any]:
    """How a variant's settings say that it searches."""
    return {"beam": variant.settings["beam"], "alpha": variant.settings["alpha"]}


def settings_of(**settings: Any) -> dict[str, Any]:
    """Settings that all scripts share unless they say otherwise."""
    return {
        "tokens": "bpe",
        "operations": 5_000,
        "max_length": 50,
        "beam": 5,
        "alpha": 1.0,
        "more_beams": (),
        "unknown": False,
        **settings,
    }
