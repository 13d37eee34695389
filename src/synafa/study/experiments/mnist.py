"""What the MNIST-loop experiments share: the images, the pool of 90 pixels, and SynAFA with other information tables.

The amortised tables come in kinds of forests, each trained several times; the tables asked of one training share its
fit. They are computed once and kept in the cache, addressed by their settings and the dataset's content, like the
shared classifiers.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from synafa.arrays import read_file, write_file
from synafa.datasets.dataset import Dataset
from synafa.files import cache_dir, content_hash
from synafa.information.tables import InformationTables
from synafa.study.evidence.names import budgets_of
from synafa.study.experiments.shared import fit_synafa, load_dataset

BUDGETS = budgets_of("mnist-loop")
POOL = 90
CONTROL_ROWS = 4000  # test rows of the paper's 90-pixel control


@dataclass(frozen=True)
class Configuration:
    """One amortised table: `kind` of forests it is asked of, `paper` the paper's name of it, "" where it has none."""

    name: str
    kind: str
    k_infer: int
    sampling: str
    paper: str = ""

    @property
    def title(self) -> str:
        """All pairs or informative ones: the paper does not say among which pairs its forests learned."""
        return self.name.removesuffix(" informative") if KINDS[self.kind].informative else f"{self.name}, all pairs"


@dataclass(frozen=True)
class Forests:
    """A kind of forests: sample sizes of the training draws, reference pairs among informative pixels?"""

    k_range: tuple[int, int]
    informative: bool


# The paper does not say how far it extended the range.
KINDS = {
    "informative": Forests((20, 300), True),
    "informative extended": Forests((20, 36_000), True),
    "base": Forests((20, 300), False),
    "extended": Forests((20, 36_000), False),
}
CONFIGURATIONS = (
    Configuration("original informative", "informative", 150, "replacement", "original"),
    Configuration("36000 with replacement informative", "informative", 36_000, "replacement", "36000 with replacement"),
    Configuration(
        "36000 extended k-range informative", "informative extended", 36_000, "replacement", "36000 extended k-range"
    ),
    Configuration("36000 corrected informative", "informative", 36_000, "corrected", "36000 corrected"),
    Configuration("original", "base", 150, "replacement"),
    Configuration("36000 with replacement", "base", 36_000, "replacement"),
    Configuration("36000 extended k-range", "extended", 36_000, "replacement"),
    Configuration("36000 corrected", "base", 36_000, "corrected"),
)
DEPLOYED = "36000 corrected informative"  # the table behind the main MNIST-loop results
ALL_PAIRS = "36000 corrected"  # the same, with reference pairs among all pixels
CONTROL = (150, 1000, 36_000)


@dataclass(frozen=True)
class Amortised:
    """Estimated tables with the processor seconds of the fit (shared by a training) and of asking the forests."""

    tables: InformationTables
    fit_seconds: float
    table_seconds: float


@lru_cache(maxsize=1)
def images(quick: bool = False) -> Dataset:
    """MNIST-loop, instance 0; kept for the next unit of the same process."""
    return load_dataset("mnist-loop", 0, quick)


def pool_of(dataset: Dataset) -> np.ndarray:
    """The pixels of largest variance over the training rows, ascending."""
    variance = dataset.X[dataset.train].var(axis=0)
    return np.sort(np.argsort(variance)[-POOL:])


def narrowed(dataset: Dataset, features: np.ndarray) -> Dataset:
    """The dataset with only these features."""
    names = tuple(dataset.feature_names[j] for j in features)
    return replace(dataset, X=dataset.X[:, features], feature_names=names, costs=dataset.costs[features])


def widened(mask: np.ndarray, features: np.ndarray | None, n_features: int) -> np.ndarray:
    """A mask over the chosen features as a mask over all of them."""
    if features is None:
        return mask
    wide = np.zeros((len(mask), n_features), dtype=bool)
    wide[:, features] = mask
    return wide


def with_tables(policy: Any, tables: InformationTables | None = None, **changes: Any) -> Any:
    """A fitted SynAFA with other tables, or with other fields of its rule, e.g. `pair` or `cost_weight`."""
    other = copy(policy)
    other.__dict__.pop("_pairs", None)
    if tables is not None:
        other.tables_ = tables
        changes = {"single": tables.single, "pair": tables.pair, "cond": tables.cond, **changes}
    other.rule_ = replace(policy.rule_, **changes)
    return other


def exact_policy(dataset: Dataset) -> Any:
    """SynAFA with exact tables and the deployed rule."""
    return fit_synafa("synafa", dataset)


def amortised_tables(
    dataset: Dataset, kind: str, training: int, quick: bool, control: bool = False
) -> dict[str, Amortised]:
    """The tables asked of one training of the forests, by name, from the cache or computed now.

    `training` is the seed of the forests; `control` asks for the sample sizes of the 90-pixel control.
    """
    k_range, informative = KINDS[kind].k_range, KINDS[kind].informative
    wanted = [one for one in CONFIGURATIONS if one.kind == kind]
    if quick:
        wanted = [one for one in wanted if one.name in (DEPLOYED, ALL_PAIRS)]
    if control:
        wanted = [Configuration(str(k), kind, k, "corrected") for k in CONTROL]
    size: dict[str, Any] = {"reference_pairs": 100, "draws": 3, "trees": 10} if quick else {}
    if informative:
        size["informative"] = True
    config = {"version": 2, "seed": training, "k_range": k_range, "size": size}
    folder = cache_dir() / "tables"
    paths = {
        one.name: folder
        / f"{dataset.name}-{content_hash([config, one.k_infer, one.sampling, dataset.fingerprint()])}.safetensors"
        for one in wanted
    }
    if not all(_usable(path) for path in paths.values()):
        _compute(dataset, wanted, paths, training, k_range, size)
    return {name: _load(path) for name, path in paths.items()}


def deployed_tables(dataset: Dataset, quick: bool, training: int = 0) -> InformationTables:
    """The sampling-corrected tables of SynAFA v2."""
    return amortised_tables(dataset, "informative", training, quick)[DEPLOYED].tables


def all_pairs_tables(dataset: Dataset, quick: bool, training: int = 0) -> InformationTables:
    """The same, but their forests learned from pairs of any pixels."""
    return amortised_tables(dataset, "base", training, quick)[ALL_PAIRS].tables


def _compute(
    dataset: Dataset,
    wanted: list[Configuration],
    paths: dict[str, Any],
    seed: int,
    k_range: tuple[int, int],
    size: dict[str, Any],
) -> None:
    from synafa.information.amortised import AmortisedEstimator
    from synafa.information.codes import Discretizer

    codes, y = Discretizer(n_bins=2).fit_transform(dataset.X[dataset.train]), dataset.y[dataset.train]
    clock = time.process_time()
    estimator = AmortisedEstimator.fit(codes, y, k_range=k_range, seed=seed, **size)
    fit_seconds = time.process_time() - clock
    for one in wanted:
        clock = time.process_time()
        tables = estimator.tables(codes, y, one.k_infer, one.sampling)
        seconds = np.array([fit_seconds, time.process_time() - clock])
        arrays = {name: getattr(tables, name) for name in _FIELDS}
        write_file(paths[one.name], _KIND, {**arrays, "seconds": seconds}, {}, own=True)


_KIND = "set of amortised tables"
_FIELDS = ("single", "pair", "cond", "class_counts")


def _usable(path: Any) -> bool:
    """Whether a table of the cache is there and whole; a damaged one, or a folder in its place, is computed again."""
    try:
        _load(path)
    except Exception:  # each library has its own words for a file that is not what it should be
        return False
    return True


def _load(path: Any) -> Amortised:
    arrays, _ = read_file(path, _KIND)
    fields: dict[str, Any] = {name: arrays[name] for name in _FIELDS}
    tables = InformationTables(**fields, specific=None)
    return Amortised(tables, float(arrays["seconds"][0]), float(arrays["seconds"][1]))


def acquired(policy: Any, X: np.ndarray, budgets: tuple[int, ...] = BUDGETS) -> tuple[dict[int, np.ndarray], Any]:
    """Masks by budget and the run at the largest: at equal costs the deployed rule's episodes are prefixes of it."""
    run = policy.acquire(X, budget=max(budgets), on_stop="fallback")
    masks = {}
    for budget in budgets:
        mask = np.zeros(X.shape, dtype=bool)
        rows, steps = np.nonzero(run.order[:, :budget] >= 0)
        mask[rows, run.order[rows, steps]] = True
        masks[budget] = mask
    return masks, run


def judged(judges: Any, X: np.ndarray, mask: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether each judge is right on what a mask shows, bool (judges, n)."""
    return judges.predict_proba(np.where(mask, X, 0), mask).argmax(axis=2) == y


def probabilities(classifier: Any, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The shared classifier on what a mask shows."""
    return classifier.predict_proba(np.where(mask, X, 0), mask)
