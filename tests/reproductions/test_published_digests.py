"""Preprocessing gives the data that published networks were trained on, bit for bit."""

from __future__ import annotations

import pytest

from reproductions.protocol import papers
from reproductions.protocol.results import Result

ONE_OF_EACH_CORPUS = (
    ("naver_self_attention", "as-written", "nsmc"),
    ("mikolov2013", "skip-gram", "nsmc"),
    ("bahdanau2014", "rnnsearch", "multi30k"),
    ("bahdanau2014", "rnnsearch-fr", "multi30k"),
    ("bahdanau2014", "rnnsearch-ko-en", "ko_en"),
    ("xu2015", "soft", "flickr8k"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "variant"),
    [pytest.param(paper, variant, marks=pytest.mark.corpus(corpus)) for paper, variant, corpus in ONE_OF_EACH_CORPUS],
)
def test_corpora_are_prepared_as_for_the_published_results(paper: str, variant: str) -> None:
    preset = papers.load(paper).preset("cpu")
    prepared = preset.task(variant).prepare(preset.variant(variant).settings)
    assert prepared.digest == Result.read(papers.results_path(paper, "cpu")).manifest["pipeline"][variant]
