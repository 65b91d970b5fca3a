"""Imports go one way: which folder may import which, no cycles, and imports inside functions only where necessary."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import pytest

from tests.imports import ROOT, circles, imports, imports_of, modules

PACKAGES = ("gluon_attn", "preprocessing", "reproductions")
MODULES = modules(*PACKAGES, "benchmarks")
IMPORTS = {name: imports_of(name, file) for name, file in MODULES.items()}

# Group of modules -> the groups it may import besides itself. A group is a folder, or one of `GROUPS`.
BASE = {"gluon_attn"}
MAY_IMPORT: Mapping[str, set[str]] = {
    "gluon_attn": set(),
    "gluon_attn.attention": BASE,
    "gluon_attn.layers": BASE | {"gluon_attn.attention"},
    "gluon_attn.models": BASE | {"gluon_attn.attention", "gluon_attn.layers"},
    "gluon_attn.training": BASE | {"gluon_attn.attention", "gluon_attn.layers", "gluon_attn.models"},
    "gluon_attn.decoding": BASE | {"gluon_attn.attention", "gluon_attn.layers", "gluon_attn.models"},
    "gluon_attn.evaluation": BASE | {"gluon_attn.attention", "gluon_attn.layers", "gluon_attn.models"},
    "gluon_attn.plots": BASE,
    "preprocessing.base": set(),
    "preprocessing.corpora": {"preprocessing.base"},
    "preprocessing.pipeline": {"preprocessing.base", "preprocessing.corpora"},
    "preprocessing.text": {"preprocessing.base", "preprocessing.corpora", "preprocessing.pipeline"},
    "preprocessing.images": {"preprocessing.base", "preprocessing.corpora", "preprocessing.pipeline"},
    "preprocessing.bitext": {
        "preprocessing.base",
        "preprocessing.corpora",
        "preprocessing.pipeline",
        "preprocessing.text",
    },
    "preprocessing": {
        "preprocessing.base",
        "preprocessing.corpora",
        "preprocessing.pipeline",
        "preprocessing.text",
        "preprocessing.bitext",
        "preprocessing.images",
    },
    "reproductions.protocol": set(),
    "reproductions.html": set(),
    "reproductions.attention_viewer": {"reproductions.html"},
    "reproductions.tasks": {"reproductions.protocol", "reproductions.html", "reproductions.attention_viewer"},
    "reproductions": {"reproductions.protocol", "reproductions.tasks"},
    "reproductions.guides": set(),
    "reproductions.explorer": {"reproductions.protocol", "reproductions.html", "reproductions.guides"},
    "reproductions.cli": {
        "reproductions",
        "reproductions.protocol",
        "reproductions.tasks",
        "reproductions.explorer",
        "reproductions.guides",
    },
    "reproductions.main": {"reproductions.cli"},
    "benchmarks": {"reproductions", "reproductions.protocol", "reproductions.tasks", "reproductions.cli"},
}

# Single modules whose group is not their folder.
GROUPS = {
    "preprocessing.arrays": "preprocessing.base",
    "preprocessing.errors": "preprocessing.base",
    "preprocessing.files": "preprocessing.base",
    "preprocessing.progress": "preprocessing.base",
    "reproductions.__main__": "reproductions.main",
}

# Package -> the packages whose groups it may import.
PACKAGE_MAY_IMPORT = {
    "gluon_attn": set(),
    "preprocessing": set(),
    "reproductions": {"gluon_attn", "preprocessing"},
    "benchmarks": {"gluon_attn", "preprocessing", "reproductions"},
}

# Importer -> why it imports groups inside functions.
DELAYED = {
    "preprocessing.corpora.locate": "urllib takes a third of the time of a command that downloads nothing",
    "reproductions.cli.app": "a command loads only what it needs",
    "reproductions.cli.answers": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.network": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.images": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.explore": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.results": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.training": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.one_run": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.choosing": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.concluding": "a command sets the runtime profile before anything loads MXNet",
    "reproductions.cli.preprocess.texts": "each command loads only its own corpus and tokenizer",
    "reproductions.cli.preprocess.images": "each command loads only its own corpus and tokenizer",
    "reproductions.cli.preprocess.output": "each command loads only its own corpus and tokenizer",
    "reproductions.cli.data_checks": "a check that cannot import what it needs is reported, and the others go on",
    "reproductions.cli.doctor": "a check that cannot import what it checks is reported, and the others go on",
}

# The module that imports others by a name known only at run time.
BY_NAME = {"reproductions.protocol.papers": "a paper is named on the command line"}


def group_of(module: str) -> str:
    """The group of a module: its folder below the package, or the package for the files at its top."""
    if module in GROUPS:
        return GROUPS[module]
    package, *rest = module.split(".")
    in_folder = len(rest) > 1 or (rest and MODULES[module].name == "__init__.py")
    return f"{package}.{rest[0]}" if in_folder and package != "benchmarks" else package


def module_of(target: str) -> str:
    """The module that an imported name belongs to, itself when it is one; empty outside the repository."""
    while target and target not in MODULES:
        target = target.rpartition(".")[0]
    return target


ARROWS = [
    (importer, module_of(each.target), each)
    for importer, imported in IMPORTS.items()
    for each in imported
    if module_of(each.target) and not each.by_name
]


def where(importer: str, line: int) -> str:
    return f"{MODULES[importer].relative_to(ROOT)}:{line}"


def test_every_room_has_its_rule() -> None:
    groups = {group_of(name) for name in MODULES}
    assert sorted(groups - MAY_IMPORT.keys()) == []
    assert len(ARROWS) > 200, "the imports were not read"


def test_each_package_imports_only_those_below_it() -> None:
    wrong = []
    for importer, module, each in ARROWS:
        mine, other = importer.partition(".")[0], module.partition(".")[0]
        if mine != other and other not in PACKAGE_MAY_IMPORT[mine]:
            wrong.append(f"{where(importer, each.line)}: {mine} may not import {module}")
    assert wrong == []


def test_each_room_imports_only_those_below_it() -> None:
    wrong = []
    for importer, module, each in ARROWS:
        mine, other = group_of(importer), group_of(module)
        if mine == other or mine.partition(".")[0] != other.partition(".")[0]:
            continue
        if other not in MAY_IMPORT[mine]:
            wrong.append(f"{where(importer, each.line)}: {mine} may not import {module}")
    assert wrong == []


def test_no_paper_imports_another() -> None:
    wrong = [
        f"{where(importer, each.line)}: imports {module}"
        for importer, module, each in ARROWS
        if group_of(importer) == group_of(module) == "reproductions" and "reproductions" not in (importer, module)
    ]
    assert wrong == []


def test_only_tasks_write_the_attention_viewer() -> None:
    importers = {
        group_of(importer) for importer, module, _ in ARROWS if group_of(module) == "reproductions.attention_viewer"
    }
    assert importers - {"reproductions.attention_viewer"} == {"reproductions.tasks"}


def test_the_protocol_names_no_task_and_no_paper() -> None:
    """Neither in an import nor in the name that it gives to ``import_module``."""
    wrong = []
    for importer, imported in IMPORTS.items():
        for each in imported:
            ours = each.package in (*PACKAGES, "benchmarks")
            if each.by_name and ours and importer not in BY_NAME:
                wrong.append(f"{where(importer, each.line)}: imports {each.target} by name")
            elif each.by_name and ours and each.target != "reproductions.":
                wrong.append(f"{where(importer, each.line)}: names the paper {each.target}")
    assert wrong == []


def test_shared_code_has_no_name_of_a_paper() -> None:
    """No string is that name, or that of one of its variants, with which code could branch on it."""
    papers = {name.split(".")[1] for name in MODULES if group_of(name) == "reproductions" and name.count(".") == 1}
    assert "vaswani2017" in papers
    wrong = [
        f"{where(name, node.lineno)}: {node.value!r}"
        for name, file in MODULES.items()
        if group_of(name) != "reproductions" and not name.startswith("benchmarks")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.split("/")[0] in papers
    ]
    assert wrong == []


def test_there_are_no_import_cycles() -> None:
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for importer, module, _ in ARROWS:
        if importer != module:
            graph[importer].add(module)
    assert circles(graph) == []


def test_the_folders_of_tasks_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for importer, module, _ in ARROWS:
        if group_of(importer) == group_of(module) == "reproductions.tasks":
            mine, other = (".".join(name.split(".")[:3]) for name in (importer, module))
            if mine != other:
                graph.setdefault(mine, set()).add(other)
    assert len(graph) > 5 and circles(graph) == []


def test_imports_inside_functions_have_a_reason() -> None:
    """Benchmarks are exempt: they set the threads of each side before they load it."""
    delayed = [
        (importer, module, each)
        for importer, module, each in ARROWS
        if each.delayed and group_of(importer) != "benchmarks"
    ]
    wrong = [
        f"{where(importer, each.line)}: imports {module}"
        for importer, module, each in delayed
        if importer not in DELAYED
    ]
    assert wrong == []
    assert sorted(DELAYED.keys() - {importer for importer, _, _ in delayed}) == [], "no import inside a function"


def test_a_package_that_lists_its_modules_lists_all_of_them() -> None:
    tables = 0
    for package, file in MODULES.items():
        if file.name != "__init__.py":
            continue
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        listed = re.findall(r"^:mod:`\.(\w+)`", docstring, re.MULTILINE)
        if listed:
            tables += 1
            modules_of_package = {name.rpartition(".")[2] for name in MODULES if name.rpartition(".")[0] == package}
            assert sorted(listed) == sorted(modules_of_package), file
    assert tables == 3, "the tables were not read"


# --- the reader of imports ---


@pytest.mark.parametrize(
    ("source", "target", "delayed", "by_name"),
    [
        ("import a.b", "a.b", False, False),
        ("from a.b import c as d", "a.b.c", False, False),
        ("from . import c", "group.inner.c", False, False),
        ("from ..other import c", "group.other.c", False, False),
        ("if TYPE_CHECKING:\n    import a", "a", False, False),
        ("def f():\n    if x:\n        import a", "a", True, False),
        ("class C:\n    async def f(self):\n        from a import b", "a.b", True, False),
        ("importlib.import_module('a.b')", "a.b", False, True),
        ("f = lambda x: import_module(f'a.{x}')", "a.", True, True),
    ],
)
def test_imports_are_read(source: str, target: str, delayed: bool, by_name: bool) -> None:
    (only,) = imports(source, "group.inner.module")
    assert (only.target, only.delayed, only.by_name) == (target, delayed, by_name)


def test_circles_are_found() -> None:
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"e"}, "e": {"f"}, "f": {"d"}, "g": {"a"}}
    assert circles(arrows) == [["b", "c"], ["d", "e", "f"]]
