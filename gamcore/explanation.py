"""What every explanation answers to: its numbers, its sentence, and its picture, still or interactive.

An explanation is frozen data with a description in `gamcore.viz.plots`: curves, joint effects, importances, the parts
of predictions, tasks, drift, profiles, costs, strategies, plans and read-outs of tests. What is a table already (a
ranking of pairs, the similarity of tasks) is a DataFrame, and what is a sentence already (a rule, a change) is one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd


class Explanation:
    """Data that a notebook shows: a still picture where a cell ends with it, and what it is made from on request."""

    def frame(self) -> pd.DataFrame:
        """Return the numbers as a table."""
        table: pd.DataFrame = _drawing().described(self).numbers
        return table

    def words(self) -> str:
        """Return what the picture shows, in a sentence."""
        return f"{_drawing().described(self).title}."

    def plot(self, mode: Literal["light", "dark"] = "light", **words: Any) -> Any:
        """Return an interactive plotly figure; ImportError without plotly, which `shapewise[plots]` installs.

        words : arguments of `gamcore.viz.plots.describe`, such as target, detail and title.
        """
        return _drawing().figure(self, mode, **words)

    def _repr_html_(self) -> str:
        """Return a still picture with its sentence, for notebooks: SVG without scripts, in the notebook's theme."""
        text: str = _drawing().html(self)
        return text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the sentence where IPython has only text: the arrays would fill pages."""
        printer.text(self.words())


def _drawing() -> Any:
    """Return the module that draws. It knows all explanations, so none of them can import it: it is looked up by name
    when it is needed, as `gamcore` looks up its own names."""
    return import_module("gamcore.viz.html.explanations")
