"""Beam search over encoder-decoders, in batches of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.typing import Tensors

# The number of sentences in a batch is rounded up to a multiple of this, since every new shape needs a new graph.
SENTENCE_MULTIPLE = 8


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A translation found by search.

    Attributes:
        ids: its tokens, without begin and end of sentence.
        score: ``log_p`` divided by the length penalty, by which the search ranks.
        log_p: ln p of all its tokens, including the end of sentence if it was generated.
        weights: (steps, memory_length), attention weights of each token and of the end of sentence; those of the first
            model of an ensemble; None without attention.
    """

    ids: tuple[int, ...]
    score: float
    log_p: float
    weights: np.ndarray | None


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / (5 + 1)) ** alpha (Wu et al., 2016, eq. 14): 1 for alpha 0, which prefers short translations."""
    return float(((5.0 + length) / 6.0) ** alpha)


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
    excluded: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    """Translate sentences by beam search.

    The results are those of GluonNLP's ``BeamSearchSampler``: a finished hypothesis stays in the beam as long as its
    score is among the best. A sentence leaves the batch when all of its hypotheses are finished. Until then its whole
    beam is computed, so that one product computes the attention of all hypotheses over their common memory. A beam of 1
    is greedy search.

    Args:
        models: one model, or an ensemble, whose probabilities are averaged for each token.
        source: (sentences, length) of int32, padded; floats for a network whose source has no tokens.
        source_length: (sentences,).
        beam: number of hypotheses per sentence, from 1 to the size of the vocabulary.
        alpha: exponent of the length penalty.
        max_steps: maximum number of tokens of a translation, 1 or more; one number, or (sentences,).
        begin, end: ids of begin and end of sentence.
        excluded: ids that are never generated, for example that of the unknown word.

    Returns:
        For each sentence, up to ``beam`` hypotheses, the best first.

    Raises:
        UsageError: if the beam is empty or wider than the vocabulary.
    """
    if beam < 1:
        raise UsageError(f"beam must be 1 or more, not {beam}")
    if not len(source):
        return []
    kind = "float32" if np.issubdtype(source.dtype, np.floating) else "int32"
    starts = [model.start(nd.array(source, dtype=kind), nd.array(source_length, dtype="float32")) for model in models]
    memories, states = [memory for memory, _ in starts], [state for _, state in starts]
    limits = np.broadcast_to(max_steps, len(source))
    beams = _Beams(limits, beam, alpha, end)
    tokens = np.full((len(source), 1), begin, np.int32)
    in_batch = np.arange(len(source))  # the sentences whose memories are in the batch
    for _ in range(limits.max()):
        unfinished = _rounded_up(beams.unfinished)
        if not np.array_equal(in_batch, unfinished):
            memories = [_take(memory, np.searchsorted(in_batch, unfinished)) for memory in memories]
            in_batch = unfinished
        parents = _rounded_up(beams.parents).ravel()
        if not np.array_equal(parents, np.arange(len(states[0][0]))):
            states = [_take(state, parents) for state in states]
        last = nd.array(_rounded_up(tokens).ravel(), dtype="int32")
        steps = [model.step(last, memory, state) for model, memory, state in zip(models, memories, states, strict=True)]
        states = [state for _, _, state in steps]
        log_p = _log_of_mean([one for one, _, _ in steps])
        if beam > log_p.shape[1]:
            raise UsageError(f"a beam of {beam} is wider than the vocabulary of {log_p.shape[1]} tokens; choose less")
        scores = log_p.asnumpy()
        scores[:, list(excluded)] = -np.inf
        best, best_ids = _likeliest(scores, beam)
        if np.isnan(best).any():
            raise UsageError("the network's probabilities are not numbers; train it again with a lower learning rate")
        weights = steps[0][1]
        tokens = beams.extend(best, best_ids, None if weights is None else weights.asnumpy())
        if not len(tokens):
            break
    return beams.hypotheses()


@dataclass(frozen=True)
class _Step:
    """The choices of one step for each position in each beam.

    Attributes:
        origin: (sentences, beam), the position in the beam of the previous step.
        token: (sentences, beam), the added token; -1 for a hypothesis that was already finished.
        row: (sentences, beam), the row of ``weights``.
        weights: (rows, memory_length), attention weights of the step.
    """

    origin: np.ndarray
    token: np.ndarray
    row: np.ndarray
    weights: np.ndarray | None


class _Beams:
    """The beams of all sentences: tokens, origin and score of each hypothesis, and whether it is finished.

    A step of the network has a row for each position in the beam of each unfinished sentence; the first step has one
    row for each sentence.

    Attributes:
        sentences: number of sentences.
        unfinished: (unfinished,), the sentences with hypotheses that can still grow.
        parents: (unfinished, width), the row of the previous step that each row continues; arbitrary for finished ones.
    """

    def __init__(self, max_steps: np.ndarray, beam: int, alpha: float, end: int) -> None:
        sentences = len(max_steps)
        self.sentences, self._beam, self._alpha, self._end, self._max_steps = sentences, beam, alpha, end, max_steps
        self.unfinished, self.parents = np.arange(sentences), np.arange(sentences)[:, None]
        self._log_p = np.full((sentences, beam), -np.inf)
        self._log_p[:, 0] = 0.0
        self._grows = np.isfinite(self._log_p)
        self._score = np.full((sentences, beam), -np.inf)
        self._steps: list[_Step] = []

    def extend(self, best: np.ndarray, ids: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Select the best among all continuations and the finished hypotheses.

        Args:
            best, ids: (rows, beam), ln p and ids of the most probable next tokens; rows after those of the unfinished
                sentences are padding.
            weights: (rows, memory_length), attention weights of the step.

        Returns:
            (unfinished, beam) of int32, the last token of each hypothesis; arbitrary for finished ones.
        """
        log_p, token, row = self._candidates(best, ids)
        origin, token, finished = self._select(log_p, token)
        self._record(_Step(origin, token, np.take_along_axis(row, origin, axis=1), weights), finished)
        return np.where(self._grows, token, self._end)[self.unfinished]

    def _candidates(self, best: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the continuations of each hypothesis: their ln p and last token (sentences, beam, beam), and the row
        of the step (sentences, beam)."""
        beam, (unfinished, width) = self._beam, self.parents.shape
        rows = unfinished * width
        row = np.zeros((self.sentences, beam), np.int64)
        row[self.unfinished, :width] = np.arange(rows).reshape(unfinished, width)
        log_p = np.full((self.sentences, beam, beam), -np.inf)
        log_p[self.unfinished, :width] = best[:rows].reshape(unfinished, width, beam)
        log_p = np.where(self._grows[:, :, None], self._log_p[:, :, None] + log_p, -np.inf)
        token = np.full((self.sentences, beam, beam), -1, np.int32)
        token[self.unfinished, :width] = ids[:rows].reshape(unfinished, width, beam)
        return log_p, token, row

    def _select(self, log_p: np.ndarray, token: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Select the best of the continuations and of the finished hypotheses by score.

        Sets score and ln p of the new beam. Returns, each (sentences, beam), the position in the old beam that each
        hypothesis comes from, its new token, -1 if it was already finished, and whether it was.
        """
        beam, continuations = self._beam, self._beam**2
        log_p, token = log_p.reshape(self.sentences, continuations), token.reshape(self.sentences, continuations)
        penalty = length_penalty(len(self._steps) + 1, self._alpha)
        of_finished = np.where(self._grows, -np.inf, self._score)
        scores = np.concatenate([log_p / penalty, of_finished], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :beam]
        finished = order >= continuations
        origin = np.where(finished, order - continuations, order // beam)
        continuation = np.minimum(order, continuations - 1)
        self._score = np.take_along_axis(scores, order, axis=1)
        self._log_p = np.where(
            finished,
            np.take_along_axis(self._log_p, origin, axis=1),
            np.take_along_axis(log_p, continuation, axis=1),
        )
        return origin, np.where(finished, -1, np.take_along_axis(token, continuation, axis=1)), finished

    def _record(self, step: _Step, finished: np.ndarray) -> None:
        """Append the step and determine the hypotheses that can still grow: without end and within their limit."""
        self._steps.append(step)
        self._grows = np.isfinite(self._score) & ~finished & (step.token != self._end)
        self._grows &= (len(self._steps) < self._max_steps)[:, None]
        self.unfinished = np.flatnonzero(self._grows.any(axis=1))
        self.parents = step.row[self.unfinished]

    def hypotheses(self) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, the best first; none without a step."""
        by_sentence: list[list[Hypothesis]] = [[] for _ in range(self.sentences)]
        if not self._steps:
            return by_sentence
        tokens, weights = self._traced()
        lengths = (tokens >= 0).sum(axis=2)
        for sentence, position in np.argwhere(np.isfinite(self._score)):
            length = lengths[sentence, position]
            ids = tokens[sentence, position, :length].tolist()
            if ids and ids[-1] == self._end:
                ids.pop()
            own = None if weights is None or not length else weights[sentence, position, :length].copy()
            score, log_p = float(self._score[sentence, position]), float(self._log_p[sentence, position])
            by_sentence[sentence].append(Hypothesis(tuple(ids), score, log_p, own))
        return by_sentence

    def _traced(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Trace all hypotheses back from the last step to the first.

        Returns:
            tokens (sentences, beam, steps), -1 after the end of a sentence; weights (sentences, beam, steps,
            memory_length), arbitrary after it, or None without attention.
        """
        position = np.broadcast_to(np.arange(self._beam), (self.sentences, self._beam))
        tokens, weights = [], []
        for step in reversed(self._steps):
            tokens.append(np.take_along_axis(step.token, position, axis=1))
            if step.weights is not None:
                weights.append(step.weights[np.take_along_axis(step.row, position, axis=1)])
            position = np.take_along_axis(step.origin, position, axis=1)
        return np.stack(tokens[::-1], axis=2), np.stack(weights[::-1], axis=2) if weights else None


def _log_of_mean(log_ps: Sequence[nd.NDArray]) -> nd.NDArray:
    """Return ln of the mean probability of an ensemble, computed relative to the largest to avoid underflow."""
    if len(log_ps) == 1:
        return log_ps[0]
    largest = log_ps[0]
    for log_p in log_ps[1:]:
        largest = nd.maximum(largest, log_p)
    return largest + nd.log(sum(nd.exp(log_p - largest) for log_p in log_ps) / len(log_ps))


def _likeliest(log_p: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the highest values of each row and their columns, (rows, count) each, in descending order; of equal values
    the first.

    NumPy computes one maximum after the other in a fifth of the time of ``topk``. Overwrites the array.
    """
    rows = np.arange(len(log_p))
    best, ids = np.empty((len(log_p), count), log_p.dtype), np.empty((len(log_p), count), np.int32)
    for rank in range(count):
        ids[:, rank] = log_p.argmax(axis=1)
        best[:, rank] = log_p[rows, ids[:, rank]]
        log_p[rows, ids[:, rank]] = -np.inf
    return best, ids


def _rounded_up(sentences: np.ndarray) -> np.ndarray:
    """Repeat the last entry of an array over sentences up to a multiple of ``SENTENCE_MULTIPLE``. A single sentence
    stays single."""
    missing = -len(sentences) % SENTENCE_MULTIPLE if len(sentences) > 1 else 0
    return np.concatenate([sentences, np.repeat(sentences[-1:], missing, axis=0)])


def _take(arrays: Tensors, rows: np.ndarray) -> Tensors:
    index = nd.array(rows, dtype="int32")
    return tuple(nd.take(array, index, axis=0) for array in arrays)
