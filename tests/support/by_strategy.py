"""Tests of strategies that tests of ours read: arms as they were simulated, without a column of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.decide.arms import ArmsTest, ByStrategy, ReadOut, read_arms
from gamcore.decide.experiment_plan import MetricRole

ARM: Final = "who got what"


def read_strategies(
    frame: pd.DataFrame, treated: Any, place: Any, names: Sequence[str], metrics: Mapping[str, MetricRole], *,
    arms: Sequence[str] = ("treated",), shares: Sequence[float] | None = None,
    planned: Mapping[tuple[str, str], float] | None = None, **set_up: Any,
) -> ReadOut:  # fmt: skip
    """Return the read-out. treated : (n,) 0 or False for the control, else 1 + the index in `arms`. place : (n,) of the
    strategy in `names`. shares : planned, the control's first. set_up : of `ArmsTest`."""
    labels = ["control", *arms]
    got = np.array(labels, object)[np.asarray(treated, np.int64)]
    parts = None if shares is None else dict(zip(labels, shares, strict=True))
    test = ArmsTest(ARM, "control", metrics, shares=parts, treated=tuple(arms), **set_up)
    return read_arms(frame.assign(**{ARM: got}), test, by=ByStrategy(place, names, planned or {}))
