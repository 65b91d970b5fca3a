"""How much longer does answering lines of text take than classifying the same texts in batches?

    python -m benchmarks.answers_speed [--lines 10000] [--repetitions 5]

The network of the GluonNLP post that comes with the repository answers lines as ``gluon-attn predict`` does: lines are
decoded, tokenized, sorted by length into batches, classified, and answered in their order. It is compared with the
batched evaluation of the same texts: all are tokenized and encoded at once, and classified as the test split is. Both
run in one process, in turn, after a first time that does not count; ratios are paired within a repetition.

The texts are the first of the test split of NSMC, otherwise those of the embedded sample, repeated. Prints a table and
writes ``benchmarks/results/answers_speed.json``.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from statistics import median
from typing import Any

from benchmarks import contest
from gluon_attn import runtime

RESULT = contest.RESULTS / "answers_speed.json"
TARGET = 1.2
PAPER = "naver_self_attention"


def texts(count: int) -> tuple[str, list[str]]:
    """Name of a corpus, and that many of its test texts, none of them blank."""
    from preprocessing import corpora, naver
    from preprocessing.errors import MissingError

    try:
        files = corpora.find("nsmc", offline=True)
    except MissingError:
        files = corpora.find("sample")
    own = [text for text in (one.strip() for one in naver.read_ratings(files.paths["test"]).text) if text]
    return files.name, list(islice(cycle(own), count))


def ways(wanted: Sequence[str]) -> dict[str, Callable[[], Any]]:
    """What is compared, by name."""
    from reproductions.protocol.loading import load_directory
    from reproductions.protocol.models import included_models
    from reproductions.protocol.task import AnswerOptions
    from reproductions.tasks.classification.predictions import classify

    trained = load_directory(PAPER, included_models(PAPER)["as-written"])
    raw = "".join(f"{text}\n" for text in wanted).encode()

    def answer() -> list[str]:
        return list(trained.task.answer(trained, io.BytesIO(raw), AnswerOptions()))

    def evaluate() -> Any:
        encoded = trained.data.prepared.encode(wanted, processes=1)
        return classify(trained.model, trained.data.inputs, trained.data.inputs.texts(encoded))

    return {"answers": answer, "evaluation": evaluate}


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    runtime.configure("portable")
    when_and_where = contest.circumstances()
    corpus, wanted = texts(options.lines)
    compared = ways(wanted)
    for work in compared.values():
        work()
    runs = [{name: seconds(work) for name, work in compared.items()} for _ in range(options.repetitions)]
    each = [run["answers"] / run["evaluation"] for run in runs]
    per_second = options.lines / median(run["answers"] for run in runs)
    what = f"`predict` on {options.lines} lines of {corpus}, 1 thread: {per_second:.0f} lines/s"
    line = {
        "measure": f"{what}; time against batched evaluation",
        "measured": f"{median(each):.2f}x",
        "target": f"<= {TARGET}x",
        "met": median(each) <= TARGET,
    }
    record = {
        "command": f"python -m benchmarks.answers_speed --lines {options.lines} --repetitions {options.repetitions}",
        **when_and_where,
        "ratio_each": [round(ratio, 4) for ratio in each],
        "runs": runs,
    }
    contest.write(RESULT, record, [line], [corpus])


if __name__ == "__main__":
    main()
