"""The check that a step does not change its input, for data of any kind."""

from __future__ import annotations

from typing import TypeVar

from preprocessing.pipeline.step import Context, Dataset, Step

DataT = TypeVar("DataT", bound=Dataset)


def apply_to_unchanged_input(step: Step[DataT], data: DataT) -> DataT:
    """The output of a step; its input must have the same arrays as before."""
    before = {name: array.copy() for name, array in data.to_arrays().items()}
    following, _ = step.apply(data, Context(processes=1))
    after = data.to_arrays()
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before), step.name
    return following
