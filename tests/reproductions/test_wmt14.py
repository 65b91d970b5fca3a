"""The path of the `paper` presets that read WMT'14, from its files to a score: on a generated miniature, in bounded
memory, with networks of the smoke presets' size."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from preprocessing import translation
from reproductions.protocol import papers
from reproductions.protocol.results import Result
from reproductions.protocol.runner import corpus_or_sample
from tests.preprocessing import wmt14_miniature
from tests.reproductions.support import run_and_score

SCRIPT = """
from dataclasses import replace
from reproductions import {name} as paper
from reproductions.protocol.reproduction import Override

def small(variant):
    scaled = paper.paper(variant)
    return None if scaled is None or scaled.name != "{variant}" else paper.smoke(scaled)

REPRODUCTION = replace(paper.REPRODUCTION, claims=(), paper=Override(small))
"""


def test_only_the_corpora_of_the_chosen_variants_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (wmt14_miniature.write(tmp_path) / "un" / "undoc.2000.fr-en.fr").unlink()
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    preset = papers.load("vaswani2017").preset("paper")
    assert not corpus_or_sample(preset, ["transformer"]).on_sample and capsys.readouterr().err == ""
    assert corpus_or_sample(preset, ["transformer", "transformer-fr"]).on_sample and corpus_or_sample(preset).on_sample
    assert "undoc.2000.fr-en.fr" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "variant"),
    [
        ("bahdanau2014", "rnnsearch"),
        ("sutskever2014", "reversed"),
        ("cho2014", "encdec"),
        ("luong2015", "general"),
        ("vaswani2017", "transformer"),
    ],
)
def test_from_files_to_a_score(paper: str, variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wmt14_miniature.write(tmp_path)
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    script = Path(f"small_{variant}.py")
    script.write_text(SCRIPT.format(name=paper, variant=variant), encoding="utf-8")
    preset = papers.load(script.name).preset("paper")
    (own,), task = preset.variants, preset.task(variant)
    corpus, source, target = task.reads
    assert corpus in ("wmt14 en-de", "wmt14 en-fr")
    options = {"source": source, "target": target, **own.settings.pipeline_options}
    prepared = translation.prepare(corpus, bounded=True, processes=1, **options)
    assert isinstance(prepared.splits["train"].source.ids, np.memmap)

    answer = run_and_score(script, "--preset", "paper", "--jobs", "1")
    assert answer.code == 0, answer.err
    result = Result.read(tmp_path / "runs" / script.stem / "paper-portable" / "results.json")
    scores = [row.mean for row in result.rows if (row.variant, row.metric, row.split) == (variant, "bleu", "test")]
    assert scores and all(0 <= score <= 100 for score in scores)
    assert {row.corpus for row in result.rows} == {corpus}
    cached = [path.name for path in Path(os.environ["GLUON_ATTN_CACHE"]).iterdir() if not path.name.startswith(".")]
    assert [name.rpartition(".")[2] for name in cached] == ["shards"], "the network was trained on what is on disk"
