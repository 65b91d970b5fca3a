"""Word vectors: skip-gram and continuous bag of words with negative sampling.

Mikolov, Chen, Corrado and Dean (2013), "Efficient estimation of word representations in vector space", propose both
networks; Mikolov, Sutskever, Chen, Corrado and Dean (2013), "Distributed representations of words and phrases and their
compositionality", negative sampling and the subsampling of frequent words. They train on hundreds of millions to
billions of English words and count analogies ("Athens is to Greece as Oslo to ..."). First paper, Table 3, 640 units,
320 million words, semantic and syntactic analogies in per cent: skip-gram 55 and 59, CBOW 24 and 64.

Here: the 712 404 Korean film reviews that were crawled for NSMC, less every review whose text stands in its test split
(63 981, copies among them) or in our validation split (15 207), so that these vectors may be what a classifier of NSMC
begins with; a hundredth of the rest is held out for validation, another for test, as the card tells
(``gluon-attn preprocess naver-crawl``). That leaves eleven million of Mecab's morphemes to train on, a thirtieth of the
text of Table 3. Those that occur less than five times are taken out before windows are cut, as the authors do. 200
units, because that is what the best networks of ``naver_self_attention`` and ``lin2017`` have for a word.

And in English, for the networks of ``yang2016``, whose paper begins with vectors of its own training texts: *imdb* is
skip-gram on the reviews of IMDb that those networks train on, their validation and test splits held out.

*What is measured.* There is no Korean list of analogies or of rated pairs among the corpora of this project, so neither
is counted. Two things can be: the loss on a hundredth of the reviews, which compares only within one network and one
threshold; and whether near words share what training has not seen: their sentiment. A word *speaks for* a film when it
stands in reviews rated 9 or 10 (of IMDb 7 to 10) more often than in those rated 1 to 4, both counted in the training
reviews; *clearly* when the ratio of the odds is e or more, and three standard errors. Of the ten nearest words among
those of a hundred reviews or more, the share is counted that is on the same side; half of the clear words, chosen by
hash, are asked for in validation, the others on test. Words of opposite sentiment stand in like contexts too, so this
is no easy test. Besides there are the nearest words themselves: ``neighbours.tsv``, for the words of ``ASKED``.

*What differs.* Rates are Adam's (lazy: rows outside a batch rest) and fall as a cosine, where the authors' SGD falls in
a line; a batch shares its noise words, which is said in ``gluon_attn/models/word2vec.py``. Epoch and sampling are in
the settings; the epoch kept is that of the lowest validation loss.

Claims: subsampling makes rarer words better; skip-gram is better than CBOW in meaning, and for rare words; near words
are alike, beyond chance.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import Estimate, bootstrap
from gluon_attn.models.word2vec import Word2Vec
from gluon_attn.plots.curves import Score, training_curves
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.negative_sampling import Sampling, TokenStream, held_out_loss, word_vector_objective
from gluon_attn.training.objective import Objective
from gluon_attn.training.recipe import Recipe
from preprocessing import documents, naver_crawl
from preprocessing.corpora import locate
from preprocessing.text.data import Split
from preprocessing.text.pipeline import Result
from preprocessing.text.vocabulary import SPECIALS
from reproductions.protocol.experiment import Column, Preset, Reported, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import by_variant, measured, row_of
from reproductions.protocol.runs import Outcome, Unit, load
from reproductions.tasks import neighbours
from reproductions.tasks.neighbours import NEIGHBOURS
from reproductions.tasks.sentiment_lexicon import Agreement, Polarity, agreement, for_test
from reproductions.tasks.word_vectors import word_vectors

TITLE = "Word vectors: skip-gram and CBOW"
SOURCE = "Mikolov et al. (2013), arXiv:1301.3781 and arXiv:1310.4546"
COLUMNS = (
    Column("neighbours of the same sentiment, %", "agreement", "that clearly speak"),
    Column("of rare words", "agreement", "rare ones"),
    Column("loss", "loss"),
)

_TABLE_3 = {"corpus": "320 million words of the LDC", "metric": "accuracy", "source": "Mikolov et al. (2013a), Table 3"}
_TABLE_6 = {"corpus": "google news", "metric": "accuracy", "source": "Mikolov et al. (2013a), Table 6"}
REPORTED = (
    Reported("CBOW, 640 units, semantic analogies", 24.0, **_TABLE_3),
    Reported("CBOW, 640 units, syntactic analogies", 64.0, **_TABLE_3),
    Reported("skip-gram, 640 units, semantic analogies", 55.0, **_TABLE_3),
    Reported("skip-gram, 640 units, syntactic analogies", 59.0, **_TABLE_3),
    Reported("CBOW, 1 000 units, all analogies", 63.7, **_TABLE_6),
    Reported("skip-gram, 1 000 units, all analogies", 65.6, **_TABLE_6),
)

ASKED = (
    *("배우", "감독", "연기", "연출", "음악", "영상", "결말", "반전", "대사", "제목"),
    *("눈물", "감동", "재미", "지루", "최고", "최악", "쓰레기", "명작", "추천", "실망"),
    *("공포", "액션", "로맨스", "코미디", "애니메이션", "드라마", "좀비", "전쟁"),
    *("아이", "엄마", "친구", "남편", "일본", "미국", "극장", "평점"),
    *("ㅋㅋ", "ㅠㅠ", "...", "!"),
)
"""The words whose neighbours are listed, as Mecab cuts them: what a film has, what is felt of it, genres, people and
places, and what is no word."""
DRAWN = ("배우", "음악", "결말", "눈물", "지루", "최고", "쓰레기", "공포", "엄마", "극장")
ASKED_IN_ENGLISH = (
    *("actor", "director", "acting", "directing", "music", "visuals", "ending", "twist", "dialogue", "title"),
    *("tears", "moving", "fun", "boring", "best", "worst", "garbage", "masterpiece", "recommend", "disappointed"),
    *("horror", "action", "romance", "comedy", "animation", "drama", "zombie", "war"),
    *("child", "mother", "friend", "husband", "japan", "america", "theater", "rating"),
    *("good", "bad", "...", "!"),
)
DRAWN_IN_ENGLISH = ("actor", "music", "ending", "tears", "boring", "best", "garbage", "horror", "mother", "theater")
_EVERYTHING = 1.0  # no word is so frequent that any of it is left out
_DRAWS = 1  # the seed of what is drawn when a loss is measured: the same for all trainings

_CPU = {
    "tokenizer": "mecab",
    "min_freq": 5,
    "one_in": 100,
    "units": 200,
    "window": 5,
    "negatives": 5,
    "noise": 64,
    "threshold": 1e-4,
    "length": 32,
    "frequent": 100,
    "clear": 3.0,
}
_CPU_RECIPE = Recipe(epochs=15, batch_size=64, learning_rate=1e-2, decay="cosine")
_TINY = {
    **_CPU,
    **{"min_freq": 1, "one_in": 10, "frequent": 5, "clear": 1.0},
    **{"units": 16, "noise": 16, "threshold": 1e-2, "length": 16},
}
# The embedded sample is so small that what the crawl has enough of would not occur in it.
_AT_MOST_ON_SAMPLE = {"min_freq": 2, "one_in": 10, "frequent": 5, "clear": 1.0}
_SMOKE_RECIPE = Recipe(epochs=2, batch_size=8, learning_rate=2e-2, decay="cosine")
# The second paper's: 300 units, window 5, 15 negatives, a threshold of 1e-5, words that occur five times, which were
# 692 000 in its billion; three epochs are the first paper's.
_AUTHORS = {**_CPU, "units": 300, "negatives": 15, "threshold": 1e-5}
_AUTHORS_RECIPE = replace(_CPU_RECIPE, epochs=3)


def _variants(settings: Mapping[str, Any], recipe: Recipe) -> tuple[Variant, ...]:
    """Both networks at the same setting, one of them on all words, and one in English."""
    everything = {**settings, "kind": "skip-gram", "threshold": _EVERYTHING}
    # Words as frequent, and vectors at most as wide, as those of the networks of yang2016, which begin with them.
    imdb = {**settings, "kind": "skip-gram", "corpus": "imdb", "min_freq": 6, "units": min(settings["units"], 200)}
    del imdb["tokenizer"], imdb["one_in"]  # rules for English; the splits of the classifiers
    return (
        Variant("skip-gram", "skip-gram: a word predicts each word near it", {**settings, "kind": "skip-gram"}, recipe),
        Variant("cbow", "CBOW: the mean of the words near it predicts a word", {**settings, "kind": "cbow"}, recipe),
        Variant("skip-gram-all", "skip-gram, frequent words not subsampled", everything, recipe, seeds=(1,)),
        Variant("imdb", "skip-gram, English, IMDb's training reviews", imdb, recipe, seeds=(1,)),
    )


_HEADLINE = ("skip-gram", "cbow")
PRESETS = {
    "smoke": Preset("smoke", "sample", (1,), _variants(_TINY, _SMOKE_RECIPE), _HEADLINE),
    "cpu": Preset("cpu", "nsmc-raw", (1, 2), _variants(_CPU, _CPU_RECIPE), _HEADLINE),
    "paper": Preset("paper", "nsmc-raw", (1,), _variants(_AUTHORS, _AUTHORS_RECIPE), _HEADLINE),
}


@dataclass(frozen=True)
class Data:
    """The prepared crawl of one variant.

    Attributes:
        texts: words with a vector, for each split.
        polarity: which words speak for a film, from the ratings of training reviews.
        clear: ids of the words that clearly speak for or against.
        frequent: ids of the words so frequent that their polarity means something.
        packages: those that have a part in the numbers besides those that always have.
    """

    corpus: str
    corpora: dict[str, str]
    prepared: Result
    texts: dict[str, TokenStream]
    polarity: Polarity
    clear: np.ndarray
    frequent: np.ndarray
    packages: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return self.prepared.digest

    def clear_words(self, *, test: bool) -> np.ndarray:
        """Ids of the words that clearly speak for or against, those that are asked for on test or in validation."""
        return self.clear[for_test(self.prepared.vocabulary.tokens(self.clear)) == test]

    def agreement(self, vectors: np.ndarray, words: np.ndarray) -> Agreement:
        """Whether the nearest frequent words speak as these do."""
        return agreement(vectors, self.polarity, words, self.frequent)


def prepare(preset: Preset, variant: Variant) -> Data:
    """Read and preprocess the crawl, or the reviews of IMDb, as a variant wants it."""
    settings = _on(preset.corpus, variant.settings)
    corpus, hashes, prepared = (_reviews if _is_english(variant) else _crawl)(preset.corpus, settings)
    size = len(prepared.vocabulary)
    polarity = Polarity.of(prepared.train, size)
    clear, frequent = polarity.clear(settings["clear"]), np.flatnonzero(polarity.reviews >= settings["frequent"])
    clear, frequent = (ids[ids >= len(SPECIALS)] for ids in (clear, frequent))
    texts = {name: _words(split, size) for name, split in prepared.splits.items()}
    data = Data(corpus, hashes, prepared, texts, polarity, clear, frequent)
    asked = [len(data.clear_words(test=test)) for test in (False, True)]
    if not all(asked) or len(frequent) <= NEIGHBOURS:
        reason = f"{sum(asked)} words clearly speak for or against a film, {len(frequent)} are frequent"
        raise UsageError(f"corpus {corpus}: {reason}; too few to judge vectors by: give more rated reviews")
    return data


def _is_english(variant: Variant) -> bool:
    return variant.settings.get("corpus") == "imdb"


def _crawl(corpus: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, str], Result]:
    """Name, SHA-256 of the files, and what the pipeline gives."""
    files = naver_crawl.files(corpus)
    prepared = naver_crawl.pipeline(**{name: settings[name] for name in ("tokenizer", "min_freq", "one_in")}).run(files)
    # Archives of one crawl differ in their bytes, what is in them does not.
    return files.name, {**files.sha256, "raw": prepared.card["facts"]["crawl"]["sha256"]}, prepared


def _reviews(corpus: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, str], Result]:
    """The same of the reviews of IMDb, or of the embedded sample of these."""
    files = locate.find("sample" if corpus == "sample" else settings["corpus"])
    prepared = documents.pipeline(min_freq=settings["min_freq"]).run(files)
    return prepared.card["corpus"]["name"], prepared.corpora, prepared


def _on(corpus: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as they hold on a corpus."""
    limits = _AT_MOST_ON_SAMPLE if corpus == "sample" else {}
    return {**settings, **{name: min(settings[name], limit) for name, limit in limits.items() if name in settings}}


def _words(split: Split, vocabulary_size: int) -> TokenStream:
    """The texts of a split without the words that have no vector."""
    known = split.ids >= len(SPECIALS)
    text = np.repeat(np.arange(len(split), dtype=np.int32), split.lengths)
    return TokenStream(split.ids[known], text[known], np.bincount(split.ids[known], minlength=vocabulary_size))


def sampling_of(variant: Variant) -> Sampling:
    """How examples are drawn for a variant; a batch is as many pieces of text as the recipe says."""
    names = ("window", "negatives", "noise", "threshold", "length")
    return Sampling(**{name: variant.settings[name] for name in names}, rows=variant.recipe.batch_size)


def build(variant: Variant, data: Data) -> Word2Vec:
    """The network of a variant, not yet initialized."""
    return Word2Vec(
        kind=variant.settings["kind"],
        vocabulary_size=len(data.prepared.vocabulary),
        units=variant.settings["units"],
        negatives=variant.settings["negatives"],
        noise=variant.settings["noise"],
    )


def task(variant: Variant, data: Data) -> Objective:
    """Training batches and loss; in validation the loss on held-out reviews, which selects, and the agreement of
    neighbours."""
    words = data.clear_words(test=False)
    plain = word_vector_objective(data.texts["train"], data.texts["validation"], sampling_of(variant), seed=_DRAWS)

    def evaluate(model: Any) -> dict[str, float]:
        share = data.agreement(model.vectors(), words).share
        return {**plain.evaluate(model), "agreement": float(share.mean())}

    return replace(plain, evaluate=evaluate)


def evaluate(
    model: Word2Vec, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Measure the vectors of the best epoch on test.

    Returns:
        ``loss`` and ``agreement``, and arrays: ``agreement`` (words,) in per cent for each word asked for, ``chance``
        (words,) what neighbours at random would give, ``reviews`` (words,) in how many it stands.
    """
    held_out = replace(data.texts["test"], counts=data.texts["train"].counts)
    loss = held_out_loss(model, held_out, sampling_of(variant), _DRAWS)
    words = data.clear_words(test=True)
    found = data.agreement(model.vectors(), words)
    arrays = {"agreement": found.share, "chance": found.chance, "reviews": data.polarity.reviews[words]}
    return {"loss": loss, "agreement": float(found.share.mean())}, arrays


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    groups = by_variant(outcomes)
    rows = [row for name, group in groups.items() for row in _rows(group, preset.variant(name))]
    frequent = _on(preset.corpus, preset.variants[0].settings)["frequent"]
    claims = []
    for id, statement, source, better, worse, only_rare in _COMPARISONS:
        if better not in groups or worse not in groups:
            continue
        sides = [_of_words(groups[name], frequent if only_rare else None) for name in (better, worse)]
        if len(sides[0]):  # a small corpus has no rare word that speaks clearly
            of = "rare" if only_rare else "all"
            what = measured(f"per cent of the neighbours of {of} words", "words", preset, groups[better], groups[worse])
            claims.append(Claim.judge(id, statement, source, what, bootstrap(sides[0] - sides[1], seed=0)))
    for name in ("skip-gram", "cbow"):
        if name in groups:
            chance = groups[name][0].predictions["chance"]
            what = measured("per cent of the neighbours above chance", "words", preset, groups[name])
            statement = f"Words that {name} puts near each other are alike"
            effect = bootstrap(_of_words(groups[name], None) - chance, seed=0)
            claims.append(Claim.judge(f"alike-{name}", statement, "Mikolov et al. (2013a), section 1.1", what, effect))
    return rows, claims


_COMPARISONS = (
    (
        "subsampling",
        "Subsampling frequent words makes the vectors of rarer ones better",
        "Mikolov et al. (2013b), section 2.3",
        "skip-gram",
        "skip-gram-all",
        True,
    ),
    (
        "meaning",
        "Skip-gram's vectors are better than CBOW's in meaning",
        "Mikolov et al. (2013a), Table 3, semantic analogies",
        "skip-gram",
        "cbow",
        False,
    ),
    (
        "rare",
        "Skip-gram's vectors are better than CBOW's for rare words",
        "the page of the authors' program",
        "skip-gram",
        "cbow",
        True,
    ),
)


def _of_words(outcomes: Sequence[Outcome], below: int | None) -> np.ndarray:
    """The agreement of each word asked for, mean of the seeds, (words,); of rare ones only, in fewer reviews than
    ``below``, if that is given."""
    arrays = [outcome.predictions for outcome in outcomes]
    mean = np.mean([each["agreement"] for each in arrays], axis=0)
    return mean if below is None else mean[arrays[0]["reviews"] < below]


def _rows(outcomes: Sequence[Outcome], variant: Variant) -> list[Row]:
    """Agreement of the neighbours of all and of rare words on test, bootstrapped over words; the loss on test, and in
    validation that of the best epoch, with the range over seeds."""
    frequent = _on(outcomes[0].facts["corpus"], variant.settings)["frequent"]
    rare = outcomes[0].predictions["reviews"] < frequent
    rows = []
    for below, count, words in (
        (None, len(rare), "words that clearly speak for or against a film"),
        (frequent, int(rare.sum()), f"rare ones of these words, in fewer than {frequent} rated reviews"),
    ):
        if not count:
            continue
        signature = f"{NEIGHBOURS} nearest words, of the {count} {words}"
        values = [float(_of_words([outcome], below).mean()) for outcome in outcomes]
        estimate = bootstrap(_of_words(outcomes, below), seed=0)
        rows.append(
            row_of(
                outcomes,
                variant,
                split="test",
                metric="agreement",
                signature=signature,
                values=values,
                ci95=estimate,
            )
        )
    settings = variant.settings
    per = "word" if settings["kind"] == "cbow" else "pair of words"
    signature = f"nats for each {per}, {settings['negatives']} negatives, threshold {settings['threshold']:g}"
    for split, values in (
        ("test", [outcome.facts["metrics"]["loss"] for outcome in outcomes]),
        ("validation", [min(epoch["validation_loss"] for epoch in outcome.facts["history"]) for outcome in outcomes]),
    ):
        span = Estimate(float(np.mean(values)), min(values), max(values))
        rows.append(
            row_of(outcomes, variant, split=split, metric="loss", signature=signature, values=values, ci95=span)
        )
    return rows


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves, and for each variant a map of some words and their neighbours; of several seeds the first is
    drawn."""
    first = {name: group[0] for name, group in by_variant(outcomes).items()}
    paths = {"training curves": directory / "training_curves.png"}
    curves = {name: outcome.facts["history"] for name, outcome in first.items()}
    score = Score("agreement", "neighbours of the same sentiment", " %")
    selected = {name: outcome.facts["best_epoch"] for name, outcome in first.items()}
    training_curves(
        curves, paths["training curves"], score=score, loss_label="negative sampling", selected_epochs=selected
    )
    for name, outcome in first.items():
        path = directory / f"map_{name}.png"
        title = f"{name}: some words and their nearest ({outcome.facts['corpus']}), scaled from angles to a plane"
        drawn = DRAWN_IN_ENGLISH if _is_english(preset.variant(name)) else DRAWN
        if neighbours.draw_map(word_vectors(outcome.unit), drawn, path, title):
            paths[f"map of {name}"] = path
    return paths


def pages(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """The tables of the nearest words of the words of ``ASKED``, and of those in English; of several seeds the first is
    asked."""
    paths = {}
    for english, asked, what, file in (
        (False, ASKED, "nearest words", "neighbours.tsv"),
        (True, ASKED_IN_ENGLISH, "nearest words, English", "neighbours_english.tsv"),
    ):
        groups = by_variant(outcomes).items()
        vectors = {
            name: word_vectors(group[0].unit) for name, group in groups if _is_english(preset.variant(name)) == english
        }
        if vectors:
            paths[what] = directory / file
            neighbours.write_table(vectors, asked, paths[what])
    return paths


def predict(unit: Unit, stream: BinaryIO, *, weights: bool) -> Iterator[str]:
    """Read words, one a line of UTF-8, and yield the ten nearest of each, with their cosines if ``weights`` are asked
    for, as :func:`reproductions.tasks.neighbours.answers` does."""
    _, _, data = load(unit)
    if data.corpus == "sample":
        print("*** TRAINED ON THE EMBEDDED SAMPLE: THESE ANSWERS MEAN NOTHING ***", file=sys.stderr)
    tokenize = data.prepared.tokenizer.tokenize
    yield from neighbours.answers(word_vectors(unit), tokenize, stream, cosines=weights)
