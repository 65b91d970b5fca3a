"""The script of Cheng et al.: its variants, what it measures line by line, and what becomes of its outcomes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from mxnet import init, nd

from gluon_attn import runtime
from gluon_attn.models.language_model import LanguageModel
from gluon_attn.training.checkpoint import named_parameters
from preprocessing import ptb
from preprocessing.text.data import Split
from reproductions import cheng2016
from reproductions.protocol.experiment import Variant
from reproductions.protocol.results import Claim
from reproductions.protocol.runs import Outcome
from reproductions.tasks import language_modelling
from reproductions.tasks.classification import Data
from tests.reproductions.support import dead_settings, gluon_attn, outcome

SMOKE, CPU, PAPERS_OWN = (cheng2016.PRESETS[name] for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]
PAIRS = [("lstm", "lstmn"), ("sst5-lstm", "sst5-lstmn"), ("sst2-lstm", "sst2-lstmn")]
OTHER: dict[str, Any] = {
    "model": {"lstm": "lstmn", "lstmn": "lstm"},
    "corpus": {"ptb": "sst-2", "sst-5": "sst-2", "sst-2": "sst-5"},
}
LINES, WINDOW = 30, 9


# --- settings ---


@pytest.mark.parametrize("name", ["lstm", "lstmn", "sst5-lstm", "sst2-lstmn"])
def test_no_setting_is_dead(name: str) -> None:
    """But for lengths that no sentence of the sample has, and what the first batch does not show."""
    spared = {"restart"} if name.startswith("lstm") else {"max_length", "window"}
    assert set(dead_settings(cheng2016, SMOKE, name, OTHER)) <= spared


def test_presets_differ_in_scale_and_the_two_of_a_task_in_the_reader_alone() -> None:
    assert ALL == [variant.name for variant in SMOKE.variants] == [variant.name for variant in PAPERS_OWN.variants]
    for preset in (SMOKE, CPU, PAPERS_OWN):
        for pair in PAIRS:
            lstm, lstmn = (preset.variant(name) for name in pair)
            differ = {key for key in lstmn.settings if lstmn.settings[key] != lstm.settings.get(key)}
            assert differ == {"model", "window", "attention_units"} and set(lstm.settings) < set(lstmn.settings)
            assert lstm.recipe == lstmn.recipe


def parameters(variant: Variant, words: int, labels: str) -> int:
    """Of a variant's network, from the shapes; nothing is allocated."""
    data = SimpleNamespace(prepared=SimpleNamespace(vocabulary=range(words)), labels=labels)
    model = cheng2016.build(variant, cast(Data, data))
    return sum(int(np.prod(parameter.shape)) for _, parameter in named_parameters(model))


@pytest.mark.parametrize("preset", [CPU, PAPERS_OWN], ids=["cpu", "paper"])
def test_networks_have_the_authors_sizes(preset: Any) -> None:
    """Section 5: a memory of 300 and embeddings of 150 for language, 168 and 300 for sentiment; equations 4 to 9."""
    words = 10_000

    def reader(n: int, m: int) -> dict[str, int]:
        """MXNet's fused LSTM has two biases for each gate."""
        return {"lstm": 4 * n * (m + n + 2), "lstmn": 4 * n * (m + n + 1) + n * (m + n + n) + n}

    for kind, its in reader(300, 150).items():
        assert parameters(preset.variant(kind), words, "") == words * 150 + its + words * (300 + 1)
    for corpus, classes in (("sst5", 5), ("sst2", 2)):
        for kind, its in reader(168, 300).items():
            found = parameters(preset.variant(f"{corpus}-{kind}"), words, "x" * classes)
            assert found == words * 300 + its + 168 * (168 + 1) + classes * (168 + 1)


# --- what is measured ---


def trained(name: str, **changed: Any) -> tuple[LanguageModel, Variant, Data]:
    """A network that has learned nothing, but whose weights are anything but even."""
    variant = SMOKE.variant(name)
    variant = replace(variant, settings={**variant.settings, **changed})
    data = cheng2016.prepare(SMOKE, variant)
    runtime.seed_all(1)
    model = cheng2016.build(variant, data)
    model.initialize(init.Normal(0.8))
    return model, variant, data


def in_one_call(model: Any, read: Callable[..., Any], ids: np.ndarray, first: int) -> np.ndarray:
    """The whole text in one call, behind the end of a line."""
    before = nd.array(np.append(first, ids[:-1])[None], dtype="int32")
    targets = [nd.array(ids[None], dtype="int32")] if read == model else []
    found = read(before, *targets, *model.start(1))
    return np.asarray(found[1 if read == model else 0].asnumpy()[0])


@pytest.mark.parametrize("name", ["lstm", "lstmn"])
def test_every_word_of_the_test_file_is_predicted_behind_all_before_it(name: str) -> None:
    model, variant, data = trained(name)
    metrics, arrays = cheng2016.evaluate(model, variant, data, None)  # type: ignore[arg-type]
    test, end = data.prepared.splits["test"], data.prepared.vocabulary["<eos>"]
    nll = in_one_call(model, model, test.ids, end)
    by_line = [nll[begin:stop].sum() for begin, stop in zip(test.offsets[:-1], test.offsets[1:], strict=True)]
    np.testing.assert_allclose(arrays["likelihood"][:, 0], by_line, rtol=1e-4)
    assert arrays["likelihood"][:, 1].tolist() == [len(text.split()) + 1 for text in test.text]
    assert metrics["perplexity"] == pytest.approx(np.exp(nll.mean(dtype=np.float64)), rel=1e-4)
    assert ("looked" in arrays) == (name == "lstmn")
    if name == "lstmn":
        looked = in_one_call(model, model.attend, test.ids, end)
        np.testing.assert_allclose(arrays["looked"].sum(axis=0), looked.sum(axis=0)[::-1], rtol=1e-4)
        first = looked[: test.offsets[1]].sum(axis=0)[::-1]
        np.testing.assert_allclose(arrays["looked"][0], first, rtol=1e-4, atol=1e-6)
        assert arrays["looked"].sum() == pytest.approx(len(test.ids) - 1, rel=1e-5)  # all but the first have memories


@pytest.mark.parametrize("window", [4, 9])
def test_what_words_look_at_is_read_behind_the_lines_before(window: int) -> None:
    """Of a line of seven words, which one tape holds and the other does not."""
    model, variant, data = trained("lstmn", window=window)
    split, line = data.prepared.splits["validation"], 2
    assert split.lengths[line] - 1 == 7
    found = language_modelling.what_words_look_at(model, variant, data, split, line)
    looked = in_one_call(model, model.attend, split.ids, data.prepared.vocabulary["<eos>"])
    begin, words = split.offsets[line], split.lengths[line] - 1
    assert found.shape == (words, words)
    for t in range(words):
        for column in range(words):
            back = t + 1 - column  # column 0 is the end of the line before
            expected = looked[begin + t + 1, window - back] if 0 < back <= window else 0.0
            assert found[t, column] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert (found.sum(axis=1) < 1.0 + 1e-5).all() and found.sum(axis=1).min() < 0.99  # some weight is on lines before


def test_the_lines_that_are_drawn_are_short_and_have_known_words_alone(tmp_path: Path) -> None:
    chosen = cheng2016._lines_to_draw(made(tmp_path, "lstmn", 5.0), SMOKE)
    split: Split = cheng2016.prepare(SMOKE, SMOKE.variant("lstmn")).prepared.splits["validation"]
    assert len(chosen) == 3 and chosen == sorted(chosen)
    for line in chosen:
        words = split.words(line)[:-1]
        assert 6 <= len(words) <= 12 and "<unk>" not in words
        assert 0 not in split.sequences()[line]


# --- rows and claims ---


def made(folder: Path, name: str, nats: float, *, seed: int = 1, near: float = 1 / WINDOW, **facts: Any) -> Outcome:
    """A training that never was: so many nats a word, and memories from the nearest on with this share of weight."""
    tokens = 3.0 + np.arange(LINES) % 7
    shares = np.append(near, np.full(WINDOW - 1, (1 - near) / (WINDOW - 1)))
    arrays = {"likelihood": np.stack([nats * tokens, tokens], axis=1), "looked": tokens[:, None] * shares}
    history = [{"epoch": 1, "validation_perplexity": 90.0}, {"epoch": 2, "validation_perplexity": 80.0 + seed}]
    given: dict[str, Any] = {"corpus": "ptb", "history": history, **facts}
    return outcome(folder, name, seed, arrays, paper="cheng2016", **given)


def by_id(claims: list[Claim]) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims}


def test_rows_are_perplexities_beside_the_reported_ones(tmp_path: Path) -> None:
    outcomes = [made(tmp_path, "lstmn", nats, seed=seed) for seed, nats in ((1, 4.6), (2, 4.8))]
    rows, _ = cheng2016.conclude(outcomes, CPU)
    test, validation = rows
    assert (test.split, test.metric, test.corpus) == ("test", "perplexity", "ptb")
    assert test.per_seed == pytest.approx({"1": np.exp(4.6), "2": np.exp(4.8)})
    assert test.mean == pytest.approx((np.exp(4.6) + np.exp(4.8)) / 2)
    assert test.reported and test.reported["value"] == 108.0 and test.reported["checked"] == "memory"
    assert test.comparable and "last 3 states" in test.differs
    assert (validation.split, validation.mean, validation.ci95) == ("validation", 81.5, (81.0, 82.0))
    assert validation.reported is None


@pytest.mark.parametrize(
    ("lstm", "lstmn", "verdict"), [(4.8, 4.7, "supported"), (4.7, 4.8, "not supported"), (4.7, 4.7, "inconclusive")]
)
def test_the_claim_of_table_1_is_lower_perplexity(lstm: float, lstmn: float, verdict: str, tmp_path: Path) -> None:
    outcomes = [
        made(tmp_path, name, nats, seed=seed) for seed in (1, 2) for name, nats in (("lstm", lstm), ("lstmn", lstmn))
    ]
    claim = by_id(cheng2016.conclude(outcomes, CPU)[1])["perplexity"]
    assert claim.effect == pytest.approx(np.exp(lstm) - np.exp(lstmn)) and claim.verdict == verdict
    assert "over lines" in claim.measure and "means of 2 trainings a side" in claim.measure


def test_more_than_an_even_share_is_much(tmp_path: Path) -> None:
    even, near = (
        by_id(cheng2016.conclude([made(tmp_path / str(share), "lstmn", 4.7, near=share)], SMOKE)[1])["recent"]
        for share in (1 / WINDOW, 0.5)
    )
    assert even.effect == pytest.approx(0.0, abs=1e-9)
    assert near.verdict == "supported"
    assert near.effect == pytest.approx(100 * (0.5 + 2 * 0.5 / 8 - 1 / 3))  # the nearest 3 of 9
    assert "SAMPLE" in near.measure and "nearest 3 of 9" in near.measure


def test_sentiment_has_rows_and_claims_of_its_own(tmp_path: Path) -> None:
    texts = len(cheng2016.prepare(SMOKE, SMOKE.variant("sst5-lstm")).prepared.splits["test"])
    better, worse = np.ones(texts, bool), np.zeros(texts, bool)
    outcomes = [
        made(tmp_path, "lstm", 4.7, corpus="sample"),
        *(
            outcome(tmp_path, name, 1, {"right": right}, paper="cheng2016", corpus="sample")
            for name, right in (("sst5-lstm", worse), ("sst5-lstmn", better))
        ),
    ]
    rows, claims = cheng2016.conclude(outcomes, SMOKE)
    assert list(by_id(claims)) == ["sentiment-fine"] and claims[0].verdict == "supported"
    assert [row.metric for row in rows if row.split == "test"] == ["perplexity"] + 4 * ["accuracy"]


# --- from the command line ---


def test_trained_on_the_sample_it_draws_and_answers(tmp_path: Path) -> None:
    names = ("lstm", "lstmn", "sst2-lstmn")
    chosen = [flag for name in names for flag in ("--variant", name)]
    answer = gluon_attn("run", "cheng2016", "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    place = tmp_path / "cheng2016" / "smoke-portable"
    assert sorted(path.name for path in (place / "figures").iterdir()) == [
        "attention_1.png",
        "attention_2.png",
        "attention_3.png",
        "attention_of_sst2-lstmn.png",
        "training_curves_language.png",
        "training_curves_sentiment.png",
        "weights_by_distance.png",
    ]
    options = ("predict", "cheng2016", "--preset", "smoke", "--runs", tmp_path, "--variant")
    told = gluon_attn(*options, "lstmn", "--weights", stdin=b"the company said it would n't\n\nzebra\n")
    first, blank, last = told.out.splitlines()
    perplexity, words, unknown, looked = first.split("\t")
    assert float(perplexity) > 1 and (words, unknown) == ("6", "0")
    pairs = [re.fullmatch(r"(.+)>(.+):(0\.\d{3}|1\.000)", pair) for pair in looked.split(" ")]
    assert [pair[1] for pair in pairs if pair] == ["the", "company", "said", "it", "would", "n't"]
    assert pairs[0] and pairs[0][2] == ptb.END_OF_LINE and pairs[0][3] == "1.000"  # alone before the first word
    assert all(pair and pair[2] in [ptb.END_OF_LINE, "the", "company", "said", "it", "would"] for pair in pairs)
    assert blank == "" and last.split("\t")[1:3] == ["1", "1"]
    assert "MEAN NOTHING" in told.err
    assert "no attention" in gluon_attn(*options, "lstm", "--weights", stdin=b"the\n").refusal
    damaged = gluon_attn(*options, "lstm", stdin=b"\xff\n")
    assert damaged.code == 2 and damaged.err.splitlines()[-1].startswith(
        "gluon-attn: standard input, line 1: not UTF-8"
    )
    judged = gluon_attn(*options, "sst2-lstmn", "--weights", stdin=b"a good film\n")
    label, probability, weights = judged.out.strip().split("\t")
    assert label in ("negative", "positive") and 0 < float(probability) < 1
    assert [pair.rpartition(":")[0] for pair in weights.split(" ")] == ["a", "good", "film"]
    refused = gluon_attn("translate", "cheng2016", "--variant", "lstmn").refusal
    assert "gluon-attn predict cheng2016" in refused
