"""The mean of the parameters after each of the last epochs (Vaswani et al., 2017, sec. 6.1)."""

from __future__ import annotations

import numpy as np

from gluon_attn.training.checkpoint import Checkpoint

Arrays = dict[str, np.ndarray]


class ParameterAverage:
    """The mean of the parameters of the last ``epochs`` epochs.

    If the learning rate does not decay to zero, the parameters move around a minimum, and their mean is closer to it.

    Args:
        epochs: number of epochs; 1 for the latest parameters themselves.
    """

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        self._last: list[Arrays] = []

    def add(self, arrays: Arrays) -> Arrays:
        """Add the parameters of an epoch; return the mean over the last epochs, or ``arrays`` itself."""
        if self._epochs == 1:
            return arrays
        self._last = [*self._last, arrays][-self._epochs :]
        return {
            name: np.mean([each[name] for each in self._last], axis=0, dtype=array.dtype)
            for name, array in arrays.items()
        }

    def groups(self) -> dict[str, Arrays]:
        """Return the parameters that a checkpoint has to hold, oldest first."""
        return {f"epoch-{number}": arrays for number, arrays in enumerate(self._last)}

    def restore(self, saved: Checkpoint) -> None:
        """Continue from the :meth:`groups` in a checkpoint.

        Raises:
            UsageError: if the file is damaged.
        """
        names = [f"epoch-{number}" for number in range(self._epochs)]
        self._last = [saved.group(name) for name in names if name in saved.sha256]
