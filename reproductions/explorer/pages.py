"""HTML pages with one style, one script, a content security policy that lists the hashes of both, and escaped text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from reproductions.guides.guides import GUIDES
from reproductions.html.inline_page import csp_hash, json_block, templates

_HERE = Path(__file__).parent / "templates"
_TEMPLATES = templates(_HERE, trim_blocks=True)

# A browser loads this font only if no installed font has Hangul.
HANGUL = """@font-face {
  font-family: "Hangul of the explorer"; src: url("/hangul.ttf"); unicode-range: U+1100-11FF, U+3130-318F, U+AC00-D7A3;
}
"""


def page(
    template: str, *, live: bool, here: str, up: str = "", published: bool = True, data: Any = None, **values: Any
) -> bytes:
    """Render a page as UTF-8.

    Args:
        template: name of the template without suffix.
        live: whether the page is served by the explorer, rather than part of a static site.
        here: part of the site that the page belongs to: ``explore``, ``papers`` or a guide.
        published: whether the site has the pages of the published results.
        up: relative address of the root of a static site, such as ``../``.
        data: JSON values for the script of the page; None for a page without a script.
        values: further values of the template.
    """
    style = _source("site.css") + (HANGUL if live else "")
    script = _source("drawing.js") + _source("explorer.js") if data is not None else ""

    def address(path: str) -> str:
        return f"/{path.removesuffix('index.html')}" if live else up + path

    menu = [("explore", address(""), "Explore")] if live else []
    if published:
        menu += [("papers", address("papers/index.html" if live else "index.html"), "Papers")]
        menu += [(name, address(f"{name}/index.html"), guide.menu) for name, guide in GUIDES.items()]
    rendered = _TEMPLATES.get_template(f"{template}.html.j2").render(
        live=live,
        here=here,
        menu=menu,
        address=address,
        style=Markup(style),
        script=Markup(script),
        data=json_block(data),
        policy=policy(style, script, live=live),
        **values,
    )
    return rendered.encode("utf-8")


def policy(style: str, script: str, *, live: bool) -> str:
    """A content security policy that allows only this style, this script, and figures of the site; on live pages, also
    its font and requests to the explorer."""
    scripts = f"'{csp_hash(script)}'" if script else "'none'"
    # A page that is opened as a file has no origin, so 'self' would not match its folder.
    parts = ["default-src 'none'", f"script-src {scripts}", f"style-src '{csp_hash(style)}'"]
    parts += (
        ["img-src 'self' data:", "font-src 'self'", "connect-src 'self'"] if live else ["img-src 'self' file: data:"]
    )
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])


def markdown(text: str, links: dict[str, str]) -> Markup:
    """Convert Markdown to HTML. Raw HTML is escaped. Links lead to pages of the site or to other sites; all other links
    become plain text.

    Args:
        text: text of the document.
        links: address of a page of the site, by the link in the document.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        _prepare(token, links)
    rendered = parser.renderer.render(tokens, parser.options, {})
    # Let wide tables scroll. No cell can contain these tags, because raw HTML is escaped.
    rendered = rendered.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace(
        "</table>", "</table></div>"
    )
    return Markup(rendered)


def _prepare(token: Token, links: dict[str, str]) -> None:
    """Turn alignment styles, which the policy forbids, into classes, and resolve or hide links."""
    if style := token.attrs.pop("style", ""):
        token.attrSet("class", str(style).replace("text-align:", ""))
    children = token.children or []
    inside: list[Token | None] = []
    for child in children:
        _prepare(child, links)
        if child.type == "link_open":
            href = str(child.attrs["href"])
            target = links.get(href) or (href if href.startswith(("https://", "http://", "#")) else None)
            inside.append(child if target else None)
            if target:
                child.attrSet("href", target)
            else:
                child.hidden = True
        elif child.type == "link_close":
            child.hidden = inside.pop() is None
        elif child.type == "image" and (src := str(child.attrs["src"])) in links:
            child.attrSet("src", links[src])


@cache
def _source(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
