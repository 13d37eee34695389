"""`python -m tests.faults [--full] [--seed N] [NAME ...]`: run the campaigns and print class, tries and failures."""

from __future__ import annotations

import argparse
import sys
import time

from tests.faults.campaign import run_campaign
from tests.faults.campaigns import CAMPAIGNS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("names", nargs="*", help="campaigns, by default all")
    parser.add_argument("--full", action="store_true", help="the large number of attempts")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    known = {campaign.name: campaign for campaign in CAMPAIGNS}
    for name in chosen.names:
        if name not in known:
            parser.error(f"there is no campaign {name!r}; there are: {', '.join(known)}")
    failures: list[str] = []
    print("| class | tries | failures | how they ended |\n|---|---:|---:|---|", flush=True)
    start = time.perf_counter()
    for campaign in [known[name] for name in chosen.names] or CAMPAIGNS:
        tally = run_campaign(campaign, campaign.full if chosen.full else campaign.small, chosen.seed)
        ended = ", ".join(f"{count} {word}" for word, count in sorted(tally.outcomes.items()))
        print(f"| {tally.name} | {tally.tries} | {len(tally.failures)} | {ended} |", flush=True)
        failures += tally.failures
    print(f"\n{time.perf_counter() - start:.0f} s", file=sys.stderr)
    for failure in failures[:50]:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
