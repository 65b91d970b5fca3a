"""Rows, effects, figures and pages of translation, from made-up outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gluon_attn.plots.heatmap import LONGEST_MATRIX
from preprocessing.pipeline.ragged import pack_strings
from reproductions import bahdanau2014, sutskever2014
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome
from reproductions.protocol.tables import row_of
from reproductions.tasks.bleu import PEERS, Bleu, bleu
from reproductions.tasks.translation import results
from reproductions.tasks.translation.results import (
    alignment,
    alignments,
    alignments_next_to,
    bleu_by_length,
    by_length,
    by_length_class,
    compare,
    length_labels,
    long_minus_short,
    rows,
    write_translations,
)
from tests.reproductions.translating import SENTENCES, counts, translated

SEARCH = bahdanau2014.REPRODUCTION.preset("smoke").variant("search-all")
SUTSKEVER = sutskever2014.REPRODUCTION
REVERSED = SUTSKEVER.preset("smoke").variant("reversed")
OFFICIAL = Bleu("13a", lowercase=True)
BEAMS = {"bleu_beam_2": counts(0.8), "bleu_beam_1": counts(0.7)}


def score(quality: float) -> float:
    return bleu(counts(quality).sum(axis=0))


def test_rows_are_computed_from_the_counts(tmp_path: Path) -> None:
    measured = rows([translated(tmp_path, "search-all", 0.9)], SEARCH, OFFICIAL)
    values = {(row.split, row.metric): row.mean for row in measured}
    assert values["test", "bleu"] == pytest.approx(score(0.9))
    assert values["test", "sacrebleu"] < values["test", "bleu"]
    assert values["test", "perplexity"] == pytest.approx(np.exp(2.0 / 0.9))
    assert values["test", "chrf"] == 50.0 and values["validation", "bleu"] == 3.0
    assert all(row.ci95[0] <= row.mean + 1e-9 and row.mean <= row.ci95[1] + 1e-9 for row in measured)
    assert measured[0].signature == f"{PEERS.signature}; beam 5, alpha 1"


def test_the_signature_names_the_length_penalties_that_validation_chose(tmp_path: Path) -> None:
    variant = replace(SEARCH, settings=replace(SEARCH.settings, alphas=(0.6, 1.0, 1.4)))
    outcomes = [translated(tmp_path, "search-all", 0.9, seed=seed) for seed in (1, 2)]
    for outcome, alpha in zip(outcomes, (1.4, 1.0), strict=True):
        outcome.record["chosen"] = {"alpha": alpha}
    search = "beam 5, alpha chosen on validation (1.4, 1)"
    signatures = {row.metric: row.signature for row in rows(outcomes, variant, OFFICIAL) if row.split == "test"}
    assert signatures["bleu"] == f"{PEERS.signature}; {search}" and signatures["chrf"].endswith(search)
    ensemble = translated(tmp_path, "search-all", 0.9, seed="1+2")
    assert rows([ensemble], variant, OFFICIAL)[0].signature.endswith("; beam 5, alpha chosen on validation")


def test_other_searches_have_their_own_rows_without_reported_numbers(tmp_path: Path) -> None:
    outcomes = [translated(tmp_path, "reversed", 0.9, bleu_replaced=counts(1.0), **BEAMS)]
    measured = [row for row in rows(outcomes, REVERSED, OFFICIAL) if (row.split, row.metric) == ("test", "bleu")]
    assert {row.signature.split("; ")[1]: row.mean for row in measured} == pytest.approx(
        {
            "beam 12, alpha 0": score(0.9),
            "beam 1, alpha 0": score(0.7),
            "beam 2, alpha 0": score(0.8),
            "beam 12, alpha 0, unknown words replaced": score(1.0),
        }
    )
    assert [row.signature.split("; ")[1] for row in measured if row.reported] == ["beam 12, alpha 0"]


def test_every_column_finds_its_row(tmp_path: Path) -> None:
    measured = rows([translated(tmp_path, "reversed", 0.9, **BEAMS)], REVERSED, OFFICIAL)
    result = Result("sutskever2014", "smoke", measured, [], {})
    values = [row_of(result, "reversed", column) for column in SUTSKEVER.table_columns]
    assert [row and row.mean for row in values[:3]] == pytest.approx([score(quality) for quality in (0.9, 0.8, 0.7)])
    assert all(values)


def test_an_ensemble_has_one_row_for_each_beam(tmp_path: Path) -> None:
    ensemble = SUTSKEVER.preset("smoke").variant("reversed-ensemble")
    outcome = translated(tmp_path, "reversed-ensemble", 0.9, seed="1+2", **BEAMS)
    for array in ("sacrebleu", "likelihood"):
        del outcome.predictions[array]
    measured = rows([outcome], ensemble, OFFICIAL)
    assert {(row.variant, row.metric, row.std) for row in measured} == {("reversed-ensemble", "bleu", 0.0)}
    assert [row.per_seed for row in measured] == [{"1+2": row.mean} for row in measured]
    assert [row.mean for row in measured] == pytest.approx([score(0.9), score(0.7), score(0.8)])
    assert [row.reported and row.reported["value"] for row in measured] == [33.27, None, None]


def test_two_systems_are_compared_by_the_means_of_all_their_seeds(tmp_path: Path) -> None:
    def side(name: str, *qualities: float) -> Sequence[Outcome]:
        return [translated(tmp_path, name, quality, seed=seed) for seed, quality in enumerate(qualities, start=1)]

    better, worse = side("reversed", 0.9, 0.7), side("forward", 0.6, 0.5)
    effect = compare("bleu", better, worse)
    assert effect.estimate.mean == pytest.approx((score(0.9) + score(0.7) - score(0.6) - score(0.5)) / 2)
    assert effect.estimate.low > 0
    assert compare("bleu", worse, better).estimate.mean == -effect.estimate.mean
    lower = compare("perplexity", better, worse)
    expected = (np.exp(2 / 0.6) + np.exp(2 / 0.5) - np.exp(2 / 0.9) - np.exp(2 / 0.7)) / 2
    assert lower.estimate.mean == pytest.approx(expected)


def test_long_and_short_sentences_are_scored_separately(tmp_path: Path) -> None:
    words = np.array([5, 12, 13, 30])
    each = np.concatenate([counts(0.5, 2), counts(0.9, 2)])
    outcomes = [translated(tmp_path, "forward", 0.5, seed=seed, words=words, bleu=each) for seed in (1, 2)]
    totals = by_length_class(outcomes)
    assert totals.shape == (2, 4, 20)
    assert long_minus_short(totals[1].sum(axis=0)) == pytest.approx(score(0.9) - score(0.5))


def test_bleu_by_length_has_a_number_for_each_range(tmp_path: Path) -> None:
    words = np.where(np.arange(SENTENCES) % 2, 20, 5)
    each = np.where((words > 12)[:, None], counts(0.9), counts(0.5))
    scores = by_length(translated(tmp_path, "forward", 0.5, words=words, bleu=each))
    assert len(scores) == len(length_labels())
    assert scores[0] == pytest.approx(score(0.5)) and scores[-1] == pytest.approx(score(0.9))
    assert np.isnan(scores[1:-1]).all(), "there are no such sentences"


def test_bleu_by_length_is_drawn_for_the_trained_variants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[dict[str, list[float]], list[str]]] = []
    monkeypatch.setattr(results, "score_by_length", lambda lines, labels, path, name: drawn.append((lines, labels)))
    joined = {"joined_2": counts(0.7, 20), "joined_2_words": np.full(20, 31)}
    groups = {name: [translated(tmp_path, name, 0.9, **joined)] for name in ("forward", "reversed")}
    assert bleu_by_length("other")(groups, tmp_path) == {} and not drawn
    assert list(bleu_by_length("other", "reversed")(groups, tmp_path)) == ["BLEU by length"]
    assert list(drawn[0][0]) == ["reversed"] and drawn[0][1] == length_labels()
    bleu_by_length("reversed", "forward", joined=(2,))(groups, tmp_path)
    lines, labels = drawn[1]
    assert list(lines) == ["reversed", "forward"] and labels == [*length_labels(), "31,\n2 sentences\nas one"]
    assert [line[-1] for line in lines.values()] == pytest.approx([score(0.7)] * 2)


def test_alignments_are_drawn_for_the_first_seed_of_variants_with_attention(tmp_path: Path) -> None:
    alignment = {"row": 6, "source": ["a", "dog"], "target": ["un"], "weights": [[0.9, 0.1], [0.2, 0.8]]}
    examples = {"alignments": [alignment, alignment]}
    more = {"alignments": [alignment] * 3}
    groups = {
        "aligned": [
            translated(tmp_path, "aligned", 0.9, seed=seed, examples=given)
            for seed, given in ((1, examples), (2, more))
        ],
        "none": [translated(tmp_path, "none", 0.9)],
        "not asked": [translated(tmp_path, "not-asked", 0.9, examples=examples)],
    }
    paths = alignments("aligned", "none", "not trained")(groups, tmp_path)
    assert list(paths) == ["alignment 1 of aligned", "alignment 2 of aligned"]
    assert [path.name for path in paths.values()] == ["alignment_aligned_1.png", "alignment_aligned_2.png"]
    assert all(path.stat().st_size > 1_000 for path in paths.values())


def test_alignments_of_one_sentence_are_drawn_next_to_each_other(tmp_path: Path) -> None:
    sides = {
        name: [translated(tmp_path, name, 0.9, examples={"alignments": [_example(row, words) for row in (1, 4)]})]
        for name, words in (("aligned", 3), ("none", 5))
    }
    paths = alignments_next_to("aligned", "none")(sides, tmp_path)
    assert list(paths) == ["alignment 1 of aligned and none", "alignment 2 of aligned and none"]
    one = alignments_next_to("aligned", "not trained")(sides, tmp_path / "one")
    assert list(one) == ["alignment 1 of aligned", "alignment 2 of aligned"]
    assert _width(one["alignment 1 of aligned"]) < _width(paths["alignment 1 of aligned and none"])
    assert alignments_next_to("not trained", "either")(sides, tmp_path) == {}


def test_translations_that_are_too_long_for_a_figure_are_not_drawn(tmp_path: Path) -> None:
    examples = {"alignments": [_example(0, LONGEST_MATRIX + 1), _example(1, 3)]}
    groups = {name: [translated(tmp_path, name, 0.9, examples=examples)] for name in ("aligned", "none")}
    assert list(alignments("aligned")(groups, tmp_path)) == ["alignment 1 of aligned"]
    assert list(alignments_next_to("aligned", "none")(groups, tmp_path)) == ["alignment 1 of aligned and none"]


def _example(row: int, words: int) -> dict[str, Any]:
    weights = np.full((words, 2), 0.5).tolist()
    return {"row": row, "source": ["ein", "hund"], "target": ["dog"] * (words - 1), "weights": weights}


def _width(path: Path) -> int:
    with Image.open(path) as image:
        return image.width


def test_joined_morphemes_are_drawn_with_a_hyphen() -> None:
    drawn = alignment(["학교", "￭에서", "밥@@"], ["먹", "￭다"], np.full((3, 3), 1 / 3), "title")
    assert (drawn.tokens_query, drawn.tokens_key) == (["먹", "-다", "</s>"], ["학교", "-에서", "밥@@"])


def test_translations_are_written_next_to_source_and_reference(tmp_path: Path) -> None:
    packed = {"source": ["a\tdog", ""], "reference": ["un chien", ""], "text": ["un chat", "rien"]}
    arrays = {f"{name}_{part}": array for name, texts in packed.items() for part, array in _packed(texts).items()}
    predictions = {name: array for name, array in arrays.items() if name.startswith("text")}
    pages = {name: array for name, array in arrays.items() if not name.startswith("text")}
    here = translated(tmp_path, "forward", 0.9, texts=pages, **predictions)
    (path,) = write_translations(here, REVERSED, tmp_path).values()
    assert path.read_text("utf-8") == "source\treference\ttranslation\na dog\tun chien\tun chat\n\t\trien\n"
    published = translated(tmp_path / "published", "forward", 0.9, **predictions)
    assert write_translations(published, REVERSED, tmp_path) == {}


def _packed(texts: list[str]) -> dict[str, np.ndarray]:
    utf8, offsets = pack_strings(texts)
    return {"utf8": utf8, "offsets": offsets}


def test_every_sentence_is_in_the_range_of_its_length(tmp_path: Path) -> None:
    """The first and the last length of each range are perfect, the others are not."""
    words = np.array([1, 8, 9, 11, 12, 14, 15, 18, 19, 40, 5, 10, 13, 16, 25])
    edges = np.arange(len(words)) < 10
    each = np.where(edges[:, None], counts(1.0, len(words)), counts(0.5, len(words)))
    one = translated(tmp_path, "search-all", 0.9, bleu=each, words=words)
    wanted = bleu(2 * counts(1.0, 1)[0] + counts(0.5, 1)[0])
    assert by_length(one) == pytest.approx([wanted] * 5)
