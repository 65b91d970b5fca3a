"""Every published number follows from the committed predictions."""

from __future__ import annotations

import gzip
import itertools
import re
from typing import Any

import numpy as np
import pytest
import sacrebleu

from preprocessing.corpora import find
from reproductions.protocol import papers
from tests.reproductions.published_numbers import (
    PUBLISHED,
    arrays,
    check_claims,
    check_rows,
    record,
    results,
)


@pytest.mark.parametrize("paper", PUBLISHED)
def test_every_published_number_follows_from_the_committed_predictions(paper: str) -> None:
    check_rows(paper, interval=False)
    check_claims(paper, interval=False)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("paper", PUBLISHED)
def test_every_published_interval_follows_from_the_committed_predictions(paper: str) -> None:
    check_rows(paper, interval=True)
    check_claims(paper, interval=True)


TRANSLATIONS = [
    paper for paper in PUBLISHED if any(row["corpus"].startswith("multi30k") for row in results(paper)["rows"])
]


def predicted_of(probability: np.ndarray) -> np.ndarray:
    of_class: np.ndarray = probability > 0.5 if probability.ndim == 1 else probability.argmax(axis=1)
    return of_class


CLASSIFIERS = [
    paper
    for paper in PUBLISHED
    if any((row["metric"], row["split"]) == ("accuracy", "test") for row in results(paper)["rows"])
]


@pytest.mark.parametrize("paper", CLASSIFIERS)
def test_correctness_follows_from_label_and_probability(paper: str) -> None:
    """Many systems on one split keep only which texts are right."""
    rows = [row for row in results(paper)["rows"] if (row["metric"], row["split"]) == ("accuracy", "test")]
    checked = 0
    for variant, seed in {(row["variant"], seed) for row in rows for seed in row["per_seed"]}:
        one = arrays(paper, variant, seed)
        assert 100 * one["right"].mean() == pytest.approx(record(paper, variant, seed)["metrics"]["accuracy"])
        if "label" in one:
            predicted = one["predicted"] if "predicted" in one else predicted_of(one["probability"])
            assert np.array_equal(predicted == one["label"], one["right"]), (variant, seed)
            checked += 1
    assert checked or paper == "naver_preprocessing"


@pytest.mark.parametrize("paper", PUBLISHED)
def test_the_selected_epoch_is_the_best_on_validation(paper: str) -> None:
    for row in results(paper)["rows"]:
        if row["split"] == "validation":
            for seed, value in row["per_seed"].items():
                outcome = record(paper, row["variant"], seed)
                assert outcome["history"][outcome["best_epoch"] - 1][f"validation_{row['metric']}"] == value


@pytest.mark.slow
@pytest.mark.corpus("multi30k")
@pytest.mark.parametrize("paper", TRANSLATIONS)
def test_published_translations_have_the_published_sacrebleu_and_chrf(paper: str) -> None:
    """Against the official file, read here: sacreBLEU on the whole corpus, with the tokenizer and case of its
    signature, an unknown token counted as one word."""
    checked = 0
    preset = papers.load(paper).preset("cpu")
    for row in results(paper)["rows"]:
        if row["metric"] not in ("sacrebleu", "chrf") or not row["corpus"].startswith("multi30k"):
            continue
        task: Any = preset.task(row["variant"])  # a corpus is translated in both directions
        with gzip.open(find(row["corpus"]).paths[f"test.{task.target}"], "rt", encoding="utf-8") as stream:
            references = [line.strip() for line in stream]
        for seed, value in row["per_seed"].items():
            one = arrays(paper, row["variant"], seed)
            utf8, offsets = one["text_utf8"].tobytes(), one["text_offsets"].tolist()
            texts = [utf8[start:end].decode("utf-8") for start, end in itertools.pairwise(offsets)]
            assert len(texts) == len(references) == 1000
            texts = [text.replace("<unk>", "UNK") for text in texts]
            if row["metric"] == "chrf":
                score = sacrebleu.corpus_chrf([text.lower() for text in texts], [[line.lower() for line in references]])
            else:
                case, tokenizer = re.search(r"case:(\w+)\|eff:no\|tok:(\w+)", row["signature"]).groups()
                score = sacrebleu.corpus_bleu(texts, [references], lowercase=case == "lc", tokenize=tokenizer)
            assert value == pytest.approx(score.score, rel=1e-9), (row["variant"], seed)
            checked += 1
    assert checked
