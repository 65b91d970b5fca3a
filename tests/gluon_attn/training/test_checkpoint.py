"""Checkpoints: restored bit for bit, without a pickle, or refused in one line."""

from __future__ import annotations

import errno
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd
from mxnet.gluon import nn

from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.errors import UsageError
from gluon_attn.files import write_arrays
from gluon_attn.models.self_attention_classifier import Masked
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.training import checkpoint
from tests.gluon_attn.support import lengths_of, padded

INPUTS = padded([[3, 4, 5], [6]], 4, lambda count: np.zeros(count, np.int32)), lengths_of([[3, 4, 5], [6]])


def masked() -> Masked:
    """A network some of whose shapes are known only after its first call."""
    model = Masked(
        vocabulary_size=9,
        embedding_units=4,
        units=3,
        classes=2,
        dropout=0.3,
        pooling="attention",
        attention=AdditiveAttention(5, 0.2),
    )
    model.initialize(mx.init.Xavier())
    return model


def stacked(units: int = 3) -> StackedClassifier:
    model = StackedClassifier(
        vocabulary_size=9,
        embedding_units=4,
        cell="lstm",
        units=units,
        layers=2,
        attention_units=5,
        classes=2,
        embedding_dropout=0.3,
        dropout=0.3,
    )
    model.initialize(mx.init.Xavier())
    return model


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A checkpoint of one large array and one small one."""
    arrays = {"weight": np.arange(5_000, dtype=np.float32), "bias": np.array([1.5], np.float32)}
    checkpoint.save(tmp_path / "checkpoint.npz", {"parameters": arrays}, {"epoch": 3})
    return tmp_path / "checkpoint.npz"


# --- parameters ---


def test_names_are_structural_and_have_no_counter() -> None:
    """The second network of a process has the names of the first."""
    first, second = (sorted(dict(checkpoint.named_parameters(stacked()))) for _ in range(2))
    assert first == second
    assert "embedding.weight" in first and "output.bias" in first
    assert not [name for name in first if "stackedclassifier" in name]


@pytest.mark.parametrize("make", [masked, stacked])
@pytest.mark.parametrize("called_before", [False, True])
def test_a_network_with_loaded_parameters_is_the_same_function(make: Any, called_before: bool) -> None:
    """Also one that was never called: a run is resumed and a trained network loaded in this way."""
    source, target = make(), make()
    expected = source(*INPUTS)[0].asnumpy()
    arrays = checkpoint.parameter_arrays(source)
    if called_before:
        assert np.abs(target(*INPUTS)[0].asnumpy() - expected).max() > 1e-6
    checkpoint.set_parameters(target, arrays)
    assert checkpoint.parameters_sha256(checkpoint.parameter_arrays(target)) == checkpoint.parameters_sha256(arrays)
    np.testing.assert_array_equal(target(*INPUTS)[0].asnumpy(), expected)


def test_arrays_are_copies() -> None:
    model = stacked()
    arrays = checkpoint.parameter_arrays(model)
    before = arrays["output.weight"].copy()
    dict(checkpoint.named_parameters(model))["output.weight"].set_data(nd.zeros((2, 12)))
    np.testing.assert_array_equal(arrays["output.weight"], before)


def test_parameters_of_another_network_are_refused() -> None:
    arrays = checkpoint.parameter_arrays(stacked())
    with pytest.raises(
        UsageError, match=r"^these parameters belong to another model \(names .*: .*attention.*\); load"
    ):
        checkpoint.set_parameters(masked(), arrays)
    with pytest.raises(UsageError, match=r"^run/checkpoint\.npz: these parameters"):
        checkpoint.set_parameters(masked(), arrays, source=Path("run/checkpoint.npz"))
    with pytest.raises(UsageError, match=r"bias has shape \(12,\), the model needs \(16,\)"):
        checkpoint.set_parameters(stacked(units=4), arrays)
    called = masked()
    called(*INPUTS)
    wrong = {"attention._query_mid_layer.weight": np.zeros((9, 6), np.float32)}
    with pytest.raises(UsageError, match=r"has shape \(9, 6\), the model needs \(5, 0\)"):  # 0: not known yet.
        checkpoint.set_parameters(masked(), checkpoint.parameter_arrays(called) | wrong)


def test_count_is_the_number_of_scalars() -> None:
    layer = nn.Dense(7, in_units=5)
    assert checkpoint.parameter_count(layer) == 7 * 5 + 7


# --- digest ---


def test_the_digest_is_pinned() -> None:
    """SHA-256 over "name dtype shape\\n" and the bytes, names in order: results are committed with it."""
    arrays: dict[str, np.ndarray] = {"b": np.array([1.0, 2.0], np.float32), "a": np.array([[3]], np.int64)}
    expected = hashlib.sha256()
    expected.update(b"a <i8 (1, 1)\n" + (3).to_bytes(8, "little"))
    expected.update(b"b <f4 (2,)\n" + bytes.fromhex("0000803f00000040"))
    assert checkpoint.parameters_sha256(arrays) == expected.hexdigest()
    assert checkpoint.parameters_sha256(dict(reversed(arrays.items()))) == expected.hexdigest()


def test_the_digest_depends_on_name_type_shape_and_every_bit() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    bit = values.copy()
    bit[1, 2] = np.nextafter(bit[1, 2], np.float32(99))
    digests = [
        checkpoint.parameters_sha256(arrays)
        for arrays in (
            {"a": values},
            {"b": values},
            {"a": values.astype(np.float64)},
            {"a": values.reshape(3, 2)},
            {"a": bit},
            {"a": values, "b": values[:0]},
        )
    ]
    assert len(set(digests)) == len(digests)
    assert checkpoint.parameters_sha256({"a": np.asfortranarray(values)}) == digests[0]


# --- files ---


def test_a_saved_checkpoint_is_restored_bit_for_bit(tmp_path: Path) -> None:
    groups: dict[str, dict[str, np.ndarray]] = {
        "parameters": {
            "a.weight": np.array([[1, np.nan], [-0.0, 1e-45]], np.float32),
            "b": np.zeros((0, 3), np.float64),
        },
        "optimizer": {"0.0": np.arange(3, dtype=np.int32)},
        "best": {},
    }
    state = {"history": [{"epoch": 1, "accuracy": 0.1 + 0.2}], "label": "한국어"}
    checkpoint.save(tmp_path / "deep" / "checkpoint.npz", groups, state)
    loaded = checkpoint.Checkpoint(tmp_path / "deep" / "checkpoint.npz")
    assert loaded.state == state
    for name, members in groups.items():
        assert checkpoint.parameters_sha256(loaded.group(name)) == checkpoint.parameters_sha256(members)
    assert os.listdir(tmp_path / "deep") == ["checkpoint.npz"]


def test_no_array_is_a_pickle(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as arrays:
        assert sorted(arrays.files) == ["parameters/bias", "parameters/weight", "state"]
        assert not any(arrays[name].dtype.hasobject for name in arrays.files)
    with zipfile.ZipFile(saved) as archive:
        assert all(archive.read(name).startswith(b"\x93NUMPY") for name in archive.namelist())


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    arrays = {"weight": np.arange(9.0)}
    for name in ("one.npz", "two.npz"):
        write_arrays(tmp_path / name, arrays)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_a_failed_write_leaves_the_previous_checkpoint(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UsageError, match=r"checkpoint\.npz: cannot be written \(No space left on device\); free"):
        checkpoint.save(saved, {"parameters": {"weight": np.zeros(3)}}, {"epoch": 4})
    monkeypatch.undo()
    assert saved.read_bytes() == before
    checkpoint.save(saved, {"parameters": {"weight": np.zeros(3)}}, {"epoch": 4})
    assert checkpoint.Checkpoint(saved).state == {"epoch": 4}
    assert os.listdir(saved.parent) == [saved.name]


def refused(path: Path) -> str:
    """The one line for a file that cannot be read, however much is read before the damage shows."""
    with pytest.raises(UsageError) as raised:
        damaged = checkpoint.Checkpoint(path)
        damaged.group("parameters")
    assert "\n" not in str(raised.value) and str(path) in str(raised.value)
    return str(raised.value)


def test_a_missing_checkpoint_has_a_remedy(tmp_path: Path) -> None:
    assert "train first" in refused(tmp_path / "checkpoint.npz")


@pytest.mark.parametrize("size", [0, 1, 100, 10_000, -1, -200])
def test_a_truncated_checkpoint_is_refused(saved: Path, size: int) -> None:
    saved.write_bytes(saved.read_bytes()[:size])
    assert "damaged (" in refused(saved)


@pytest.mark.parametrize(
    "content", [b"not a checkpoint", b"\x80\x04N.", b"\x93NUMPY\x01\x00", b"PK\x03\x04 and no more"]
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "checkpoint.npz").write_bytes(content)
    assert "damaged (" in refused(tmp_path / "checkpoint.npz")


def test_arrays_without_a_state_are_refused(tmp_path: Path) -> None:
    write_arrays(tmp_path / "checkpoint.npz", {"parameters/weight": np.zeros(3)})
    assert "damaged (" in refused(tmp_path / "checkpoint.npz")


@pytest.mark.parametrize("name", ["parameters/weight", "parameters/bias", "state"])
def test_a_flipped_bit_is_refused(saved: Path, name: str) -> None:
    """The archive verifies every array as it is read."""
    with zipfile.ZipFile(saved) as archive:
        start = archive.getinfo(f"{name}.npy").header_offset
    content = bytearray(saved.read_bytes())
    data = content.index(b"\n", content.index(b"\x93NUMPY", start)) + 1
    content[data] ^= 1
    saved.write_bytes(content)
    assert "damaged (" in refused(saved)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[Path]]:
            return Path.touch, (tmp_path / "sprung",)

    np.savez(tmp_path / "checkpoint.npz", state=np.array([Trap()], dtype=object))
    assert "damaged (" in refused(tmp_path / "checkpoint.npz")
    assert not (tmp_path / "sprung").exists()


def test_any_flipped_byte_is_harmless_or_refused_in_one_line(tmp_path: Path) -> None:
    """Also in the archive's directory and headers: a group is never read with another value or without an array."""
    saved = tmp_path / "checkpoint.npz"
    checkpoint.save(saved, {"parameters": {"a": np.arange(3.0), "b": np.zeros(0)}}, {"epoch": 1})
    arrays = checkpoint.Checkpoint(saved).group("parameters")
    content = saved.read_bytes()
    refusals = 0
    for position in range(0, len(content), 2):
        saved.write_bytes(content[:position] + bytes([content[position] ^ 0x15]) + content[position + 1 :])
        try:
            damaged = checkpoint.Checkpoint(saved)
            group = damaged.group("parameters")
        except UsageError as error:
            assert "\n" not in str(error) and str(saved) in str(error)
            refusals += 1
        else:
            assert checkpoint.parameters_sha256(group) == checkpoint.parameters_sha256(arrays)
    assert refusals > len(content) / 4


@pytest.mark.parametrize("group", ["parameters", "best"])
def test_missing_arrays_and_groups_are_refused(saved: Path, group: str) -> None:
    checkpoint.save(saved, {"parameters": {"a": np.zeros(2), "b": np.ones(2)}, "best": {"a": np.ones(3)}}, {})
    with np.load(saved) as file:
        arrays = {name: file[name] for name in file.files}
    write_arrays(saved, {name: array for name, array in arrays.items() if name != f"{group}/a"})
    with pytest.raises(UsageError, match=f"damaged \\(the {group} arrays do not have the SHA-256"):
        checkpoint.Checkpoint(saved).group(group)


def test_the_digest_of_each_group_is_available_without_reading_it(tmp_path: Path) -> None:
    groups = {"best": {"weight": np.arange(4.0)}, "optimizer": {}}
    checkpoint.save(tmp_path / "checkpoint.npz", groups, {"epoch": 1})
    saved = checkpoint.Checkpoint(tmp_path / "checkpoint.npz")
    assert saved.sha256 == {name: checkpoint.parameters_sha256(members) for name, members in groups.items()}
    with pytest.raises(UsageError, match="damaged"):
        saved.group("parameters")
