"""The presets ``paper`` have the authors' sizes: numbers of parameters, counted here from the papers' equations."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gluon_attn.training.checkpoint import named_parameters
from reproductions.protocol.papers import preset, script
from reproductions.tasks.translation import Data


def parameters(paper: str, variant: str, source: int, target: int, **changed: Any) -> int:
    """Parameters of the network of a variant of the preset ``paper`` with vocabularies of these sizes; nothing is
    allocated."""
    chosen = preset(paper, "paper").variant(variant)
    chosen = replace(chosen, settings={**chosen.settings, **changed})
    words = SimpleNamespace(source_vocabulary=range(source), target_vocabulary=range(target))
    model = script(paper).build(chosen, cast(Data, SimpleNamespace(prepared=words)))
    return sum(int(np.prod(parameter.shape)) for _, parameter in named_parameters(model))


def lstm(units: int, read: int, biases: int) -> int:
    return 4 * units * (read + units + biases)


def test_sutskever_has_384_million() -> None:
    """Section 3.4: 4 layers of 1 000 cells on either side, embeddings of 1 000, 160 000 and 80 000 words;
    64 million are recurrent."""
    found = parameters("sutskever2014", "reversed", 160_000, 80_000)
    recurrent = 2 * 4 * lstm(1000, 1000, 2)
    assert recurrent == pytest.approx(64e6, rel=0.002)
    assert found == 1000 * (160_000 + 80_000) + 80_000 * (1000 + 1) + recurrent
    assert found == pytest.approx(384e6, rel=0.001)
    assert found == parameters("sutskever2014", "forward", 160_000, 80_000)


def test_rnnsearch_has_the_matrices_of_appendix_a() -> None:
    """n = 1000, m = 620, l = 500, n' = 1000 and 30 000 words; an encoder each way."""
    n, m, hidden, readout, words = 1000, 620, 1000, 500, 30_000
    encoder = 2 * 3 * (n * (m + n) + 2 * n)  # MXNet's unit has two biases for each gate
    attention = hidden * n + hidden * 2 * n + hidden
    decoder = 3 * n * (m + n + 2 * n) + 3 * n
    initial = n * n + n
    maxout = 2 * readout * (n + m + 2 * n) + 2 * readout
    expected = 2 * words * m + encoder + attention + decoder + initial + maxout + words * (readout + 1)
    assert parameters("bahdanau2014", "search-all", words, words) == expected


@pytest.mark.parametrize(
    ("paper", "variant", "m", "words"),
    [("bahdanau2014", "encdec-all", 620, 30_000), ("cho2014", "encdec", 100, 15_000)],
)
def test_rnnencdec_has_the_matrices_of_appendix_a(paper: str, variant: str, m: int, words: int) -> None:
    """Cho et al.: 1 000 units, embeddings of 100, 500 maxout units, 15 000 words; Bahdanau et al.: 620 and 30 000."""
    n, readout = 1000, 500
    encoder = 3 * (n * (m + n) + 2 * n)
    summary = 2 * (n * n + n)
    decoder = 3 * n * (m + n + n) + 3 * n
    maxout = 2 * readout * (n + m + n) + 2 * readout
    expected = 2 * words * m + encoder + summary + decoder + maxout + words * (readout + 1)
    assert parameters(paper, variant, words, words) == expected


@pytest.mark.parametrize(
    ("variant", "attention"),
    [
        ("base", 0),
        ("dot", 0),
        ("general", 1000 * 1000),
        ("concat", 2 * 1000 * 1000 + 1000),
        ("location", 50 * 1000),
        ("local-p-general", 2 * 1000 * 1000 + 1000),
    ],
)
def test_luong_has_four_layers_of_1000_and_the_matrices_of_its_attention(variant: str, attention: int) -> None:
    n, words = 1000, 50_000
    encoder, embeddings, output = 4 * lstm(n, n, 2), 2 * words * n, words * (n + 1)
    # Without feeding the decoder's layers are MXNet's, with two biases; with it the first also reads what is fed.
    fed = variant not in ("base", "location")
    decoder = lstm(n, 2 * n, 1) + 3 * lstm(n, n, 1) if fed else 4 * lstm(n, n, 2)
    attentional = 0 if variant == "base" else 2 * n * n
    expected = encoder + embeddings + output + decoder + attentional + attention
    assert parameters("luong2015", variant, words, words) == expected
