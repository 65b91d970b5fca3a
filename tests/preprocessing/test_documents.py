"""Documents: the same order from any archive, segmentation into sentences and words, faults, and the card of IMDb."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import os
import random
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sacremoses import MosesTokenizer

from preprocessing import documents
from preprocessing.corpora import locate
from preprocessing.corpora.corpus import CorpusFile, RegisteredCorpus
from preprocessing.document_reading import content_sha256, own_documents, read_documents
from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context
from preprocessing.text.data import Data, Split
from preprocessing.text.document_steps import LimitSentences, PlainText, SplitSentences, TokenizeSentences
from preprocessing.text.english import EnglishWords, plain_text, split_sentences
from preprocessing.text.pipeline import Result
from preprocessing.text.tokenizers.plain import Whitespace

ROOT = Path(documents.__file__).parents[1]
SAMPLE = locate.SAMPLE_ROOT / "documents"

# sacremoses 0.2.0. Pinned: when this changes, raise the version of the step that changed.
SAMPLE_DIGEST = "5389f5716cfc48957a07d5d913406ef8c8eaeee707b3bef7e8dc10ed0d63dd1c"

FILES = {
    "train/neg/0_2.txt": b"Bad. Very bad!",
    "train/neg/10_1.txt": b"Boring.<br /><br />Too long, too.",
    "train/neg/2_4.txt": b"The end is dull.",
    "train/pos/1_9.txt": b"Good. Very good!",
    "test/neg/3_1.txt": b"Bad. Very bad!",
    "test/pos/0_10.txt": b"Fine.",
}
"""Every document of a corpus, and files that are none."""
OTHERS = {
    "README": b"\xff",
    "train/urls_pos.txt": b"http://example.org\n",
    "train/unsup/0_0.txt": b"Nobody knows.",
    "train/labeledBow.feat": b"0:1",
    "train/pos/.DS_Store": b"\xff",
    "train/pos/._1_9.txt": b"\xff",
}


@pytest.fixture(scope="module")
def sample() -> Result:
    return documents.prepare("sample", cache=False, processes=1)


def folder(root: Path, files: dict[str, bytes]) -> Path:
    for name, raw in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(raw)
    return root


def archive(path: Path, files: dict[str, bytes], prefix: str = "") -> Path:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, raw in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(raw)
            tar.addfile(member, io.BytesIO(raw))
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(packed.getvalue()))
    return path


def run(path: Path, **options: Any) -> Result:
    return documents.prepare(own_documents(path), min_freq=1, cache=False, processes=1, **options)


# --- reading ---


def test_any_archive_in_any_order_gives_the_same_documents_in_the_same_order(tmp_path: Path) -> None:
    everything = list((FILES | OTHERS).items())
    results = [run(folder(tmp_path / "folder", dict(everything)))]
    for seed, name in enumerate(("a.tar", "b.tar.gz", "c.tar.xz")):
        random.Random(seed).shuffle(everything)
        results.append(run(archive(tmp_path / name, dict(everything), ["", "./", "aclImdb/"][seed])))
    assert len({result.digest for result in results}) == 1
    assert len({result.card["facts"]["content"] for result in results}) == 1
    assert len({result.card["corpus"]["files"]["documents"]["sha256"] for result in results}) == 4
    rows = [*results[0].train.row_id, *results[0].validation.row_id]
    assert sorted(rows) == ["train/neg/0_2", "train/neg/10_1", "train/neg/2_4", "train/pos/1_9"]
    assert results[0].test.row_id.tolist() == ["test/neg/3_1", "test/pos/0_10"]
    assert results[0].test.label.tolist() == [0, 1]
    assert results[0].test.seen_in_train.tolist() == [True, False]


def test_numbers_in_names_are_sorted_as_numbers_and_the_content_has_one_hash(tmp_path: Path) -> None:
    contents = read_documents(folder(tmp_path, FILES))
    assert [document.row_id for document in contents][:3] == ["train/neg/0_2", "train/neg/2_4", "train/neg/10_1"]
    sha = hashlib.sha256()
    for document, raw in contents.items():
        sha.update(f"{document.row_id}\n{len(raw)}\n".encode() + raw)
    assert content_sha256(contents) == sha.hexdigest()


@pytest.mark.parametrize(
    ("files", "where", "reason", "remedy"),
    [
        ({"train/positive/0_9.txt": b"x"}, "train/positive/0_9.txt", "folder 'positive' is not a label", "neg or pos"),
        ({"valid/pos/0_9.txt": b"x"}, "valid/pos/0_9.txt", "folder 'valid' is not a split", "train or test"),
        ({"pos/0_9.txt": b"x"}, "pos/0_9.txt", "is not in the folder of a split", "train or test"),
        ({"train/pos/nine.txt": b"x"}, "train/pos/nine.txt", "is not named <number>_<rating>.txt", "rename it"),
        ({"train/pos/1.txt": b"x"}, "train/pos/1.txt", "is not named", "rename it"),
        ({"train/neg/00_3.txt": b"x"}, "", "document 0 occurs twice: train/neg/0", "a different number"),
        (
            {"train/pos/1_9.txt": b"a\nb\xe9c"},
            "train/pos/1_9.txt",
            "invalid UTF-8 (byte 0xe9",
            "save the file as UTF-8",
        ),
    ],
)
def test_each_fault_is_named_with_its_file(
    files: dict[str, bytes], where: str, reason: str, remedy: str, tmp_path: Path
) -> None:
    for path in (folder(tmp_path / "folder", FILES | files), archive(tmp_path / "a.tar.xz", FILES | files)):
        with pytest.raises(InputError) as caught:
            run(path)
        assert caught.value.where == (f"{path}: {where}" if where else str(path))
        assert caught.value.reason.startswith(reason) and remedy in caught.value.remedy
        assert "\n" not in str(caught.value)
    if where.endswith("1_9.txt"):
        assert caught.value.line == 2


@pytest.mark.parametrize("missing", ["train/neg", "train/pos", "test/neg", "test/pos"])
def test_a_folder_without_documents_is_an_error(missing: str, tmp_path: Path) -> None:
    files = {name: raw for name, raw in FILES.items() if not name.startswith(missing)}
    with pytest.raises(InputError, match=f"no documents in {missing}; the layout is"):
        run(folder(tmp_path, files))


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.xz"])
@pytest.mark.parametrize("damage", ["cut", "other", "empty"])
def test_a_damaged_archive_is_refused(name: str, damage: str, tmp_path: Path) -> None:
    path = archive(tmp_path / name, FILES | {"train/pos/7_7.txt": random.Random(1).randbytes(20_000).hex().encode()})
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "other": b"no archive" * 100, "empty": b""}[damage])
    with pytest.raises(
        InputError, match=r"is not a tar archive, or cannot be decompressed to its end .*; give a folder, \.tar"
    ):
        run(path)


@pytest.mark.parametrize("name", ["a.tgz", "a.tar.bz2", "a.txz"])
def test_archives_are_unpacked_by_their_endings(name: str, tmp_path: Path) -> None:
    kind = {"z": "gz", "2": "bz2"}[name[-1]] if name != "a.txz" else "xz"
    with tarfile.open(tmp_path / name, f"w:{kind}") as packed:
        packed.add(folder(tmp_path / "files", FILES), ".")
    assert run(tmp_path / name).digest == run(folder(tmp_path / "again", FILES)).digest


def test_a_zip_archive_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("train/neg/0_2.txt", "Bad.")
    with pytest.raises(InputError, match=r"a\.zip: is a zip archive; unpack it and give the folder"):
        run(tmp_path / "a.zip")


def test_a_missing_corpus_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no such file"):
        own_documents(tmp_path / "absent")
    with pytest.raises(InputError, match="is not a regular file"):
        locate.given("mine", {"train": tmp_path})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(
        InputError, match=r"corpus imdb is missing.*put https://ai\.stanford\.edu/.*aclImdb_v1\.tar\.gz"
    ):
        documents.prepare("imdb")


def test_another_archive_of_the_corpus_is_verified_by_its_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imdb = locate.REGISTRY["imdb"]
    content = content_sha256(read_documents(folder(tmp_path / "x", FILES)))
    official = CorpusFile(imdb.files["documents"].layout, None, "0" * 64, 6, content=content)
    monkeypatch.setitem(locate.REGISTRY, "imdb", RegisteredCorpus("imdb", "", "", "", {"documents": official}, ""))
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    packed = tmp_path / "imdb" / "aclImdb.tar.xz"
    packed.parent.mkdir()
    archive(packed, FILES)
    first = documents.prepare("imdb", cache=False, processes=1)
    assert locate.find("imdb").contents == {"documents": content}
    packed.unlink()
    folder(tmp_path / "imdb" / "aclImdb", FILES)
    assert documents.prepare("imdb", cache=False, processes=1).digest == first.digest
    key = documents.pipeline().key(locate.find("imdb"))
    folder(tmp_path / "imdb" / "aclImdb", {"test/pos/0_10.txt": b"Fine?"})
    assert documents.pipeline().key(locate.find("imdb")) != key, "a changed folder is another corpus for the cache"
    with pytest.raises(InputError, match=f"the documents together have SHA-256 .*, the official ones {content}"):
        documents.prepare("imdb", processes=1)
    folder(tmp_path / "imdb" / "aclImdb", {"test/pos/1_10.txt": b"More."})
    with pytest.raises(InputError, match="7 documents, the official corpus has 6; fetch"):
        documents.prepare("imdb", processes=1)
    # The official archive itself needs no second check.
    archive(tmp_path / "imdb" / "aclImdb_v1.tar.gz", FILES)
    sha256 = hashlib.sha256((tmp_path / "imdb" / "aclImdb_v1.tar.gz").read_bytes()).hexdigest()
    same = CorpusFile(official.layout, None, sha256, 6, content="other")
    monkeypatch.setitem(locate.REGISTRY, "imdb", RegisteredCorpus("imdb", "", "", "", {"documents": same}, ""))
    assert locate.find("imdb").contents == {}
    assert documents.prepare("imdb", cache=False, processes=1).digest == first.digest


# --- sentences and words ---


def test_the_sample_matches_its_own_rules(sample: Result) -> None:
    assert sample.digest == SAMPLE_DIGEST
    assert sample.card["sample"] is True
    assert {name: len(split) for name, split in sample.splits.items()} == {"train": 32, "validation": 8, "test": 16}
    words = EnglishWords()
    for split in sample.splits.values():
        for row, text in enumerate(split.text):
            expected = [words.tokenize(sentence) for sentence in split_sentences(plain_text(text))]
            assert split.sentence_words(row) == expected
            assert split.words(row) == [word for sentence in expected for word in sentence]
            assert [stop - start for start, stop in split.sentence_ranges(row)] == list(map(len, expected))
            path = SAMPLE / f"{split.row_id[row]}.txt"
            assert path.read_text(encoding="utf-8") == text and path.parent.name == ["neg", "pos"][split.label[row]]
    counts = Counter(word for row in range(len(sample.train)) for word in sample.train.words(row))
    frequent = sorted((word for word in counts if counts[word] >= 5), key=lambda word: (-counts[word], word))
    assert sample.vocabulary.idx_to_token == ["<unk>", "<pad>", *frequent]
    assert sample.test.ids.tolist() == [
        sample.vocabulary[word] for row in range(len(sample.test)) for word in sample.test.words(row)
    ]


def test_the_card_counts_the_documents(sample: Result) -> None:
    card, train = sample.card, sample.train
    names = [step["name"] for step in card["steps"]]
    assert names == [
        *("read-documents", "plain-text", "drop-empty", "split-by-hash", "mark-leaks"),
        *("sentences", "tokenize", "limit-sentences", "vocabulary", "encode"),
    ]
    assert card["splits"]["train"]["sentences"] == len(train.sentence_lengths.ids) == 105
    assert card["facts"]["sentences_per_document"]["train"]["total"] == 105
    assert card["facts"]["words_per_sentence"]["train"]["max"] == int(train.sentence_lengths.ids.max())
    at = {line["max_length"]: line["splits"]["train"] for line in card["facts"]["word_truncation"]}
    assert at[20]["rows_cut"] == int((train.sentence_lengths.ids > 20).sum()) > 0
    assert json.loads(json.dumps(card, allow_nan=False)) == card


def test_processes_hash_seed_and_location_change_nothing(sample: Result, tmp_path: Path) -> None:
    program = (
        "import preprocessing.text.parallel as p; p.CHUNK = 40\n"
        "import json, hashlib; from preprocessing import documents\n"
        "r = documents.prepare('sample', cache=False, processes=2)\n"
        "print(r.digest, hashlib.sha256(json.dumps(r.card).encode()).hexdigest())"
    )
    variables = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT), "LC_ALL": "C"}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.stdout.split() == [sample.digest, hashlib.sha256(json.dumps(sample.card).encode()).hexdigest()], (
        done.stderr
    )


def test_the_cache_restores_everything() -> None:
    first = documents.prepare("sample", max_words=9, overlong="wrap")
    again = documents.prepare("sample", max_words=9, overlong="wrap")
    assert (again.digest, again.card) == (first.digest, first.card)
    for name, split in first.splits.items():
        assert again.splits[name].sentence_words(3) == split.sentence_words(3)
        assert (again.splits[name].sentence_lengths.offsets == split.sentence_lengths.offsets).all()
    taken = again.train.take(np.array([5, 2]))
    assert [taken.sentence_words(row) for row in (0, 1)] == [first.train.sentence_words(row) for row in (5, 2)]


def test_new_text_goes_through_the_same_steps(sample: Result) -> None:
    encoded = sample.encode(sample.test.text.tolist())
    assert (encoded.ids == sample.test.ids).all()
    assert (encoded.sentence_lengths.ids == sample.test.sentence_lengths.ids).all()
    odd = sample.encode(["", "<br /> \u200b", "Good", "Good. " * 3_000, "good " * 5_000])
    assert odd.sentence_lengths.lengths.tolist() == [0, 0, 1, 3_000, 1]
    assert odd.lengths.tolist() == [0, 0, 1, 6_000, 5_000]
    assert odd.sentence_words(1) == [] and odd.sentence_ranges(0).shape == (0, 2)
    assert odd.sentence_ranges(3)[2_999].tolist() == [5_998, 6_000]


def test_empty_documents_are_dropped_and_counted(tmp_path: Path) -> None:
    empty = {"train/neg/5_1.txt": b"", "test/pos/7_7.txt": b" <br /> \n", "test/pos/8_7.txt": b"Word"}
    result = run(folder(tmp_path, FILES | empty))
    step = next(step for step in result.card["steps"] if step["name"] == "drop-empty")
    assert step["dropped"] == [
        {"split": "train", "reason": "empty text", "rows": 1, "examples": ["train/neg/5_1"]},
        {"split": "test", "reason": "empty text", "rows": 1, "examples": ["test/pos/7_7"]},
    ]
    assert result.test.row_id.tolist() == ["test/neg/3_1", "test/pos/0_10", "test/pos/8_7"]
    assert result.test.sentence_words(2) == [["word"]]


def test_duplicates_stay_in_one_split_and_are_marked(tmp_path: Path) -> None:
    copies = {f"train/{label}/{number}_5.txt": b"Same." for label in ("neg", "pos") for number in range(20, 30)}
    other = {f"train/neg/{number}_5.txt": b"Text %d." % number for number in range(40, 90)}
    result = run(folder(tmp_path, FILES | copies | other | {"test/pos/9_9.txt": b"Same."}))
    sides = [sum(text == "Same." for text in split.text) for split in (result.train, result.validation)]
    assert sorted(sides) == [0, 20] and len(result.validation) > 0
    assert result.test.seen_in_train.tolist() == [True, False, True]
    assert result.card["facts"]["leaks"]["label_of_all_copies_agrees"] == 1
    assert result.card["facts"]["survey"]["train"]["texts_with_both_labels"] == 1


# --- limits ---


def of(*texts: list[list[str]]) -> Split:
    """A tokenised split: documents of sentences of words."""
    lines = Split.of(["\n".join(" ".join(sentence) for sentence in text) for text in texts])
    data, _ = TokenizeSentences(Whitespace()).apply(Data({"train": lines}), Context(processes=1))
    return data.splits["train"]


TEXTS = st.lists(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=7), max_size=5), max_size=5)


@given(TEXTS, st.none() | st.integers(1, 6), st.none() | st.integers(1, 8), st.sampled_from(["cut", "wrap"]))
def test_limits_by_hand(
    texts: list[list[list[str]]], max_sentences: int | None, max_words: int | None, overlong: str
) -> None:
    expected = []
    for text in texts:
        sentences = []
        for sentence in text:
            pieces = [sentence[start : start + (max_words or 99)] for start in range(0, len(sentence), max_words or 99)]
            sentences += pieces[:1] if overlong == "cut" else pieces
        expected.append(sentences[:max_sentences])
    step = LimitSentences(max_sentences, max_words, overlong)
    before = of(*texts)
    data, _ = step.apply(Data({"train": before}), Context())
    split = data.splits["train"]
    assert [split.sentence_words(row) for row in range(len(split))] == expected
    assert [split.words(row) for row in range(len(split))] == [list(chain.from_iterable(text)) for text in expected]
    assert [before.sentence_words(row) for row in range(len(split))] == texts, "the input is unchanged"


def test_rules_describe_the_limits() -> None:
    assert LimitSentences().rule == "No sentence and no document is cut."
    assert LimitSentences(3, 5).rule.count("first") == 2 and "several of 5" in LimitSentences(None, 5, "wrap").rule
    assert "etc" in SplitSentences().rule and "<br>" in PlainText().rule


def test_a_limit_at_the_wrong_position_is_refused() -> None:
    with pytest.raises(InputError, match="put a tokenize step before it"):
        LimitSentences(3).apply(Data({"train": Split.of(["a"])}), Context())
    with pytest.raises(InputError, match="not divided into sentences"):
        Split.of(["a"]).sentence_lengths  # noqa: B018


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_words": 0}, "max_words 0: must be at least 1"),
        ({"max_sentences": -1}, "max_sentences -1: must be at least 1"),
        ({"min_freq": 0}, "min_freq 0: must be at least 1"),
        ({"max_size": 0}, "max_size 0: must be at least 1"),
        ({"overlong": "drop"}, "overlong 'drop': no such choice; choose cut or wrap"),
    ],
)
def test_invalid_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        documents.pipeline(**options)


# --- files ---


def test_written_files_can_be_read_back(sample: Result, tmp_path: Path) -> None:
    documents.write(sample, tmp_path / "out")
    with np.load(tmp_path / "out" / "test.npz") as arrays:
        sentences, rows = arrays["sentence_offsets"], arrays["document_offsets"]
        assert sentences.dtype == rows.dtype == np.int64 and sentences[-1] == len(arrays["ids"])
        assert (arrays["offsets"] == sentences[rows]).all()
        first = [arrays["ids"][sentences[s] : sentences[s + 1]] for s in range(rows[2], rows[3])]
        expected = [[sample.vocabulary[word] for word in words] for words in sample.test.sentence_words(2)]
        assert [ids.tolist() for ids in first] == expected
    header, *lines = (tmp_path / "out" / "test.tsv").read_text(encoding="utf-8").splitlines()
    assert header == "id\tlabel\ttokens\tsentence_lengths" and len(lines) == 16
    row_id, label, tokens, lengths = lines[2].split("\t")
    assert (row_id, int(label)) == (sample.test.row_id[2], sample.test.label[2])
    assert tokens.split(" ") == sample.test.words(2)
    assert list(map(int, lengths.split(" "))) == sample.test.sentence_lengths[2].tolist()


@pytest.mark.slow
@pytest.mark.corpus("imdb")
def test_the_card_of_imdb() -> None:
    result = documents.prepare("imdb", processes=2)
    facts = result.card["facts"]
    survey = facts["survey"]
    assert [survey[part]["rows"] for part in ("train", "test")] == [25_000, 25_000]
    assert [survey[part]["duplicate_rows"] for part in ("train", "test")] == [96, 199]
    assert facts["leaks"]["rows"] == facts["leaks"]["label_of_all_copies_agrees"] == 123
    assert result.test.label.sum() == 12_500 and int(result.test.seen_in_train.sum()) == 123
    assert {name: len(split) for name, split in result.splits.items()} == {
        "train": 22_563,
        "validation": 2_437,
        "test": 25_000,
    }
    assert not set(result.validation.text) & set(result.train.text)
    assert facts["sentences_per_document"]["train"]["percentiles"]["50"] == 10
    assert facts["words_per_sentence"]["train"]["percentiles"]["50"] == 19
    assert 25_000 < len(result.vocabulary) < 30_000
    assert all(split.sentence_lengths.lengths.min() >= 1 for split in result.splits.values())
    assert result.digest == "055954073055a72b3d2f42dc4752a32fa76b9f2184de421918a1507262034e80"
    # Words as tokenised by Moses.
    moses = MosesTokenizer("en")
    for row, text in enumerate(result.validation.text[:100]):
        expected = [moses.tokenize(part, escape=False) for part in split_sentences(plain_text(text))]
        assert result.validation.sentence_words(row) == [" ".join(part).lower().split() for part in expected]


def test_a_learned_tokenizer_learns_from_the_sentences_of_train_only() -> None:
    seen: list[str] = []

    class Learned(Whitespace):
        def fit(self, texts: Sequence[str]) -> Learned:
            seen.extend(texts)
            return self

    splits = {name: Split.of([f"{name} one\n{name} two"]) for name in ("train", "validation", "test")}
    TokenizeSentences(Learned()).apply(Data(splits), Context(processes=1))
    assert seen == ["train one", "train two"]
