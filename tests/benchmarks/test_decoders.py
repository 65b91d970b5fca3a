"""All sides of ``decoding_speed`` are the same network with the same translations; anything else is not measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mxnet import init

from benchmarks import decoding_speed
from benchmarks.ours import decoders
from gluon_attn import runtime
from gluon_attn.training.checkpoint import parameter_arrays, parameter_count
from reproductions import bahdanau2014
from reproductions.protocol import papers
from reproductions.protocol.runs import Run
from tests.gluon_attn.support import array

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

from benchmarks.peers import torch_decoders as peers  # noqa: E402

PADDING, BEGIN, END = 1, 2, 3
SETTINGS = {
    "model": "rnnsearch",
    "units": 6,
    "embedding_units": 5,
    "attention_units": 7,
    "maxout_units": 5,
    "source_vocabulary": 19,
    "target_vocabulary": 23,
    "dropout": 0.0,
}
TRANSFORMER = {
    "model": "transformer",
    "units": 8,
    "layers": 2,
    "heads": 2,
    "hidden_units": 12,
    "norm": "pre",
    "tied": True,
    "shared": True,
    "source_vocabulary": 23,
    "target_vocabulary": 23,
    "dropout": 0.0,
    "smoothing": 0.1,
}
both_ways_to_tie = pytest.mark.parametrize("tied", [False, True])


def model_of(tied: bool, seed: int = 0) -> Any:
    """Translations that end early, late or never; like a trained network it never generates padding."""
    runtime.seed_all(seed)
    model = decoders.build({**SETTINGS, "tied": tied})
    model.initialize(init.Normal(0.9))
    for embedding in (model.source_embedding, model.target_embedding):  # Whatever their own first token.
        embedding.weight.initialize(init.Normal(0.9), force_reinit=True)
    bias = np.zeros(SETTINGS["target_vocabulary"], np.float32)
    bias[[PADDING, END]] = -1e4, 5.0
    model.output.bias.set_data(array(bias))
    return model


def peer_of(model: Any, tied: bool) -> Any:
    return peers.build({**SETTINGS, "tied": tied}, parameter_arrays(model))


def sources(count: int, longest: int = 9) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.RandomState(3)
    lengths = generator.randint(1, longest + 1, count)
    ids = generator.randint(4, SETTINGS["source_vocabulary"], (count, longest))
    return np.where(np.arange(longest) < lengths[:, None], ids, PADDING), lengths


@both_ways_to_tie
def test_the_peer_is_the_same_network(tied: bool) -> None:
    model, (source, lengths) = model_of(tied), sources(7)
    peer = peer_of(model, tied)
    assert sum(parameter.numel() for parameter in peer.parameters()) == parameter_count(model)
    inputs = np.random.RandomState(5).randint(4, SETTINGS["target_vocabulary"], (7, 6))
    targets = np.roll(inputs, -1, axis=1)
    arrays = array(source, "int32"), array(lengths, "float32"), array(inputs, "int32"), array(targets, "int32")
    with torch.no_grad():
        logits = peer(*(torch.tensor(values) for values in (source, lengths, inputs)))
    theirs = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten(), reduction="none")
    assert theirs.std() > 0.5
    np.testing.assert_allclose(model(*arrays).nll.asnumpy().ravel(), theirs.numpy(), rtol=1e-4, atol=1e-5)


def transformer(*, cached: bool = True, seed: int = 0) -> Any:
    runtime.seed_all(seed)
    model = decoders.build(TRANSFORMER, cached=cached)
    model.initialize(init.Normal(0.4))
    bias = np.zeros(TRANSFORMER["target_vocabulary"], np.float32)
    bias[[PADDING, END]] = -1e4, 0.5
    model.output.bias.set_data(array(bias))
    return model


def test_the_peer_is_the_same_transformer() -> None:
    model, (source, lengths) = transformer(), sources(7)
    peer = peers.build(TRANSFORMER, parameter_arrays(model))
    assert sum(parameter.numel() for parameter in peer.parameters()) == parameter_count(model)
    inputs = np.random.RandomState(5).randint(4, TRANSFORMER["target_vocabulary"], (7, 6))
    targets = np.roll(inputs, -1, axis=1)
    with torch.no_grad():
        theirs = peer(*(torch.tensor(values) for values in (source, lengths, inputs, targets)))
    arrays = array(source, "int32"), array(lengths, "float32"), array(inputs, "int32"), array(targets, "int32")
    np.testing.assert_allclose(model(*arrays).loss.asnumpy().mean(), theirs.item(), rtol=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_transformer_translates_alike_with_and_without_cache_and_in_pytorch(beam: int) -> None:
    (source, lengths), options = sources(24), {"beam": beam, "alpha": 0.6, "begin": BEGIN, "end": END}
    limits = 2 * lengths + 4  # the caches grow: of 16 tokens, up to 22
    ids = [row[:length] for row, length in zip(source.astype(np.int32), lengths, strict=True)]
    model = transformer()
    cached = decoders.translate(model, ids, limits, sentences=16, search=options)
    counts = np.array([len(one) for one in cached])
    assert counts.max() > 16 and (counts < limits).any()
    assert decoders.translate(transformer(cached=False), ids, limits, sentences=16, search=options) == cached
    peer = peers.build(TRANSFORMER, parameter_arrays(model))
    inputs = (torch.from_numpy(values) for values in (source, lengths))
    assert peers.translate(peer, *inputs, sentences=16, limits=torch.from_numpy(limits), **options) == cached


@both_ways_to_tie
@pytest.mark.parametrize(("beam", "alpha"), [(1, 0.0), (3, 0.6), (5, 1.0)])
def test_all_ways_give_the_same_translations(tied: bool, beam: int, alpha: float) -> None:
    model, (source, lengths) = model_of(tied), sources(40)
    limits = 2 * lengths + 4
    options = {"beam": beam, "alpha": alpha, "begin": BEGIN, "end": END}
    ids = [row[:length] for row, length in zip(source.astype(np.int32), lengths, strict=True)]
    batched = decoders.translate(model, ids, limits, sentences=16, search=options)
    counts = np.array([len(one) for one in batched])
    assert (counts == limits).any() and (counts < limits).any() and len(set(counts)) > 3
    assert decoders.translate(model, ids, limits, sentences=1, search=options) == batched
    assert decoders.translate_with_gluonnlp(model, ids, limits, search=options) == batched
    inputs = (torch.from_numpy(values) for values in (source, lengths))
    peer = peer_of(model, tied)
    assert peers.translate(peer, *inputs, sentences=16, limits=torch.from_numpy(limits), **options) == batched


def test_finished_sentences_leave_the_batch_of_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    peer, (source, lengths) = peer_of(model_of(False), False), sources(16)
    rows: list[int] = []
    step = peer.step
    monkeypatch.setattr(peer, "step", lambda tokens, *rest: rows.append(len(tokens)) or step(tokens, *rest))
    options: dict[str, Any] = {"beam": 3, "alpha": 0.6, "begin": BEGIN, "end": END}
    inputs = (torch.from_numpy(values) for values in (source, lengths))
    peers.beam_search(peer, *inputs, limits=torch.full((16,), 20), **options)
    assert rows == sorted(rows, reverse=True) and rows[0] == 16 and len(set(rows)) > 3


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smoke preset on the embedded sample instead of the real one."""
    smoke = bahdanau2014.REPRODUCTION.preset("smoke")
    monkeypatch.setattr(papers, "load", lambda paper: SimpleNamespace(preset=lambda name: smoke))


def test_every_process_measures_the_same(tiny: None, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    spec = {"arrays": str(tmp_path / "test.npz"), "sentences": 5, "updates": 3, "checkpoint": None}
    what = json.loads(json.dumps(decoders.describe(spec)))
    assert (what["corpus"], what["sentences"], what["weights"]) == ("sample", 5, "after 3 updates")
    what["search"]["beam"] = 2
    wanted = {**what, **spec, "threads": threads}
    results = [decoders.measure({**wanted, "way": way}) for way in ("batched", "one by one", "gluonnlp")]
    results.append(peers.measure(wanted))
    assert all(one["parameters"] == what["parameters"] and one["seconds"] > 0 for one in results)
    assert len(results[0]["ids"]) == 5 and all(one["ids"] == results[0]["ids"] for one in results)


def test_a_run_directory_names_its_run(tmp_path: Path) -> None:
    run = Run("bahdanau2014", "cpu", "rnnsearch", 2, "fast", None, tmp_path)
    for one in (run, replace(run, on_sample=True)):
        one.directory.mkdir(parents=True)
        config = {"paper": "bahdanau2014", "preset": "cpu", "variant": "rnnsearch", "seed": 2, "profile": "fast"}
        (one.directory / "config.json").write_text(json.dumps({**config, "threads": 2}), encoding="utf-8")
        assert decoders.run_of(one.directory) == one


# --- refusals and output of the driver ---

WHAT = {
    "corpus": "multi30k en-de",
    "sentences": 100,
    "parameters": 7,
    "reference_tokens": 300,
    "settings": {"units": 256},
    "search": {"beam": 5},
}


def measured(monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float], **changes: Any) -> dict[str, Any]:
    """The driver's summary of processes that report this; ``changes`` are those of PyTorch."""

    def run(way: str, spec: Any, threads: int) -> dict[str, Any]:
        result = {"seconds": seconds[way], "parameters": 7, "ids": [[row, 5, 6] for row in range(100)]}
        return result | (changes if way == "PyTorch eager" else {})

    monkeypatch.setattr(decoding_speed, "run", run)
    return decoding_speed.measure(WHAT, Path("test.npz"), 2, 3)


SECONDS = {"batched": 2.0, "one by one": 8.0, "gluonnlp": 10.0, "PyTorch eager": 1.8}


def test_the_table_has_both_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [[row, 5, 6] for row in range(99)] + [[1]]
    results = measured(monkeypatch, SECONDS, ids=ids)
    assert results["PyTorch eager"]["same_translations"] == 0.99 and results["gluonnlp"]["ours_is"] == 5.0
    assert "ids" not in results["batched"]["runs"][0] and len(results["batched"]["runs"]) == 3
    first, second = decoding_speed.table(WHAT, results, 2)
    assert (first["measured"], first["target"], first["met"]) == ("4.00x", ">= 1.5x", True)
    assert (second["measured"], second["target"], second["met"]) == ("0.90x", ">= 1.0x", False)
    assert "256 units, beam 5, 2 threads: 50 sentences/s; against the same search one by one" in first["measure"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": [[row, 5, 6] for row in range(98)] + [[1], [1]]}, "PyTorch eager: 98.00% of the translations are"),
        ({"parameters": 8}, "PyTorch eager: 8 parameters, ours has 7: another network"),
    ],
)
def test_different_work_is_not_measured(changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=message):
        measured(monkeypatch, SECONDS, **changes)


@pytest.mark.parametrize("tokens", [1, 5])
def test_translations_that_never_end_or_are_empty_are_not_measured(tokens: int) -> None:
    assert decoding_speed.checked_length([[4] * 3] * 100, 300) == 300
    with pytest.raises(SystemExit, match="more --updates"):
        decoding_speed.checked_length([[4] * tokens] * 100, 300)
