"""Results of the benchmark of page changes: seconds per page, and the goals that were missed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

MEDIAN, P95, FEATURE, FIRST = 0.4, 1.0, 0.4, 5.0
"""Goals in seconds: of all warm page changes, of a next feature (its median), of anything to read on a first visit."""

NAMES = {
    "first": "First visit after a start, kernels compiled before",
    "warm": "Page changes, warm",
    "features": "Next feature on Shapes",
    "empty": "First visit after a start, kernels never compiled",
}
Looks = list[dict[str, Any]]


def quantiles(seconds: Iterable[float]) -> dict[str, float]:
    """Return the number of visits and their median, p95 and slowest."""
    values = np.array(list(seconds))
    if not values.size:
        return {"n": 0, "median": np.nan, "p95": np.nan, "slowest": np.nan}
    middle, high = np.quantile(values, [0.5, 0.95])
    return {"n": values.size, "median": float(middle), "p95": float(high), "slowest": float(values.max())}


def by_page(looks: Looks) -> dict[str, dict[str, float]]:
    """Return the quantiles of each page, the slowest median first."""
    pages = {look["page"] for look in looks}
    visits = {page: quantiles(look["seconds"] for look in looks if look["page"] == page) for page in pages}
    return dict(sorted(visits.items(), key=lambda entry: -entry[1]["median"]))


def lines(result: dict[str, Any]) -> list[str]:
    """Return the result as text."""
    machine = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    text = [machine, f"Other processes took {result['others_cores']:.2f} cores meanwhile."]
    for part in ("warm", "features"):
        text += ["", NAMES[part], f"{'':14}{'n':>4}{'median':>9}{'p95':>8}{'slowest':>9}"]
        whole = quantiles(look["seconds"] for look in result[part])
        for name, row in [*by_page(result[part]).items(), ("all", whole)]:
            text.append(f"{name:14}{row['n']:4.0f}{row['median']:9.2f}{row['p95']:8.2f}{row['slowest']:9.2f}")
    for part in ("first", "empty"):
        if result.get(part):
            text += ["", NAMES[part], f"{'':14}{'to read':>9}{'drawn':>8}  says meanwhile"]
            text += [f"{look['page']:14}{look['first']:9.2f}{look['seconds']:8.2f}  {' | '.join(look['words'])}"
                     for look in result[part]]  # fmt: skip
    return [*text, ""]


def missed(result: dict[str, Any]) -> list[str]:
    """Return the goals that were missed, in words."""
    warm, feature = (quantiles(look["seconds"] for look in result[part]) for part in ("warm", "features"))
    checks = [
        ("median of page changes", warm["median"], MEDIAN),
        ("p95 of page changes", warm["p95"], P95),
        ("median of a next feature", feature["median"], FEATURE),
        *((f"first visit of {look['page']}", look["seconds"], FIRST) for look in result["first"]),
        *((f"something to read on {look['page']}, kernels never compiled", look["first"], FIRST)
          for look in result.get("empty", [])),
    ]  # fmt: skip
    return [f"Missed: {name} is {value:.2f} s, over {goal} s" for name, value, goal in checks if not value < goal]
