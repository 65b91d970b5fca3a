"""Write and print results, figures, pages and tables after the runs of a command are scored."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from reproductions.cli.choosing import Chosen

if TYPE_CHECKING:
    from reproductions.protocol.results import Result
    from reproductions.protocol.runs import Outcome


def write_results(chosen: Chosen, outcomes: list[Outcome], *, publish: bool) -> None:
    """Write the results, figures and pages of scored networks, with those that earlier commands scored, and print the
    table. Only the networks of this command are published."""
    from reproductions.protocol import conclude, papers, publishing, runner
    from reproductions.protocol.runs import Outcome, in_order
    from reproductions.protocol.tables import sample_warning, terminal_tables

    started = time.time()
    reproduction, preset, first = papers.load(chosen.paper), chosen.preset, chosen.runs[0]
    others = runner.scored_before(preset, chosen.runs)
    combined = runner.combine_all(preset, [*chosen.runs, *others])
    together = in_order([*outcomes, *map(Outcome.of, others), *combined], preset.names)
    result = _result(chosen, together, started)
    result.write(first.root / "results.json")
    files = {"results": first.root / "results.json"}
    drawn = conclude.draw_figures(reproduction, preset, together, first.root / "figures")
    files |= {f"figure, {title}": path for title, path in drawn.items()}
    files |= conclude.write_pages(reproduction, preset, together, first.root)
    if publish:
        new = in_order([*outcomes, *runner.combine_all(preset, chosen.runs)], preset.names)
        with papers.locked_results(chosen.paper):
            if chosen.variants or chosen.seeds:
                new = publishing.with_published(chosen.paper, preset, new)
            result = _result(chosen, new, started)
            publishing.publish(chosen.paper, preset, new, result)
        files["published results"] = papers.results_path(chosen.paper, preset.name)
    Console(markup=False).print(terminal_tables(reproduction, preset, result))
    for title, path in files.items():
        print(f"{title}: {path}")
    print(sample_warning(result.on_sample), end="")


def _result(chosen: Chosen, outcomes: Sequence[Outcome], started: float) -> Result:
    """The results file of these outcomes: rows, claims and manifest."""
    from reproductions.protocol import papers
    from reproductions.protocol.conclude import conclude
    from reproductions.protocol.manifest import manifest
    from reproductions.protocol.results import Result

    first = chosen.runs[0]
    rows, claims = conclude(papers.load(chosen.paper), chosen.preset, outcomes)
    record = manifest(outcomes, _command(), started)
    return Result(first.paper_name, chosen.preset.name, rows, claims, record)


def _command() -> str:
    """The command as it was typed, without the folder of the runs, which is local and does not change any number."""
    words = sys.argv[1:]
    if "--runs" in words:
        position = words.index("--runs")
        del words[position : position + 2]
    return shlex.join(["gluon-attn", *(word for word in words if not word.startswith("--runs="))])
