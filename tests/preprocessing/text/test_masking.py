"""Masks of words and pairs of reviews: shares, whole words, and what a draw depends on."""

from __future__ import annotations

import numpy as np
import pytest

from preprocessing.errors import InputError
from preprocessing.text.masking import Masking, word_starts
from preprocessing.text.pairs import films, pair_rows
from preprocessing.text.vocabulary import MASK_ID, MASKED_SPECIALS

SIZE = 50
STARTS = word_starts([*MASKED_SPECIALS, *(f"▁{n}" if n % 3 == 0 else str(n) for n in range(SIZE - 5))])


def text(rows: int, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ids = np.random.RandomState(1).randint(len(MASKED_SPECIALS), SIZE, rows * length).astype(np.int32)
    return ids, np.repeat(np.arange(rows), length), np.tile(np.arange(length), rows)


@pytest.mark.parametrize("whole_words", [False, True])
def test_fifteen_per_cent_are_chosen_and_become_mask_another_or_themselves(whole_words: bool) -> None:
    ids, rows, places = text(4000, 20)
    read, chosen = Masking(whole_words=whole_words).apply(ids, rows, places, STARTS, size=SIZE, key=7)
    assert read.dtype == np.int32 and chosen.mean() == pytest.approx(0.15, abs=0.01)
    assert (read[~chosen] == ids[~chosen]).all()
    of_chosen = read[chosen]
    assert (of_chosen == MASK_ID).mean() == pytest.approx(0.8, abs=0.02)
    same = (of_chosen == ids[chosen]).mean()  # a random token is the same one now and then
    assert same == pytest.approx(0.1 + 0.1 / (SIZE - 5), abs=0.02)
    another = of_chosen[(of_chosen != MASK_ID) & (of_chosen != ids[chosen])]
    times = np.bincount(another, minlength=SIZE)
    assert len(times) == SIZE and (times[: len(MASKED_SPECIALS)] == 0).all()
    assert times[len(MASKED_SPECIALS) :].min() > 5, "a random token may be any of the vocabulary"


def test_words_are_chosen_as_a_whole() -> None:
    ids, rows, places = text(2000, 20)
    chosen = Masking().apply(ids, rows, places, STARTS, size=SIZE, key=7).chosen
    continues = ~STARTS[ids] & (places > 0)
    assert (chosen[1:] == chosen[:-1])[continues[1:]].all()
    single = Masking(whole_words=False).apply(ids, rows, places, STARTS, size=SIZE, key=7).chosen
    assert not (single[1:] == single[:-1])[continues[1:]].all()


def test_a_draw_depends_on_key_row_and_place_alone() -> None:
    ids, rows, places = text(50, 20)
    rule = Masking()
    whole = rule.apply(ids, rows, places, STARTS, size=SIZE, key=3)
    some = np.isin(rows, [48, 7])
    part = rule.apply(ids[some], rows[some], places[some], STARTS, size=SIZE, key=3)
    np.testing.assert_array_equal(part.ids, whole.ids[some])
    np.testing.assert_array_equal(part.chosen, whole.chosen[some])
    other = rule.apply(ids, rows, places, STARTS, size=SIZE, key=4)
    assert (other.chosen != whole.chosen).any(), "each epoch has other masks"


def test_shares_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(InputError, match="are not probabilities; choose from 0 to 1"):
        Masking(masked=-0.1)
    with pytest.raises(InputError, match=r"0\.8 \(masked\) and 0\.3 \(random\) are more than 1 together"):
        Masking(masked=0.8, random=0.3)


def test_every_row_is_in_one_pair_and_half_are_of_one_film() -> None:
    sizes = [1, 7, 40, 300, 3, 500, 9]
    group = np.repeat(np.arange(len(sizes)), sizes)
    pairs = pair_rows(group, np.random.RandomState(0))
    rows = np.concatenate([pairs.first, pairs.second])
    assert len(rows) == len(set(rows.tolist())) == len(group) - len(group) % 2
    np.testing.assert_array_equal(pairs.together, group[pairs.first] == group[pairs.second])
    # Exchanged second rows may by chance be of the same film, of these two large ones often.
    assert 0.5 <= pairs.together.mean() < 0.75
    even = np.repeat(np.arange(200), 4)
    assert pair_rows(even, np.random.RandomState(0)).together.mean() == pytest.approx(0.5, abs=0.02)
    assert (pair_rows(even, np.random.RandomState(1)).first != pair_rows(even, np.random.RandomState(0)).first).any()


def test_the_film_is_the_first_part_of_an_id() -> None:
    assert films(np.array(["10/1", "9/2", "10/3"])).tolist() == [0, 1, 0]


@pytest.mark.parametrize(("twins", "alone", "together"), [(9, 10, 7), (4, 8, 4), (3, 12, 3), (8, 0, 4)])
def test_half_of_the_pairs_are_of_one_group_or_as_many_as_possible(twins: int, alone: int, together: int) -> None:
    """Groups of two, and groups of one, whose rows can only be paired with those of others."""
    group = np.concatenate([np.repeat(np.arange(twins), 2), twins + np.arange(alone)])
    pairs = pair_rows(group, np.random.RandomState(0))
    assert len(pairs.first) == twins + alone // 2 and pairs.together.sum() == together
