"""Every name of this project that a benchmark imports exists, also where the import is inside a function."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from tests.imports import ROOT

OWN = ("gluon_attn", "preprocessing", "reproductions")


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").rglob("*.py")), ids=lambda path: path.stem)
def test_imported_names_exist(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in OWN:
            module = import_module(node.module)
            missing = [name.name for name in node.names if not hasattr(module, name.name)]
            for name in list(missing):  # a module of a package, imported as a name
                try:
                    import_module(f"{node.module}.{name}")
                    missing.remove(name)
                except ModuleNotFoundError:
                    continue
            assert missing == [], f"{path.name}, line {node.lineno}: {node.module} has no {missing[0]}"
