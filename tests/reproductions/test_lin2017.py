"""The script of Lin et al.: its variants, what it measures of the hops, and what becomes of its outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.evaluation.attention import least_penalty
from preprocessing.text.data import Split
from reproductions import lin2017
from reproductions.protocol.experiment import Variant
from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification import Data, prepare
from tests.reproductions.support import dead_settings, gluon_attn, outcome

SMOKE, CPU, PAPERS_OWN = (lin2017.PRESETS[name] for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]
OTHER: dict[str, Any] = {
    "model": {"structured": "hierarchical"},
    "corpus": {"nsmc": "sst-2", "imdb": "sst-2", "sst-5": "sst-2"},
    "tokenizer": {"mecab": "syllable"},
    "cell": {"lstm": "gru"},
    "pooling": {None: "mean", "max": "mean"},
    "masked": {True: False, False: True},
}


@pytest.mark.parametrize("name", ["best", "nsmc-r6-unmasked", "imdb-r6-strict", "sst-max"])
def test_no_setting_is_dead(name: str) -> None:
    """But for numbers that are 0: half of nothing is nothing, and lengths that no text of the sample has."""
    variant = SMOKE.variant(name)
    spared = {setting for setting, value in variant.settings.items() if value == 0} | {"max_length"}
    assert set(dead_settings(lin2017, SMOKE, name, OTHER)) <= spared


def test_presets_differ_in_scale_and_the_ablations_of_a_corpus_in_one_thing() -> None:
    assert [variant.name for variant in SMOKE.variants] == ALL
    for preset in (SMOKE, CPU):
        for one, other, differing in (
            ("nsmc-r1", "nsmc-r6", {"hops"}),
            ("nsmc-r2", "nsmc-r10", {"hops"}),
            ("nsmc-r6-free", "nsmc-r6", {"penalty"}),
            ("nsmc-r6-free", "nsmc-r6-strict", {"penalty"}),
            ("nsmc-r6", "nsmc-r6-unmasked", {"masked"}),
            ("nsmc-r6-vectors", "nsmc-r6-wide", {"vectors"}),
            ("imdb-r6-free", "imdb-r6-strict", {"penalty"}),
            ("imdb-r6-free", "imdb-r6", {"penalty"}),
            ("nsmc-r1-free", "nsmc-r6-free", {"hops"}),
            ("imdb-r1-free", "imdb-r6-free", {"hops"}),
            ("sst-r6-free", "sst-r6-strict", {"penalty"}),
            ("imdb-r6-free", "imdb-max", {"hops", "attention_units", "pooling"}),
        ):
            first, second = preset.variant(one), preset.variant(other)
            differ = {key for key in first.settings if first.settings[key] != second.settings.get(key)}
            assert differ == differing and first.recipe == second.recipe, (one, other)


def test_the_paper_preset_has_the_sizes_of_section_4() -> None:
    """300 units each way, d_a = 350, r = 30, 3 000 hidden units; embeddings of 100 of the authors' own."""
    words, classes, units, d_a, hops, hidden = 1_000, 2, 300, 350, 30, 3_000
    (variant,) = PAPERS_OWN.variants
    data: Any = type(
        "Words", (), {"prepared": type("", (), {"vocabulary": range(words)}), "labels": "np", "spelling": None}
    )
    model = lin2017.build(variant, data)
    model.initialize()
    model(nd.ones((1, 3), dtype="int32"), nd.array([3]))
    found = sum(int(np.prod(parameter.shape)) for parameter in model.collect_params().values())
    lstm = 2 * 4 * units * (100 + units + 2)
    attention = d_a * 2 * units + hops * d_a
    assert found == words * 100 + lstm + attention + hidden * (hops * 2 * units + 1) + classes * (hidden + 1)
    assert variant.settings["penalty"] == 1.0 and variant.recipe.optimizer == "sgd" and variant.recipe.batch_size == 32


class Hops:
    """Not a network: of two hops the first looks at the first token, the second at the last; nothing is decided."""

    def __call__(self, padded: nd.NDArray, lengths: nd.NDArray) -> tuple[nd.NDArray, ...]:
        weights = np.zeros((len(padded), 2, padded.shape[1]), np.float32)
        weights[:, 0, 0] = 1
        weights[np.arange(len(padded)), 1, lengths.asnumpy().astype(int) - 1] = 1
        return nd.zeros((len(padded), 2)), nd.array(weights), nd.zeros((len(padded),))


def test_overlap_and_cost_are_measured_on_every_test_text() -> None:
    variant = SMOKE.variant("nsmc-r2")
    data = prepare(SMOKE, variant)
    model: Any = Hops()
    _, arrays = lin2017.evaluate(model, variant, data, None)  # type: ignore[arg-type]
    test: Split = data.prepared.splits["test"]
    one_token = test.lengths == 1
    np.testing.assert_allclose(arrays["overlap"], one_token.astype(float))
    np.testing.assert_allclose(arrays["cost"], 2.0 * one_token)
    assert least_penalty(1, 2) == 2.0
    assert "overlap" not in lin2017.evaluate(_one_hop(), SMOKE.variant("nsmc-r1"), data, None)[1]  # type: ignore[arg-type]


def _one_hop() -> Any:
    return lambda padded, lengths: (nd.zeros((len(padded), 2)), nd.ones((len(padded), 1, padded.shape[1])))


def made(folder: Path, name: str, right: float, overlap: float, data: Data) -> Outcome:
    reviews = len(data.prepared.splits["test"])
    arrays = {
        "right": np.arange(reviews) < right * reviews,
        "overlap": np.where(np.arange(reviews) == 0, np.nan, overlap),
    }
    return outcome(folder, name, 1, arrays, paper="lin2017")


def test_the_claims_that_are_no_comparison_of_accuracies(tmp_path: Path) -> None:
    """Hops that share less with the penalty support the claim; a review without tokens has no say."""
    variant: Variant = SMOKE.variant("nsmc-r6")
    data = prepare(SMOKE, variant)
    free, strict = (
        made(tmp_path, name, 0.5, shared, data) for name, shared in (("nsmc-r6-free", 0.8), ("nsmc-r6-strict", 0.3))
    )
    rows, claims = lin2017.conclude([free, strict], SMOKE)
    (claim,) = claims
    assert claim.id == "overlap-nsmc" and claim.effect == pytest.approx(0.5) and claim.verdict == "supported"
    assert "one training a side" in claim.measure
    assert {row.variant for row in rows} == {"nsmc-r6-free", "nsmc-r6-strict"}


def test_trained_on_the_sample_it_draws_and_answers(tmp_path: Path) -> None:
    """Five of its networks, from the command line: texts of all three corpora, figures, page and predictions."""
    names = ("best", "nsmc-r6-free", "nsmc-r6-strict", "imdb-r6-free", "imdb-r6-strict")
    chosen = [flag for name in names for flag in ("--variant", name)]
    answer = gluon_attn("run", "lin2017", "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    place = tmp_path / "lin2017" / "smoke-portable"
    assert sorted(path.name for path in (place / "figures").iterdir()) == [
        "cost_of_the_hops.png",
        "hops_best.png",
        "hops_nsmc-r6-free.png",
        "hops_nsmc-r6-strict.png",
        "summed_hops_imdb.png",
        "summed_hops_nsmc.png",
        "training_curves_imdb.png",
        "training_curves_nsmc.png",
    ]
    assert (place / "reviews.html").stat().st_size > 10_000
    options = ("lin2017", "--preset", "smoke", "--runs", tmp_path, "--variant", "imdb-r6-strict", "--weights")
    told = gluon_attn("predict", *options, stdin=b"A good film.\n\nbad")
    label, probability, weights = told.out.splitlines()[0].split("\t")
    assert label in ("negative", "positive") and 0 < float(probability) < 1
    shares = [pair.rpartition(":") for pair in weights.split(" ")]
    assert [token for token, _, _ in shares] == ["a", "good", "film", "."]
    assert sum(float(share) for _, _, share in shares) == pytest.approx(1, abs=0.01)
    assert told.out.splitlines()[1] == "" and told.out.splitlines()[2].count("\t") == 2
