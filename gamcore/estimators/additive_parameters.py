"""The settings of generalized additive models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Final, Literal

import numpy as np
from sklearn.utils._param_validation import Options as AllowedOptions
from sklearn.utils._param_validation import StrOptions

from gamcore.boosting.pairs.selection import Options
from gamcore.boosting.refit.problem import COARSE_ROWS, LATE_LEAVES, Parameters, first_leaves
from gamcore.boosting.refit.rounds import MAX_BAGS, MAX_LEAVES
from gamcore.boosting.rows.source import Source
from gamcore.data.columns import TableError
from gamcore.estimators.base import TableEstimator, place_of
from gamcore.estimators.parameters import (
    MAX_ROUNDS,
    MOST_REFITS,
    Input,
    one_of,
    parameter,
    real,
    whole,
)
from gamcore.kernels import MOST_CODES
from gamcore.model.losses import objectives

GREEDY: Final = "greedy"
"""The order in which features enter one at a time, if they beat chance."""

AUTO: Final = "auto"
"""A parameter of a loss that the fit is to choose."""

FEWEST_BANDS: Final = 10
"""Fewest half-sample refits for a useful band; 30 give its width to 13%."""

MOST_BANDS: Final = 1_000

PAIR_STAGE: Final[dict[str, Any]] = {
    "learning_rate": 0.25,
    "greedy_ratio": 1.0,
    "early_stopping_rounds": 10,
    "smoothing_rounds": 0,
    "small_rounds": 0,
    "coarse_leaves": 0,
    "late_leaves": 0,
    "late_bags": 0,
    "order": "cyclic",
}
"""Boosting parameters specific to the pair stage, chosen by measurement (docs/method/pairs.md)."""


@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveParameters(TableEstimator):
    """Settings of the regressor and the classifier."""

    outer_bags: int = parameter(
        8, whole(1, MOST_REFITS), "Refits that are averaged, each with its own validation rows.",
        form=Input("Refits", "Models that are averaged, each with its own validation rows: steadier, slower.", 1, 100),
        paper="none",
    )  # fmt: skip
    learning_rate: float = parameter(
        0.4, real(0.0, 1.0, "right"), "Share of each step that is taken.",
        form=Input("Learning rate", "Share of each step that is taken. Smaller is smoother, and slower.",
                    low=0.001, high=1.0, step=0.01, format="%.3f"),
        paper="nu", search=(0.05, 0.1, 0.2, 0.3, 0.4, 0.6),
    )  # fmt: skip
    max_leaves: int = parameter(
        2, whole(2, MAX_LEAVES), "Leaves per tree.",
        form=Input("Leaves per tree", "2 makes one cut per step. More leaves follow sharp shapes sooner.", 2, 16),
        paper="L", search=(2, 2, 3, 4),
    )  # fmt: skip
    coarse_leaves: int | Literal["auto"] | None = parameter(
        "auto", [*whole(2, MAX_LEAVES), StrOptions({"auto"}), None],
        "Leaves per tree in the first rounds, until the validation loss first fails to fall: from the best of these "
        "rounds, trees of `max_leaves` go on. They reach the same accuracy in a fraction of the steps: "
        '"auto" is 3 from 25,000 rows, and on tables of any size 6 once a tenth of the target\'s deviation is left, '
        "little of which is noise. None, or no more than `max_leaves`, leaves these rounds out.",
        form=Input("Leaves in the first rounds",
                   "Leaves per tree in the first rounds, which find most of the shape. 2 turns this off.",
                    2, 16),
        paper="none",
    )  # fmt: skip
    greedy_ratio: float = parameter(
        2.0, real(0.0, 100.0, "both"),
        "Steps on the features that gained most, after each pass, in multiples of the number of features; 0 is the "
        "papers' cyclic order.",
        form=Input("Greedy steps", "Steps on the strongest features after each pass, in multiples of their number.",
                    0.0, 20.0, 0.5),
        paper="0 (cyclic)",
    )  # fmt: skip
    order: Literal["cyclic", "greedy"] = parameter(
        "cyclic", one_of("cyclic", "greedy"),
        'Which features have curves, and whose step is next. "cyclic": all in turn, then those that gained most. '
        '"greedy": a feature enters only if it beats chance, which happens by accident in one fit of twenty, and each '
        "step is on the curve that lowers the loss most; pairs are of features that entered, or those listed. Without "
        "validation rows, a fit of squared loss and smooth or straight curves ends at the least corrected AIC. "
        "`entries_` tells who entered. Not for several classes.",
    )  # fmt: skip
    subsample: float = parameter(
        0.65, real(0.0, 1.0, "right"),
        "Share of the training rows (of the training groups) in each bag; 1 means one tree per step.",
        form=Input("Subsample", "Share of the training rows in each bag. 1: no bags.", 0.05, 1.0, 0.05),
        paper="alpha", search=(0.5, 0.65, 0.8, 1.0),
    )  # fmt: skip
    n_bags: int | None = parameter(
        None, [*whole(1, MAX_BAGS), None], 'Trees per step; None is 16 for "grouped" and 100 otherwise. '
        "Of several classes, where rows x features x classes are 400,000 or more and rows fewer than 25,000, None goes "
        "on with one tree of all rows after 15 rounds, until a third of `early_stopping_rounds` no longer lowers the "
        "validation loss by half a percent.",
        form=Input("Bags per step", "Trees that are averaged in each step.", 1, 500),
        paper="B",
    )  # fmt: skip
    max_bins: int | Literal["auto"] = parameter(
        256, [*whole(4, MOST_CODES), StrOptions({AUTO})],
        "Codes per feature, the missing and the unseen one included; a category may have up to 4,096 unless fewer than "
        '256 are asked for. "auto" doubles those of numbers from 256 on, up to 4,096, while that lowers the loss of '
        "rows that three quick refits have not seen, and leaves out the smoothing rounds where that loss is lower so.",
        form=Input(
            "Bins per feature", "Steps a curve may have, the missing and the unseen bin included.", 4, MOST_CODES
        ),
        paper="bins", search=(32, 64, 128, 256, 256),
    )  # fmt: skip
    smoothing_rounds: int = parameter(
        10, whole(0, MAX_ROUNDS),
        "Rounds before all others whose trees are cut once and anywhere: the mean of many bends gently, and what "
        "follows only adds what it lacks (as in EBM). At most half of `max_rounds`. With 0, five rounds of small steps "
        "come first, which suits steep shapes.",
        form=Input("Smoothing rounds", "Rounds of cuts anywhere before the others: gentler curves.", 0, 2000, 20),
        paper="none",
    )  # fmt: skip
    early_stopping_rounds: int = parameter(
        15, whole(1, MAX_ROUNDS),
        "Rounds without improvement after which a refit stops; fewer early on: half of the rounds it took to "
        "improve last, at least five.",
        form=Input("Patience, in rounds", "Rounds without improvement that end a refit.", 1, 1000),
        paper="not named",
    )  # fmt: skip
    max_rounds: int = parameter(
        5000, whole(1, MAX_ROUNDS), "Maximum number of passes over all features.",
        form=Input("Most rounds", "Maximum number of passes over all features.", 1, 100_000),
        paper="M",
    )  # fmt: skip
    validation_fraction: float = parameter(
        0.15, real(0.0, 0.9, "both"), "Share of the groups held out of each refit, to stop it in time.",
        form=Input("Validation share", "Share of the training rows that stops each refit in time.", 0.0, 0.5, 0.05),
        paper="20%",
    )  # fmt: skip
    interactions: int | Literal["auto"] | Sequence[tuple[Any, Any]] = parameter(
        0, [*whole(0, 2**31), StrOptions({"auto"}), "array-like"],
        "Pairs of features that are boosted on top of the frozen main effects, bins merged to at most 62 per axis: "
        "this many of the strongest (Lou et al. 2013), as many as lower the validation loss, or those listed, "
        "by name or position.",
        paper="K", search=(0, 0, 5, 10, 20),
    )  # fmt: skip
    triples: int | Literal["auto"] | Sequence[tuple[Any, Any, Any]] = parameter(
        0, [*whole(0, 2**31), StrOptions({"auto"}), "array-like"],
        "Triples of features that are boosted on top of main effects and pairs, on at most 24 x 8 x 6 cells: this many "
        'of the strongest; "auto", up to five that stand out from chance and lower the validation loss; or those '
        "listed, by name or position. All pairs of a triple are pairs of the model. For squared loss and two classes, "
        "from rows in memory.",
    )  # fmt: skip
    pair_tree: Literal["cross", "refined"] = parameter(
        "cross", one_of("cross", "refined"),
        "Trees of a pair: one cut per axis, or the other axis cut separately in each part of the root.",
    )  # fmt: skip
    strength: Literal["purified", "rss"] = parameter(
        "purified", one_of("purified", "rss"),
        "How pairs are ranked: by what their best cross takes off the loss beyond main effects, or in all, as in the "
        "paper, where two strong main effects that are not fitted to the end make a strong pair as well.",
        paper="rss",
    )  # fmt: skip
    joint: bool = parameter(
        False, ["boolean"],
        "Also boost main effects and pairs together, and keep it where its mean validation loss is lower.",
    )  # fmt: skip
    purify: bool = parameter(
        True, ["boolean"],
        "Move the main effects that surfaces hold to the curves of their features; predictions stay.",
    )  # fmt: skip
    monotone: dict[Any, int] | None = parameter(
        None, [dict, None],
        "Features along which predictions may only rise (1) or only fall (-1), by name or position, with all their "
        "pairs; missing values are free. A check over all cells proves it after the fit. Not for several classes.",
    )  # fmt: skip
    shapes: dict[Any, str] | str | None = parameter(
        None, [dict, StrOptions({"steps", "smooth", "linear"}), None],
        'How each curve is learnt, by the name or position of a feature: by trees ("steps"), as a "smooth" line, as '
        'one around a cycle ("cyclic": hours, months), as a straight line ("linear"), or as "levels" of a category, '
        'each drawn towards the mean the more, the fewer its rows. "smooth" or "linear" alone is for all numbers and '
        "dates; categories are then levels. A pair of two smooth features without a sign has a smooth surface. Not for "
        "several classes.",
    )  # fmt: skip
    bins: dict[Any, Any] | None = parameter(
        None, [dict, None],
        "Bins of your own, by the name or position of a feature: of a number or date the values at which bins begin, "
        "as in [18, 25, 65]; of a category lists of the levels that count as one. Other features' bins are learnt.",
    )  # fmt: skip
    bands: int = parameter(
        0, [AllowedOptions(Integral, {0}), *whole(FEWEST_BANDS, MOST_BANDS)],
        "Half-sample refits that show how certain the curves are, 0 for none; 30 are about twice the work of the fit. "
        "`add_bands` makes them later.",
    )  # fmt: skip
    ensemble: Literal["grouped", "subagging", "bagging"] = parameter(
        "grouped", one_of("grouped", "subagging", "bagging"),
        "How the bags of a step are drawn: as sets of row groups, again at each step; as the paper's row subsamples; "
        "or as bootstrap samples.",
        paper="subagging",
    )  # fmt: skip
    histogram: Literal["auto", "rescan", "mst", "complement", "mask"] = parameter(
        "auto", one_of("auto", "rescan", "mst", "complement", "mask"),
        'How "subagging" adds up its bags; the trees are the same.', paper="mst",
    )  # fmt: skip
    n_groups: int | Literal["auto"] = parameter(
        "auto", [*whole(1, 4096), StrOptions({"auto"})],
        'Groups that rows are dealt into. "auto" is 32, or 8 where squared loss is boosted from counts of bin pairs '
        "instead of rows, as it is on large tables.",
    )  # fmt: skip

    def _groups_of(self, source: Source, halves: bool = False) -> int:
        """Return the groups that rows are dealt into; `halves` : see `Source`."""
        if isinstance(self.n_groups, str):
            return source.usual_groups(self.ensemble, halves)
        return int(self.n_groups)

    def _check_classes(self, n_scores: int) -> None:
        """Raise TableError where settings rule out several classes."""
        if n_scores > 1 and (wanted := for_one_score(self)):
            names, need = " and ".join(wanted), "needs" if len(wanted) == 1 else "need"
            raise TableError(
                f"Only binary classification is supported with {names}, which {need} one score per row: several "
                f"classes have one each, so leave {'it' if len(wanted) == 1 else 'them'} out."
            )

    def _check_shapes(self) -> None:
        """Raise TableError where other settings rule out how curves are to be learnt."""
        wrong = {
            "joint=False, since curves that are boosted again become steps": self.joint,
            "max_bins as a number": self.max_bins == AUTO,
            'ensemble="grouped"': self.ensemble != "grouped",
        }
        if needed := [what for what, is_wrong in wrong.items() if is_wrong]:
            raise TableError(f"shapes needs {' and '.join(needed)}: set it, or leave out shapes.")

    def _check_order(self) -> None:
        """Raise TableError where other settings rule out a greedy order."""
        wrong = {
            "joint=False, since curves that are boosted again go around": self.joint,
            'ensemble="grouped"': self.ensemble != "grouped",
            "keep_tables=False, since counts of new rows cannot tell who enters": getattr(self, "keep_tables", False),
        }
        if self.order == GREEDY and (needed := [what for what, is_wrong in wrong.items() if is_wrong]):
            raise TableError(f'order="greedy" needs {" and ".join(needed)}: set that, or leave order out.')


@dataclass(eq=False, repr=False, kw_only=True)
class RegressorParameters(AdditiveParameters):
    """Settings of the regressor."""

    objective: str = parameter(
        "squared", one_of(*objectives("regressor")),
        "What is predicted: the mean of a real number; of counts; of amounts above 0; of amounts with many zeros; or a "
        "quantile of a real number. Counts and amounts multiply: the log of the mean is additive, and predictions of "
        "the training rows have the same sum as the target.",
    )  # fmt: skip
    quantile: float = parameter(
        0.5, real(0.0, 1.0, "neither"),
        'Of "quantile": the share of rows whose target is below the prediction. Of the training rows it is exact.',
    )  # fmt: skip
    power: float | Literal["auto"] = parameter(
        1.5, [*real(1.0, 2.0, "neither"), StrOptions({AUTO})],
        'Of "tweedie": the variance is proportional to the mean to this power, 1 for counts and 2 for Gamma amounts. '
        '"auto" chooses it, to two decimals, by the likelihood of rows that two quick refits have not seen.',
    )  # fmt: skip
    keep_tables: bool = parameter(
        False, ["boolean"],
        "Keep counts of the rows in `tables_`: the model can then be updated with more rows, merged with those of "
        "other sites, and edited at a known price, without the rows. For squared loss without interactions. Counts of "
        "cells with few rows are as personal as the rows.",
    )  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierParameters(AdditiveParameters):
    """Settings of the classifier."""

    boosting: Literal["logit", "mart"] = parameter(
        "logit", one_of("logit", "mart"),
        "Robust LogitBoost, which weighs rows by p (1 - p) in splits and leaves (Algorithm 5 of Lou et al. 2020), or "
        "MART with Newton leaves (Algorithm 2).",
    )  # fmt: skip


def for_one_score(settings: AdditiveParameters) -> tuple[str, ...]:
    """Return the settings in use that need one score per row, where several classes have one each."""
    wanted = {"shapes": settings.shapes, "monotone": settings.monotone, 'order="greedy"': settings.order == GREEDY}
    return tuple(name for name, is_wanted in wanted.items() if is_wanted)


def boosting_parameters(settings: AdditiveParameters, n_rows: int) -> Parameters:
    """Return the boosting parameters of a fit to `n_rows` rows."""
    parameters = Parameters(
        ensemble=settings.ensemble,
        histogram="mask" if settings.histogram == "auto" else settings.histogram,
        mart=getattr(settings, "boosting", "logit") == "mart",
        n_bags=settings.n_bags or default_bags(settings.ensemble),
        subsample=settings.subsample,
        max_rounds=settings.max_rounds,
        learning_rate=settings.learning_rate,
        max_leaves=settings.max_leaves,
        greedy_ratio=settings.greedy_ratio,
        early_stopping_rounds=settings.early_stopping_rounds,
        coarse_leaves=first_leaves(settings.coarse_leaves, n_rows),
        late_leaves=LATE_LEAVES if settings.coarse_leaves == "auto" else 0,
        late_bags=int(settings.n_bags is None and settings.ensemble == "grouped" and n_rows < COARSE_ROWS),
        smoothing_rounds=settings.smoothing_rounds,
        order=settings.order,
    )
    return parameters.steep() if getattr(settings, "steep_", not settings.smoothing_rounds) else parameters


def pair_options(settings: AdditiveParameters, n_rows: int, n_jobs: int) -> Options:
    """Return how pairs are ranked and fitted."""
    parameters = replace(boosting_parameters(settings, n_rows), **PAIR_STAGE)
    return Options(parameters, settings.pair_tree == "refined", settings.strength == "purified", settings.joint, n_jobs)


def wanted_pairs(settings: AdditiveParameters, names: list[str]) -> int | str | list[tuple[int, int]]:
    """Return `interactions`, with listed pairs as feature indices, lower first."""
    wanted: int | str | list[tuple[int, int]] = _wanted(settings, "interactions", "pair", names)
    return wanted


def wanted_triples(settings: AdditiveParameters, names: list[str]) -> int | str | list[tuple[int, int, int]]:
    """Return `triples`, with listed ones as ascending feature indices."""
    wanted: int | str | list[tuple[int, int, int]] = _wanted(settings, "triples", "triple", names)
    return wanted


def _wanted(settings: AdditiveParameters, name: str, kind: str, names: list[str]) -> Any:
    """Return a number of terms, "auto", or the listed ones as ascending feature indices."""
    wanted = getattr(settings, name)
    if isinstance(wanted, str):
        if not settings.validation_fraction:
            raise TableError(f'{name}="auto" needs validation rows: set validation_fraction above 0.')
        return wanted
    if isinstance(wanted, int | np.integer):
        return int(wanted)
    terms = [_places_of(term, names, name, kind) for term in wanted]
    if len(set(terms)) < len(terms):
        raise TableError(f"{name} lists a {kind} twice: remove one.")
    return terms


SIZES: Final = {"pair": ("two", 2), "triple": ("three", 3)}


def _places_of(term: Any, names: list[str], setting: str, kind: str) -> tuple[int, ...]:
    """Return the indices of the features of a pair or triple, ascending."""
    word, size = SIZES[kind]
    if isinstance(term, str) or np.ndim(term) != 1 or len(term) != size:
        raise TableError(f"{setting} has {term!r}: give {word} features per {kind}.")
    try:
        places = tuple(sorted(place_of(feature, names) for feature in term))
    except (KeyError, IndexError, TypeError) as error:
        raise TableError(f"{setting} has {term!r}, but {error.args[0]}") from error
    if len(set(places)) < size:
        raise TableError(f"{setting} has {term!r}: a feature has no interaction with itself.")
    return places


def default_bags(ensemble: str) -> int:
    """Return the default number of bags per step."""
    return 16 if ensemble == "grouped" else 100
