"""Run the benchmarks named on the command line (`core`, `classifier`, ...), or all of them.

The last line names every aim that was missed, and the exit status is 1 then.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.measure import MISSED


def main() -> None:
    there = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    for name in sys.argv[1:] or there:
        if name not in there:
            sys.exit(f"There is no benchmark {name!r}; there are: {', '.join(there)}.")
        print(f"== {name}", flush=True)
        import_module(f"benchmarks.bench_{name}").main()
    if MISSED:
        sys.exit(f"{len(MISSED)} aims were missed: {'; '.join(MISSED)}.")


if __name__ == "__main__":
    main()
