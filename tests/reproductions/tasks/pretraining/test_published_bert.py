"""SST-2 with a made-up package of weights: a network reads the embedded sample, starts from the weights, and learns."""

from __future__ import annotations

import string
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.models.published_bert import read_weights
from gluon_attn.training.loop import fit
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from preprocessing import sentence_pieces, sentences
from preprocessing.errors import InputError
from preprocessing.text.tokenizers.wordpiece import SPECIALS
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.tasks.pretraining import published_bert
from reproductions.tasks.pretraining.published_bert import PublishedBert, PublishedBertSettings
from tests.gluon_attn.models.test_published_bert import made_up

SIZES: dict[str, Any] = {"units": 8, "layers": 2, "heads": 2, "hidden_units": 16, "length": 64}
SETTINGS = PublishedBertSettings(**SIZES, max_length=32, dropout=0.0, output_dropout=0.0)
RECIPE = Recipe(epochs=15, batch_size=16, learning_rate=1e-2)
TEXTS = sentences.prepare("sample", classes=2, cache=False, processes=1).train.text
LETTERS = [*string.ascii_lowercase, *string.digits, *string.punctuation]
WORDS = sorted({word for text in TEXTS for word in text.split()} - set(LETTERS))
TOKENS = [*reversed(SPECIALS), *WORDS, *LETTERS, *(f"##{letter}" for letter in string.ascii_lowercase)]
TASK = PublishedBert()


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with the sample's words and letters as tokens; its special tokens are in another order than here."""
    vocabulary = "".join(f"{token}\n" for token in TOKENS)
    (tmp_path / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    save_file(made_up(**SIZES, vocabulary_size=len(TOKENS)), tmp_path / published_bert.FILE)
    monkeypatch.setattr(sentence_pieces, "published_folder", lambda: tmp_path)
    monkeypatch.setattr(sentence_pieces, "SHA256", "")
    monkeypatch.setattr(published_bert, "read_weights", partial(read_weights, sha256=""))
    return tmp_path


def test_each_token_starts_from_its_own_row(package: Path) -> None:
    data = TASK.prepare(SETTINGS, sample=True)
    model = SETTINGS.build(data)
    SETTINGS.initialize(model, data)
    published = read_weights(package / published_bert.FILE, sha256="")
    own = model.token_embedding.weight.data().asnumpy()
    names = {SPECIALS.get(token, token): row for row, token in enumerate(TOKENS)}
    for index, token in enumerate(data.prepared.vocabulary.idx_to_token):
        np.testing.assert_array_equal(own[index], published["embeddings.word_embeddings.weight"][names[token]])
    assert len(own) == len(TOKENS) and TOKENS.index("[UNK]") != UNKNOWN_ID
    random = SETTINGS.build(data)
    PublishedBertSettings(**SIZES, published=False).initialize(random, data)
    assert not np.array_equal(random.token_embedding.weight.data().asnumpy(), own)


def test_another_vocabulary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prepared data may come from the cache: its rows would then be those of other tokens."""
    data = TASK.prepare(SETTINGS, sample=True)
    monkeypatch.setattr(sentence_pieces, "SHA256", "0" * 64)
    with pytest.raises(InputError, match=r"vocab\.txt"):
        SETTINGS.initialize(SETTINGS.build(data), data)


def test_it_learns_the_sample(tmp_path: Path) -> None:
    data = TASK.prepare(SETTINGS, sample=True)
    runtime.seed_all(1)
    model = SETTINGS.build(data)
    SETTINGS.initialize(model, data)
    folder = RunDirectory(tmp_path / "run", {}, resume=False, overwrite=True)
    history = fit(model, TASK.objective(SETTINGS, RECIPE, data), RECIPE, folder, seed=1).history
    assert history[-1]["train_loss"] < 0.8 * history[0]["train_loss"]


def test_the_hash_of_the_weights_is_recorded_with_them_only() -> None:
    assert TASK.prepare(SETTINGS, sample=True).corpora["weights"] == published_bert.SHA256
    random = PublishedBertSettings(**SIZES, max_length=32, published=False)
    assert "weights" not in TASK.prepare(random, sample=True).corpora


def test_other_sizes_are_refused() -> None:
    settings = PublishedBertSettings(**{**SIZES, "units": 4}, max_length=32)
    data = TASK.prepare(settings, sample=True)
    with pytest.raises(UsageError, match=r"model\.safetensors"):
        settings.initialize(settings.build(data), data)
