"""What a notebook shows of an object: a caption and small tables as HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SHOWN = 6  # lines of a small table


def card(caption: str, *tables: str) -> str:
    """A caption over tables side by side."""
    inside = "".join(
        f'<div style="display:inline-block;vertical-align:top;margin:0 2em .5em 0">{t}</div>' for t in tables
    )
    return f'<div class="synafa"><p>{escape(caption)}</p>{inside}</div>'


def small_table(header: Sequence[str], rows: Sequence[Sequence[str]], foot: str = "") -> str:
    """A table whose cells are text; `foot` stands below it."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    below = f"<p>{escape(foot)}</p>" if foot else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def strongest_of(values: np.ndarray) -> Iterator[tuple[int, int]]:
    """The pairs j < k of the largest values of a symmetric matrix, ties in column order."""
    import numpy as np

    j, k = np.triu_indices(len(values), 1)
    for i in np.argsort(-values[j, k], kind="stable")[:SHOWN]:
        yield int(j[i]), int(k[i])


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 feature`, `1,000 features`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
