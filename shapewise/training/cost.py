"""Estimates of the time, memory and disk space that a training will take.

A step has a fixed cost (combining groups, cutting lines) and a cost per row. A round is one step per feature plus the
greedy steps. The number of rounds until early stopping is a guess from the tables in docs/benchmarks/presets.md, and
depends on how much a table has to tell: on 70 tables of under 10,000 rows, times were from a seventh to twelve times
the guess. So less than `LONG_SECONDS` are not told apart, a guess that may be long is told as a range, and once a refit
has been timed, its seconds take the place of the guess: times were from a third to four times those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from gamcore.boosting.counts.bin_pairs import TABLE_GROUPS, pays, table_bytes
from gamcore.boosting.refit.problem import first_leaves
from gamcore.common.numbers import duration
from gamcore.estimators.additive_parameters import AUTO, GREEDY, AdditiveParameters, default_bags
from gamcore.estimators.multitask_parameters import MultiTaskParameters
from gamcore.estimators.parameters import defaults
from gamcore.kernels import N_CODES
from gamcore.kernels.pair_grid import SIDE
from gamcore.model.losses import LOSSES

STEP_SECONDS = 5e-6
BAG_SECONDS = 0.7e-6
ROW_SECONDS = 1.5e-9
"""Cost of a step from rows: a fixed part, a part per bag, and one per row."""

TABLE_STEP_SECONDS, TABLE_FEATURE_SECONDS = 15e-6, 5.5e-6
"""Cost of a step from counts of bin pairs, whatever the rows: a fixed part, and a part per feature."""

PAIR_COUNT_SECONDS, COUNT_SECONDS = 1.3e-3, 0.5e-9
"""Cost of counting the bins of two features, in both orders: a fixed part, and a part per row."""

COARSE_ROUNDS, FINE_ROUNDS = 20, 70
"""Rounds at a learning rate of 0.3: for coarse and then fine trees, and without coarse trees."""

YOUNG_PATIENCE = 12
"""Patience of a refit with this few rounds (see `kernels.early_stopping.StopRule`)."""

GREEDY_TIMES = 8.0
"""How many times as long a fit takes whose every step is on the best of all curves."""

FINER_BINS = 3.0
"""How many times as long a fit takes that looks for the bins it needs."""

TRIPLES_TIMES = 1.5
"""How many times as long a fit takes that looks for triples: 1 to 2.3 on six public tables, by whether it finds any."""

PAIR_STEP_SECONDS, PAIR_ROW_SECONDS, PAIR_ROUNDS = 20e-6, 2.2e-9, 60
"""Cost of a step of a pair: a fixed part, and a part per row; and the rounds of a fit."""

RANK_SECONDS, RANK_ROW_SECONDS = 1e-5, 1.1e-9
"""Cost of ranking a pair of features, in order and shuffled: a fixed part, and a part per row."""

AUTO_PAIRS, SEARCH = 3, 2.0
"""Pairs per feature that "auto" is assumed to try, and the cost of search and last fit, in fits of that many pairs."""

PAIR_BYTES = 2**20
"""Bytes per fitted pair: its cells and surfaces."""

RANKING_BYTES = 72
"""Bytes per row while pairs are ranked: scores, gradients and weights, once in order and once shuffled."""

MOST_TIMES, LONG_SECONDS = 12.0, 15.0
"""How many times the guess a training of curves took at most, and the seconds from which that is told; an estimate of
fewer is no number for people."""

WORKER_SECONDS = 2.0
"""Start-up time of a child process: importing the libraries, reading the table."""

TREE_SECONDS = 2e-4
TREE_ROW_SECONDS = 1.0e-9
TREE_ROUND_ROW_SECONDS = 2.5e-8
"""Cost of a tree: a fixed part, a part per row and feature each time a row is counted, and a part per row for scores
and losses."""

TREE_ROUNDS = 60
"""Rounds at a learning rate of 0.1, not counting patience."""

COMPARED = 1.6
"""Extra cost of independent and global trees, relative to the multi-task trees."""

CURVE_BYTES, CURVE_OWN = 2048, 6
SURFACE_BYTES = 8 * (SIDE**2 + 1024)
CELL_BYTES, MOST_CELLS = 16, 254**2
"""Bytes in a model's file: one curve of one refit, and the size of a feature's edges and counts in such curves; one
surface of one refit, with its effects; one cell of a pair that has rows."""

NODE_BYTES = 72
FEWEST_NODES, MOST_NODES = 4, 240
"""Nodes of all trees of a round: per leaf, and at most, as deep trees stop splitting early."""


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a training.

    seconds : of boosting, as usual. memory : bytes beyond the table itself. disk : bytes of the model's file. times :
    how many times the seconds it may take.
    """

    seconds: float
    memory: int
    disk: int
    times: float = 1.0

    def words(self, start: float = 0.0) -> str:
        """Return the seconds in words, as a range where a guess may be long. start : seconds before boosting begins."""
        seconds, longest = start + self.seconds, start + self.times * self.seconds
        if self.times == 1 or longest < LONG_SECONDS:
            return roughly(seconds)
        return f"{roughly(seconds).removeprefix('about ')} to {duration(longest)}"

    def after(self, refit: float, parameters: dict[str, Any], n_jobs: int) -> Estimate:
        """Return the estimate once a refit with the same parameters has been timed. refit : its seconds."""
        refits = parameters.get("outer_bags", defaults(AdditiveParameters)["outer_bags"])
        return replace(self, seconds=refit * ceil(refits / max(1, min(n_jobs, refits))), times=1.0)


def roughly(seconds: float) -> str:
    """Return estimated seconds in words, with no more digits than are known."""
    return "a few seconds" if seconds < LONG_SECONDS else f"about {duration(seconds)}"


def _pairs(features: int, wanted: Any) -> tuple[int, float]:
    """Return the number of pairs and how often they are fitted. For "auto", both are guesses."""
    all_pairs = features * (features - 1) // 2
    if wanted == "auto":
        return min(AUTO_PAIRS * features, all_pairs), SEARCH
    return min(wanted if isinstance(wanted, int) else len(wanted), all_pairs), 1.0


def estimate(
    rows: int, features: int, parameters: dict[str, Any], n_jobs: int, loss: str = "", n_scores: int = 1,
    levels: int = 0,
) -> Estimate:  # fmt: skip
    """Return the cost of a fit on `rows` training rows with these parameters; bands count only towards the file.

    loss : its name, where rows are in memory: squared loss is boosted from counts of bin pairs where rows are many.
    n_scores : scores of a row; of several classes, one for each. levels : the most that a feature has.
    """
    settings = {**defaults(AdditiveParameters), **parameters}
    refits, ensemble = settings["outer_bags"], settings["ensemble"]
    at_once = max(1, min(n_jobs, refits))
    n_groups = TABLE_GROUPS if settings["n_groups"] == "auto" else settings["n_groups"]
    bins = N_CODES if settings["max_bins"] == AUTO else settings["max_bins"]
    sizes = [max(bins - 1, levels), *[bins - 1] * (features - 1)]
    is_greedy = settings["order"] == GREEDY
    on_tables = loss == "squared" and not is_greedy and pays(rows, sizes, n_groups, LOSSES["squared"], ensemble)
    if on_tables:
        step = (TABLE_STEP_SECONDS + TABLE_FEATURE_SECONDS * features) * n_groups / TABLE_GROUPS
    else:
        step = n_scores * _step_on_rows(rows, bins, settings)
    a_round = ceil(features * (1 + settings["greedy_ratio"]))
    seconds = refits / at_once * _rounds(rows, settings) * a_round * step
    if is_greedy:
        seconds *= GREEDY_TIMES
    if on_tables:
        seconds += features**2 * (PAIR_COUNT_SECONDS + COUNT_SECONDS * rows) / at_once
    if settings["max_bins"] == AUTO:
        seconds *= FINER_BINS
    n_pairs, fits = _pairs(features, settings["interactions"])
    joint = bool(n_pairs and settings["joint"])
    if n_pairs:
        pair_step = n_scores * (PAIR_STEP_SECONDS + PAIR_ROW_SECONDS * rows)
        seconds += (fits + joint) * refits / at_once * PAIR_ROUNDS * 2 * n_pairs * pair_step
        seconds += features**2 * (RANK_SECONDS + RANK_ROW_SECONDS * rows) / n_jobs
    if settings["triples"]:
        seconds *= TRIPLES_TIMES
    a_refit = 13 * rows + features * bins * 32 * 4 + (n_pairs + joint * features) * (2 * rows + 4096 * 32)
    if ensemble == "subagging":  # rows sorted by bin, and membership of eight bags per byte
        n_bags = _n_bags(settings)
        a_refit += rows * (n_bags + features * (4 + ceil(n_bags / 8)))
    ranking = rows * (features + RANKING_BYTES) if n_pairs else 0
    memory = rows * features + rows * 24 + max(at_once * a_refit, ranking) + n_pairs * PAIR_BYTES
    memory += on_tables * table_bytes(sizes, n_groups, wide=False)
    kept = refits + settings["bands"]
    curves = round(features * (kept + CURVE_OWN) * CURVE_BYTES * _wider(bins))
    surfaces = n_pairs * (kept * SURFACE_BYTES + min(rows, MOST_CELLS) * CELL_BYTES)
    return Estimate(seconds, memory, n_scores * (curves + surfaces), MOST_TIMES)


def _n_bags(settings: dict[str, Any]) -> int:
    return int(settings["n_bags"] or default_bags(settings["ensemble"]))


def _wider(bins: int) -> float:
    """Return how many times as wide as usual a curve is; 1 for fewer bins."""
    return max(1.0, bins / N_CODES)


def _rounds(rows: int, settings: dict[str, Any]) -> float:
    """Return the rounds until a refit stops early."""
    coarse = first_leaves(settings["coarse_leaves"], rows) > settings["max_leaves"]
    learning = (COARSE_ROUNDS if coarse else FINE_ROUNDS) * 0.3 / settings["learning_rate"]
    patience = min(settings["early_stopping_rounds"], YOUNG_PATIENCE)
    return float(min(learning + patience + settings["smoothing_rounds"], settings["max_rounds"]))


def _step_on_rows(rows: int, bins: int, settings: dict[str, Any]) -> float:
    """Return the seconds of a step that reads rows: once for all bags of groups, else the more often the more bags."""
    n_bags = _n_bags(settings)
    apart = 1.0 if settings["ensemble"] == "grouped" else 1 + n_bags / 12
    return STEP_SECONDS + BAG_SECONDS * n_bags * _wider(bins) + ROW_SECONDS * apart * rows


def estimate_bands(
    rows: int, features: int, parameters: dict[str, Any], n_refits: int, n_jobs: int, *, n_scores: int
) -> float:
    """Return the seconds of `n_refits` half-sample refits; "auto" pairs are not searched for again."""
    wanted = parameters.get("interactions", 0)
    pairs = _pairs(features, wanted)[0] if wanted == "auto" else wanted
    half = {**parameters, "outer_bags": n_refits, "interactions": pairs, "joint": False}
    return estimate(rows // 2, features, half, n_jobs, n_scores=n_scores).seconds


def estimate_tasks(
    rows: int, features: int, n_tasks: int, parameters: dict[str, Any], n_jobs: int, compare: bool
) -> Estimate:
    """Return the cost of multi-task trees: common trees on all rows, and task-specific trees, tried at two depths."""
    settings = {**defaults(MultiTaskParameters), **parameters}
    refits, depth = settings["outer_bags"], settings["max_depth"]
    rounds = min(
        TREE_ROUNDS * 0.1 / settings["learning_rate"] + settings["early_stopping_rounds"], settings["max_rounds"]
    )
    a_row = TREE_ROUND_ROW_SECONDS + TREE_ROW_SECONDS * features * (1 + depth / 2)
    specific = 2 if settings["specific_depth"] == "auto" else 1
    a_round = (TREE_SECONDS + a_row * rows) + specific * (n_tasks * TREE_SECONDS + 0.7 * a_row * rows)
    at_once = max(1, min(n_jobs, refits))
    times = refits / at_once * (COMPARED + 1 if compare else 1)
    apart = 1 if settings["criterion"] == "none" else n_tasks
    memory = rows * (features + 24) + at_once * (rows * 60 + (depth + 1) * apart * features * 256 * 16)
    nodes = refits * rounds * min(FEWEST_NODES * 2 ** (depth + 1), MOST_NODES)
    return Estimate(times * rounds * a_round, memory, int(nodes * NODE_BYTES))
