"""What is published as pages: every link leads somewhere, nothing is markup, the same bytes each time, whole or not."""

from __future__ import annotations

import html
import json
import posixpath
import re
from pathlib import Path
from urllib.parse import urljoin

import pytest

from gluon_attn.errors import UsageError
from reproductions.explorer import site
from reproductions.explorer.networks import find_networks
from reproductions.explorer.pages import markdown, page
from reproductions.explorer.site import live_files, own_pages, published, write_site
from reproductions.protocol import papers
from reproductions.protocol.runs import Outcome
from tests.reproductions.support import ROOT, gluon_attn

LINK = re.compile(r'(?:href|src)="([^"]*)"')


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the site, by their path."""
    folder = tmp_path_factory.mktemp("written") / "site"
    answer = gluon_attn("explore", "--out", folder)
    assert answer.code == 0 and str(folder) in answer.out, answer.err
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_paper_has_its_table_and_its_figures(written: dict[str, bytes]) -> None:
    for name in papers.names():
        folder = ROOT / "reproductions" / "results" / name
        if folder.is_dir():
            assert f"papers/{name}/index.html" in written
            for path in folder.glob("*.png"):
                assert written[f"papers/{name}/{path.name}"] == path.read_bytes()
    assert "papers/bahdanau2014/attention.html" in written and "papers/lin2017/reviews_best.html" in written
    assert {"steps/index.html", "naver/index.html"} <= written.keys()
    manifest = json.loads(written["site.json"])
    assert manifest.keys() == written.keys() - {"site.json"}


def test_every_link_leads_to_a_file_of_the_site(written: dict[str, bytes]) -> None:
    dead = []
    for path, content in written.items():
        if path.endswith(".html"):
            for link in LINK.findall(content.decode("utf-8")):
                link = html.unescape(link)
                target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link.partition("#")[0]))
                if not link.startswith(("#", "data:", "https://", "http://")) and link and target not in written:
                    dead.append((path, link))
    assert dead == []


def test_the_same_results_give_the_same_bytes(written: dict[str, bytes], tmp_path: Path) -> None:
    count = write_site(tmp_path / "again")
    again = {path: (tmp_path / "again" / path).read_bytes() for path in written}
    assert again == written and count == len(written) - 1


def test_live_pages_link_only_pages_that_are_served(tmp_path: Path) -> None:
    files = live_files(find_networks(tmp_path, "naver_self_attention"), tmp_path)
    served = {f"/{path.removesuffix('index.html')}" for path in files} | {f"/{path}" for path in files}
    for path in (
        "",
        "papers/index.html",
        "papers/lin2017/index.html",
        "papers/lin2017/attention.html",
        "naver/index.html",
    ):
        content = files[path]().decode("utf-8")
        links = [html.unescape(link) for link in LINK.findall(content)]
        links += re.findall(r'"address":"([^"]*)"', content)
        wanted = [link for link in links if not link.startswith(("#", "data:", "https://", "http://"))]
        assert [link for link in wanted if urljoin(f"http://a/{path}", link)[8:] not in served] == []
    assert files["hangul.ttf"]()[:4] == b"\0\1\0\0"


def test_without_results_there_is_only_the_page_to_type_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    networks = find_networks(tmp_path, "naver_self_attention")
    monkeypatch.setattr(site, "results_readme_path", lambda paper: tmp_path / paper / "README.md")
    files = live_files(networks, tmp_path)
    assert set(files) == {"", "hangul.ttf"} and b"/papers/" not in files[""]()


def test_a_damaged_result_is_not_taken_for_a_missing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(name: str) -> list[Outcome]:
        raise UsageError(f"{name}: damaged")

    networks = find_networks(tmp_path, "naver_self_attention")
    monkeypatch.setattr(site, "_examples", damaged)
    with pytest.raises(UsageError, match=r"bahdanau2014: damaged"):
        live_files(networks, tmp_path)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    for flags in ((), ("--overwrite",)):
        assert "name a new folder" in gluon_attn("explore", "--out", tmp_path, *flags).refusal
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_earlier_site_is_replaced_when_asked_and_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    monkeypatch.setattr(site, "published", lambda live: {"index.html": lambda: b"1", "a/b.png": lambda: b"2"})
    assert write_site(folder) == 2
    with pytest.raises(UsageError, match="--overwrite"):
        write_site(folder)

    def fail() -> bytes:
        raise UsageError("damaged")

    monkeypatch.setattr(site, "published", lambda live: {"index.html": lambda: b"3", "z.html": fail})
    with pytest.raises(UsageError, match="damaged"):
        write_site(folder, overwrite=True)
    assert (folder / "index.html").read_bytes() == b"1" and (folder / "a" / "b.png").is_file()
    monkeypatch.setattr(site, "published", lambda live: {"index.html": lambda: b"4"})
    write_site(folder, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "site.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_site_is_of_all_papers(tmp_path: Path) -> None:
    for more in ("lin2017", "--open"):
        assert "leave out PAPER, --model and --open" in gluon_attn("explore", more, "--out", tmp_path / "site").refusal
    for more in (("--port", 1), ("--host", "0.0.0.0"), ("--runs", tmp_path)):
        answer = gluon_attn("explore", "--out", tmp_path / "site", *more)
        assert "serves nothing; leave out --runs, --host and --port" in answer.refusal
    assert "name it with --out" in gluon_attn("explore", "--overwrite").refusal


def test_documents_are_escaped_and_lead_nowhere_unexpected() -> None:
    text = (
        "# <script>alert(1)</script>\n\n| a |\n|-:|\n| <b onclick=x> [f](../f.py) [x](javascript:alert(1)) [d](d.md) |"
    )
    content = markdown(text, {"d.md": "/d/"})
    opened, closed = re.findall(r"<(\w+)", content), re.findall(r"</(\w+)", content)
    assert opened == ["h1", "div", "table", "thead", "tr", "th", "tbody", "tr", "td", "a"] and sorted(closed) == sorted(
        opened
    )
    assert LINK.findall(content) == ["/d/"] and "style=" not in content and 'class="right"' in content


def test_data_and_titles_never_become_markup() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    content = page("document", live=True, here="papers", title=hostile, content=hostile, attention="").decode("utf-8")
    assert "<script>" not in content
    values = {"heading": hostile, "lead": hostile, "typing": False}
    content = page("explore", live=False, here="papers", data={"a": hostile}, title=hostile, **values).decode("utf-8")
    assert content.count("<script") == 2 and content.count("</script>") == 2


def test_the_script_parses_no_html() -> None:
    scripts = sorted((Path(site.__file__).parent / "templates").glob("*.js"))
    source = "".join(script.read_text(encoding="utf-8") for script in scripts)
    assert [script.name for script in scripts] == ["drawing.js", "explorer.js"]
    assert (
        re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function", source)
        == []
    )


def test_pages_of_runs_are_served_only_with_a_policy_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "paper" / "cpu-portable"
    folder.mkdir(parents=True)
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'sha256-x'\">"
    (folder / "reviews.html").write_text(policy, encoding="utf-8")
    (folder / "other.html").write_text("<script>alert(1)</script>", encoding="utf-8")
    assert list(own_pages(tmp_path)) == ["runs/paper/cpu-portable/reviews.html"]


def test_published_pages_need_a_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(site, "results_readme_path", lambda name: tmp_path / name)
    with pytest.raises(UsageError, match="clone"):
        published(live=False)
