"""Lengths of padded sequences."""

from __future__ import annotations

import numpy as np
from mxnet import nd


def checked_lengths(valid_length: nd.NDArray, longest: int) -> nd.NDArray:
    """Return the numbers of tokens (batch,) of padded sequences as floats, whole numbers converted to float32. MXNet's
    kernels do not check them: they read beyond the sequence.

    Raises:
        ValueError: if a sequence is empty or has more than ``longest`` tokens.
    """
    lengths = valid_length.asnumpy()
    wrong = ~((lengths >= 1) & (lengths <= longest))
    if wrong.any():
        first = wrong.argmax()
        raise ValueError(f"sequence {first} has {lengths[first]:g} tokens, not 1 to {longest}; count them")
    return valid_length if np.issubdtype(lengths.dtype, np.floating) else valid_length.astype("float32")
