"""Words split by merges: the pieces that subword-nmt gives."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence

from subword_nmt.apply_bpe import BPE

from preprocessing.bitext.merges import learn_merges
from preprocessing.bitext.splitting import Splitter


def test_pieces_are_those_of_subword_nmt() -> None:
    """Few letters, so that pairs overlap and the same symbol is reached by different merges."""
    rng = random.Random(3)

    def word(letters: Sequence[str]) -> str:
        return "".join(rng.choice(letters) for _ in range(rng.randint(1, 14)))

    for letters in ("a", "ab", "abc", "abcd", "aé-.", ["</w>", "a", "@@"]) * 5:
        merges = learn_merges({f"{word(letters)}{word(letters)}": rng.randint(2, 9) for _ in range(60)}, 80)
        codes = "#version: 0.2\n" + "".join(f"{first} {second}\n" for first, second in merges)
        ours, theirs = Splitter(codes), BPE(io.StringIO(codes))
        for each in {word(letters) for _ in range(100)}:
            assert ours.pieces(each) == theirs.segment_tokens([each]), (each, merges)
