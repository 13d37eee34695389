"""The main job on embedded data: fit, compare with simpler policies, explain, and write a report."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synafa.compiling import announced
from synafa.demo.compare import Comparison, Task, compare, frame_of, labels_of, tasks
from synafa.demo.page import print_comparison, report_page, results
from synafa.demo.policies import POLICIES
from synafa.files import atomic_path, write_json, write_text
from synafa.graph.draw import to_html


def run_demo(output: Path, as_json: bool = False) -> None:
    """Run the demonstration, print it, and write the report, graphs, models and tables to `output`."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    start = time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    all_tasks = list(tasks())
    steps = sum(len(task.folds) * (1 + len(POLICIES)) for task in all_tasks)
    columns = (TextColumn("{task.description:<46}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    comparisons: list[Comparison] = []
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("fitting", total=steps)
        for task in all_tasks:

            def tick(message: str, title: str = task.title) -> None:
                progress.update(bar, advance=1, description=f"{title}: {message}")

            with announced(lambda text: progress.console.print(text, highlight=False)):
                comparisons.append(compare(task, tick))
    files = write_results(output, comparisons, report_page(comparisons), results(comparisons))
    if as_json:
        summary = {**results(comparisons), "files": files, "seconds": round(time.perf_counter() - start, 1)}
        print(json.dumps(summary, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    for comparison in comparisons:
        print_comparison(comparison, console)
    console.print(
        f"{time.perf_counter() - start:.0f} s. Report: {output / 'report.html'}", markup=False, soft_wrap=True
    )


def write_results(output: Path, comparisons: Sequence[Comparison], page: str, values: dict[str, Any]) -> list[str]:
    """Write everything; the names of the files."""
    write_json(output / "results.json", values)
    names = ["report.html", "results.json"]
    for comparison in comparisons:
        stem = comparison.task.title.lower().replace(" ", "-")
        write_text(
            output / f"{stem}-graph.html", to_html(comparison.policy.decision_graph(5, 0.02), comparison.task.title)
        )
        comparison.policy.save(output / f"{stem}.synafa")
        write_table(comparison.task, output / f"{stem}.csv")
        names += [f"{stem}-graph.html", f"{stem}.synafa", f"{stem}.csv"]
    write_text(output / "report.html", page)  # last, so that it never points to something that is not there
    return [str(output / name) for name in names]


def write_table(task: Task, path: Path) -> None:
    """The rows as a CSV file, to try the other commands on; the last column holds the class."""
    import polars as pl

    with atomic_path(path) as temporary:
        frame_of(task).with_columns(pl.Series(task.target.removeprefix("the "), labels_of(task))).write_csv(temporary)
