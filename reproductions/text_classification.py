"""What the scripts that classify texts share: batches, reading with a trained network, the reading page, prediction."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock
from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

from gluon_attn.batching import length_batches, pad, shuffled_batches
from gluon_attn.errors import UsageError
from gluon_attn.training import Batch, Task
from preprocessing.data import Split
from preprocessing.pipeline import Result
from preprocessing.spelling import Spelling
from preprocessing.vocabulary import PADDING_ID, UNKNOWN_ID
from reproductions import reading_page
from reproductions.experiment import Variant, script
from reproductions.reading_page import Review
from reproductions.runner import Outcome, Unit
from reproductions.trained import load


@dataclass(frozen=True)
class Data:
    """The prepared corpus of one variant; ``packages`` have a part in its numbers besides those that always have."""

    corpus: str
    corpora: dict[str, str]
    prepared: Result

    spelling: Spelling | None = None
    packages: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return self.prepared.digest

    def sequences(self, split: Split) -> list[np.ndarray]:
        """What a network reads of each row: (tokens,) ids, or with their syllables (tokens, 1 + width)."""
        return self.spelling.sequences(split) if self.spelling else split.sequences()


def inputs(variant: Variant, sequences: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """What a variant's network reads: ids, and for all but those of the post the number of tokens.

    An empty review is read as one unknown token.
    """
    limit = variant.settings["max_length"]
    sequences = [ids[:limit] if len(ids) else _unknown(ids) for ids in sequences]
    if variant.settings["model"] == "as written":
        return (pad(sequences, PADDING_ID, multiple=limit),)
    lengths = np.array([len(ids) for ids in sequences], dtype=np.float32)
    return pad(sequences, PADDING_ID, multiple=4), lengths


def _unknown(ids: np.ndarray) -> np.ndarray:
    """One unknown token, without syllables where ids come with them."""
    token = np.full((1, *ids.shape[1:]), PADDING_ID, np.int32)
    token.reshape(-1)[0] = UNKNOWN_ID
    return token


def task(variant: Variant, data: Data) -> Task:
    """Training batches, loss and validation of a variant."""
    train = data.prepared.splits["train"]
    sequences, validation = data.sequences(train), data.sequences(data.prepared.splits["validation"])
    size = variant.recipe.batch_size
    cross_entropy = SoftmaxCrossEntropyLoss()
    cross_entropy.hybridize()

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        if variant.settings["model"] == "as written":
            rows_of = shuffled_batches(len(sequences), size, generator)
        else:
            rows_of = length_batches(train.lengths, size, generator)
        for rows in rows_of:
            chosen = [sequences[row] for row in rows]
            rate = variant.settings.get("token_dropout", 0.0)
            yield Batch(inputs(variant, drop_tokens(chosen, rate, generator)), train.label[rows].astype(np.float32))

    def loss(outputs: tuple[nd.NDArray, ...], target: nd.NDArray) -> nd.NDArray:
        return cross_entropy(outputs[0], target)

    def evaluate(model: HybridBlock) -> dict[str, float]:
        return scores(classify(model, variant, validation), data, "validation")

    return Task(batches, -(-len(sequences) // size), loss, evaluate)


def drop_tokens(sequences: Sequence[np.ndarray], rate: float, generator: np.random.RandomState) -> Sequence[np.ndarray]:
    """Make each token unknown with probability ``rate``, so that unknown words are met in training; where tokens come
    with their syllables, half of those lose these too."""
    if rate == 0:
        return sequences
    dropped = []
    for ids in sequences:
        draw = generator.uniform(size=len(ids))
        dropped.append(ids.copy())
        columns = dropped[-1].reshape(len(ids), -1)
        columns[draw < rate, 0] = UNKNOWN_ID
        columns[draw < rate / 2, 1:] = PADDING_ID
    return dropped


@dataclass(frozen=True)
class Read:
    """What a network makes of some reviews, in their order.

    Attributes:
        probability: (reviews,) of being positive.
        token_weights: for each review (tokens,), the weight of each token, averaged over the review's own queries;
            empty for networks without attention. Where padding is not masked, the rest to 1 went to padding.
        matrices: for each review (tokens, tokens), a row for each query, if asked for.
    """

    probability: np.ndarray
    token_weights: list[np.ndarray]
    matrices: list[np.ndarray]


def classify(model: HybridBlock, variant: Variant, sequences: Sequence[np.ndarray], *, matrices: bool = False) -> Read:
    """Read reviews with a trained network, in batches of like length."""
    limit = variant.settings["max_length"]
    probability = np.zeros(len(sequences))
    weights: list[np.ndarray] = [np.zeros(0, np.float32)] * len(sequences)
    grids: list[np.ndarray] = [np.zeros((0, 0), np.float32)] * len(sequences)
    for rows in length_batches(np.array([len(ids) for ids in sequences]), 500):
        chosen = [sequences[row] for row in rows]
        arrays = (nd.array(array, dtype=array.dtype) for array in inputs(variant, chosen))
        outputs = model(*arrays)
        probability[rows] = nd.softmax(outputs[0]).asnumpy()[:, 1]
        if len(outputs) == 1:
            continue
        for row, ids, weight in zip(rows, chosen, outputs[1].asnumpy(), strict=True):
            tokens = min(len(ids), limit)
            grid = weight[:tokens, :tokens] if weight.ndim == 2 else weight[None, :tokens]
            weights[row] = grid.mean(axis=0) if tokens else grid.sum(axis=0)
            if matrices:
                grids[row] = grid
    return Read(probability, weights, grids)


def scores(read: Read, data: Data, split: str) -> dict[str, float]:
    """Accuracy in per cent and mean cross-entropy in nats."""
    label = data.prepared.splits[split].label
    of_label = np.where(label == 1, read.probability, 1 - read.probability)
    return {
        "accuracy": 100.0 * float(((read.probability > 0.5) == (label == 1)).mean()),
        "loss": float(-np.log(np.maximum(of_label, 1e-12)).mean()),
    }


def write_reading_page(outcome: Outcome, sentence: str, path: Path) -> None:
    """The page on which every test review can be found and read with the weights of one trained network.

    ``sentence`` stands first, with its whole matrix of weights.
    """
    model, variant, data = load(outcome.unit)
    test, arrays = data.prepared.splits["test"], outcome.predictions
    weights = np.split(arrays["token_weights"], np.cumsum(arrays["token_counts"])[:-1])
    probability = arrays["probability"]
    predicted = (probability > 0.5).astype(int)
    first = data.prepared.encode([sentence])
    read = classify(model, variant, data.sequences(first), matrices=True)
    featured = Review(
        id="the post's sentence",
        tokens=first.words(0),
        weights=read.token_weights[0],
        predicted=int(read.probability[0] > 0.5),
        probability=float(max(read.probability[0], 1 - read.probability[0])),
        text=sentence,
        matrix=read.matrices[0],
    )
    reviews = [featured] + [
        Review(
            id=str(test.row_id[row]),
            tokens=test.words(row)[: len(weights[row])],
            weights=weights[row],
            predicted=int(predicted[row]),
            probability=float(probability[row] if predicted[row] else 1 - probability[row]),
            label=int(test.label[row]),
            text=test.text[row],
            in_train=bool(test.seen_in_train[row]),
        )
        for row in range(len(test.label))
    ]
    note = {
        "model": f"{variant.name}: {variant.title}, seed {outcome.unit.seed}",
        "corpus": data.corpus,
        "digest": data.digest,
        "parameters": outcome.facts["parameters_sha256"],
    }
    reading_page.write(path, title=script(outcome.unit.paper).TITLE, reviews=reviews, note=note)


def predict(unit: Unit, stream: BinaryIO, *, weights: bool) -> Iterator[str]:
    """Read reviews, one a line of UTF-8, and yield a line for each: label, probability of positive, and the tokens with
    their weights if asked for. An empty line gives an empty answer, so that answers stay beside their reviews.

    Raises:
        UsageError: a line is not UTF-8, or weights are asked of a network without attention.
    """
    model, variant, data = load(unit)
    if weights and "token_weights" not in Outcome.read(unit).predictions:
        raise UsageError(f"variant {unit.variant} has no attention and so no weights; choose another --variant")
    if data.corpus == "sample":
        print("*** TRAINED ON THE EMBEDDED SAMPLE: THESE ANSWERS MEAN NOTHING ***", file=sys.stderr)
    limit = variant.settings["max_length"]
    for number, line in enumerate(stream, start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise UsageError(
                f"standard input, line {number}: not UTF-8 ({error.reason}); convert the text first"
            ) from None
        if not text:
            yield ""
            continue
        tokens = data.prepared.tokenizer.tokenize(text)
        if len(tokens) > limit:
            print(f"line {number}: {len(tokens)} tokens, the first {limit} are read", file=sys.stderr)
        read = classify(model, variant, data.sequences(data.prepared.encode([text])))
        probability = float(read.probability[0])
        answer = f"{'positive' if probability > 0.5 else 'negative'}\t{probability:.4f}"
        if weights:
            pairs = zip(tokens[:limit], read.token_weights[0], strict=True)
            answer += "\t" + " ".join(f"{token}:{weight:.3f}" for token, weight in pairs)
        yield answer
