"""Word translation probabilities learned from parallel text: IBM Model 1 (Brown et al., 1993, "The mathematics of
statistical machine translation: parameter estimation", sec. 4.2), without its empty word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np


def translations(
    source: Sequence[Sequence[str]], target: Sequence[Sequence[str]], *, iterations: int = 5
) -> dict[str, str]:
    """The likeliest translation of every source word, t(target word | source word), by expectation maximisation.

    Args:
        source, target: words of each pair of sentences, (pairs,) each.
        iterations: iterations of expectation maximisation, starting from the uniform distribution.

    Returns:
        The translations of the source words, which are in the order of their first occurrence. Between equally likely
        translations, rounding decides, the same way on every machine; if they are equal to the last bit, the one that
        occurred first.

    Raises:
        ValueError: the two sides have different numbers of sentences.
    """
    if len(source) != len(target):
        raise ValueError(f"{len(source)} source sentences but {len(target)} target sentences")
    if not source:
        return {}
    source_words, source_ids = _numbered(source)
    target_words, target_ids = _numbered(target)
    # Each co-occurrence of a source and a target word, sentence by sentence, as one number, and the number of its
    # target token in the corpus.
    links: list[np.ndarray] = []
    target_tokens: list[np.ndarray] = []
    first = 0
    for source_sentence, target_sentence in zip(source_ids, target_ids, strict=True):
        links.append(np.add.outer(source_sentence * len(target_words), target_sentence).ravel())
        target_tokens.append(np.tile(np.arange(first, first + len(target_sentence)), len(source_sentence)))
        first += len(target_sentence)
    pairs, pair_of_link = np.unique(np.concatenate(links), return_inverse=True)
    token_of_link = np.concatenate(target_tokens)
    of_source, of_target = np.divmod(pairs, max(1, len(target_words)))

    probability = np.ones(len(pairs))
    for _ in range(iterations):
        expected = probability[pair_of_link]
        expected = expected / np.bincount(token_of_link, expected)[token_of_link]
        counts = np.bincount(pair_of_link, expected, minlength=len(pairs))
        probability = counts / np.bincount(of_source, counts, minlength=len(source_words))[of_source]

    likeliest: dict[str, str] = {}
    for pair in np.lexsort((of_target, -probability, of_source)):
        likeliest.setdefault(source_words[of_source[pair]], target_words[of_target[pair]])
    return likeliest


def _numbered(sentences: Sequence[Sequence[str]]) -> tuple[list[str], list[np.ndarray]]:
    """The distinct words in the order of their first occurrence, and each sentence as their numbers."""
    words = list(dict.fromkeys(chain.from_iterable(sentences)))
    numbers = {word: number for number, word in enumerate(words)}
    return words, [np.array([numbers[word] for word in sentence], np.int64) for sentence in sentences]
