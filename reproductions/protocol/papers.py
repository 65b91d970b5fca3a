"""The papers that are reproduced here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gluon_attn.errors import UsageError
from reproductions.protocol.experiment import Preset

PAPERS = (
    "naver_self_attention",
    "sutskever2014",
    "cho2014",
    "bahdanau2014",
    "luong2015",
    "lin2017",
    "yang2016",
    "cheng2016",
    "joulin2016",
    "mikolov2013",
)


def script(paper: str) -> Any:
    """The module of a paper; every one offers the same.

    ``TITLE``, ``SOURCE``, ``REPORTED``, ``PRESETS``, ``COLUMNS``; ``prepare(preset, variant) -> data``,
    ``build(variant, data) -> model``, ``task(variant, data) -> Objective``,
    ``evaluate(model, variant, data, last) -> (metrics, arrays)``, ``conclude(outcomes, preset) -> (rows, claims)``,
    ``figures(outcomes, preset, directory) -> paths``, ``pages(outcomes, preset, directory) -> paths`` of what else
    there is to read, and ``predict(unit, stream, weights=...)`` of texts that are classified, or of words whose nearest
    are asked for, or ``translate_lines(unit, stream, interactive=..., alignments=...)``; where a variant's setting
    ``vectors`` names word vectors to begin with, also ``begin_with(model, variant, data, vectors)``.

    Raises:
        UsageError: there is no such script.
    """
    if paper not in PAPERS:
        raise UsageError(f"paper {paper!r} is unknown; choose from {', '.join(PAPERS)}")
    return import_module(f"reproductions.{paper}")


def preset(paper: str, name: str) -> Preset:
    """A preset of a paper.

    Raises:
        UsageError: the paper or the preset is unknown.
    """
    presets: Mapping[str, Preset] = script(paper).PRESETS
    if name not in presets:
        raise UsageError(f"preset {name!r} is unknown for {paper}; choose from {', '.join(presets)}")
    return presets[name]
