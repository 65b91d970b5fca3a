"""A miniature of WMT'14, generated in its official layout."""

from __future__ import annotations

import gzip
from pathlib import Path

TEXT = {
    "training/europarl-v7.{p}": ["Resumption of the session", "", "I declare resumed the session ."] * 20,
    "commoncrawl.{p}": ["A house\r", "two houses , one dog\r", "A dog sees the house"] * 20,
    "training/news-commentary-v9.{p}": [f"The dog & the session {number}" for number in range(60)],
}
FRENCH = {"un/undoc.2000.{p}": ["the session of 2000"] * 5, "giga-fren.release2.fixed": ["houses and dogs"] * 5}


def write(root: Path) -> Path:
    """Write both corpora below a data root; their folder. The other language is English with a mark."""
    folder = root / "wmt14"
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
    return folder
