"""The settings of multi-task trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from gamcore.estimators.base import TableEstimator
from gamcore.estimators.parameters import (
    MAX_ROUNDS,
    MOST_REFITS,
    Input,
    one_of,
    parameter,
    real,
    whole,
)
from gamcore.kernels import tree_splits as criteria
from gamcore.kernels.tree_growth import Growth
from gamcore.kernels.tree_splits import Splitting
from gamcore.model.losses import objectives
from gamcore.multitask.boosting import TaskParameters

CRITERIA: Final = {
    "none": criteria.NONE,
    "entropy": criteria.ENTROPY,
    "entropy_per_row": criteria.ENTROPY_PER_ROW,
    "variance": criteria.VARIANCE,
    "variance_relative": criteria.VARIANCE_RELATIVE,
    "pooled": criteria.POOLED,
}


@dataclass(eq=False, repr=False, kw_only=True)
class MultiTaskParameters(TableEstimator):
    """Settings of the multi-task regressor and classifier."""

    outer_bags: int = parameter(
        8, whole(1, MOST_REFITS), "Refits that are averaged, each with its own validation rows.",
        form=Input("Refits", "Models that are averaged, each with its own validation rows.", 1, 100),
    )  # fmt: skip
    learning_rate: float = parameter(
        0.1, real(0.0, 1.0, "right"), "Share of each tree that is taken.",
        form=Input("Learning rate", "Share of each tree that is taken. Smaller is smoother, and slower.",
                    low=0.001, high=1.0, step=0.01, format="%.3f"),
    )  # fmt: skip
    max_depth: int = parameter(
        3, whole(1, 12), "Depth of the trees, which grow level by level.",
        form=Input("Depth per tree", "Splits in a row that a tree may make.", 1, 12),
    )  # fmt: skip
    max_leaves: int | None = parameter(
        None, [*whole(2, 4096), None], "Leaves per tree; where there is a number, the best leaf is split first."
    )
    early_stopping_rounds: int = parameter(
        20, whole(1, MAX_ROUNDS), "Rounds without improvement after which a task leaves the common trees.",
        form=Input("Patience, in rounds", "Rounds without improvement after which a task quits.", 1, 1000),
    )  # fmt: skip
    max_rounds: int = parameter(
        300, whole(1, MAX_ROUNDS), "Maximum number of common trees.",
        form=Input("Most common rounds", "Most trees that all tasks share.", 1, 10_000),
    )  # fmt: skip
    specific_rounds: int = parameter(
        300, whole(0, MAX_ROUNDS), "Maximum number of a task's own trees.",
        form=Input("Most own rounds", "Most trees of a task's own. 0: none.", 0, 10_000),
    )  # fmt: skip
    min_validation_rows: int = parameter(
        10, whole(1),
        "Tasks with fewer validation rows follow the pooled loss, and have no trees of their own.",
        form=Input("Validation rows to decide alone",
                    "A task with fewer quits with all others, and has no trees of its own.", 1, 10_000),
    )  # fmt: skip
    validation_fraction: float = parameter(
        0.2, real(0.0, 0.9, "both"), "Share of each task's rows held out of a refit, to stop it in time.",
        form=Input("Validation share", "Share of each task's training rows that stops a refit in time.",
                    0.0, 0.5, 0.05),
    )  # fmt: skip
    l2: float = parameter(
        10.0, real(0.0, np.inf, "left"),
        "Rows of effect 0 that are added to a leaf (lambda, in units of a row's hessian at the start); rows with an "
        "event, where counts are rare or amounts have zeros.",
        form=Input("Shrinkage of leaves", "Rows of effect 0 that are added to each leaf (lambda).", 0.0, 1000.0, 1.0),
        paper="lambda",
    )  # fmt: skip
    min_child_weight: float = parameter(
        5.0, real(0.0, np.inf, "left"), "Least rows of a child, in the same units.",
        form=Input("Fewest rows per leaf", "In rows as they weigh at the base rate: sure ones weigh less.",
                    0.0, 10_000.0, 1.0),
    )  # fmt: skip
    min_gain: float = parameter(
        0.0, real(0.0, np.inf, "left"),
        "Gain that a split must exceed, the target in units of its standard deviation.", paper="gamma",
    )  # fmt: skip
    criterion: str = parameter(
        "none", one_of(*CRITERIA),
        "How the common trees choose a split: by pooled gain; times the entropy of the tasks' shares of it (Eq. 5), or "
        "of their gains per row; less `beta` times the variance of the tasks' gains (Eq. 6), or of that over their "
        "mean; or less the harm that shared leaves do. docs/method/multitask.md says what they are worth.",
        paper="entropy, variance",
    )  # fmt: skip
    beta: float = parameter(
        0.5, real(0.0, np.inf, "left"), "Weight of the variance in `criterion`.", paper="beta"
    )  # fmt: skip
    additive: bool = parameter(
        False, ["boolean"],
        "Trees of one feature each: every task is then a sum of curves, a common one and its own deviation.",
    )  # fmt: skip
    common_features: Literal["all", "shared"] | Sequence[str] = parameter(
        "all", [StrOptions({"all", "shared"}), "array-like"],
        "What common trees may use: every column, absent being a value of its own; those that all tasks have, as in "
        "the paper; or these.",
        paper="shared",
    )  # fmt: skip
    task_column: bool = parameter(True, ["boolean"], "Whether common trees may split on the task.", paper="False")
    own_quit: bool = parameter(
        True, ["boolean"],
        "Whether a task leaves the common trees by its own validation loss, or all by the pooled one.",
    )  # fmt: skip
    specific_depth: int | Literal["auto"] = parameter(
        "auto", [*whole(0, 12), StrOptions({"auto"})],
        'Depth of a task\'s own trees, 0 for none; "auto" tries 1 and `max_depth` on its validation rows.',
    )  # fmt: skip
    max_bins: int = parameter(256, whole(5, 256), "Codes per feature, the missing, unseen and absent ones included.")
    n_groups: int = parameter(40, whole(1, 4096), "Groups that rows are dealt into.")

    def boosting_parameters(self) -> TaskParameters:
        """Return the boosting parameters of both stages; penalties are in units of a row's hessian at the start."""
        depths: tuple[int, ...] = tuple(sorted({1, self.max_depth}))
        if self.specific_depth != "auto":
            depths = (self.specific_depth,) if self.specific_depth and self.specific_rounds else ()
        return TaskParameters(
            how=Splitting(
                criterion=CRITERIA[self.criterion],
                penalty=self.l2,
                least_hessian=self.min_child_weight,
                least_gain=float(self.min_gain),
                beta=float(self.beta),
            ),
            growth=Growth(
                depth=self.max_depth,
                most_leaves=2**31 if self.max_leaves is None else self.max_leaves,
                best_first=self.max_leaves is not None,
                one_feature=self.additive,
            ),
            learning_rate=self.learning_rate,
            max_rounds=self.max_rounds,
            specific_rounds=self.specific_rounds,
            patience=self.early_stopping_rounds,
            min_valid=self.min_validation_rows,
            own_quit=self.own_quit,
            depths=depths,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class MultiTaskRegressorParameters(MultiTaskParameters):
    """Settings of the multi-task regressor."""

    objective: str = parameter(
        "squared", one_of(*objectives("regressor", of_trees=True)),
        "What the target is: a real number; counts; amounts above 0; amounts with many zeros. All but the first "
        "multiply: trees add to the log of the mean, and predictions of the training rows have the same sum as the "
        "target, over all tasks.",
    )  # fmt: skip
    power: float = parameter(
        1.5, real(1.0, 2.0, "neither"),
        'Of "tweedie": the variance is proportional to the mean to this power, 1 for counts and 2 for Gamma amounts.',
    )  # fmt: skip
