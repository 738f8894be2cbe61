"""What a model says of the rows of a table, all together, in a sentence."""

from __future__ import annotations

import pandas as pd

from gamcore.common.numbers import counted, number, percent
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.scoring.score_rows import Scorer


def summary(estimator: GAMRegressor | GAMClassifier, frame: pd.DataFrame) -> str:
    """Return the mean and the middle half of the predictions of some rows; of several classes, the share of each.

    ScoreError where the rows cannot be scored."""
    scored = Scorer(estimator, 0, frame.columns)(frame)
    predicted = scored.iloc[:, 0]  # a prediction, a rate, or the likeliest class
    if not pd.api.types.is_numeric_dtype(predicted):
        shares = predicted.value_counts(normalize=True)
        likeliest = "; ".join(f"{label} in {percent(share)}" for label, share in shares.items())
        return f"The likeliest class of {counted(len(frame), 'row')}: {likeliest}."
    write = percent if isinstance(estimator, GAMClassifier) else number
    low, high = predicted.quantile([0.25, 0.75])
    what = "rate" if "rate" in scored else "prediction"
    return (
        f"The mean {what} of {counted(len(frame), 'row')} is {write(predicted.mean())}; the middle half of them lies "
        f"between {write(low)} and {write(high)}."
    )
