"""Our side of ``decoding_speed``: RNNsearch translates test sentences with beam search.

Each runs in its own process: ``python -m benchmarks.ours.decoders '{"way": "batched", "arrays": "test.npz", ...}'``
prints its result as one line of JSON; see :func:`describe` and :func:`measure`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.stopwatch import keep_to, second_time
from gluon_attn import runtime
from gluon_attn.errors import UsageError

SIZES = ("units", "embedding_units", "attention_units", "maxout_units", "tied")


def describe(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Write the sentences and the parameters for all sides, and describe them.

    Args:
        spec: ``arrays`` (path of the ``.npz`` to be written), ``sentences`` (how many, the first of the test split),
            and either ``checkpoint`` (a finished run directory) or ``updates`` (of a training for this purpose).
    """
    import numpy as np

    from gluon_attn.models.rnnsearch import RNNSearch
    from gluon_attn.training.checkpoint import parameter_arrays, parameter_count, parameters_sha256
    from preprocessing.text.vocabulary import BEGIN_ID, END_ID
    from reproductions.protocol.loading import load, with_corpus
    from reproductions.tasks.translation_decoding import TRANSLATED, inputs

    if spec["checkpoint"]:
        run = run_of(Path(spec["checkpoint"]))
        network = with_corpus(load(run), run)
        weights = f"of {run.paper}, preset {run.preset}, {run.variant}, seed {run.seed}, {run.profile} profile"
    else:
        network = trained(spec["updates"])
        weights = f"after {spec['updates']} updates"
    model, settings, data = network.model, network.variant.settings, network.data
    if not isinstance(model, RNNSearch):
        sys.exit(f"{spec['checkpoint']}: is a run of {type(model).__name__}; the peer is RNNsearch, give a run of it")
    test = data.prepared.splits["test"]
    source, lengths = (array.astype(np.int64) for array in inputs(test.source.sequences()[: spec["sentences"]]))
    parameters = parameter_arrays(model)
    named = {f"parameters/{name}": array for name, array in parameters.items()}
    np.savez(spec["arrays"], source=source, lengths=lengths, limits=2 * lengths + 10, **named)
    vocabularies = {
        "source_vocabulary": len(data.prepared.source_vocabulary),
        "target_vocabulary": len(data.prepared.target_vocabulary),
    }
    return {
        "corpus": data.corpus,
        "pipeline": data.digest,
        "weights": weights,
        "parameters_sha256": parameters_sha256(parameters),
        "parameters": parameter_count(model),
        "settings": {**{name: getattr(settings, name) for name in SIZES}, **vocabularies, "dropout": 0.0},
        "search": {"beam": settings.beam, "alpha": settings.alpha, "begin": BEGIN_ID, "end": END_ID},
        "batch": TRANSLATED,
        "sentences": len(source),
        "source_tokens": int(lengths.sum()),
        "reference_tokens": int(test.target.lengths[: len(source)].sum()),
    }


def run_of(directory: Path) -> Any:
    """The run in this directory.

    Raises:
        UsageError: it is not a run directory.
    """
    from reproductions.protocol.runs import Run

    if not (directory / "config.json").exists():
        raise UsageError(f"{directory}: not a run directory; give that of a finished run of RNNsearch")
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    names = {name: config[name] for name in ("paper", "preset", "variant", "seed", "profile")}
    root = directory.resolve().parents[1]
    return Run(**names, threads=None, runs=root.parents[1], on_sample=root.name.endswith("-sample"))


def trained(updates: int) -> Any:
    """RNNsearch after a few updates: it translates badly, but its sentences end."""
    import mxnet as mx

    from gluon_attn.training.loop import fit
    from gluon_attn.training.run_directory import RunDirectory
    from reproductions import bahdanau2014
    from reproductions.protocol.runner import corpus_or_sample
    from reproductions.protocol.task import TrainedModel

    preset = corpus_or_sample(bahdanau2014.REPRODUCTION.preset("cpu"))
    variant, task = preset.variant("rnnsearch"), preset.task("rnnsearch")
    data = task.prepare(variant.settings, sample=preset.on_sample)
    runtime.seed_all(1)
    model = variant.settings.build(data)
    model.initialize(mx.init.Xavier())
    model.hybridize(static_alloc=True, static_shape=True)
    objective = task.objective(variant.settings, variant.recipe, data)

    def batches(generator: Any) -> Iterator[Any]:
        """Of one epoch or of several."""
        while True:
            yield from objective.batches(generator)

    short = replace(
        objective,
        batches=lambda generator: islice(batches(generator), updates),
        steps=updates,
        evaluate=lambda _: {objective.select: 0.0},
    )
    recipe = replace(variant.recipe, epochs=1, warmup_steps=updates // 10)
    with tempfile.TemporaryDirectory() as directory:
        fit(model, short, recipe, RunDirectory(Path(directory), {}), seed=1)
    return TrainedModel(model, variant, task, data, parameters_sha256="")


def build(settings: Mapping[str, Any]) -> Any:
    """The network, not yet initialized."""
    from gluon_attn.models.rnnsearch import RNNSearch
    from preprocessing.text.vocabulary import PADDING_ID

    names = ("units", "attention_units", "maxout_units", "tied", "source_vocabulary", "target_vocabulary")
    widths = dict.fromkeys(("source_units", "target_units"), settings["embedding_units"])
    return RNNSearch(**{name: settings[name] for name in names}, **widths, padding=PADDING_ID)


def translate(
    model: Any, sources: Sequence[Any], limits: Any, *, sentences: int, search: Mapping[str, Any]
) -> list[list[int]]:
    """The best translation of each sentence as :func:`.translation_decoding.translate` finds it, ``sentences`` of
    similar length at a time; in their order."""
    import numpy as np

    from gluon_attn.decoding.beam_search import beam_search
    from gluon_attn.training.batching import length_batches
    from reproductions.tasks.translation_decoding import TRANSLATED_MULTIPLE, inputs

    translations: list[list[int]] = [[] for _ in sources]
    for rows in length_batches(np.array([len(ids) for ids in sources]), sentences):
        source, lengths = inputs([sources[row] for row in rows], TRANSLATED_MULTIPLE)
        beams = beam_search([model], source, lengths, max_steps=limits[rows], **search)
        for row, hypotheses in zip(rows, beams, strict=True):
            translations[row] = list(hypotheses[0].ids)
    return translations


def translate_with_gluonnlp(
    model: Any, sources: Sequence[Any], limits: Any, *, search: Mapping[str, Any]
) -> list[list[int]]:
    """The same, sentence by sentence, with the sampler of GluonNLP on the steps of our network."""
    from gluonnlp.model import BeamSearchSampler, BeamSearchScorer
    from mxnet import nd

    from reproductions.tasks.translation_decoding import inputs

    def step(tokens: Any, states: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
        log_p, _, after = model.step(tokens.astype("int32"), tuple(states[0]), tuple(states[1]))
        return log_p, [states[0], list(after)]

    scorer = BeamSearchScorer(search["alpha"], 5)
    start = nd.array([search["begin"]])
    translations = []
    for ids, limit in zip(sources, limits, strict=True):
        source, lengths = inputs([ids])
        memory, state = model.start(nd.array(source, dtype="int32"), nd.array(lengths))
        sampler = BeamSearchSampler(search["beam"], step, search["end"], scorer, max_length=int(limit))
        samples, _, ends = sampler(start, [list(memory), list(state)])
        best = samples[0, 0].asnumpy().tolist()[1 : int(ends[0, 0].asscalar())][: int(limit)]
        translations.append(best[:-1] if best[-1:] == [search["end"]] else best)
    return translations


def measure(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Translate all sentences twice and time the second time, when all graphs are built.

    Args:
        spec: ``way`` (batched, one by one, gluonnlp), ``arrays``, and of :func:`describe` ``settings``, ``batch`` and
            ``search``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``, and ``ids`` of the
        translations.
    """
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count, set_parameters

    with np.load(spec["arrays"]) as arrays:
        sources = [ids[:length] for ids, length in zip(arrays["source"], arrays["lengths"], strict=True)]
        limits = arrays["limits"]
        named = {name.removeprefix("parameters/"): arrays[name] for name in arrays.files if "/" in name}
    model = build(spec["settings"])
    model.initialize()
    set_parameters(model, named)
    model.hybridize(static_alloc=True, static_shape=True)
    translations: list[list[int]] = []

    def work() -> None:
        if spec["way"] == "gluonnlp":
            translations[:] = translate_with_gluonnlp(model, sources, limits, search=spec["search"])
        else:
            size = spec["batch"] if spec["way"] == "batched" else 1
            translations[:] = translate(model, sources, limits, sentences=size, search=spec["search"])

    measured = second_time(work)
    return {**measured, "parameters": parameter_count(model), "ids": translations}


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    keep_to(wanted["threads"])
    runtime.configure("fast", wanted["threads"])
    try:
        print(json.dumps(describe(wanted) if wanted["way"] == "describe" else measure(wanted)))
    except UsageError as error:
        sys.exit(str(error))
