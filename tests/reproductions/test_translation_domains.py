"""RNNsearch on test sets of other domains: which pairs they have, their rows, and the claims."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sacrebleu

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import bootstrap_metric
from preprocessing import translation
from preprocessing.pipeline.ragged import strings_in
from reproductions.bahdanau2014 import REPRODUCTION as BAHDANAU
from reproductions.protocol.conclude import conclude
from reproductions.protocol.own_data import DataOptions, OwnData
from reproductions.protocol.runs import Outcome
from reproductions.tasks.bleu import bleu, chrf
from reproductions.tasks.translation import domain_results
from reproductions.tasks.translation.domain_results import (
    below_half,
    bleu_by_length_and_test_set,
    chosen_on_validation,
)
from reproductions.tasks.translation.domains import Pairs
from reproductions.translation_domains import FRENCH, JHE, KOREAN, KORSTS, NEWS, REPRODUCTION, TATOEBA, TEST_SETS
from tests.preprocessing.bitexts import pair
from tests.reproductions.published_numbers import arrays, results
from tests.reproductions.support import outcome
from tests.reproductions.translating import network, undecided

CPU, SMOKE = REPRODUCTION.preset("cpu"), REPRODUCTION.preset("smoke")


def trained(folder: Path, name: str, right: dict[str, int], validation: float = 20.0) -> list[Outcome]:
    """Outcomes with 40 sentences of 10 words in each array, of which this many are translated right, and one more with
    each seed."""

    def counts(seed: int, sentences: int) -> np.ndarray:
        correct = (np.arange(40) < sentences + seed)[:, None] * np.array([10, 9, 8, 7])
        return np.concatenate([correct, np.tile([10, 9, 8, 7, 10, 10], (40, 1))], axis=1).astype(np.int32)

    outcomes = []
    for seed in (1, 2, 3):
        arrays = {array: counts(seed, sentences) for array, sentences in right.items()}
        arrays |= {array.replace("bleu", "sacrebleu"): each for array, each in arrays.items()}
        arrays |= {array.replace("bleu", "words"): np.full(40, 12) for array in right}
        arrays |= {"likelihood": np.ones((40, 2))}
        history = [{"epoch": 1, "train_loss": 1.0, "validation_loss": 1.0, "validation_bleu": validation}]
        metrics = {array.replace("bleu", "chrf"): 50.0 for array in right}
        record = {"corpus": FRENCH.corpus, "history": history, "metrics": metrics}
        outcomes.append(outcome(folder, name, seed, arrays, paper="translation_domains", **record))
    return outcomes


@pytest.mark.parametrize(("name", "theirs"), [("french", "rnnsearch-fr"), ("korean", "rnnsearch-ko-en")])
def test_the_larger_networks_are_those_of_the_paper(name: str, theirs: str) -> None:
    mine, other = CPU.variant(name), BAHDANAU.preset("cpu").variant(theirs)
    assert mine.recipe == other.recipe
    assert {key: value for key, value in asdict(mine.settings).items() if value != getattr(other.settings, key)} == {}
    assert (CPU.task(name).corpus, CPU.task(name).source) == (other.task.corpus, other.task.source)


def test_pairs_of_the_training_text_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SMOKE.variant("french").settings
    data = FRENCH.prepare(settings, sample=True)
    test = data.prepared.splits["test"].source.text.tolist()
    pairs = data.elsewhere[TATOEBA.name]
    assert pairs.sources == test and len(pairs.references) == len(test) and pairs.seen == 0
    assert all(len(references) == 1 for references in pairs.references)
    assert {"tatoeba train", "tatoeba test"} <= data.corpora.keys()
    train = data.prepared.splits["train"]
    assert Pairs.unseen(train, train) == Pairs([], [], len(train))
    louder = replace(train.source, text=np.array([f"{text.upper()} !" for text in train.source.text.tolist()], object))
    assert Pairs.unseen(replace(train, source=louder), train).seen == len(train), "letters and digits are the same"
    others = replace(train.source, text=np.array([f"another {row}" for row in range(len(train))], object))
    assert Pairs.unseen(replace(train, source=others), train).seen == len(train), "the targets are in the text"
    source, target = (side.text.tolist() for side in train.sides)
    known = pair("test", [(source[0], "du texte"), ("some text", target[1]), ("more text", "encore du texte")])
    monkeypatch.setattr(translation, "prepare", lambda *_, **__: SimpleNamespace(splits={"test": known}, corpora={}))
    assert FRENCH.prepare(settings, sample=True).elsewhere == {
        TATOEBA.name: Pairs(["more text"], [["encore du texte"]], seen=2)
    }


def test_a_sentence_with_several_references_is_one_item() -> None:
    pairs = Pairs(["a", "b"], [["x"], ["y", "z", "y"]], 0)
    assert pairs.by_reference(["one", "two"]) == (["one", "two", "two", "two"], ["x", "y", "z", "y"])
    assert pairs.by_source(np.arange(8).reshape(4, 2)).tolist() == [[0, 1], [2 + 4 + 6, 3 + 5 + 7]]
    assert Pairs([], [], 3).by_source(np.zeros((0, 10), np.int32)).shape == (0, 10)


@pytest.mark.corpus("ko_en")
@pytest.mark.slow
def test_jhe_is_only_for_testing() -> None:
    with_jhe, without = (
        translation.prepare("tatoeba ko-en", source="ko", target="en", extra=e) for e in (("jhe",), ())
    )
    assert len(with_jhe.splits[JHE.split]) == 720 and JHE.split not in without.splits
    data = KOREAN.prepare(CPU.variant("korean").settings)
    assert data.prepared.splits.keys() == without.splits.keys()
    jhe = data.elsewhere[JHE.name]
    assert len(jhe.sources) == 720 and jhe.seen == 0
    assert set(jhe.sources).isdisjoint(data.prepared.splits["train"].source.text.tolist())
    assert data.corpora["jhe jhe"].startswith("af200e1f")


def test_rows_name_the_corpus_of_each_test_set(tmp_path: Path) -> None:
    outcomes = trained(tmp_path, "french", {"bleu": 30, TATOEBA.array("bleu"): 10})
    rows = FRENCH.rows(outcomes, CPU.variant("french"))
    outside = [row for row in rows if "Tatoeba" in row.signature]
    assert {row.metric: row.corpus for row in outside} == dict.fromkeys(("bleu", "sacrebleu", "chrf"), "tatoeba en-fr")
    assert {row.corpus for row in rows if "Tatoeba" not in row.signature} == {"multi30k en-fr"}
    expected = [bleu(one.predictions[TATOEBA.array("bleu")].sum(axis=0)) for one in outcomes]
    assert list(outside[0].per_seed.values()) == pytest.approx(expected)
    titles = [column.title for column in REPRODUCTION.table_columns]
    assert titles[1:5] == [other.title for other in TEST_SETS]


def test_a_table_may_have_outcomes_scored_before_a_test_set_was_added(tmp_path: Path) -> None:
    rows = FRENCH.rows(trained(tmp_path, "french", {"bleu": 30}), CPU.variant("french"))
    assert not any("Tatoeba" in row.signature for row in rows)
    later = trained(tmp_path, "french", {"bleu": 30, TATOEBA.array("bleu"): 10})
    del later[1].record["metrics"][TATOEBA.array("chrf")]
    with pytest.raises(UsageError, match=f"seed-2: has no {TATOEBA.array('chrf')}; train and score this seed again"):
        FRENCH.rows(later, CPU.variant("french"))


def test_below_half_compares_two_test_sets(tmp_path: Path) -> None:
    low = below_half(TATOEBA)(trained(tmp_path / "a", "french", {"bleu": 30, TATOEBA.array("bleu"): 5}))
    high = below_half(TATOEBA)(trained(tmp_path / "b", "french", {"bleu": 30, TATOEBA.array("bleu"): 25}))
    assert low and high and low.estimate.mean > 0 > high.estimate.mean
    assert low.estimate.low < low.estimate.mean < low.estimate.high
    both = trained(tmp_path / "c", "korean", {"bleu": 5, KORSTS.array("bleu"): 30, NEWS.array("bleu"): 5})
    news = below_half(NEWS, of=KORSTS)(both)
    assert news and news.estimate.mean == pytest.approx(low.estimate.mean), "not half of that on its own test split"


def test_the_recipe_is_chosen_on_validation_and_not_on_the_other_test_set(tmp_path: Path) -> None:
    plain = trained(tmp_path / "a", "plain", {"bleu": 20, TATOEBA.array("bleu"): 10}, validation=20.0)
    chosen = trained(tmp_path / "b", "dropout", {"bleu": 20, TATOEBA.array("bleu"): 8}, validation=22.0)
    better = trained(tmp_path / "c", "all", {"bleu": 20, TATOEBA.array("bleu"): 15}, validation=21.0)
    effect = chosen_on_validation(TATOEBA)(plain, chosen, better)
    assert effect and effect.estimate.mean < 0 and "dropout minus plain" in effect.what
    itself = chosen_on_validation(TATOEBA)(
        plain, trained(tmp_path / "d", "all", {"bleu": 1, TATOEBA.array("bleu"): 1}, 1.0)
    )
    assert itself and itself.estimate.mean == 0


def test_table_and_claims(tmp_path: Path) -> None:
    right = {"bleu": 25, **{other.array("bleu"): 10 for other in TEST_SETS}}
    outcomes = [one for name in CPU.names for one in trained(tmp_path / name, name, right)]
    rows, claims = conclude(REPRODUCTION, CPU, outcomes)
    assert {claim.id for claim in claims} == {claim.id for claim in REPRODUCTION.claims}
    assert {row.corpus for row in rows if row.variant == "korean"} == {"multi30k en-fr", "tatoeba ko-en"}


def test_data_of_ones_own_have_one_test_set_and_no_claim_on_another(tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        for language in ("en", "fr"):
            (tmp_path / f"{split}.{language}").write_text(f"{language} {split}\n", encoding="utf-8")
    options = DataOptions(folder=tmp_path, source="en", target="fr")
    preset = CPU.on(OwnData(translation.own_files(tmp_path, "en", "fr"), options))
    outcomes = [one for name in preset.names for one in trained(tmp_path / name, name, {"bleu": 25})]
    rows, claims = conclude(REPRODUCTION, preset, outcomes)
    assert claims == [] and {row.variant for row in rows} == set(CPU.names)
    dropout, plain = ([one for one in outcomes if one.variant == name] for name in ("dropout", "plain"))
    own = preset.task("plain").compare("bleu", dropout, plain)
    assert own is not None and own.estimate.mean == 0, "their own test split is compared"


def test_the_interval_of_half_of_a_score_is_half_as_wide(tmp_path: Path) -> None:
    outcomes = trained(tmp_path, "french", {"bleu": 30, TATOEBA.array("bleu"): 5})
    own, outside = (
        bootstrap_metric(np.stack([one.predictions[name] for one in outcomes]), bleu, seed=0)
        for name in ("bleu", TATOEBA.array("bleu"))
    )
    effect = below_half(TATOEBA)(outcomes)
    assert effect is not None and effect.estimate.mean == pytest.approx(own.mean / 2 - outside.mean)
    half = np.sqrt(((own.high - own.low) / 4) ** 2 + ((outside.high - outside.low) / 2) ** 2)
    assert effect.estimate.high - effect.estimate.low == pytest.approx(2 * half)


@pytest.mark.corpus("multi30k", "ko_en", "fra_eng")
@pytest.mark.slow
def test_notes_state_the_sizes_of_the_test_sets() -> None:
    def number(count: int) -> str:
        return f"{count:,}".replace(",", " ")

    def words(sentences: list[str]) -> str:
        return f"{np.mean([len(sentence.split()) for sentence in sentences]):.1f}"

    french, korean = (CPU.task(name).prepare(CPU.variant(name).settings) for name in ("french", "korean"))
    texts, origins, lengths, _, before = (" ".join(note.split()) for note in REPRODUCTION.notes)
    sets = {**french.elsewhere, **korean.elsewhere}
    assert {name: pairs.seen for name, pairs in sets.items()} == dict.fromkeys(sets, 0)
    sizes = {name: number(len(pairs.sources)) for name, pairs in sets.items()}
    tatoeba = sum(len(references) for references in sets["tatoeba"].references)
    assert f"{sizes['tatoeba']} of Tatoeba en-fr ({number(tatoeba)} pairs), {sizes['korsts']} of KorSTS" in origins
    assert f"{sizes['news']} of news and {sizes['jhe']} of JHE" in origins
    mean = {name: words(pairs.sources) for name, pairs in sets.items()}
    mean["captions"] = words(french.prepared.splits["test"].source.text.tolist())
    assert f"have {mean['tatoeba']} words in Tatoeba en-fr and {mean['captions']} in captions" in lengths
    own = korean.prepared.splits["test"].source.text.tolist()
    assert f"from Korean, {words(own)} in Tatoeba, {mean['korsts']} in KorSTS, {mean['news']} in news" in lengths
    assert f"{mean['jhe']} in JHE" in lengths and f"test split has {len(own)} short sentences" in before
    origin = Counter(str(row_id).partition(":")[0] for row_id in korean.prepared.splits["train"].row_id)
    of_korsts, of_tatoeba = number(origin["korsts-train"]), number(origin["tatoeba"])
    assert f"Of the {number(origin.total())} training pairs from Korean {of_korsts} are KorSTS" in texts
    assert f"and {of_tatoeba} Tatoeba;" in texts


@pytest.mark.corpus("multi30k", "ko_en", "fra_eng")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["french", "korean"])
def test_published_scores_on_other_test_sets_follow_from_the_translations(name: str) -> None:
    """By sacreBLEU on the whole test set, each translation with each of its references."""
    rows = [row for row in results("translation_domains")["rows"] if row["variant"] == name]
    data, checked = CPU.task(name).prepare(CPU.variant(name).settings), 0
    for other in CPU.task(name).elsewhere:
        pairs = data.elsewhere[other.name]
        scored = [row for row in rows if row["signature"].startswith(f"{other.title};")]
        for metric, seed in itertools.product(("sacrebleu", "chrf"), scored[0]["per_seed"]):
            (row,) = (row for row in scored if row["metric"] == metric)
            texts = strings_in(arrays("translation_domains", name, seed), other.array("text"))
            several, references = pairs.by_reference([text.replace("<unk>", "UNK") for text in texts])
            if metric == "chrf":
                lower = [text.lower() for text in several], [[text.lower() for text in references]]
                score = sacrebleu.corpus_chrf(*lower)
            else:
                score = sacrebleu.corpus_bleu(several, [references], lowercase=True, tokenize="13a")
            assert row["per_seed"][seed] == pytest.approx(score.score, rel=1e-9), (other.name, seed)
            checked += 1
    assert checked


def test_figure_of_lengths_leaves_out_ranges_with_few_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, list[float]] = {}
    monkeypatch.setattr(domain_results, "score_by_length", lambda lines, labels, path, label: drawn.update(lines))
    outcomes = trained(tmp_path, "french", {"bleu": 30, TATOEBA.array("bleu"): 10})
    outcomes[0].predictions["words"][:] = 5
    outcomes[0].predictions[TATOEBA.array("words")][:20] = 30
    bleu_by_length_and_test_set(("french", "korean"), TEST_SETS)({"french": outcomes}, tmp_path)
    assert list(drawn) == ["its own corpus", TATOEBA.title]
    assert drawn["its own corpus"][0] > 0 and np.isnan(drawn["its own corpus"][1:]).all()
    assert np.isnan(drawn[TATOEBA.title]).all(), "two ranges have 20 sentences each"


def test_other_test_sets_are_scored_by_sentence_with_all_references_and_unknown_tokens_as_words() -> None:
    settings = replace(SMOKE.variant("french").settings, beam=1)
    data = FRENCH.prepare(settings, sample=True)
    two = Pairs(["a dog .", "two men ."], [["un chien .", "le chien ."], ["deux hommes ."]], 1)
    data = replace(data, elsewhere={TATOEBA.name: two})
    model = undecided(network(settings, data))
    evaluation = FRENCH.evaluate(model, settings, data, None)  # type: ignore[arg-type]
    arrays = evaluation.predictions
    assert evaluation.examples["elsewhere"] == {"tatoeba": {"sentences": 2, "pairs": 3, "left_out": 1}}
    assert arrays["words_tatoeba"].tolist() == [3, 3] and arrays["log_p_tatoeba"].shape == (2,)
    texts = strings_in(arrays, "text_tatoeba")
    assert len(texts) == 2 and "<unk>" in "".join(texts)
    for metric in ("bleu", "sacrebleu"):
        counts = arrays[f"{metric}_tatoeba"]
        assert counts.shape == (2, 10) and counts[:, 9].tolist() == [6, 3], "words of all references"
        assert evaluation.metrics[f"{metric}_tatoeba"] == bleu(counts.sum(axis=0))
    scored, references = two.by_reference([text.replace("<unk>", "UNK") for text in texts])
    assert evaluation.metrics["chrf_tatoeba"] == chrf(scored, references)
    official = two.by_source(FRENCH.official.counts(scored, references))
    np.testing.assert_array_equal(arrays["sacrebleu_tatoeba"], official)
