"""The peers of the image benchmarks are the same networks as ours: the same loss, the same features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mxnet import init, nd

from benchmarks.ours import captions, features
from gluon_attn.models.efficientnet import LAST, weights_path
from gluon_attn.models.show_attend_tell import ShowAttendTell
from gluon_attn.torch_checkpoint import read_tensors
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from preprocessing.flickr8k import READER
from reproductions.tasks.captioning.image_features import extract

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")

from benchmarks.peers import torch_captions, torch_features  # noqa: E402

SIZES: dict[str, Any] = {"units": 6, "channels": 5, "smoothing": 0.1, "penalty": 0.7, "padding": 1}
NAMES = {
    "output.weight": "embedding.weight",
    "output.bias": "bias",
    "score.query": "query",
    "score.key": "key",
    "score.value": "value",
    "lstm.i2h": "of_word",
    "lstm.h2h": "of_previous",
}


def test_the_captioner_has_the_same_loss() -> None:
    ours = ShowAttendTell(
        attention="soft",
        annotation_units=6,
        positions=4,
        attention_units=3,
        embedding_units=3,
        target_vocabulary=12,
        tied=True,
        **SIZES,
    )
    ours.initialize(init.Uniform(0.5))
    settings = {**SIZES, "narrow": 3, "vocabulary": 12, "dropout": 0.0, "feature_dropout": 0.0}
    peer = torch_captions.ShowAttendTell(settings)
    state = {}
    for name, parameter in named_parameters(ours):
        for mine, theirs in NAMES.items():
            name = theirs + name.removeprefix(mine) if name.startswith(mine) else name
        state[name] = torch.from_numpy(parameter.data().asnumpy())
    peer.load_state_dict(state)
    assert sum(parameter.numel() for parameter in peer.parameters()) == parameter_count(ours)
    images = np.random.RandomState(0).rand(2, 4, 5).astype(np.float32)
    words, targets = np.array([[2, 4, 5], [2, 7, 1]]), np.array([[4, 5, 3], [7, 3, 1]])
    loss = (
        ours(nd.array(images), nd.ones(2), *(nd.array(ids, dtype="int32") for ids in (words, targets))).loss.sum() / 5
    )
    with torch.no_grad():
        other = peer.eval()(*(torch.from_numpy(array) for array in (images, words, targets)))
    assert loss.asscalar() == pytest.approx(other.item(), rel=1e-5)


def test_the_features_are_the_same() -> None:
    (file,) = features.drawn(1)
    ours = extract(READER.pixels("drawn", file)[None], READER.inputs, LAST).astype(np.float32)
    network = torch_features.Network(
        {name: torch.from_numpy(array.copy()) for name, array in read_tensors(weights_path()).items()}
    )
    with torch.inference_mode():
        theirs = network(torch_features.tensor(file)[None]).flatten(2).transpose(1, 2).numpy()
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_a_batch_has_the_words_that_are_counted() -> None:
    batches = captions.drawn(2)
    assert [set(batch) for batch in batches] == [{"features", "inputs", "targets"}] * 2
    assert (batches[0]["inputs"][:, 1:] == batches[0]["targets"][:, :-1]).sum() > 0
