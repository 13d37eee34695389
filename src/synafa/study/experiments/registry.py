"""The study's experiments in the report's order: one line each."""

from __future__ import annotations

EXPERIMENTS: dict[str, str] = {
    "benchmark": "synafa.study.experiments.benchmark",
    "alpha-sweep": "synafa.study.experiments.alpha_sweep",
    "fixed-v": "synafa.study.experiments.fixed_v",
    "feasibility": "synafa.study.experiments.feasibility",
    "pair-branch": "synafa.study.experiments.pair_branch",
    "physionet-validation": "synafa.study.experiments.physionet_validation",
    "mnist-loop": "synafa.study.experiments.mnist_loop",
    "amortised": "synafa.study.experiments.amortised",
    "local-search": "synafa.study.experiments.local_search",
    "alignment": "synafa.study.experiments.alignment",
    "collapse": "synafa.study.experiments.collapse",
    "gating": "synafa.study.experiments.gating",
    "leaderboard": "synafa.study.experiments.leaderboard",
    "plan-tree": "synafa.study.experiments.plan_tree",
}
