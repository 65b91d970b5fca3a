"""Our side of ``decoding_speed`` and ``transformer_decoding``: networks translate test sentences with beam search.

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

SIZES = {
    "rnnsearch": ("units", "embedding_units", "attention_units", "maxout_units", "tied"),
    "transformer": ("units", "layers", "heads", "hidden_units", "norm", "tied", "shared"),
}
"""What the peers know of the settings of each model."""
PAPER, VARIANT = "bahdanau2014", "rnnsearch"
"""What is trained for this purpose by default."""


def describe(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Write the sentences and the parameters for all sides, and describe them.

    Args:
        spec: ``arrays`` (path of the ``.npz`` to be written), ``sentences`` (how many, the first of the test split),
            and either ``checkpoint`` (a finished run directory) or ``updates`` (of a training for this purpose, of
            ``variant`` of ``paper``; RNNsearch if there is none).
    """
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_arrays, parameter_count, parameters_sha256
    from preprocessing.text.vocabulary import BEGIN_ID, END_ID
    from reproductions.protocol.loading import load
    from reproductions.protocol.preparing import with_corpus
    from reproductions.tasks.translation.decoding import TRANSLATED, inputs

    if spec["checkpoint"]:
        run = run_of(Path(spec["checkpoint"]))
        network = with_corpus(load(run), run)
        weights = f"of {run.paper}, preset {run.preset}, {run.variant}, seed {run.seed}, {run.profile} profile"
    else:
        network = trained(spec["updates"], spec.get("paper", PAPER), spec.get("variant", VARIANT))
        weights = f"after {spec['updates']} updates"
    model, settings, data = network.model, network.variant.settings, network.data
    kind = type(model).__name__.lower()
    if kind not in SIZES:
        sys.exit(f"{spec['checkpoint']}: is a run of {type(model).__name__}; give one of {' or '.join(SIZES)}")
    test = data.prepared.splits["test"]
    source, lengths = (array.astype(np.int64) for array in inputs(test.source.sequences()[: spec["sentences"]], 1))
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
        "settings": settings_of(kind, settings) | vocabularies,
        "search": {"beam": settings.beam, "alpha": settings.alpha, "begin": BEGIN_ID, "end": END_ID},
        "batch": TRANSLATED,
        "sentences": len(source),
        "source_tokens": int(lengths.sum()),
        "reference_tokens": int(test.target.lengths[: len(source)].sum()),
    }


def settings_of(kind: str, settings: Any) -> dict[str, Any]:
    """What the peers need to build the network, without dropout; RNNsearch of Vaswani's script has one width."""
    sizes = {name: getattr(settings, name, settings.units) for name in SIZES[kind]}
    return {"model": kind, **sizes, "dropout": 0.0, "smoothing": 0.0}


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


def trained(updates: int, paper: str, variant_name: str) -> Any:
    """A network after a few updates: it translates badly, but its sentences end."""
    import mxnet as mx

    from gluon_attn.training.loop import fit
    from gluon_attn.training.run_directory import RunDirectory
    from reproductions.protocol import papers
    from reproductions.protocol.runner import corpus_or_sample
    from reproductions.protocol.task import TrainedModel

    preset = corpus_or_sample(papers.load(paper).preset("cpu"), [variant_name])
    variant, task = preset.variant(variant_name), preset.task(variant_name)
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


def build(settings: Mapping[str, Any], *, cached: bool = True) -> Any:
    """The network ``settings["model"]``, not yet initialized; a Transformer that is not ``cached`` decodes all tokens
    again at each step of search."""
    from gluon_attn.models.rnnsearch import RNNSearch
    from gluon_attn.models.transformer import Transformer
    from preprocessing.text.vocabulary import PADDING_ID

    common = {name: settings[name] for name in ("units", "tied", "source_vocabulary", "target_vocabulary")}
    common["padding"] = PADDING_ID
    if settings["model"] == "rnnsearch":
        widths = dict.fromkeys(("source_units", "target_units"), settings["embedding_units"])
        return RNNSearch(**common, **widths, **{name: settings[name] for name in ("attention_units", "maxout_units")})
    common |= {name: settings[name] for name in ("heads", "hidden_units", "norm", "shared", "smoothing")}
    layers = dict.fromkeys(("encoder_layers", "decoder_layers"), settings["layers"])
    return (Transformer if cached else full_decoding())(**common, **layers)


def full_decoding() -> type[Any]:
    """A Transformer without cache in search."""
    from mxnet import nd

    from gluon_attn.models.transformer import Transformer

    class FullDecoding(Transformer):
        """The memory is the encoder's states (batch, source_length, units) and mask, the state all tokens so far."""

        def start(self, source: Any, source_length: Any) -> tuple[Any, Any]:
            return tuple(self._graphs(self._states, source, source_length)), (nd.zeros((len(source), 1)),)

        def step(self, tokens: Any, memory: Any, state: Any) -> tuple[Any, None, Any]:
            prefix = nd.concat(state[0], nd.expand_dims(tokens, axis=1).astype("float32"), dim=1)
            return self._graphs(self._last, prefix, *memory, beam=len(tokens) // len(memory[0])), None, (prefix,)

        def _states(self, F: Any, source: Any, source_length: Any) -> tuple[Any, ...]:
            (states, mask), _ = self.encode(F, source, source_length)
            return F.swapaxes(states, 0, 1), mask

        def _last(self, F: Any, prefix: Any, states: Any, mask: Any, *, beam: int) -> Any:
            """ln p of the next token; the first column of the prefix is there because no array can be empty."""
            embedded = self.target_embedding(F.slice_axis(prefix, axis=1, begin=1, end=None))
            states, mask = (F.repeat(each, repeats=beam, axis=0) for each in (states, mask))
            features, _ = self._decoded(F, embedded, F.swapaxes(states, 0, 1), mask)
            last = F.reshape(F.slice_axis(features, axis=1, begin=-1, end=None), (-3, 0))
            return F.log_softmax(self.output(last), axis=-1)

    return FullDecoding


def translate(
    model: Any, sources: Sequence[Any], limits: Any, *, sentences: int, search: Mapping[str, Any]
) -> list[list[int]]:
    """The best translation of each sentence, in their order, as ``translate`` of
    :mod:`reproductions.tasks.translation.decoding` finds it; ``sentences`` of similar length are decoded together."""
    import numpy as np

    from gluon_attn.decoding.beam_search import beam_search
    from gluon_attn.training.batching import length_batches
    from reproductions.tasks.translation.decoding import TRANSLATED_MULTIPLE, inputs

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

    from reproductions.tasks.translation.decoding import TRANSLATED_MULTIPLE, inputs

    def step(tokens: Any, states: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
        log_p, _, after = model.step(tokens.astype("int32"), tuple(states[0]), tuple(states[1]))
        return log_p, [states[0], list(after)]

    scorer = BeamSearchScorer(search["alpha"], 5)
    start = nd.array([search["begin"]])
    translations = []
    for ids, limit in zip(sources, limits, strict=True):
        source, lengths = inputs([ids], TRANSLATED_MULTIPLE)
        memory, state = model.start(nd.array(source, dtype="int32"), nd.array(lengths))
        sampler = BeamSearchSampler(search["beam"], step, search["end"], scorer, max_length=int(limit))
        samples, _, ends = sampler(start, [list(memory), list(state)])
        best = samples[0, 0].asnumpy().tolist()[1 : int(ends[0, 0].asscalar())][: int(limit)]
        translations.append(best[:-1] if best[-1:] == [search["end"]] else best)
    return translations


def measure(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Translate all sentences twice and time the second time, when all graphs are built.

    Args:
        spec: ``way`` (batched, full decoding, one by one, gluonnlp), ``arrays``, and of :func:`describe` ``settings``,
            ``batch`` and ``search``.

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
    model = build(spec["settings"], cached=spec["way"] != "full decoding")
    model.initialize()
    set_parameters(model, named)
    model.hybridize(static_alloc=True, static_shape=True)
    translations: list[list[int]] = []

    def work() -> None:
        if spec["way"] == "gluonnlp":
            translations[:] = translate_with_gluonnlp(model, sources, limits, search=spec["search"])
        else:
            size = 1 if spec["way"] == "one by one" else spec["batch"]
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
