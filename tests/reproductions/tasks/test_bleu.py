"""BLEU from counts per sentence equals sacreBLEU's corpus BLEU."""

from __future__ import annotations

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from reproductions.tasks.bleu import COUNTS, PEERS, Bleu, bleu, bleu_up_to, chrf, with_unknown_words

HYPOTHESES = ["The cat sat on the mat .", "a dog runs", "Two men are talking in a park ."]
REFERENCES = ["the cat sat on a mat .", "A dog is running fast", "Two men are talking in the park ."]


@pytest.mark.parametrize("tokenize", ["13a", "none"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_summed_counts_give_corpus_bleu(tokenize: str, lowercase: bool) -> None:
    counts = Bleu(tokenize, lowercase).counts(HYPOTHESES, REFERENCES)
    assert counts.shape == (3, COUNTS)
    expected = BLEU(tokenize=tokenize, lowercase=lowercase).corpus_score(HYPOTHESES, [REFERENCES])
    assert bleu(counts.sum(axis=0)) == pytest.approx(expected.score, abs=1e-9) and expected.score > 1
    first = BLEU(tokenize=tokenize, lowercase=lowercase).corpus_score(HYPOTHESES[::2], [REFERENCES[::2]])
    assert bleu(counts[::2].sum(axis=0)) == pytest.approx(first.score, abs=1e-9)


def test_empty_translations_are_counted_and_score_zero() -> None:
    counts = Bleu().counts(["", ""], REFERENCES[:2])
    assert counts[:, :4].sum() == 0 and counts[:, 9].tolist() == [7, 5]
    assert bleu(counts.sum(axis=0)) == 0


def test_of_several_references_all_n_grams_and_the_closest_length_count() -> None:
    counts = Bleu("none").counts(["a dog runs"], [["a cat", "the dog runs", "a dog"]])
    assert counts.tolist() == [[3, 2, 0, 0, 3, 2, 1, 0, 3, 3]]


def test_korean_is_counted_in_morphemes() -> None:
    one, other = Bleu("ko-mecab").counts(["학교에서 공부했다."], ["학교에서 공부했다."])[0][4], 2
    assert one > other


@pytest.mark.parametrize(
    ("tokenize", "text", "tokens"), [("13a", "A <unk>, a dog.", 6), ("ko-mecab", "<unk> 공부했다.", 5)]
)
def test_an_unknown_token_is_one_word(tokenize: str, text: str, tokens: int) -> None:
    lengths = [
        int(Bleu(tokenize, lowercase=True).counts(texts, [text])[0][8])
        for texts in ([text], with_unknown_words([text]))
    ]
    assert lengths == [tokens + 2, tokens]


def test_the_signature_describes_the_metric() -> None:
    assert "case:lc" in Bleu("none", lowercase=True).signature and "tok:none" in Bleu("none").signature
    assert "tok:ko-mecab" in Bleu("ko-mecab").signature and "version:2.6.0" in Bleu().signature


def test_chrf_is_between_zero_and_one_hundred() -> None:
    assert chrf(REFERENCES, REFERENCES) == pytest.approx(100)
    assert 0 < chrf(HYPOTHESES, REFERENCES) < 100
    assert np.isclose(chrf(["zzz"], ["abc"]), 0)


def test_chrf_is_the_f_score_of_character_n_grams_that_weighs_recall_twice() -> None:
    """All n-grams of the shorter text are right: precision is 1."""
    recall = np.mean([(7 - n) / (9 - n) for n in range(1, 7)])
    assert chrf(["ABCDEF"], ["abcdefgh"]) == pytest.approx(100 * 5 * recall / (4 + recall))


def test_bleu_of_captions_is_not_smoothed_and_that_of_translations_is() -> None:
    """No 4-gram is right."""
    totals = np.array([4, 2, 1, 0, 6, 5, 4, 3, 6, 6])
    assert bleu_up_to(totals, 4) == 0.0 and bleu_up_to(totals, 3) == pytest.approx(100 * (4 / 6 * 2 / 5 / 4) ** (1 / 3))
    assert bleu(totals) == pytest.approx(100 * (4 / 6 * 2 / 5 / 4 / (2 * 3)) ** (1 / 4))


def test_captions_shorter_than_their_references_are_penalised() -> None:
    assert bleu_up_to(np.array([3, 2, 1, 0, 3, 2, 1, 0, 3, 6]), 2) == pytest.approx(100 * np.exp(1 - 6 / 3))


def test_published_translations_are_scored_without_case() -> None:
    assert "case:lc" in PEERS.signature
    assert PEERS.counts(["A Dog runs ."], ["a dog runs ."]).tolist() == [[4, 3, 2, 1, 4, 3, 2, 1, 4, 4]]
