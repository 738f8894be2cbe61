"""What every explanation answers to: its numbers, its sentence, and its picture, still or interactive.

An explanation is frozen data that describes its own plot: curves, joint effects, importances, the parts of predictions,
tasks, drift, profiles, costs, strategies, plans and read-outs of tests. What is a table already (a ranking of pairs,
the similarity of tasks) is a DataFrame, and what is a sentence already (a rule, a change) is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from gamcore.viz.palette import Mode
    from gamcore.viz.spec import Plot


class Explanation(ABC):
    """Data that a notebook shows: a still picture where a cell ends with it, and what it is made from on request.

    Drawing is imported where something is drawn, since most who compute an explanation never draw it.
    """

    @abstractmethod
    def describe(self, **words: Any) -> Plot:
        """Return the plot, which `gamcore.viz` draws.

        words : where they apply, target (what is predicted), detail (the line under the title) and title; and what a
        kind of explanation has besides.
        """

    def frame(self) -> pd.DataFrame:
        """Return the numbers as a table."""
        return self.describe().numbers

    def words(self) -> str:
        """Return what the picture shows, in a sentence."""
        return f"{self.describe().title}."

    def plot(self, mode: Mode = "light", **words: Any) -> Any:
        """Return an interactive plotly figure; ImportError without plotly, which `shapewise[plots]` installs.

        words : arguments of `describe`, such as target, detail and title.
        """
        from gamcore.viz.plotly_figures import draw

        return draw(self.describe(**words), mode)

    def _repr_html_(self) -> str:
        """Return a still picture with its sentence, for notebooks: SVG without scripts, in the notebook's theme."""
        from gamcore.viz.html import framed, still

        return framed(still(self.describe()))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the sentence where IPython has only text: the arrays would fill pages."""
        printer.text(self.words())
