"""Merges learned on arrays: the codes that subword-nmt writes."""

from __future__ import annotations

import io
import random
from contextlib import redirect_stderr

from subword_nmt.learn_bpe import learn_bpe

from preprocessing.bitext.merges import learn_merges


def reference(counts: dict[str, int], operations: int) -> list[tuple[str, ...]]:
    codes = io.StringIO()
    with redirect_stderr(io.StringIO()):
        learn_bpe(io.StringIO("".join(f"{w} {n}\n" for w, n in counts.items())), codes, operations, is_dict=True)
    return [tuple(line.split(" ")) for line in codes.getvalue().splitlines()[1:]]


def test_merges_are_those_of_subword_nmt() -> None:
    """Few letters, so that words repeat themselves and the same symbol is reached by different merges."""
    rng = random.Random(7)
    for letters in ("a", "ab", "abc", "abcd", "aé-.") * 15:
        counts = {
            "".join(rng.choice(letters) for _ in range(rng.randint(2, 14))): rng.randint(1, rng.choice([3, 50]))
            for _ in range(rng.choice([1, 5, 60]))
        }
        operations = rng.choice([5, 200])
        assert learn_merges(counts, operations) == reference(counts, operations)


def test_no_pair_that_occurs_once_is_merged() -> None:
    assert learn_merges({"ab": 1}, 5) == [] and learn_merges({"ab": 2, "a": 9}, 5) == [("a", "b</w>")]
