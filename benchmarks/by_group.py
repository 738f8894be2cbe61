"""Where a model is wrong, on known truths: how often any group is called where the model is right but for chance, and
how often a planted group is found.

`python -m benchmarks.by_group --runs 100 --rows 8000`
"""

from __future__ import annotations

import argparse
import time

from tests.support.planted_groups import KINDS, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    options = parser.parse_args()
    print(
        "| outcome | null tables with a group called | planted group (8% of rows) found first | shift |\n"
        "| --- | --- | --- | --- |"
    )
    began = time.process_time()
    for kind in options.kinds:
        null, planted_first = (
            sum(run(kind, planted, options.rows, seed)[planted] for seed in range(options.runs))
            for planted in (False, True)
        )
        print(f"| {kind} | {null} of {options.runs} | {planted_first} of {options.runs} | {KINDS[kind]} |", flush=True)
    print(f"{time.process_time() - began:.0f} CPU seconds")


if __name__ == "__main__":
    main()
