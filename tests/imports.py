"""Reads the imports of source files, for the tests of dependencies and of folders."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BY_NAME = {"import_module", "import_package", "find_spec", "__import__"}


class Import(NamedTuple):
    """One imported name.

    ``target`` is the full dotted name (``from a.b import c`` gives ``a.b.c``), ``delayed`` is true inside a function,
    and ``by_name`` when the module is named by a string, as in ``import_module("a.b")``.
    """

    target: str
    line: int
    delayed: bool
    by_name: bool = False

    @property
    def package(self) -> str:
        """The top-level package."""
        return self.target.partition(".")[0]


def imports(source: str, module: str = "", *, is_package: bool = False) -> list[Import]:
    """Every import of a source text, also inside functions and under ``TYPE_CHECKING``.

    ``module`` is its dotted name, from which relative imports start.
    """
    parents = module.split(".") if is_package else module.split(".")[:-1]
    return list(_imports(ast.parse(source), parents, delayed=False))


def _imports(node: ast.AST, parents: list[str], *, delayed: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, delayed)
    elif isinstance(node, ast.ImportFrom):
        start = parents[: len(parents) - node.level + 1] if node.level else []
        origin = ".".join([*start, *([node.module] if node.module else [])])
        for alias in node.names:
            yield Import(f"{origin}.{alias.name}", node.lineno, delayed)
    elif isinstance(node, ast.Call) and _called(node.func) in BY_NAME:
        yield from (
            Import(target, node.lineno, delayed, by_name=True) for target in map(_text, node.args[:1]) if target
        )
    inside = delayed or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, parents, delayed=inside)


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _text(argument: ast.expr) -> str:
    """The text of a string or the part of an f-string before its first value; empty for anything else."""
    if isinstance(argument, ast.JoinedStr) and argument.values:
        argument = argument.values[0]
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else ""


def modules(*packages: str) -> dict[str, Path]:
    """Dotted name -> file, of every module of the named top-level folders."""
    files = [file for package in packages for file in sorted((ROOT / package).rglob("*.py"))]
    dotted = {file: ".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files}
    return {name.removesuffix(".__init__"): file for file, name in dotted.items()}


def imports_of(module: str, file: Path) -> list[Import]:
    return imports(file.read_text(encoding="utf-8"), module, is_package=file.name == "__init__.py")


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other in a circle: strongly connected components of two or more."""

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for target in arrows.get(todo.pop(), set()) - seen:
                seen.add(target)
                todo.append(target)
        return seen

    reach = {module: reachable(module) for module in arrows}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach.get(other, set())))
        for module in arrows
        if module in reach[module]
    }
    return sorted(map(list, groups))
