"""Faults by the hundred: `python -m benchmarks.app.faults`: kills, lost records, wrong model files, bombs.

What each of them does and looks for is in `tests.support`: `kills`, `lost_records`, `openers`, `bombs`. The exit code
is 1 where one of them found a fault.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from typing import Final

from benchmarks.harness.machine import describe
from tests.support import bombs, kills, lost_records, openers

MOST_SECONDS: Final = 2.0
MOST_BYTES: Final = 100_000_000


def main() -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--losses", type=int, default=40, help="of the records, in each way")
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").setLevel(logging.ERROR)
    print(describe("sqlalchemy", "pyarrow"))
    started = time.monotonic()
    bad = kills.kill(asked.kills, asked.seed) if asked.kills else 0
    bad += lost_records.lose(asked.losses, asked.seed) if asked.losses else 0
    print(f"{time.monotonic() - started:.0f} s")
    bad += wrong_files(asked.mutants, asked.seed) if asked.mutants else 0
    bad += explode()
    return 1 if bad else 0


def wrong_files(count: int, seed: int) -> int:
    """Open `count` changed model files, and return how many were neither refused nor fine."""
    results = openers.run(count, seed)
    print(f"{count} model files: {dict(Counter(str(result['outcome']) for result in results))}")
    bad = openers.findings(results)
    for result in bad:
        print(result)
    return len(bad)


def explode() -> int:
    """Load each bomb, and return how many took over two seconds or a hundred megabytes."""
    bad = 0
    for what, (name, data) in bombs.BOMBS.items():
        seconds, growth = bombs.measure(name, data() if callable(data) else data)
        print(f"{what}: {seconds:.2f} s, {growth / 1e6:.0f} MB")
        bad += seconds > MOST_SECONDS or growth > MOST_BYTES
    return bad


if __name__ == "__main__":
    sys.exit(main())
