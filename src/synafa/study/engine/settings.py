"""What a run of the study is made for: a profile, a seed, the datasets at hand and the folder of results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synafa.errors import SynafaError
from synafa.files import cache_dir
from synafa.study.engine.repetition import REPETITIONS, Repetition
from synafa.study.engine.unit import Unit

PROFILES = ("paper", "standard", "quick")

REAL_DATASETS = ("ckd", "actg175", "bank", "physionet")


@dataclass(frozen=True)
class Settings:
    """The study's settings; `Settings.detect()` fills in the datasets found on this machine.

    Attributes
    ----------
    profile : `paper`, `standard` or `quick`; results of different profiles are never mixed
    seed : base seed of everything random
    datasets : names of the file datasets that are present
    root : folder of results; the results of this profile are in `root / profile`
    repetition : how often everything is trained and drawn; the profile's own by default
    """

    profile: str = "standard"
    seed: int = 0
    datasets: tuple[str, ...] = (*REAL_DATASETS, "mnist-loop")
    root: Path | None = None
    repetition: Repetition | None = None

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise SynafaError(f"The profile must be one of {list(PROFILES)}, got: {self.profile!r}.")
        if self.root is not None:
            object.__setattr__(self, "root", Path(self.root))

    @classmethod
    def detect(cls, profile: str = "standard", seed: int = 0, root: str | os.PathLike[str] | None = None) -> Settings:
        """Settings with the datasets whose files are on this machine."""
        return cls(profile, seed, datasets_present(), None if root is None else Path(root))

    @property
    def repeats(self) -> Repetition:
        """The repetitions in force."""
        return self.repetition if self.repetition is not None else REPETITIONS[self.profile]

    def judges(self, dataset: str) -> tuple[int, ...]:
        """Seeds of the shared classifiers that judge policies on a dataset."""
        return tuple(range(self.seed, self.seed + self.repeats.judges_of(dataset)))

    @property
    def quick(self) -> bool:
        """Cut-down sizes: every experiment end to end in seconds, numbers without meaning."""
        return self.profile == "quick"

    @property
    def miniboone(self) -> bool:
        return "miniboone" in self.datasets

    @property
    def tabular(self) -> tuple[str, ...]:
        """The real tables that are present, in the paper's order."""
        return tuple(name for name in (*REAL_DATASETS, "miniboone") if name in self.datasets)

    @property
    def results(self) -> Path:
        """The folder with this profile's results."""
        return (self.root if self.root is not None else cache_dir() / "study") / self.profile

    def unit(
        self,
        experiment: str,
        module: str,
        version: int,
        parameters: Mapping[str, Any],
        needs: tuple[Unit, ...] = (),
        cost: float = 1.0,
        function: str = "run",
        seed: int | None = None,
    ) -> Unit:
        """A unit of this profile: `settings.unit(NAME, __name__, VERSION, {"dataset": "ckd"}, cost=3)`."""
        return Unit(
            experiment=experiment,
            function=f"{module}:{function}",
            parameters=parameters,
            profile=self.profile,
            seed=self.seed if seed is None else seed,
            version=version,
            needs=needs,
            cost=cost,
        )


def datasets_present() -> tuple[str, ...]:
    """Names of the file datasets whose files are on this machine (found, not yet checked)."""
    from synafa.datasets import sources
    from synafa.datasets.registry import FILES

    return tuple(
        name
        for name, entry in FILES.items()
        if any(all(sources.find(file) for file in variant.files) for variant in entry.variants)
    )
