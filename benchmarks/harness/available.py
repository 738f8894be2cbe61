"""What this version of our library knows, read off its signatures: benchmarks say of the rest that it is not there."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from sklearn.utils import get_tags

from gamcore import GAMClassifier, GAMRegressor
from gamcore.model.losses import LOSSES


def knows_classes() -> bool:
    """Return whether the classifier takes more than two classes."""
    return bool(get_tags(GAMClassifier()).classifier_tags.multi_class)


def lack(parameters: Mapping[str, Any], classes: bool = False, exposure: bool = False) -> str:
    """Return what our estimators lack for a target, in words; an empty string where they lack nothing.

    parameters : of the regressor. classes : whether there are more than two. exposure : whether rows have one.
    """
    if classes:
        return "" if knows_classes() else "GAMClassifier knows two classes"
    unknown = sorted(set(parameters) - set(signature(GAMRegressor).parameters))
    if unknown:
        return f"GAMRegressor has no {unknown[0]}"
    objective = parameters.get("objective", "squared")
    if objective not in LOSSES:
        return f"GAMRegressor has no objective {objective!r}"
    if exposure and "exposure" not in signature(GAMRegressor.fit).parameters:
        return "GAMRegressor.fit has no exposure"
    return ""
