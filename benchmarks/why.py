"""Why it moved, on known truths: how often 95% intervals cover the truth, and what is called clear where nothing moved.

`python -m benchmarks.why --runs 200`

Both totals at once are covered in some 90% where each is in 95%, as they err nearly apart from each other.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np
import pandas as pd

from gamcore import GAMClassifier, GAMRegressor, Sample, why_moved

PLANTED = {"nothing": (0.0, 1.0, 0.0), "who came": (0.5, 1.0, 0.0), "what changed": (0.0, 0.5, 0.4),
           "both": (0.5, 1.5, 0.3), "opposite": (0.5, 1.0, -0.5)}  # fmt: skip
"""By name the shift of x, its slope in B, and the level of B."""

COVERED = ("came x", "came z", "changed x", "changed z", "level", "who came", "what changed", "both totals")


def parts_of(X: np.ndarray, slope: float) -> np.ndarray:
    return np.column_stack([slope * X[:, 0], np.sin(2 * X[:, 1])])


def drawn(n: int, shift: float, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, 2)) + np.array([shift, 0.0])


def truth(binary: bool, shift: float, slope: float, level: float, n: int = 400_000) -> np.ndarray:
    """Return the parts (composition, behaviour, level) of the true curves over many rows."""
    rng = np.random.default_rng(9)
    groups = [drawn(n, 0.0, rng), drawn(n, shift, rng)]
    means = [np.mean([parts_of(X, s).mean(axis=0) for X in groups], axis=0) for s in (1.0, slope)]
    base = [means[0].sum(), level + means[1].sum()]
    centre = (parts_of(groups[0], slope) - parts_of(groups[0], 1.0)).mean(axis=0)

    def predict(score):
        return 1 / (1 + np.exp(-score)) if binary else score

    def mean_slope(start, end):
        step = end - start
        near = np.abs(step) < 1e-7
        flat = (predict(start + 1e-4) - predict(start - 1e-4)) / 2e-4
        return np.where(near, flat, (predict(end) - predict(start)) / np.where(near, 1.0, step))

    came, changed, up = np.zeros(2), np.zeros(2), 0.0
    for sign, X in zip((-1, 1), groups, strict=True):
        own = [parts_of(X, s) - mean for s, mean in zip((1.0, slope), means, strict=True)]
        score = [b + part.sum(axis=1) for b, part in zip(base, own, strict=True)]
        for k in (0, 1):
            came += sign * (mean_slope(base[k], score[k])[:, None] * own[k]).mean(axis=0) / 2
        along = mean_slope(score[0], score[1])
        change = parts_of(X, slope) - parts_of(X, 1.0) - centre
        changed += (along[:, None] * change).mean(axis=0) / 2
        up += float(along.mean()) * (level + centre.sum()) / 2
    return np.array([*came, *changed, up])


def run(binary: bool, planted: str, n: int, seed: int, right: np.ndarray) -> tuple[list[bool], int]:
    """Return whether each part and both totals cover the truth, and the number of clear features."""
    rng, (shift, slope, level) = np.random.default_rng(seed), PLANTED[planted]
    models, samples = [], []
    for s, f, up in ((0.0, 1.0, 0.0), (shift, slope, level)):
        X = drawn(n, s, rng)
        score = up + parts_of(X, f).sum(axis=1)
        y = rng.random(n) < 1 / (1 + np.exp(-score)) if binary else score + rng.normal(size=n)
        kind = GAMClassifier if binary else GAMRegressor
        frame, target = pd.DataFrame(X, columns=["x", "z"]), np.asarray(y, int if binary else float)
        models.append(kind(bands=30, random_state=seed).fit(frame, target))
        samples.append(Sample(frame, target))
    moved = why_moved(models[0], *samples, models[1])
    estimates, clear = moved.estimates(), moved.clear()
    keys = [("composition", "x"), ("composition", "z"), ("behaviour", "x"), ("behaviour", "z"), ("level", "")]
    covered = [estimates[key].lower <= value <= estimates[key].upper for key, value in zip(keys, right, strict=True)]
    covered += [total.lower <= value <= total.upper for total, value in
                ((moved.composition, right[:2].sum()), (moved.behaviour, right[2:].sum()))]  # fmt: skip
    return covered, sum(clear["composition", name] or clear["behaviour", name] for name in ("x", "z"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    print(f"| outcome | planted | {' | '.join(COVERED)} | clear features |\n|{' --- |' * (len(COVERED) + 3)}")
    began, every = time.process_time(), []
    for place, (binary, planted) in enumerate(product((False, True), PLANTED)):
        right = truth(binary, *PLANTED[planted])
        seeds = range(place * options.runs, (place + 1) * options.runs)  # each with rows of its own
        runs = [run(binary, planted, options.rows, seed, right) for seed in seeds]
        covered = np.array([covers for covers, _ in runs])
        every.append(covered.mean(axis=0))
        shares = [*covered.mean(axis=0), covered[:, -2:].all(axis=1).mean()]
        cells = " | ".join(f"{100 * share:.0f}" for share in shares)
        clear = 100 * np.mean([n_clear for _, n_clear in runs]) / 2
        print(f"| {'binary' if binary else 'number'} | {planted} | {cells} | {clear:.1f} |", flush=True)
    print(f"mean coverage {100 * np.mean(every):.1f}; {time.process_time() - began:.0f} CPU seconds")


if __name__ == "__main__":
    main()
