"""The main job on embedded data: fit, follow a patient, prove, and leave page, cards, models and tables in a folder."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from synafa.compiling import announced
from synafa.datasets.embedded import embedded_path
from synafa.demo.heart import FILES
from synafa.files import atomic_path, write_json, write_text

if TYPE_CHECKING:
    from synafa.demo.story import Story

TRY = (
    ("ask for a patient of your own", "synafa next {folder}/heart.synafa --interactive"),
    ("the same in the browser", "synafa serve {folder}/heart.synafa --open"),
    ("fit it yourself", "synafa fit {folder}/heart.csv --target disease --prices {folder}/prices.csv "
     "--errors {folder}/errors.csv --known age,sex -o mine.synafa"),
)  # fmt: skip


def run_demo(output: Path, as_json: bool = False) -> None:
    """Run the demonstration, print it, and write everything to the folder `output`."""
    from rich.console import Console

    start = time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    with shown_progress() as progress:
        from synafa.demo.page import print_story, values
        from synafa.demo.story import tell_story

        story = tell_story(progress)
        progress(0.98, "writing")
        files = write_story(output, story, time.strftime("%Y-%m-%d"))
    seconds = time.perf_counter() - start
    if as_json:
        print(json.dumps({**values(story), "files": files, "seconds": round(seconds, 1)}, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    print_story(story, console)
    console.print(f"\n{seconds:.0f} s. Open {output / 'report.html'}, then try:", markup=False, soft_wrap=True)
    for what, command in TRY:
        console.print(f"  {command.format(folder=output)}   ({what})", markup=False, soft_wrap=True)


def write_story(output: Path, story: Story, date: str) -> list[str]:
    """Write everything; the names of the files. The page comes last, so that it never points to what is not there."""
    from synafa.demo.page import story_page, values
    from synafa.graph.draw import to_html
    from synafa.report.card import card_html

    for name, source in FILES.items():
        with atomic_path(output / name) as temporary:
            shutil.copyfile(embedded_path(source), temporary)
    names = list(FILES)
    for stem, model in (("heart", story.model), ("heart-dear-errors", story.dear)):
        model.save(output / f"{stem}.synafa")
        card = stem.replace("heart", "card")
        write_text(output / f"{card}.html", card_html(model.get_rules(), stem, date))
        write_text(output / f"{stem}-graph.html", to_html(model.decision_graph(), "Heart disease: which test next?"))
        names += [f"{stem}.synafa", f"{card}.html", f"{stem}-graph.html"]
    write_json(output / "results.json", values(story))
    write_text(output / "report.html", story_page(story))
    return [str(output / name) for name in (*names, "results.json", "report.html")]


@contextmanager
def shown_progress() -> Iterator[Callable[[float, str], None]]:
    """A bar on standard error from the first moment on, and a line when something is compiled."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description:<50}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def tell(share: float, text: str) -> None:
            bar.update(task, completed=share, description=text[:50])

        with announced(lambda text: bar.console.print(text, highlight=False)):
            yield tell
