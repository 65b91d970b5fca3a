"""WMT'14 in its official layout: a generated miniature, and the SGML of its test sets."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from preprocessing import translation
from preprocessing.bitext.segments import read_segments
from preprocessing.corpora import locate
from preprocessing.errors import InputError, MissingError

TEXT = {
    "training/europarl-v7.{p}": ["Resumption of the session", "", "I declare resumed the session ."] * 20,
    "commoncrawl.{p}": ["A house\r", "two houses , one dog\r", "A dog sees the house"] * 20,
    "training/news-commentary-v9.{p}": ["The dog & the session"] * 7,
}
FRENCH = {"un/undoc.2000.{p}": ["the session of 2000"] * 5, "giga-fren.release2.fixed": ["houses and dogs"] * 5}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with both corpora; the other language is English with a mark."""
    folder = tmp_path / "wmt14"
    for language in ("de", "fr"):
        for side in ("en", language):
            mark = "" if side == "en" else "x"
            for name, lines in (TEXT | (FRENCH if language == "fr" else {})).items():
                path = folder / f"{name.format(p=f'{language}-en')}.{side}"
                path.parent.mkdir(parents=True, exist_ok=True)
                text = "".join(f"{line.replace('o', 'o' + mark)}\n" for line in lines).encode()
                path = path.with_name(f"{path.name}.gz") if name.startswith("giga") else path
                path.write_bytes(gzip.compress(text) if name.startswith("giga") else text)
            (folder / "dev").mkdir(exist_ok=True)
            (folder / "dev" / f"newstest2013.{side}").write_text(f"A do{mark}g .\n" * 3000, encoding="utf-8")
            role = "src" if side == "en" else "ref"
            (folder / "test-full").mkdir(exist_ok=True)
            test = folder / "test-full" / f"newstest2014-{language}en-{role}.{side}.sgm"
            segments = "".join(f'<seg id="{n}">A &quot;do{mark}g&quot;  .</seg>\n' for n in range(3003))
            test.write_text(f'<srcset setid="newstest2014">\n<doc>\n<p>\n{segments}</p>\n</doc>\n</srcset>\n')
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    return folder


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


def test_a_test_set_of_another_size_is_refused(root: Path) -> None:
    path = root / "dev" / "newstest2013.de"
    path.write_text("Ein Hund .\n" * 2999)
    (root / "dev" / "newstest2013.en").write_text("A dog .\n" * 2999)
    for bounded in (True, False):
        with pytest.raises(InputError, match="2999 rows, the official file has 3000"):
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
