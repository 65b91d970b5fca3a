"""Notes and documents on reviews and single sentences: their numbers follow from the committed outcomes."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from preprocessing import naver, naver_unlabelled
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions import cheng2016, lin2017
from reproductions.protocol import papers
from reproductions.protocol.readings import read_readings
from tests.reproductions.published_numbers import (
    arrays,
    averaged_right,
    folder,
    korean_document,
    mean_array,
    mean_of,
    mean_right,
    of_shared_seeds,
    perplexity,
    published_at,
    records,
    results,
    sides,
    without_missing,
)
from tests.reproductions.support import ROOT

STRICT = ("nsmc-r6-strict", "nsmc-max")
"""Variants of `lin2017`."""
UPDATES_ON_IMDB = 176
"""Updates in an epoch of `lin2017`: 90 % of 25 000 reviews, about, in batches of 128."""


@pytest.mark.slow
@pytest.mark.corpus("imdb")
def test_by_how_much_hierarchical_is_better_on_reviews_that_flat_does_not_cut() -> None:
    """As a note of the table has it, from the lengths of the reviews in the corpus."""
    paper = papers.load("yang2016")
    preset = paper.preset("cpu")
    words = preset.variant("flat").settings.max_length
    data = preset.task("flat").prepare(preset.variant("flat").settings)
    cut = data.prepared.splits["test"].lengths > words
    att, flat = sides("yang2016", "att", "flat")
    difference = mean_right(att) - mean_right(flat)
    films = att[0]["cluster"][~cut]
    longer, (others, low, high) = difference[cut].mean(), mean_of(difference[~cut], interval=True, clusters=films)
    assert (
        f"reads the first {words} words: on the {cut.sum():,} longer test reviews".replace(",", " ") in paper.notes[-1]
    )
    assert f"HN-ATT is better by {longer:.2f} points, on the others by {others:.2f}" in paper.notes[-1]
    assert f"interval over films {low:.2f} to {high:.2f})" in paper.notes[-1]
    (whole,) = (claim for claim in results("yang2016")["claims"] if claim["id"] == "hierarchical")
    assert whole["verdict"] == "inconclusive" and "No advantage is shown over `flat-whole`" in paper.notes[-1]


@pytest.mark.slow
def test_which_networks_validation_that_shares_films_prefers() -> None:
    """As a note of `yang2016` has it."""
    rows = [row for row in results("yang2016")["rows"] if row["metric"] == "accuracy"]
    on = {
        split: {row["variant"]: row["mean"] for row in rows if row["split"] == split}
        for split in ("validation", "test")
    }
    shown = {name: f"`{name}` ({on['validation'][name]:.2f}" for name in ("best", "flat-whole", "flat", "att")}
    note = next(note for note in papers.load("yang2016").notes if "may therefore mislead" in note)
    assert (
        f"{shown['best']} %, mean of three seeds), {shown['flat-whole']}) and {shown['flat']}) to {shown['att']})"
        in note
    )
    assert max(on["test"], key=lambda name: on["test"][name]) == "att"
    assert all(on["validation"][name] > on["validation"]["att"] for name in ("best", "flat-whole", "flat"))


def test_how_much_wider_intervals_over_films_are() -> None:
    """As a note of IMDb has it."""
    narrower, films = [], set()
    for paper in ("joulin2016", "lin2017", "yang2016"):
        note = papers.load(paper).all_notes[0]
        for row in (row for row in results(paper)["rows"] if (row["corpus"], row["split"]) == ("imdb", "test")):
            (side,) = sides(paper, row["variant"])
            films.add(tuple(np.bincount(side[0]["cluster"])))
            _, low, high = mean_of(mean_right(side), interval=True)
            if "does not occur" not in row["signature"] and row["metric"] == "accuracy":
                narrower.append(1 - (high - low) / (row["ci95"][1] - row["ci95"][0]))
    (sizes,) = films
    assert f"narrower by {100 * min(narrower):.0f} to {100 * max(narrower):.0f} %" in note
    assert f"up to {max(sizes)} test reviews of a film" in note
    assert f"over its {len(sizes):,} test films".replace(",", " ") in note


def test_what_removing_stop_words_may_mean() -> None:
    """As a note of the table has it."""
    paper = papers.load("naver_preprocessing")
    (rules,) = (claim.variants for claim in paper.claims if claim.id == "underspecified")
    base, *removed = sides("naver_preprocessing", "base", *rules)
    accuracy = [100.0 * one["right"].mean() for one in base]
    assert rules == ("stop-wikidocs-okt", "stop-wikidocs-mecab", "stop-tags")
    okt, mecab, tags = (float((mean_right(side) - mean_right(base)).mean()) for side in removed)
    note = paper.notes[0]
    spread, words = f"{mecab - tags:.2f}", f"{mecab - okt:.2f}"
    assert tags < okt < mecab and "any of the three rules" in note
    assert f"change accuracy by {okt:+.2f}, {mecab:+.2f} and {tags:+.2f} points, a range of {spread};" in note
    assert f"those of the two lists of words differ by {words}" in note
    english, korean = (
        " ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in ("README.md", "README.ko.md")
    )
    assert f"[{spread} points](" in english
    assert f"the two word lists, one of them made for another tokenizer, by {words};" in english
    assert f"[{spread}%p](" in korean and f"단어 목록 둘끼리는 {words}%p" in korean
    rows = [row for row in results("naver_preprocessing")["rows"] if row["split"] == "test"]
    first = {row["variant"]: row for row in reversed(rows) if row["metric"] == "accuracy"}  # of all test reviews
    widest = max(row["std"] for row in first.values())
    assert f"by {np.std(accuracy, ddof=1):.2f} (standard deviation of `base`; others up to {widest:.2f})" in note


def test_how_much_pipelines_with_mecab_differ() -> None:
    """As a note of `naver_preprocessing` and the READMEs have it."""
    (names,) = (claim.variants for claim in papers.load("naver_preprocessing").claims if claim.id == "pipelines")
    means = np.array([mean_right(side).mean() for side in sides("naver_preprocessing", *names)])
    drawn, attention = means[:6], means[6:]
    note = papers.load("naver_preprocessing").notes[3]
    assert f"six pipelines with Mecab fixed are {drawn.min():.2f} to {drawn.max():.2f}" in note
    assert f"a range of {np.ptp(drawn):.2f} points and a standard deviation of {drawn.std(ddof=1):.2f};" in note
    assert f"that of the three kinds of attention is {attention.std(ddof=1):.2f}" in note
    without = np.delete(drawn, drawn.argmin())
    assert f"without it the deviation is {without.std(ddof=1):.2f}, and the claim would be inconclusive." in note
    whole, rest = f"{np.ptp(drawn):.2f}", f"{np.ptp(without):.2f}"
    assert f"differ by up to {whole}, or {rest} without" in " ".join((ROOT / "README.md").read_text("utf-8").split())
    korean = (ROOT / "README.ko.md").read_text("utf-8")
    assert f"여섯 가지는 {whole}%p까지," in korean and f"하나를 빼면 {rest}%p까지" in korean


def test_how_much_all_random_pipelines_differ() -> None:
    """As a note of `naver_preprocessing` has it."""
    names = [f"random-{number}" for number in range(1, 13)]
    means = np.array([mean_right(side).mean() for side in sides("naver_preprocessing", *names)])
    rest = np.delete(means, means.argmin())
    note = papers.load("naver_preprocessing").notes[3]
    spread = f"All twelve have {means.min():.2f} to {means.max():.2f}, a deviation of {means.std(ddof=1):.2f} "
    assert f"{spread}({rest.std(ddof=1):.2f} without `{names[means.argmin()]}`)." in note
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"With six more, whose tokenizer is drawn too, the twelve differ by up to {np.ptp(means):.2f}." in readme


def test_where_the_minimum_frequency_decides_what_morphemes_gain_with_the_stronger_network() -> None:
    """As a note of `naver_preprocessing` has it: the earlier form of a claim."""
    names = ("strong-whitespace", "strong", "whitespace", "base")
    both, first, second, base = (mean_right(side).mean() for side in sides("naver_preprocessing", *names))
    note = papers.load("naver_preprocessing").notes[-1]
    assert f"`interaction-words` ({both - first - second + base:+.2f} and supported with minimum frequency 5" in note


def test_that_jamo_still_gain_in_the_last_epoch() -> None:
    """As a note of `naver_preprocessing` has it."""
    histories = [record["history"] for record in records("naver_preprocessing", "jamo")]
    gains = [last["validation_accuracy"] - before["validation_accuracy"] for *_, before, last in histories]
    note = papers.load("naver_preprocessing").notes[2]
    assert f"jamo still gain {min(gains):.1f} to {max(gains):.1f} validation points in the last epoch" in note


def test_what_removing_stop_words_costs_the_stronger_network() -> None:
    """As a note of `naver_preprocessing` has it."""
    rules = ("stop-wikidocs-okt", "stop-wikidocs-mecab", "stop-tags")
    names = ("base", "stop-wikidocs-mecab", "length-60", "strong", *(f"strong-{rule}" for rule in rules))
    base, listed, longer, strong, *removed = (mean_right(side).mean() for side in sides("naver_preprocessing", *names))
    (best,) = (mean_right(side).mean() for side in sides("naver_self_attention", "best"))
    note = papers.load("naver_preprocessing").notes[5]
    assert f"{strong:.2f} %, no more than the post's network with 60 tokens ({longer:.2f}); `best`" in note
    assert f"`naver_self_attention` has {best:.2f}." in note and strong < longer
    first, second, third = (f"{strong - each:.2f}" for each in removed)
    assert f"the three rules cost {first}, {second} and {third} points" in note
    assert f"With the post's, the list of the Mecab tutorial gains {listed - base:.2f} " in note
    apart = f"{max(removed) - min(removed):.2f}"
    assert f"(with a stronger network, {apart})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_60_tokens_are_worth() -> None:
    """As a note of `naver_preprocessing` has it."""
    names = ("base", "length-60", "syllable", "syllable-length-60")
    means = [mean_right(side).mean() for side in sides("naver_preprocessing", *names)]
    words = f"adds {means[1] - means[0]:.2f} points with morphemes and {means[3] - means[2]:.2f} with syllables"
    assert words in papers.load("naver_preprocessing").notes[1]


@pytest.mark.timeout(1200)  # the corpus is tokenised eight times
@pytest.mark.corpus("nsmc")
@pytest.mark.slow
def test_how_much_of_the_reviews_the_choices_leave() -> None:
    """As notes of `naver_preprocessing` have it."""
    rules, tokenizers = papers.load("naver_preprocessing").notes[:2]

    def tokens_of(**choices: Any) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of each test review, without a limit, and all of them as ids."""
        rows = naver.prepare("nsmc", min_freq=5, **choices).splits["test"].sequences()
        return np.array([len(row) for row in rows]), np.concatenate(rows)

    def cut(lengths: np.ndarray) -> str:
        return f"{100 * np.mean(lengths > 30):.1f} %"

    base, ids = tokens_of()
    left = [tokens_of(stop_words=rule)[0] for rule in ("wikidocs-okt", "wikidocs-mecab", "tags")]
    removed = [f"{100 * (1 - lengths.sum() / base.sum()):.1f} %" for lengths in left]
    assert f"remove {removed[0]}, {removed[1]} and {removed[2]} of the tokens" in rules
    assert f"{cut(left[0])}, {cut(left[1])} and {cut(left[2])} instead of {cut(base)}" in rules
    (words, of_words), (syllables, _), (jamo, _) = (tokens_of(tokenizer=n) for n in ("whitespace", "syllable", "jamo"))
    assert f"{cut(words)} are cut at 30 whitespace-separated words, {cut(syllables)} at 30 syllables" in tokenizers
    assert f"{cut(jamo)} at 30 jamo" in tokenizers
    unknown = [f"{100 * np.mean(of == UNKNOWN_ID):.1f} %" for of in (of_words, ids)]
    assert f"{unknown[0]} of the words are unknown, but {unknown[1]} of Mecab's morphemes" in tokenizers
    empty = tokens_of(clean=("hangul-only",))[0] == 0
    lost = mean_right(sides("naver_preprocessing", "base")[0]) - mean_right(
        sides("naver_preprocessing", "clean-hangul-only")[0]
    )
    loss = f"they are {(lost * empty).mean():.2f} of its loss of {lost.mean():.2f} points"
    assert f"leaves {empty.sum()} test reviews without a token; {loss}" in tokenizers


def test_what_two_hops_share_and_what_the_penalty_of_1_selects() -> None:
    """As a note of `lin2017` has it."""

    def shared(variant: str) -> float:
        (side,) = sides("lin2017", variant)
        return float(without_missing(mean_array(side, "overlap")).mean())

    note = papers.load("lin2017").notes[0]
    free, strict = ([shared(f"{of}-r6-{penalty}") for of in ("nsmc", "imdb", "sst")] for penalty in ("free", "strict"))
    assert f"share {free[0]:.2f} of their weight on NSMC, {free[1]:.2f} on IMDb and {free[2]:.2f} on SST" in note
    assert f"they share {strict[0]:.2f} on NSMC" in note
    assert f"{strict[1]:.2f} on IMDb and {strict[2]:.2f} on SST; with 0.1 still {shared('imdb-r6'):.2f} on IMDb" in note
    variant = papers.load("lin2017").preset("cpu").variant("imdb-r6-strict")
    chosen = records("lin2017", "imdb-r6-strict")
    assert [each["best_epoch"] for each in chosen] == [2, 1, 2]
    first, second = (f"{epoch * UPDATES_ON_IMDB / variant.settings.penalty_warmup:.2f}" for epoch in (1, 2))
    assert f"keeps its second epoch, when the coefficient of the penalty has reached {second}, " in note
    assert f"with seed 2 its first ({first})" in note
    falls = {"imdb-r6-strict": list[float](), "imdb-r6-free": list[float]()}
    for name, of_seeds in falls.items():
        for each in records("lin2017", name):
            accuracy = [epoch["validation_accuracy"] for epoch in each["history"]]
            of_seeds.append(accuracy[1] - accuracy[2])
    full, free_ones = (f"{min(of_seeds):.1f} to {max(of_seeds):.1f}" for of_seeds in falls.values())
    assert f"in the third epoch, validation falls by {full} points (without it by {free_ones})" in note
    kept = [
        [each["best_epoch"] for each in records("lin2017", f"imdb-{name}")]
        for name in ("r6", "r6-free", "r6-strict", "max")
    ]
    assert [min(map(min, kept[:3])), max(map(max, kept[:3])), {*kept[3]}] == [1, 2, {5, 6}]


def test_which_accuracies_on_imdb_were_published_before_validation_was_split_by_film() -> None:
    """As a note of the readings of `lin2017` has it, from the history of the repository, if it is complete."""
    (note,) = {each.note for each in read_readings("lin2017") if "trained again after commit" in each.note}
    published = published_at(re.search(r"commit (\w+) had published", note)[1], "lin2017")  # type: ignore[index]
    of_test = [row for row in published["rows"] if row["corpus"] == "imdb" and row["split"] == "test"]
    rows = {row["variant"]: row for row in reversed(of_test)}  # the first of a variant is of all reviews
    for name in ("imdb-r1-free", "imdb-r6", "imdb-r6-free", "imdb-r6-strict", "imdb-max"):
        assert f"{rows[name]['mean']:.2f} (`{name}`)" in note and len(rows[name]["per_seed"]) == 2
    (overlap,) = (claim for claim in published["claims"] if claim["id"] == "overlap-imdb")
    assert overlap["verdict"] == "supported" and "`overlap-imdb` as supported" in note


def test_how_many_reviews_have_fewer_tokens_than_hops() -> None:
    """As the script of `lin2017` has it."""
    tokens = arrays("lin2017", "nsmc-r6", "1")["token_counts"]
    text = " ".join(str(lin2017.__doc__).split())
    assert f"Of the test reviews, {100 * (tokens < 6).mean():.0f} % have fewer than six tokens" in text
    assert f"and {100 * (tokens < 10).mean():.0f} % fewer than ten" in text


def test_where_the_baseline_is_better_than_the_network_of_the_post() -> None:
    """As a note of `naver_self_attention` and the Korean document have it; another paper stores the lengths."""
    paper = papers.load("naver_self_attention")
    first = paper.preset("cpu").variant("as-written").settings.max_length
    short = arrays("lin2017", "nsmc-r6", "1")["token_counts"] <= first
    baseline, post = sides("naver_self_attention", "joulin2016/nsmc-bigrams", "as-written")
    difference = mean_right(baseline) - mean_right(post)
    few, many = difference[short].mean(), difference[~short].mean()
    assert f"at most {first} tokens it is {few:.2f} points better than `as-written`" in paper.notes[2]
    assert f"on longer ones {many:.2f}." in paper.notes[2]
    assert (
        f"{first}토큰 이하인 테스트 리뷰에서는 차이가 {few:.2f}%p, 그보다 긴 리뷰에서는 {many:.2f}%p"
        in korean_document()
    )


def test_the_networks_that_read_the_first_30_tokens() -> None:
    """As a note of `naver_self_attention` has it: all but `best` and its variants, of which one does too, and no test
    review is longer than what the others read."""
    limits = {variant.name: variant.settings.max_length for variant in papers.load("naver_self_attention").variants}
    longest = arrays("lin2017", "nsmc-r6", "1")["token_counts"].max()
    for name, limit in limits.items():
        reads_all = name.startswith("best") and name != "best-short"
        assert limit >= longest if reads_all else limit == 30, name
    words = "all networks of this script but `best` and its variants read the first 30 tokens, as `best-short` does"
    assert words in papers.load("naver_self_attention").notes[2]


def test_the_effects_that_the_korean_document_names() -> None:
    found = {claim["id"]: claim for claim in results("naver_self_attention")["claims"]}
    effect = {name: claim["effect"] for name, claim in found.items()}
    text = korean_document()

    def interval(name: str, digits: int = 2) -> str:
        low, high = found[name]["ci95"]
        return f"[{low:+.{digits}f}, {high:+.{digits}f}]"

    assert f"정확도가 {effect['attention']:.2f}%p 낮아집니다. 95 % 구간은 {interval('attention', 3)}" in text
    assert f"내적보다 {effect['additive-dot']:.2f}%p 높습니다" in text
    of_seeds = found["additive-dot"]["per_seed"].values()
    assert f"모두 {min(of_seeds):.2f}–{max(of_seeds):.2f}%p로" in text
    assert f"(−{-effect['masking']:.2f}%p, 구간에 0이" in text
    low, high = found["masking"]["ci95"]
    assert low < 0 < high
    assert f"벡터가 {effect['vectors']:.2f}%p를 더합니다" in text
    assert f"{effect['vectors-best']:.2f}%p를 더합니다(95 % 구간 {interval('vectors-best')})" in text
    assert f"하나보다 {effect['kinds']:.2f}%p 높습니다(95 % 구간 {interval('kinds')})" in text
    assert f"차이가 {effect['ngrams']:+.2f}%p(95 % 구간 {interval('ngrams')})" in text
    assert f"음절을 넣어서 생긴 차이는 {effect['syllables']:+.2f}%p(95 % 구간 {interval('syllables')})" in text
    assert f"드롭아웃의 차이는 {effect['token-dropout']:+.2f}%p(95 % 구간 {interval('token-dropout')})" in text
    undecided = ("ngrams", "syllables", "token-dropout")
    assert {found[name]["verdict"] for name in undecided} == {"inconclusive"}
    assert f"{effect['self-training']:.2f}%p가 높아집니다(시드 5개, 95 % 구간 {interval('self-training')}; " in text
    (student,) = sides("naver_self_attention", "best-self-trained")
    accuracies = [100 * one["right"].mean() for one in student]
    assert f"정확도 {np.mean(accuracies):.2f} ± {np.std(accuracies, ddof=1):.2f})" in text
    assert f"30토큰만 읽으면 {effect['whole-reviews']:.2f}%p, GRU를 32차원으로 줄이면 {effect['width']:.2f}%p" in text
    assert len(found) == 16 and "열여섯 가지 주장을" in text
    assert f"과적합된 모델에서 {effect['readable-agreement']:.2f} 낮습니다" in text
    assert f"엔트로피가 {-effect['readable-entropy']:.2f} 낮음" in text


def test_what_brought_the_accuracy_of_the_best_network() -> None:
    """As a note of `naver_self_attention` has it."""
    found = {claim["id"]: claim for claim in results("naver_self_attention")["claims"]}
    note = papers.load("naver_self_attention").notes[-1]
    most = max(found[name]["ci95"][1] for name in ("syllables", "token-dropout"))
    assert f"neither is worth more than {most:.2f}." in note
    masked, student = (mean_right(side).mean() for side in sides("naver_self_attention", "masked", "best-self-trained"))
    assert f"to `best-self-trained` are {student - masked:.2f} points" in note
    whole, width, vectors, taught = (
        f"{found[name]['effect']:.2f}" for name in ("whole-reviews", "width", "vectors-best", "self-training")
    )
    assert f"whole reviews +{whole}, 160 units instead of 32 +{width}, word vectors +{vectors}, " in note
    assert f"self-training +{taught}." in note
    parts = ("whole-reviews", "width", "vectors-best", "self-training", "syllables", "token-dropout")
    assert [found[name]["verdict"] for name in parts] == ["supported"] * 4 + ["inconclusive"] * 2


@pytest.mark.slow
@pytest.mark.corpus("nsmc")
def test_how_many_reviews_self_training_reads() -> None:
    """As a note of `naver_self_attention` has it."""
    preset = papers.load("naver_self_attention").preset("cpu")
    labelled, unlabelled = len(naver.prepare("nsmc").train), len(naver_unlabelled.prepare("nsmc-raw").train)
    student, alone = (preset.variant(name).recipe.epochs for name in ("best-self-trained", "best-vectors"))
    times = student * (labelled + unlabelled) / (alone * labelled)
    note = papers.load("naver_self_attention").notes[-2]
    assert f"reads {unlabelled:,} further reviews".replace(",", " ") in note
    assert f"and {times:.1f} times as many reviews in all epochs together" in note


def test_the_accuracy_of_three_kinds_of_networks_together() -> None:
    """As a note of `naver_self_attention` has it."""
    (claim,) = (one for one in papers.load("naver_self_attention").claims if one.id == "kinds")
    kinds = of_shared_seeds(*sides("naver_self_attention", *claim.variants))
    by_seed = [averaged_right(*([one] for one in of_seed)).mean() for of_seed in zip(*kinds, strict=True)]
    seeds = sides("naver_self_attention", "best-vectors-averaged")[0]
    note = papers.load("naver_self_attention").notes[3]
    three = f"{np.mean(by_seed):.2f} ± {np.std(by_seed, ddof=1):.2f}"
    assert f"It is {three}; three seeds of `best-vectors`, averaged, have {mean_right(seeds).mean():.2f}." in note
    assert f"정확도가 {three}로" in korean_document()
    assert f"평균하면 {three}%입니다" in (ROOT / "README.ko.md").read_text("utf-8")


def test_the_matrix_that_the_korean_document_describes() -> None:
    path = folder("naver_self_attention", "as-written", "1") / "examples.json"
    example = json.loads(path.read_text(encoding="utf-8"))["featured"]
    per_cent, tokens = 100 * np.array(example["matrix"]), example["tokens"]
    sums, text = per_cent.sum(axis=1), korean_document()
    first, second = tokens.index("정말로"), tokens.index("수준")
    assert (np.argsort(-per_cent)[:, :2] == [first, second]).all(), "of every query"
    named = [f"`{tokens[at]}`({per_cent[:, at].min():.0f}–{per_cent[:, at].max():.0f} %)" for at in (first, second)]
    assert f"모든 쿼리가 {named[0]}와 {named[1]}에 주목합니다" in text
    assert f"평균 {100 - sums.mean():.0f} %는 패딩에" in text
    assert f"100이 아니라 {sums.min():.0f}–{sums.max():.0f}(평균 {sums.mean():.0f})" in text
    assert f"{100 * max(example['probabilities']):.0f} %의 확률로 부정" in text


def test_what_all_choices_of_a_tutorial_cost() -> None:
    """As a note of `naver_preprocessing` has it."""
    names = ("tutorial", "clean-hangul-only", "okt-stem")
    (base,) = sides("naver_preprocessing", "base")
    whole, hangul, stemmed = (
        float((mean_right(base) - mean_right(side)).mean()) for side in sides("naver_preprocessing", *names)
    )
    note = papers.load("naver_preprocessing").notes[-2]
    assert f"`tutorial` is {whole:.2f} points below `base`" in note
    assert f"everything but Hangul costs {hangul:.2f} and stemmed Okt {stemmed:.2f}." in note
    (claim,) = (each for each in results("naver_preprocessing")["claims"] if each["id"] == "stemming")
    low, high = claim["ci95"]
    korean = (ROOT / "docs" / "naver.ko.md").read_text(encoding="utf-8")
    assert f"({claim['effect']:+.2f}%p [{low:+.2f}, {high:+.2f}])" in korean and f"{whole:.2f}%p 낮아집니다" in korean


def test_how_far_six_hops_with_penalty_1_are_below_max_pooling() -> None:
    """As a note of `lin2017` has it, which says that no claim is made about it."""
    strict, pooled = (np.mean([one["right"].mean() for one in side]) for side in sides("lin2017", *STRICT))
    note = papers.load("lin2017").notes[1]
    assert f"with a penalty of 1 they are {100 * (pooled - strict):.2f} points below it (no claim)." in note
    assert not [claim.id for claim in papers.load("lin2017").claims if set(STRICT) <= set(claim.variants)]


def test_what_the_networks_on_imdb_are_worth() -> None:
    """As a note of `lin2017` has it."""
    best = max(row["mean"] for row in results("lin2017")["rows"] if row["corpus"] == "imdb" and row["split"] == "test")
    (bigrams,) = sides("lin2017", "joulin2016/imdb-bigrams-400")
    assert best < 100.0 * np.mean([one["right"].mean() for one in bigrams])
    words = "On IMDb, bigrams are better than all networks, also on the same 400 words (no claim;"
    assert words in papers.load("lin2017").notes[1]


def test_which_epochs_the_networks_on_five_classes_keep() -> None:
    """As a note of `cheng2016` has it."""
    trained = [record for name in ("sst5-lstm", "sst5-lstmn") for record in records("cheng2016", name)]
    assert {record["best_epoch"] for record in trained} == {2, 3}
    assert {len(record["history"]) for record in trained} == {8}
    assert "of eight epochs, those on five classes keep the second or third." in papers.load("cheng2016").notes[-1]


def test_what_a_short_tape_is_worth() -> None:
    """As a note of the table has it."""
    test, histories = {}, {}
    for variant in ("lstm", "lstmn"):
        (side,) = sides("cheng2016", variant)
        test[variant] = [perplexity(one["likelihood"].sum(axis=0)) for one in side]
        histories[variant] = np.array(
            [[epoch["validation_perplexity"] for epoch in each["history"]] for each in records("cheng2016", variant)]
        )
    gain = np.mean(test["lstm"]) - np.mean(test["lstmn"])
    behind = (histories["lstmn"] - histories["lstm"]).mean(axis=0)
    note = papers.load("cheng2016").notes[0]
    assert f"lowers the mean test perplexity by {gain:.2f}," in note
    assert gain < min(np.ptp(values) for values in test.values())
    assert behind.min() > 0
    by_seed = (histories["lstmn"] - histories["lstm"])[:, -1]
    assert f"by {behind[-1]:.1f} after the last (" in note and len(by_seed) == 2
    assert f"({by_seed[0]:.1f} and {by_seed[1]:.1f} by seed)" in note


def test_how_long_the_lstm_needs_with_the_recipe_of_the_table() -> None:
    """As a note of `cheng2016` has it; what SGD reaches is from its description, since short runs are not kept."""
    histories = [[epoch["validation_perplexity"] for epoch in one["history"]] for one in records("cheng2016", "lstm")]
    reached = 1 + int(np.argmax(np.round(np.mean(histories, axis=0)) <= 121))
    assert "the LSTM (121 against 135 after three epochs)" in (cheng2016.__doc__ or "")
    note = next(note for note in papers.load("cheng2016").notes if "SGD" in note)
    assert reached == 8 and "of 121 in three epochs, for which this recipe needs eight," in note
