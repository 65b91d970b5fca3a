"""Gradients of a batch: computed at once, in micro-batches to save memory, or by several workers."""

from __future__ import annotations

from collections.abc import Sequence

from mxnet import autograd, nd
from mxnet.gluon import HybridBlock, Parameter

from gluon_attn.errors import UsageError
from gluon_attn.training.distributed.workers import Workers
from gluon_attn.training.objective import Batch, Objective, Share


class Gradients:
    """Computes the gradients of the mean loss of a batch, in micro-batches and on several workers if requested.

    A batch is divided into as many shares as all workers have micro-batches. Each worker accumulates the gradients of
    its micro-batches, then the gradients of all workers are summed.

    Args:
        model: the model; its parameters hold the gradients after :meth:`compute`.
        parameters: the trained parameters.
        objective: batches and loss; must be able to divide a batch.
        workers: the workers that share each batch.
        micro_batches: number of parts into which a worker divides its share. Peak memory is that of one part.

    Raises:
        UsageError: if the batches of this task, or this model, cannot be divided.
    """

    def __init__(
        self,
        model: HybridBlock,
        parameters: Sequence[Parameter],
        objective: Objective,
        workers: Workers,
        *,
        micro_batches: int = 1,
    ) -> None:
        self._model, self._parameters, self._objective = model, list(parameters), objective
        self._workers, self._micro_batches = workers, micro_batches
        if workers.size * micro_batches > 1:
            _check_divisible(model, objective)
        for parameter in self._dense:
            parameter.grad_req = "add" if micro_batches > 1 else "write"

    def compute(self, batch: Batch) -> nd.NDArray:
        """Compute the gradients of a batch; return its mean loss, (1,)."""
        loss = self._backward(self._share(batch, 0)) if self._micro_batches == 1 else self._accumulate(batch)
        return self._workers.sum(self._parameters, loss)

    def _accumulate(self, batch: Batch) -> nd.NDArray:
        """Sum the losses and gradients of all micro-batches. MXNet accumulates dense gradients in place, but not sparse
        ones."""
        for parameter in self._dense:
            parameter.zero_grad()
        total, sparse = nd.zeros((1,)), [parameter for parameter in self._parameters if _is_sparse(parameter)]
        rows: list[nd.NDArray] = []
        for part in range(self._micro_batches):
            total = total + self._backward(self._share(batch, part)).reshape((1,))
            own = [parameter.grad() for parameter in sparse]
            rows = [nd.sparse.add(*pair) for pair in zip(rows, own, strict=True)] if rows else [g.copy() for g in own]
        for parameter, gradient in zip(sparse, rows, strict=True):
            gradient.copyto(parameter.grad())
        return total

    def _share(self, batch: Batch, part: int) -> Share:
        shares = self._workers.size * self._micro_batches
        if shares == 1 or self._objective.share is None:
            return Share(batch, 1.0)
        return self._objective.share(batch, self._workers.rank * self._micro_batches + part, shares)

    def _backward(self, share: Share) -> nd.NDArray:
        batch = share.batch
        target = nd.array(batch.target, dtype=batch.target.dtype)
        with autograd.record():
            output = self._model(*(nd.array(value, dtype=value.dtype) for value in batch.inputs))
            mean = self._objective.loss(output, target).mean()
            if share.weight != 1.0:
                mean = mean * share.weight
        mean.backward()
        return mean

    @property
    def _dense(self) -> list[Parameter]:
        return [parameter for parameter in self._parameters if not _is_sparse(parameter)]


def _is_sparse(parameter: Parameter) -> bool:
    return bool(parameter._grad_stype == "row_sparse")


def _check_divisible(model: HybridBlock, objective: Objective) -> None:
    parameters = model._collect_params_with_prefix()
    unknown = [name for name, parameter in parameters.items() if parameter._deferred_init]
    if unknown:
        raise UsageError(
            f"the shape of {unknown[0]} is known only from a whole batch, so batches cannot be divided; "
            "train it on one worker, without --local-workers, --workers and --micro-batches"
        )
    if objective.share is None:
        raise UsageError(
            "the batches of this task cannot be divided; train it on one worker, without --local-workers, --workers "
            "and --micro-batches"
        )
    # Those without a gradient are moved by the forward pass: running statistics, the baseline of hard attention.
    moved = [name for name, parameter in parameters.items() if parameter.grad_req == "null"]
    if moved:
        raise UsageError(
            f"this network keeps a statistic of whole batches ({moved[0]}), which cannot be divided; "
            "train it on one worker, without --local-workers, --workers and --micro-batches"
        )
