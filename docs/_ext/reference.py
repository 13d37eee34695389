"""Writes the pages of the API reference from the public names themselves, so that a new name cannot be forgotten.

A package with `__all__` lists what stands there; a module without one lists the functions and classes it defines.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

# The title of a section, the module or package, and one sentence about it.
SECTIONS = [
    ("Models", "synafa", "What `import synafa` offers: the policy, its parts and its files."),
    ("Money", "synafa.money", "Prices with panels and groups, what errors cost, and when to stop."),
    ("Predictor", "synafa.predictor", "Class probabilities from any subset of the features."),
    ("Plan tree", "synafa.plan", "A plan of measurements, split where following different plans pays."),
    ("Streams", "synafa.stream", "Tables larger than memory, batch by batch."),
    ("Recommendations", "synafa.policy.recommendation", "What a policy answers for one case."),
    ("Answers", "synafa.model.answer", "What a model says of one case, and what each result would mean."),
    ("Rules", "synafa.model.rules", "A plan tree as JSON values, and the few lines that follow them."),
    ("Proof", "synafa.proof.prove", "A model against simpler things on one's own table."),
    ("Decision rule", "synafa.policy.rule", "From tables and a state to the next feature."),
    ("Estimated tables", "synafa.information.amortised", "SynAFA v2: tables learnt from a sample of pairs."),
    ("Pairs", "synafa.analysis.pairs", "The strongest pairs of a table."),
    ("Scan of all pairs", "synafa.analysis.scan", "Every pair tested for synergy and redundancy."),
    ("Triples", "synafa.analysis.triples", "Synergy of three features beyond their pairs."),
    ("Retained information", "synafa.analysis.retained", "What is left of a feature after it was cut in two."),
    ("Set objective", "synafa.analysis.objective", "The study's diagnostic objective of a set of features."),
    ("Tables", "synafa.table.encoder", "Columns of numbers and text to numbers, and back."),
    ("Reading files", "synafa.table.reading", "CSV and Parquet files to tables."),
    ("Embedded tables", "synafa.datasets.embedded", "Small public tables that come with the package."),
    ("Datasets", "synafa.datasets", "The study's datasets by name."),
    ("Evaluation", "synafa.evaluation", "One harness and the same numbers for every policy."),
    ("Published policies", "synafa.baselines", "Ten policies of the literature behind one interface."),
    ("Shared classifier", "synafa.neural", "The masked network that judges policies (extra `neural`)."),
    ("Statistics", "synafa.stats", "Tests: functions from arrays to small result objects."),
]


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip)
    write(Path(app.srcdir) / "api")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def skip(app: Any, what: str, name: str, obj: Any, given: bool, options: Any) -> bool | None:
    """Leave out `set_fit_request` and its like, which scikit-learn adds."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def public_names(module: Any) -> list[str]:
    """The documented functions and classes that a module offers, in its own order."""
    if hasattr(module, "__all__"):
        found = [(name, getattr(module, name)) for name in module.__all__]
    else:
        found = [
            (name, value)
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
        ]
    return [name for name, value in found if inspect.isclass(value) or inspect.isroutine(value)]


def write(folder: Path) -> None:
    """`index.rst` with one table of names a section; a file that would not change is left alone."""
    lines, seen, pages = ["API reference", "=============", ""], set(), set()
    lines += ["Every public name, with its types, its errors and an example where one helps.", ""]
    for title, module_name, sentence in SECTIONS:
        try:
            module = import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name:
                raise
            continue  # a part that this version does not have
        names = [name for name in public_names(module) if id(getattr(module, name)) not in seen]  # each thing once
        seen |= {id(getattr(module, name)) for name in names}
        pages |= {f"{module_name}.{name}.rst" for name in names}
        if not names:
            continue
        lines += [title, "-" * len(title), "", sentence, "", f".. currentmodule:: {module_name}", ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
    for page in (folder / "generated").glob("*.rst"):
        if page.name not in pages:
            page.unlink()  # of a name that is gone
    text = "\n".join(lines)
    path = folder / "index.rst"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        folder.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
