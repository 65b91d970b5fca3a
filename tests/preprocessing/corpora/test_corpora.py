"""Where corpora are searched for, what is verified, and downloads that break off, resume, or deliver wrong bytes."""

from __future__ import annotations

import hashlib
import http.server
import resource
import shutil
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from preprocessing import corpora, naver
from preprocessing.corpora import locate
from preprocessing.corpora.corpus import RegisteredCorpus
from preprocessing.corpora.download import download
from preprocessing.errors import InputError, MissingError

CONTENT = b"".join(hashlib.sha256(b"%d" % block).digest() for block in range(20_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves CONTENT at any path; can truncate answers, ignore Range, or send other bytes."""

    content = CONTENT
    cut_after: int | None = None
    cuts_left = 0
    ranges = True
    requested: list[int]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        start = int(self.headers.get("Range", "bytes=0-")[6:-1])
        self.server.requested.append(start)
        if self.path == "/gone":
            return self.send_error(404)
        content = self.server.content
        if not self.server.ranges:
            start = 0
        if start and start >= len(content):
            return self.send_error(416)
        body = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.cut_after is not None and self.server.cuts_left:
            self.server.cuts_left -= 1
            body = body[: self.server.cut_after]
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.requested = []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def url(server: Server, path: str = "/file") -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


def test_a_complete_download(server: Server, tmp_path: Path) -> None:
    download(url(server), tmp_path / "new" / "file", sha256=SHA256)
    assert (tmp_path / "new" / "file").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]


def test_a_broken_transfer_resumes_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.cut_after, server.cuts_left = 100_000, 2
    download(url(server), tmp_path / "file", sha256=SHA256)
    assert server.requested == [0, 100_000, 200_000]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_later_call_resumes_the_partial_file_of_an_earlier_one(server: Server, tmp_path: Path) -> None:
    server.cut_after, server.cuts_left = 1_000, 3
    with pytest.raises(InputError, match="stopped at 3000 of 640000 bytes; run again to resume the download"):
        download(url(server), tmp_path / "file", sha256=SHA256)
    assert not (tmp_path / "file").exists()
    download(url(server), tmp_path / "file", sha256=SHA256)
    assert server.requested[-1] == 3_000
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_without_range_support_the_download_starts_again(server: Server, tmp_path: Path) -> None:
    server.cut_after, server.cuts_left, server.ranges = 1_000, 1, False
    download(url(server), tmp_path / "file", sha256=SHA256)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_complete_partial_file_needs_no_more_bytes(server: Server, tmp_path: Path) -> None:
    (tmp_path / f".file.{SHA256[:12]}.part").write_bytes(CONTENT)
    download(url(server), tmp_path / "file", sha256=SHA256)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requested == [len(CONTENT)]


def test_a_file_that_another_process_has_just_completed_leaves_no_part(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(CONTENT)
    download(url(server), tmp_path / "file", sha256=SHA256)
    assert server.requested == [] and [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_not_taken_for_a_broken_transfer(server: Server, tmp_path: Path) -> None:
    """A limit on the size of files stands for it; what is already there is resumed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(InputError, match=r"file: cannot be written \(File too large\); free some space, then run"):
            download(url(server), tmp_path / "file", sha256=SHA256)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert server.requested == [0]
    download(url(server), tmp_path / "file", sha256=SHA256)
    assert server.requested == [0, 100_000]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_wrong_bytes_are_refused_and_deleted(server: Server, tmp_path: Path) -> None:
    server.content = CONTENT[:-1] + b"?"
    with pytest.raises(InputError, match=f"expected {SHA256}"):
        download(url(server), tmp_path / "file", sha256=SHA256)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["/gone", None])
def test_no_answer_leaves_no_file(server: Server, tmp_path: Path, path: str | None) -> None:
    address = url(server, path) if path else "http://127.0.0.1:9/file"
    with pytest.raises(InputError, match=r"download failed: .*; run again .*, or do this") as caught:
        download(address, tmp_path / "file", sha256=SHA256, how_to_get="do this")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Server) -> RegisteredCorpus:
    """A registered corpus of one file, downloadable from the loopback server; user cache and data root are empty."""
    nsmc = locate.REGISTRY["nsmc"]
    file = locate.CorpusFile(("tiny/file",), url(server), SHA256, 7)
    corpus = replace(nsmc, name="tiny", files={"train": file}, how_to_get="copy it to tiny/file")
    monkeypatch.setitem(locate.REGISTRY, "tiny", corpus)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("GLUON_ATTN_OFFLINE", raising=False)
    return corpus


def put(path: Path, content: bytes = CONTENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_data_root_then_user_cache_then_download(tiny: RegisteredCorpus, tmp_path: Path, server: Server) -> None:
    cached = tmp_path / "cache" / "gluon-attn" / "data" / "tiny" / "file"
    files = locate.find("tiny")
    assert (files.origin, files.paths, files.sha256) == ("downloaded", {"train": cached}, {"train": SHA256})
    assert locate.find("tiny").origin == "user cache"
    root = put(tmp_path / "data" / "tiny" / "file")
    files = locate.find("tiny")
    assert (files.origin, files.paths["train"], files.rows) == ("data root", root, {"train": 7})
    assert server.requested == [0]


def test_wrong_bytes_in_the_data_root_are_an_error_and_never_skipped(tiny: RegisteredCorpus, tmp_path: Path) -> None:
    put(tmp_path / "data" / "tiny" / "file", CONTENT[:-40])
    with pytest.raises(InputError, match=f"639960 bytes.*official file has {SHA256}; .*fetch it again"):
        locate.find("tiny")


def test_offline_names_the_missing_file_and_its_remedy(
    tiny: RegisteredCorpus, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLUON_ATTN_OFFLINE", "1")
    with pytest.raises(InputError) as caught:
        locate.find("tiny")
    message = str(caught.value)
    assert str(tmp_path / "data" / "tiny" / "file") in message
    for part in ("forbids the download", "copy it to tiny/file", "GLUON_ATTN_DATA"):
        assert part in message
    assert "\n" not in message and server.requested == []


def test_a_data_root_that_is_not_a_folder_is_refused(
    tiny: RegisteredCorpus, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistyped path must not end in a download, or in a training on the sample."""
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path / "dta"))
    with pytest.raises(InputError, match=r"GLUON_ATTN_DATA=.*dta: is not a folder; correct it or unset it"):
        locate.find("tiny")
    assert server.requested == []


def test_a_search_can_be_offline(tiny: RegisteredCorpus, tmp_path: Path, server: Server) -> None:
    with pytest.raises(MissingError, match="corpus tiny is missing; copy it to tiny/file"):
        locate.find("tiny", offline=True)
    assert server.requested == []
    put(tmp_path / "data" / "tiny" / "file")
    assert locate.find("tiny", offline=True).sha256 == {"train": SHA256}


def test_the_crawl_may_be_an_archive_or_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="git clone"):
        locate.find("nsmc-raw")
    (tmp_path / "nsmc" / "raw").mkdir(parents=True)
    assert locate.find("nsmc-raw").paths["raw"].is_dir()
    (tmp_path / "nsmc" / "raw.tar.xz").write_bytes(b"archive")
    assert locate.find("nsmc-raw").sha256["raw"] == hashlib.sha256(b"archive").hexdigest()


def test_an_optional_file_may_be_missing_but_not_damaged(
    tiny: RegisteredCorpus, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = replace(tiny.files["train"], layout=("tiny/more",), optional=True, rows=9)
    monkeypatch.setitem(locate.REGISTRY, "tiny", replace(tiny, files={**tiny.files, "more": more}))
    put(tmp_path / "data" / "tiny" / "file")
    files = locate.find("tiny")
    assert (list(files.paths), list(files.urls), files.rows) == (["train"], ["train"], {"train": 7})
    assert server.requested == [], "optional files are not downloaded"
    (tmp_path / "data" / "tiny" / "more").write_bytes(CONTENT)
    assert locate.find("tiny").rows == {"train": 7, "more": 9}
    (tmp_path / "data" / "tiny" / "more").write_bytes(CONTENT[:-1])
    with pytest.raises(InputError, match="fetch it again"):
        locate.find("tiny")


def test_the_hash_of_an_archive_is_that_of_the_text_in_it(
    tiny: RegisteredCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = locate.CorpusFile(("tiny/text.zip",), None, SHA256, member="text.txt")
    monkeypatch.setitem(locate.REGISTRY, "tiny", replace(tiny, files={"pairs": file}))
    path = tmp_path / "data" / "tiny" / "text.zip"
    path.parent.mkdir(parents=True)
    for compression, folder in ((zipfile.ZIP_STORED, ""), (zipfile.ZIP_DEFLATED, "some/folder/")):
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr(f"{folder}text.txt", CONTENT)
        files = locate.find("tiny")
        assert (files.sha256, files.members) == ({"pairs": SHA256}, {"pairs": "text.txt"})
    path.write_bytes(path.read_bytes()[:-1_000])
    with pytest.raises(InputError, match=r"text\.zip.*truncated or damaged"):
        locate.find("tiny")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("text.txt", b"other")
    with pytest.raises(InputError, match=r"SHA-256 of its member text\.txt is .*official file has"):
        locate.find("tiny")


def test_a_corpus_can_be_restricted_to_some_of_its_parts() -> None:
    files = locate.CorpusFiles(
        "x",
        {"a": Path("a"), "b": Path("b")},
        {"a": "1", "b": "2"},
        "free",
        {"b": "url"},
        "given",
        rows={"a": 1, "b": 2},
    )
    narrow = files.only(["b", "c"])
    assert (list(narrow.paths), narrow.sha256, narrow.urls, narrow.rows) == (["b"], {"b": "2"}, {"b": "url"}, {"b": 2})
    assert list(files.paths) == ["a", "b"] and narrow.name == "x"


def test_the_sentences_of_the_sample_are_a_corpus_of_the_same_name() -> None:
    sentences = locate.find("sample sentences")
    assert (sentences.name, sentences.origin) == ("sample", "embedded")
    assert list(sentences.paths) == ["train", "validation", "test"]


@pytest.mark.corpus("multi30k", "ko_en", "fra_eng")
def test_parallel_corpora_have_the_official_bytes() -> None:
    german = locate.find("multi30k en-de")
    assert german.urls["test.de"].endswith("/multi30k/dataset/master/data/task1/raw/test_2016_flickr.de.gz")
    assert german.rows == {
        f"{part}.{of}": n
        for part, n in (("train", 29_000), ("validation", 1_014), ("test", 1_000))
        for of in ("en", "de")
    }
    assert locate.find("tatoeba en-fr").rows == {"pairs": 167_130}
    korean = locate.find("tatoeba ko-en")
    assert "park-train.ko" not in korean.paths and korean.urls == {} and len(korean.paths) == 11


def test_the_sample_is_embedded() -> None:
    sample = locate.find("sample")
    assert sample.origin == "embedded" and list(sample.paths) == ["train", "test"]
    assert sample.sha256["train"] == hashlib.sha256(sample.paths["train"].read_bytes()).hexdigest()


def test_unknown_corpora_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"known are nsmc, nsmc-raw, .*, sample"):
        locate.find("nsmc2")
    with pytest.raises(InputError, match="no such file"):
        locate.given("mine", {"train": tmp_path / "absent"})
    unusual = tmp_path / "tr\udce9.tsv"
    unusual.write_bytes(b"")
    with pytest.raises(InputError, match="the name is not UTF-8; rename the file"):
        locate.given("mine", {"train": unusual})


@pytest.mark.corpus("nsmc")
def test_nsmc_has_the_official_bytes() -> None:
    files = locate.find("nsmc")
    assert files.rows == {"train": 150_000, "test": 50_000} and files.licence == "CC0 1.0"
    assert files.sha256["train"].startswith("e03b7d14") and files.sha256["test"].startswith("8ac9f640")


@pytest.mark.parametrize(
    ("value", "offline"), [("yes", True), ("TRUE", True), ("on", True), ("0", False), ("no", False)]
)
def test_any_usual_yes_forbids_downloads(
    value: str, offline: bool, tiny: RegisteredCorpus, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLUON_ATTN_OFFLINE", value)
    if offline:
        with pytest.raises(InputError, match="GLUON_ATTN_OFFLINE forbids the download"):
            corpora.find(tiny.name)
    else:
        assert corpora.find(tiny.name).origin == "downloaded"
    monkeypatch.setenv("GLUON_ATTN_OFFLINE", "perhaps")
    shutil.rmtree(locate.user_cache(), ignore_errors=True)
    with pytest.raises(InputError, match="GLUON_ATTN_OFFLINE=perhaps: is neither yes nor no; set it to 1 or 0"):
        corpora.find(tiny.name)


def test_without_a_home_folder_the_cache_is_among_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert locate.user_cache().parent == tmp_path


def test_a_missing_part_of_ones_own_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mine: no files are given; give the path of each part"):
        corpora.given("mine", {})
    path = tmp_path / "test.txt"
    path.write_text("id\tdocument\tlabel\n1\ta\t0\n", encoding="utf-8")
    with pytest.raises(InputError, match="corpus mine: has no part train; give it too; given are test"):
        naver.prepare(corpora.given("mine", {"test": path}), tokenizer="whitespace")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    expected = r"cannot be downloaded: .*file cannot be written .*; set XDG_CACHE_HOME .*, or do this"
    with pytest.raises(MissingError, match=expected) as caught:
        download("http://127.0.0.1:9/file", tmp_path / "file" / "x", sha256=SHA256, how_to_get="do this")
    assert "\n" not in str(caught.value)
