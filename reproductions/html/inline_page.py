"""HTML pages that contain their style, script and data, with a content security policy that allows no other script."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup


def templates(folder: Path, *, trim_blocks: bool = False) -> Environment:
    """The templates of a folder. Their values are escaped, and must all be given."""
    return Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=trim_blocks
    )


def render(folder: Path, name: str, data: Markup, **values: Any) -> str:
    """Render the template ``<name>.html.j2`` of a folder with ``<name>.js``, ``<name>.css`` and their hashes."""
    script, style = ((folder / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    return (
        templates(folder)
        .get_template(f"{name}.html.j2")
        .render(
            script=Markup(script),
            script_hash=csp_hash(script),
            style=Markup(style),
            style_hash=csp_hash(style),
            data=data,
            **values,
        )
    )


def json_block(data: Any) -> Markup:
    """JSON for a script element, inside of which only ``<`` could start something that ends it or hides the rest."""
    return Markup(json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


def csp_hash(source: str) -> str:
    """The hash with which a content security policy allows one inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode("ascii")
