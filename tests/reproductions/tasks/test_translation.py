"""What the translating scripts share, on the embedded sentences: batches, decoding, scores, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn import runtime
from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.models.encoder_decoder import EncoderDecoder
from preprocessing.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID, UNKNOWN_ID
from reproductions import bahdanau2014
from reproductions.protocol.experiment import Variant
from reproductions.tasks import translation
from reproductions.tasks.translation import Data
from tests.reproductions.support import gluon_attn

SMOKE = bahdanau2014.PRESETS["smoke"]


@pytest.fixture(scope="module")
def variant() -> Variant:
    return SMOKE.variant("rnnsearch-ko-en")


@pytest.fixture(scope="module")
def data(variant: Variant) -> Data:
    return translation.prepare(SMOKE, variant)


@pytest.fixture(scope="module")
def model(variant: Variant, data: Data) -> EncoderDecoder:
    """Not trained: what it says is nonsense, but always the same."""
    runtime.seed_all(5)
    network: EncoderDecoder = bahdanau2014.build(variant, data)
    network.initialize()
    network.hybridize(static_alloc=True, static_shape=True)
    return network


def test_a_batch_begins_and_ends_each_target_and_counts_its_tokens() -> None:
    sources = [np.array([7, 8, 9], np.int32), np.array([], np.int32)]
    made = translation.batch(sources, [np.array([4, 5], np.int32), np.array([6], np.int32)])
    source, length, begun, ended = made.inputs
    assert length.tolist() == [3, 1]
    assert source[0].tolist()[:4] == [7, 8, 9, PADDING_ID] and source[1, 0] == UNKNOWN_ID
    assert begun[:, :3].tolist() == [[BEGIN_ID, 4, 5], [BEGIN_ID, 6, PADDING_ID]]
    assert ended[:, :3].tolist() == [[4, 5, END_ID], [6, END_ID, PADDING_ID]]
    assert made.target.tolist() == [5.0]


def test_an_epoch_reads_every_pair_once(variant: Variant, data: Data) -> None:
    task = translation.task(variant, data)
    made = list(task.batches(np.random.RandomState(1)))
    assert len(made) == task.steps
    tokens = sum(float(batch.target[0]) for batch in made)
    train = data.prepared.splits["train"].target
    assert tokens == train.lengths.sum() + len(train)


def test_the_loss_is_the_mean_over_tokens_whatever_the_padding(
    variant: Variant, data: Data, model: EncoderDecoder
) -> None:
    train = data.prepared.splits["train"]
    sources, targets = train.source.sequences()[:3], train.target.sequences()[:3]
    made = translation.batch(sources, targets)
    output = model(*(nd.array(array, dtype=array.dtype) for array in made.inputs))
    loss = translation.task(variant, data).loss(output, nd.array(made.target))
    totals = translation.likelihoods(model, train.take(np.arange(3))).sum(axis=0)
    assert loss.asscalar() == pytest.approx(float(output.loss.sum().asscalar()) / made.target[0], rel=1e-5)
    plain = float(output.nll.sum().asscalar()) / made.target[0]
    assert plain == pytest.approx(totals[0] / totals[1], rel=1e-5) and made.target[0] == totals[1]
    assert np.log(perplexity(totals)) == pytest.approx(plain, rel=1e-5)


def test_translations_come_back_in_order_whatever_the_batches(
    data: Data, model: EncoderDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = data.prepared.splits["test"].source
    together = translation.translate([model], data, source, beam=2, alpha=1.0)
    monkeypatch.setattr(translation, "TRANSLATED", 7)
    apart = translation.translate([model], data, source, beam=2, alpha=1.0)
    assert [one.tokens for one in together] == [one.tokens for one in apart]
    assert len(together) == len(source)
    for row, one in enumerate(together):
        assert one.weights is not None and one.weights.shape[1] == max(1, source.lengths[row])
        np.testing.assert_allclose(one.weights.sum(axis=1), 1.0, rtol=1e-4)


def test_an_unknown_word_is_replaced_by_the_source_word_looked_at(
    data: Data, model: EncoderDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gluon_attn.decoding.beam_search import Hypothesis

    source = data.prepared.splits["test"].source.take(np.arange(1))
    length = int(source.lengths[0])
    looked = np.full((2, length), 0.01)
    looked[0, length - 1] = 1.0

    def found(*_: Any, **__: Any) -> list[list[Hypothesis]]:
        return [[Hypothesis((UNKNOWN_ID,), 0.0, 0.0, looked)]]

    monkeypatch.setattr(translation, "beam_search", found)
    word = source.words(0)[-1]
    kept = translation.translate([model], data, source, beam=1)
    assert kept[0].tokens == ["<unk>"]
    for lexicon, expected in (({}, word), ({word: "so"}, "so")):
        known = replace(data)
        vars(known)["lexicon"] = lexicon
        (replaced,) = translation.without_unknown(kept, source, known)
        assert replaced.tokens == [expected] and replaced.text == data.prepared.detokenize([expected])


def test_an_unknown_word_is_one_word_and_always_wrong(data: Data) -> None:
    said, meant = data.prepared.evaluation_tokens(["A <unk> runs.", "<unk>", "A dog runs."]), "a dog runs ."
    assert said == ["a <unk> runs .", "<unk>", meant]
    matches = translation.PEERS.counts(said[:1], [meant])[0]
    assert matches[0] == 3 and matches[8] == 4


def test_the_lexicon_knows_what_the_training_text_says(data: Data) -> None:
    known = {token for row in range(len(data.prepared.splits["train"])) for token in _source(data).words(row)}
    assert set(data.lexicon) == known
    assert data.lexicon is data.lexicon, "it is learned once"


def _source(data: Data) -> Any:
    return data.prepared.splits["train"].source


def test_the_command_trains_translates_and_aligns(tmp_path: Path) -> None:
    flags = ["--preset", "smoke", "--variant", "rnnsearch-ko-en", "--runs", tmp_path / "runs"]
    trained = gluon_attn("run", "bahdanau2014", *flags, "--jobs", "1")
    assert trained.code == 0, trained.err
    assert "MEAN NOTHING" in trained.out and "rnnsearch-ko-en" in trained.out
    lines = "아이가 앉아 있다.\n\n기차가 떠났다.\n".encode()
    folder = tmp_path / "alignments"
    answer = gluon_attn("translate", "bahdanau2014", *flags, "--alignments", folder, stdin=lines)
    assert answer.code == 0, answer.err
    assert answer.out.count("\n") == 3 and answer.out.split("\n")[1] == ""
    facts = [json.loads(line) for line in (folder / "alignments.jsonl").read_text("utf-8").splitlines()]
    assert [fact["line"] for fact in facts] == [1, 3]
    assert all((folder / f"line-{fact['line']}.png").stat().st_size > 1_000 for fact in facts)
    assert all(len(row) == len(fact["source"]) for fact in facts for row in fact["weights"])
    long = tmp_path / "long"
    lines_too_long = b"\n".join("\uac00 ".encode() * number for number in (90, 600)) + "\n아이가 앉아 있다.\n".encode()
    answer = gluon_attn("translate", "bahdanau2014", *flags, "--alignments", long, stdin=lines_too_long)
    assert answer.code == 0 and answer.out.count("\n") == 3, answer.err
    assert "line 1: too long for a heatmap" in answer.err
    assert "line 2: 600 tokens, the first 500 are read" in answer.err
    assert len((long / "alignments.jsonl").read_text("utf-8").splitlines()) == 3
    assert [path.name for path in long.glob("*.png")] == ["line-3.png"]
    again = gluon_attn("translate", "bahdanau2014", *flags, "--alignments", folder, stdin=lines)
    assert "is there already" in again.refusal
    latin = gluon_attn("translate", "bahdanau2014", *flags, stdin=b"caf\xe9\n")
    assert "line 1: not UTF-8" in latin.err and latin.code == 2
    assert "predict" in gluon_attn("translate", "naver_self_attention", "--variant", "mean").refusal
    assert "translate" in gluon_attn("predict", "bahdanau2014", "--variant", "rnnsearch").refusal


def test_attached_morphemes_are_drawn_with_a_hyphen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: list[list[str]] = []
    monkeypatch.setattr(
        translation.heatmap, "attention_matrix", lambda rows, columns, *_, **__: drawn.extend([rows, columns])
    )
    translation.draw(["학교", "￭에서", "밥@@"], ["먹", "￭다"], np.ones((3, 3)), tmp_path / "a.png", "title")
    assert drawn == [["먹", "-다", "</s>"], ["학교", "-에서", "밥@@"]]
