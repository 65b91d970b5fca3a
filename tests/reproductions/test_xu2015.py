"""Xu et al. (2015): sizes, systems, claims, figures, and a whole run on the embedded drawings."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mxnet import autograd, init, nd
from PIL import Image

from gluon_attn import runtime
from gluon_attn.training.checkpoint import named_parameters
from preprocessing.pipeline.ragged import string_arrays
from reproductions.protocol.conclude import conclude
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome
from reproductions.tasks.captioning.data import CaptionData
from reproductions.tasks.captioning.nouns import CLASSES_OF
from reproductions.tasks.captioning.results import compare as compare_captions
from reproductions.xu2015 import REPRODUCTION, Settings
from tests.reproductions.support import claims_by_id, outcome, run_and_score
from tests.reproductions.translating import counts

SMOKE, CPU, PAPER = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
IMAGES = 40


def test_the_paper_preset_has_the_matrices_of_the_equations() -> None:
    """1 800 units, words and annotations of 512, 10 000 words, attention of 512."""
    n, m, a, words = 1800, 512, 512, 10_000
    lstm = 4 * n * (m + n + a) + 4 * n
    attention = m * n + m + m * a + m
    expected = words * m + (2 * n * a + 2 * n) + attention + (n + 1) + lstm + (m * n + m) + m * a + words * (m + 1)
    data: Any = SimpleNamespace(prepared=SimpleNamespace(vocabulary=range(words)))
    settings = PAPER.variant("soft").settings
    assert isinstance(settings, Settings)
    network = settings.build(SimpleNamespace(shared=lambda of: CaptionData.shared(data, of)))  # type: ignore[arg-type]
    network.initialize(init.Zero())
    assert sum(int(np.prod(parameter.shape)) for _, parameter in named_parameters(network)) == expected


def test_the_systems_differ_in_their_attention_alone() -> None:
    soft = CPU.variant("soft")
    changed = {
        name: {key for key, value in asdict(CPU.variant(name).settings).items() if asdict(soft.settings)[key] != value}
        for name in CPU.names
    }
    assert changed == {
        "soft": set(),
        "hard": {"attention", "penalty"},
        "soft-free": {"penalty"},
        "soft-16": {"grid", "annotation_units"},
        "random": {"attention", "penalty"},
        "none": {"attention", "penalty"},
    }
    assert len({CPU.variant(name).recipe for name in CPU.names}) == 1


@pytest.mark.parametrize("variant", SMOKE.names)
def test_every_variant_learns_in_one_step(variant: str) -> None:
    chosen, task = SMOKE.variant(variant), SMOKE.task(variant)
    data = task.prepare(chosen.settings, sample=True)
    objective = task.objective(chosen.settings, chosen.recipe, data)
    batch = next(iter(objective.batches(np.random.RandomState(0))))
    runtime.seed_all(0)
    network = chosen.settings.build(data)
    network.initialize(init.Xavier())
    inputs, target = [nd.array(array, dtype=array.dtype) for array in batch.inputs], nd.array(batch.target)
    losses = []
    for _ in range(2):
        runtime.seed_all(1)  # the same dropout, and hard and random attention draw the same positions
        with autograd.record():
            loss = objective.loss(network(*inputs), target)
        loss.backward()
        for name, parameter in network.collect_params().items():
            if parameter.grad_req != "null":
                gradient = parameter.grad().tostype("default")
                assert np.abs(gradient.asnumpy()).max() > 0, f"{variant}: {name} has no gradient"
                parameter.set_data(parameter.data() - 0.05 * gradient)
        losses.append(float(loss.asscalar()))
    # What REINFORCE minimises is not the loss, and need not fall.
    assert losses[1] < losses[0] or chosen.settings.attention == "hard"


def captioned(folder: Path, variant: str, quality: float, seed: int = 1, **more: Any) -> Outcome:
    """A made-up outcome of captions of which a share of the words is correct, and whose nouns attend well or badly."""
    nouns = np.tile([0.3 + quality / 2, 0.3, 0.4, 1.0], (IMAGES, 1))
    arrays = {
        "bleu": counts(quality, IMAGES),
        "sacrebleu": counts(quality - 0.1, IMAGES),
        "likelihood": np.tile([20.0 / quality, 10.0], (IMAGES, 1)),
        "nouns": nouns,
    }
    history = [{"validation_bleu-4": 1.0}, {"validation_bleu-4": 3.0}]
    return outcome(
        folder, variant, seed, {**arrays, **more.pop("arrays", {})}, corpus="sample", history=history, **more
    )


def test_better_captions_support_the_claims_and_equal_ones_do_not(tmp_path: Path) -> None:
    quality = {"soft": 0.8, "hard": 0.9, "soft-free": 0.7, "soft-16": 0.7, "random": 0.6, "none": 0.6}
    made = [captioned(tmp_path, name, share, seed) for name, share in quality.items() for seed in (1, 2, 3)]
    rows, claims = conclude(REPRODUCTION, SMOKE, made)
    judged = claims_by_id(claims)
    assert {claim.id for claim in REPRODUCTION.claims} == judged.keys()
    assert {claim.verdict for claim in judged.values()} == {"supported"}
    assert judged["points-random"].effect == pytest.approx(10.0)
    bleus = {row.metric: row.signature for row in rows if row.split == "test" and "bleu" in row.metric}
    assert all(("smooth:none" in signature) == (metric != "sacrebleu") for metric, signature in bleus.items())
    reported = {(row.variant, row.metric): row.reported["value"] for row in rows if row.reported}
    assert reported == {("soft", "bleu-4"): 19.5, ("hard", "bleu-4"): 21.3}
    equal = [captioned(tmp_path / "equal", name, 0.6, seed) for name in quality for seed in (1, 2, 3)]
    verdicts = {claim.id: claim.verdict for claim in conclude(REPRODUCTION, SMOKE, equal)[1]}
    assert "supported" not in {
        verdicts[name] for name in ("attention", "learned", "penalty", "hard-2", "hard-3", "hard-4")
    }


def test_the_note_counts_the_words_that_are_classes() -> None:
    assert f"{len(CLASSES_OF)} words are mapped to classes of ImageNet" in REPRODUCTION.notes[3]


def test_captions_are_drawn_word_by_word_and_listed(tmp_path: Path) -> None:
    stream = io.BytesIO()
    Image.new("RGB", (32, 32), "white").save(stream, "jpeg")
    example = {
        "kind": "good",
        "row": 0,
        "image": "a.jpg",
        "jpeg": base64.b64encode(stream.getvalue()).decode(),
        "words": ["a", "dog"],
        "references": ["a dog runs"],
        "weights": np.full((3, 49), 1 / 49).tolist(),
    }
    texts: dict[str, Any] = {}
    texts |= string_arrays("name", ["a.jpg"] * IMAGES)
    arrays: dict[str, Any] = {}
    arrays |= string_arrays("text", ["a dog"] * IMAGES)
    texts["jpeg"] = np.frombuffer(stream.getvalue() * IMAGES, np.uint8)
    texts["jpeg_offsets"] = np.arange(IMAGES + 1) * len(stream.getvalue())
    texts["steps"] = np.full(IMAGES, 3)
    texts["weights"] = np.tile(np.linspace(0, 2 / 49, 49, dtype=np.float16), (3 * IMAGES, 1))
    texts |= string_arrays("reference", ["one\n</script><b>two"] * IMAGES)
    made = captioned(tmp_path, "soft", 0.8, arrays=arrays, examples={"captions": [example]}, texts=texts)
    variant = SMOKE.variant("soft")
    drawn = REPRODUCTION.task.figures(made, variant, tmp_path)
    assert list(drawn) == ["good caption 1 of soft"] and all(path.exists() for path in drawn.values())
    table, page = REPRODUCTION.task.pages(made, variant, tmp_path).values()
    assert table.read_text(encoding="utf-8").splitlines()[1] == "a.jpg\ta dog\tone | </script><b>two"
    html = page.read_text(encoding="utf-8")
    assert html.count("</script>") == 2 and "<b>two" not in html, "text of the corpus is escaped"
    block = json.loads(html.partition('type="application/json">')[2].partition("</script>")[0])
    images = block["images"]
    assert block["side"] == 7 and "'unsafe-inline'" not in html and html.count("'sha256-") == 2
    assert len(images) == IMAGES and images[0]["words"] == ["a", "dog"] and images[0]["peaks"] == [2.0, 2.0]
    assert base64.b64decode(images[0]["shades"][0])[-1] == 255
    assert base64.b64decode(images[-1]["jpeg"]) == stream.getvalue()


@pytest.mark.slow
def test_the_smoke_preset_runs_completely(tmp_path: Path) -> None:
    done = run_and_score("xu2015", "--preset", "smoke", "--runs", tmp_path)
    assert done.code == 0, done.err
    result = Result.read(next(tmp_path.rglob("results.json")))
    assert {row.variant for row in result.rows} == set(SMOKE.names)
    # The drawings of the sample show nothing that is a class of ImageNet.
    unmeasured = {"points-random", "raises"}
    assert {claim.id for claim in result.claims} == {claim.id for claim in REPRODUCTION.claims} - unmeasured


def test_the_system_with_the_lower_perplexity_is_the_better_one(tmp_path: Path) -> None:
    words = np.full(20, 10.0)
    low, high = (
        [outcome(tmp_path, str(nats), arrays={"likelihood": np.stack([nats * words, words], axis=1)})]
        for nats in (2.0, 3.0)
    )
    assert compare_captions("perplexity", low, high).estimate.mean == pytest.approx(np.exp(3) - np.exp(2))
