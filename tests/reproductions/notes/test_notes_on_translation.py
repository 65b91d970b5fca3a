"""Notes on translation: their numbers follow from the committed outcomes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from preprocessing.pipeline.ragged import strings_in
from reproductions.protocol import papers
from reproductions.tasks.translation.article_nouns import article_nouns
from reproductions.tasks.translation.results import LENGTHS
from reproductions.tasks.translation.trainings import SMALL_LONGER
from tests.reproductions.published_numbers import (
    arrays,
    bleu,
    halves,
    long_minus_short,
    published_at,
    records,
    results,
    sides,
)

FRENCH = ("reversed", "forward")
"""Variants of `sutskever2014`."""


def test_what_the_ways_to_count_and_to_train_do_to_one_number() -> None:
    """As a note of `translation_preprocessing` has it."""
    rows = [row for row in results("translation_preprocessing")["rows"] if row["split"] == "test"]
    base = {f"{row['metric']} {row['signature']}": row["mean"] for row in rows if row["variant"] == "base"}
    lowered = [value for name, value in base.items() if name.startswith("sacrebleu") and "case:lc" in name]
    (cased,) = (value for name, value in base.items() if name.startswith("sacrebleu") and "case:mixed" in name)
    (pieces,) = (value for name, value in base.items() if name.startswith("bleu") and "own tokens" in name)
    note, of = papers.load("translation_preprocessing").notes[0], of_test(results("translation_preprocessing"))
    tokenizers = f"`base` have {min(lowered):.2f} to {max(lowered):.2f} by the tokenizer, "
    assert f"{tokenizers}{cased:.2f} if case counts, and {pieces:.2f} on subwords." in note
    most = max(abs(of[name] - of["base"]) for name in ("words", "cased", "truecased", "bpe-10000"))
    pieces, merges = (abs(of[name] - of["base"]) for name in ("sentencepiece-4000", "bpe-1000"))
    assert (
        f"with 10 000 merges (two seeds), BLEU differs by at most {most:.1f}, with SentencePiece by {pieces:.1f}"
        in note
    )
    assert f"with 1 000 merges by {merges:.1f}." in note


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
    assert f"it was about `feed`: {before['effect']:+.2f}." in note


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
    first, second, third = (f"{both[0]} and {both[1]} with seed" for both in zip(fast, slow, strict=True))
    assert f"{first} 1, {second} 2 (beside other work), {third} 3 (side by side)." in note
    (claim,) = (claim for claim in results("vaswani2017")["claims"] if claim["id"] == "time")
    assert claim["verdict"] == "inconclusive" and claim["measure"].endswith("at the minutes per epoch of seed 3")


def test_what_twice_the_epochs_gain_the_small_transformer() -> None:
    """As a note of `vaswani2017` has it."""
    twice, small = (bleu(side[0]["bleu"].sum(axis=0)) for side in sides("vaswani2017", "epochs-28", "small"))
    note = papers.load("vaswani2017").notes[0]
    assert f"`epochs-28` has {twice - small:.1f} BLEU more than `small` with the same seed" in note


def test_what_short_translations_cost() -> None:
    """As a note of `vaswani2017` has it: BLEU without the brevity penalty, minus BLEU."""

    def costs(variant: str) -> np.ndarray:
        (side,) = sides("vaswani2017", variant)
        totals = [one["bleu"].sum(axis=0) for one in side]
        unpenalised = [100 * np.exp(np.log(each[:4] / each[4:8]).mean()) for each in totals]
        return np.array(unpenalised) - [bleu(each) for each in totals]

    (note,) = (note for note in papers.load("vaswani2017").notes if "was not tuned" in note)
    french = f"{costs('transformer-fr').mean():.1f} points in `transformer-fr`, {costs('rnnsearch-fr').mean():.1f} in "
    small, german = costs("small"), np.concatenate([costs("transformer"), costs("rnnsearch")])
    assert f"{french}`rnnsearch-fr`, {small.min():.1f} to {small.max():.1f} in `small`, by seed, " in note
    assert f"but at most {german.max():.1f} in `transformer` and `rnnsearch`" in note
    (one, two), (three, four) = (
        [costs(f"{system}-{pair}").item() for pair in ("ko-en", "en-ko")] for system in ("transformer", "rnnsearch")
    )
    korean = f"{one:.1f} and {two:.1f} in the Transformer and {three:.1f} and {four:.1f} in RNNsearch with Korean"
    assert korean in note
    chosen = " and ".join(str(record["chosen"]["alpha"]) for record in records("vaswani2017", "transformer-fr-longer"))
    first, second = costs("transformer-fr-longer")
    longer = f"validation chose {chosen}, and translations that are too short cost {first:.1f} and {second:.1f} points"
    assert longer in note
    alphas = {variant.settings.alpha for variant in papers.load("vaswani2017").preset("cpu").variants}
    assert alphas == {1.0} and "length penalty, 1, was" in note


def test_how_many_nouns_of_articles_are_measured() -> None:
    """As a note of `vaswani2017` has it."""
    measured = np.isfinite(arrays("vaswani2017", "transformer-fr", "1")["heads_noun"][:, 0, 0]).sum()
    assert f"on {measured} such nouns of the test set" in papers.load("vaswani2017").notes[2]
    sentence = ["guitar", "player", "performs", "at", "a", "nightclub", "red", "guitar", "."]
    assert article_nouns(sentence) == [(4, 7)] and "*guitar* for the article of" in papers.load("vaswani2017").notes[2]


def test_how_equal_the_sizes_are() -> None:
    """As a note of `vaswani2017` has it."""
    sizes = {row["variant"]: row["parameters"] for row in results("vaswani2017")["rows"]}
    german, french, from_korean, to_korean = (
        100 * (sizes[f"rnnsearch{pair}"] / sizes[f"transformer{pair}"] - 1) for pair in ("", "-fr", "-ko-en", "-en-ko")
    )
    shown = f"has {german:.1f} % more parameters than the Transformer to German, {french:.1f} % more to French, "
    korean = f"{-from_korean:.1f} and {-to_korean:.1f} % fewer with Korean."
    assert shown + korean in papers.load("vaswani2017").notes[-1]


def test_which_korean_rows_the_larger_rnnsearch_has() -> None:
    """As a note of `vaswani2017` has it."""
    of = of_test(results("bahdanau2014"))
    shown = f"{of['rnnsearch-ko-en']:.2f} BLEU from Korean and {of['rnnsearch-en-ko']:.2f} to Korean"
    assert shown in papers.load("vaswani2017").notes[-1]


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


def test_how_bleu_rises_in_the_smaller_trainings() -> None:
    """As a note of `luong2015` has it."""
    variants = [variant for variant in papers.load("luong2015").preset("cpu").variants if variant.name != "best"]
    histories = [of_epochs(record) for variant in variants for record in records("luong2015", variant.name)]
    assert {len(history) for history in histories} == {8}
    last_two = max(max(history) - max(history[:6]) for history in histories)
    rises: dict[bool, list[float]] = {True: [], False: []}  # over the last four epochs, with attention and without
    for variant in variants:
        for record in records("luong2015", variant.name):
            history = of_epochs(record)
            rises[bool(variant.settings.attention)].append(max(history) - max(history[:4]))
    without, attending = (f"{min(rises[which]):.1f} to {max(rises[which]):.1f}" for which in (False, True))
    assert (
        f"by at most {last_two:.1f} in the last two epochs, in the last four by {without} without attention "
        f"and by {attending} with it"
    ) in papers.load("luong2015").notes[0]


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


def test_that_korean_with_further_text_is_not_trained_to_convergence() -> None:
    """As a note of `bahdanau2014` has it."""
    names = ("rnnsearch-ko-en-more", "rnnsearch-en-ko-more")
    histories = [of_epochs(one) for name in names for one in records("bahdanau2014", name)]
    rises = [history[-1] - history[-2] for history in histories]
    note = papers.load("bahdanau2014").notes[-1]
    assert (
        f"these {len(histories[0])} epochs, validation BLEU still rises by {min(rises):.1f} to {max(rises):.1f}:"
        in note
    )


def test_what_rnnsearch_loses_on_joined_captions() -> None:
    """As a note of the table has it."""

    def joined_captions(variant: str) -> tuple[list[float], list[float], list[float]]:
        """BLEU of single captions and of three joined, and length of the translations of these by that of the
        references, of each seed."""
        (side,) = sides("bahdanau2014", variant)
        single, three = ([one[name].sum(axis=0) for one in side] for name in ("bleu", "joined_3"))
        return [bleu(one) for one in single], [bleu(one) for one in three], [one[8] / one[9] for one in three]

    note = next(note for note in papers.load("bahdanau2014").notes if "gets worse on long sentences" in note)
    names = ("rnnsearch", "search-all", "encdec-all")
    measured = [joined_captions(name) for name in names]
    assert {len(single) for single, _, _ in measured} == {3} and "means of three seeds" in note
    for name, (single, joined, _) in zip(names, measured, strict=True):
        assert f"from {np.mean(single):.1f} to {np.mean(joined):.1f} (`{name}`" in note
    first, second, third = (f"{np.mean(lengths):.2f}" for _, _, lengths in measured)
    assert f"they have {first}, {second} and {third} of their length" in note


def test_how_much_further_training_text_costs_from_and_to_korean() -> None:
    """As a note of `bahdanau2014` has it."""
    of = of_test(results("bahdanau2014"))
    preset, note = papers.load("bahdanau2014").preset("cpu"), papers.load("bahdanau2014").notes[-1]
    epochs = [preset.variant(name).recipe.epochs for name in ("rnnsearch-ko-en-more", "rnnsearch-ko-en")]
    shown = []
    for name, direction in (("rnnsearch-ko-en", "from Korean"), ("rnnsearch-en-ko", "to Korean")):
        more, (side,) = of[f"{name}-more"], sides("bahdanau2014", f"{name}-more")
        assert more == pytest.approx(of[name] / 2, rel=0.1)
        shown.append(f"{more:.2f} {direction} ({('one', 'two seeds', 'three seeds')[len(side) - 1]})")
    assert f"are read {epochs[0]} times, not {epochs[1]}: BLEU is {shown[0]} and {shown[1]}, about half." in note


@pytest.mark.slow
@pytest.mark.corpus("ko_en")
def test_how_many_pairs_further_training_text_has() -> None:
    """As a note of `bahdanau2014` has it."""
    preset = papers.load("bahdanau2014").preset("cpu")
    rows = [
        preset.task(name).prepare(preset.variant(name).settings).rows["train"]
        for name in ("rnnsearch-ko-en-more", "rnnsearch-ko-en")
    ]
    more, less = (f"{count:,}".replace(",", " ") for count in rows)
    note = papers.load("bahdanau2014").notes[-1]
    assert f"of their {more} only {less} are of Tatoeba and KorSTS" in note


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
