"""Boosting from counts of bin pairs against sums over rows: the same sums, curves and predictions."""

from __future__ import annotations

import itertools
import pickle
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMRegressor
from gamcore.boosting.counts import bin_pairs
from gamcore.boosting.counts.bin_pairs import Counting, CountPlan, groups_for, pays, table_bytes
from gamcore.boosting.counts.whole_numbers import Piece
from gamcore.boosting.refit.from_counts import TableState
from gamcore.boosting.refit.problem import Parameters, Problem
from gamcore.boosting.refit.state import RefitState
from gamcore.boosting.rows.counted import counting_bytes
from gamcore.boosting.rows.files import Files
from gamcore.boosting.rows.in_parts import RowsInParts
from gamcore.boosting.rows.on_disk import PartsOnDisk
from gamcore.boosting.rows.source import Dealing, filled, relative_weight, room_for
from gamcore.data.binning import Bins
from gamcore.data.sampling import BUCKETS, Split
from gamcore.data.table import learn_features
from gamcore.kernels import tables as kernels
from gamcore.kernels.layout import CodedTable
from gamcore.model.losses import LOSSES

SQUARED = LOSSES["squared"]
LASTS = (254, 1, 2, 33, 7)
"""The largest code of each feature: full, few, and about a vector."""


def problem(n=4_000, n_groups=8, weighted=False, seed=0, lasts=LASTS):
    """Rows in group order: with missing cells, a nominal feature, a constant one, and groups of unequal sizes."""
    rng = np.random.default_rng(seed)
    last = np.array([*lasts, 5])
    codes = np.stack([rng.integers(rng.integers(0, 2), k + 1, n) for k in last]).astype(np.uint8)
    codes[-1] = 3  # constant
    starts = np.sort(np.concatenate([[0, n], rng.choice(np.arange(1, n), n_groups - 1, replace=False)]))
    nominal = np.array([False] * (last.size - 2) + [True, False])
    table = CodedTable(codes, starts, last, nominal, np.arange(last.size - 1))
    y = 50.0 + np.sin(codes[0] / 40) + codes[3] / 20 + rng.normal(size=n)
    weight = np.rint(2**14 * rng.uniform(0.2, 3.0, n)) / 2**14  # of as many bits as tables keep
    return Problem(table, y, weight if weighted else np.empty(0), SQUARED)


def residual_sums(of, curves, base):
    """The slow twin: sums of residuals (p, G, V) by looking at every row."""
    table, codes = of.table, of.table.codes
    score = sum(curves[j][codes[j]] for j in range(len(codes)))
    residual = (of.y - base - score) * of.row_weight
    out = np.zeros((len(codes), table.starts.size - 1, 256))
    for j, (g, (start, end)) in itertools.product(range(len(codes)), enumerate(itertools.pairwise(table.starts))):
        np.add.at(out[j, g], codes[j, start:end], residual[start:end])
    return out


def sums_of(state, m, kept, groups):
    """The sums of a feature in an array of a refit, (groups, codes)."""
    tables = state.tables
    pitch, n_groups = tables.pitch[m], tables.group.shape[0]
    begin = tables.place[m] if kept is state.left.train else tables.place[m] // n_groups * len(groups)
    lines = kept[begin : begin + len(groups) * pitch].reshape(len(groups), pitch)
    return lines[:, : state.problem.table.last[m] + 1]


def parameters(**more):
    usual = {"histogram": "mask", "mart": False, "n_bags": 16, "subsample": 0.65, "max_rounds": 60,
             "learning_rate": 0.4, "max_leaves": 2, "greedy_ratio": 2.0, "early_stopping_rounds": 15,
             "smoothing_rounds": 4, "coarse_leaves": 3}  # fmt: skip
    return Parameters(ensemble="grouped", **(usual | more))


SPLIT = Split(np.array([0, 1, 3, 4, 6, 7]), np.array([2, 5]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most", [bin_pairs.MOST_COUNTED, 3])
def test_lines_count_rows(weighted, most, monkeypatch):
    monkeypatch.setattr(bin_pairs, "MOST_COUNTED", most)
    of = problem(weighted=weighted)
    made, table = of.counting.tables(), of.table
    assert made.is_wide[table.active].any() == (weighted or most == 3)
    weight = of.row_weight
    for j, m in itertools.permutations(table.active, 2):
        pitch = made.pitch[m]
        lines = (made.wide if made.is_wide[m] else made.narrow)[made.first[j, m] :]
        block = lines[: (table.last[j] + 1) * 8 * pitch].reshape(table.last[j] + 1, 8, pitch)
        for g, (start, end) in enumerate(itertools.pairwise(table.starts)):
            cells = np.zeros((table.last[j] + 1, pitch))
            np.add.at(cells, (table.codes[j, start:end], table.codes[m, start:end]), weight[start:end])
            assert np.array_equal(block[:, g] * made.unit, np.cumsum(cells, axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_are_those_of_the_residuals(weighted, dtype):
    """After rounds, after a rewind, and after everything that waits was brought up to date."""
    of = problem(weighted=weighted)
    state = TableState(of, SPLIT, parameters(dtype=dtype), seed=3)
    rounds, close = state.rounds(None), 2e-5 if dtype is np.float32 else 1e-7 if weighted else 1e-10
    for stage in state.stages():
        settings = stage.settings._replace(loss=state.loss)
        rounds.run(settings, stage.n_greedy, stage.rule, state.course, 5)
        if stage is not state.stages()[-1]:
            expected = residual_sums(of, state.fit.curves * state.scale, state.base_score) / state.scale
            size = np.abs(expected).max()
            for m in of.table.active:
                kernels.bring(state.tables, SPLIT.train, of.table.active, m, state.left)
                for kept, groups in ((state.left.train, SPLIT.train), (state.left.valid, SPLIT.valid)):
                    found = sums_of(state, m, kept, groups)
                    assert np.abs(found - expected[m, groups, : found.shape[1]]).max() < close * size
            state.rewind()
            expected = residual_sums(of, state.course.curves * state.scale, state.base_score) / state.scale
            for m in of.table.active:
                kernels.bring(state.tables, SPLIT.train, of.table.active, m, state.left)
                found = sums_of(state, m, state.left.train, SPLIT.train)
                assert np.abs(found - expected[m, SPLIT.train, : found.shape[1]]).max() < close * size
    starts, weight = of.table.starts, of.row_weight
    assert state.course.weight == pytest.approx(sum(weight[starts[g] : starts[g + 1]].sum() for g in SPLIT.valid))


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_groups", [2, 8, 32])
def test_refits_are_those_of_rows(weighted, n_groups):
    of = problem(n_groups=n_groups, weighted=weighted)
    split = Split(np.arange(1, n_groups), np.arange(1))
    made = []
    for kind in (RefitState, TableState):
        state = kind(of, split, parameters(dtype=np.float64), seed=5)
        rounds = state.rounds(None)
        for stage in state.stages():
            if state.done:
                state.rewind()
            for _ in range(3):
                rounds.run(stage.settings._replace(loss=state.loss), stage.n_greedy, stage.rule, state.course, 4)
        made.append((state.best(), state.train_loss(), state.course.history[:4].copy()))
    (rows, train, history), (tables, same_train, same_history) = made
    close = 1e-7 if weighted else 1e-9  # beside weights, targets have fewer bits
    assert tables.best_round == rows.best_round
    assert tables.curves == pytest.approx(rows.curves, abs=close)
    assert tables.base_score == pytest.approx(rows.base_score, rel=1e-9)
    assert tables.valid_loss == pytest.approx(rows.valid_loss, rel=close)
    assert same_train == pytest.approx(train, rel=close)
    assert same_history == pytest.approx(history, rel=close)


def table_of(n=6_000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 40, n), "c": rng.choice(list("pqrstu"), n),
                      "d": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.gamma(2, size=n))})  # fmt: skip
    return X, np.sin(2 * X["a"]) + X["b"] / 20 + (X["c"] == "p") + rng.normal(size=n)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(bin_pairs, "FEWEST_ROWS", 1)
    monkeypatch.setattr(bin_pairs, "ROWS_PER_PAIR", 1)


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"validation_fraction": 0.0, "max_rounds": 20}, {"coarse_leaves": 3},
                                  {"interactions": 2}, {"bands": 10}, {"subsample": 1.0}])  # fmt: skip
def test_models_are_those_of_rows(more, monkeypatch):
    X, y = table_of()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if not more else None
    settings = {"outer_bags": 3, "n_groups": 8, "random_state": 0, **more}
    rows = GAMRegressor(**settings).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(bin_pairs, "FEWEST_ROWS", 1)
    monkeypatch.setattr(bin_pairs, "ROWS_PER_PAIR", 1)
    used = []
    real = TableState.__init__
    monkeypatch.setattr(TableState, "__init__", lambda self, *given: (used.append(1), real(self, *given))[1])
    tables = GAMRegressor(**settings).fit(X, y, sample_weight=weight)
    assert len(used) == 3 + more.get("bands", 0)
    assert tables.best_rounds_.tolist() == rows.best_rounds_.tolist()
    assert tables.predict(X) == pytest.approx(rows.predict(X), abs=2e-5)


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_targets_of_any_size(size, always):
    X, y = table_of(2_000)
    usual, far = (GAMRegressor(outer_bags=2, random_state=0).fit(X, y * by) for by in (1.0, size))
    assert far.predict(X) / size == pytest.approx(usual.predict(X), abs=1e-4)


def test_a_target_that_never_varies(always):
    X, _ = table_of(2_000)
    assert GAMRegressor(outer_bags=2, random_state=0).fit(X, np.full(2_000, 7.5)).predict(X) == pytest.approx(7.5)


def test_threads_change_no_bit(always):
    X, y = table_of()
    models = [GAMRegressor(outer_bags=5, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2, 3)]
    watched = GAMRegressor(outer_bags=5, random_state=0, callback=lambda progress: False).fit(X, y)
    for model in (*models[1:], watched):
        assert np.array_equal(model.predict(X), models[0].predict(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_pieces_in_any_order_and_threads_count_the_same(weighted):
    of, rng = problem(weighted=weighted), np.random.default_rng(3)
    whole = of.counting.tables()
    target, group = (of.y - of.centre) / of.spread, np.repeat(np.arange(8), np.diff(of.table.starts))
    for n_threads in (1, 2, 3):
        parts = [np.sort(part) for part in np.array_split(rng.permutation(of.y.size), 5)] + [np.empty(0, np.int64)]

        def pieces(parts=parts):
            for rows in parts:
                starts = np.concatenate([[0], np.cumsum(np.bincount(group[rows], minlength=8))])
                codes = np.ascontiguousarray(of.table.codes[:, rows])
                yield Piece(codes, starts, target[rows], of.weight[rows] if weighted else of.weight)

        made = Counting(pieces, CountPlan(of.table.last, of.table.active, 8)).tables(n_threads)
        for name in ("narrow", "wide", "weight", "target", "group"):
            assert np.array_equal(getattr(made, name), getattr(whole, name)), name


def test_several_threads_may_ask_at_once():
    of, made = problem(), []
    threads = [threading.Thread(target=lambda: made.append(of.counting.tables())) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(tables) for tables in made}) == 1


def test_a_problem_travels_without_its_counts():
    of = problem()
    of.counting.tables()
    again = pickle.loads(pickle.dumps(of))
    assert "_counting" not in again.__dict__
    assert np.array_equal(again.counting.tables().narrow, of.counting.tables().narrow)


def test_the_choice_follows_from_the_data_alone():
    full = [254] * 12
    assert pays(132_000, full, 8, SQUARED, "grouped")
    assert not pays(131_999, full, 8, SQUARED, "grouped")
    assert not pays(132_000, full, 32, SQUARED, "grouped")  # four times the work per step
    assert pays(528_000, full, 32, SQUARED, "grouped")
    assert not pays(10**9, full, 8, LOSSES["logistic"], "grouped")
    assert not pays(10**9, full, 8, SQUARED, "subagging")
    assert not pays(10**9, [254] * 60, 8, SQUARED, "grouped")  # gigabytes
    assert not pays(10**9, [254, 1, 1], 8, SQUARED, "grouped")  # one feature has no pair
    assert groups_for(10**6, full, SQUARED, "grouped") == 8
    assert groups_for(10_000, full, SQUARED, "grouped") == 32


def test_the_bytes_are_those_told(monkeypatch):
    of = problem()
    sizes = [int(last) + 1 for last in of.table.last[of.table.active]]
    made = of.counting.tables()
    assert made.narrow.nbytes == table_bytes(sizes, 8, wide=False)
    monkeypatch.setattr(bin_pairs, "MOST_COUNTED", 0)
    assert problem().counting.tables().wide.nbytes == table_bytes(sizes, 8, wide=True)


def on_disk(folder, n=5_000, chunk=900, weighted=False):
    """Rows in files, in chunks, and the same rows in memory in the order of their groups."""
    of, rng = problem(n=n, weighted=weighted), np.random.default_rng(5)
    bucket, files = rng.integers(0, BUCKETS, n).astype(np.uint16), Files(folder, len(of.table.codes))
    for first in range(0, n, chunk):
        rows = slice(first, first + chunk)
        given = {"weight": of.weight[rows]} if weighted else {}
        files.write(of.table.codes[:, rows], y=of.y[rows], bucket=bucket[rows], **given)
    frame = pd.DataFrame({f"x{j}": line for j, line in enumerate(of.table.codes)})
    bins = [
        Bins(feature, np.arange(last - 1.0), np.arange(float(last)))
        for feature, last in zip(learn_features(frame), of.table.last, strict=True)
    ]
    sizes = np.bincount(bucket, minlength=BUCKETS)
    spilled = RowsInParts(
        PartsOnDisk(files, weighted), tuple(bins), sizes, most=500, loss=SQUARED, weighted=weighted, room=10**9
    )
    group = bucket.astype(np.int64) * 8 // BUCKETS
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=8))])
    table = room_for(tuple(bins), starts)
    table.codes[:] = of.table.codes[:, order]
    table = filled(table)
    weight = relative_weight(of.weight, of.weight.mean())[order] if weighted else of.weight
    return spilled, Problem(table, of.y[order], weight, SQUARED)


DEALING = Dealing(3, 8, 0.15, np.random.SeedSequence(1), np.random.SeedSequence(2))


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_on_disk_are_all_counted(weighted, tmp_path, always, monkeypatch):
    monkeypatch.setattr("gamcore.boosting.rows.on_disk.PIECE_ROWS", 1_500)
    spilled, memory = on_disk(tmp_path, weighted=weighted)
    shares = spilled.counted(DEALING, "grouped")
    there = shares[0].problem
    assert there.table.active.tolist() == memory.table.active.tolist()
    assert there.centre == pytest.approx(memory.centre, rel=1e-14)
    assert there.spread == pytest.approx(memory.spread, rel=1e-14)
    vars(memory).update(centre=there.centre, spread=there.spread)
    for name in ("narrow", "wide", "weight", "target", "group"):
        found, same = (getattr(of.counting.tables(), name) for of in (there, memory))
        assert np.array_equal(found, same), name
    for share in shares:
        mine, other = (TableState(of, share.split, parameters(), seed=1) for of in (there, memory))
        for state in (mine, other):
            stage = state.stages()[0]
            state.rounds(None).run(stage.settings, stage.n_greedy, stage.rule, state.course, 6)
        assert np.array_equal(mine.best().curves, other.best().curves)


def test_rows_on_disk_have_shares_where_counts_do_not_pay(tmp_path, monkeypatch):
    spilled, _ = on_disk(tmp_path)
    assert spilled.counted(DEALING, "grouped") is None  # few rows
    monkeypatch.setattr(bin_pairs, "FEWEST_ROWS", 1)
    monkeypatch.setattr(bin_pairs, "ROWS_PER_PAIR", 1)
    assert spilled.is_counted(8, "grouped")
    assert spilled.usual_groups("grouped", halves=False) == 8
    assert spilled.usual_groups("grouped", halves=True) == 32
    room = counting_bytes([bins.n_values + 1 for bins in spilled.bins], 16, weighted=False)
    assert replace(spilled, room=room).usual_groups("grouped", halves=True) == 8  # too little for 32
    assert spilled.counted(DEALING, "subagging") is None
    assert replace(spilled, loss=LOSSES["logistic"]).counted(DEALING, "grouped") is None
    assert replace(spilled, most=10**6).counted(DEALING, "grouped") is None  # all rows fit
    assert replace(spilled, room=10**6).counted(DEALING, "grouped") is None
    one_cluster = np.zeros(BUCKETS, np.int64)
    one_cluster[7] = 5_000
    assert replace(spilled, sizes=one_cluster).counted(DEALING, "grouped") is None
