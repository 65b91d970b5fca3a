"""The split by hash: no sentence in two splits, whatever the order, the direction and the case."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given, strategies as st

from preprocessing.bitext.data import Bitext
from preprocessing.bitext.split import SplitPairs, groups
from preprocessing.pipeline.step import Context
from preprocessing.text.normalization import loose_key
from tests.preprocessing.bitexts import Pairs, bitext, facts, run, texts

SENTENCES = ["Go.", "go!", "Go on.", "Run", "run?", "Hi", "Oh", "a", "b", "c", "d"]
PAIRS = st.lists(
    st.tuples(st.sampled_from(SENTENCES), st.sampled_from([f"{sentence} là" for sentence in SENTENCES])),
    min_size=1,
    max_size=40,
)


def divided(unsplit: Pairs, one_in: int = 3, anchor: str = "source", **others: Pairs) -> Bitext:
    data, _ = run(bitext(unsplit=unsplit, **others), SplitPairs(one_in, anchor, "en"))
    return data


def placed(data: Bitext) -> dict[tuple[str, str], str]:
    return {pair: name for name in data.splits for pair in texts(data, name)}


@given(PAIRS)
def test_groups_are_the_connected_components(pairs: list[tuple[str, str]]) -> None:
    group = groups([source for source, _ in pairs], [target for _, target in pairs])
    for row, (source, target) in enumerate(pairs):
        reached, sources, targets = {row}, {source}, {target}
        for _ in pairs:
            more = {other for other, (s, t) in enumerate(pairs) if s in sources or t in targets}
            reached |= more
            sources |= {pairs[other][0] for other in more}
            targets |= {pairs[other][1] for other in more}
        assert {other for other in range(len(pairs)) if group[other] == group[row]} == reached


@given(PAIRS, PAIRS)
def test_no_sentence_is_in_two_splits(pairs: list[tuple[str, str]], trained: list[tuple[str, str]]) -> None:
    data = divided(pairs, train=trained)
    keys = {
        name: [{loose_key(text) for text in column} for column in zip(*texts(data, name), strict=True)]
        for name in ("train", "validation", "test")
        if texts(data, name)
    }
    for name, sides in keys.items():
        for other, others in keys.items():
            if name != other:
                assert not sides[0] & others[0] and not sides[1] & others[1]
    assert sorted(pair for name in data.splits for pair in texts(data, name)) == sorted([*pairs, *trained])


@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_direction_do_not_matter(
    pairs: list[tuple[str, str]], shuffled: random.Random
) -> None:
    expected = placed(divided(pairs))
    mixed = list(pairs)
    shuffled.shuffle(mixed)
    assert placed(divided(mixed)) == expected
    turned = divided([(target, source) for source, target in pairs], anchor="target")
    assert {(source, target): name for (target, source), name in placed(turned).items()} == expected


def test_the_split_follows_the_hash_of_the_first_sentence() -> None:
    pairs = [(f"Sentence {number}.", f"Phrase {number}.") for number in range(300)]
    for pair, name in placed(divided(pairs, one_in=10)).items():
        digest = int(hashlib.sha256(loose_key(pair[0]).encode()).hexdigest()[:8], 16) % 10
        assert name == {0: "test", 1: "validation"}.get(digest, "train")


def test_copies_paraphrases_and_their_paraphrases_stay_together() -> None:
    chain = [("Go.", "Va !"), ("go", "Vas-y."), ("Go on!", "vas y"), ("GO ON", "Continue.")]
    for one_in in range(2, 40):
        assert len(set(placed(divided(chain, one_in)).values())) == 1


def test_pairs_that_share_a_sentence_with_a_train_collection_are_in_train() -> None:
    pairs = [(f"Sentence {number}.", f"Phrase {number}.") for number in range(60)]
    held_out = [(source, target) for (source, target), name in placed(divided(pairs)).items() if name != "train"]
    trained = [(source.upper(), f"autre {source}") for source, _ in held_out[:5]] + [("other", held_out[5][1].lower())]
    data, notes = run(bitext(unsplit=pairs, train=trained, further=[("x", "y")]), SplitPairs(3, "source", "en"))
    where = placed(data)
    assert all(where[pair] == "train" for pair in held_out[:6])
    assert all(where[pair] != "train" for pair in held_out[6:])
    assert data.splits["train"].row_id[-6:].tolist() == [f"train:{line}" for line in range(1, 7)]
    assert texts(data, "further") == [("x", "y")]
    counts = facts(notes)["hash_split"]
    assert (counts["pairs"], counts["groups"], counts["groups_with_pairs_of_train"]) == (60, 60, 6)
    assert sum(counts["rows"].values()) == 60


def test_a_sentence_without_letters_is_compared_verbatim() -> None:
    assert groups(["?!", "!"], ["a", "b"]) == [0, 1]
    with pytest.raises(KeyError):
        run(bitext(train=[("a", "b")]), SplitPairs(3, "source", "en"))


def test_a_split_without_pairs_is_a_warning() -> None:
    data, notes = SplitPairs(one_in=3, anchor="source", language="en").apply(
        bitext(unsplit=[("one", "ein")]), Context()
    )
    assert sum(map(len, data.splits.values())) == 1
    assert notes.warnings and notes.warnings[0].startswith("1 pairs are too few to divide: ")
