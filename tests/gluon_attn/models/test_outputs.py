"""Outputs have names, eager and hybridized; those that a network does not compute are None."""

from __future__ import annotations

from typing import Any

import pytest
from mxnet import nd

from gluon_attn.models.outputs import Classifier
from tests.gluon_attn.support import names_of


class Echo(Classifier):
    """Returns its input times 1, 2, ... as logits, hops and penalty, or only the first of them."""

    outputs = ("hops", "penalty")

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def hybrid_forward(self, F: Any, x: Any) -> tuple[Any, ...]:
        return tuple(x * (i + 1) for i in range(self.count))


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_outputs_have_their_names_and_the_rest_is_none(count: int, hybridized: bool) -> None:
    model = Echo(count)
    model.initialize()
    model.hybridize(hybridized)
    for _ in range(2):
        output = model(nd.ones((2,)))
        assert names_of(output) == ["logits", "hops", "penalty"][:count]
        assert [getattr(output, name).asnumpy()[0] for name in names_of(output)] == [1, 2, 3][:count]


def test_an_output_without_a_name_is_an_error() -> None:
    model = Echo(4)
    model.initialize()
    with pytest.raises(ValueError, match="argument"):
        model(nd.ones((2,)))


class Lengths(Classifier):
    """Returns the numbers of tokens that it is called with."""

    def hybrid_forward(self, F: Any, ids: Any, valid_length: Any) -> tuple[Any, ...]:
        return (F.sum(F.cast(F.reshape(ids, (0, -1)), "float32"), axis=1) + valid_length,)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 5)])
@pytest.mark.parametrize("hybridized", [False, True])
def test_numbers_of_tokens_are_checked_and_may_be_integers(shape: tuple[int, ...], hybridized: bool) -> None:
    """Also of tokens with the ids of their syllables."""
    model = Lengths()
    model.initialize()
    model.hybridize(hybridized)
    ids = nd.zeros(shape, dtype="int32")
    assert model(ids, nd.array([1, 3], dtype="int32")).logits.asnumpy().tolist() == [1, 3]
    for wrong in (0, 4):
        with pytest.raises(ValueError, match=f"sequence 1 has {wrong} tokens, not 1 to 3; count them"):
            model(ids, nd.array([1, wrong]))
