"""What preprocessing is worth in translation: one choice at a time, and several ways to count one network's BLEU."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from preprocessing import translation
from reproductions import translation_preprocessing
from reproductions.bahdanau2014 import REPRODUCTION as BAHDANAU
from reproductions.protocol.conclude import conclude, draw_figures
from reproductions.protocol.differences import COLUMN
from reproductions.protocol.runs import Outcome
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation.data import TranslationData
from reproductions.tasks.translation.decoding import Translated
from reproductions.tasks.translation.preprocessing_choices import PIECES, WAYS, one_network_two_ways
from reproductions.tasks.translation.worth_in_bleu import BLEU, bleus
from reproductions.translation_preprocessing import ASPECTS, BASE, REPRODUCTION
from tests.reproductions.support import outcome

CPU, SMOKE = REPRODUCTION.preset("cpu"), REPRODUCTION.preset("smoke")


def trained(folder: Path, name: str, right: int, *, seeds: int = 3) -> list[Outcome]:
    """Outcomes on 40 sentences of 10 words, of which this many are translated right, and one more with each seed."""
    outcomes = []
    for seed in range(1, seeds + 1):
        correct = (np.arange(40) < right + seed)[:, None] * np.array([10, 9, 8, 7])
        totals = np.tile([10, 9, 8, 7, 10, 10], (40, 1))
        counts = np.concatenate([correct, totals], axis=1).astype(np.int32)
        likelihood = np.ones((40, 2))
        arrays = {"bleu": counts, "sacrebleu": counts, "likelihood": likelihood, PIECES: counts}
        arrays |= dict.fromkeys(WAYS, counts)
        history = [{"epoch": 1, "train_loss": 1.0, "validation_loss": 1.0, "validation_bleu": 20.0}]
        record = {"corpus": "sample", "history": history, "metrics": {"chrf": 50.0}}
        outcomes.append(outcome(folder, name, seed, arrays, paper="translation_preprocessing", **record))
    return outcomes


def test_the_base_is_rnnsearch_at_its_smaller_setting() -> None:
    base, theirs = CPU.variant(BASE), BAHDANAU.preset("cpu").variant("search-all")
    assert replace(base.recipe, epochs=16) == theirs.recipe
    assert "trained for 8 epochs instead of 16" in (translation_preprocessing.__doc__ or "")
    ours = {key: value for key, value in asdict(base.settings).items() if value != getattr(theirs.settings, key)}
    assert ours == {}
    options = {**base.settings.pipeline_options, **asdict(CPU.task(BASE).choices)}
    steps = translation.pipeline("multi30k en-de", **options).steps
    same = translation.pipeline("multi30k en-de", **theirs.settings.pipeline_options).steps
    assert [step.describe() for step in steps] == [step.describe() for step in same]


def test_each_system_differs_from_the_base_as_it_says() -> None:
    base = {**asdict(CPU.variant(BASE).settings), **asdict(CPU.task(BASE).choices)}
    for choices in ASPECTS.values():
        for name, (_, changes) in choices.items():
            own = {**asdict(CPU.variant(name).settings), **asdict(CPU.task(name).choices)}
            assert {key: value for key, value in own.items() if value != base[key]} == changes


def test_translations_are_counted_in_every_way() -> None:
    task = SMOKE.task("cased")
    prepared = translation.prepare("sample", source="en", target="fr", tokens="words", cache=False, processes=1)
    data = TranslationData("sample", {}, prepared)
    test = prepared.splits["test"].target
    references = prepared.references("test")
    right = [Translated(test.words(row), text, 0.0, None) for row, text in enumerate(references)]
    counts = task.further_counts(right, data)
    assert counts.keys() == {*WAYS, PIECES}
    assert all(bleu(array.sum(axis=0)) == pytest.approx(100.0) for array in counts.values())
    loud = [Translated(one.tokens, one.text.upper(), 0.0, None) for one in right]
    again = task.further_counts(loud, data)
    assert bleu(again["bleu_cased"].sum(axis=0)) < 50 < bleu(again["bleu_international"].sum(axis=0))


def test_what_a_choice_is_worth_has_the_interval_over_seeds(tmp_path: Path) -> None:
    better, base = trained(tmp_path / "a", "words", 24), trained(tmp_path / "b", BASE, 20)
    effects = np.subtract(bleus(better), bleus(base))
    estimate = BLEU.worth(better, base)
    assert estimate.low < effects.mean() < estimate.high
    assert estimate.mean == pytest.approx(effects.mean(), abs=0.5)
    one = BLEU.worth(better[:1], base)
    assert one.low < bleus(better[:1])[0] - np.mean(bleus(base)) < one.high


def test_two_ways_to_count_one_network(tmp_path: Path) -> None:
    outcomes, higher = trained(tmp_path / "a", BASE, 20), trained(tmp_path / "b", BASE, 26)
    for each, other in zip(outcomes, higher, strict=True):
        each.predictions[PIECES] = other.predictions["bleu"]
    effect = one_network_two_ways(PIECES, "bleu", outcomes).estimate
    assert effect.mean == pytest.approx(np.subtract(bleus(higher), bleus(outcomes)).mean(), abs=0.2)
    assert effect.low < effect.mean < effect.high


def test_table_claims_and_figure(tmp_path: Path) -> None:
    outcomes = [one for number, name in enumerate(SMOKE.names) for one in trained(tmp_path / name, name, 20 + number)]
    rows, claims = conclude(REPRODUCTION, SMOKE, outcomes)
    assert {claim.id for claim in claims} == {claim.id for claim in REPRODUCTION.claims}
    of_base = [row for row in rows if row.variant == BASE and row.split == "test"]
    assert {row.variant for row in rows if row.metric == COLUMN.metric} == {*SMOKE.names} - {BASE}
    for column in (column for column in REPRODUCTION.table_columns if column != COLUMN):
        found = [row for row in of_base if row.metric == column.metric and column.signature in row.signature]
        assert found, column.title
    assert len({(row.metric, row.signature) for row in of_base}) == len(of_base)
    drawn = draw_figures(REPRODUCTION, SMOKE, outcomes, tmp_path / "figures")
    assert drawn["effect of each choice (base)"].stat().st_size > 0
