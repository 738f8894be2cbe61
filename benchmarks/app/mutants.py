"""Open wrong model files by the thousand: `python -m benchmarks.app.mutants --count N --seed S [--level L] [--json
FILE]`.

`tests.support.openers` says how, and what counts as a finding. The exit code is 1 where there is one."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from benchmarks.harness.machine import describe
from tests.support import openers
from tests.support.mutants import LEVELS


def main() -> None:
    """Print the outcomes by level, and the findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--level", nargs="*", default=[], choices=list(LEVELS), help="at which to change; any if none")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    results = openers.run(asked.count, asked.seed, asked.level)
    counts = Counter((result.get("level", "?"), result["outcome"]) for result in results)
    for level, outcome in sorted(counts):
        print(f"{level:10} {outcome:16} {counts[level, outcome]:6,}")
    for outcome, number in Counter(result["outcome"] for result in results).most_common():
        print(f"{'all':10} {outcome:16} {number:6,}")
    beyond = max(result.get("peak", 0) - openers.TIMES * result.get("bytes", 0) for result in results)
    print(f"most allocated beyond {openers.TIMES} times the file: {beyond:,} bytes")
    for finding in openers.findings(results):
        print(finding)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": describe(), "seed": asked.seed, "files": results}, indent=1))
    sys.exit(bool(openers.findings(results)))


if __name__ == "__main__":
    main()
