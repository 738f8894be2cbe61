"""Compile the kernels of an ordinary fit before somebody waits for them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from gamcore.kernels import FOLDER, N_CODES, SUM, histogram, losses
from gamcore.kernels import curve_step as step
from gamcore.kernels import pair_rounds as pairs
from gamcore.kernels import row_state as rows
from gamcore.kernels import tree_growth as tree
from gamcore.kernels import tree_predict as forest
from gamcore.kernels import tree_rounds as alone
from gamcore.kernels.early_stopping import StopRule, grouped_rounds, make_course, validate
from gamcore.kernels.extrapolation import sum_along
from gamcore.kernels.layout import CHUNK, CodedTable, Rows, Sets, Settings, make_fit, make_work
from gamcore.kernels.pair_grid import N_CELLS, SIDE, make_board
from gamcore.kernels.tree_predict import N_BYTES, Trees
from gamcore.kernels.tree_splits import Splitting, make_search

COMPLETE = "complete"
"""A file in the cache's folder that says that everything here was compiled."""


LATER: Final = ("pairs", "trees")
"""What child processes compile beside the curves if there are cores to spare."""

Small = tuple[CodedTable, Rows, Settings]


def warmup(tell: Callable[[float], object] = bool) -> None:
    """Compile, or load from the cache, every kernel that a default fit calls; cached, it takes half a second.

    tell : called with the share that is done, from 0 to 1.
    """
    children = [] if is_compiled() or (os.cpu_count() or 1) <= 2 else [_child(name) for name in LATER]
    steps = 2 * len(losses.COMPILED) + 1
    for done, _ in enumerate(_steps(children), 1):
        tell(done / steps)
    if FOLDER is not None:
        with contextlib.suppress(OSError):
            (FOLDER / COMPLETE).touch()


def is_compiled() -> bool:
    """Return whether a warm-up would only load; True also where nothing can be kept for another process."""
    return FOLDER is None or (FOLDER / COMPLETE).exists()


def _child(name: str) -> subprocess.Popen[bytes]:
    """Start to compile a part of the kernels into the cache, in another process."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "gamcore.kernels.warmup", name]
    # Our own interpreter and module.
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)  # noqa: S603


def _steps(children: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Do the work, step by step; what children have compiled is only loaded."""
    small = [_small(loss) for loss in losses.COMPILED]
    for arguments in small:
        _warm_curves(*arguments)
        yield
    for child in children:
        child.wait()
    for arguments in small:  # last: most fits start without pairs
        _warm_pairs(*arguments)
        yield
    _warm_trees()
    yield


def _warm_later(name: str) -> None:
    """Do what a child is asked to."""
    if name == "trees":
        _warm_trees()
    else:
        for loss in losses.COMPILED:
            _warm_pairs(*_small(loss))


def _small(loss: losses.Form) -> Small:
    """Return a few rows to boost."""
    n = 8
    table = CodedTable(
        np.ones((1, n), np.uint8),
        np.array([0, 4, n]),
        np.ones(1, np.int64),
        np.zeros(1, np.bool_),
        np.zeros(1, np.int64),
    )
    state = Rows(np.ones(n, SUM), losses.kept_target(np.zeros(n), loss), np.empty(0, SUM))
    return table, state, Settings(loss, False, 0.1, 2, 5.0, 10.0, 1)


def _warm_curves(table: CodedTable, state: Rows, settings: Settings) -> None:
    """Boost one curve."""
    n, loss = state.score.size, settings.loss
    cells = 0 if losses.is_paired(loss) else 2
    sets = Sets(
        np.array([0]), np.zeros((1, 1, 1), np.int64), np.array([0, 2]), np.zeros(cells), np.zeros((1, 1, cells), SUM)
    )
    fit = make_fit(1, losses.no_change(loss))
    buffer = np.zeros(2 * N_CODES, SUM)
    course = make_course(1, np.array([1]), 4.0, SUM)
    validate(table, state, fit, loss, course)
    rule, work = StopRule(1, 0.0), make_work(1, 2)
    grouped_rounds(table, state, sets, fit, settings, 0, work, buffer, rule, course, 1)
    step.settle(table, state, sets.train, fit, loss)
    rows.rescore(table, state, np.zeros(n), fit.curves, loss, np.empty(CHUNK))
    losses.total_loss(state, 0, n, loss)
    _warm_movements(table, state, settings)
    histogram.combine(np.zeros((1, 2), SUM), np.zeros(1, np.int64), 2, np.zeros(2, SUM))


def _warm_pairs(features: CodedTable, state: Rows, settings: Settings) -> None:
    """Rank one pair and boost it."""
    n, starts = state.score.size, features.starts
    codes = np.ones((2, n), np.uint8)
    board, stats = make_board(SUM), np.ones(n, np.complex64)
    pairs.rank_pairs(codes, np.ones(2, np.int64), stats, np.array([[0, 1]]), 1.0, True, board, np.empty(1))
    none = np.zeros(1, np.bool_)
    table = CodedTable(np.full((1, n), SIDE + 1, np.uint16), starts, np.full(1, SIDE + 1), none, np.zeros(1, np.int64))
    weight = np.zeros((1, 0 if losses.is_paired(settings.loss) else N_CELLS), SUM)
    fit = make_fit(1, losses.no_change(settings.loss), SUM, N_CELLS)
    course = make_course(1, np.array([1]), 4.0, SUM, N_CELLS)
    validate(table, state, fit, settings.loss, course)
    terms = pairs.Terms(0, np.ones((1, 2), np.int64), weight)
    scratch, rule = (make_work(1, 2), board), StopRule(1, 0.0)
    pairs.pair_rounds(table, state, np.array([0]), terms, fit, settings, scratch, (False, 0), rule, course, 1)
    step.settle(table, state, np.array([0]), fit, settings.loss)
    rows.rescore(table, state, np.zeros(n), fit.curves, settings.loss, np.empty(CHUNK))
    _warm_movements(table, state, settings, N_CELLS)


def _warm_movements(table: CodedTable, state: Rows, settings: Settings, n_codes: int = N_CODES) -> None:
    """Sum the slopes along one movement."""
    fit, work = make_fit(1, losses.no_change(settings.loss), SUM, n_codes), make_work(1, 1)
    sum_along(
        table, state, np.empty(0), np.array([0]), np.zeros((1, 1, n_codes)), fit, settings.loss, work,
        np.empty((1, CHUNK)), np.zeros(1), np.zeros((1, 1)),
    )  # fmt: skip


def _warm_trees() -> None:
    """Boost trees on a few rows, and evaluate the forest."""
    n, codes = 4, np.array([[1, 1, 2, 2]], np.uint8)
    columns = tree.Columns(codes, np.full(1, 2), np.zeros(1, np.bool_), np.zeros(1, np.int64))
    places, stats, nothing = np.arange(n, dtype=np.int32), np.ones(n, np.complex64), np.empty(0)
    members = tree.Members(places, stats, np.empty(0, np.int32), nothing, places.copy(), stats.copy())
    scratch = alone.Scratch(make_search(1), np.zeros((2, 1, 1, 5), np.complex128), tree.make_nodes(2))
    how, growth = Splitting(0, 1.0, 1.0, 0.0, 0.5), tree.Growth(1, 2, False, False)
    scheme, score = alone.Scheme(how, growth, 0.1, losses.LOGISTIC, 1, 0.0), np.zeros(n)
    whole, real = np.zeros(3, np.int32), np.zeros(3)
    trees = Trees(
        whole, whole.copy(), np.zeros((3, N_BYTES), np.uint8), real, real.copy(), real.copy(), np.zeros(2, np.int64)
    )
    y, valid = np.array([0.0, 0.0, 1.0, 1.0]), np.arange(n)
    alone.boost_alone(columns, members, places.copy(), y, scheme, scratch, score, valid, trees)
    alone.fill_stats(y, nothing, score, losses.LOGISTIC, members)
    alone.plant(columns, members, scheme, scratch, score, valid)
    alone.keep(scratch.nodes, 1, trees, 0)
    forest.add_trees(codes, valid, trees, 0, 1, score)
    forest.attribute(codes, valid, trees, 0, 1, np.zeros((n, 1)))
    forest.partial(trees, 0, 1, 0, np.zeros(1, np.int64), (np.zeros(4, np.int64), np.zeros(4)), np.zeros(5))


if __name__ == "__main__":
    with contextlib.suppress(OSError, AttributeError):  # a system without priorities
        os.nice(5)  # pages come first
    if sys.argv[1:]:
        _warm_later(sys.argv[1])
    else:
        warmup(lambda share: print(share, flush=True))
