"""An answer as a page of a report, and the sentences below its waterfall: on pages and in reports they are the same."""

from __future__ import annotations

import math
from dataclasses import replace

from gamcore import WhyMoved
from gamcore.additions.why.moved import By
from gamcore.additions.why.shares import Estimate
from gamcore.common.numbers import alike, count
from gamcore.viz.files.parts import ReportPart


def page(moved: WhyMoved, target: str, per: str, note: str = "", by: By = "term") -> ReportPart:
    """Return the waterfall, titled with the difference, and its parts in words.

    moved : with its terms as people call them. target : the outcome in words. per : what its size is counted in, in
    the plural. note : what the detail ends with. by : what the bars are.
    """
    difference, *parts = [claim.words() for claim in moved.claims(by)]
    plot = moved.describe(target=target, by=by, title=f"{target}, {difference}")
    text = "; ".join(parts)
    lines = [f"{text[0].upper()}{text[1:]}."]
    if moved.worth is not None:
        lines.append(_in_money(moved, moved.worth, per))
    return ReportPart(plot=replace(plot, detail=" · ".join(filter(None, (plot.detail, note)))), text=lines)


def _in_money(moved: WhyMoved, worth: float, per: str) -> str:
    """Return what the difference comes to in the second group, and who came of it."""
    factor = moved.size * worth

    def money(part: Estimate) -> str:
        ends = sorted(factor * end for end in part.interval) if math.isfinite(part.lower) else []
        value, *interval = alike([factor * part.value, *ends], signed=True)
        return f"{value} ({' to '.join(interval)})" if interval else value

    return (
        f"In money, over {count(moved.size)} {per} of {moved.names[1]}: {money(moved.gap)}, of which "
        f"{money(moved.composition)} who came."
    )
