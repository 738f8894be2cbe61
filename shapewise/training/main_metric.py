"""The one metric by which a model is named and compared: the first of these that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from gamcore.common.numbers import fixed, number, percent


@dataclass(frozen=True)
class MainMetric:
    """A held-out metric. say : its value as text; finely : the same for small changes. rises : whether more is
    better."""

    key: str
    label: str
    say: Callable[[float], str]
    finely: Callable[[float], str]
    rises: bool = True

    def change(self, by: float) -> str:
        """Return a change as text with its sign."""
        return f"{'+' if by > 0 else '-'}{self.finely(abs(by))}"


_three, _four = partial(fixed, decimals=3), partial(fixed, decimals=4)
MAIN: Final = (
    MainMetric("auc", "AUC", _three, _four),
    MainMetric("class_auc", "mean AUC of the classes", _three, _four),
    MainMetric("explained", "share explained", percent, partial(percent, decimals=2)),
    MainMetric("qini", "Qini", number, number),
    MainMetric("rmse", "RMSE", number, number, rises=False),
)


def main_metric(metrics: Mapping[str, float]) -> MainMetric | None:
    """Return the main one of some metrics; None where there is none."""
    return next((metric for metric in MAIN if metric.key in metrics), None)


def main_metric_words(metrics: Mapping[str, float]) -> str:
    """Return the main one of some metrics with its name; empty where there is none."""
    metric = main_metric(metrics)
    if metric is None:
        return ""
    if metric.key == "explained":
        return f"{metric.say(metrics[metric.key])} explained"
    return f"{metric.label} {metric.say(metrics[metric.key])}"
