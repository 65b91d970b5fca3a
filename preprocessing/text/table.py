"""Tables of labelled texts in the layout of NSMC: ``id``, ``document`` and ``label`` between tabs, below a header
line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from preprocessing.corpora.reading import CRLF, FETCH_AGAIN, UNIX_LINES, decoded
from preprocessing.errors import InputError

HEADER = "id\tdocument\tlabel"


@dataclass(frozen=True)
class Table:
    """The columns of a file as they are written, row by row; row i is in line i + 2."""

    row_ids: list[str]
    texts: list[str]
    labels: list[str]


def read_table(path: Path) -> Table:
    """Read a file. Raises InputError with file, line, reason and remedy for the first error: invalid UTF-8, a wrong
    header, a wrong number of columns, Windows line endings, a last line without its line feed, no rows."""
    raw = path.read_bytes()
    content = decoded(path, raw)
    header, _, body = content.partition("\n")
    if header != HEADER:
        if header == f"{HEADER}\r":
            raise InputError(path, CRLF, line=1, remedy=UNIX_LINES)
        if header.startswith("\ufeff"):
            lines = " and with Unix line endings (LF)" if header.endswith("\r") else ""
            remedy = f"save the file as UTF-8 without it{lines}"
            raise InputError(path, "begins with a byte order mark", line=1, remedy=remedy)
        reason = f"the header is {header[:60]!r}, expected id, document, label between tabs"
        raise InputError(path, reason, line=1, remedy=f"{_remedy_for(header)}, or {FETCH_AGAIN}")
    if not raw.endswith(b"\n"):
        reason = "the last line has no line feed: the file may be truncated"
        raise InputError(
            path, reason, line=content.count("\n") + 1, remedy=f"add it if the line is whole, or {FETCH_AGAIN}"
        )
    if not body:
        raise InputError(
            path, "no rows below the header", line=1, remedy=f"give a row per line below it, or {FETCH_AGAIN}"
        )
    table = Table([], [], [])
    for number, line in enumerate(body.removesuffix("\n").split("\n"), start=2):
        columns = line.split("\t")
        if len(columns) != 3:
            if not line:
                raise InputError(path, "an empty line", line=number, remedy="remove it")
            reason = f"{len(columns)} column{'s' if len(columns) > 1 else ''}, expected 3 (id, document, label)"
            remedy = "put single tabs between the columns, none into the text"
            if line.count('"') % 2:
                remedy += "; if a quoted text continues in the next line, write it in one"
            raise InputError(path, reason, line=number, remedy=remedy)
        row_id, text, label = columns
        if label.endswith("\r"):
            raise InputError(path, CRLF, line=number, remedy=UNIX_LINES)
        table.row_ids.append(row_id)
        table.texts.append(text)
        table.labels.append(label)
    return table


def _remedy_for(header: str) -> str:
    columns = header.split("\t")
    if len(columns) == 3:
        return "rename the columns, or add this line if the file begins with a row"
    if len(columns) == 1 and header.count(",") > 1:
        return "write the commas between the columns as tabs, and the texts without quotation marks"
    return "make it the first line, with tabs"
