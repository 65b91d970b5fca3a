"""What the scripts that classify texts share: data, training task, reading with a trained network, prediction.

A text is what a network reads of one row of a split: ids (tokens,); ids with the syllables of each token (tokens, 1 +
width); or, of a document, a list of the ids of its sentences.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock
from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

from gluon_attn.errors import UsageError
from gluon_attn.layers.embeddings import SpelledEmbedding
from gluon_attn.models.outputs import Classifier, ClassifierOutput
from gluon_attn.training.batching import length_batches, pad, pad_documents, shuffled_batches
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective
from preprocessing import documents, naver, sentences
from preprocessing.corpora import locate
from preprocessing.text.data import Split
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.syllables import Spelling
from preprocessing.text.vocabulary import PADDING_ID, UNKNOWN_ID
from reproductions.protocol.experiment import Preset, Variant
from reproductions.protocol.runs import Outcome, Unit, load
from reproductions.tasks.lines import lines
from reproductions.tasks.word_vectors import WordVectors

Text = Any  # an array, or a list of arrays


@dataclass(frozen=True)
class Data:
    """The prepared corpus of one variant.

    Attributes:
        corpus, corpora: its name, and the SHA-256 of each file.
        prepared: what its pipeline gives.
        labels: their names.
        by_sentence: whether texts are documents, read sentence by sentence.
        spelling: the syllables of tokens, where a network reads these too.
        packages: have a part in the numbers besides those that always have.
    """

    corpus: str
    corpora: dict[str, str]
    prepared: Result
    labels: tuple[str, ...] = ("negative", "positive")
    by_sentence: bool = False
    spelling: Spelling | None = None
    packages: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return self.prepared.digest

    def texts(self, split: Split) -> Sequence[Text]:
        """What a network reads of each row."""
        if self.by_sentence:
            rows = zip(split.sequences(), (split.sentence_ranges(row) for row in range(len(split))), strict=True)
            return [[ids[start:stop] for start, stop in ranges] for ids, ranges in rows]
        return self.spelling.sequences(split) if self.spelling else split.sequences()


def prepare(preset: Preset, variant: Variant) -> Data:
    """Read and preprocess the corpus of a variant, that of the preset if it names none; on the embedded sample the part
    that stands for it."""
    settings = variant.settings
    corpus = settings.get("corpus", preset.corpus)
    prepared = _pipeline(corpus, settings).run(locate.find("sample" if preset.corpus == "sample" else corpus))
    spelling = None
    if "syllables_of_a_token" in settings:
        width, min_freq = settings["syllables_of_a_token"], settings["syllable_min_freq"]
        spelling = Spelling.learn(prepared.train, width=width, min_freq=min_freq)
    return Data(
        prepared.card["corpus"]["name"],
        prepared.corpora,
        prepared,
        labels=sentences.labels_of(corpus),
        by_sentence=settings["model"] == "hierarchical",
        spelling=spelling,
    )


def _pipeline(corpus: str, settings: Mapping[str, Any]) -> TextPipeline:
    if corpus in sentences.LABELS:
        return sentences.pipeline(classes=len(sentences.LABELS[corpus]), min_freq=settings["min_freq"])
    if corpus == "imdb":
        names = ("min_freq", "max_sentences", "max_words", "overlong")
        return documents.pipeline(**{name: settings[name] for name in names if name in settings})
    return naver.pipeline(**{name: settings[name] for name in ("tokenizer", "min_freq", "max_length")})


def embedding(settings: Mapping[str, Any], data: Data) -> HybridBlock | None:
    """What gives the vectors of tokens with their syllables; None where a token has a vector of its own and no more."""
    if data.spelling is None:
        return None
    return SpelledEmbedding(
        vocabulary_size=len(data.prepared.vocabulary),
        units=settings["embedding_units"],
        syllables=len(data.spelling.syllables),
        syllable_units=settings["syllable_units"],
        width=data.spelling.width,
    )


def begin_with(model: HybridBlock, variant: Variant, data: Data, vectors: WordVectors) -> None:
    """Let the tokens of an initialized network begin with trained vectors; those that have none stay as drawn.

    Raises:
        UsageError: the vectors are of other tokens, or of another width than the network's.
    """
    table: Any = model.embedding.token if data.spelling else model.embedding
    rows, found = vectors.rows_for(data.prepared.vocabulary.idx_to_token, data.prepared.tokenizer.name)
    drawn = table.weight.data().asnumpy()
    if rows.shape != drawn.shape:
        raise UsageError(
            f"variant {variant.name}: embeddings of {drawn.shape[1]} units cannot begin with vectors of "
            f"{rows.shape[1]}; make them equal"
        )
    table.weight.set_data(nd.array(np.where(found[:, None], rows, drawn)))


def inputs(variant: Variant, texts: Sequence[Text]) -> tuple[np.ndarray, ...]:
    """What a variant's network reads: ids, and for all but those of the post the number of tokens; of documents ids,
    the number of sentences, and the number of words of each.

    A text without tokens is read as one unknown token.
    """
    if variant.settings["model"] == "hierarchical":
        return pad_documents([text or [_unknown(np.empty(0, np.int32))] for text in texts], PADDING_ID)
    limit = variant.settings["max_length"]
    texts = [ids[:limit] if len(ids) else _unknown(ids) for ids in texts]
    if variant.settings["model"] == "as written":
        return (pad(texts, PADDING_ID, multiple=limit),)
    lengths = np.array([len(ids) for ids in texts], dtype=np.float32)
    return pad(texts, PADDING_ID, multiple=4), lengths


def _unknown(ids: np.ndarray) -> np.ndarray:
    """One unknown token, without syllables where ids come with them."""
    token = np.full((1, *ids.shape[1:]), PADDING_ID, np.int32)
    token.reshape(-1)[0] = UNKNOWN_ID
    return token


def task(variant: Variant, data: Data) -> Objective:
    """Training batches, loss and validation of a variant. ``penalty`` in its settings is the coefficient of the penalty
    that the network returns."""
    label = data.prepared.splits["train"].label
    texts, validation = (data.texts(data.prepared.splits[name]) for name in ("train", "validation"))
    lengths = np.array([len(text) for text in texts])
    size, penalty = variant.recipe.batch_size, variant.settings.get("penalty", 0.0)
    cross_entropy = SoftmaxCrossEntropyLoss()
    cross_entropy.hybridize()

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        if variant.settings["model"] == "as written":
            rows_of = shuffled_batches(len(texts), size, generator)
        else:
            rows_of = length_batches(lengths, size, generator)
        for rows in rows_of:
            chosen = [texts[row] for row in rows]
            rate = variant.settings.get("token_dropout", 0.0)
            yield Batch(inputs(variant, drop_tokens(chosen, rate, generator)), label[rows].astype(np.float32))

    def loss(output: ClassifierOutput, target: nd.NDArray) -> nd.NDArray:
        losses = cross_entropy(output.logits, target)
        return losses + penalty * output.penalty if penalty else losses

    def evaluate(model: Classifier) -> dict[str, float]:
        return scores(classify(model, variant, validation), data, "validation")

    return Objective(batches, -(-len(texts) // size), loss, evaluate)


def drop_tokens(texts: Sequence[Text], rate: float, generator: np.random.RandomState) -> Sequence[Text]:
    """Make each token unknown with probability ``rate``, so that unknown words are met in training; where tokens come
    with their syllables, half of those lose these too."""
    if rate == 0:
        return texts
    dropped: list[Text] = []
    for ids in texts:
        if isinstance(ids, list):
            dropped.append(list(drop_tokens(ids, rate, generator)))
            continue
        draw = generator.uniform(size=len(ids))
        kept = ids.copy()
        columns = kept.reshape(len(ids), -1)
        columns[draw < rate, 0] = UNKNOWN_ID
        columns[draw < rate / 2, 1:] = PADDING_ID
        dropped.append(kept)
    return dropped


@dataclass(frozen=True)
class Read:
    """What a network makes of some texts, in their order.

    Attributes:
        probabilities: (texts, classes).
        token_weights: for each text (tokens,), the weight of each token, averaged over the text's own queries; of a
            document the weight of a word in its sentence times that of the sentence. Empty for networks without
            attention. Where padding is not masked, the rest to 1 went to padding.
        sentence_weights: for each document (sentences,).
        matrices: for each text (queries, tokens), if asked for.
    """

    probabilities: np.ndarray
    token_weights: list[np.ndarray]
    sentence_weights: list[np.ndarray]
    matrices: list[np.ndarray]

    @property
    def probability(self) -> np.ndarray:
        """(texts,) of being positive, where there are two classes."""
        return self.probabilities[:, 1]

    @property
    def predicted(self) -> np.ndarray:
        """(texts,) the likeliest class."""
        return self.probabilities.argmax(axis=1)


def classify(model: Classifier, variant: Variant, texts: Sequence[Text], *, matrices: bool = False) -> Read:
    """Read texts with a trained network, in batches of like length."""
    documents = any(isinstance(text, list) for text in texts)
    limit = variant.settings.get("max_length")
    weights = [_NO_WEIGHTS] * len(texts)
    probabilities = []
    for rows in length_batches(np.array([len(text) for text in texts]), 100 if documents else 500):
        chosen = [texts[row] for row in rows]
        output = model(*(nd.array(array, dtype=array.dtype) for array in inputs(variant, chosen)))
        probabilities.append((rows, nd.softmax(output.logits).asnumpy()))
        for row, collected in zip(rows, _weights(output, chosen, limit), strict=True):
            weights[row] = collected if matrices else collected._replace(matrix=_NO_WEIGHTS.matrix)
    of_texts = np.zeros((len(texts), probabilities[0][1].shape[1] if len(texts) else 2))
    for rows, of_rows in probabilities:
        of_texts[rows] = of_rows
    return Read(
        of_texts, [one.tokens for one in weights], [one.sentences for one in weights], [one.matrix for one in weights]
    )


class _Weights(NamedTuple):
    """The weights of one text, without padding, as :class:`Read` has them."""

    tokens: np.ndarray
    sentences: np.ndarray
    matrix: np.ndarray


_NOTHING = np.zeros(0, np.float32)
_NO_WEIGHTS = _Weights(_NOTHING, _NOTHING, np.zeros((0, 0), np.float32))


def _weights(output: ClassifierOutput, texts: Sequence[Text], limit: int | None) -> list[_Weights]:
    """The weights of each text of a batch, whichever kind the network returns.

    Args:
        output: what the network returned for the batch.
        texts: the texts of the batch.
        limit: the number of tokens of a text that were read at most.
    """
    arrays = {name: value.asnumpy() for name, value in output._asdict().items() if value is not None}
    collected = []
    for row, text in enumerate(texts):
        tokens = min(len(text), limit or len(text))
        if "word_weights" in arrays:
            sentences = arrays["sentence_weights"][row, : len(text)]
            words = zip(sentences, arrays["word_weights"][row, : len(text)], text, strict=True)
            in_document = [_NOTHING, *(weight * of_words[: len(ids)] for weight, of_words, ids in words)]
            collected.append(_Weights(np.concatenate(in_document), sentences, _NO_WEIGHTS.matrix))
            continue
        if "matrix" in arrays:
            matrix = arrays["matrix"][row, :tokens, :tokens]
        elif "hops" in arrays:
            matrix = arrays["hops"][row, :, :tokens]
        elif "weights" in arrays:
            matrix = arrays["weights"][row, None, :tokens]
        else:
            collected.append(_NO_WEIGHTS)
            continue
        collected.append(_Weights(matrix.mean(axis=0) if tokens else _NOTHING, _NOTHING, matrix))
    return collected


def scores(read: Read, data: Data, split: str) -> dict[str, float]:
    """Accuracy in per cent and mean cross-entropy in nats."""
    label = data.prepared.splits[split].label
    of_label = read.probabilities[np.arange(len(label)), label]
    return {
        "accuracy": 100.0 * float((read.predicted == label).mean()),
        "loss": float(-np.log(np.maximum(of_label, 1e-12)).mean()),
    }


def evaluate(
    model: Classifier, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Read the test split once, with the parameters of the best epoch.

    Returns:
        Metrics of the test split, and arrays: ``right`` (texts,); ``probability`` (texts,) of being positive, or with
        more classes (texts, classes); ``token_weights`` of all texts on end and ``token_counts`` (texts,) for networks
        with attention, and of documents ``sentence_weights`` and ``sentence_counts``.
    """
    test = data.prepared.splits["test"]
    read = classify(model, variant, data.texts(test))
    arrays = {
        "probability": read.probability if len(data.labels) == 2 else read.probabilities,
        "right": read.predicted == test.label,
    }
    for name, weights in (("token", read.token_weights), ("sentence", read.sentence_weights)):
        if any(len(one) for one in weights):
            arrays[f"{name}_weights"] = np.concatenate(weights).astype(np.float32)
            arrays[f"{name}_counts"] = np.array([len(one) for one in weights])
    return scores(read, data, "test"), arrays


def predict(unit: Unit, stream: BinaryIO, *, weights: bool) -> Iterator[str]:
    """Read texts, one a line of UTF-8, and yield a line for each: label, its probability, and the tokens with their
    weights if asked for. An empty line gives an empty answer, so that answers stay beside their texts.

    Raises:
        UsageError: a line is not UTF-8, or weights are asked of a network without attention.
    """
    model, variant, data = load(unit)
    if weights and "token_weights" not in Outcome.read(unit).predictions:
        raise UsageError(f"variant {unit.variant} has no attention and so no weights; choose another --variant")
    if data.corpus == "sample":
        print("*** TRAINED ON THE EMBEDDED SAMPLE: THESE ANSWERS MEAN NOTHING ***", file=sys.stderr)
    limit = None if data.by_sentence else variant.settings["max_length"]
    for number, text in lines(stream):
        if not text:
            yield ""
            continue
        encoded = data.prepared.encode([text])
        if limit and (tokens := len(data.prepared.tokenizer.tokenize(text))) > limit:
            print(f"line {number}: {tokens} tokens, the first {limit} are read", file=sys.stderr)
        read = classify(model, variant, data.texts(encoded))
        label = int(read.predicted[0])
        answer = f"{data.labels[label]}\t{read.probabilities[0, label]:.4f}"
        if weights:
            pairs = zip(encoded.words(0)[:limit], read.token_weights[0], strict=True)
            answer += "\t" + " ".join(f"{token}:{weight:.3f}" for token, weight in pairs)
        yield answer
