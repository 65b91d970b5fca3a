"""What the scripts that translate share: batches, decoding with trained networks, scores, alignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from mxnet import nd

from gluon_attn.batching import length_batches, pad, pair_batches
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.search import beam_search
from gluon_attn.training import Batch, Task
from preprocessing.bitext import Pair
from preprocessing.data import Split
from preprocessing.translation import TranslationResult
from preprocessing.vocabulary import BEGIN_ID, END_ID, PADDING_ID, UNKNOWN, UNKNOWN_ID
from reproductions.bleu import Bleu, bleu
from reproductions.experiment import Variant

# What batches are padded to, source and target: each pair of lengths is a compiled graph with memory of its own.
MULTIPLES = (8, 4)
SENTENCES = 64  # of a batch that is not trained on
PEERS = Bleu(tokenize="none", lowercase=True)


@dataclass(frozen=True)
class Data:
    """The prepared corpus of one variant."""

    corpus: str
    corpora: dict[str, str]
    prepared: TranslationResult

    @property
    def digest(self) -> str:
        return self.prepared.digest


@dataclass(frozen=True, eq=False)
class Translation:
    """One translated sentence.

    Attributes:
        tokens: of the target, as the network said them, unknown ones replaced if asked for.
        text: the same as running text.
        log_p: ln p of the tokens and the end of sentence.
        weights: (steps, source tokens), the end of sentence last; None without attention.
    """

    tokens: list[str]
    text: str
    log_p: float
    weights: np.ndarray | None


def inputs(sources: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Padded ids (rows, length) and lengths (rows,) of source sentences; an empty one is read as one unknown token."""
    sources = [ids if len(ids) else np.array([UNKNOWN_ID], np.int32) for ids in sources]
    return pad(sources, PADDING_ID, MULTIPLES[0]), np.array([len(ids) for ids in sources], np.float32)


def batch(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Batch:
    """What one step reads: the source, its lengths, the target behind its begin and with its end; and, as what the loss
    is divided by, the number of target tokens with the end of each sentence, (1,)."""
    begun = pad([np.append(BEGIN_ID, ids) for ids in targets], PADDING_ID, MULTIPLES[1])
    ended = pad([np.append(ids, END_ID) for ids in targets], PADDING_ID, MULTIPLES[1])
    tokens = np.array([sum(len(ids) + 1 for ids in targets)], np.float32)
    return Batch((*inputs(sources), begun, ended), tokens)


def task(variant: Variant, data: Data) -> Task:
    """Training batches, loss and validation of a variant; kept is the epoch with the best BLEU of greedy search."""
    train, validation = data.prepared.splits["train"], data.prepared.splits["validation"]
    size = variant.recipe.batch_size
    sources, targets = train.source.sequences(), train.target.sequences()

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        for rows in pair_batches(train.source.lengths, train.target.lengths + 1, size, MULTIPLES, generator):
            yield batch([sources[row] for row in rows], [targets[row] for row in rows])

    def loss(outputs: tuple[nd.NDArray, nd.NDArray], tokens: nd.NDArray) -> nd.NDArray:
        return outputs[0].sum() / tokens

    def evaluate(model: EncoderDecoder) -> dict[str, float]:
        found = translate([model], data, validation.source, beam=1)
        counts = PEERS.counts(*evaluated(data, "validation", found))
        return {"bleu": bleu(counts.sum(axis=0)), "perplexity": perplexity(*likelihoods(model, validation))}

    return Task(batches, -(-len(sources) // size), loss, evaluate, select="bleu")


def translate(
    models: Sequence[EncoderDecoder],
    data: Data,
    sentences: Split,
    *,
    beam: int,
    alpha: float = 0.0,
    replace_unknown: bool = False,
) -> list[Translation]:
    """Translate encoded sentences with one network or an ensemble, in batches of like length, in their order.

    Args:
        models: trained networks over the same data.
        data: their data.
        sentences: the source side of a split, or ``data.prepared.encode(...)``.
        beam, alpha: of the search.
        replace_unknown: an unknown token becomes the source word with the largest weight (Luong et al., 2015, sec. 4.1,
            without their dictionary); needs attention.
    """
    sequences = sentences.sequences()
    found: list[Translation | None] = [None] * len(sequences)
    for rows in length_batches(sentences.lengths, SENTENCES):
        source, lengths = inputs([sequences[row] for row in rows])
        beams = beam_search(
            models,
            source,
            lengths,
            beam=beam,
            alpha=alpha,
            max_steps=2 * source.shape[1] + 10,
            begin=BEGIN_ID,
            end=END_ID,
        )
        for row, length, hypotheses in zip(rows, lengths, beams, strict=True):
            best = hypotheses[0]
            weights = None if best.weights is None else best.weights[:, : int(length)]
            tokens = [data.prepared.target_vocabulary.idx_to_token[index] for index in best.ids]
            if replace_unknown and weights is not None:
                words = sentences.words(row)
                tokens = [
                    words[int(looked.argmax())] if token == UNKNOWN and words else token
                    for token, looked in zip(tokens, weights, strict=False)
                ]
            found[row] = Translation(tokens, data.prepared.detokenize(tokens), best.log_p, weights)
    return [one for one in found if one is not None]


def likelihoods(model: EncoderDecoder, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """-ln p of each target sentence (rows,) in nats, and its number of tokens with the end of sentence (rows,)."""
    sources, targets = pair.source.sequences(), pair.target.sequences()
    nats = np.zeros(len(sources))
    for rows in length_batches(pair.target.lengths, SENTENCES):
        read = batch([sources[row] for row in rows], [targets[row] for row in rows])
        nats[rows] = model(*(nd.array(array, dtype=array.dtype) for array in read.inputs))[1].asnumpy().sum(axis=1)
    return nats, pair.target.lengths + 1


def perplexity(nats: np.ndarray, tokens: np.ndarray) -> float:
    """exp of the mean -ln p of a token, every token of the corpus with the same weight."""
    return float(np.exp(nats.sum() / tokens.sum()))


def evaluated(data: Data, split: str, found: Sequence[Translation]) -> tuple[list[str], list[str]]:
    """Translations and references of a split as lower-cased words, as the peers' BLEU is counted."""
    return data.prepared.evaluation_tokens([one.text for one in found]), data.prepared.reference_tokens(split)
