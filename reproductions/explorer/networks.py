"""The trained networks that the explorer offers, all run by a single thread.

MXNet is not thread-safe, and oneDNN caches its primitives per thread. Therefore one thread loads and runs all networks,
and requests wait for it in a short queue.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from gluon_attn.errors import UsageError
from reproductions.protocol import models, papers
from reproductions.protocol.loading import declared, load_directory, training_in
from reproductions.protocol.runs import SAMPLE, TRAINING
from reproductions.protocol.task import Task, TrainedModel, Variant

LONGEST_TEXT = 2_000
"""Maximum length of a text in characters."""
WIDEST_BEAM = 12
"""Maximum beam width; no network has a wider one in its settings."""
LOADED = 6
"""Maximum number of networks in memory."""
WAITING = 8
"""Maximum number of waiting requests; further ones are rejected, so that none waits long."""


class Busy(Exception):
    """Too many requests are waiting already."""


@dataclass(frozen=True)
class Network:
    """One trained network, as the page offers it.

    Attributes:
        id: name in links: paper and variant of a network that comes with the project, otherwise its directory below the
            runs, or ``model`` for a given one.
        group: ``included``, ``runs`` or ``given``; ``published`` for the examples of a published network.
        paper, variant, seed: what was trained; of an ensemble, its seeds.
        source: title of the paper.
        title: title of the variant.
        task, language, target: its task, the language of the texts that it reads, empty if that is not known, and the
            language into which it translates.
        corpus: corpus that it was trained on; ``sample`` if its answers mean nothing.
        parameters_sha256: SHA-256 of its parameters.
        beam: beam width of its settings; 0 if it does not translate.
    """

    id: str
    group: str
    paper: str
    variant: str
    seed: int | str
    source: str
    title: str
    task: str
    language: str
    target: str
    corpus: str
    parameters_sha256: str
    beam: int

    @classmethod
    def of(
        cls,
        id: str,
        group: str,
        paper: str,
        seed: int | str,
        variant: Variant[Any],
        task: Task[Any, Any],
        record: Mapping[str, Any],
    ) -> Network:
        """Describe the network of a variant; ``record`` is that of its training. A user's script is named by its
        path."""
        return cls(
            id=id,
            group=group,
            paper=Path(paper).stem,
            variant=variant.name,
            seed=seed,
            source=papers.load(paper).title,
            title=variant.title,
            task=task.name,
            language=task.input_language,
            target=task.output_language,
            corpus=record["corpus"],
            parameters_sha256=record["parameters_sha256"],
            beam=getattr(variant.settings, "beam", 0),
        )

    def as_json(self) -> dict[str, Any]:
        """The values for the page."""
        return asdict(self) | {"sample": self.corpus == SAMPLE}


class Networks:
    """Trained networks by id, loaded when they are first used.

    Attributes:
        offered: networks that the page offers, in order.
    """

    def __init__(self, described: Sequence[tuple[Network, str, Path]]) -> None:
        self.offered = [network for network, _, _ in described]
        self._directories = {network.id: (paper, directory) for network, paper, directory in described}
        self._sha256 = {network.id: network.parameters_sha256 for network in self.offered}
        self._loaded: OrderedDict[str, TrainedModel[Any, Any]] = OrderedDict()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="networks")
        self._queue = BoundedSemaphore(WAITING)

    def attention(self, id: str, text: str, beam: int | None = None) -> dict[str, Any]:
        """The attention of a network over a text, as JSON values.

        Raises:
            UsageError: if there is no such network, if it is damaged or was trained again, or if the text cannot be
                read.
            InputError: if its preprocessing is damaged.
            Busy: if too many requests are waiting already.
        """
        if id not in self._directories:
            raise UsageError("this network is not offered here; choose one of the list")
        if not self._queue.acquire(blocking=False):
            raise Busy
        try:
            return self._worker.submit(self._attention, id, text, beam).result()
        finally:
            self._queue.release()

    def _attention(self, id: str, text: str, beam: int | None) -> dict[str, Any]:
        paper, directory = self._directories[id]
        if training_in(directory)["parameters_sha256"] != self._sha256[id]:
            self._loaded.pop(id, None)
            raise UsageError(f"{directory}: this network was trained again; start the explorer again")
        if id not in self._loaded:
            self._loaded[id] = load_directory(paper, directory)
            while len(self._loaded) > LOADED:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(id)
        trained = self._loaded[id]
        return trained.task.attention_of(trained, text, beam=beam).as_json()


def find_networks(runs: Path, paper: str | None = None, model: Path | None = None) -> Networks:
    """Find the networks that come with the project and those of the runs, or describe a single given network.

    Args:
        runs: folder of the run directories.
        paper: paper of the networks, or the path of a script of the user; all papers of the project if None.
        model: directory of the given network.

    Raises:
        UsageError: if the given directory holds no network with attention, or if there is no network of this paper.
    """
    if model is not None:
        name = paper or models.paper_of(model)
        network = _describe(name, model, "model", "given")
        if network is None:
            raise UsageError(f"{model}: this network shows no attention over text; choose another --model")
        return Networks([(network, name, model)])
    chosen = [paper] if paper else list(papers.names())
    if paper and not any(_attends(variant.task) for variant in papers.load(paper).preset("cpu").variants):
        remedy = "choose another paper (of images: gluon-attn caption --out, classify --attention)"
        raise UsageError(f"{paper}: its networks show no attention over text; {remedy}")
    described = [(network, name, path) for name in chosen for network, path in _of_paper(name, runs)]
    if not described:
        raise UsageError(f"no trained network to explore here; train one with: gluon-attn run {paper or 'PAPER'}")
    order = {"included": 0, "runs": 1}
    return Networks(sorted(described, key=lambda each: order[each[0].group]))


def _of_paper(paper: str, runs: Path) -> Iterator[tuple[Network, Path]]:
    name = Path(paper).stem
    directories = [(f"{name}/{variant}", path, "included") for variant, path in models.included_models(paper).items()]
    trained = sorted((runs / name).glob(f"*/*/seed-*/{TRAINING}"))
    directories += [(path.parent.relative_to(runs).as_posix(), path.parent, "runs") for path in trained]
    for id, directory, group in directories:
        try:
            network = _describe(paper, directory, id, group)
        except UsageError as error:
            print(f"not offered: {error}", file=sys.stderr)
            continue
        if network is not None:
            yield network, directory


def _describe(paper: str, directory: Path, id: str, group: str) -> Network | None:
    """Describe a network for the page; None if its task has no attention to show."""
    config, training, variant, task = declared(paper, directory)
    if not _attends(task):
        return None
    network = Network.of(id, group, paper, config["seed"], variant, task, training)
    if "data" in config:  # the title names the paper's corpus or its languages
        languages = config["data"]["languages"]
        title = f"{variant.name}, {' to '.join(languages) or 'trained on data of your own'}"
        network = replace(network, title=title, language=languages[0] if languages else "")
    return network


def _attends(task: Task[Any, Any] | None) -> bool:
    return task is not None and type(task).attention_of is not Task.attention_of
