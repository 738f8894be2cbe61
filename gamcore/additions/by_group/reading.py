"""From a fitted model and rows that it has not seen to where it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from gamcore.additions.by_group.calibration import CalibrationByGroup, Column
from gamcore.additions.by_group.groups import columns_of_interest, groups_of
from gamcore.additions.by_group.judged import Moments, Seen, judged
from gamcore.additions.by_group.quality import Metric
from gamcore.data.columns import TableError
from gamcore.data.rows import read_clusters, read_log_exposure, read_weight
from gamcore.data.table import Table, frame_of
from gamcore.data.targets import codes_of
from gamcore.estimators.gam import ClassView, GAMClassifier, GAMRegressor
from gamcore.types import Bools, Floats

Estimator = GAMRegressor | GAMClassifier


def calibration_by_group(
    model: Estimator, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, exposure: Any = None,
    init_score: Any = None, *, columns: str | Sequence[str] | None = None, held_out: Any = None, of_class: Any = None,
) -> CalibrationByGroup:  # fmt: skip
    """Return what is observed and what a model predicts by the groups of columns: where it is wrong, and for whom.

    A column may be one that the model does not read. Its groups are its levels (of many, the most frequent ones), or
    bins of its numbers or dates, and its missing cells. A group is called wrong where its outcomes differ from what is
    predicted by more than chance, after Holm's correction over all groups of all columns. The main metric by group (AUC
    of two classes, else the share of the loss that is explained) is given beside; it is no error if it differs, since
    groups differ in how much there is to tell apart.

    Parameters
    ----------
    model :
        Fitted.
    X, y, sample_weight, groups, exposure, init_score :
        As `fit` takes them; X may have more columns. With an exposure, means are rates per unit of it. Rows of one of
        `groups` belong together, and errors are over these.
    columns :
        The names of the columns that are asked about; all if None.
    held_out : (n,)
        A mask of the rows that the model has not learned from. It has learned from the others, which say how far it may
        be off by chance in each group. Without it, all rows are taken for new ones.
    of_class :
        The class whose share is asked about, against all others; of two, the second if None.

    Raises
    ------
    TableError
        Where the model, the rows or a column do not allow it; the message says why and what to do.
    """
    model, code = _one_outcome(model, of_class)
    given = {"sample_weight": sample_weight, "groups": groups, "exposure": exposure, "init_score": init_score}
    table, rows, held = _read(model, X, y, given=given, held_out=held_out, code=code)
    seen = rows.take(held)
    asked = [columns] if isinstance(columns, str) else columns
    cuts = [groups_of(table, name, rows.size, held) for name in columns_of_interest(table, asked)]
    if asked is None:
        cuts = [cut for cut in cuts if len(cut.names) > 1]
    moments, main = Moments.of(seen), Metric(model.loss, seen)
    known = {bins.feature.column for bins in model.model_.bins}
    made = []
    for cut in cuts:
        parts = [cut.codes == k for k in range(len(cut.names))]
        each = tuple(judged(seen, moments, here, learned) for here, learned in zip(parts, cut.learned, strict=True))
        made.append(Column(cut, each, tuple(main.of(here) for here in parts), cut.column in known))
    everything, learned = np.ones(seen.y.size, bool), float(rows.size[~held].sum())
    return CalibrationByGroup(
        judged(seen, moments, everything, learned), tuple(made), metric=main.name, quality=main.of(everything),
        is_share=seen.kind == "share", per="row" if exposure is None else "exposure",
        outcome="the outcome" if model.loss.is_of_mean else "rows below the prediction",
    )  # fmt: skip


def _one_outcome(model: Estimator, of_class: Any) -> tuple[Estimator, int]:
    """Return a model of one outcome, and the code of what is asked about; of several classes, one against the rest."""
    if not isinstance(model, GAMRegressor | GAMClassifier):
        raise TableError(f"A {type(model).__name__} has no one outcome: pass a GAMRegressor or a GAMClassifier.")
    check_is_fitted(model, "model_")
    if isinstance(model, GAMRegressor):
        if of_class is not None:
            raise TableError(f"of_class is {of_class!r} and the model predicts a number: leave of_class out.")
        return model, 1
    if isinstance(model, ClassView):
        return model, 1
    if model.n_scores > 1:
        if of_class is None:
            raise TableError(f"The model has {len(model.classes_)} classes: choose one of them with of_class.")
        return model.of_class(of_class), 1
    return model, 1 if of_class is None else int(codes_of([of_class], model.classes_)[0])


def _read(
    model: Estimator, X: Any, y: Any, given: dict[str, Any], held_out: Any, code: int
) -> tuple[Table, Seen, Bools]:
    """Return the rows of positive weight: all their columns, what is seen and predicted, and which are held out."""
    framed, target = frame_of(X), model.read_target(y)
    own = model.read_table(_columns(model, framed), reset=False)
    table = Table.of(framed) if isinstance(framed, pd.DataFrame) else own
    held = np.ones(target.size, bool) if held_out is None else read_mask(held_out, target.size)
    if len(table) != target.size:
        raise TableError(f"The table has {len(table)} rows and the target {target.size}: give one target per row.")
    for name in model.model_.given:
        if given[name] is None:
            raise TableError(f"The model was fitted with {name}: pass {name}, too.")
    weight = np.ones(target.size) if given["sample_weight"] is None else read_weight(given["sample_weight"], target)
    exposure = np.ones(target.size)
    if given["exposure"] is not None:
        exposure = np.exp(read_log_exposure(given["exposure"], target.size))
    clusters = None if given["groups"] is None else read_clusters(given["groups"], target.size)
    seen = Seen.of(model.loss, _outcome(model, target, code), _predicted(model, own, given, code), weight, exposure,
                   clusters)  # fmt: skip
    kept = weight > 0
    if not (held & kept).any():
        raise TableError("No row is held out with a positive weight: hold out some.")
    if kept.all():
        return table, seen, held
    return table.take(kept), seen.take(kept), held[kept]


def _columns(model: Estimator, framed: Any) -> Any:
    """Return the columns of a table that a model reads."""
    if not isinstance(framed, pd.DataFrame) or not hasattr(model, "feature_names_in_"):
        return framed
    framed = framed.set_axis([str(name) for name in framed.columns], axis=1)
    if lacking := [name for name in model.feature_names_in_ if name not in framed.columns]:
        raise TableError(f"The table has no column {lacking[0]!r}, which the model reads: add it.")
    return framed[list(model.feature_names_in_)]


def _outcome(model: Estimator, target: Floats, code: int) -> Floats:
    return (target == code).astype(np.float64) if model.loss.is_binary else target.astype(np.float64)


def _predicted(model: Estimator, own: Table, given: dict[str, Any], code: int) -> Floats:
    """Return what is expected of each row (n,), of its whole exposure."""
    if isinstance(model, GAMRegressor):
        return model.predict(own, given["exposure"], given["init_score"])
    return np.asarray(model.predict_proba(own, given["init_score"])[:, code])


def read_mask(held_out: Any, n: int) -> Bools:
    """Return a mask (n,) of rows."""
    mask = np.asarray(held_out)
    if mask.shape != (n,) or mask.dtype != bool:
        raise TableError(f"held_out has the shape {mask.shape} and the type {mask.dtype}: give True or False per row, "
                         f"{n} of them.")  # fmt: skip
    return mask
