"""From a fitted model and rows that it has not seen to where it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gamcore.additions.by_group.calibration import CalibrationByGroup, Column
from gamcore.additions.by_group.judged import Moments, judged
from gamcore.additions.by_group.quality import Metric
from gamcore.estimators.base import loss_of
from gamcore.estimators.seen_rows import Estimator, Sample, one_outcome, read_seen
from gamcore.explain.row_groups import columns_of_interest, groups_of


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
    model, code = one_outcome(model, of_class)
    sample = Sample(X, y, sample_weight, groups, exposure=exposure, init_score=init_score)
    table, rows, held = read_seen(model, sample, code, held_out)
    seen = rows.take(held)
    asked = [columns] if isinstance(columns, str) else columns
    cuts = [groups_of(table, name, rows.size, held) for name in columns_of_interest(table, asked)]
    if asked is None:
        cuts = [cut for cut in cuts if len(cut.names) > 1]
    moments, main = Moments.of(seen), Metric(loss_of(model), seen)
    known = {bins.feature.column for bins in model.model_.bins}
    judged_cuts = []
    for cut in cuts:
        parts = [cut.codes == k for k in range(len(cut.names))]
        each = tuple(judged(seen, moments, here, learned) for here, learned in zip(parts, cut.learned, strict=True))
        judged_cuts.append(Column(cut, each, tuple(main.of(here) for here in parts), cut.column in known))
    everything, learned = np.ones(seen.y.size, bool), float(rows.size[~held].sum())
    return CalibrationByGroup(
        judged(seen, moments, everything, learned), tuple(judged_cuts), metric=main.name, quality=main.of(everything),
        is_share=seen.kind == "share", per="row" if exposure is None else "exposure",
        outcome="the outcome" if loss_of(model).is_of_mean else "rows below the prediction",
    )  # fmt: skip
