"""WMT'14 in its official layout: a generated miniature, and the SGML of its test sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from preprocessing import translation
from preprocessing.bitext.segments import read_segments
from preprocessing.corpora import locate
from preprocessing.errors import InputError, MissingError
from tests.preprocessing import wmt14_miniature


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    return wmt14_miniature.write(tmp_path)


@pytest.mark.parametrize("language", ["de", "fr"])
def test_a_miniature_in_the_official_layout(root: Path, language: str) -> None:
    name = f"wmt14 en-{language}"
    results = [
        translation.prepare(name, tokens="bpe", operations=30, cache=False, processes=1, bounded=bounded)
        for bounded in (True, False)
    ]
    assert results[0].digest == results[1].digest and results[0].card == results[1].card
    card = results[0].card
    assert card["corpus"]["name"] == name and results[0].references("test")[0].count('"') == 2
    assert [len(pair) for pair in results[0].splits.values()][1:] == [3000, 3003]
    dropped = {each["reason"]: each["rows"] for each in card["steps"][0]["dropped"]}
    assert dropped == {"an empty side": 20}
    parts = set(card["facts"]["collections"])
    assert ("giga-fren" in parts) == ("undoc" in parts) == (language == "fr") and len(parts) == (
        7 if language == "fr" else 5
    )
    assert "seg elements" in card["steps"][0]["rule"] and "carriage return" in card["steps"][0]["rule"]


def test_what_is_missing_is_named_with_how_to_get_it(root: Path) -> None:
    (root / "dev" / "newstest2013.de").unlink()
    with pytest.raises(
        MissingError, match=r"newstest2013\.de: corpus wmt14 en-de is missing; unpack https://www\.statmt"
    ):
        translation.prepare("wmt14 en-de")


def test_validation_may_be_that_of_the_test_archive_of_2013(root: Path) -> None:
    (root / "test").mkdir()
    for side in ("en", "de"):
        plain = root / "dev" / f"newstest2013.{side}"
        segments = "".join(f"<seg>{line}</seg>\n" for line in plain.read_text().splitlines())
        (root / "test" / f"newstest2013-src.{side}.sgm").write_text(segments)
        plain.unlink()
    result = translation.prepare("wmt14 en-de", cache=False, processes=1)
    assert len(result.splits["validation"]) == 3000 and result.references("validation")[0] == "A doxg ."


def test_a_test_set_of_another_size_is_refused(root: Path) -> None:
    path = root / "dev" / "newstest2013.de"
    path.write_text("Ein Hund .\n" * 2999)
    (root / "dev" / "newstest2013.en").write_text("A dog .\n" * 2999)
    for bounded in (True, False):
        with pytest.raises(InputError, match="2999 rows, the official corpus has 3000"):
            translation.prepare("wmt14 en-de", bounded=bounded, processes=1, cache=False)


def test_segments_are_read_whatever_is_around_them(tmp_path: Path) -> None:
    path = tmp_path / "a.en.sgm"
    path.write_text(
        '<refset><seg id="1">one &amp; two</seg>\n<hl><seg id="2"> three\nfour </seg></hl>', encoding="utf-8"
    )
    assert read_segments(path) == ["one & two", "three four"]
    path.write_text('<seg id="1">a</seg>\n<seg id="2">b\n<seg id="3">c</seg>', encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.en\.sgm, line 3: a seg element without an end"):
        read_segments(path)
    path.write_text("<doc></doc>", encoding="utf-8")
    with pytest.raises(InputError, match="no seg elements"):
        read_segments(path)


def test_the_registry_states_no_hash_that_is_not_published() -> None:
    for language in ("de", "fr"):
        files = locate.REGISTRY[f"wmt14 en-{language}"].files
        assert all(file.sha256 is None and file.url is None for file in files.values())
