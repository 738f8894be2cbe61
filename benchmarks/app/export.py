"""How long files take: every format of one plot, and forty plots as slides, PDF and a page.

python -m benchmarks.app.export [--repeats 5]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.harness.machine import describe
from gamcore import GAMClassifier
from gamcore.viz import files as export
from gamcore.viz.files.parts import Report, ReportPart
from gamcore.viz.spec import Plot

PLOTS, ROWS, COLUMNS = 40, 20_000, 40


def curves() -> list[Plot]:
    """Return forty curves of a classifier with bands, each with the maximum number of bins."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(ROWS, COLUMNS)), columns=[f"feature {k}" for k in range(COLUMNS)])
    y = rng.random(ROWS) < 1 / (1 + np.exp(-X.iloc[:, :5].sum(axis=1)))
    model = GAMClassifier(outer_bags=4, bands=10, max_rounds=30, random_state=0).fit(X, y)
    return [model.explain_shape(name).on("points").describe(target="y") for name in X.columns]


def seconds(work: Callable[[], object], repeats: int) -> list[float]:
    """Return how long each of some runs takes."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return taken


def main() -> None:
    """Print one line per format."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--repeats", type=int, default=5)
    repeats = asked.parse_args().repeats
    listed = curves()
    print(describe("matplotlib", "python-pptx", "plotly"))
    for form in export.FORMATS:
        taken = seconds(lambda form=form: export.to_bytes(listed[0], form), repeats)  # type: ignore[misc]
        print(f"one plot, {form}: median {np.median(taken):.3f} s of {repeats}")
    report = Report("Forty plots", "a benchmark", tuple(ReportPart(plot=plot) for plot in listed))
    for kind in ("pptx", "pdf", "html"):
        taken = seconds(lambda kind=kind: export.to_report(report, kind), max(repeats // 2, 1))  # type: ignore[misc]
        print(f"{PLOTS} plots, {kind}: median {np.median(taken):.2f} s, slowest {max(taken):.2f} s")


if __name__ == "__main__":
    main()
