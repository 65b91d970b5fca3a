"""Batches of sentence pairs, their likelihood, and translation of encoded sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gluon_attn.decoding.beam_search import Hypothesis, beam_search
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.batching import length_batches, pad
from gluon_attn.training.objective import Batch
from preprocessing.bitext.data import Pair
from preprocessing.progress import progress
from preprocessing.text.data import Split
from preprocessing.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID, UNKNOWN, UNKNOWN_ID
from reproductions.protocol.task import TrainedModel
from reproductions.tasks import teacher_forcing
from reproductions.tasks.bleu import PEERS
from reproductions.tasks.translation.data import TranslationData, TranslationSettings

MULTIPLES = TranslationSettings.multiples
# Per batch that is translated, and what its sources are padded to: a search step takes hardly longer for many sentences
# than for few, and there are few graphs of a step anyway.
TRANSLATED, TRANSLATED_MULTIPLE = 128, 4


@dataclass(frozen=True, eq=False)
class Translated:
    """One translated sentence.

    Attributes:
        tokens: generated target tokens.
        text: detokenised translation.
        log_p: ln p of the tokens and the end of sentence.
        weights: (steps, source tokens), the end of sentence last; None without attention.
    """

    tokens: list[str]
    text: str
    log_p: float
    weights: np.ndarray | None


def inputs(sources: Sequence[np.ndarray], multiple: int) -> tuple[np.ndarray, np.ndarray]:
    """Padded ids (rows, length) and lengths (rows,) of source sentences. An empty one becomes one unknown token."""
    sources = [ids if len(ids) else np.array([UNKNOWN_ID], np.int32) for ids in sources]
    return pad(sources, PADDING_ID, multiple), np.array([len(ids) for ids in sources], np.float32)


def batch(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], multiples: tuple[int, int] = MULTIPLES
) -> Batch:
    """The inputs of one step: source, source lengths, target without and with its end token. The batch's target is the
    divisor of the loss: the number of target tokens including ends of sentences, (1,)."""
    begun, ended, tokens = teacher_forcing.begun_and_ended(targets, multiples[1])
    return Batch((*inputs(sources, multiples[0]), begun, ended), tokens)


def translate(
    models: Sequence[EncoderDecoder],
    data: TranslationData,
    sentences: Split,
    *,
    beam: int,
    alpha: float = 0.0,
) -> list[Translated]:
    """Translate encoded sentences with one network or an ensemble, in batches of sentences of similar length. Results
    are in the order of the sentences.

    Args:
        models: networks trained on the same data.
        data: these data.
        sentences: source side of a split, or ``data.prepared.encode(...)``.
        beam, alpha: beam width, and exponent of the length penalty.
    """
    return [best for best, *_ in translate_n_best(models, data, sentences, beam=beam, alpha=alpha)]


def translate_n_best(
    models: Sequence[EncoderDecoder],
    data: TranslationData,
    sentences: Split,
    *,
    beam: int,
    alpha: float = 0.0,
    n_best: int = 1,
    batch_size: int = TRANSLATED,
) -> list[list[Translated]]:
    """As :func:`translate`, with up to ``n_best`` translations of each sentence, the best first. ``batch_size`` is the
    number of sentences translated at once."""
    sequences = sentences.sequences()
    translated: dict[int, list[Translated]] = {}
    for rows in progress(length_batches(sentences.lengths, batch_size), "translate", f"{batch_size} sentences"):
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
            translated[row] = [_translated(data, each, int(length)) for each in hypotheses[:n_best]]
    return [translated[row] for row in range(len(sequences))]


def _translated(data: TranslationData, hypothesis: Hypothesis, length: int) -> Translated:
    """A translation of a source sentence of ``length`` tokens."""
    weights = None if hypothesis.weights is None else hypothesis.weights[:, :length]
    tokens = [data.prepared.target_vocabulary.idx_to_token[index] for index in hypothesis.ids]
    return Translated(tokens, data.prepared.detokenize(tokens), hypothesis.log_p, weights)


def translate_as_set(
    trained: TrainedModel[TranslationSettings, TranslationData],
    sentences: Split,
    *,
    beam: int | None = None,
    n_best: int = 1,
    batch_size: int | None = None,
) -> list[list[Translated]]:
    """As :func:`translate_n_best`, with a variant's settings for search and replacement of unknown tokens. ``beam``
    overrides the setting."""
    settings, data = trained.variant.settings, trained.data
    translated = translate_n_best(
        [trained.model],
        data,
        sentences,
        beam=beam or settings.beam,
        alpha=settings.alpha,
        n_best=n_best,
        batch_size=batch_size or TRANSLATED,
    )
    if not settings.replace_unknown:
        return translated
    return [
        [_without_unknown(each, sentences.words(row), data) for each in hypotheses]
        for row, hypotheses in enumerate(translated)
    ]


def without_unknown(translated: Sequence[Translated], sentences: Split, data: TranslationData) -> list[Translated]:
    """Translations by a network with attention, each unknown token replaced by the most likely translation of the
    source word with the largest weight, or by that word itself (Luong et al., 2015, sec. 4.1)."""
    return [_without_unknown(sentence, sentences.words(row), data) for row, sentence in enumerate(translated)]


def _without_unknown(sentence: Translated, words: list[str], data: TranslationData) -> Translated:
    tokens = list(sentence.tokens)
    if words and sentence.weights is not None:
        attended = [words[position] for position in sentence.weights.argmax(axis=1)]
        tokens = [
            data.lexicon.get(word, word) if token == UNKNOWN else token
            for token, word in zip(sentence.tokens, attended, strict=False)
        ]
    return replace(sentence, tokens=tokens, text=data.prepared.detokenize(tokens))


def likelihoods(model: EncoderDecoder, pair: Pair) -> np.ndarray:
    """For each target sentence, -ln p in nats and the number of tokens including the end of sentence: (rows, 2)."""
    sources, targets = pair.source.sequences(), pair.target.sequences()

    def batch_of(rows: np.ndarray) -> Batch:
        return batch([sources[row] for row in rows], [targets[row] for row in rows])

    return teacher_forcing.likelihoods(model, pair.target.lengths, batch_of)


def counts(data: TranslationData, split: str, translated: Sequence[Translated]) -> np.ndarray:
    """BLEU statistics (sentences, 10) of the translations of a split, on lower-cased tokens."""
    return counts_against(data, [sentence.text for sentence in translated], data.prepared.references(split))


def counts_against(data: TranslationData, texts: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """As :func:`counts`, of detokenised translations, with references that need not be those of a split."""
    tokens = data.prepared.evaluation_tokens
    return PEERS.counts(tokens(texts), tokens(references))
