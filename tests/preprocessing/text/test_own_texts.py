"""Labelled texts of one's own through the pipelines of the corpora: splits, labels, and what is odd or wrong."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from preprocessing import documents, naver, sentences
from preprocessing.errors import InputError, ParameterError
from preprocessing.text.own_texts import learned_labels, own_texts, own_texts_of, reading_own_texts
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import DropEmpty
from preprocessing.text.truecasing import Truecase
from preprocessing.text.writing import write

HEADER = "id\tdocument\tlabel"
ROWS = [(str(number), f"text number {number} about {'film' if number % 2 else 'sport'}") for number in range(60)]
TRAIN = [f"{row_id}\t{text}\t{'art' if 'film' in text else 'news'}" for row_id, text in ROWS]
TEST = ["1\ta film\tart", "2\ta match\tnews"]
UNSEEN = ["1\tmy film\tart", "2\tmy match\tnews"]
HANGUL = [f"{row_id}\t{text}\t{'긍정' if 'film' in text else '부정'}" for row_id, text in ROWS]
HELD_OUT = "a film"  # by the hash of its text
PIPELINE = naver.pipeline(tokenizer="whitespace", min_freq=1)


def table(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def run(folder: Path, pipeline: TextPipeline = PIPELINE, **parts: list[str]) -> Result:
    rows = {"train": TRAIN, "test": TEST} | parts
    for name, own in rows.items():
        table(folder / f"{name}.tsv", own)
    return reading_own_texts(pipeline).run(own_texts_of(folder), cache=False, processes=1)


@pytest.mark.parametrize(
    "pipeline",
    [
        PIPELINE,
        documents.pipeline(min_freq=1),
        documents.pipeline(min_freq=1, validation="film"),
        sentences.pipeline(classes=5),
    ],
)
def test_every_pipeline_of_labelled_texts_reads_them(pipeline: TextPipeline, tmp_path: Path) -> None:
    result = run(tmp_path, pipeline)
    assert learned_labels(result.data.learned) == ("art", "news")
    assert result.test.label.tolist() == [0, 1] and result.test.text.tolist() == ["a film", "a match"]
    assert result.warnings == [] and result.card["corpus"]["name"] == "own texts"


def test_without_a_validation_file_rows_are_held_out_by_the_hash_of_their_text(tmp_path: Path) -> None:
    result = run(tmp_path)
    held_out = [text for _, text in ROWS if int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 10 == 0]
    assert result.validation.text.tolist() == held_out and 0 < len(held_out) < 15
    assert len(result.train) + len(held_out) == len(ROWS)


def test_a_validation_file_is_used_as_it_is(tmp_path: Path) -> None:
    result = run(tmp_path, validation=["9\tanother film\tart", "8\tanother match\tnews"])
    assert len(result.train) == len(ROWS) and result.validation.row_id.tolist() == ["9", "8"]
    given = own_texts(tmp_path / "train.tsv", tmp_path / "test.tsv", tmp_path / "validation.tsv")
    assert given.sha256 == own_texts_of(tmp_path).sha256 and list(given.paths) == ["train", "validation", "test"]


@pytest.mark.parametrize("validation", ["hash", "tail"])
def test_the_splitter_of_the_corpus_does_not_touch_texts_of_your_own(validation: str, tmp_path: Path) -> None:
    """No row is lost, and none goes to a split that it was not given for."""
    pipeline = naver.pipeline(tokenizer="whitespace", min_freq=1, validation=validation)
    held_out = run(tmp_path, pipeline)
    assert held_out.validation.text.tolist() == run(tmp_path, PIPELINE).validation.text.tolist()
    assert len(held_out.train) + len(held_out.validation) == len(ROWS)
    result = run(tmp_path, pipeline, validation=["9\tanother film\tart", "8\tanother match\tnews"])
    assert len(result.train) == len(ROWS) and result.validation.row_id.tolist() == ["9", "8"]


@pytest.mark.parametrize("copies", ["of-train", "of-test"])
def test_copies_are_left_out_before_rows_are_held_out(copies: str, tmp_path: Path) -> None:
    """As on NSMC: held-out rows would else be copies of each other, or of test."""
    held_out = run(tmp_path).validation.text.tolist()
    test = [*TEST, f"3\t{held_out[0]}\tart"]
    pipeline = naver.pipeline(tokenizer="whitespace", min_freq=1, copies=copies)
    result = run(tmp_path, pipeline, train=[*TRAIN, *TRAIN], test=test)
    expected = held_out if copies == "of-train" else held_out[1:] * 2
    assert result.validation.text.tolist() == expected
    assert len(result.train) == (len(ROWS) - len(held_out)) * (1 if copies == "of-train" else 2)


def test_if_every_row_is_a_copy_of_test_nothing_is_left(tmp_path: Path) -> None:
    pipeline = naver.pipeline(tokenizer="whitespace", min_freq=1, copies="of-test")
    with pytest.raises(InputError, match="train: every row is a copy in test; none is left"):
        run(tmp_path, pipeline, test=TRAIN)


def test_text_of_which_cleaning_leaves_nothing_is_refused(tmp_path: Path) -> None:
    pipeline = naver.pipeline(tokenizer="whitespace", min_freq=1, clean=["hangul-only"])
    rows = [row.replace("text number", "film").replace(" ", "") for row in TRAIN]
    with pytest.raises(InputError, match="train: no tokens are left; check the texts"):
        run(tmp_path, pipeline, train=rows)


def test_labels_that_are_numbers_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    train = [f"{row_id}\t{text}\t{(2, 10)[number % 2]}" for number, (row_id, text) in enumerate(ROWS)]
    result = run(tmp_path, train=train, test=["1\ta\t10", "2\tb\t2"])
    assert learned_labels(result.data.learned) == ("2", "10") and result.test.label.tolist() == [1, 0]
    long = "1" + "0" * 5_000
    train = [row.replace("\t10", f"\t{long}") for row in train]
    assert learned_labels(run(tmp_path, train=train, test=["1\ta\t2"]).data.learned) == ("2", long)


def test_written_files_have_the_names_of_the_labels(tmp_path: Path) -> None:
    result = run(tmp_path)
    write(result, tmp_path / "out")
    lines = (tmp_path / "out" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    names = [("art", "news")[label] for label in result.test.label]
    assert [line.split("\t")[1] for line in lines] == names
    assert np.load(tmp_path / "out" / "test.npz")["labels"].tolist() == ["art", "news"]


def test_a_saved_result_knows_the_labels_without_rows(tmp_path: Path) -> None:
    result = run(tmp_path)
    result.save(tmp_path / "saved.npz")
    restored = reading_own_texts(PIPELINE).load(tmp_path / "saved.npz")
    assert learned_labels(restored.data.learned) == ("art", "news") and restored.digest == result.digest
    with pytest.raises(InputError, match="made by other preprocessing"):
        PIPELINE.load(tmp_path / "saved.npz")


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"train": ["1\tnice\0film\tart", *TRAIN]}, r"train\.tsv, line 2: contains a NUL character; remove it"),
        (
            {"train": [*TRAIN, f"99\t{'x' * 100_001}\tart"]},
            r"train\.tsv, line 62: a text of 100001 characters, at most",
        ),
        ({"test": ["x\0\ta\tart"]}, r"test\.tsv, line 2: contains a NUL character"),
        ({"test": [f"{'x' * 1_001}\ta\tart"]}, r"test\.tsv, line 2: a text of 1001 characters, at most 1000"),
        (
            {"train": TRAIN[1::2]},
            r"train\.tsv: all 30 rows with text have the label 'art'; give rows of two labels or more",
        ),
        ({"test": [*TEST, "3\tx\t"]}, r"test\.tsv, line 4: has no label; write one, or leave the row out"),
        (
            {"train": [*TRAIN[1::2], "60\t \tnews"]},
            r"train\.tsv: all 30 rows with text have the label 'art'; give rows",
        ),
        ({"train": TRAIN[:1]}, r"train\.tsv: its only row with text has the label 'news'; give rows of two labels"),
        ({"test": ["1\t\tart", "2\t  \tnews"]}, r"test\.tsv: no row has text; give texts in the second column"),
        (
            {"train": [*TRAIN[1::2], f"60\t{HELD_OUT}\tnews"]},
            "train: all rows of label 'news' are held out for validation, and those left have one label; give a "
            "validation file",
        ),
        (
            {"train": HANGUL, "test": [unicodedata.normalize("NFD", HANGUL[0])]},
            r"test\.tsv, line 2: label '.*' is not in train; one of train looks the same, but is spelled otherwise; "
            "convert the files to NFC, and remove invisible characters",
        ),
        ({"test": [*TEST, "3\tx\tarts"]}, r"test\.tsv, line 4: label 'arts' is not in train; known are art, news"),
        ({"train": TRAIN[2:4]}, r"train: too few rows \(2\) to hold out one in 10: none is left for validation; give"),
        (
            {"train": [f"{row_id}\t{text}\t{text}" for row_id, text in ROWS + [(f"b{n}", f"b{n}") for n in range(50)]]},
            r"train\.tsv: 110 different labels, at most 100 are allowed; put the label into the third column",
        ),
    ],
)
def test_what_cannot_be_trained_on_is_refused_in_one_line(
    parts: dict[str, list[str]], fault: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=fault) as caught:
        run(tmp_path, **parts)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "warning"),
    [
        ({"train": [*TRAIN, "7\tagain\tart"]}, "train.tsv, line 62: 2 rows have the id '7'"),
        ({"train": [*TRAIN, *TRAIN[:3]]}, "train.tsv, line 62: 2 rows have the id '0' (and 2 more ids)"),
        ({"train": ["\tno id\tart", *TRAIN]}, "train.tsv, line 2: 1 of 61 ids are empty"),
        (
            {"train": [*TRAIN, "60\tthe film\tart "]},
            "train.tsv, line 62: label 'art ' begins or ends with white space",
        ),
        (
            {"train": [*TRAIN, "60\t한글 film\tart", unicodedata.normalize("NFD", "61\t한글 film\tart")]},
            "train.tsv, line 63: 1 of 62 texts have Hangul in decomposed form (NFD); most tokenizers need it composed, "
            "so convert the file to NFC",
        ),
        ({"test": TRAIN[:2]}, "test.tsv: every text is in train too; accuracy says little"),
        ({"test": [*TEST, TRAIN[0]]}, f"test.tsv: 1 of {len(TEST) + 1} texts are in train too"),
        (
            {"test": [row.replace("\t", '\t"', 1)[::-1].replace("\t", '\t"', 1)[::-1] for row in TEST]},
            f"test.tsv: {len(TEST)} of {len(TEST)} texts are in quotation marks, which are read as part of the text; "
            "save the file without quoting",
        ),
        (
            {"train": [*TRAIN, f"60\t{HELD_OUT}\tpets"], "test": UNSEEN},
            "train: all rows of label 'pets' are held out for validation; give a validation file",
        ),
        ({"validation": TEST}, "test.tsv: every text is in validation too; accuracy says little"),
        (
            {"train": [*TRAIN, "60\tthe film\tart\u200b"]},
            "train.tsv: labels 'art' and 'art\\u200b' look the same, but count as two; convert the files to NFC, and "
            "remove invisible characters",
        ),
        (
            {"train": [*TRAIN, f"60\t{HELD_OUT}\tpets", f"61\t{HELD_OUT}\tplants"], "test": UNSEEN},
            "train: all rows of labels 'pets' and 'plants' are held out for validation; give a validation file",
        ),
        ({"train": [*TRAIN, "60\t \tpets"]}, "train.tsv: no row of label 'pets' has text"),
        ({"test": [*TRAIN[:2], "60\t \tart"]}, "test.tsv: every text is in train too; accuracy says little"),
        ({"test": [TEST[0], "60\t \tnews"]}, "test.tsv: all rows have the label 'art'; accuracy says little"),
        ({"validation": TRAIN[:2]}, "validation.tsv: every text is in train too; accuracy says little"),
        ({"test": TEST[:1]}, "test.tsv: all rows have the label 'art'; accuracy says little"),
    ],
)
def test_what_is_odd_is_named(parts: dict[str, list[str]], warning: str, tmp_path: Path) -> None:
    result = run(tmp_path, **parts)
    assert result.warnings == [warning] and result.card["facts"]["warnings"] == [warning]


def test_quotation_marks_of_own_texts_stay(tmp_path: Path) -> None:
    rows = ['1\t"a film"\tart', "2\ta match\tnews"]
    result = run(tmp_path, naver.pipeline(tokenizer="whitespace", min_freq=1, text="repaired"), test=rows)
    assert result.test.text.tolist() == ['"a film"', "a match"] and result.test.words(0) == ['"a', 'film"']


def test_nobody_is_told_to_fetch_their_own_file_again(tmp_path: Path) -> None:
    table(tmp_path / "test.tsv", TEST)
    for content in (f"{HEADER}\n1\tx\tart", f"{HEADER}\n", "1\tx\tart\n", f"{HEADER}\n1\tx\tart\n\xff"):
        (tmp_path / "train.tsv").write_bytes(content.encode("latin-1"))
        with pytest.raises(InputError) as caught:
            reading_own_texts(PIPELINE).run(own_texts_of(tmp_path))
        assert "fetch" not in caught.value.remedy and caught.value.remedy


def test_any_iterable_of_texts_is_encoded_and_nothing_else(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.encode(iter(["a film", "b"])).text.tolist() == ["a film", "b"]
    with pytest.raises(InputError, match=r"^texts: NoneType, not a list of str; give a list of str$"):
        result.encode(None)  # type: ignore[arg-type]
    for other in (None, float("nan"), b"x", np.zeros((3, 3))):
        with pytest.raises(InputError, match=r"texts: text 1 is \w+, not str; give a list of str$"):
            result.encode(["a", other])  # type: ignore[list-item]


def test_paths_may_be_strings(tmp_path: Path) -> None:
    run(tmp_path)
    files = own_texts(str(tmp_path / "train.tsv"), str(tmp_path / "test.tsv"))
    assert files.sha256 == own_texts_of(str(tmp_path)).sha256 == own_texts_of(tmp_path).sha256


def test_labels_of_equal_numbers_are_ordered_by_their_digits(tmp_path: Path) -> None:
    rows = [f"{row_id}\t{text}\t{('1', '01', '001', '10')[int(row_id) % 4]}" for row_id, text in ROWS]
    result = run(tmp_path, train=rows, test=rows[:4], validation=rows[4:8])
    assert learned_labels(result.data.learned) == ("001", "01", "1", "10")


def test_half_a_surrogate_pair_is_not_text(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="text 1 contains half a surrogate pair, which is not a character"):
        run(tmp_path).encode(["fine", "\ud800"])


def test_a_pipeline_that_does_not_tokenise_is_read_from_the_cache_as_it_was() -> None:
    pipeline = TextPipeline("read", (naver.ReadRatings(), DropEmpty()))
    for result in (pipeline.run("sample") for _ in range(2)):
        assert result.data.vocabulary is None and result.train.tokens is None and result.train.encoded is None
        with pytest.raises(InputError, match="the texts are not tokenised yet"):
            _ = result.train.tokenized
        with pytest.raises(ValueError, match="pipeline read learns no vocabulary"):
            _ = result.vocabulary
        with pytest.raises(ValueError, match="pipeline read does not tokenise"):
            _ = result.tokenizer


def test_a_copy_in_your_own_validation_file_is_none_in_train(tmp_path: Path) -> None:
    result = run(tmp_path, validation=["9\ta film\tart"], test=["1\ta film\tart", f"2\t{ROWS[0][1]}\tnews"])
    assert result.test.seen_in_train.tolist() == [False, True]


def test_a_pipeline_with_its_own_validation_split_refuses_a_validation_file(tmp_path: Path) -> None:
    for name in ("train", "validation", "test"):
        table(tmp_path / f"{name}.tsv", [f"{row}\ttext {row}\t{row % 2}" for row in range(9)])
    with pytest.raises(InputError, match=r"validation\.tsv: .* its own validation split; use own_texts"):
        PIPELINE.run(own_texts_of(tmp_path), cache=False, processes=1)


def test_new_texts_are_encoded_with_all_that_was_learned(tmp_path: Path) -> None:
    """Also with what a step learned besides tokenizer and vocabulary."""
    chain = list(PIPELINE.steps)
    at = next(number for number, step in enumerate(chain) if step.name == "tokenize")
    chain[at + 1 : at + 1] = [Truecase()]
    result = run(tmp_path, TextPipeline("naver", tuple(chain), PIPELINE.tokenizer), train=[*TRAIN, "99\tFilm\tart"])
    assert result.encode(["Number 3"]).words(0) == ["number", "3"]
