"""What preprocessing is worth: one choice at a time, the effects, figures, and parts of the smoke preset."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from preprocessing.text.choices import CLEANING, STOP_WORDS
from preprocessing.text.tokenizers.registry import TOKENIZERS
from reproductions.naver_preprocessing import (
    ANY,
    ASPECTS,
    BASE,
    OF_STRONG,
    ONE_CHOICE,
    REPRODUCTION,
    STRONG,
    TOGETHER,
    WITH_ANY,
    WITH_MECAB,
)
from reproductions.naver_self_attention import REPRODUCTION as NAVER
from reproductions.protocol.conclude import conclude, draw_figures
from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification.accuracy import accuracies, widest
from reproductions.tasks.classification.preprocessing_choices import (
    ACCURACY,
    gain_where_copied,
    interaction,
    random_choices,
    varies_more,
)
from tests.reproductions.support import outcome, run_and_score

SMOKE, CPU = REPRODUCTION.preset("smoke"), REPRODUCTION.preset("cpu")


def trained(folder: Path, name: str, right: float, *, seeds: int = 3, first: int = 0) -> list[Outcome]:
    """Outcomes that are right about this share of 1 000 reviews, and about one more with each seed."""
    numbers = np.arange(1_000)
    return [
        outcome(
            folder,
            name,
            seed,
            {"right": (numbers - first) % 1_000 < 1_000 * right + seed, "seen_in_train": numbers < 10},
            paper="naver_preprocessing",
            corpus="sample",
        )
        for seed in range(1, seeds + 1)
    ]


def test_the_base_is_the_network_of_the_post() -> None:
    base, written = CPU.variant(BASE), NAVER.preset("cpu").variant("as-written")
    assert base.settings == written.settings and base.recipe == written.recipe
    tasks = CPU.task(BASE), NAVER.preset("cpu").task("as-written")
    ours, theirs = ([step.describe() for step in task.pipeline(base.settings).steps] for task in tasks)
    assert ours == theirs


def test_each_system_differs_from_its_base_as_it_says() -> None:
    for choices in (TOGETHER, *ASPECTS.values()):
        for name, (_, changes) in choices.items():
            for prefix, base in (("", BASE), ("strong-", STRONG)):
                if prefix and name not in OF_STRONG:
                    continue
                own, other = CPU.variant(prefix + name), CPU.variant(base)
                differing = {
                    key
                    for one, two in (
                        (asdict(own.settings), asdict(other.settings)),
                        (asdict(CPU.task(own.name).choices), asdict(CPU.task(base).choices)),
                    )
                    for key in one
                    if one[key] != two[key]
                }
                assert differing == set(changes), name
                assert (len(changes) > 1) == (choices is TOGETHER)


def test_every_tokenizer_rule_and_list_is_tried() -> None:
    choices = [CPU.task(name).choices for name in (BASE, *ONE_CHOICE)]
    assert {each.tokenizer for each in choices} == set(TOKENIZERS)
    assert {rule for each in choices for rule in each.clean} == set(CLEANING)
    assert {each.stop_words for each in choices} == {None, "tags", *STOP_WORDS}


def test_random_pipelines_are_drawn_alike_everywhere() -> None:
    pipelines = WITH_ANY | WITH_MECAB
    assert len({str(changes) for changes in pipelines.values()}) == len(pipelines) == 12
    assert pipelines["random-1"] == random_choices(1, ANY) == random_choices(1, ANY)
    assert all(changes["tokenizer"] == "mecab" for changes in WITH_MECAB.values())
    cut = {name: CPU.variant(name).settings.max_length for name in pipelines}
    assert cut == {name: changes["max_length"] for name, changes in pipelines.items()}


def test_the_smoke_preset_needs_no_java() -> None:
    names = {variant.name for variant in SMOKE.variants}
    assert not names & {"okt", "okt-stem", "komoran", "hannanum", "kkma", "strong-okt", "tutorial"}
    assert {BASE, STRONG, "jamo"} <= names


def test_worth_is_the_mean_over_seeds_with_the_interval_over_seeds_and_reviews(tmp_path: Path) -> None:
    base, other = trained(tmp_path, BASE, 0.5), trained(tmp_path, "whitespace", 0.6)
    estimate = ACCURACY.worth(other, base)
    assert estimate.mean == pytest.approx(10.0)
    assert estimate.low < ACCURACY.worth(other[:1], base[:1]).low + 1 and estimate.low < 10 < estimate.high
    assert accuracies(base) == pytest.approx([50.1, 50.2, 50.3])


def test_best_minus_worst_and_two_choices_together(tmp_path: Path) -> None:
    systems = [trained(tmp_path, f"s{n}", right) for n, right in enumerate((0.5, 0.53, 0.51))]
    assert widest(*systems, items="reviews").estimate.mean == pytest.approx(3.0)
    base, first, second, both = (
        trained(tmp_path, name, r) for name, r in zip("abcd", (0.5, 0.4, 0.6, 0.55), strict=True)
    )
    assert interaction(both, first, second, base).estimate.mean == pytest.approx(5.0)


def test_the_variation_of_some_systems_beyond_that_of_others(tmp_path: Path) -> None:
    shares = (0.4, 0.5, 0.6, 0.5, 0.51)
    systems = [trained(tmp_path, f"s{number}", share) for number, share in enumerate(shares)]
    effect = varies_more(3, *systems)
    assert effect.estimate.mean == pytest.approx(10.0 - 0.5**0.5)
    assert effect.estimate.low < effect.estimate.mean < effect.estimate.high


def test_the_gain_by_copies_is_measured_where_there_are_copies(tmp_path: Path) -> None:
    base, without = trained(tmp_path, BASE, 0.5), trained(tmp_path, "no-leaks", 0.5, first=5)
    effect = gain_where_copied(base, without)
    assert effect is not None and effect.estimate.mean == pytest.approx(50.0)  # 5 of the 10 reviews
    for one in base:
        one.predictions["seen_in_train"][:] = False
    assert gain_where_copied(base, without) is None


def test_claims_and_figures_of_what_is_trained(tmp_path: Path) -> None:
    shares = {BASE: 0.6, "stop-wikidocs-okt": 0.59, "stop-wikidocs-mecab": 0.58, "stop-tags": 0.5, "random-1": 0.55}
    outcomes = [each for name, share in shares.items() for each in trained(tmp_path, name, share)]
    rows, claims = conclude(REPRODUCTION, SMOKE, outcomes)
    assert {claim.id: claim.verdict for claim in claims} == {"underspecified": "supported", "stop-words": "supported"}
    assert {row.variant for row in rows} == set(shares)
    figures = draw_figures(REPRODUCTION, SMOKE, outcomes, tmp_path)
    assert [path.name for path in figures.values()] == ["worth.png", "spread.png"]
    assert all(1_000 < path.stat().st_size < 300_000 for path in figures.values())


@pytest.mark.slow
def test_trained_on_the_sample(tmp_path: Path) -> None:
    names = (BASE, "jamo", "clean-hangul-only", "stop-tags", "last-30", "no-leaks", "tail", STRONG)
    flags = [flag for name in names for flag in ("--variant", name)]
    done = run_and_score("naver_preprocessing", "--preset", "smoke", *flags, "--runs", tmp_path, "--jobs", "2")
    assert done.code == 0, done.err
    assert {path.name for path in tmp_path.rglob("figures/*.png")} == {"worth.png", "spread.png"}
