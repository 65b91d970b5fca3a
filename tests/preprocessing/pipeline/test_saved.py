"""What a pipeline learned is saved and restored without rows, and encodes new rows as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from preprocessing import naver, translation
from preprocessing.errors import InputError
from preprocessing.pipeline import saved

TEXTS = ["정말 재미있는 영화", "", "zebra zebra"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The state of a pipeline of reviews."""
    path = tmp_path / "preprocessing.npz"
    naver.prepare("sample", tokenizer="mecab", min_freq=1).save(str(path))
    return path


def test_a_restored_pipeline_encodes_as_the_one_that_learned(file: Path) -> None:
    whole = naver.prepare("sample", tokenizer="mecab", min_freq=1)
    restored = naver.pipeline(tokenizer="mecab", min_freq=1).load(file)
    assert restored.splits == {}
    assert restored.vocabulary == whole.vocabulary
    assert (restored.digest, restored.corpora) == (whole.digest, whole.corpora)
    assert restored.card["corpus"]["name"] == "sample"
    for row in range(len(TEXTS)):
        before, after = (result.encode(TEXTS).sequences()[row] for result in (whole, restored))
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("tokens", ["words", "bpe", "sentencepiece"])
def test_both_sides_of_a_translation_are_restored(tokens: str, tmp_path: Path) -> None:
    path = tmp_path / "preprocessing.npz"
    pipeline = translation.pipeline("sample", source="en", target="de", tokens=tokens, operations=200, pieces=300)
    whole = pipeline.run("sample")
    whole.save(path)
    restored = pipeline.load(path)
    text = ["a dog runs", "two zebras"]
    for before, after in zip(whole.encode(text).sequences(), restored.encode(text).sequences(), strict=True):
        np.testing.assert_array_equal(before, after)
    words = whole.target_vocabulary.learned[:20]
    assert restored.target_vocabulary == whole.target_vocabulary
    assert restored.detokenize(words) == whole.detokenize(words)


def test_the_file_has_no_text_of_the_corpus(file: Path) -> None:
    arrays, description = saved.read(file)
    assert {name for name in arrays if len(arrays[name]) > 1} <= {
        "vocabulary.utf8",
        "vocabulary.offsets",
        "tokenizer.state",
    }
    assert description.keys() == {"pipeline", "steps", "corpus", "digest", "format", "state"}


def test_other_preprocessing_is_refused_with_the_step_that_differs(file: Path) -> None:
    with pytest.raises(InputError, match=r"pipeline naver here \(step tokenize\)"):
        naver.pipeline(tokenizer="syllable", min_freq=1).load(file)
    with pytest.raises(InputError, match=r"\(step vocabulary\)"):
        naver.pipeline(tokenizer="mecab", min_freq=2).load(file)


def test_a_missing_or_damaged_file_is_refused_in_one_line(file: Path) -> None:
    whole = file.read_bytes()
    pipeline = naver.pipeline(tokenizer="mecab", min_freq=1)
    for damaged in (b"", whole[:100], whole[: len(whole) // 2], b"text"):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=r"preprocessing\.npz: damaged") as caught:
            pipeline.load(file)
        assert "\n" not in str(caught.value)
    file.unlink()
    with pytest.raises(InputError, match="is missing; copy it again, or run the training again"):
        pipeline.load(file)


def test_changed_contents_are_refused(file: Path) -> None:
    arrays, _ = saved.read(file)
    arrays["vocabulary.utf8"] = arrays["vocabulary.utf8"][::-1]
    with np.load(file) as stored:
        extra = {name: stored[name] for name in ("description", "description.sha256")}
    np.savez(file, **arrays, **extra)
    with pytest.raises(InputError, match="damaged"):
        naver.pipeline(tokenizer="mecab", min_freq=1).load(file)
