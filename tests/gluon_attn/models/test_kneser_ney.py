"""Interpolated Kneser-Ney: a case computed by hand, another implementation, and distributions."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.models.kneser_ney import FALLBACK, KneserNey, discounts
from gluon_attn.training.checkpoint import parameter_arrays, set_parameters
from tests.gluon_attn.support import normal

FIRST = 0


def counted(text: np.ndarray, order: int, words: int) -> KneserNey:
    model = KneserNey(order=order, vocabulary_size=words, first=FIRST, text=text)
    model.initialize()
    return model


def zipf(tokens: int, words: int, seed: int = 0) -> np.ndarray:
    """A text whose words depend a little on the word before, so that n-grams occur again."""
    ranks = np.floor(words ** np.random.RandomState(seed).random_sample(tokens)).astype(int) - 1
    ranks[1:] = np.where(normal(tokens - 1, seed=seed) > 0, (ranks[:-1] * 3 + 1) % words, ranks[1:])
    return ranks


def test_bigrams_computed_by_hand() -> None:
    """``a b a b a c`` after an end of line e, with words e a b c d and the discounts 1/2, 1 and 3/2 of short texts.

    Bigrams: ea 1, ab 2, ba 2, ac 1; of the words, a has two different ones before it (e, b), b one, c one: four.
    """
    e, a, b, c, d = range(5)
    model = counted(np.array([a, b, a, b, a, c]), 2, 5)
    # Unigrams: (2 - 1) / 4, (1 - 1/2) / 4, (1 - 1/2) / 4 and (1 + 1/2 + 1/2) / 4 of them is spread over five words.
    spread = 0.5 / 5
    unigrams = np.array([0, 0.25, 0.125, 0.125, 0]) + spread
    np.testing.assert_allclose(model.distribution([]), after_e := np.array([0, 0.5, 0, 0, 0]) + 0.5 * unigrams)
    np.testing.assert_allclose(model.distribution([e]), after_e)
    # After a: b twice, c once; D_2 = 1 and D_1 = 1/2 are taken off, so that 1.5 / 3 goes to the unigrams.
    np.testing.assert_allclose(model.distribution([a]), np.array([0, 0, 1 / 3, 0.5 / 3, 0]) + 0.5 * unigrams, rtol=1e-6)
    # After c and d nothing was counted.
    for context in (c, d):
        np.testing.assert_allclose(model.distribution([context]), unigrams, rtol=1e-6)
    log_p = model.log_probabilities(np.array([a, d]))
    np.testing.assert_allclose(np.exp(log_p), [after_e[a], 0.5 * unigrams[d]], rtol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_equals_an_implementation_with_dictionaries(order: int) -> None:
    words = 23
    text, other = zipf(3_000, words), zipf(200, words, seed=1)

    def grams(k: int) -> Counter[tuple[int, ...]]:
        padded = [FIRST] * (order - 1) + text.tolist()
        return Counter(tuple(padded[end - k + 1 : end + 1]) for end in range(order - 1, len(padded)))

    counts = {order: grams(order)}
    for k in range(order - 1, 0, -1):
        counts[k] = Counter(gram[1:] for gram in grams(k + 1))
    by_context = {k: defaultdict(list) for k in counts}
    for k, table in counts.items():
        for gram, count in table.items():
            by_context[k][gram[:-1]].append(count)

    @cache
    def discount(k: int) -> tuple[float, ...]:
        return (0.0, *discounts(np.array(list(counts[k].values()))))

    def probability(gram: tuple[int, ...]) -> float:
        if not gram:
            return 1 / words
        after, k = by_context[len(gram)][gram[:-1]], len(gram)
        if not after:
            return probability(gram[1:])
        count = counts[k][gram]
        own = count - discount(k)[min(count, 3)]
        freed = sum(discount(k)[min(each, 3)] for each in after)
        return (own + freed * probability(gram[1:])) / sum(after)

    assert discount(order) != (0.0, *FALLBACK) or order == 1, "the discounts are estimated"
    padded = [FIRST] * (order - 1) + other.tolist()
    wanted = [probability(tuple(padded[position : position + order])) for position in range(len(other))]
    model = counted(text, order, words)
    np.testing.assert_allclose(np.exp(model.log_probabilities(other)), wanted, rtol=1e-5)


@pytest.mark.parametrize("context", [[], [3], [1, 4, 2, 0], [22, 21, 20, 19, 18], [400, 3]])
def test_probabilities_sum_to_one_after_any_context(context: list[int]) -> None:
    """Also after contexts that were never seen, and one with a word that was not."""
    p = counted(zipf(3_000, 23), 4, 500).distribution(context)
    assert p.min() > 0 and p.sum() == pytest.approx(1.0, abs=1e-6)


def test_a_text_and_a_single_context_agree() -> None:
    model, text = counted(zipf(2_000, 23), 3, 23), zipf(50, 23, seed=2)
    log_p = model.log_probabilities(text)
    for position in range(len(text)):
        alone = model.distribution(text[:position])[text[position]]
        assert np.exp(log_p[position]) == pytest.approx(alone, rel=1e-6)


def test_known_contexts_are_the_longest_that_were_counted() -> None:
    text = np.array([1, 2, 3, 1, 2, 4])
    model = counted(text, 3, 6)
    assert model.context_lengths(np.array([1, 2, 3, 5, 3, 4])).tolist() == [2, 2, 2, 2, 0, 1]
    # Nothing comes after 4.
    assert model.context_lengths(np.array([4, 1])).tolist() == [2, 0]


def test_discounts_are_estimated_from_counts_of_counts() -> None:
    counts = np.repeat([1, 2, 3, 4, 9], [100, 40, 20, 10, 3])
    y = 100 / 180
    wanted = (1 - 2 * y * 0.4, 2 - 3 * y * 0.5, 3 - 4 * y * 0.5)
    assert discounts(counts) == pytest.approx(wanted)
    assert discounts(np.array([1, 1, 2, 3])) == FALLBACK
    assert discounts(np.repeat([1, 2, 3, 4], [10, 1, 10, 1])) == FALLBACK, "D_2 would be negative"


def test_saved_tables_need_no_text() -> None:
    model, text = counted(zipf(2_000, 23), 3, 23), zipf(50, 23, seed=2)
    copy = KneserNey(order=3, vocabulary_size=23, first=FIRST, text=None)
    copy.initialize()
    set_parameters(copy, parameter_arrays(model))
    np.testing.assert_array_equal(copy.log_probabilities(text), model.log_probabilities(text))


def test_longer_contexts_than_the_order_change_nothing() -> None:
    model = counted(zipf(2_000, 23), 3, 23)
    np.testing.assert_array_equal(model.distribution([7, 8, 1, 4]), model.distribution([1, 4]))


def test_an_order_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="order must be 1 or more, not 0"):
        KneserNey(order=0, vocabulary_size=3, first=FIRST, text=None)


@pytest.mark.parametrize("order", [1, 2])
def test_a_text_without_words_is_refused(order: int) -> None:
    with pytest.raises(UsageError, match="the text has no words to count"):
        KneserNey(order=order, vocabulary_size=3, first=FIRST, text=np.array([], np.int64))


@pytest.mark.parametrize("word", [-1, 23])
def test_a_word_outside_the_vocabulary_is_refused(word: int) -> None:
    model = counted(zipf(200, 23), 3, 23)
    with pytest.raises(ValueError, match="the vocabulary has 23"):
        model.log_probabilities(np.array([1, word]))
