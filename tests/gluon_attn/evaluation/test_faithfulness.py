"""Faithfulness of attention: agreement of the weights with the effect of deleting each token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from gluon_attn.evaluation.faithfulness import faithfulness

VALUES = np.array([0.0, 2.0, -1.5, 0.5, 0.1, -0.3])  # What each id adds to the logit.
SEQUENCES = [np.array([1, 2, 3, 4]), np.array([5, 1, 3]), np.array([4, 5, 3, 2, 1])]


def classifier(weigh: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """A bag of words: its logit is a sum, so that deleting a token changes it by exactly that token's value."""

    def classify(sequences: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        logits = np.array([VALUES[ids].sum() for ids in sequences])
        return 1 / (1 + np.exp(-logits)), [weigh(np.abs(VALUES[ids])) for ids in sequences]

    return classify


@pytest.mark.parametrize(("power", "expected"), [(1.0, 1.0), (3.0, 1.0), (-1.0, -1.0)])
def test_weights_that_follow_deletion_effects_agree(power: float, expected: float) -> None:
    measured = faithfulness(classifier(lambda values: values**power), SEQUENCES)
    assert measured.agreement == pytest.approx([expected] * 3)


def test_flat_weights_have_maximal_entropy_and_no_agreement() -> None:
    measured = faithfulness(classifier(np.ones_like), SEQUENCES)
    assert measured.entropy == pytest.approx([1.0] * 3)
    assert measured.agreement.tolist() == [0.0] * 3


def test_one_token_has_no_entropy_and_weights_need_not_sum_to_one() -> None:
    sharp = faithfulness(classifier(lambda values: (values == values.max()) * 0.25), SEQUENCES)
    assert sharp.entropy == pytest.approx([0.0] * 3, abs=1e-12)
    half = faithfulness(classifier(lambda values: np.array([0.1, 0.1] + [0.0] * (len(values) - 2))), SEQUENCES[:1])
    assert half.entropy == pytest.approx([0.5])


def test_each_text_is_measured_by_its_own_deletions() -> None:
    """A text has the same numbers alone and in a batch; certain predictions stay finite."""
    weigh = classifier(lambda values: values + 0.05 * np.arange(len(values)))
    together = faithfulness(weigh, SEQUENCES)
    for index, sequence in enumerate(SEQUENCES):
        alone = faithfulness(weigh, [sequence])
        assert alone.entropy[0] == pytest.approx(together.entropy[index])
        assert alone.agreement[0] == pytest.approx(together.agreement[index])

    def certain(sequences: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        return np.ones(len(sequences)), [np.ones(len(ids)) for ids in sequences]

    assert np.isfinite(faithfulness(certain, SEQUENCES).agreement).all()


def test_ids_may_have_more_than_one_column() -> None:
    classify = classifier(lambda values: values)
    tables = [np.stack([ids, ids], axis=1) for ids in SEQUENCES]
    by_row = faithfulness(lambda texts: classify([ids[:, 0] for ids in texts]), tables)
    np.testing.assert_array_equal(by_row.agreement, faithfulness(classify, SEQUENCES).agreement)


def test_effects_are_changes_of_the_log_odds() -> None:
    """Near certainty, deleting -3 changes the probability the least and the log odds the most."""

    def classify(sequences: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        return 1 / (1 + np.exp(-np.array([values.sum() for values in sequences]))), [np.abs(one) for one in sequences]

    measured = faithfulness(classify, [np.array([2.6, 1.4, -3.0, 2.0])])
    assert measured.agreement == pytest.approx([1.0])
