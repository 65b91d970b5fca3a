"""The papers that are reproduced: the scripts next to this folder, or a script of the user."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from preprocessing.files import locked, restore_replaced
from reproductions.protocol.index import SCRIPTS, names as names
from reproductions.protocol.reproduction import Reproduction


@cache
def load(paper: str) -> Reproduction:
    """Load the paper that a script declares, by its name or by the path of another script.

    Raises:
        UsageError: if there is no such script, if it fails, or if it declares no paper.
    """
    module = import_module(f"reproductions.{paper}") if paper in names() else _from_path(paper)
    reproduction = getattr(module, "REPRODUCTION", None)
    if not isinstance(reproduction, Reproduction):
        raise UsageError(f"{paper}: declares no REPRODUCTION; see docs/adding_a_paper.md")
    return reproduction


def answering(command: str) -> list[str]:
    """The papers of this project whose headline system answers a command, such as ``caption``."""
    presets = {name: load(name).preset("cpu") for name in names()}
    return [name for name, preset in presets.items() if preset.task(preset.headline[0]).command == command]


def _from_path(paper: str) -> object:
    path = Path(paper)
    if path.suffix == ".py" and not path.is_file():
        raise UsageError(f"{paper}: no such script; give the path of one, or a name of `gluon-attn list`")
    if path.suffix != ".py":
        known = ", ".join(names())
        raise UsageError(f"paper {paper!r} is unknown; choose from {known}, or give the path of a script (.py)")
    if path.stem in names():
        raise UsageError(f"{paper}: {path.stem} is a paper of this project; give that name, or rename your script")
    name = f"{__name__}.{path.stem}"  # the bare name of the script may be that of another module
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)  # dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except (InputError, UsageError):
        raise
    except Exception as error:
        raise UsageError(
            f"{paper}{_line_of(error, path)}: {type(error).__name__}: {error}; correct the script"
        ) from error
    return module


def _line_of(error: Exception, path: Path) -> str:
    """The last line of a script before an error, for a message; empty for an error of syntax, which names its line."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return f", line {lines[-1]}" if lines else ""


def results_folder(paper: str) -> Path:
    """The folder of published results: ``results`` next to the script."""
    return (SCRIPTS if paper in names() else Path(paper).resolve().parent) / "results"


def outcomes_folder(paper: str) -> Path:
    """The folder of the published outcomes of a paper, with a folder for each variant."""
    return results_folder(paper) / Path(paper).stem / "outcomes"


def outcomes_installed(paper: str) -> bool:
    """Whether any outcomes are next to the table of a paper. They are in a clone, but not in a wheel."""
    return any(results_folder(paper).glob("*/outcomes"))


def outcome_folder(paper: str, variant: str, seed: int | str) -> Path:
    """The folder of the published outcome of one training; only the ``cpu`` preset has them."""
    return outcomes_folder(paper) / variant / f"seed-{seed}"


@contextmanager
def locked_results(paper: str) -> Iterator[None]:
    """The lock of what is published of a paper: results, outcomes and the record of test readings. Hold it
    from reading what is there until the addition is written; otherwise two commands at the same time would each replace
    the addition of the other.

    It is next to the published folder, which is replaced as a whole. A process that has to wait prints for which one.
    """
    folder, name = results_folder(paper), Path(paper).stem

    def waiting(owner: str) -> None:
        print(f"{folder}: waiting for {owner}, which is writing the results of {name}", file=sys.stderr, flush=True)

    with locked(folder / f".{name}.lock", waiting):
        restore_replaced(folder / name)
        yield


def models_folder(paper: str) -> Path:
    """The folder of the trained networks that come with a paper, with a directory for each variant."""
    return results_folder(paper).with_name("models") / Path(paper).stem


def results_path(paper: str, preset: str) -> Path:
    """The file of the published results of a preset; for the preset of the tables, ``cpu``, its name has no preset."""
    name = Path(paper).stem
    return results_folder(paper) / (f"{name}.json" if preset == "cpu" else f"{name}.{preset}.json")
