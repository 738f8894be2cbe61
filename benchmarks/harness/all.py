"""Run all measurements, then write their page: `python -m benchmarks.harness.all --data DIR --json DIR`.

A run can be resumed: existing results are kept. `--small` tries everything on sizes too small to measure speed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.harness.cells import run_module

Arguments = list[object]

ONE_FILE = ("steps", "live")
"""Measurements that are made whole or not at all."""

MODULES = {"live": "benchmarks.app.live"}
"""Modules outside `benchmarks.boosting`."""

SMALL: dict[str, Arguments] = {
    "peers": ["--tables", "pole", "--models", "ours-fast-2", "ours-balanced-2", "lightgbm-additive", "--seeds", 1],
    "steps": ["--rows", 10_000, "--repeats", 2, "--seconds", 0.005],
    "scale": ["--rows", 10_000, 100_000, 200_000, "--features", 5, 50, "--seconds", 0.1, "--train-rows", 100_000],
    "live": ["--table", "pole", "--changes", 2],
}


def commands(data: Path, folder: Path, doc: Path) -> dict[str, Arguments]:
    """Return the arguments of every command, in order."""
    peers = folder / "peers"
    steps, scale, live = (folder / f"{name}.json" for name in ("steps", "scale", "live"))
    return {
        "peers": ["--data", data, "--json", peers],
        "steps": ["--json", steps],
        "scale": ["--train", "--json", scale],
        "live": ["--data", data, "--json", live],
        "report": [
            "--peers", peers, "--steps", steps, "--scale", scale, "--live", live, "--doc", doc,
        ],
    }  # fmt: skip


def main() -> None:
    """Run every command; stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the real tables (Parquet)")
    parser.add_argument("--json", type=Path, required=True, help="folder of all results; existing ones are kept")
    parser.add_argument("--doc", type=Path, default=Path("docs/benchmarks/libraries.md"))
    parser.add_argument("--small", action="store_true", help="try everything on tiny sizes")
    asked = parser.parse_args()
    for name, arguments in commands(asked.data, asked.json, asked.doc).items():
        module = MODULES.get(name, f"benchmarks.boosting.{name}")
        if name in ONE_FILE and (asked.json / f"{name}.json").exists():
            continue
        fault = run_module(module, [*arguments, *(SMALL.get(name, []) if asked.small else [])])
        if fault:
            sys.exit(f"{module}: {fault}")


if __name__ == "__main__":
    main()
