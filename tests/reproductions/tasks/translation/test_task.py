"""The task of translation on the embedded sentences: epochs, measurements on the test split, ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.models.outputs import TranslationOutput
from gluon_attn.training.checkpoint import Checkpoint
from preprocessing.bitext.pipeline import TranslationPipeline
from preprocessing.pipeline.ragged import strings_in
from reproductions import bahdanau2014
from reproductions.protocol.own_data import DataOptions
from reproductions.protocol.task import Evaluation, TrainedModel
from reproductions.tasks.bleu import Bleu, bleu, chrf
from reproductions.tasks.translation import task
from reproductions.tasks.translation.data import TranslationData
from reproductions.tasks.translation.decoding import Translated, counts, translate, without_unknown
from reproductions.tasks.translation.task import Translation
from tests.reproductions.translating import network, undecided

SMOKE = bahdanau2014.REPRODUCTION.preset("smoke")
VARIANT = SMOKE.variant("search-all")
SETTINGS = replace(VARIANT.settings, beam=3, alpha=2.0, more_beams=(1,), replace_unknown=True)
WITHOUT_ATTENTION = replace(SETTINGS, attention=False)
TASK = Translation("multi30k en-de", source="en", target="de")
KOREAN = Translation("tatoeba ko-en", source="en", target="ko")
LAST = cast(Checkpoint, None)  # Only tasks that compare the best epoch with the last read it.


@pytest.fixture(scope="module")
def data() -> TranslationData:
    return TASK.prepare(SETTINGS, sample=True)


@pytest.fixture(scope="module")
def evaluation(data: TranslationData) -> Evaluation:
    return TASK.evaluate(undecided(network(SETTINGS, data)), SETTINGS, data, LAST)


def texts(evaluation: Evaluation) -> list[str]:
    return strings_in(evaluation.predictions, "text")


def test_further_collections_are_read_of_the_corpus_and_not_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(pipeline: TranslationPipeline, corpus: str) -> Any:
        return SimpleNamespace(card={"corpus": {"name": corpus}}, corpora=dict.fromkeys(pipeline.parts, ""))

    monkeypatch.setattr(TranslationPipeline, "run", run)
    plain, more = (
        [task.prepare(SETTINGS, sample=sample).corpora.keys() for sample in (False, True)]
        for task in (KOREAN, replace(KOREAN, extra=("bible",)))
    )
    assert more[0] - plain[0] == {"bible"} and more[1] == plain[1]


def test_an_epoch_has_every_pair_once(data: TranslationData) -> None:
    objective = TASK.objective(SETTINGS, VARIANT.recipe, data)
    batches = list(objective.batches(np.random.RandomState(1)))
    assert len(batches) == objective.steps
    tokens = sum(float(batch.target[0]) for batch in batches)
    train = data.prepared.splits["train"].target
    assert tokens == train.lengths.sum() + len(train)


def test_the_epoch_with_the_best_bleu_is_selected(data: TranslationData) -> None:
    objective = TASK.objective(SETTINGS, VARIANT.recipe, data)
    assert objective.select == "bleu"
    model = network(SETTINGS, data)
    measured = objective.evaluate(model)
    greedy = translate([model], data, data.prepared.splits["validation"].source, beam=1)
    assert measured["bleu"] == bleu(counts(data, "validation", greedy).sum(axis=0))
    assert measured["perplexity"] == pytest.approx(np.exp(measured["loss"]))


def test_the_length_penalty_with_the_best_validation_bleu_is_chosen(
    data: TranslationData, monkeypatch: pytest.MonkeyPatch
) -> None:
    references, splits = data.prepared.references("validation"), data.prepared.splits
    searched = []

    def translated(models: Any, data: Any, sentences: Any, *, beam: int, alpha: float) -> list[Translated]:
        searched.append((beam, alpha))
        assert sentences is splits["validation"].source
        texts = references if alpha > 1.0 else references[::-1]
        return [Translated([], text, 0.0, None) for text in texts]

    def chosen(*alphas: float) -> dict[str, Any]:
        settings = replace(SETTINGS, alphas=alphas)
        model = cast(Any, None)
        return TASK.choose(TrainedModel(model, replace(VARIANT, settings=settings), TASK, data, ""))

    monkeypatch.setattr(task, "translate", translated)
    assert chosen(0.6, 1.4, 1.8) == {"alpha": 1.4}, "the first of the best"
    assert searched == [(3, 0.6), (3, 1.4), (3, 1.8)]
    assert chosen() == {}


def test_two_sides_are_not_compared_in_an_unknown_metric() -> None:
    with pytest.raises(UsageError, match="metric 'accuracy' is unknown in translation; choose from bleu, perplexity"):
        TASK.compare("accuracy", [], [])


def test_the_test_split_is_translated_with_the_search_of_the_settings(
    data: TranslationData, evaluation: Evaluation
) -> None:
    test, model = data.prepared.splits["test"], undecided(network(SETTINGS, data))
    expected = translate([model], data, test.source, beam=3, alpha=2.0)
    assert texts(evaluation) == [sentence.text for sentence in expected]
    assert texts(evaluation) != [one.text for one in translate([model], data, test.source, beam=3, alpha=0.0)]
    arrays = evaluation.predictions
    greedy = translate([model], data, test.source, beam=1, alpha=2.0)
    replaced = without_unknown(expected, test.source, data)
    for name, sentences in (("bleu", expected), ("bleu_beam_1", greedy), ("bleu_replaced", replaced)):
        np.testing.assert_array_equal(arrays[name], counts(data, "test", sentences), err_msg=name)
    assert arrays["likelihood"].shape == (len(test), 2)
    assert arrays["words"].tolist() == [len(text.split()) for text in test.source.text]
    assert set(evaluation.metrics) == {"bleu", "sacrebleu", "chrf", "perplexity"}


def test_detokenised_text_is_scored_with_unknown_tokens_as_words(data: TranslationData, evaluation: Evaluation) -> None:
    generated, references = texts(evaluation), data.prepared.references("test")
    unknown = [text.count("<unk>") for text in generated]
    assert sum(unknown) > 0 and set("".join(generated).replace("<unk>", "")) <= {" "}
    scored = [text.replace("<unk>", "UNK") for text in generated]
    np.testing.assert_array_equal(evaluation.predictions["sacrebleu"], TASK.official.counts(scored, references))
    assert evaluation.predictions["sacrebleu"][:, 8].tolist() == unknown, "the length of a translation, in tokens"
    assert evaluation.metrics["chrf"] == chrf(scored, references) != chrf(generated, references)


def test_pages_have_the_texts_of_the_test_split(data: TranslationData, evaluation: Evaluation) -> None:
    source, reference = (strings_in(evaluation.texts, name) for name in ("source", "reference"))
    assert source == data.prepared.splits["test"].source.text.tolist()
    assert reference == data.prepared.references("test")


def test_figures_have_alignments_of_long_sentences(data: TranslationData, evaluation: Evaluation) -> None:
    alignments = evaluation.examples["alignments"]
    source, words = data.prepared.splits["test"].source, evaluation.predictions["words"]
    assert 1 <= len(alignments) <= 3
    for alignment in alignments:
        assert words[alignment["row"]] == words[words <= 16].max()
        assert alignment["source"] == source.words(alignment["row"])
        weights = np.array(alignment["weights"])
        assert weights.shape[1] == len(alignment["source"])
        assert len(alignment["target"]) <= len(weights) <= len(alignment["target"]) + 1


def test_without_short_sentences_there_are_no_alignments(tmp_path: Path) -> None:
    for split, pairs in (("train", 30), ("validation", 5), ("test", 2)):
        for language in ("en", "de"):
            lines = [f"{'a long sentence of many words, ' * 4} {language} {number}\n" for number in range(pairs)]
            (tmp_path / f"{split}.{language}").write_text("".join(lines), encoding="utf-8")
    task = TASK.on(TASK.own_data(DataOptions(folder=tmp_path, source="de", target="en")))
    data = task.prepare(SETTINGS)
    evaluation = task.evaluate(undecided(network(SETTINGS, data)), SETTINGS, data, LAST)
    assert evaluation.predictions["words"].min() > 16 and evaluation.examples["alignments"] == []
    assert data.corpus == "own files" and task.source == "de"


def test_a_network_without_attention_has_no_alignments_and_replaces_nothing(data: TranslationData) -> None:
    evaluation = TASK.evaluate(network(WITHOUT_ATTENTION, data), WITHOUT_ATTENTION, data, LAST)
    assert evaluation.examples == {} and "bleu_replaced" not in evaluation.predictions


def test_korean_is_scored_in_morphemes() -> None:
    settings = replace(SETTINGS, beam=1, more_beams=(), replace_unknown=False)
    data = KOREAN.prepare(settings, sample=True)
    evaluation = KOREAN.evaluate(network(settings, data), settings, data, LAST)
    references = data.prepared.references("test")
    in_morphemes, in_words = (Bleu(name, lowercase=True) for name in ("ko-mecab", "13a"))
    assert "tok:ko-mecab" in KOREAN.official.signature and "tok:13a" in TASK.official.signature
    expected = in_morphemes.counts(texts(evaluation), references)
    np.testing.assert_array_equal(evaluation.predictions["sacrebleu"], expected)
    assert (expected != in_words.counts(texts(evaluation), references)).any()


def test_an_ensemble_uses_all_its_members(data: TranslationData) -> None:
    settings = replace(SETTINGS, beam=2)
    networks = [network(settings, data, seed) for seed in (1, 2)]
    variant = replace(VARIANT, settings=settings)

    def models() -> Sequence[TrainedModel[Any, Any]]:
        return [TrainedModel(model, variant, TASK, data, "") for model in networks]

    combined = TASK.combine((), models)
    source = data.prepared.splits["test"].source
    for name, beam in (("bleu", 2), ("bleu_beam_1", 1)):
        together, *alone = (
            counts(data, "test", translate(members, data, source, beam=beam, alpha=settings.alpha))
            for members in (networks, *([model] for model in networks))
        )
        np.testing.assert_array_equal(combined.predictions[name], together)
        assert all((together != one).any() for one in alone)
    assert combined.metrics == {"bleu": bleu(combined.predictions["bleu"].sum(axis=0))}


def test_an_ensemble_is_searched_with_the_penalty_that_validation_chooses_for_it(data: TranslationData) -> None:
    model = undecided(network(SETTINGS, data))

    def bleu_counts(alpha: float, *alphas: float) -> np.ndarray:
        variant = replace(VARIANT, settings=replace(SETTINGS, alpha=alpha, alphas=alphas))
        return TASK.combine((), lambda: [TrainedModel(model, variant, TASK, data, "")]).predictions["bleu"]

    np.testing.assert_array_equal(bleu_counts(0.0, 2.0), bleu_counts(2.0))
    assert (bleu_counts(0.0, 2.0) != bleu_counts(0.0)).any()


def test_further_beams_are_searched_with_their_own_width(data: TranslationData) -> None:
    """Greedy search goes on with the unknown token; a wider beam finds that it is better to end at once."""
    settings = replace(SETTINGS, alpha=0.0, more_beams=(1,), replace_unknown=False)
    model = undecided(network(settings, data))
    arrays = TASK.evaluate(model, settings, data, LAST).predictions
    assert (arrays["bleu_beam_1"][:, 8] > arrays["bleu"][:, 8]).all()


def test_the_loss_of_training_is_the_smoothed_one(data: TranslationData) -> None:
    task_loss = TASK.objective(SETTINGS, VARIANT.recipe, data).loss
    output = TranslationOutput(loss=nd.array([[3.0, 1.0], [2.0, 0.0]]), nll=nd.array([[1.0, 1.0], [1.0, 0.0]]))
    assert task_loss(output, nd.array([3.0])).asscalar() == 2.0
