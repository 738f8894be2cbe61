"""A flow as data: its steps, how many reach each, and the shares of these who go on to others or leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from gamcore.common.numbers import count, percent
from gamcore.stats.intervals import Interval, wilson
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

LEAVES: Final = "(leaves)"


@dataclass(frozen=True)
class Edge:
    """Cases that go from one step straight to another, or leave there (`target` None).

    n : how many do so at least once. reached : how many reach the source.
    """

    source: str
    target: str | None
    n: int
    reached: int

    @property
    def share(self) -> float:
        """The share of those who reach the source: the transition probability."""
        return self.n / self.reached

    @property
    def interval(self) -> Interval:
        """Wilson's 95% interval of the share."""
        return wilson(self.share, self.reached)

    def name(self) -> str:
        """Return the edge in words."""
        return f"{self.source}: leaves" if self.target is None else f"{self.source} → {self.target}"


@dataclass(frozen=True)
class Flow(Explanation):
    """Steps in the order in which most cases reach them, how many of the `n` cases reach each, and the edges from each,
    the most frequent first.

    A case that passes a step several times counts once for each way that it goes on from there, so shares may add up to
    more than 1; with no step passed twice, those from a step and of leaving there add up to 1.
    """

    steps: tuple[str, ...]
    reached: tuple[int, ...]
    edges: tuple[Edge, ...]
    n: int

    def words(self) -> str:
        """Return where most leave, in a sentence."""
        leaving = [edge for edge in self.edges if edge.target is None]
        most = max(leaving, key=lambda edge: edge.n)
        more = ", more than anywhere else" if len(leaving) > 1 else ""
        return f"Of {count(most.reached)} who reach {most.source}, {percent(most.share)} leave there{more}."

    def describe(self, **words: Any) -> Plot:
        """Return a bar per edge: its share of those who reach its source, and the interval."""
        from gamcore.additions.flow.plots import flow_bars

        return flow_bars(self, **words)

    def frame(self) -> pd.DataFrame:
        """Return one row per edge."""
        rows = [
            {"from": edge.source, "to": LEAVES if edge.target is None else edge.target, "cases": edge.n,
             "of": edge.reached, "share": edge.share, "lower": edge.interval[0], "upper": edge.interval[1]}
            for edge in self.edges
        ]  # fmt: skip
        return pd.DataFrame(rows)
