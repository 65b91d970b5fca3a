"""Notes on captions, driving and image classification: their numbers follow from the committed outcomes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from preprocessing.corpora import find
from reproductions import kim2017, xu2015
from reproductions.protocol import papers
from reproductions.tasks.captioning.meteor import meteor
from tests.reproductions import published_images as images
from tests.reproductions.published_numbers import (
    arrays,
    folder,
    mean_right,
    records,
    results,
    sides,
)


def test_how_the_hybrid_compares_with_a_residual_network_of_its_size() -> None:
    """As a note of `dosovitskiy2020` has it."""
    hybrid, resnet = sides("dosovitskiy2020", "hybrid", "resnet")
    assert len(resnet) == 1 and mean_right(hybrid).mean() < mean_right(resnet).mean()
    assert (
        "`hybrid` is not better than `resnet` of equal size and time (one seed; no claim)"
        in papers.load("dosovitskiy2020").notes[0]
    )


def test_bleu_of_captions_without_a_brevity_penalty() -> None:
    """As a note of the table has it."""
    means = {}
    for variant in ("soft", "hard", "none"):
        (side,) = sides("xu2015", variant)
        precisions = [one["bleu"].sum(axis=0)[:4] / one["bleu"].sum(axis=0)[4:8] for one in side]
        of_seeds = [[100 * np.exp(np.log(each[:order]).mean()) for order in range(1, 5)] for each in precisions]
        means[variant] = np.mean(of_seeds, axis=0)
    soft, hard, none = (by_seed(each, "{:.1f}") for each in means.values())
    note = papers.load("xu2015").notes[-1]
    assert f"BLEU-1 to BLEU-4 are {soft} (soft attention), {hard} (hard attention, below the paper's)" in note
    assert note.endswith(f"and {none} (mean feature).")
    assert (means["hard"] < [number.value for number in xu2015.HARD]).all()


def by_seed(values: Sequence[Any] | np.ndarray, form: str = "{:+.2f}") -> str:
    *others, last = map(form.format, values)
    return f"{', '.join(others)} and {last}"


def test_where_random_attention_points() -> None:
    """As a note of `xu2015` has it."""
    soft, random, hard, free = sides("xu2015", "soft", "random", "hard", "soft-free")
    points = [np.array([images.noun_rise(1)(one["nouns"].sum(axis=0)) for one in side]) for side in (soft, random)]
    note = papers.load("xu2015").notes[3]
    assert f"random attention, too, is above it, at {by_seed(points[1])} points" in note and points[1].min() > 0
    assert f"(`points-random`, added after test was scored): {by_seed(points[0] - points[1])} points by seed." in note
    raised = [by_seed([images.noun_rise(2)(one["nouns"].sum(axis=0)) for one in side]) for side in (random, hard, free)]
    assert f"(`raises`) random attention is at {raised[0]} points, hard attention at {raised[1]}, and soft" in note
    assert f"without the penalty at {raised[2]}: `raises` is about `soft` only." in note


def test_how_much_lower_meteor_is_than_the_mean_of_captions() -> None:
    """As a note of `xu2015` has it."""
    one_by_one = []
    for variant in {row["variant"] for row in results("xu2015")["rows"]}:
        for counts in (one["meteor"] for one in sides("xu2015", variant)[0]):
            one_by_one.append(100 * (np.mean([meteor(each) for each in counts]) - meteor(counts.sum(axis=0))))
    assert len(one_by_one) == 16
    note = next(note for note in papers.load("xu2015").notes if note.startswith("METEOR"))
    assert note.endswith(f"the mean of the scores of captions, {min(one_by_one):.1f} to {max(one_by_one):.1f} higher.")


def test_hard_attention_against_the_weights_of_other_images() -> None:
    """As the docstring of `xu2015` has it."""
    (hard,) = sides("xu2015", "hard")
    less = [-images.noun_rise(1)(one["nouns"].sum(axis=0)) for one in hard]
    assert f"every seed (by {by_seed(less, '{:.1f}')} points)" in str(xu2015.__doc__)


def test_which_nouns_are_measured() -> None:
    """As a note of `xu2015` has it, from the captions."""
    (soft,) = sides("xu2015", "soft")
    counts, shares = [], []
    for one in soft:
        utf8, offsets = one["text_utf8"].tobytes(), one["text_offsets"].tolist()
        words = [word for start, end in itertools.pairwise(offsets) for word in utf8[start:end].decode().split()]
        counts.append(int((one["nouns"][:, 3] > 0).sum()))
        shares.append(100 * sum(word in ("dog", "dogs") for word in words) / one["nouns"][:, 3].sum())
    note = papers.load("xu2015").notes[3]
    assert len(soft[0]["nouns"]) == 1000
    assert f"{min(counts)} to {max(counts)} of 1 000 captions have one" in note
    assert f"{min(shares):.0f} to {max(shares):.0f} % of these nouns are dog or dogs" in note


def test_over_how_many_positions_captions_attend() -> None:
    """As a note of `xu2015` has it, from the example captions of all seeds."""
    positions = {}
    for variant in ("soft", "soft-free", "hard", "random"):
        each = []
        for seed in ("1", "2", "3"):
            path = folder("xu2015", variant, seed) / "examples.json"
            for caption in json.loads(path.read_text(encoding="utf-8"))["captions"]:
                weights = np.array(caption["weights"])[: len(caption["words"])]
                weights /= weights.sum(axis=1, keepdims=True)
                each.append(np.exp(stats.entropy(weights, axis=1)))
        positions[variant] = np.concatenate(each).mean()
    soft, free, hard, random = positions.values()
    note = papers.load("xu2015").notes[4]
    assert f"is {soft:.1f} of 49 positions for `soft`, {free:.1f} for `soft-free`, {hard:.1f} for `hard`" in note
    assert f"and {random:.1f} for `random`" in note


def test_how_far_attention_is_from_the_conditions_of_the_causal_filter() -> None:
    """As a note of `kim2017` has it: no region in any frame, and in the frames of the figures why."""
    largest, densest, filtered = [], [], set()
    for variant, seed in itertools.product(("attention-0", "attention-10", "attention-20"), "12345"):
        found = arrays("kim2017", variant, seed)["regions_by_frame"]
        assert not found.any()
        filtered.add(len(found))
        examples = json.loads((folder("kim2017", variant, seed) / "examples.json").read_text(encoding="utf-8"))
        rows, columns = examples["grid"]
        for frame in examples["frames"]:
            relative = np.array(frame["weights"]).reshape(rows, columns) * rows * columns
            largest.append(relative.max())
            padded = np.pad(np.where(relative > 1, relative, 0), 1)
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
            densest.append(windows.mean(axis=(2, 3)).max())
    note = papers.load("kim2017").notes[1]
    assert f"single cells reach {max(largest):.1f} times the uniform weight" in note
    assert f"averages 1.5 (at most {max(densest):.1f})" in note and max(densest) < 1.5
    assert f"in any of the {filtered.pop()} filtered test frames" in note and not filtered
    regions, steps = rows * columns, papers.load("kim2017").preset("cpu").variant("attention-10").settings.steps
    assert f"over {regions} regions where the paper sums: lambda 10 acts like {10 / regions:.2f} of the paper's" in note
    assert f"Equal weights in all frames minimise it, at {(1 - steps / regions) ** 2:.2f} lambda / {steps}." in note


def test_what_attention_costs_and_how_the_network_of_single_frames_differs() -> None:
    """As a note of `kim2017` has it."""
    note = papers.load("kim2017").notes[2]
    names = ("attention-0", "attention-10", "attention-20", "cnn-lstm", "always-0")
    *attended, lstm, straight = (
        float(np.mean([images.error(each.sum(axis=0)) for each in images.steering_errors(side)]))
        for side in sides("kim2017", *names)
    )
    margin = 0.05 * straight
    assert f"ours, {margin:.3f} degrees, {100.0 * margin / lstm:.0f} % of the error of `cnn-lstm`." in note
    assert f"adds at\nmost {margin:.3f} degrees, {100.0 * margin / lstm:.0f} % of it" in (kim2017.__doc__ or "")
    costs = by_seed([cost - lstm for cost in attended], "{:+.3f}")
    assert f"With lambda 0, 10 and 20 the error changes by {costs} degrees" in note
    claims = results("kim2017")["claims"]
    conclusive = [claim["id"] for claim in claims if claim["verdict"] != "inconclusive"]
    assert conclusive == ["no-cost-0"] and "only `no-cost-0` is conclusive, before Holm's correction" in note
    p = [claim["p"] for claim in claims]
    assert min(p) * len(p) > 0.05, "Holm's correction leaves no verdict"
    cnn, recurrent = records("kim2017", "cnn"), records("kim2017", "cnn-lstm")
    assert f"and {100 * cnn[0]['parameters'] / recurrent[0]['parameters']:.0f} % of the parameters" in note
    best, epochs = [one["best_epoch"] for one in cnn], len(cnn[0]["history"])
    assert f"its best epochs are {min(best)} to {max(best)} of {epochs}." in note
    variants = {name: papers.load("kim2017").preset("cpu").variant(name).settings for name in ("cnn", *names[:4])}
    assert variants.pop("cnn").dropout == 0.5 and {one.dropout for one in variants.values()} == {0.3}


def test_one_claim_on_captions_is_supported() -> None:
    """As the docstring of `xu2015` has it."""
    supported = [claim["id"] for claim in results("xu2015")["claims"] if claim["verdict"] == "supported"]
    assert supported == ["raises"] and "is the only claim that is supported (`raises`)" in (xu2015.__doc__ or "")


@pytest.mark.corpus("udacity_lake", "udacity_track")
def test_how_long_a_resampled_piece_of_a_drive_lasts() -> None:
    """As a note of the task has it, from the logs."""
    seconds = []
    for road in ("lake", "track"):
        with find(f"udacity {road}").paths["log"].open(encoding="utf-8") as stream:
            times = np.array([float(line.split(",")[1]) for line in list(stream)[1:]]) / 1000
        seconds.append(80 * np.median(np.diff(times)))
    note = papers.load("kim2017").all_notes[0]
    assert (
        f"pieces of about 80 frames of one block ({seconds[0]:.0f} s on the lake, {seconds[1]:.0f} s on the other road)"
        in note
    )


def test_how_many_updates_each_amount_of_images_gets() -> None:
    """As a note of `dosovitskiy2020` has it, from what is declared."""
    preset = papers.load("dosovitskiy2020").preset("cpu")
    updates: dict[int, int] = {}
    for kind in ("vit", "resnet"):
        for name in (f"{kind}-1000", f"{kind}-10000", {"vit": "class", "resnet": "resnet-20"}[kind]):
            variant = preset.variant(name)
            number = variant.settings.images or 45_133
            recipe, passes = variant.recipe, variant.settings.passes
            of_variant = number * passes // recipe.batch_size * recipe.epochs
            assert updates.setdefault(number, of_variant) == of_variant
            assert {len(one["history"]) for one in records("dosovitskiy2020", name)} == {recipe.epochs}
    few, some, every = (f"{number:,}".replace(",", " ") for number in updates.values())
    notes = papers.load("dosovitskiy2020").notes
    assert f"{few} updates on 1 000 images, {some} on 10 000 and {every} on all" in notes[0]
    slow, fast = (preset.variant(name).recipe.learning_rate for name in ("mean", "mean-fast"))
    assert fast == 2 * slow and "second rate of `pooling` is twice the first" in notes[2]
