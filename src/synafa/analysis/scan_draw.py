"""Draws a scan as a heat map: synergy above the diagonal, redundancy below it, in bits; a dot marks a significant pair.

Blue and orange scales keep the two triangles apart for colour-blind readers; a pair that was not tested stays grey.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.files import atomic_path

if TYPE_CHECKING:
    from synafa.analysis.scan import ScanResult

_UNTESTED = "#d9d9d9"


def draw_heatmap(result: ScanResult, path: str | os.PathLike[str], title: str = "") -> None:
    """Write the heat map to a .png, .svg or .pdf file."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in ("png", "svg", "pdf"):
        raise SynafaError(f"Cannot draw into {str(path)!r}; give a name that ends in .png, .svg or .pdf.")
    import matplotlib

    figure = heatmap(result, title)
    undated: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with atomic_path(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "synafa", "svg.fonttype": "none"}):
        figure.savefig(temporary, format=kind, dpi=150, metadata=undated)


def heatmap(result: ScanResult, title: str = "") -> Any:
    """The heat map as a Matplotlib figure."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    names = result.feature_names
    d = len(names)
    size = min(24.0, 3.2 + 0.27 * d)
    figure = Figure(figsize=(size + 1.6, size), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor(_UNTESTED)
    synergy, redundant, dots = _matrices(result)
    triangles = (
        (synergy, "Blues", "synergy, bits (above the diagonal)", 0.54),
        (redundant, "Oranges", "redundancy, bits (below)", 0.02),
    )
    for matrix, scale, label, bottom in triangles:
        top = float(np.nanmax(matrix)) if np.isfinite(matrix).any() else 0.0
        image = axes.imshow(np.ma.masked_invalid(matrix), cmap=colormaps[scale], vmin=0.0, vmax=max(top, 1e-9))
        figure.colorbar(image, cax=axes.inset_axes((1.02, bottom, 0.025, 0.44)), label=label)
    if dots.size:
        axes.scatter(
            dots[:, 1], dots[:, 0], s=min(14.0, 2500.0 / d**2 + 4.0), c="black", edgecolors="white", linewidths=0.5
        )
    for i in range(d):
        axes.fill([i - 0.5, i + 0.5, i + 0.5, i - 0.5], [i - 0.5, i - 0.5, i + 0.5, i + 0.5], color="white", lw=0)
    axes.set_xlim(-0.5, d - 0.5)
    axes.set_ylim(d - 0.5, -0.5)
    axes.set_xticks(range(d), names, rotation=90, fontsize=8)
    axes.set_yticks(range(d), names, fontsize=8)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(title or "Pairs of features", fontsize=11, loc="left")
    note = f"dot: significant at FDR {result.q:g} ({result.method} permutation test within classes)"
    untested = result.table.height - result.n_tested
    axes.set_xlabel(
        note + (f"; grey: not tested ({untested})" if untested else ""), fontsize=8, loc="left", color="#555555"
    )
    return figure


def _matrices(result: ScanResult) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Synergy above and redundancy below the diagonal (NaN elsewhere), and (row, column) of the significant cells."""
    position = {name: i for i, name in enumerate(result.feature_names)}
    d = len(position)
    synergy, redundant = np.full((d, d), np.nan), np.full((d, d), np.nan)
    dots = []
    columns = ("a", "b", "synergy", "redundant", "significant_synergy", "significant_redundancy")
    for a, b, high, low, synergistic, overlapping in result.table.select(columns).iter_rows():
        if high is None:
            continue
        i, j = sorted((position[a], position[b]))
        synergy[i, j], redundant[j, i] = max(high, 0.0), max(low, 0.0)
        dots += [(i, j)] * bool(synergistic) + [(j, i)] * bool(overlapping)
    return synergy, redundant, np.array(dots, dtype=np.int64).reshape(-1, 2)
