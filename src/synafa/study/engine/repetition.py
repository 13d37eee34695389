"""How often everything that is trained or drawn is repeated: the study's comparisons are over seeds, not over one.

A judge is the shared classifier of one seed. What a policy acquired is judged by all of them; a policy that asks the
classifier itself (AACO, EDDI) is run with one of them at a time, a different draw or training each.
"""

from __future__ import annotations

from dataclasses import dataclass

SMALL = ("ckd", "actg175")  # seconds a training
CHEAP_JUDGES = (*SMALL, "physionet")  # seconds a classifier


@dataclass(frozen=True)
class Repetition:
    """Numbers of repetitions.

    Attributes
    ----------
    judges : shared classifiers a dataset instance
    cheap_judges : where a classifier takes seconds (`CHEAP_JUDGES`)
    draws : draws of AACO's masks; on the sweeps shared out among the five instances
    trainings : trainings of every other trained policy; one an instance on the sweeps
    small_trainings : on the small tables
    instances : instances of the real tables for our own conclusions
    plans : plan trees and panels an instance and budget, each with another judge
    """

    judges: int = 5
    cheap_judges: int = 10
    draws: int = 10
    trainings: int = 3
    small_trainings: int = 5
    instances: int = 5
    plans: int = 3

    def judges_of(self, dataset: str) -> int:
        return self.cheap_judges if dataset in CHEAP_JUDGES else self.judges

    def runs_of(self, dataset: str, drawn: bool, trained: bool, sweep: bool) -> int:
        """How often a policy is drawn or trained on one dataset instance."""
        if drawn:
            return max(1, self.draws // 5) if sweep else self.draws
        if not trained or sweep:
            return 1
        return self.small_trainings if dataset in SMALL else self.trainings


REPETITIONS = {
    "paper": Repetition(),
    "standard": Repetition(),
    "quick": Repetition(judges=2, cheap_judges=2, draws=2, trainings=1, small_trainings=1, instances=2, plans=2),
}
ONCE = Repetition(1, 1, 1, 1, 1, 1, 1)
