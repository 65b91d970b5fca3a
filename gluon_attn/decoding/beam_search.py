"""Beam search over encoder-decoders, many sentences at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.typing import Tensors

# Sentences are rounded up to whole multiples of this: every new shape is a graph to be built.
_SENTENCES = 8


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A translation found by search.

    Attributes:
        ids: its tokens, without begin and end of sentence.
        score: what the search has ranked by: ``log_p`` divided by the length penalty.
        log_p: ln p of all its tokens, the end of sentence included where it was said.
        weights: (steps, memory_length) weights of each token and of the end of sentence, of an ensemble those of its
            first model; None without attention.
    """

    ids: tuple[int, ...]
    score: float
    log_p: float
    weights: np.ndarray | None


def length_penalty(length: int, alpha: float, k: float = 5.0) -> float:
    """((k + length) / (k + 1)) ** alpha (Wu et al., 2016, eq. 14): 1 for alpha 0, which prefers short translations."""
    return float(((k + length) / (k + 1.0)) ** alpha)


def beam_search(
    models: Sequence[EncoderDecoder],
    source: np.ndarray,
    source_length: np.ndarray,
    *,
    beam: int,
    alpha: float,
    max_steps: int | np.ndarray,
    begin: int,
    end: int,
) -> list[list[Hypothesis]]:
    """Find likely translations.

    What it finds is what GluonNLP's ``BeamSearchSampler`` finds: a finished translation holds its place in the beam as
    long as its score is among the best. A sentence leaves the batch when all its translations are finished. Until then
    its beam stays whole, so that all of it looks at one memory by one product. A beam of 1 is greedy search.

    Args:
        models: several are an ensemble, whose probabilities are averaged at each token.
        source: (sentences, length) of int32, padded.
        source_length: (sentences,).
        beam: number of translations kept for each sentence, at most the size of the vocabulary.
        alpha: of the length penalty.
        max_steps: where a translation is cut off that has not ended by itself; one number, or (sentences,).
        begin, end: ids of begin and end of sentence.

    Returns:
        For each sentence up to ``beam`` translations, the best first.

    Raises:
        UsageError: a beam wider than the vocabulary.
    """
    if not len(source):
        return []
    read = [model.start(nd.array(source, dtype="int32"), nd.array(source_length, dtype="float32")) for model in models]
    memories, states = [memory for memory, _ in read], [state for _, state in read]
    limits = np.broadcast_to(max_steps, len(source))
    beams = _Beams(limits, beam, alpha, end)
    tokens = np.full((len(source), 1), begin, np.int32)
    held = np.arange(len(source))  # the sentences whose memory is there
    for _ in range(limits.max()):
        if not np.array_equal(held, wanted := _rounded(beams.unfinished)):
            place = np.searchsorted(held, wanted)
            memories, held = [_take(memory, place) for memory in memories], wanted
        taken = _rounded(beams.parents).ravel()
        if not np.array_equal(taken, np.arange(len(states[0][0]))):
            states = [_take(state, taken) for state in states]
        last = nd.array(_rounded(tokens).ravel(), dtype="int32")
        said = [model.step(last, memory, state) for model, memory, state in zip(models, memories, states, strict=True)]
        states = [state for _, _, state in said]
        log_p = _averaged([one for one, _, _ in said])
        if beam > log_p.shape[1]:
            raise UsageError(f"a beam of {beam} is wider than the vocabulary of {log_p.shape[1]} tokens; choose less")
        best, ids = _likeliest(log_p.asnumpy(), beam)
        weights = said[0][1]
        tokens = beams.extend(best, ids, None if weights is None else weights.asnumpy())
        if not len(tokens):
            break
    return [beams.hypotheses(sentence) for sentence in range(beams.sentences)]


class _Beams:
    """The beams of all sentences: what was said, from which place each translation came, which are finished.

    A step of the network has a row for each place in the beam of each unfinished sentence, and at first one for each
    sentence.

    Attributes:
        sentences: how many there are.
        unfinished: (left,) those sentences of which a translation can still grow.
        parents: (left, width) the row of the step before that each row continues; where nothing grows, any.
    """

    def __init__(self, max_steps: np.ndarray, beam: int, alpha: float, end: int) -> None:
        sentences = len(max_steps)
        self.sentences, self._beam, self._alpha, self._end, self._max_steps = sentences, beam, alpha, end, max_steps
        self.unfinished, self.parents = np.arange(sentences), np.arange(sentences)[:, None]
        self._log_p = np.full((sentences, beam), -np.inf)
        self._log_p[:, 0] = 0.0
        self._grows = np.isfinite(self._log_p)
        self._score = np.full((sentences, beam), -np.inf)
        self._finished = np.full((sentences, beam), -np.inf)  # the score of a finished translation
        self._steps: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]] = []

    def extend(self, best: np.ndarray, ids: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Choose the best of all continuations and of what is finished.

        Args:
            best, ids: (rows, beam) ln p of the likeliest next tokens, and which they are; rows behind those of the
                unfinished sentences are not read.
            weights: (rows, memory_length) of the step.

        Returns:
            (left, beam) of int32, the last token of each translation; where nothing grows, any token.
        """
        n, k = self.sentences, self._beam
        left, width = self.parents.shape
        row = np.zeros((n, k), np.int64)
        row[self.unfinished, :width] = np.arange(left * width).reshape(left, width)
        log_p = np.full((n, k, k), -np.inf)
        token = np.full((n, k, k), -1, np.int32)
        log_p[self.unfinished, :width] = best[: left * width].reshape(left, width, k)
        token[self.unfinished, :width] = ids[: left * width].reshape(left, width, k)
        log_p = np.where(self._grows[:, :, None], self._log_p[:, :, None] + log_p, -np.inf)
        penalty = length_penalty(len(self._steps) + 1, self._alpha)
        scores = np.concatenate([log_p.reshape(n, -1) / penalty, self._finished], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        stays = order >= k * k
        place = np.where(stays, order - k * k, order // k)
        self._score = np.take_along_axis(scores, order, axis=1)
        self._log_p = np.where(
            stays,
            np.take_along_axis(self._log_p, place, axis=1),
            np.take_along_axis(log_p.reshape(n, -1), np.minimum(order, k * k - 1), axis=1),
        )
        said = np.take_along_axis(token.reshape(n, -1), np.minimum(order, k * k - 1), axis=1)
        said = np.where(stays, -1, said)
        from_row = np.take_along_axis(row, place, axis=1)
        self._steps.append((place, said, from_row, weights))
        self._grows = np.isfinite(self._score) & ~stays & (said != self._end)
        self._grows &= (len(self._steps) < self._max_steps)[:, None]
        self._finished = np.where(self._grows, -np.inf, self._score)
        self.unfinished = np.flatnonzero(self._grows.any(axis=1))
        self.parents = from_row[self.unfinished]
        return np.where(self._grows, said, self._end)[self.unfinished]

    def hypotheses(self, sentence: int) -> list[Hypothesis]:
        """The translations of a sentence, the best first."""
        return [
            self._trace(sentence, place) for place in range(self._beam) if np.isfinite(self._score[sentence, place])
        ]

    def _trace(self, sentence: int, place: int) -> Hypothesis:
        score, log_p = float(self._score[sentence, place]), float(self._log_p[sentence, place])
        ids, looked = [], []
        for places, said, from_row, weights in reversed(self._steps):
            if said[sentence, place] >= 0:
                ids.append(int(said[sentence, place]))
                if weights is not None:
                    looked.append(weights[from_row[sentence, place]])
            place = int(places[sentence, place])
        ids.reverse()
        if ids and ids[-1] == self._end:
            ids.pop()
        return Hypothesis(tuple(ids), score, log_p, np.stack(looked[::-1]) if looked else None)


def _averaged(log_ps: Sequence[nd.NDArray]) -> nd.NDArray:
    """ln of the mean probability; the largest is taken out, so that none vanishes."""
    if len(log_ps) == 1:
        return log_ps[0]
    largest = log_ps[0]
    for log_p in log_ps[1:]:
        largest = nd.maximum(largest, log_p)
    return largest + nd.log(sum(nd.exp(log_p - largest) for log_p in log_ps) / len(log_ps))


def _likeliest(log_p: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The highest of each row and where they stand, (rows, count) each, the highest first, of equals the first.

    One maximum after the other: NumPy finds them all in a fifth of the time of ``topk``. Overwrites the array.
    """
    rows = np.arange(len(log_p))
    best, ids = np.empty((len(log_p), count), log_p.dtype), np.empty((len(log_p), count), np.int32)
    for place in range(count):
        ids[:, place] = log_p.argmax(axis=1)
        best[:, place] = log_p[rows, ids[:, place]]
        log_p[rows, ids[:, place]] = -np.inf
    return best, ids


def _rounded(sentences: np.ndarray) -> np.ndarray:
    """What stands for each sentence, with the last repeated behind, up to a whole multiple; but one alone stays so."""
    missing = -len(sentences) % _SENTENCES if len(sentences) > 1 else 0
    return np.concatenate([sentences, np.repeat(sentences[-1:], missing, axis=0)])


def _take(arrays: Tensors, rows: np.ndarray) -> Tensors:
    index = nd.array(rows, dtype="int32")
    return tuple(nd.take(array, index, axis=0) for array in arrays)
