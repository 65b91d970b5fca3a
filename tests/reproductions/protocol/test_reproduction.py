"""A declared paper: refusals at declaration, and its presets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from reproductions.protocol.claims import Better, Measured
from reproductions.protocol.reproduction import Ensemble, Override, Reproduction
from reproductions.protocol.task import Column, Settings, Variant
from tests.reproductions.toy import PEER, RECIPE, REPRODUCTION, Quadrants

CORPORA = {
    "nsmc", "nsmc-raw", "multi30k en-de", "multi30k en-fr", "tatoeba en-fr", "tatoeba ko-en", "imdb", "ptb", "sst-2",
    "sst-5", "cifar10", "flickr8k", "udacity lake", "udacity track", "wmt14 en-de", "wmt14 en-fr",
}  # fmt: skip
METRICS = {"accuracy", "bleu", "sacrebleu", "chrf", "perplexity", "agreement", "loss", "meteor", "cider", "error"}
METRICS |= {f"bleu-{n}" for n in (1, 2, 3, 4)}  # of captions
OTHERS = {
    "multi30k de-en", "multi30k, target not stated", "yelp, 5 classes", "age, 5 classes",
    "imdb, 10 classes", "yelp polarity", "320 million words of the LDC", "google news", "brown", "ap news",
    "imagenet", "comma.ai", "udacity challenge",
}  # corpora that others report on and no system here is trained on  # fmt: skip


@dataclass(frozen=True)
class Elsewhere(Quadrants):
    """Another task, on another corpus, with another column."""

    corpus: str = "imdb"

    name = "elsewhere"
    columns = (Column("accuracy", "accuracy"), Column("loss", "loss"))


def toy(**changes: Any) -> Reproduction:
    return replace(REPRODUCTION, **changes)


CURVED, STRAIGHT, PRETRAINED = REPRODUCTION.variants


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"claims": (Better("a", "A", "curved", "flat"),)}, "claim a names variant 'flat', which is not declared"),
        ({"claims": (Better("a", "A", "flat", "curved"),)}, "claim a names variant 'flat'"),
        ({"claims": (Better("a", "A", "curved", "other/flat"),)}, "claim a names variant 'other/flat', which is not"),
        ({"claims": (Measured("a", "A", "ours", ("flat",), len),)}, "claim a names variant 'flat'"),  # type: ignore[arg-type]
        ({"claims": (Better("a", "A", "curved", "straight"),) * 2}, "claim 'a' is declared twice"),
        ({"headline": ("flat",)}, "the headline names variant 'flat'"),
        ({"main": "flat"}, "the headline names variant 'flat'"),
        ({"variants": (replace(CURVED, against="flat"), STRAIGHT, PRETRAINED)}, "variant 'curved' is against 'flat'"),
        (
            {"variants": (replace(CURVED, against="other/flat"), STRAIGHT, PRETRAINED), "baselines": ("other/flat",)},
            "variant 'curved' is against 'other/flat', which is not a variant here",
        ),
        ({"ensembles": (Ensemble("committee", "", "flat"),)}, "ensemble committee names variant 'flat'"),
        ({"ensembles": (Ensemble("straight", "", "curved"),)}, "variant 'straight' is declared twice"),
        ({"variants": (CURVED, STRAIGHT, PRETRAINED, STRAIGHT)}, "variant 'straight' is declared twice"),
    ],
)
def test_unknown_and_repeated_names_are_refused_at_declaration(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{REPRODUCTION.title}: {reason}"):
        toy(**changes)


def test_a_claim_may_be_of_an_ensemble() -> None:
    assert toy(claims=(Better("a", "A", "committee", "curved"),)).claims[0].variants == ("committee", "curved")


def test_the_tables_are_trained_as_declared() -> None:
    tables = REPRODUCTION.preset("cpu")
    assert [replace(variant, task=None) for variant in tables.variants] == list(REPRODUCTION.variants)
    assert {variant.task for variant in tables.variants} == {REPRODUCTION.task}
    assert (tables.name, tables.seeds, tables.headline, tables.on_sample) == (
        "cpu",
        (1, 2),
        ("curved", "straight"),
        False,
    )
    assert tables.ensembles == REPRODUCTION.ensembles


def test_the_smoke_preset_is_on_the_sample_and_changes_every_variant() -> None:
    smoke = REPRODUCTION.preset("smoke")
    assert smoke.on_sample and smoke.seeds == (1,) and smoke.ensembles == REPRODUCTION.ensembles
    assert [variant.name for variant in smoke.variants] == ["curved", "straight", "pretrained"]
    assert [variant.settings.points for variant in smoke.variants] == [60, 60, 60]
    assert [variant.settings.units for variant in smoke.variants] == [8, 0, 8]
    assert all(variant.recipe == replace(RECIPE, epochs=2) for variant in smoke.variants)


def test_a_preset_may_omit_variants() -> None:
    """The headline and the ensembles are of the remaining ones; the scale of the paper has no ensembles."""
    whole = REPRODUCTION.preset("paper")
    assert [variant.name for variant in whole.variants] == ["curved"]
    assert (whole.headline, whole.seeds, whole.ensembles, whole.on_sample) == (("curved",), (3,), (), False)

    def last_only(variant: Variant[Any]) -> Variant[Any] | None:
        return variant if variant.name == "pretrained" else None

    rest = toy(smoke=Override(last_only)).preset("smoke")
    assert (rest.headline, rest.ensembles) == (("pretrained",), ())


def test_a_variant_may_have_more_seeds_than_the_preset_or_others() -> None:
    straight = replace(REPRODUCTION.variants[1], seeds=(1, 2, 3, 4))
    whole = toy(variants=(REPRODUCTION.variants[0], straight, replace(straight, name="last", seeds=(4,))))
    assert whole.preset("cpu").seeds_of("straight") == (1, 2, 3, 4)
    assert whole.preset("cpu").seeds_of("curved") == whole.seeds
    smoke = whole.preset("smoke")
    assert [smoke.seeds_of(name) for name in ("curved", "straight", "last")] == [(1,), (1,), (1,)]


def test_presets_exist_and_unknown_ones_are_refused() -> None:
    assert list(REPRODUCTION.presets) == ["smoke", "cpu", "paper"]
    assert all(REPRODUCTION.preset(name) == preset for name, preset in REPRODUCTION.presets.items())
    with pytest.raises(UsageError, match="preset 'gpu' is unknown; choose smoke, cpu or paper"):
        REPRODUCTION.preset("gpu")


def test_a_variant_is_looked_up_by_name_and_an_ensemble_has_its_own() -> None:
    tables = toy(ensembles=(Ensemble("committee", "of all seeds", "curved", PEER, True, "more"),)).preset("cpu")
    assert tables.variant("straight").settings == STRAIGHT.settings
    committee = tables.variant("committee")
    assert (committee.settings, committee.recipe) == (CURVED.settings, CURVED.recipe)
    assert (committee.name, committee.title, committee.beside) == ("committee", "of all seeds", PEER)
    assert (committee.comparable, committee.differs) == (True, "more")
    assert tables.task("committee") == REPRODUCTION.task
    with pytest.raises(UsageError, match="variant 'hard' is unknown in preset cpu; choose from curved, straight, pre"):
        tables.variant("hard")


def test_a_variant_may_have_its_own_task() -> None:
    mixed = toy(variants=(CURVED, replace(STRAIGHT, task=Elsewhere()), PRETRAINED))
    tables = mixed.preset("cpu")
    assert tables.task("curved") == Quadrants() and tables.task("straight") == Elsewhere()
    assert tables.corpora == ("nsmc", "imdb")
    assert mixed.preset("smoke").task("straight") == Elsewhere()
    half = Column("accuracy of the first half", "accuracy", "half")
    assert mixed.table_columns == (Column("accuracy", "accuracy"), half, Column("loss", "loss"))
    assert toy(columns=(half,)).table_columns == (half,)


def test_the_main_variant_is_the_first_unless_another_is_named() -> None:
    assert REPRODUCTION.main == "curved" and toy(main="straight").main == "straight"


def test_settings_define_how_a_network_is_built() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Settings()  # type: ignore[abstract]
    assert CURVED.settings.as_json() == {"points": 400, "units": 8}


# --- the papers of this project ---


@pytest.mark.parametrize("name", papers.names())
def test_every_paper_declares_known_names(name: str) -> None:
    paper = papers.load(name)
    for preset in paper.presets.values():
        assert preset.seeds and preset.headline and preset.variants
        assert set(preset.corpora) <= CORPORA
        for variant in preset.variants:
            assert variant.seeds is None or set(variant.seeds) & set(preset.seeds)
    for system in (*paper.variants, *paper.ensembles):
        assert system.beside is None or system.beside in paper.reported
        assert system.differs or not system.beside, f"{system.name}: say in what the peer differs"
        assert system.beside or not system.comparable
    cpu = paper.preset("cpu")
    for variant in cpu.variants:
        task = cpu.task(variant.name)
        assert task.metrics[0] == task.columns[0].metric
    for claim in paper.claims:
        assert isinstance(claim, Measured) or claim.metric in ("", *cpu.task(claim.better).metrics)
    for peer in paper.reported:
        assert peer.corpus in CORPORA | OTHERS and peer.metric in METRICS
        assert peer.checked in {"text", "secondary", "memory"}
    assert paper.preset("smoke").on_sample
    for claim in paper.claims:
        if isinstance(claim, Better) and claim.margin:
            words = f"at most {-claim.margin} " if claim.margin < 0 else f"by at least {claim.margin} "
            assert words in claim.statement
    for baseline in paper.baselines:
        other, _, named = baseline.partition("/")
        assert papers.load(other) and (not named or papers.load(other).preset("cpu").variant(named))
    for variant in paper.variants:
        if variant.pretrained:
            other, _, named = variant.pretrained.partition("/")
            assert papers.load(other).preset("cpu").variant(named)
