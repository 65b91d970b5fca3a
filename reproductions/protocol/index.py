"""Names, titles and results of the papers, read from their scripts without importing them, which would load MXNet."""

from __future__ import annotations

import ast
from pathlib import Path

SCRIPTS = Path(__file__).parents[1]


def names() -> tuple[str, ...]:
    """The names of the papers, in alphabetical order."""
    return tuple(sorted(path.stem for path in SCRIPTS.glob("*.py") if not path.stem.startswith("_")))


def title(paper: str) -> str:
    """The title that the script of a paper declares, as a string or as the name of a constant of the script; an empty
    string if it is neither."""
    strings: dict[str, str] = {}
    for statement in ast.parse((SCRIPTS / f"{paper}.py").read_text(encoding="utf-8")).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name, value = statement.targets[0].id, statement.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            strings[name] = value.value
        elif name == "REPRODUCTION" and isinstance(value, ast.Call):
            for keyword in value.keywords:
                if keyword.arg == "title" and isinstance(keyword.value, ast.Constant):
                    return str(keyword.value.value)
                if keyword.arg == "title" and isinstance(keyword.value, ast.Name):
                    return strings.get(keyword.value.id, "")
    return ""


def is_published(paper: str) -> bool:
    """Whether this installation has the published results of a paper's tables."""
    return (SCRIPTS / "results" / f"{paper}.json").exists()


def has_network(paper: str) -> bool:
    """Whether trained networks of a paper come with this installation."""
    return (SCRIPTS / "models" / paper).is_dir()
