"""The page of a paper's results: every number comes from a results file, and none is lost on the way to it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from reproductions.protocol.claims import Better
from reproductions.protocol.differences import COLUMN
from reproductions.protocol.readings import Reading
from reproductions.protocol.reported import linked
from reproductions.protocol.results_page import NO_PARAMETERS
from reproductions.protocol.waiting import waiting_claims
from tests.reproductions.protocol.tabulated import CLAIM, CPU, REPORTED, cells, markdown, publish, result, row, three
from tests.reproductions.support import judged
from tests.reproductions.toy import PEER, REPRODUCTION


def test_trainings_with_other_options_are_named_below_the_table() -> None:
    assert "1 thread; trained at" in markdown(result(*three("curved")))
    divided = result(*three("curved"), options={"curved/1": ["--local-workers", "2"]})
    assert "1 thread; `curved/1` with `--local-workers 2`; trained at" in markdown(divided)


def test_an_ensemble_has_a_line_with_its_title() -> None:
    page = markdown(result(*three("curved"), row("committee", per_seed={"1+2": 86.125})))
    assert cells(page, "committee")[1:3] == ["networks of all seeds", "86.12 [85.50, 86.75]"]


def test_the_readme_of_a_paper_shows_every_number_of_a_row() -> None:
    page = markdown(result(*three("curved", reported=REPORTED, comparable=True, differs="no GRU")))
    assert cells(page, "curved") == [
        "`curved`",
        "with a hidden layer",
        "86.12 (85.88, 86.38) [85.50, 86.75]",
        "85.50 (85.25, 85.75)",
        "1 234 567",
        "86.37",
        "a peer (its/repository)",
        "no GRU",
    ]
    for shown in ("seeds 1, 2;", "`portable`, 1 thread", "a processor", "`0123456789ab`, `fedcba987654`"):
        assert shown in page
    assert page.startswith("# Quadrants: the hidden layer\n\nSomeone (1969). Script: [`toy.py`](../../toy.py).")


def test_the_readme_of_a_paper_marks_numbers_not_checked_against_the_publication() -> None:
    for checked, mark in (("text", ""), ("memory", " †"), ("secondary", " (secondary source)")):
        page = markdown(result(*three("curved", reported=REPORTED | {"checked": checked}, comparable=True)))
        assert cells(page, "curved")[5] == f"86.37{mark}"


def test_the_page_says_how_many_intervals_of_differences_exclude_zero_by_chance() -> None:
    def text(count: int) -> str:
        differences = [row("curved", metric=COLUMN.metric, signature=str(number)) for number in range(count)]
        return markdown(result(*three("curved"), *differences))

    assert "interval of a difference" not in text(0)
    assert "as for claims, at the 95 % level." in text(1) and "differences are" not in text(1)
    assert "The 3 differences are each at the 95 % level" in text(3) and "if all were zero, 0.15 intervals" in text(3)


def test_the_tables_of_a_readme_are_complete_and_list_all_peers() -> None:
    page = markdown(result(*three("curved"), *three("straight"), claims=(CLAIM,)))
    for table in re.findall(r"(?:^\|.*\n?)+", page, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    line = "| A is better than B | sec. 1 |  | -0.500 | -0.40, -0.60 | [-0.750, -0.250] | contradicted (2 seeds) |"
    assert line in page
    assert "| a perceptron | nsmc | accuracy | 96.50 † | Someone (1969), Table 1 |" in page
    assert "| a committee (three members) | nsmc | accuracy | 99.00 † | Someone (1969), Table 1 |" in page
    assert f"| a re-implementation | nsmc | accuracy | 97.00 (secondary source) | {linked('its/repository')} |" in page
    assert page.count("† from memory") == 1
    checked = replace(REPRODUCTION, reported=(replace(REPRODUCTION.reported[0], checked="text"),), variants=(
        replace(CPU.variant("curved"), beside=None),), claims=(), headline=("curved",), ensembles=())  # fmt: skip
    assert "†" not in markdown(result(*three("curved")), checked)


def test_sources_are_links_where_their_place_is_known() -> None:
    assert linked("Someone (2017), arXiv:1706.03762, Table 2") == (
        "Someone (2017), [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), Table 2"
    )
    assert linked("a.name/a_repository") == "[a.name/a_repository](https://github.com/a.name/a_repository)"
    for source in ("Yang et al. (2016), NAACL", "a.page.kr/archives/4876", "scripts/of something"):
        assert linked(source) == source


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    paper = replace(REPRODUCTION, reported=(replace(PEER, system="p(a|b)"),))
    rows = three("curved", reported=REPORTED, comparable=True, differs="a|b, not b|a")
    page = markdown(result(*rows, claims=(replace(CLAIM, statement="P(a|b) is higher"),)), paper)
    for cell in (r" a\|b, not b\|a |", r"| P(a\|b) is higher |", r"| p(a\|b) |"):
        assert cell in page


def test_the_number_of_test_readings_is_below_the_table() -> None:
    of = result(*three("curved"), parameters_sha256={"curved/1": "a" * 64})
    readings = (
        Reading("curved", 1, "a" * 64, "c" * 40, "2026"),
        Reading("curved", 1, "b" * 64, "d" * 40, "2026", note="A footnote."),
    )
    page = markdown(of, readings=readings)
    assert "read 2 times for the 1 training of this table, 1 of them by trainings that were replaced (`curved`)" in page
    assert page.index("read 2 times") < page.index("\nA footnote.\n") < page.index("## Claims")
    assert "The test split was read" not in markdown(of)


def test_notes_and_figures_are_in_the_readme() -> None:
    page = markdown(
        result(*three("curved")),
        replace(REPRODUCTION, notes=("One.", "Two.")),
        {"curves.png": "the curves", "b.png": "BLEU by length"},
    )
    assert "\n\nOne.\n\nTwo.\n\n## Claims" in page
    assert page.endswith(
        "## Figures\n\n![The curves](curves.png)\n\n*The curves*\n\n![BLEU by length](b.png)\n\n*BLEU by length*\n"
    )
    assert "## Figures" not in markdown(result(*three("curved")))


def test_three_seeds_have_a_standard_deviation() -> None:
    rows = [replace(each, per_seed={"1": 86.0, "2": 86.125, "3": 86.25}, std=0.125) for each in three("curved")]
    assert cells(markdown(result(*rows)), "curved")[2] == "86.12 ± 0.12 [85.50, 86.75]"


def test_a_reported_number_that_is_not_comparable_is_not_next_to_ours() -> None:
    page = markdown(result(*three("curved", reported=REPORTED, comparable=False)))
    assert "| reported | by |" not in page, "columns without an entry are left out"
    both = (
        *three("curved", reported=REPORTED, comparable=False),
        *three("straight", reported=REPORTED, comparable=True),
    )
    page = markdown(result(*both))
    assert "| reported | by |" in page and cells(page, "curved")[5:7] == ["", ""] != cells(page, "straight")[5:7]


def test_the_effect_in_the_paper_is_next_to_ours() -> None:
    page = markdown(result(*three("curved"), claims=(judged(reported=1.6),)))
    assert "| A is better than B | sec. 1 | +1.60 | -0.500 |" in page


def test_an_effect_in_the_paper_has_the_mark_of_the_number_that_was_checked_the_least() -> None:
    first, second, third = (replace(PEER, value=value, checked=checked) for value, checked in
                            ((97.0, "memory"), (96.0, "text"), (95.0, "secondary")))  # fmt: skip
    straight, checked = (replace(CPU.variant("straight"), beside=one) for one in (first, second))
    claims, shown = (Better("a", "It is so", "curved", "straight"),), "sec. 1 | +1.60"
    of = result(*three("curved"), claims=(judged(reported=1.6),))
    for beside, other, mark in (
        (third, straight, " †"),
        (third, checked, " (secondary source)"),
        (second, checked, ""),
        (None, straight, " †"),
    ):
        variants = (replace(CPU.variant("curved"), beside=beside), other)
        paper = replace(REPRODUCTION, variants=variants, claims=claims, ensembles=())
        assert f"| {shown}{mark} | -0.500 |" in markdown(of, paper)
        declared = replace(paper, claims=(replace(claims[0], reported=1.6),))
        assert f"| {shown}{mark} | -0.500 |" in markdown(of, declared), "also of an effect that the claim declares"


def test_below_the_claims_stands_what_an_effect_must_exceed() -> None:
    with_margin = Better("a", "A", "curved", "straight", margin=-0.5)
    paper = replace(REPRODUCTION, claims=(with_margin, replace(with_margin, id="b", margin=0.0)))
    page = markdown(result(*three("curved"), claims=(judged(id="a"), judged(id="b"))), paper)
    assert "\nA claim is supported if the interval of its effect lies above 0, above -0.5 for `a`. 2 claims" in page


def test_a_table_of_several_corpora_names_them() -> None:
    one, other = three("curved"), [replace(row, corpus="imdb") for row in three("straight")]
    assert "| what | corpus |" not in markdown(result(*one, *three("straight")))
    page = markdown(result(*one, *other))
    assert "| variant | what | corpus | test" in page and " | imdb | " in page and " | nsmc | " in page


def test_below_the_claims_stands_what_a_correction_would_change() -> None:
    several = (judged(id="clear", p=0.001), judged(id="weak", p=0.03), judged(id="none", verdict="not judged", p=None))
    page = markdown(result(*three("curved"), claims=several))
    assert "3 claims, 2 judged," in page and "over the judged claims changes no verdict." in page
    page = markdown(result(*three("curved"), claims=(*several, judged(id="other", verdict="inconclusive", p=0.5))))
    assert "over the judged claims makes these inconclusive: `weak`." in page
    marked = [line for line in page.splitlines() if line.startswith("| `") and "; not after Holm's correction)" in line]
    assert len(marked) == 1 and marked[0].startswith("| `weak` |")
    assert "Holm" not in markdown(result(*three("curved"), claims=(judged(p=None),)))


def test_below_the_claims_stands_what_verdicts_from_one_seed_rest_on() -> None:
    single = judged(p=None, per_seed={"1": -0.5})
    exact = replace(single, seed_deviation=0.0)  # of systems without a random part
    cases = ((single, True), (replace(single, verdict="not judged"), False), (exact, False), (judged(), False))
    for claim, is_said in cases:
        page = markdown(result(*three("curved"), claims=(claim,)))
        assert ("from one seed rest on a threshold" in page) is is_said


def test_a_claim_that_waits_for_an_ensemble_is_named() -> None:
    waiting = Better("committee", "A committee is better", "committee", "straight")
    paper = replace(REPRODUCTION, claims=(waiting,))
    preset = paper.preset("cpu")
    rows = [one for variant in preset.variants for one in three(variant.name)]
    trained = [replace(one, per_seed={str(seed): one.mean for seed in preset.seeds_of(one.variant)}) for one in rows]
    assert "Without a verdict until their ensembles are scored: `committee`.\n" in markdown(result(*trained), paper)
    assert "ensembles are scored" not in markdown(result(*trained, *three("committee")), paper)


def test_two_values_in_parentheses_are_explained_for_rows_of_other_papers_too(own: Path) -> None:
    alone = [replace(one, per_seed={"1": one.mean}) for one in three("curved")]
    paper = replace(REPRODUCTION, baselines=("floor",))
    assert "both values in parentheses" not in markdown(result(*alone), paper)
    publish(replace(result(*three("high")), paper="floor"))
    assert "both values in parentheses" in markdown(result(*alone), paper)


def test_systems_without_parameters_are_not_the_same_training(own: Path) -> None:
    publish(replace(result(*three("high"), parameters_sha256={"high/1": NO_PARAMETERS}), paper="floor"))
    assert "The same trainings" not in markdown(result(*three("curved"), parameters_sha256={"curved/1": NO_PARAMETERS}))


def test_claims_that_cannot_be_measured_are_named() -> None:
    systems = (*three("curved"), *three("straight"))
    measured = tuple(judged(id=claim.id) for claim in REPRODUCTION.claims)
    assert "not measurable" not in markdown(result(*systems, claims=measured))
    page = markdown(result(*systems, claims=measured[1:]))
    first = REPRODUCTION.claims[0]
    assert f"Declared, but not measurable on these outcomes: {first.statement} (`{first.id}`).\n" in page
    assert "not measurable" not in markdown(result(*three("curved"), claims=measured[1:])), "it waits for a system"


def test_a_claim_on_a_system_that_a_preset_does_not_have_is_not_waited_for() -> None:
    waiting = Better("other", "Another is better", "another", "straight")
    paper = replace(
        REPRODUCTION,
        claims=(waiting,),
        variants=(*REPRODUCTION.variants, replace(REPRODUCTION.variants[0], name="another")),
    )
    preset = paper.preset("cpu")
    rows = result(*three("curved"), *three("straight"))
    assert waiting_claims(paper, preset, rows) == ["other"]
    without = replace(preset, variants=tuple(one for one in preset.variants if one.name != "another"))
    assert waiting_claims(paper, without, rows) == []


def test_one_seed_has_no_standard_deviation() -> None:
    rows = [replace(each, per_seed={"1": 86.125}) for each in three("curved")]
    assert "±" not in "".join(cells(markdown(result(*rows)), "curved"))


def test_rows_with_other_seeds_name_them() -> None:
    """An ensemble has none: it is one system."""
    two = three("curved")
    assert "over seeds 1, 2;" in markdown(result(*two, *three("straight")))
    one = [replace(each, per_seed={"1": 86.0}) for each in three("straight")]
    assert "over seeds 1, 2 (rows with a single value: one seed);" in markdown(result(*two, *one))
    more = [replace(each, per_seed={"1": 86.0, "2": 86.0, "3": 86.0}) for each in three("pretrained")]
    both = [replace(each, per_seed={"1+2+3": 86.0}) for each in three("committee")]
    page = markdown(result(*more, *both, *two, *three("straight"), seeds=[1, 2, 3]))
    assert "over seeds 1, 2 (`pretrained`: 1, 2, 3);" in page
    assert "over seeds 1;" in markdown(result(*one, seeds=[1]))
