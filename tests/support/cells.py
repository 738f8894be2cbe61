"""The cells of features as rows have them, by which claims about curves are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from gamcore.data.binning import Bins
from gamcore.data.table import Table, read_feature
from gamcore.explain.curves import Curve


def cells_of(X: pd.DataFrame, bins: Bins) -> Any:
    """Return a feature's cells (n,): numbers, days or texts."""
    values = read_feature(Table(X), bins.feature)
    return np.array([*bins.feature.levels, ""], object)[values] if bins.feature.is_category else values


def group_of(model: Any, curve: Curve, X: pd.DataFrame, codes: Any) -> Any:
    """Return the cells and the joint effects of a curve's feature and those that it shares an effect with."""
    places = [k for k, bins in enumerate(model.bins) if bins.feature.name in (curve.feature, *curve.shared_with)]
    places.sort(key=lambda k: model.bins[k].feature.name != curve.feature)
    effects = sum(model.terms[k].scores[codes[k]] for k in places)
    return [cells_of(X, model.bins[k]) for k in places], effects
