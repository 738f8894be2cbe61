"""The difference between two groups as a waterfall: who came in one colour, what changed in another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gamcore.additions.why.claims import Kind, Sizes
from gamcore.additions.why.shares import Estimate
from gamcore.data.labels import cut
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, Bars, ColorRole, Line, Mark, Panel, Plot, Whiskers, single

if TYPE_CHECKING:
    from gamcore.additions.why.moved import By, WhyMoved

ROLES: Final[dict[Kind, ColorRole]] = {
    "composition": "primary", "behaviour": "accent", "level": "accent", "residual": "few"
}  # fmt: skip
ROW: Final = 28
MOST_BARS: Final = 6
"""Of either colour, beside that of the smaller ones together."""


def waterfall(
    moved: WhyMoved, by: By = "term", most: int = MOST_BARS, target: str = "", title: str = "", detail: str = ""
) -> Plot:
    """Return bars from the mean of one group to that of the other: composition, then behaviour, each the largest first.

    most : bars of either; the smaller ones are one bar, with the interval of their sum.
    """
    bars = bars_of(moved, by, most)
    steps = np.array([estimate.value for _, _, estimate in bars])
    starts = moved.rate_a + np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    ends = np.array([[estimate.lower, estimate.upper] for _, _, estimate in bars])
    sizes = Sizes.of([moved.gap.value, *steps], moved.is_share)
    labels = [sizes.change(estimate, unit=False) for _, _, estimate in bars]
    at = np.arange(1.0, len(bars) + 1)
    names = {
        "composition": "who came", "behaviour": "what changed",
        "residual": "not explained by who came" if moved.is_one_model else "left over",
    }  # fmt: skip
    marks: list[Mark] = [Line(moved.rate_a, True), Line(moved.rate_b, True)]
    kinds: list[Kind] = ["composition", "behaviour", "level", "residual"]
    for kind in kinds:
        mine = np.array([its_kind == kind for its_kind, _, _ in bars], bool)
        if mine.any():
            hover = [
                f"{cut(name, 400)}\n{label}{_between(sizes, estimate)}"
                for (its_kind, name, estimate), label in zip(bars, labels, strict=True) if its_kind == kind
            ]  # fmt: skip
            marks.append(Bars(at[mine], steps[mine], starts[mine], roles=ROLES[kind], lying=True,
                              name=names.get(kind, ""), hover=hover))  # fmt: skip
    known = np.isfinite(ends).all(axis=1) & (ends[:, 1] > ends[:, 0])
    marks.append(Whiskers(at[known], (starts + ends[:, 0])[known], (starts + ends[:, 1])[known], "ink", 1.4,
                          lying=True))  # fmt: skip
    drawn = np.concatenate([[moved.rate_a, moved.rate_b], starts, *(starts[known] + ends[known].T)])
    margin = 0.06 * (float(np.ptp(drawn)) or abs(moved.rate_a) or 1.0)
    what = target or ("share" if moved.is_share else "mean")
    x = Axis(what, limits=(float(drawn.min()) - margin, float(drawn.max()) + margin),
             format="percent" if moved.is_share else "plain", grid=True)  # fmt: skip
    groups = [(name, f": {sizes.mean(mean)}") for name, mean in zip(moved.names, moved.means, strict=True)]
    first, last = (cut(name, MOST_LABEL - len(mean)) + mean for name, mean in groups)
    middle = [f"{cut(name, MOST_LABEL - 8)}  {label}" for (_, name, _), label in zip(bars, labels, strict=True)]
    y = level_axis([first, *middle, last])
    headline = moved.claims(by)[0].words()
    return Plot(
        "why", title or f"{headline[0].upper()}{headline[1:]}", detail or moved.notes,
        panels=single(Panel(x, y, tuple(marks))), words=moved.words(), numbers=moved.frame(by),
        height=90 + ROW * (len(bars) + 2), legend="left",
    )  # fmt: skip


def _between(sizes: Sizes, estimate: Estimate) -> str:
    interval = sizes.interval(estimate)
    return f" ({interval})" if interval else ""


def bars_of(moved: WhyMoved, by: By = "term", most: int = MOST_BARS) -> list[tuple[Kind, str, Estimate]]:
    """Return the bars in their order: kind, name and estimate. They stand at the places 1, 2, ..."""
    names, shares = moved.groups(by)
    estimates = moved.estimates(by)
    bars: list[tuple[Kind, str, Estimate]] = []
    kinds: tuple[Kind, ...] = ("composition",) if moved.is_one_model else ("composition", "behaviour")
    for kind in kinds:
        order = sorted(range(len(names)), key=lambda k: -abs(estimates[kind, names[k]].value))
        few = most if len(order) > most + 1 else len(order)
        bars += [(kind, names[k], estimates[kind, names[k]]) for k in order[:few]]
        if rest := order[few:]:
            sums = moved._sum(moved._of(kind, shares[rest].sum(axis=0)), kind)
            bars.append((kind, f"{len(rest)} smaller", sums))
    if not moved.is_one_model:
        bars.append(("level", "all rows alike", moved.level))
    left = "not explained" if moved.is_one_model else "left over"
    return [*bars, ("residual", left, moved.residual)]
