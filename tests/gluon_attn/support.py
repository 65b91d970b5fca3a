"""What the tests of this folder share: random arrays, gradients, finite differences, padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, nd
from mxnet.gluon import Block, nn

from gluon_attn import runtime
from gluon_attn.training.checkpoint import named_parameters
from gluon_attn.typing import Operators, Tensor


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    """Standard normal numbers, the same for the same seed and shape."""
    return np.random.RandomState(seed).standard_normal(shape).astype(dtype)


def array(values: Any, dtype: str | None = None) -> nd.NDArray:
    """An NDArray with the type of the values; ``nd.array`` alone would make all of them float32."""
    values = np.asarray(values, dtype=dtype)
    return nd.array(values, dtype=values.dtype)


def initialize(block: Block, *inputs: nd.NDArray, scale: float = 0.5, seed: int = 0) -> Block:
    """Set every parameter to normal numbers, biases too, so that none is zero; variances to positive ones."""
    block.initialize(force_reinit=True)
    block(*inputs)  # Shapes are known after the first call.
    generator = np.random.RandomState(seed)
    for name, parameter in named_parameters(block):
        values = scale * generator.standard_normal(parameter.shape)
        parameter.set_data(array(np.abs(values) if name.endswith("running_var") else values, parameter.dtype))
    return block


def parameters_of(block: Block) -> dict[str, np.ndarray]:
    """The parameters by structural name, in float64."""
    return {name: one.data().asnumpy().astype(np.float64) for name, one in named_parameters(block)}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    powers: np.ndarray = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def copy_parameters(source: Block, target: Block) -> None:
    """Copy the parameters of ``source`` to the parameters of ``target`` with the same structural name."""
    wanted = dict(named_parameters(target))
    assert wanted.keys() == dict(named_parameters(source)).keys()
    for name, parameter in named_parameters(source):
        wanted[name].set_data(parameter.data())


def numbers(output: Any) -> Any:
    """The named outputs of a model as NumPy arrays, by the same names."""
    return output._make(None if value is None else value.asnumpy() for value in output)


def names_of(output: Any) -> list[str]:
    """The names of the outputs that a model returns; the others are None."""
    return [name for name, value in output._asdict().items() if value is not None]


def assert_same_outputs(output: Any, expected: Any, *, rtol: float = 1e-4, atol: float = 1e-5, of: str = "") -> None:
    """Compare two results of :func:`numbers` output by output."""
    assert names_of(output) == names_of(expected), of
    for name in names_of(output):
        values, wanted = getattr(output, name), getattr(expected, name)
        np.testing.assert_allclose(values, wanted, rtol=rtol, atol=atol, err_msg=f"{of} {name}")


def watch_graphs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Any]]:
    """Record which compiled graph MXNet runs at each call from now on, with the shapes of its inputs."""
    calls: list[tuple[int, Any]] = []
    compiled = mx.gluon.block.ndarray.CachedOp

    class Watched(compiled):  # type: ignore[misc, valid-type]
        __slots__ = ()

        def __call__(self, *inputs: nd.NDArray, **rest: Any) -> Any:
            calls.append((id(self), tuple(one.shape for one in inputs)))
            return super().__call__(*inputs, **rest)

    monkeypatch.setattr(mx.gluon.block.ndarray, "CachedOp", Watched)
    return calls


def watch_dropout(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the rate of each dropout that is applied from now on."""
    rates: list[float] = []
    apply = nn.Dropout.hybrid_forward

    def recorded(block: nn.Dropout, F: Operators, x: Tensor) -> Tensor:
        rates.append(block._rate)
        return apply(block, F, x)

    monkeypatch.setattr(nn.Dropout, "hybrid_forward", recorded)
    return rates


def dense(gradient: nd.NDArray) -> np.ndarray:
    """A gradient as NumPy, sparse or dense."""
    return gradient.tostype("default").asnumpy()


def _returned(outputs: Sequence[Any]) -> list[nd.NDArray]:
    return [output for output in outputs if output is not None]


def gradients(
    block: Block, inputs: Sequence[nd.NDArray], weigh: Callable[..., nd.NDArray], rest: Sequence[Any] = ()
) -> dict[str, np.ndarray]:
    """Gradients of ``weigh(*block(*inputs, *rest))`` for every parameter, and for each of ``inputs`` by its index."""
    for values in inputs:
        values.attach_grad()
    with autograd.record(train_mode=False):
        total = weigh(*_returned(block(*inputs, *rest)))
    total.backward()
    by_name = {name: dense(parameter.grad()) for name, parameter in named_parameters(block)}
    return by_name | {f"input {number}": dense(values.grad) for number, values in enumerate(inputs)}


def check_numeric_gradients(
    block: Block,
    inputs: Sequence[nd.NDArray],
    weigh: Callable[..., nd.NDArray],
    rest: Sequence[Any] = (),
    *,
    step: float = 1e-5,
    checks: int = 6,
) -> None:
    """Compare gradients with central differences, in float64, at some entries of every parameter and input."""
    computed = gradients(block, inputs, weigh, rest)
    holders = {name: parameter.data() for name, parameter in named_parameters(block)}
    holders |= {f"input {number}": values for number, values in enumerate(inputs)}
    generator = np.random.RandomState(7)
    for name, holder in holders.items():
        values = holder.asnumpy()
        assert values.dtype == np.float64, name
        for entry in generator.permutation(values.size)[:checks]:
            sums = []
            for sign in (1.0, -1.0):
                moved = values.copy()
                moved.flat[entry] += sign * step
                holder[:] = array(moved)
                sums.append(float(weigh(*_returned(block(*inputs, *rest))).asscalar()))
            holder[:] = array(values)
            slope = (sums[0] - sums[1]) / (2 * step)
            np.testing.assert_allclose(computed[name].flat[entry], slope, rtol=1e-6, atol=1e-8, err_msg=name)


def every_parameter_learns(block: Block, inputs: Sequence[nd.NDArray]) -> dict[str, float]:
    """The largest gradient of each parameter in one training pass, by name; all finite."""
    runtime.seed_all(3)
    with autograd.record():
        logits = block(*inputs)[0]
        loss = (logits * array(normal(*logits.shape, seed=5))).sum()
    loss.backward()
    largest = {name: float(np.abs(dense(parameter.grad())).max()) for name, parameter in named_parameters(block)}
    assert np.isfinite(list(largest.values())).all(), largest
    return largest


def training_pass(block: Block, *inputs: nd.NDArray) -> np.ndarray:
    """The first output of a forward pass in training mode."""
    with autograd.train_mode():
        output = block(*inputs)
    return (output[0] if isinstance(output, tuple | list) else output).asnumpy()


def padded(sentences: Sequence[Sequence[int]], width: int, garbage: Callable[[int], np.ndarray]) -> nd.NDArray:
    """Sentences of ids as one batch of ``width``, with ``garbage(count)`` in the padding."""
    ids = np.empty((len(sentences), width), np.int32)
    for row, sentence in enumerate(sentences):
        ids[row] = np.concatenate([sentence, garbage(width - len(sentence))])
    return array(ids)


def check_padding(model: Any, sentences: Sequence[list[int]], extra: int, garbage: Callable[[int], Any]) -> Any:
    """Compare a batch, padded by ``extra`` with ``garbage(count)``, with each sentence alone; the outputs of the batch.

    Weights must be zero on padding, the last axis beyond the tokens.
    """
    batch = numbers(model(padded(sentences, max(map(len, sentences)) + extra, garbage), lengths_of(sentences)))
    for row, sentence in enumerate(sentences):
        alone = numbers(model(array([sentence], "int32"), lengths_of([sentence])))
        assert names_of(batch) == names_of(alone)
        for output in names_of(alone):
            expected, actual = getattr(alone, output)[0], getattr(batch, output)[row]
            inside = tuple(slice(size) for size in expected.shape)
            np.testing.assert_allclose(actual[inside], expected, rtol=1e-4, atol=1e-5, err_msg=output)
            if actual.shape != expected.shape:
                assert (actual[..., len(sentence) :] == 0).all(), output
    return batch


def lengths_of(sentences: Sequence[Sequence[int]]) -> nd.NDArray:
    """The number of tokens of each sentence, in the type that models expect."""
    return array([len(sentence) for sentence in sentences], "float32")
