"""Concurrent fits and predictions in many threads: `python -m benchmarks.boosting.threads [--threads N] [--times N]`.

`tests.support.concurrent_fits` says what they do. The exit code is 1 if a hash differs or the process crashes.
"""

from __future__ import annotations

import argparse
import json
import sys

from benchmarks.harness.machine import describe
from tests.support.concurrent_fits import run


def main() -> None:
    """Print the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--times", type=int, default=200)
    asked = parser.parse_args()
    report = run(asked.threads, asked.times)
    print(json.dumps({"machine": describe(), **report}, indent=1))
    sys.exit(bool(report["ended"] or report["differ"]))


if __name__ == "__main__":
    main()
