"""Validation documents split off film by film."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from preprocessing import documents
from preprocessing.corpora import locate
from preprocessing.document_films import films_of, read_films
from preprocessing.document_reading import own_documents
from preprocessing.errors import InputError
from preprocessing.text.steps import hash_numbers
from tests.preprocessing.test_documents import archive, folder

SAMPLE = locate.SAMPLE_ROOT / "documents"


def line(film: str) -> str:
    return f"http://www.imdb.com/title/{film}/usercomments\n"


def corpus(neg: str, pos: str) -> dict[str, bytes]:
    return {
        "train/neg/0_1.txt": b"Bad film.",
        "train/neg/1_2.txt": b"Worse film.",
        "train/pos/0_9.txt": b"Good film.",
        "train/pos/10_8.txt": b"Better film.",
        "test/neg/0_1.txt": b"Bad.",
        "test/pos/0_9.txt": b"Good.",
        "train/urls_neg.txt": neg.encode(),
        "train/urls_pos.txt": pos.encode(),
    }


def chosen_films() -> tuple[str, str]:
    """A film that goes to validation and one that does not."""
    names = [f"tt{number:07d}" for number in range(1, 100)]
    chosen = hash_numbers(names) % 10 == 0
    return names[int(chosen.argmax())], names[int((~chosen).argmax())]


def given(tmp_path: Path, files: dict[str, bytes], *, packed: bool) -> Path:
    return archive(tmp_path / "reviews.tar", files, "aclImdb/") if packed else folder(tmp_path / "reviews", files)


@pytest.mark.parametrize("packed", [False, True])
def test_all_documents_on_a_film_are_in_one_split(tmp_path: Path, packed: bool) -> None:
    held_out, kept = chosen_films()
    files = corpus(line(kept) + line(held_out), line(held_out) + 9 * line(kept) + line(kept))
    path = given(tmp_path, files, packed=packed)
    result = documents.prepare(own_documents(path), validation="film", min_freq=1, cache=False, processes=1)
    assert result.validation.row_id.tolist() == ["train/neg/1_2", "train/pos/0_9"]
    assert result.train.row_id.tolist() == ["train/neg/0_1", "train/pos/10_8"]
    step = next(step for step in result.card["steps"] if step["name"] == "split-by-film")
    assert step["rows"]["validation"]["out"] == 2
    assert result.card["facts"]["films"] == {"train": 1, "validation": 1}


def test_the_number_of_a_document_is_its_line_counted_from_0(tmp_path: Path) -> None:
    held_out, kept = chosen_films()
    path = folder(tmp_path / "reviews", corpus(line(kept) + line(held_out), line(kept) * 10 + line(held_out)))
    films = read_films(path)
    assert films["neg"] == [kept, held_out] and films["pos"][10] == held_out


def test_the_films_of_documents_are_named_by_their_ids(tmp_path: Path) -> None:
    held_out, kept = chosen_films()
    files = corpus(line(kept) + line(held_out), line(kept) * 11)
    files |= {f"test/urls_{label}.txt": line(held_out).encode() * 20 for label in ("neg", "pos")}
    path = folder(tmp_path / "reviews", files)
    assert films_of(path, ["train/neg/1_2", "test/pos/0_9", "train/pos/0_9"]) == [held_out, held_out, kept]
    del files["test/urls_pos.txt"]
    with pytest.raises(InputError, match=r"has no test/urls_pos\.txt"):
        films_of(folder(tmp_path / "without", files), ["test/neg/0_1"])


@pytest.mark.parametrize(
    ("neg", "pos", "reason"),
    [
        (None, line("tt0000001") * 11, "has no train/urls_neg.txt"),
        (line("tt0000001") * 2, None, "has no train/urls_pos.txt"),
        (line("tt0000001"), line("tt0000001") * 11, "urls_neg.txt has 1 lines, none for document 1"),
        (
            line("tt0000001") + "http://example.org\n",
            line("tt0000001") * 11,
            "line 2 has no film: 'http://example.org'",
        ),
        (line("tt0000001") * 2, line("tt0000001") * 11, "validation has no documents"),
    ],
)
def test_what_is_wrong_with_the_lists_is_one_line(
    tmp_path: Path, neg: str | None, pos: str | None, reason: str
) -> None:
    files = corpus(neg or "", pos or "")
    for name, text in (("neg", neg), ("pos", pos)):
        if text is None:
            del files[f"train/urls_{name}.txt"]
    path = folder(tmp_path / "reviews", files)
    with pytest.raises(InputError, match=r"split by hash|correct or replace") as caught:
        documents.prepare(own_documents(path), validation="film", cache=False, processes=1)
    assert reason in str(caught.value) and "\n" not in str(caught.value)


def test_the_sample_has_lists_and_other_splits_stay_as_they_are() -> None:
    by_film, by_hash = (
        documents.prepare("sample", validation=way, cache=False, processes=1) for way in ("film", "hash")
    )
    assert {name: len(split) for name, split in by_film.splits.items()} == {"train": 30, "validation": 10, "test": 16}
    np.testing.assert_array_equal(by_film.test.text, by_hash.test.text)
    assert {film for films in read_films(SAMPLE).values() for film in films} == {
        "tt99000001",
        "tt99000002",
        "tt99000003",
        "tt99000017",
    }


def test_another_way_to_split_is_refused() -> None:
    with pytest.raises(InputError, match="choose hash or film"):
        documents.pipeline(validation="director")


@pytest.mark.corpus("imdb")
@pytest.mark.slow
def test_imdb_has_no_film_in_two_splits() -> None:
    result = documents.prepare("imdb", validation="film")
    assert {name: len(split) for name, split in result.splits.items()} == {
        "train": 22_441,
        "validation": 2_559,
        "test": 25_000,
    }
    films = read_films(locate.find("imdb").path("documents"))
    of_split = {
        name: {films[row.split("/")[1]][int(row.split("/")[2].partition("_")[0])] for row in split.row_id.tolist()}
        for name, split in result.splits.items()
        if name != "test"
    }
    assert len(of_split["train"]) == 3_103 and len(of_split["validation"]) == 353
    assert of_split["train"].isdisjoint(of_split["validation"])
