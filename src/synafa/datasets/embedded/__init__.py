"""Small public tables that come with the package, each with its licence note: `embedded_path(name)` says where.

`heart.csv`: 303 cases, target `disease`; `heart-prices.csv`: what each measurement costs; `heart-errors-low.csv`,
`-middle.csv` and `-high.csv`: what wrong decisions cost, at three levels; `LICENSE-heart.txt`: source and licence.
`heart-words.csv`, `heart-words-prices.csv` and `heart-words-errors.csv` are the same cases, prices and highest costs of
errors with words in place of codes: what the demonstration and the guide use.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from synafa.errors import SynafaError


def embedded_names() -> tuple[str, ...]:
    """Names of the embedded tables, sorted."""
    folder = Path(str(files(__name__)))
    return tuple(sorted(path.name for path in folder.iterdir() if path.suffix == ".csv"))


def embedded_path(name: str) -> Path:
    """Where an embedded file is.

    Parameters
    ----------
    name : str
        With or without ".csv".

    Returns
    -------
    path : pathlib.Path

    Raises
    ------
    SynafaError
        If there is no such file.

    Examples
    --------
    >>> embedded_path("heart").name
    'heart.csv'
    """
    folder = Path(str(files(__name__)))
    names = [*embedded_names(), *sorted(path.name for path in folder.glob("LICENSE-*.txt"))]
    found = next((there for there in (name, f"{name}.csv") if there in names), None)
    if found is None:
        raise SynafaError(f"There is no embedded file {name!r}; there are: {', '.join(names)}.")
    return folder / found
