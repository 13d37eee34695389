"""Names of columns: unique, and close ones offered for a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from synafa.errors import SynafaError


def check_unique(names: Sequence[str]) -> None:
    """Refuse a name that stands for two columns."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SynafaError(f"Two columns are called {name!r}; give every column its own name.")
        seen.add(name)


def close_names(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'GCS'`, or the first few known names when none is close."""
    known = list(known)
    lower = {k.lower(): k for k in reversed(known)}
    close = [lower[match] for match in get_close_matches(name.lower(), list(lower), n=3, cutoff=0.6)]
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}"
    return f"; the names are: {some_names(known)}" if known else ""


def some_names(names: Sequence[str], limit: int = 8) -> str:
    """The first few names, quoted, and how many more there are."""
    return ", ".join(map(repr, names[:limit])) + (f" and {len(names) - limit} more" if len(names) > limit else "")
