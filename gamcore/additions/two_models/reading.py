"""From two fitted models and rows that neither has seen to how they compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gamcore.additions.two_models.compared import Column, TwoModels, spread_of
from gamcore.additions.two_models.parts import Both
from gamcore.data.columns import TableError
from gamcore.data.table import frame_of
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import GAMClassifier
from gamcore.estimators.seen_rows import Estimator, Sample, check_names, check_worth, one_outcome, read_seen
from gamcore.explain.gap import difference
from gamcore.explain.row_groups import columns_of_interest, groups_of


def compare_models(
    first: Estimator, second: Estimator, X: Any, y: Any, sample_weight: Any = None, groups: Any = None,
    exposure: Any = None, init_score: Any = None, *, columns: str | Sequence[str] | None = None, held_out: Any = None,
    of_class: Any = None, worth: float | None = None, names: tuple[str, str] = ("the first", "the second"),
) -> TwoModels:  # fmt: skip
    """Return how two models compare on rows that neither has learned from.

    Which predicts better: the difference of the main metric (the AUC of a class against the others, else the share of
    the loss that is explained) with its interval, paired over rows or clusters. Where they differ, the double lift:
    rows in tenths by the ratio of the two predictions, with what is observed beside both. For whom: by the groups of
    columns, how much more the second predicts. Of models of one quantile, the share of rows below either prediction
    is beside the share that was asked for.

    Parameters
    ----------
    first, second :
        Fitted, to the same outcome; they may read other columns. Numbers are measured by the loss of the first.
    X, y, sample_weight, groups, exposure, init_score :
        As `fit` takes them; X has the columns of both models, and may have more. With an exposure, means are rates per
        unit of it. Rows of one of `groups` belong together, and errors are over these.
    columns :
        The names of the columns by whose groups predictions are compared; all if None.
    held_out : (n,)
        A mask of the rows that neither model has learned from. Without it, all rows are taken for new ones.
    of_class :
        The class whose share is asked about, against all others; of two, the second if None.
    worth :
        Money per unit of the outcome: changes are also given in money, over these rows.
    names :
        Of the models.

    Raises
    ------
    TableError
        Where the models, the rows or a column do not go together; the message says why and what to do.
    """
    check_names(names, "models")
    check_worth(worth)
    X = frame_of(X)  # once: a table may be a stream
    sample = Sample(X, y, sample_weight, groups, exposure=exposure, init_score=init_score)
    (learned, code), (other, other_code) = (one_outcome(model, of_class) for model in (first, second))
    _check_alike(learned, other)
    table, seen, held = read_seen(learned, sample, code, held_out)
    _, beside, _ = read_seen(other, sample, other_code, held_out)
    both = Both(seen.take(held), beside.take(held))
    if not np.isfinite(loss_of(learned).link(both.second.forecast)).all():
        raise TableError(f"{names[1]} predicts values that the loss of {names[0]} does not allow: name it first.")
    everything = np.ones(both.first.y.size, bool)
    metrics = [rows.measured(loss_of(learned), everything) for rows in (both.first, both.second)]
    whole, tenths = both.part(everything), both.tenths()
    asked = [columns] if isinstance(columns, str) else columns
    compared = []
    for name in columns_of_interest(table, asked):
        cut = groups_of(table, name, seen.size, held)
        parts = tuple(both.part(cut.codes == k) for k in range(len(cut.names)))
        if len(parts) > 1 or asked is not None:
            compared.append(Column(cut, parts, spread_of(parts, whole)))
    return TwoModels(
        names=(str(names[0]), str(names[1])), metric="AUC" if loss_of(learned).is_binary else "explained",
        values=(metrics[0].value, metrics[1].value),
        gap=difference(metrics[:1], metrics[1:], [both.first.clusters]),
        tenths=tuple(both.part(tenths == k) for k in range(int(tenths.max()) + 1)), by_ratio=both.by_ratio,
        whole=whole, columns=tuple(sorted(compared, key=lambda column: -column.spread)),
        is_share=loss_of(learned).is_binary, per="row" if exposure is None else "exposure", worth=worth,
        level=None if loss_of(learned).is_of_mean else float(both.first.predicted[0]),
    )  # fmt: skip


def _check_alike(first: Estimator, other: Estimator) -> None:
    """Raise TableError where two models do not predict the same thing."""
    if loss_of(first).is_of_mean != loss_of(other).is_of_mean:
        raise TableError("One model predicts a mean, and the other a quantile: pass two of a kind.")
    if not loss_of(first).is_of_mean and loss_of(first) != loss_of(other):
        raise TableError("The models predict different quantiles: pass two of the same.")
    if loss_of(first).is_binary != loss_of(other).is_binary:
        raise TableError("One model predicts a chance, and the other a number: pass two of a kind.")
    if isinstance(first, GAMClassifier) and isinstance(other, GAMClassifier) and \
            [str(label) for label in first.classes_] != [str(label) for label in other.classes_]:  # fmt: skip
        raise TableError(
            f"The models know the classes {list(first.classes_)} and {list(other.classes_)}: pass two of the same."
        )
    if set(first.model_.given) != set(other.model_.given):
        raise TableError("Only one of the models was fitted with exposure or init_score: fit both alike.")
