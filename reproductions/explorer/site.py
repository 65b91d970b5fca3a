"""Pages of the published results: papers, tables, figures, attention of the published examples, and guides.

Nothing is computed and no corpus is read: everything comes from the published results and the documents of the
repository.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gluon_attn.errors import UsageError
from gluon_attn.plots.fonts import hangul_font
from preprocessing.files import atomic_directory, write_json
from reproductions.explorer.app import RUNS, Page
from reproductions.explorer.networks import LONGEST_TEXT, WIDEST_BEAM, Network, Networks
from reproductions.explorer.pages import markdown, page
from reproductions.guides.guides import GUIDES
from reproductions.protocol import papers
from reproductions.protocol.report import papers_markdown
from reproductions.protocol.results_page import readme_of, results_readme_path
from reproductions.protocol.runs import Outcome, published_outcomes

MANIFEST = "site.json"
"""File that lists the SHA-256 of all files of a written site. A folder that contains it may be replaced."""

# Sentences to try, by task and language.
SUGGESTIONS = {
    "classification ko": [
        "가지고 있는 이야기에 비해 정말로 수준떨어지는 연출, 편집",
        "정말 재미있는 영화였습니다. 또 보고 싶네요!",
        "배우 연기는 좋았는데 스토리가 너무 지루하다",
        "돈이 아깝다는 말이 절로 나오는 영화",
    ],
    "classification en": [
        "a gripping, funny and beautifully acted film",
        "the plot is not bad, but the acting is dull and the ending makes no sense",
    ],
    "translation en": [
        "a dog runs through the snow .",
        "two men in blue shirts are standing on a ladder .",
        "a little girl in a pink dress is climbing into a wooden playhouse .",
    ],
    "pretraining ko": ["정말 재미있는 영화였습니다. 또 보고 싶네요!", "배우 연기는 좋았는데 스토리가 너무 지루하다"],
    "translation ko": ["나는 어제 친구와 함께 영화를 봤다.", "그는 아침에 커피를 마신다."],
    "translation de": ["ein hund rennt durch den schnee ."],
    "language modelling en": ["the company said it expects the sale to be completed by the end of the year"],
}


def published(*, live: bool) -> dict[str, Page]:
    """The pages of the published results, by path.

    Raises:
        UsageError: if the project is installed without its results.
    """
    names = _with_results()
    if not names:
        raise UsageError("the published results are missing here; use a clone of the project")
    files: dict[str, Page] = {"papers/index.html" if live else "index.html": partial(_index, names, live)}
    for name in names:
        folder = results_readme_path(name).parent
        files[f"papers/{name}/index.html"] = partial(_paper, name, live)
        files |= {f"papers/{name}/{path.name}": path.read_bytes for path in sorted(folder.glob("*.png"))}
        if _examples(name):
            files[f"papers/{name}/attention.html"] = partial(_attention, name, live)
        files |= {f"papers/{name}/{file}": partial(bytes, page) for file, page in _reading_pages(name).items()}
    for name, guide in GUIDES.items():
        files[f"{name}/index.html"] = partial(_guide, name, live)
        files |= {f"{name}/{path.name}": path.read_bytes for path in sorted(guide.pictures.glob("*.png"))}
    return files


def _with_results() -> list[str]:
    """The papers whose published results are here."""
    return [name for name in papers.names() if results_readme_path(name).is_file()]


def live_files(networks: Networks, runs: Path) -> dict[str, Page]:
    """All pages of the explorer: the page on which texts are typed, the published pages, and the pages of the runs.

    Raises:
        UsageError: if a published file is damaged.
    """
    has_results = bool(_with_results())  # an installation without results still has networks to explore
    files = published(live=True) if has_results else {}
    own = own_pages(runs)
    files |= {path: file.read_bytes for path, file in own.items()}
    font = hangul_font()
    if font.suffix == ".ttf":
        files["hangul.ttf"] = font.read_bytes
    pages = [
        {"paper": name, "title": title, "address": f"/papers/{name}/{file}"}
        for name in papers.names()
        for file, title in _pages_of(name, "")
        if f"papers/{name}/{file or 'index.html'}" in files
    ]
    pages += [
        {"paper": path.split("/")[1], "title": f"{file.stem} of {file.parent.name}", "address": f"/{path}"}
        for path, file in own.items()
    ]
    data = _data([network.as_json() for network in networks.offered], pages)
    files[""] = lambda: page(
        "explore",
        live=True,
        here="explore",
        published=has_results,
        data=data,
        title="Attention, explored",
        heading="See what it attends to",
        lead="Choose a trained network, type a sentence, and see the weight of every token.",
        typing=True,
        longest=LONGEST_TEXT,
        widest=WIDEST_BEAM,
    )
    return files


def own_pages(runs: Path) -> dict[str, Path]:
    """The pages that scored runs have written, by path: those with a policy that names the hash of their script. This
    only tells them from other files; what a page may do is limited by the headers with which it is served."""
    pages = {}
    for path in sorted(runs.glob("*/*/*.html")):
        with path.open("rb") as stream:
            beginning = stream.read(2_000)
        if b"script-src 'sha256-" in beginning:
            pages[f"{RUNS}{path.relative_to(runs).as_posix()}"] = path
    return pages


def write_site(folder: Path, *, overwrite: bool = False) -> int:
    """Write the published pages as a static site that needs no server; the same results give the same bytes.

    Returns:
        The number of files.

    Raises:
        UsageError: if the folder is not empty, unless it is an earlier site and ``overwrite`` is set; or if there are
            no results.
    """
    folder = folder.absolute()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        if not (folder / MANIFEST).is_file():
            raise UsageError(f"{folder}: exists already; name a new folder")
        if not overwrite:
            raise UsageError(f"{folder}: an earlier site; name a new folder, or pass --overwrite")
    files = {path: content() for path, content in published(live=False).items()}
    with atomic_directory(folder) as part:
        for path, content in files.items():
            (part / path).parent.mkdir(parents=True, exist_ok=True)
            (part / path).write_bytes(content)
        write_json(part / MANIFEST, {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)})
    return len(files)


def _index(names: list[str], live: bool) -> bytes:
    link = "/papers/{}/" if live else "papers/{}/index.html"
    links = {f"reproductions/results/{name}/README.md": link.format(name) for name in names}
    text = (
        "# Reproductions of attention papers\n\nOne line per paper: one of its systems, its measured value on the "
        "test split, a reported number where corpus, split and metric are the same, and the verdicts on claims, the "
        "paper’s and our own. The link leads to all systems, intervals, claims and figures.\n\n" + papers_markdown()
    )
    examples = [name for name in names if _examples(name)]
    text += "\n\n## Attention of the published examples\n\n"
    for name in examples:
        address = links[f"reproductions/results/{name}/README.md"].removesuffix("index.html") + "attention.html"
        links[f"attention:{name}"] = address
        text += f"- [{papers.load(name).title}](attention:{name})\n"
    content = markdown(text, links)
    title = "Reproductions of attention papers"
    return page("document", live=live, here="papers", title=title, content=content, attention="")


def _paper(name: str, live: bool) -> bytes:
    content = markdown(readme_of(name), {})
    attention = "attention.html" if _examples(name) else ""
    title = papers.load(name).title
    return page("document", live=live, here="papers", up="../../", title=title, content=content, attention=attention)


def _guide(name: str, live: bool) -> bytes:
    guide, index = GUIDES[name], "" if live else "index.html"
    links = {f"{guide.pictures.name}/{path.name}": path.name for path in guide.pictures.glob("*.png")}
    links |= {other.document.name: f"../{folder}/{index}" for folder, other in GUIDES.items()}
    for paper in papers.names():
        folder = results_readme_path(paper).parent
        links |= {
            f"../reproductions/results/{paper}/{path.name}": f"../papers/{paper}/{path.name}"
            for path in folder.glob("*.png")
        }
        links[f"../reproductions/results/{paper}/README.md"] = f"../papers/{paper}/{index}"
    return page(
        "document",
        live=live,
        here=name,
        up="../",
        title=guide.title,
        content=markdown(guide.document.read_text(encoding="utf-8"), links),
        attention="",
        language=guide.language,
    )


def _attention(name: str, live: bool) -> bytes:
    pages = [
        {"paper": "", "title": title, "address": file}
        for file, title in _pages_of(name, "./" if live else "index.html")
        if file != "attention.html"
    ]
    return page(
        "explore",
        live=live,
        here="papers",
        up="../../",
        data=_data(_examples(name), pages),
        title=f"Attention: {papers.load(name).title}",
        heading=papers.load(name).title,
        lead="What trained networks of this paper attend to, as it was published with their results.",
        typing=False,
    )


def _pages_of(name: str, index: str) -> list[tuple[str, str]]:
    """The address and title of each page of a paper."""
    pages = [(index, "Results and figures"), ("attention.html", "Attention of the published examples")]
    variants = {file: file.removeprefix("reviews_").removesuffix(".html") for file in _reading_pages(name)}
    return pages + [(file, f"Reading page of {variant}, published texts") for file, variant in variants.items()]


@cache
def _reading_pages(name: str) -> dict[str, bytes]:
    """The pages on which the published texts of each variant can be searched, by file name."""
    reproduction = papers.load(name)
    preset, pages = reproduction.preset("cpu"), {}
    with TemporaryDirectory() as folder:
        for outcome in _shown(name):
            path = Path(folder) / f"reviews_{outcome.variant}.html"
            if preset.task(outcome.variant).published_page(outcome, reproduction.title, path):
                pages[path.name] = path.read_bytes()
    return pages


def _shown(name: str) -> list[Outcome]:
    """The first outcome of each variant that publishes examples."""
    preset, shown = papers.load(name).preset("cpu"), {}
    for outcome in published_outcomes(papers.outcomes_folder(name), preset.names):
        if outcome.variant not in shown and preset.task(outcome.variant).published_attention(outcome):
            shown[outcome.variant] = outcome
    return list(shown.values())


@cache
def _examples(name: str) -> list[dict[str, Any]]:
    """The published examples of a paper, from the first seed of each variant."""
    preset, shown = papers.load(name).preset("cpu"), []
    for outcome in _shown(name):
        task, variant = preset.task(outcome.variant), preset.variant(outcome.variant)
        id = f"{name}/{outcome.variant}"
        network = Network.of(id, "published", name, outcome.seed, variant, task, outcome.record)
        views = task.published_attention(outcome)
        shown.append(network.as_json() | {"examples": [view.as_json() for view in views]})
    return shown


def _data(networks: list[dict[str, Any]], pages: list[dict[str, str]]) -> Mapping[str, Any]:
    limits = {"longest": LONGEST_TEXT, "widest": WIDEST_BEAM}
    return {"networks": networks, "pages": pages, "suggestions": SUGGESTIONS, **limits}
