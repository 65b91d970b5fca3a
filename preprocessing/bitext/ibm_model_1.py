"""A word-to-word dictionary learned from parallel text: IBM Model 1 (Brown et al., 1993, "The mathematics of
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
        iterations: of expectation maximisation, from the uniform distribution.

    Returns:
        Source words in the order of their first occurrence; of equally likely translations the one that stood first.

    Raises:
        ValueError: the two sides have different numbers of sentences.
    """
    if len(source) != len(target):
        raise ValueError(f"{len(source)} source sentences beside {len(target)} target sentences")
    source_words, target_words = (list(dict.fromkeys(chain.from_iterable(side))) for side in (source, target))
    source_ids, target_ids = (
        [np.array([ids[word] for word in sentence], np.int64) for sentence in side]
        for side, words in ((source, source_words), (target, target_words))
        for ids in [{word: index for index, word in enumerate(words)}]
    )
    # Every meeting of a source with a target word, sentence by sentence, and the target token it is about.
    meetings = [np.add.outer(s * len(target_words), t).ravel() for s, t in zip(source_ids, target_ids, strict=True)]
    tokens = np.cumsum([0] + [len(t) for t in target_ids])
    about = [
        np.tile(np.arange(first, first + len(t)), len(s))
        for first, s, t in zip(tokens, source_ids, target_ids, strict=False)
    ]
    if not meetings:
        return {}
    pairs, which = np.unique(np.concatenate(meetings), return_inverse=True)
    token = np.concatenate(about)
    of_source, of_target = np.divmod(pairs, max(1, len(target_words)))

    probability = np.ones(len(pairs))
    for _ in range(iterations):
        share = probability[which]
        share = share / np.bincount(token, share)[token]
        counts = np.bincount(which, share, minlength=len(pairs))
        probability = counts / np.bincount(of_source, counts, minlength=len(source_words))[of_source]

    found: dict[str, str] = {}
    for pair in np.lexsort((of_target, -probability, of_source)):
        found.setdefault(source_words[of_source[pair]], target_words[of_target[pair]])
    return found
