"""Reading a PyTorch checkpoint without PyTorch: its tensors, and nothing else."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.models.efficientnet import weights_path
from gluon_attn.torch_checkpoint import read_tensors

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


def pickled(*objects: object) -> bytes:
    return b"".join(pickle.dumps(one, protocol=2) for one in objects)


class Command:
    """An object whose unpickling would make a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_the_weights_of_the_package_are_tensors() -> None:
    tensors = read_tensors(weights_path())
    assert tensors["_conv_stem.weight"].shape == (32, 3, 3, 3) and tensors["_fc.bias"].dtype == np.float32
    counted = [array for name, array in tensors.items() if "running" not in name and "tracked" not in name]
    assert sum(array.size for array in counted) == 4_652_008  # as published
    assert all(np.isfinite(array).all() for array in tensors.values())


def test_a_file_with_code_is_refused_and_the_code_does_not_run(tmp_path: Path) -> None:
    path, made = tmp_path / "weights.pth", tmp_path / "made"
    path.write_bytes(pickled(MAGIC, PROTOCOL, {}, {"weight": Command(made)}, []))
    with pytest.raises(
        UsageError, match=r"no PyTorch checkpoint of tensors \(it contains .*mkdir, which is not a tensor\)"
    ):
        read_tensors(path)
    assert not made.exists()


@pytest.mark.parametrize(
    "storage",
    [
        b"Vmodule\nctorch\nFloatStorage\nV0\nVcpu\nI1\nN",
        b"Vstorage\nV<f4\nV0\nVcpu\nI1\nN",
        b"Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI1\nVview\n",
    ],
)
def test_what_is_stored_elsewhere_than_in_a_whole_array_is_refused(storage: bytes, tmp_path: Path) -> None:
    """What has another kind, no type of a tensor, or is part of another storage, as opcodes of pickle."""
    path = tmp_path / "weights.pth"
    path.write_bytes(pickled(MAGIC, PROTOCOL, {}) + b"(" + storage + b"tQ.")
    with pytest.raises(UsageError, match=r"no PyTorch checkpoint of tensors \(a storage of an unknown kind\)"):
        read_tensors(path)


def test_other_files_are_refused_in_one_line(tmp_path: Path) -> None:
    whole = weights_path().read_bytes()
    for number, content in enumerate((b"", b"text", pickled(1, 2), whole[:-1], whole + b"x", whole[:50_000])):
        path = tmp_path / f"{number}.pth"
        path.write_bytes(content)
        with pytest.raises(UsageError, match="no PyTorch checkpoint of tensors") as caught:
            read_tensors(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="cannot be read"):
        read_tensors(tmp_path / "none.pth")
