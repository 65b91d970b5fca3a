"""Numbers in notes, docstrings and documents follow from the committed outcomes."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from preprocessing import naver
from preprocessing.corpora import find
from preprocessing.pipeline.ragged import strings_in
from preprocessing.text.pairs import films, pair_rows
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions import cheng2016, kim2017, lin2017, mikolov2013, naver_self_attention, xu2015
from reproductions.protocol import papers
from reproductions.protocol.readings import read_readings
from reproductions.tasks.captioning.meteor import meteor
from reproductions.tasks.translation.results import LENGTHS
from reproductions.tasks.translation.trainings import SMALL_LONGER
from tests.reproductions import published_images as images
from tests.reproductions.published_numbers import (
    arrays,
    averaged_right,
    better,
    bleu,
    folder,
    halves,
    long_minus_short,
    mean_array,
    mean_of,
    mean_right,
    perplexity,
    published_at,
    records,
    results,
    sides,
    without_missing,
)
from tests.reproductions.support import ROOT

FRENCH = ("reversed", "forward")
"""Variants of `sutskever2014`."""
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
    english, korean = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.ko.md"))
    assert f"[{spread} points](" in english and f"the two word lists by {words};" in english
    assert f"[{spread}%p](" in korean and f"단어 목록 둘끼리는 {words}%p" in korean
    rows = [row for row in results("naver_preprocessing")["rows"] if row["split"] == "test"]
    widest = max(row["std"] for row in rows if row["metric"] == "accuracy")
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


def test_what_removing_stop_words_costs_the_stronger_network() -> None:
    """As a note of `naver_preprocessing` has it."""
    names = ("base", "stop-wikidocs-mecab", "strong", "strong-stop-wikidocs-mecab", "strong-stop-tags")
    base, listed, strong, strong_listed, tagged = (
        mean_right(side).mean() for side in sides("naver_preprocessing", *names)
    )
    note, preset = papers.load("naver_preprocessing").notes[5], papers.load("naver_preprocessing").preset("cpu")
    length = preset.variant("strong").settings.max_length
    assert f"stronger network ({length} tokens), removing stop words by tag costs {strong - tagged:.2f} points" in note
    assert (
        f"tutorial {strong - strong_listed:.2f}. With the post's network this list gains {listed - base:.2f}," in note
    )


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
    assert f"in the third, validation falls by {full} points (without it by {free_ones})" in note
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


def korean_document() -> str:
    return " ".join((ROOT / "docs" / "naver.ko.md").read_text(encoding="utf-8").split())


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
    """As a note of `naver_self_attention` has it: all but `best` and its variants, and no test review is longer than
    what these read."""
    limits = {variant.name: variant.settings.max_length for variant in papers.load("naver_self_attention").variants}
    longest = arrays("lin2017", "nsmc-r6", "1")["token_counts"].max()
    for name, limit in limits.items():
        assert limit >= longest if name.startswith("best") else limit == 30, name
    words = "all networks but `best` and its variants read the first 30 tokens"
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
    assert found["ngrams"]["verdict"] == "inconclusive" and len(found) == 11 and "열한 가지 주장을" in text
    assert f"과적합된 모델에서 {effect['readable-agreement']:.2f} 낮습니다" in text
    assert f"엔트로피가 {-effect['readable-entropy']:.2f} 낮음" in text


def test_the_accuracy_of_three_kinds_of_networks_together() -> None:
    """As a note of `naver_self_attention` has it."""
    (claim,) = (one for one in papers.load("naver_self_attention").claims if one.id == "kinds")
    kinds = sides("naver_self_attention", *claim.variants)
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


def test_how_many_near_copies_stay_in_the_text_of_the_word_vectors() -> None:
    """As notes, scripts and the Korean document have it: what `devlin2018` leaves out in addition."""
    (numbers,) = re.findall(
        r"then ([\d ]+) and [\d ]+ with the same letters and digits, and ([\d ]+) and",
        " ".join(papers.load("devlin2018").all_notes),
    )
    thousands = round(sum(int(number.replace(" ", "")) for number in numbers) / 1_000)
    number = f"about {thousands} 000"
    assert number in papers.load("naver_self_attention").notes[3]
    assert number in str(mikolov2013.__doc__) and number in str(naver_self_attention.__doc__)
    assert f"약 {thousands},000건" in korean_document()


def test_the_effect_of_subsampling_with_the_seed_that_both_have() -> None:
    """As a note of `mikolov2013` has it."""
    (claim,) = (claim for claim in results("mikolov2013")["claims"] if claim["id"] == "subsampling")
    first, second = sides("mikolov2013", "skip-gram", "skip-gram-all")
    paired = better(first[:1], second, "rare", interval=False)[0]
    note = papers.load("mikolov2013").notes[-1]
    assert len(first) == 2 and len(second) == 1 and paired == pytest.approx(claim["per_seed"]["1"])
    assert f"The effect of `subsampling`, {claim['effect']:+.2f}," in note
    assert note.endswith(f"with that seed alone it is {paired:+.2f}.")


def test_why_bleu_on_subwords_is_lower() -> None:
    """As a note of `translation_preprocessing` has it."""
    (side,) = sides("translation_preprocessing", "base")
    pieces, words = (np.mean([one[name].sum(axis=0) for one in side], axis=0) for name in ("bleu_pieces", "bleu"))
    note = papers.load("translation_preprocessing").notes[-1]
    right = f"{100 * pieces[0] / pieces[4]:.0f} % of the subwords of a translation are in its reference, and "
    assert f"{right}{100 * words[0] / words[4]:.0f} % of the words" in note
    lengths = f"translations have {100 * pieces[8] / pieces[9]:.0f} % as many subwords as the references, and "
    assert f"{lengths}{100 * words[8] / words[9]:.0f} % as many words" in note


def test_how_words_differ_from_subwords() -> None:
    """As notes of `translation_preprocessing` have it."""
    base, words = sides("translation_preprocessing", "base", "words")
    chrf, characters, length = [], [], []
    for name, side in (("base", base), ("words", words)):
        chrf.append(np.mean([one["metrics"]["chrf"] for one in records("translation_preprocessing", name)]))
        characters.append(np.mean([bleu(one["bleu_characters"].sum(axis=0)) for one in side]))
        length.append(sum(one["bleu"][:, 8].sum() for one in side) / sum(one["bleu"][:, 9].sum() for one in side))
    texts = [text.split() for one in words for text in strings_in(one, "text")]
    unknown = np.array([sum("<unk>" in word for word in text) for text in texts])
    notes = papers.load("translation_preprocessing").notes
    less = f"{chrf[0] - chrf[1]:.1f} points less chrF and {characters[0] - characters[1]:.1f} points less BLEU"
    assert less in notes[2]
    share = 100 * unknown.sum() / sum(one["bleu"][:, 8].sum() for one in words)
    assert f"{share:.1f} % of the words of its translations are the unknown token" in notes[2]
    assert f"which {100 * (unknown > 0).mean():.0f} % of the sentences have" in notes[2]
    assert (
        f"{100 * length[1]:.0f} % as many words as the references, those of `base` {100 * length[0]:.0f} %" in notes[2]
    )
    longer = next(row for row in results("bahdanau2014")["rows"] if row["variant"] == "search-all")
    assert f"has {longer['mean']:.2f} BLEU" in notes[0]


@cache
def pretraining_text() -> Any:
    """The prepared text of `devlin2018`; near copies among all pairs of the crawl take minutes."""
    preset = papers.load("devlin2018").preset("cpu")
    return preset.task("pretraining").prepare(preset.variant("pretraining").settings).prepared


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.corpus("nsmc")
def test_how_many_reviews_are_left_out_of_the_text_for_pretraining() -> None:
    """As a note of `devlin2018` has it, from the card."""
    card = pretraining_text().card
    dropped = {
        step["name"]: [f"{one['rows']:,}".replace(",", " ") for one in step["dropped"]] for step in card["steps"]
    }
    (test, validation), near = dropped["leave-out"], dropped["leave-out-near-copies"]
    note = papers.load("devlin2018").all_notes[0]
    assert f"{test} whose text is in NSMC's test split and {validation} whose text is in our validation split" in note
    assert f"{near[0]} and {near[2]} with the same letters and digits, and {near[1]} and {near[3]} near copies" in note


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.corpus("nsmc")
def test_how_many_test_pairs_are_of_two_films() -> None:
    """As a note of `devlin2018` has it, with the pairs that its outcomes are measured on."""
    test = pretraining_text().test
    generator = np.random.RandomState(1)
    generator.randint(0, 2**31, size=2)  # the key of the masks
    apart = 100.0 * (~pair_rows(films(test.row_id), generator).together).mean()
    ((one,),) = sides("devlin2018", "pretraining")
    note = papers.load("devlin2018").notes[0]
    assert len(test) // 2 == len(one["told"])
    assert f"{apart:.2f} % of the test pairs are of two films" in note
    assert f"`pretraining` has {100.0 * one['told'].mean():.2f} % accuracy" in note


def test_how_much_longer_an_update_took_on_the_slower_machine() -> None:
    """As a note of `devlin2018` has it."""
    spent = {name: records("devlin2018", name)[0]["history"] for name in ("pretraining", "pretraining-30")}
    by_update = {name: history[-1]["cpu_seconds"] / len(history) for name, history in spent.items()}  # 1 000 updates
    ratio = by_update["pretraining"] / by_update["pretraining-30"]
    note = papers.load("devlin2018").notes[0]
    assert f"`pretraining` (`fast`) took {ratio:.1f} times as long as in `pretraining-30`" in note


def test_what_all_choices_of_a_tutorial_cost() -> None:
    """As a note of `naver_preprocessing` has it."""
    names = ("tutorial", "clean-hangul-only", "okt-stem")
    (base,) = sides("naver_preprocessing", "base")
    whole, hangul, stemmed = (
        float((mean_right(base) - mean_right(side)).mean()) for side in sides("naver_preprocessing", *names)
    )
    note = papers.load("naver_preprocessing").notes[-1]
    assert f"`tutorial` is {whole:.2f} points below `base`" in note
    assert f"everything but Hangul costs {hangul:.2f} and stemmed Okt {stemmed:.2f}." in note
    (claim,) = (each for each in results("naver_preprocessing")["claims"] if each["id"] == "stemming")
    low, high = claim["ci95"]
    korean = (ROOT / "docs" / "naver.ko.md").read_text(encoding="utf-8")
    assert f"({claim['effect']:+.2f}%p [{low:+.2f}, {high:+.2f}])" in korean and f"{whole:.2f}%p 낮아집니다" in korean


def test_how_large_the_step_to_global_attention_is() -> None:
    """As a note of the table has it."""
    effects = {claim["id"]: claim["effect"] for claim in results("luong2015")["claims"]}
    note = papers.load("luong2015").notes[-1]
    assert f"largest step, as in the paper: {effects['attention']:+.1f} BLEU (there +2.8)" in note
    assert effects["attention"] == max(effects.values())
    assert f"Dropout costs {-effects['dropout']:.1f} BLEU" in note
    assert f"dot is better than general by {effects['dot-global']:.2f} BLEU (there 1.3)" in note
    of = of_test(results("luong2015"))
    assert max(of[name] for name in of if name.startswith("local-")) < of["dot"]
    assert of["concat"] == max(value for name, value in of.items() if name != "best")
    (before,) = (claim for claim in published_at("fcb4f2d2", "luong2015")["claims"] if claim["id"] == "unknown")
    assert f"it was of `feed`: {before['effect']:+.2f}." in note


def test_what_the_higher_learning_rate_gains() -> None:
    """As a note of `luong2015` has it."""
    before = published_at("8fca046e", "luong2015")
    note, now, of = papers.load("luong2015").notes[0], of_test(results("luong2015")), of_test(before)
    names = [variant.name for variant in papers.load("luong2015").preset("cpu").variants if variant.name != "best"]
    assert ", ".join(f"`{name}` {of[name]:.2f}" for name in names) in note
    assert all(now[name] > of[name] for name in names)
    history = of_epochs(records("luong2015", "dropout")[0])
    (old,) = (
        row["per_seed"]["1"] for row in before["rows"] if (row["variant"], row["split"]) == ("dropout", "validation")
    )
    assert f"`dropout` has {max(history):.1f} BLEU there instead of {old:.1f} (seed 1" in note


def test_how_long_the_transformers_trained() -> None:
    """As a note of `vaswani2017` has it."""
    fast, slow = (
        [round(one["history"][-1]["cpu_seconds"] / 60) for one in records("vaswani2017", name)]
        for name in ("transformer", "rnnsearch")
    )
    note = papers.load("vaswani2017").notes[1]
    assert f"with seed 3, both side by side: `transformer` {fast[2]}, `rnnsearch` {slow[2]}; with seeds 1 and 2" in note
    assert f": {fast[0]} and {fast[1]}, {slow[0]} and {slow[1]}. `time`" in note
    (claim,) = (claim for claim in results("vaswani2017")["claims"] if claim["id"] == "time")
    assert claim["verdict"] == "inconclusive" and claim["measure"].endswith("at the minutes per epoch of seed 3")


def test_what_twice_the_epochs_gain_the_small_transformer() -> None:
    """As a note of `vaswani2017` has it."""
    twice, small = (bleu(side[0]["bleu"].sum(axis=0)) for side in sides("vaswani2017", "epochs-28", "small"))
    note = papers.load("vaswani2017").notes[0]
    assert f"`epochs-28` has {twice - small:.1f} BLEU more than `small` (seed 1)" in note


def test_how_much_worse_learned_positions_are() -> None:
    """As a note of `vaswani2017` has it."""
    (claim,) = (claim for claim in results("vaswani2017")["claims"] if claim["id"] == "positions")
    note = papers.load("vaswani2017").notes[0]
    assert f"Learned positions are worse than sinusoids by {-claim['effect']:.2f} BLEU" in note
    assert claim["ci95"][1] < 0 and claim["verdict"] == "inconclusive"


def test_a_claim_no_longer_exceeds_the_threshold_of_one_seed() -> None:
    """As a note of `sutskever2014` has it. The deviation is that of a difference."""
    (claim,) = (claim for claim in results("sutskever2014")["claims"] if claim["id"] == "ensemble")
    (note,) = (note for note in papers.load("sutskever2014").notes if "until the threshold" in note)
    assert "`ensemble`" in note and 0 < claim["effect"] < 3 * claim["seed_deviation"]
    (before,) = (claim for claim in published_at("6779e256", "sutskever2014")["claims"] if claim["id"] == "ensemble")
    assert (claim["verdict"], before["verdict"]) == ("not judged", "supported")


def test_what_the_networks_on_imdb_are_worth() -> None:
    """As a note of `lin2017` has it."""
    best = max(row["mean"] for row in results("lin2017")["rows"] if row["corpus"] == "imdb" and row["split"] == "test")
    (bigrams,) = sides("lin2017", "joulin2016/imdb-bigrams-400")
    assert best < 100.0 * np.mean([one["right"].mean() for one in bigrams])
    assert (
        "On IMDb, bigrams are better than every network here, also on the same 400 words;"
        in papers.load("lin2017").notes[1]
    )


def test_how_many_reviews_select_the_epoch_with_few_labels() -> None:
    """As a note of `devlin2018` has it: the accuracies of validation are multiples of this."""
    for variant in ("bert-100", "vectors-100"):
        for one in records("devlin2018", variant):
            right = np.array([epoch["validation_accuracy"] for epoch in one["history"]]) / 100 * 15_015
            np.testing.assert_allclose(right, np.round(right), atol=1e-6)
    assert "selected on all 15 015 validation reviews" in papers.load("devlin2018").notes[2]


def test_how_the_hybrid_compares_with_a_residual_network_of_its_size() -> None:
    """As a note of `dosovitskiy2020` has it."""
    hybrid, resnet = sides("dosovitskiy2020", "hybrid", "resnet")
    assert len(resnet) == 1 and mean_right(hybrid).mean() < mean_right(resnet).mean()
    assert (
        "`hybrid` is not better than `resnet` of equal size and time (one seed, no claim)"
        in papers.load("dosovitskiy2020").notes[0]
    )


def test_how_bleu_rises_in_the_smaller_trainings() -> None:
    """As a note of `luong2015` has it."""
    variants = [variant for variant in papers.load("luong2015").preset("cpu").variants if variant.name != "best"]
    histories = [of_epochs(record) for variant in variants for record in records("luong2015", variant.name)]
    assert {len(history) for history in histories} == {8}
    rise = max(history[-1] - history[-3] for history in histories)
    assert f"by at most {rise:.1f} in the last two epochs" in papers.load("luong2015").notes[0]


def of_test(published: dict[str, Any]) -> dict[str, float]:
    """Test BLEU of each variant."""
    rows = published["rows"][::-1]  # the first of a variant is that without unknown words replaced
    return {row["variant"]: row["mean"] for row in rows if (row["split"], row["metric"]) == ("test", "bleu")}


def test_that_the_smaller_networks_of_other_domains_have_not_converged() -> None:
    """As a note of `translation_domains` has it."""
    names = ("plain", "dropout", "smoothing", "averaging", "all")
    trained = [one["history"] for name in names for one in records("translation_domains", name)]
    validation = np.array([[epoch["validation_bleu"] for epoch in history] for history in trained])
    second_half, last_two = validation[:, -1] - validation[:, 3], validation[:, -1] - validation[:, -3]
    note = next(each for each in papers.load("translation_domains").notes if "The smaller networks" in each)
    assert f"The smaller networks have {validation.shape[1]} epochs:" in note
    assert f"rises by {second_half.min():.1f} to {second_half.max():.1f} points in the second half" in note
    assert f"by at most {last_two.max():.1f} in the last two epochs" in note
    of_captions = {
        row["variant"]: row["mean"]
        for row in results("translation_domains")["rows"][::-1]
        if row["split"] == "test" and row["corpus"] == "multi30k en-fr" and row["metric"] == "bleu"
    }
    assert f"({of_captions['dropout']:.2f} against {of_captions['plain']:.2f})" in note
    assert f"all three together have the lowest ({of_captions['all']:.2f})" in note
    assert of_captions["all"] == min(of_captions[name] for name in names)
    effects = {claim["id"]: claim["effect"] for claim in results("translation_domains")["claims"]}
    assert "with every seed" in note and effects["chosen"] == effects["smoothing"] > 0


def test_how_much_of_the_claim_on_news_is_length() -> None:
    """As a note of `translation_domains` has it: KorSTS with its sentences weighted to the lengths of news."""
    of_seeds = []
    (side,) = sides("translation_domains", "korean")
    for one in side:
        weighted, ends = np.zeros(10), list[float]()
        for low, high in LENGTHS:
            here = [(one[name] >= low) & (one[name] <= (high or np.inf)) for name in ("words_korsts", "words_news")]
            counts = one["bleu_korsts"][here[0]].sum(axis=0)
            weighted += counts * here[1].mean() / here[0].mean()
            ends.append(bleu(counts))
        whole, news = (bleu(one[name].sum(axis=0)) for name in ("bleu_korsts", "bleu_news"))
        of_seeds.append([ends[0], ends[-1], bleu(weighted), news, bleu(weighted) / 2 - news, whole / 2 - news])
    short, long, korsts, news, margin, before = np.mean(of_seeds, axis=0)
    note = next(each for each in papers.load("translation_domains").notes if "The threshold of one half" in each)
    assert f"from {short:.1f} up to {LENGTHS[0][1]} words to {long:.1f} above {LENGTHS[-1][0] - 1}" in note
    assert f"KorSTS has {korsts:.1f} BLEU, news {news:.1f}: `news` would hold by {margin:.1f} points" in note
    assert f"instead of {before:.1f} (" in note


def of_epochs(one: dict[str, Any]) -> list[float]:
    """Validation BLEU of each epoch."""
    return [epoch["validation_bleu"] for epoch in one["history"]]


def test_what_rnnsearch_loses_on_joined_captions() -> None:
    """As a note of the table has it."""

    def joined_captions(variant: str) -> tuple[list[float], list[float], list[float]]:
        """BLEU of single captions and of three joined, and length of the translations of these by that of the
        references, of each seed."""
        (side,) = sides("bahdanau2014", variant)
        single, three = ([one[name].sum(axis=0) for one in side] for name in ("bleu", "joined_3"))
        return [bleu(one) for one in single], [bleu(one) for one in three], [one[8] / one[9] for one in three]

    note = next(note for note in papers.load("bahdanau2014").notes if "gets worse on long sentences" in note)
    two, small, plain = (joined_captions(name) for name in ("rnnsearch", "search-all", "encdec-all"))
    before, after, shares = (
        " and ".join(f"{value:.{digits}f}" for value in two[n]) for n, digits in enumerate((1, 1, 2))
    )
    assert f"from {before} to {after} (`rnnsearch`, seeds 1 and 2)" in note
    assert len(small[0]) == len(plain[0]) == 3, "the note says: means of three seeds"
    for of_seeds, name in ((small, "search-all"), (plain, "encdec-all")):
        assert f"from {np.mean(of_seeds[0]):.1f} to {np.mean(of_seeds[1]):.1f} (`{name}`" in note
    assert f"they have {shares}, {np.mean(small[2]):.2f}, and {np.mean(plain[2]):.2f} of their length" in note


@pytest.mark.parametrize(("paper", "trainings"), [("bahdanau2014", 12), ("cho2014", 9)])
def test_how_bleu_rises_in_the_longer_trainings_of_small_networks(paper: str, trainings: int) -> None:
    """As a note of the table has it."""
    small = [variant for variant in papers.load(paper).preset("cpu").variants if variant.recipe == SMALL_LONGER]
    histories = [of_epochs(one) for variant in small for one in records(paper, variant.name)]
    assert len(histories) == trainings == 3 * len(small)
    second_half = [max(history) - max(history[:8]) for history in histories]
    last_four = [max(history) - max(history[:12]) for history in histories]
    note = papers.load(paper).notes[0]
    assert f"rises by {min(second_half):.1f} to {max(second_half):.1f} points in the second half" in note
    assert f"by at most {max(last_four):.1f} in the last four epochs" in note


def test_what_the_small_networks_of_cho2014_have_and_had_with_8_epochs() -> None:
    """As a note of the table has it."""
    before = published_at("ac2c668a", "cho2014")
    assert {claim["id"]: claim["verdict"] for claim in before["claims"]} == dict.fromkeys(
        ("everywhere", "maxout"), "supported"
    )
    bleus, note = of_test(before), papers.load("cho2014").notes[0]
    assert f"`encdec-small` had {bleus['encdec-small']:.2f} BLEU, `start-only` {bleus['start-only']:.2f}, " in note
    assert f"`plain-readout` {bleus['plain-readout']:.2f}; both claims were supported." in note
    (side,) = sides("cho2014", "start-only")
    first, second, third = (f"{bleu(one['bleu'].sum(axis=0)):.2f}" for one in side)
    assert f"`start-only` differ most, with {first}, {second} and {third} BLEU" in papers.load("cho2014").notes[1]


def test_what_the_small_networks_had_with_8_epochs() -> None:
    """As a note of the table has it."""
    before = published_at("8b54ab9d", "bahdanau2014")
    verdicts = {claim["id"]: claim["verdict"] for claim in before["claims"]}
    assert verdicts["attention"] == verdicts["attention-short"] == "supported"
    note = papers.load("bahdanau2014").notes[0]
    bleus = of_test(before)
    assert f"`search-all` had {bleus['search-all']:.2f} BLEU, `encdec-all` {bleus['encdec-all']:.2f}" in note
    assert {name for name, verdict in verdicts.items() if verdict == "not judged"} == {
        "short-beats-all",
        "length",
        "length-share",
        "length-captions",
    }


def test_how_monotone_alignments_of_korean_and_german_are() -> None:
    """As a note of the table has it."""
    order = {}
    for name in ("rnnsearch-ko-en", "rnnsearch-en-ko", "rnnsearch"):
        (side,) = sides("bahdanau2014", name)
        order[name] = f"{np.mean([np.nanmean(one['monotone']) for one in side]):.2f}"
        assert name == "rnnsearch" or len(side) == 3, "the note says: three seeds"
    assert any(
        f"is {order['rnnsearch-ko-en']} from Korean and {order['rnnsearch-en-ko']} to Korean (means of three seeds), "
        f"but {order['rnnsearch']} from English to German" in note
        for note in papers.load("bahdanau2014").notes
    )


def test_how_fast_networks_without_attention_learn() -> None:
    """As a note of `sutskever2014` has it."""
    names = ("sutskever2014/reversed", "sutskever2014/forward", "bahdanau2014/rnnsearch-fr")
    histories = [np.mean([of_epochs(one) for one in records(*name.split("/"))], axis=0) for name in names]
    assert [len(history) for history in histories] == [5, 5, 10]
    first, rise = [f"{one[0]:.1f}" for one in histories], [f"{one[-1] - one[-3]:.1f}" for one in histories]
    note = papers.load("sutskever2014").notes[0]
    assert f"Validation BLEU is {first[0]} (`reversed`) and {first[1]} (`forward`) after the first of five" in note
    assert f"but {first[2]} for `bahdanau2014/rnnsearch-fr`" in note
    assert f"these three rise by {rise[0]}, {rise[1]} and {rise[2]} points" in note


def test_how_much_worse_other_networks_are_on_captions_of_more_than_12_words() -> None:
    """As a note of `sutskever2014` has it."""
    loss = []
    for side in sides("sutskever2014", "reversed", "bahdanau2014/rnnsearch-fr", "cho2014/encdec"):
        loss.append(f"{-np.mean([long_minus_short(sums.sum(axis=0)) for sums in halves(side)]):.1f}")
    note = next(note for note in papers.load("sutskever2014").notes if note.startswith("`long`"))
    assert f"lower by {loss[0]} points for `reversed`, by {loss[1]} for `bahdanau2014/rnnsearch-fr`" in note
    assert f"by {loss[2]} for `cho2014/encdec`" in note


@pytest.mark.parametrize("suffix", ["", "-ensemble"])
def test_which_numbers_of_smaller_networks_were_published(suffix: str) -> None:
    """As notes of `sutskever2014` have it, from the history of the repository, if it is complete."""
    note = papers.load("sutskever2014").notes[3 if suffix else 2]
    commit = re.search(r"Commit (\w+) published", note)[1]  # type: ignore[index]
    by_beam = {
        (row["variant"], beam): f"{row['mean']:.2f}"
        for row in published_at(commit, "sutskever2014")["rows"]
        for beam in (12, 2, 1)
        if row["metric"] == "bleu" and f"; beam {beam}, " in row["signature"]
    }
    for name in FRENCH:
        twelve, two, one = (by_beam[name + suffix, beam] for beam in (12, 2, 1))
        assert (f"{twelve}, {two} and {one} (`{name}`)" if suffix else f"{twelve} (`{name}`)") in note


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
    costs = by_seed([cost - lstm for cost in attended], "{:.3f}")
    assert f"With lambda 0, 10 and 20 the error is {costs} degrees higher" in note
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


def test_how_many_parameters_direct_connections_have() -> None:
    """As a note of `bengio2003` has it."""
    counts = {row["variant"]: row["parameters"] for row in results("bengio2003")["rows"]}
    more = f"{counts['n5-direct'] - counts['n5']:,}".replace(",", " ")
    assert f"(W = C Q, {more} parameters)" in papers.load("bengio2003").notes[0]
