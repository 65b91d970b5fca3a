"""Compiled graphs: one for each method and input shapes, with the block's own parameters and without false warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from mxnet import autograd, nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.layers import graphs
from gluon_attn.layers.graphs import Graphs
from tests.gluon_attn.support import array, initialize, normal, watch_graphs

HYBRIDIZED = {"static_alloc": True, "static_shape": True}


class TwoMaps(HybridBlock):
    """Two methods, each with its own layer; one of them unrolls."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs = Graphs(self)
        self.modules: list[Any] = []
        with self.name_scope():
            self.first = nn.Dense(3, in_units=3, flatten=False)
            self.second = nn.Dense(3, in_units=3, flatten=False)

    def forward(self, x: nd.NDArray) -> nd.NDArray:
        return self.second(self.first(x))

    def map(self, F: Any, x: Any) -> Any:
        self.modules.append(F)
        return self.first(x)

    def unroll(self, F: Any, x: Any, y: Any, *, steps: int) -> tuple[Any, tuple[Any, ...]]:
        self.modules.append(F)
        seen = []
        for _ in range(steps):
            x = self.second(x) + y
            seen.append(x)
        return x, tuple(seen)

    def complain(self, F: Any, x: Any) -> Any:
        warnings.warn("something else", stacklevel=1)
        return self.first(x)


@pytest.fixture
def block() -> TwoMaps:
    return initialize(TwoMaps(), array(normal(1, 3)))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Any]]:
    """The compiled graphs that MXNet ran and their input shapes; each graph plans its memory at its first call."""
    return watch_graphs(monkeypatch)


def test_a_block_that_is_not_hybridized_is_called_directly(block: TwoMaps, calls: list[Any]) -> None:
    x = array(normal(2, 3))
    last, seen = block.graphs(block.unroll, x, x, steps=2)
    assert block.modules == [nd] and not calls
    expected = block.second(block.second(x) + x) + x
    np.testing.assert_allclose(last.asnumpy(), expected.asnumpy(), rtol=1e-6)
    assert len(seen) == 2


def test_one_graph_per_method_and_shape_planned_once(block: TwoMaps, calls: list[tuple[Any, Any]]) -> None:
    """Shapes alternate: MXNet's own hybridized block would plan its memory at every call."""
    block.hybridize(**HYBRIDIZED)
    wanted = [
        lambda: block.graphs(block.map, array(normal(2, 3))),
        lambda: block.graphs(block.map, array(normal(5, 3))),
        lambda: block.graphs(block.map, array(normal(2, 4, 3))),
        lambda: block.graphs(block.unroll, array(normal(2, 3)), array(normal(2, 3)), steps=2),
        lambda: block.graphs(block.unroll, array(normal(2, 3)), array(normal(2, 3)), steps=3),
        lambda: block.graphs(block.unroll, array(normal(2, 3)), array(normal(1, 3)).broadcast_to((2, 3)), steps=3),
    ]
    for _ in range(3):
        for call in wanted:
            call()
    assert len(block.modules) == 5 and nd not in block.modules, "each method is traced once per graph"
    assert len(calls) == 18 and len({graph for graph, _ in calls}) == 5
    assert len(set(calls)) == 5, "a graph was run with two shapes"


def test_methods_of_the_same_name_have_separate_graphs(block: TwoMaps) -> None:
    def namesake(layer: HybridBlock) -> Any:
        def apply(F: Any, x: Any) -> Any:
            return layer(x)

        return apply

    first, second = namesake(block.first), namesake(block.second)
    block.hybridize(**HYBRIDIZED)
    x = array(normal(2, 3))
    for apply, layer in ((first, block.first), (second, block.second), (first, block.first)):
        np.testing.assert_allclose(block.graphs(apply, x).asnumpy(), layer(x).asnumpy(), rtol=1e-6)


def test_graphs_have_the_outputs_and_gradients_of_the_block(block: TwoMaps) -> None:
    results = []
    for hybridized in (False, True):
        block.hybridize(hybridized, **HYBRIDIZED)
        x, y = array(normal(2, 3, seed=1)), array(normal(2, 3, seed=2))
        x.attach_grad()
        with autograd.record():
            last, seen = block.graphs(block.unroll, block.graphs(block.map, x), y, steps=3)
            total = (last**2).sum() + seen[0].sum()
        total.backward()
        layers = (block.first, block.second)
        results.append([last, *seen, x.grad, *(one.copy() for layer in layers for one in (layer.weight.grad(),))])
    assert len(results[0]) == len(results[1]) == 7
    for eager, compiled in zip(*results, strict=True):
        assert np.abs(eager.asnumpy()).max() > 1e-3
        np.testing.assert_allclose(compiled.asnumpy(), eager.asnumpy(), rtol=1e-5, atol=1e-6)


def test_graphs_use_the_current_parameters_of_the_block(block: TwoMaps) -> None:
    block.hybridize(**HYBRIDIZED)
    x = array(normal(2, 3))
    before = block.graphs(block.map, x).asnumpy()
    block.first.weight.set_data(2 * block.first.weight.data())
    block.first.bias.set_data(2 * block.first.bias.data())
    np.testing.assert_allclose(block.graphs(block.map, x).asnumpy(), 2 * before, rtol=1e-6)


def test_graphs_add_no_parameter_to_the_block(block: TwoMaps) -> None:
    names = list(block.collect_params().keys()), list(block._collect_params_with_prefix())
    block.hybridize(**HYBRIDIZED)
    block.graphs(block.map, array(normal(2, 3)))
    assert (list(block.collect_params().keys()), list(block._collect_params_with_prefix())) == names
    assert [name for name, _ in block._children.items()] == ["first", "second"]


def test_there_is_no_warning_about_the_parameters_of_other_methods(block: TwoMaps) -> None:
    """A graph of one method does not use the layers of another; MXNet's warnings about a whole block still show."""
    block.hybridize(**HYBRIDIZED)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for rows in (2, 3):
            block.graphs(block.map, array(normal(rows, 3)))
            block.graphs(block.unroll, array(normal(rows, 3)), array(normal(rows, 3)), steps=1)
        assert [one for one in caught if issubclass(one.category, UserWarning)] == []
        block.graphs(block.complain, array(normal(2, 3)))
        assert [str(one.message) for one in caught if issubclass(one.category, UserWarning)] == ["something else"]


def test_mxnet_warns_without_the_filter(block: TwoMaps, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above cannot pass because MXNet stopped warning."""
    monkeypatch.setattr(graphs.warnings, "filterwarnings", lambda *_, **__: None)
    block.hybridize(**HYBRIDIZED)
    with pytest.warns(UserWarning, match="not used by any computation"):
        block.graphs(block.map, array(normal(2, 3)))


def test_hybridize_can_be_undone(block: TwoMaps, calls: list[Any]) -> None:
    block.hybridize(**HYBRIDIZED)
    block.graphs(block.map, array(normal(2, 3)))
    block.hybridize(False)
    block.graphs(block.map, array(normal(2, 3)))
    assert block.modules[-1] is nd and len(calls) == 1


def test_dropout_of_a_graph_is_active_in_training_only() -> None:
    class Dropped(HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.graphs = Graphs(self)
            with self.name_scope():
                self.dropout = nn.Dropout(0.5)

        def map(self, F: Any, x: Any) -> Any:
            return self.dropout(x)

    block, x = Dropped(), nd.ones((9, 9))
    block.hybridize(**HYBRIDIZED)
    for _ in range(2):  # Alternating: one graph serves both modes.
        np.testing.assert_array_equal(block.graphs(block.map, x).asnumpy(), x.asnumpy())
        with autograd.train_mode():
            first, second = (block.graphs(block.map, x).asnumpy() for _ in range(2))
        assert (first == 0).any() and (first != second).any()
