"""The task of text classification: data, objective, outcomes, rows, ensembles, pages and answers."""

from __future__ import annotations

import io
import json
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import init, nd
from mxnet.gluon import nn

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.layers.embeddings import SpelledEmbedding
from gluon_attn.models.outputs import Classifier, ClassifierOutput
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.training.recipe import Recipe
from preprocessing.documents import OWN_DOCUMENTS, own_documents
from preprocessing.text.data import Split
from preprocessing.text.own_texts import OWN_TEXTS
from preprocessing.text.vocabulary import SPECIALS, UNKNOWN_ID
from reproductions.protocol.own_data import DataOptions
from reproductions.protocol.reported import Reported
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import AnswerOptions, TrainedModel, Variant
from reproductions.tasks.classification.accuracy import scores
from reproductions.tasks.classification.corpora import NSMC, SST, IMDb
from reproductions.tasks.classification.examples import featured, of_length
from reproductions.tasks.classification.preprocessing_choices import Choices, ChosenNSMC
from reproductions.tasks.classification.results import averaged, combined, gained_by_averaging, reading_page
from reproductions.tasks.classification.settings import (
    ClassificationData,
    StackedSettings,
    StructuredSettings,
    Syllables,
)
from reproductions.tasks.classification.task import MeasurementResult
from tests.preprocessing.test_document_films import line
from tests.preprocessing.test_documents import folder
from tests.reproductions.support import outcome

RECIPE = Recipe(epochs=1, batch_size=8, learning_rate=0.1)
SIZES: dict[str, Any] = {"min_freq": 1, "max_length": 20, "embedding_units": 6, "units": 4, "attention_units": 3}
STACKED = StackedSettings(**SIZES)
HOPS = StructuredSettings(**SIZES, cell="gru", hops=3, hidden=5, embedding_dropout=0.0, dropout=0.0, penalty=0.5)


def network(settings: Any, data: ClassificationData) -> Any:
    """Not trained, but deterministic."""
    runtime.seed_all(1)
    model = settings.build(data)
    model.initialize(init.Xavier())
    return model


# --- data ---


def test_each_corpus_has_its_own_part_of_the_sample_and_its_labels() -> None:
    tasks: list[Any] = [NSMC(), IMDb(), SST("sst-2"), SST("sst-5")]
    prepared = [task.prepare(STACKED, sample=True) for task in tasks]
    assert [data.corpus for data in prepared] == ["sample"] * 4
    assert [data.classes for data in prepared] == [2, 2, 2, 5]
    assert prepared[3].labels[2] == "neutral" and prepared[3].prepared.train.label.max() == 4
    assert len({data.digest for data in prepared}) == 4
    names = [name for data in prepared for name in data.corpora]
    assert len(set(names)) == len(names), "one manifest has the files of all corpora"


def test_the_settings_reach_the_pipeline() -> None:
    def digest(task: Any, **changed: Any) -> str:
        digest: str = task.prepare(StackedSettings(**SIZES | changed), sample=True).digest
        return digest

    assert digest(NSMC()) != digest(NSMC(), min_freq=2)
    assert digest(NSMC()) != digest(NSMC(), max_length=3)
    assert digest(NSMC()) != digest(NSMC(tokenizer="syllable"))
    assert digest(IMDb()) != digest(IMDb(max_words=5)) != digest(IMDb(max_words=5, overlong="wrap"))
    assert digest(IMDb()) == digest(IMDb(), max_length=3), "the network truncates these reviews, not the pipeline"


def test_a_folder_of_tables_is_the_same_texts_for_every_task(tmp_path: Path) -> None:
    tables, documents = tmp_path / "tables", tmp_path / "documents"
    tables.mkdir()
    for name, rows in (("train", range(40)), ("test", range(30, 60))):
        lines = ["id\tdocument\tlabel", *(f"{row}\tfilm {row % 9} is {row % 2}\t{row % 2}" for row in rows)]
        (tables / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tasks: list[Any] = [NSMC(tokenizer="whitespace"), IMDb(), SST("sst-2")]
    own = [task.own_data(DataOptions(folder=tables)) for task in tasks]
    assert {each.files.name for each in own} == {OWN_TEXTS} and len({each.digest for each in own}) == 1
    data = tasks[1].on(own[1]).prepare(replace(STACKED, min_freq=1))
    assert (data.rows["test"], data.labels) == (30, ("0", "1"))
    (documents / "train" / "neg").mkdir(parents=True)
    (documents / "train" / "neg" / "1_1.txt").write_text("bad", encoding="utf-8")
    assert IMDb().own_data(DataOptions(folder=documents)).files.name == OWN_DOCUMENTS


def test_a_warm_up_ends_within_the_first_epoch_on_few_texts_of_ones_own(tmp_path: Path) -> None:
    rows = [f"{row}\tfilm {row} is {row % 2}\t{row % 2}" for row in range(40)]
    for name in ("train", "test"):
        (tmp_path / f"{name}.tsv").write_text("\n".join(["id\tdocument\tlabel", *rows, ""]), encoding="utf-8")
    network: dict[str, Any] = {"cell": "gru", "hops": 2, "hidden": 3, "embedding_dropout": 0.0, "dropout": 0.0}
    settings = StructuredSettings(**SIZES, **network, penalty=0.1, penalty_warmup=1_000)
    task: Any = NSMC(tokenizer="whitespace")
    for chosen, share in ((task, 4 / 1_000), (task.on(task.own_data(DataOptions(folder=tmp_path))), 1.0)):
        data = chosen.prepare(settings, sample=chosen is task)
        objective = chosen.objective(settings, Recipe(epochs=1, batch_size=16, learning_rate=0.01), data)
        batch = next(objective.batches(np.random.RandomState(1)))
        assert objective.at_step(batch, 4).target[:, 1] == pytest.approx(share)


# --- initialisation from word vectors ---


@dataclass
class Vectors:
    """A pretrained network: 배우 and 영화 have vectors."""

    units: int

    def vectors(self) -> np.ndarray:
        return np.concatenate([np.zeros((2, self.units)), [[1] * self.units, [2] * self.units]]).astype(np.float32)


def pretrained(units: int, tokenizer: str = "mecab") -> TrainedModel[Any, Any]:
    class Prepared:
        vocabulary = type("Words", (), {"learned": ["배우", "영화"], "specials": SPECIALS})
        tokenizer: Any

    Prepared.tokenizer = type("Tokenizer", (), {"name": tokenizer})
    data = type("Data", (), {"prepared": Prepared})
    variant = Variant("skip-gram", "", STACKED, RECIPE)
    return TrainedModel(Vectors(units), variant, NSMC(), data, "0" * 64)  # type: ignore[arg-type]


@pytest.mark.parametrize("syllables", [None, Syllables(units=2, min_freq=1)], ids=["tokens", "spelled"])
def test_tokens_with_a_trained_vector_are_initialised_from_it_and_the_others_stay_random(syllables: Any) -> None:
    settings = StackedSettings(**SIZES, syllables=syllables)
    task, data = NSMC(), NSMC().prepare(settings, sample=True)
    assert {"배우", "영화"} < set(data.prepared.vocabulary.idx_to_token)
    model, drawn = (network(settings, data) for _ in range(2))
    assert isinstance(model.embedding, SpelledEmbedding if syllables else nn.Embedding)
    task.initialize(model, data, pretrained(6))
    after, before = (each.token_embedding.weight.data().asnumpy() for each in (model, drawn))
    for row, token in enumerate(data.prepared.vocabulary.idx_to_token):
        expected = {"배우": np.ones(6), "영화": np.full(6, 2)}.get(token, before[row])
        np.testing.assert_array_equal(after[row], expected)


def test_vectors_that_do_not_fit_are_refused() -> None:
    data = NSMC().prepare(STACKED, sample=True)
    model = network(STACKED, data)
    with pytest.raises(UsageError, match="word vectors of 5 units cannot initialise embeddings of 6; make them equal"):
        NSMC().initialize(model, data, pretrained(5))
    with pytest.raises(UsageError, match="vectors of the tokens of okt, not of mecab"):
        NSMC().initialize(model, data, pretrained(6, "okt"))
    without = TrainedModel(model, Variant("mean", "", STACKED, RECIPE), NSMC(), data, "0" * 64)
    with pytest.raises(UsageError, match="mean: has no word vectors"):
        NSMC().initialize(model, data, without)


# --- objective ---


def test_an_epoch_has_every_review_once_with_its_label() -> None:
    data = NSMC().prepare(STACKED, sample=True)
    objective = NSMC().objective(STACKED, RECIPE, data)
    batches = list(objective.batches(np.random.RandomState(1)))
    train = data.prepared.train
    assert objective.steps == len(batches) == -(-len(train) // 8)
    batched = sorted(
        (tuple(ids[: int(length)]), int(label))
        for batch in batches
        for ids, length, label in zip(*batch.inputs, batch.target, strict=True)
    )
    expected = zip(train.sequences(), train.label, strict=True)
    assert batched == sorted((tuple(ids) or (UNKNOWN_ID,), int(label)) for ids, label in expected)


def test_the_penalty_is_part_of_the_loss_of_networks_that_have_one() -> None:
    data = NSMC().prepare(HOPS, sample=True)
    output = ClassifierOutput(nd.zeros((2, 2)), hops=nd.ones((2, 3, 1)), penalty=nd.array([4.0, 8.0]))
    target = nd.array([0, 1])

    def losses(settings: Any, given: ClassifierOutput) -> np.ndarray:
        loss: np.ndarray = NSMC().objective(settings, RECIPE, data).loss(given, target).asnumpy()
        return loss

    np.testing.assert_allclose(losses(HOPS, output), np.log(2) + np.array([2.0, 4.0]), rtol=1e-5)
    np.testing.assert_allclose(losses(HOPS, output._replace(penalty=None)), np.log(2), rtol=1e-5)
    np.testing.assert_allclose(losses(STACKED, output), np.log(2), rtol=1e-5)


def test_the_penalty_is_warmed_up_step_by_step() -> None:
    settings = replace(HOPS, penalty_warmup=50)
    data = NSMC().prepare(settings, sample=True)
    objective = NSMC().objective(settings, RECIPE, data)
    assert 10 < objective.steps < 50
    for epoch in (1, 2, 5):
        shares = [batch.target[:, 1] for batch in objective.epoch_batches(np.random.RandomState(1), epoch)]
        first = (epoch - 1) * objective.steps
        expected = [min(1.0, step / 50) for step in range(first, first + objective.steps)]
        assert [float(share.mean()) for share in shares] == pytest.approx(expected) and np.ptp(shares[1]) == 0
    output = ClassifierOutput(nd.zeros((2, 2)), hops=nd.ones((2, 3, 1)), penalty=nd.array([4.0, 8.0]))
    losses = objective.loss(output, nd.array([[0, 0.25], [1, 1.0]])).asnumpy()
    np.testing.assert_allclose(losses, np.log(2) + np.array([0.5, 4.0]), rtol=1e-5)
    plain = NSMC().objective(HOPS, RECIPE, data)
    pairs = zip(plain.batches(np.random.RandomState(1)), plain.epoch_batches(np.random.RandomState(1), 3), strict=True)
    assert all(np.array_equal(one.target, other.target) and one.target.ndim == 1 for one, other in pairs)


def test_settings_that_came_later_are_recorded_only_if_set() -> None:
    assert "penalty_warmup" not in HOPS.as_json()
    assert replace(HOPS, penalty_warmup=80).as_json() == {**HOPS.as_json(), "penalty_warmup": 80}


def test_tokens_are_dropped_in_training_only() -> None:
    """Otherwise every accuracy would be of texts with unknown words: three tokens of ten here."""
    settings = StackedSettings(**SIZES, token_dropout=0.3)
    plain, data = NSMC().prepare(STACKED, sample=True), NSMC().prepare(settings, sample=True)
    model = network(STACKED, plain)
    batches = [
        next(iter(NSMC().objective(each, RECIPE, data).batches(np.random.RandomState(1))))
        for each in (STACKED, settings)
    ]
    assert (batches[0].inputs[0] != batches[1].inputs[0]).mean() > 0.05
    validated = [NSMC().objective(each, RECIPE, data).evaluate(model) for each in (STACKED, settings)]
    assert validated[0] == validated[1]
    last: Any = None
    tested = [NSMC().evaluate(model, each, data, last) for each in (STACKED, settings)]
    np.testing.assert_array_equal(tested[0].predictions["probability"], tested[1].predictions["probability"])
    assert tested[0].metrics == tested[1].metrics


def test_scores_are_accuracy_and_cross_entropy() -> None:
    probabilities = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    measured = scores(probabilities, np.array([0, 1]))
    assert measured["accuracy"] == 50.0
    assert measured["loss"] == pytest.approx(-(np.log(0.5) + np.log(0.2)) / 2)


# --- outcomes ---


def test_an_evaluation_has_what_rows_pages_and_figures_need() -> None:
    def counted(evaluated: Any) -> MeasurementResult:
        return MeasurementResult({"tokens": evaluated.test.lengths}, {"first": evaluated.test.words(0)})

    task = NSMC(measurements=(featured("정말 좋은 영화", "example"), of_length(6, 4, matrix=True), counted))
    data = task.prepare(HOPS, sample=True)
    last: Any = None
    evaluation = task.evaluate(network(HOPS, data), HOPS, data, last)
    test = data.prepared.test
    assert list(evaluation.predictions) == ["probability", "right", "label", "seen_in_train", "tokens"]
    predicted = evaluation.predictions["probability"] > 0.5
    np.testing.assert_array_equal(evaluation.predictions["right"], predicted == test.label)
    np.testing.assert_array_equal(evaluation.predictions["label"], test.label)
    np.testing.assert_array_equal(evaluation.predictions["seen_in_train"], test.seen_in_train)
    assert evaluation.metrics["accuracy"] == 100 * evaluation.predictions["right"].mean()
    examples = json.loads(json.dumps(evaluation.examples))
    assert examples["featured"]["name"] == "example" and examples["featured"]["tokens"][0] == "정말"
    assert np.shape(examples["featured"]["matrix"]) == (3, len(examples["featured"]["tokens"]))
    near = examples["of_length_6"]
    distances = [abs(len(test.words(example["row"])) - 6) for example in near]
    assert distances == sorted(np.abs(test.lengths - 6))[:4]
    assert [example["tokens"] for example in near] == [test.words(example["row"]) for example in near]
    for example in near:
        assert example["label"] == data.labels[int(predicted[example["row"]])]
        np.testing.assert_allclose(np.mean(example["matrix"], axis=0), example["weights"], rtol=1e-5)
    assert evaluation.texts["token_counts"].sum() == len(evaluation.texts["token_weights"])


def test_reviews_of_one_film_are_one_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Films are numbered in the order of the reviews, not in that of their identifiers or of the lists."""
    listed = {"test/urls_neg": "313", "test/urls_pos": "12", "train/urls_neg": "456", "train/urls_pos": "78"}
    lists = {f"{name}.txt": "".join(line(f"tt{film}") for film in films).encode() for name, films in listed.items()}
    monkeypatch.setattr("preprocessing.corpora.find", {"imdb": own_documents(folder(tmp_path, lists))}.__getitem__)
    reviews = ["test/pos/1_8", "test/neg/2_3", "test/pos/0_9", "test/neg/1_2", "test/neg/0_1"]
    assert IMDb().clusters(Split.of(reviews, row_id=reviews)).tolist() == [0, 1, 2, 2, 1]


def test_five_classes_have_five_probabilities() -> None:
    task = SST("sst-5")
    data = task.prepare(HOPS, sample=True)
    last: Any = None
    probability = task.evaluate(network(HOPS, data), HOPS, data, last).predictions["probability"]
    assert probability.shape == (len(data.prepared.test), 5)


# --- rows, effects, ensembles ---


def test_rows_are_of_the_test_split_of_texts_outside_train_and_of_validation(tmp_path: Path) -> None:
    right, seen = np.arange(80) % 4 > 0, np.arange(80) < 20
    peer = Reported("peer", 80.0, "nsmc", "accuracy", "somewhere")
    variant = Variant("mean", "", STACKED, RECIPE, beside=peer, comparable=True)
    finished = outcome(tmp_path, "mean", arrays={"right": right | seen, "seen_in_train": seen})
    everything, without, validation = NSMC().rows([finished], variant)
    assert [(row.split, row.mean) for row in (everything, without, validation)] == [
        ("test", 81.25),
        ("test", 75.0),
        ("validation", 50.0),
    ]
    assert "80 test reviews" in everything.signature and "60 test reviews" in without.signature
    assert everything.reported and everything.comparable
    assert without.reported is None and validation.reported is None
    first, second = NSMC.columns
    assert first.signature in everything.signature and second.signature in without.signature
    assert first.signature not in without.signature and second.signature not in everything.signature


def test_without_texts_outside_train_there_is_no_row_of_them(tmp_path: Path) -> None:
    finished = outcome(tmp_path, "mean", arrays={"right": np.arange(8) > 3, "seen_in_train": np.ones(8, bool)})
    rows = NSMC().rows([finished], Variant("mean", "", STACKED, RECIPE))
    assert [(row.split, row.mean) for row in rows] == [("test", 50.0), ("validation", 50.0)]


def test_an_effect_is_a_difference_of_accuracies_in_points(tmp_path: Path) -> None:
    better, worse = (
        [outcome(tmp_path, name, seed, {"right": np.arange(80) % 4 > low}) for seed in (1, 2)]
        for name, low in (("better", 0), ("worse", 2))
    )
    effect = NSMC().compare("", better, worse)
    assert effect.estimate.mean == 50.0 and effect.items == "reviews"
    with pytest.raises(UsageError, match="metric 'bleu' is unknown in classification; choose from accuracy"):
        NSMC().compare("bleu", better, worse)


@pytest.mark.parametrize(
    ("probabilities", "label", "right"),
    [
        ([[0.9, 0.4, 0.2], [0.2, 0.8, 0.3]], [1, 0, 0], [True, False, True]),
        ([[[0.5, 0.3, 0.2], [0.1, 0.5, 0.4]], [[0.1, 0.7, 0.2], [0.1, 0.2, 0.7]]], [1, 2], [True, True]),
    ],
    ids=["two classes", "three classes"],
)
def test_an_ensemble_averages_the_probabilities_of_its_members(
    probabilities: Any, label: list[int], right: list[bool], tmp_path: Path
) -> None:
    """Of two classes: 0.55, 0.6 and 0.25. Of three classes the first text is of class 1, the second of class 2."""
    members = [
        outcome(
            tmp_path,
            "best",
            seed,
            {
                "probability": probability,
                "label": label,
                "seen_in_train": [False] * len(label),
                "right": [True] * len(label),
            },
        )
        for seed, probability in enumerate(probabilities, start=1)
    ]
    evaluation = NSMC().combine(members, list)
    np.testing.assert_allclose(evaluation.predictions["probability"], np.mean(probabilities, axis=0))
    assert evaluation.predictions["right"].tolist() == right
    assert evaluation.metrics == {"accuracy": 100 * np.mean(right)}
    assert {"label", "seen_in_train"} < set(evaluation.predictions)


def test_an_ensemble_is_named_after_its_members_and_has_no_validation(tmp_path: Path) -> None:
    peer = Reported("peer", 80.0, "nsmc", "accuracy", "somewhere")
    ensemble = averaged("best", peer)
    assert (ensemble.name, ensemble.members, ensemble.beside, ensemble.comparable) == (
        "best-averaged",
        "best",
        peer,
        False,
    )
    arrays = {"right": np.ones(4, bool), "seen_in_train": np.zeros(4, bool)}
    finished = outcome(tmp_path, ensemble.name, "1+2", arrays, history=[])
    rows = NSMC().rows([finished], Variant(ensemble.name, "", STACKED, RECIPE))
    assert [row.split for row in rows] == ["test", "test"] and rows[0].per_seed == {"1+2": 100.0}


# --- pages and answers ---


def evaluated(folder: Path, settings: Any = HOPS, **changed: Any) -> Outcome:
    task = NSMC(measurements=(featured("정말 좋은 영화", "example"),))
    data = task.prepare(settings, sample=True)
    last: Any = None
    evaluation = task.evaluate(network(settings, data), settings, data, last)
    return outcome(
        folder,
        "best",
        1,
        evaluation.predictions,
        examples=evaluation.examples,
        texts=evaluation.texts,
        **{"corpus": "sample"} | changed,
    )


def test_the_attention_viewer_is_written_from_the_outcome_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = evaluated(tmp_path)
    write = reading_page("A title", "absent", "best", every=7)
    paths = write({"best": [finished], "mean": [finished]}, tmp_path)
    page = paths["reading page"].read_text(encoding="utf-8")
    data = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    reviews = len(finished.predictions["right"])
    assert len(data["id"]) == 1 + reviews and data["examples"] == [0] and data["id"][0] == "example"
    assert "0" in data["matrix"] and data["gold"][1:] == "".join(map(str, finished.predictions["label"]))
    assert "A title" in page and 'lang="ko"' in page and finished.record["parameters_sha256"] in page
    monkeypatch.setattr("reproductions.tasks.classification.results.WHOLE", reviews - 1)
    page = write({"best": [finished]}, tmp_path)["reading page"].read_text(encoding="utf-8")
    assert f"one in 7 of the {reviews} test texts" in page
    assert write({"mean": [finished]}, tmp_path) == {}


def test_a_published_outcome_has_no_page(tmp_path: Path) -> None:
    finished = evaluated(tmp_path)
    finished.publish(tmp_path / "published")
    published = Outcome.read(tmp_path / "published" / "best" / "seed-1", "best", 1)
    assert reading_page("A title", "best")({"best": [published]}, tmp_path) == {}
    assert published.examples == finished.examples


def test_a_published_outcome_has_a_page_of_its_examples(tmp_path: Path) -> None:
    finished = evaluated(tmp_path)
    finished.publish(tmp_path / "published")
    published = Outcome.read(tmp_path / "published" / "best" / "seed-1", "best", 1)
    assert NSMC().published_page(published, "A title", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    rows = [int(name.removeprefix("test text ")) - 1 for name in data["id"][1:]]
    assert data["examples"] == [0] and rows == sorted(set(rows))
    assert data["gold"][1:] == "".join(str(published.predictions["label"][row]) for row in rows)
    assert f"of the {len(published.predictions['label'])} test texts" in page and 'lang="ko"' in page
    assert "<title>Texts read by best: A title</title>" in page and '<a href="attention.html">' in page
    empty = outcome(tmp_path / "empty", "a", arrays={"label": [0]})
    assert not NSMC().published_page(empty, "A title", tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_texts_of_which_few_have_labels_are_a_task_of_their_own() -> None:
    """So that they do not count for the deviation over seeds of networks that are trained on all labels."""
    assert NSMC(tokenizer="syllable").reads == NSMC().reads != NSMC(labelled=100).reads != NSMC(labelled=1000).reads


def answers(settings: Any, text: bytes, *, weights: bool = False) -> list[str]:
    data = NSMC().prepare(settings, sample=True)
    trained = TrainedModel(network(settings, data), Variant("best", "", settings, RECIPE), NSMC(), data, "0" * 64)
    return list(NSMC().answer(trained, io.BytesIO(text), AnswerOptions(weights=weights)))


def test_each_line_gets_a_label_a_probability_and_weights(capsys: pytest.CaptureFixture[str]) -> None:
    first, empty, long = answers(HOPS, f"정말 좋은 영화\n\n{'영화 ' * 30}\n".encode(), weights=True)
    label, probability, pairs = first.split("\t")
    assert label in ("negative", "positive") and 0.5 <= float(probability) <= 1 and empty == ""
    tokens, shares = zip(*(pair.rsplit(":", 1) for pair in pairs.split(" ")), strict=True)
    assert tokens[0] == "정말" and sum(map(float, shares)) == pytest.approx(1, abs=0.01)
    assert len(long.split("\t")[2].split(" ")) == 20
    assert capsys.readouterr().err == "line 3: 30 tokens, only the first 20 are read\n"


def test_words_that_are_removed_do_not_count_as_read(capsys: pytest.CaptureFixture[str]) -> None:
    settings = replace(HOPS, max_length=3)
    for choices, printed in (
        (Choices(tokenizer="whitespace", stop_words="wikidocs-okt"), ""),
        (Choices(tokenizer="whitespace", keep="last"), "line 2: 5 tokens, only the last 3 are read\n"),
    ):
        task = ChosenNSMC(choices=choices)
        data = task.prepare(settings, sample=True)
        answering = TrainedModel(network(settings, data), Variant("best", "", settings, RECIPE), task, data, "0" * 64)
        assert (
            len(list(task.answer(answering, io.BytesIO("영화\n정말 은 는 좋은 영화\n".encode()), AnswerOptions()))) == 2
        )
        assert capsys.readouterr().err == printed


def test_lines_without_a_known_token_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(answers(HOPS, "𓀀 𓀁\n정말 𓀀\n𓀀\n".encode())) == 3
    assert capsys.readouterr().err == "line 1: no token is in the vocabulary; the same for line 3\n"


def test_decomposed_hangul_is_named_as_the_cause(capsys: pytest.CaptureFixture[str]) -> None:
    answers(HOPS, unicodedata.normalize("NFD", "정말\n").encode())
    message = "line 1: tokens are not in the vocabulary; convert decomposed Hangul (NFD) to NFC\n"
    assert capsys.readouterr().err == message


def test_decomposed_hangul_is_named_although_a_token_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    known = answers(HOPS, "정말\n".encode())
    assert known and capsys.readouterr().err == ""
    answers(HOPS, ("정말 " + unicodedata.normalize("NFD", "정말")).encode() + "\n정말 𓀀\n".encode())
    message = "line 1: tokens are not in the vocabulary; convert decomposed Hangul (NFD) to NFC\n"
    assert capsys.readouterr().err == message


def test_weights_of_a_network_without_attention_are_refused() -> None:
    settings = StructuredSettings(
        **SIZES, cell="gru", hops=0, pooling="max", hidden=5, embedding_dropout=0.0, dropout=0.0
    )
    assert len(answers(settings, "좋다\n".encode())) == 1
    with pytest.raises(UsageError, match="variant best has no attention and so no weights; choose another --variant"):
        answers(settings, "좋다\n".encode(), weights=True)


def test_the_token_table_of_a_network_is_the_one_named() -> None:
    assert issubclass(StackedClassifier, Classifier)
    data = NSMC().prepare(STACKED, sample=True)
    model = network(STACKED, data)
    assert model.token_embedding is model.embedding


def test_an_ensemble_of_three_has_the_mean_of_their_probabilities(tmp_path: Path) -> None:
    """Two are barely against what one is certain of."""
    shared = {"label": [1], "seen_in_train": [False], "right": [True]}
    members = [
        outcome(tmp_path, "best", seed, {"probability": [p], **shared}) for seed, p in enumerate((0.9, 0.4, 0.4))
    ]
    assert combined(members).predictions["right"].tolist() == [True]


def test_what_averaging_gains_is_against_the_first_system_in_the_seeds_that_all_have(tmp_path: Path) -> None:
    """Of 40 items, the others correct the second ten in seed 1 and spoil the first ten in seed 2."""
    label = np.ones(40, np.int8)

    def system(name: str, by_seed: dict[int, np.ndarray]) -> list[Outcome]:
        arrays = {"label": label, "seen_in_train": label < 0}
        return [
            outcome(tmp_path, name, seed, {"probability": p, "right": p > 0.5, **arrays}) for seed, p in by_seed.items()
        ]

    first = np.repeat([0.6, 0.4, 0.9, 0.9], 10)
    others = {1: np.repeat([0.9, 0.9, 0.4, 0.4], 10), 2: np.repeat([0.1, 0.2, 0.9, 0.9], 10)}
    best = system("best", {1: first, 2: first, 3: first})
    gained = gained_by_averaging(best, system("a", others), system("b", others))
    assert gained is not None and gained.estimate.mean == 0.0
    (one, two) = (gained_by_averaging(best, system("c", {seed: others[seed]})) for seed in (1, 2))
    assert one is not None and one.estimate.mean == 25.0
    assert two is not None and two.estimate.mean == -25.0
    assert gained_by_averaging(best, system("d", {4: first})) is None
