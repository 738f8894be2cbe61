"""Training on a table larger than memory: the same model if the rows fit, and unbiased parts of it if not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gamcore import GAMClassifier, TableError, add_bands, load_model
from gamcore.boosting.counts import bin_pairs
from gamcore.boosting.rows.files import Files
from gamcore.boosting.rows.in_parts import RowsInParts
from gamcore.boosting.rows.on_disk import PartsOnDisk
from gamcore.boosting.rows.share import Recipe
from gamcore.data.sampling import BUCKETS, buckets, runs_of_buckets
from gamcore.decide.rules import Levels, Range
from gamcore.model.losses import SquaredLoss
from gamcore.model.quantile_loss import QuantileLoss
from shapewise.jobs.process import StoppedError
from shapewise.reports import card
from shapewise.store.atomic_files import scratch_folder
from shapewise.store.batches import Matching, batches, beginning
from shapewise.store.workspace import Workspace
from shapewise.training import large as outofcore
from shapewise.training import train as training
from shapewise.training.dataset import held_out_rows, learnt_from, read_data
from shapewise.training.large import TrainingPlace, fit_on_disk, most_rows
from shapewise.training.spec import Spec
from tests.support.fits import friendly
from tests.support.places import ROOT

TABLE = "0123456789abcdef"
FEATURES = ["a", "b", "c", "yes", "day", "n"]
PLENTY = 2**30


def frame(n=6000, seed=0):
    X, y = friendly(n, seed)
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    return X.assign(
        yes=rng.uniform(size=n) < 0.3, day=pd.Series(days).where(rng.uniform(size=n) < 0.95), n=rng.integers(0, 40, n),
        who=rng.integers(0, n // 20, n).astype(str), w=rng.uniform(0.5, 2.0, n).round(2),
        y=np.where(y == 1, "good", "bad"), amount=X["a"].abs() * 3 + y,
    )  # fmt: skip


def spec_of(**changes):
    told = {"table": TABLE, "target": "y", "name": "a model", "features": FEATURES, "positive": ["good"],
            "preset": "fast", "changes": {"max_rounds": 15}}  # fmt: skip
    return Spec(**(told | changes))


class Disk:
    """A table in a file, and its sample: every n-th row."""

    def __init__(self, folder, rows, every=1, row_group=1000):
        self.path, self.scratch = folder / "table.parquet", folder / "scratch"
        self.scratch.mkdir()
        rows.to_parquet(self.path, index=False, row_group_size=row_group)
        self.sample = rows.iloc[::every].reset_index(drop=True)

    def fit(self, spec, memory=PLENTY, basis=None, n_jobs=1, callback=None):
        place = TrainingPlace(self.path, self.scratch, memory)
        return fit_on_disk(place, self.sample, spec, basis or {}, n_jobs, callback)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr("shapewise.store.batches.MOST_ROWS", 700)


def arrays(model):
    told = model.model_
    yield from (part for term in told.terms for part in (term.scores, term.refits, term.counts))
    yield from (part for pair in told.pairs for part in (pair.surfaces, pair.counts, pair.rows))
    yield from (np.array([told.intercept, told.base]), told.refit_intercepts, model.validation_losses_)


def same(one, other):
    for mine, theirs in zip(arrays(one), arrays(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(one.model_.bins, other.model_.bins, strict=True):
        assert (mine.feature, mine.levels, mine.pooled) == (theirs.feature, theirs.levels, theirs.pooled)
        np.testing.assert_array_equal([*mine.cuts, mine.low, mine.high], [*theirs.cuts, theirs.low, theirs.high])


CASES = {
    "plain": {},
    "pairs": {"changes": {"max_rounds": 15, "interactions": 2}},
    "weights": {"weight": "w"},
    "tiny weights": {"weight": "tiny", "changes": {"max_rounds": 15, "interactions": [("a", "b")]}},
    "groups": {"group": "who"},
    "time": {"time": "day"},
    "regression": {"target": "amount", "positive": None, "features": FEATURES[:3]},
    "quantile": {
        "target": "amount", "positive": None, "features": FEATURES[:3], "weight": "w",
        "changes": {"max_rounds": 15, "objective": "quantile", "quantile": 0.8},
    },
    "power": {
        "target": "amount", "positive": None, "features": FEATURES[:3],
        "changes": {"max_rounds": 15, "objective": "tweedie", "power": "auto"},
    },
    "categories and date parts": {"categories": ["n"], "changes": {"max_rounds": 15, "date_parts": True}},
    "many levels": {"features": [*FEATURES, "who"], "changes": {"max_rounds": 15, "max_bins": 1024}},
    "rows and levels": {
        "conditions": [Range("b", 0.2), Levels("c", ("p", "q", "r", "s"))], "negative": ["bad"],
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_where_all_rows_fit_the_model_is_that_of_memory_to_the_bit(case, tmp_path, small_batches):
    rows = frame()
    rows["tiny"] = rows["w"].where(rows.index % 7 > 0, 0.0) * 1e-6
    rows.loc[::11, "y"], rows.loc[::13, "amount"] = None, np.nan
    spec = spec_of(**CASES[case])
    basis = {"time": "day"} if spec.time else {"group": "who"} if spec.group else {}
    found, data, counts = Disk(tmp_path, rows).fit(spec, basis=basis, n_jobs=2)
    known = read_data(rows, spec, basis)
    same(training.fit(known, spec), found)
    assert counts["training"] == (~known.held_out).sum() == (~data.held_out).sum()
    assert counts["set_aside"] == counts["held_out"] == known.held_out.sum()
    assert counts["without_target"] == known.dropped
    assert not learnt_from(counts)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_constant_is_that_of_all_rows_even_where_refits_see_some(weighted, tmp_path):
    rng = np.random.default_rng(0)
    y, weight, files = rng.normal(size=1000), rng.uniform(0.5, 2.0, 1000), Files(tmp_path, 1)
    for rows in np.array_split(np.arange(1000), 7):
        files.write(np.ones((1, rows.size), np.uint8), y=y[rows], weight=weight[rows])
    mass = weight if weighted else np.ones(1000)
    for loss in (SquaredLoss(), QuantileLoss(0.9)):
        rows = RowsInParts(
            PartsOnDisk(files, weighted), (), sizes=np.array([1000]), most=100, loss=loss, weighted=weighted
        )
        assert not rows.whole
        assert rows.base() == pytest.approx(loss.base_score(y, mass), abs=1e-12)
    files.close()


def marked(rows, every, basis):
    """Return a mask of the rows that no fit may see, found by row number rather than by content."""
    sample = rows.iloc[::every]
    held = held_out_rows(sample.reset_index(drop=True), TABLE, basis.get("group"), basis.get("time"))
    found = np.zeros(len(rows), bool)
    found[np.arange(0, len(rows), every)[held]] = True
    if "group" in basis:
        found |= rows["who"].isin(set(sample.loc[held, "who"])).to_numpy()
    if "time" in basis:
        late = (rows["day"] >= sample.loc[held, "day"].min()).to_numpy(copy=True)
        late[::every] = False
        found |= late
    return found


@pytest.mark.slow
@pytest.mark.parametrize("basis", [{}, {"group": "who"}, {"time": "day"}], ids=["rows", "groups", "time"])
def test_held_out_rows_are_never_seen(basis, tmp_path, small_batches):
    rows = frame(12_000)
    held = marked(rows, 4, basis)
    rows["c"] = np.where(held, "held", rows["c"])
    by = {role: column for role, column in basis.items() if role in ("group", "time")}
    model, data, counts = Disk(tmp_path, rows, every=4).fit(spec_of(**by), basis=basis)
    bins, term = model.model_.bins[2], model.model_.terms[2]
    assert "held" not in bins.feature.levels
    assert term.counts.sum() == counts["training"] == (~held).sum() > 0.7 * len(rows)
    assert counts["set_aside"] == held.sum()
    assert (data.X["c"][data.held_out] == "held").all()
    assert not (data.X["c"][~data.held_out] == "held").any()


def test_equal_rows_stand_for_each_other(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 3, 8000), "b": rng.choice(["x", None], 8000)})
    rows["y"] = np.where(rng.uniform(size=8000) < 0.2 + 0.2 * rows["a"], "good", "bad")
    disk = Disk(tmp_path, rows, every=5)
    spec = spec_of(features=["a", "b"])
    model, _, counts = disk.fit(spec)
    left = rows[~marked(rows, 5, {})]
    bins = [1 + left["a"], np.where(left["b"].isna(), 0, 1)]
    for term, place in zip(model.model_.terms, bins, strict=True):
        np.testing.assert_array_equal(term.counts, np.bincount(place, minlength=term.counts.size))
    assert counts["training"] == len(left)
    assert model.model_.base == pytest.approx(np.log(np.mean(left["y"] == "good") / np.mean(left["y"] == "bad")))


def test_a_sample_of_another_table_is_refused(tmp_path):
    disk = Disk(tmp_path, frame(3000), every=3)
    disk.sample.loc[500, "a"] += 1.0
    with pytest.raises(TableError, match="not made together"):
        disk.fit(spec_of())


@pytest.mark.slow
@pytest.mark.parametrize("group", [None, "who"])
def test_where_rows_do_not_fit_refits_have_parts_of_their_own(group, tmp_path, monkeypatch):
    rows = frame(40_000)
    rows["who"] = rows.index // 20
    disk = Disk(tmp_path, rows, every=10, row_group=8000)
    spec = spec_of(group=group, changes={"max_rounds": 40, "interactions": 1, "outer_bags": 4})
    seen = []

    def watched(recipe, parts, rows, *options, deal=Recipe.deal):
        seen.append(np.concatenate([part.first + inside for part, inside in zip(parts, rows, strict=True)]))
        return deal(recipe, parts, rows, *options)

    monkeypatch.setattr(Recipe, "deal", watched)
    basis = {"group": "who"} if group else {}
    model, data, counts = disk.fit(spec, 1_500_000, basis)
    parts = [set(part.tolist()) for part in seen[:4]]
    assert 1000 < max(map(len, parts)) <= counts["a_refit"] < counts["training"] / 4
    assert all(not one & other for k, one in enumerate(parts) for other in parts[:k])
    assert counts["learnt"] == len(set.union(*parts)) > 0.97 * 4 * counts["a_refit"]
    if group:
        kept = rows.loc[~marked(rows, 10, basis), "who"].to_numpy()
        whose = [set(kept[list(part)]) for part in parts]
        assert all(not one & other for k, one in enumerate(whose) for other in whose[:k])
    for term in model.model_.terms:
        assert term.counts.sum() == counts["training"]
        assert np.average(term.scores, weights=term.counts) == pytest.approx(0, abs=1e-9)
    assert model.model_.pairs[0].counts.sum() == counts["training"]
    assert training.evaluate(data, model)["auc"] > 0.8
    again, *_ = disk.fit(replace(spec), 3_000_000, basis, n_jobs=2)  # half of it for each of two at once
    assert np.isfinite(list(again.validation_losses_)).all()
    assert learnt_from(counts).startswith("4 refits, each on")


def test_a_part_is_a_random_one_of_the_size_that_fits():
    sizes = np.bincount(buckets(np.arange(200_000, dtype=np.uint64), 7), minlength=BUCKETS)
    assert abs(sizes - 200_000 / BUCKETS).max() < 25
    for most, n_runs in ((9_000, 4), (30_000, 8), (199_999, 3)):
        runs = runs_of_buckets(sizes, most, n_runs)
        held = [run.holds(np.arange(BUCKETS)) for run in runs]
        filled = [sizes[inside].sum() for inside in held]
        assert all(most - 30 < rows <= most for rows in filled)
        times = np.sum(held, axis=0)
        assert times.max() - times.min() <= 1  # no row twice before every row once
        assert all((one.first + one.size) % BUCKETS == other.first for one, other in pairwise(runs))


def test_buckets_go_by_the_key_alone():
    keys = np.random.default_rng(0).integers(0, 2**63, 500).astype(np.uint64)
    np.testing.assert_array_equal(buckets(keys, 3)[100:], buckets(keys[100:], 3))
    assert (buckets(keys, 3) != buckets(keys, 4)).mean() > 0.95


def test_groups_too_large_to_be_read_are_passed_over_or_refused(tmp_path):
    rows = frame(8000)
    rows["who"] = np.where(np.arange(8000) < 6000, "large", np.arange(8000) // 10)
    rows["who"] = rows["who"].sample(frac=1, random_state=0).to_numpy()
    spec, basis = spec_of(group="who"), {"group": "who"}
    *_, counts = Disk(tmp_path, rows, every=4).fit(spec, 300_000, basis)
    assert counts["learnt"] < 2000 < 6000 < counts["training"]
    rows["who"] = np.array(["one", "two", "three"])[np.arange(8000) % 3]
    shutil.rmtree(tmp_path / "scratch")
    with pytest.raises(TableError, match="leave the groups out"):
        Disk(tmp_path, rows, every=4).fit(spec, 300_000, basis)


def test_levels_and_values_that_the_sample_lacks(tmp_path):
    rows = frame(6000)
    rows["many"] = [f"level {k % 254}" for k in range(6000)]
    rows.loc[1::60, "c"], rows.loc[1::30, "many"] = "new", [f"only {k}" for k in range(200)]
    rows.loc[1, "a"], rows.loc[3, "n"] = 99.0, 1000
    spec = spec_of(features=[*FEATURES, "many"])
    model, _, counts = Disk(tmp_path, rows, every=2).fit(spec)
    a, c, n, many = (model.model_.bins[k] for k in (0, 2, 5, 6))
    assert (a.high, n.high) == (99.0, 1000.0)
    assert c.pooled == ("new",)
    assert model.model_.terms[2].counts[c.n_values] == 100
    assert {"only 0", "only 199"} <= set(many.pooled)
    assert many.n_values <= 254
    for of_feature, term in zip(model.model_.bins, model.model_.terms, strict=True):
        assert term.counts.size == of_feature.size
        assert term.counts.sum() == counts["training"]
        assert term.counts[of_feature.unseen] == 0
    model.save(tmp_path / "m.gamx")
    some = rows[spec.features].head(200)
    np.testing.assert_array_equal(load_model(tmp_path / "m.gamx").predict_proba(some), model.predict_proba(some))


def test_a_batch_has_the_types_of_the_sample(tmp_path):
    n = 4000
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"k": pd.array(rng.integers(0, 3, n), "Int64"), "y": pd.array(rng.integers(0, 2, n), "Int64")})
    rows.loc[3000:, ["k", "y"]] = pd.NA
    rows.loc[3500:, "y"] = 1
    path = tmp_path / "t.parquet"
    rows.to_parquet(path, index=False, row_group_size=1000)
    floats = pd.DataFrame({"k": rows["k"].astype(float), "y": rows["y"].astype(float)})
    for like, level in ((floats, "1.0"), (rows.dropna().astype("int64"), "1")):
        labels = pd.concat([batch["y"].astype("string") for batch in batches(path, like)])
        assert set(labels.dropna()) == {level, level.replace("1", "0", 1)}
        assert labels.isna().sum() == 500


def test_reading_holds_no_more_of_a_longer_table(tmp_path):
    drawn = np.random.default_rng(0).integers(0, 50, 400_000)
    rows = pd.DataFrame({"c": np.array([f"level {k}" for k in range(50)])[drawn]})
    pool, held = pa.default_memory_pool(), []
    for n in (100_000, 400_000):
        rows.head(n).to_parquet(tmp_path / "t.parquet", index=False, row_group_size=10_000)
        before = pool.bytes_allocated()
        held.append(max(pool.bytes_allocated() - before for _ in batches(tmp_path / "t.parquet", rows.head(100))))
    assert held[1] < held[0] + 50_000


def test_matching_finds_the_rows_that_were_taken():
    rows = frame(3000)
    taken = np.sort(np.random.default_rng(0).choice(3000, 400, replace=False))
    matching = Matching(rows.iloc[taken])
    found = np.concatenate([matching.find(rows.iloc[k : k + 450]) for k in range(0, 3000, 450)])
    np.testing.assert_array_equal(np.flatnonzero(found >= 0), taken)
    np.testing.assert_array_equal(found[taken], np.arange(400))
    assert matching.complete


@pytest.mark.parametrize("stop", ["told", "raised", "while boosting"])
def test_a_stop_leaves_nothing_behind(stop, tmp_path, small_batches):
    disk = Disk(tmp_path, frame(), every=2)
    told = []

    def callback(progress):
        told.append(progress)
        if stop == "while boosting" and progress.stage == "reading the table":
            return False
        if len(told) > 3 and stop != "told":
            raise StoppedError("Cancelled.")
        return len(told) > 3

    with pytest.raises(StoppedError):
        disk.fit(spec_of(), callback=callback)
    assert told[-1].stage == ("main effects" if stop == "while boosting" else "reading the table")
    assert [progress.round for progress in told[:3]] == [0, 1, 1]  # thousands of rows, by 700 and 300
    assert told[0].max_rounds == 6
    assert not list(disk.scratch.iterdir())


def test_failures_are_told_and_leave_nothing_behind(tmp_path, monkeypatch):
    rows = frame()
    rows.loc[4001, "a"] = np.inf
    disk = Disk(tmp_path, rows, every=2)
    with pytest.raises(TableError, match="infinite"):
        disk.fit(spec_of())
    with pytest.raises(TableError, match="cannot hold a refit"):
        disk.fit(spec_of(features=["b"]), memory=20_000)
    with pytest.raises(TableError, match="whole table in memory"):
        disk.fit(spec_of(kind="tasks", task="c"))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(TableError, match="MB of disk"):
        disk.fit(spec_of(features=["b"]))
    assert not list(disk.scratch.iterdir())


LIMITED = """
import sys, threading, time
from pathlib import Path
import pandas as pd
import psutil
from shapewise.store import batches
from shapewise.training.large import TrainingPlace, fit_on_disk
from shapewise.training.spec import Spec

batches.BATCH_BYTES = 2**20
folder = Path(sys.argv[1])
sample = pd.read_parquet(folder / "sample.parquet")
spec = Spec("0123456789abcdef", "y", "large", list(sample.columns.drop("y")), preset="fast", changes={"max_rounds": 20})
small = folder / "small.parquet"
sample.to_parquet(small, index=False)
fit_on_disk(TrainingPlace(small, folder, 10**9), sample, spec, {})  # compiles, or loads what is compiled
me, peak = psutil.Process(), [0]
base = me.memory_info().rss

def look():
    while True:
        peak[0] = max(peak[0], me.memory_info().rss)
        time.sleep(0.005)

threading.Thread(target=look, daemon=True).start()
model, data, counts = fit_on_disk(TrainingPlace(folder / "table.parquet", folder, int(sys.argv[2])), sample, spec, {})
print(peak[0] - base, counts["training"], counts["a_refit"], counts["learnt"])
"""


@pytest.mark.slow
def test_a_table_of_ten_times_the_memory_is_trained_on(tmp_path):
    rng = np.random.default_rng(0)
    most, n, group = 20 * 2**20, 320_000, 20_000
    names = np.array([f"a level with a name of some length, so that a table of it is large, {k}" for k in range(30)])
    writer, sample, size = None, [], 0
    for _ in range(n // group):
        levels = {f"c{j}": pd.Series(names[rng.integers(0, 30, group)], dtype="str") for j in range(8)}
        numbers = {f"x{j}": rng.normal(size=group).round(2) for j in range(4)}
        rows = pd.DataFrame(levels | numbers)
        rows["y"] = np.sin(rows["x0"]) + rng.normal(size=group)
        size += rows.memory_usage(deep=True).sum()
        sample.append(rows[::100])
        told = pa.Table.from_pandas(rows, preserve_index=False)
        writer = writer or pq.ParquetWriter(tmp_path / "table.parquet", told.schema)
        writer.write_table(told)
    writer.close()
    pd.concat(sample, ignore_index=True).to_parquet(tmp_path / "sample.parquet", index=False)
    assert size > 10 * most
    told = [sys.executable, "-c", LIMITED, str(tmp_path), str(most // 2)]
    done = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=True)
    peak, training_rows, a_refit, learnt = map(int, done.stdout.split())
    assert peak < most
    assert a_refit < training_rows / 1.5
    assert learnt > 1.9 * a_refit or learnt == training_rows


def test_what_fits_is_what_the_estimate_says():
    parameters = GAMClassifier().get_params()
    assert most_rows(10_000, 20, parameters, PLENTY, 2) == 10_000
    few, more = (most_rows(10**8, 20, parameters, memory, 1) for memory in (100e6, 200e6))
    assert 1.8 * few < more < 2.3 * few
    assert most_rows(10**8, 20, parameters, 200e6, 2) == few


def test_a_stored_table_with_a_sample_is_trained_on_from_disk(tmp_path):
    rows = frame()
    space = Workspace(tmp_path / "space")
    sample = rows.iloc[::3].reset_index(drop=True)
    with scratch_folder(space.root) as place:
        for name, part in (("table", rows), ("sample", sample)):
            part.to_parquet(place / name, index=False)
        table = space.tables.add_file(
            place / "table", "large", len(rows), rows.shape[1], sample=(place / "sample", len(sample))
        )
    assert len(space.tables.read(table.id)) == len(sample)
    stages = set()
    model = training.train(space, spec_of(table=table.id), callback=lambda progress: stages.add(progress.stage))
    assert stages == {"reading the table", "main effects"}
    assert model.rows["training"] == len(rows) - 400
    assert model.rows["held_out"] == model.rows["set_aside"] == 400
    assert model.metrics["auc"] > 0.75
    assert training.add_bands(space, model.id, 2).bands == 30
    assert dict(card.card(space, model.id).rows)["Bands"] == (
        "30 refits on halves of the sample's rows (so usually wider than with the whole table)"
    )
    assert not list((space.root / "jobs").iterdir())
    with pytest.raises(TableError, match="whole table in memory"):
        training.train(space, spec_of(table=table.id, kind="tasks", task="c"))


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
def test_bands_of_all_rows_come_from_halves_of_counted_groups(weight, tmp_path, monkeypatch):
    monkeypatch.setattr(bin_pairs, "FEWEST_ROWS", 1)
    monkeypatch.setattr(bin_pairs, "ROWS_PER_PAIR", 1)
    monkeypatch.setattr(outofcore, "most_rows", lambda *given, **more: 3_000)
    rows, spec = frame(12_000), spec_of(target="amount", positive=None, bands=20, weight=weight)
    model, _, counts = Disk(tmp_path, rows, every=4).fit(spec)
    assert counts["banded"] == counts["learnt"] == counts["training"]
    halves = model.model_.halves
    assert halves.n_refits == 20
    assert (halves.evenness < 1.0) == (weight is not None)
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.undo()
    whole, data, _ = Disk(memory, rows).fit(spec)
    assert not whole.model_.n_halves  # those are drawn from the rows
    known = ~data.held_out
    add_bands(whole, data.X[known], data.y[known], **data.of_rows(known), n_refits=20)
    assert halves.evenness == pytest.approx(whole.model_.halves.evenness, rel=0.01)
    width = [
        np.average(mine.deviation, weights=mine.counts) / np.average(theirs.deviation, weights=theirs.counts)
        for mine, theirs in zip(halves.terms, whole.model_.halves.terms, strict=True)
    ]
    assert 0.7 < np.mean(width) < 1.4


@pytest.mark.slow
def test_a_stored_model_whose_bands_are_of_all_rows_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(bin_pairs, "FEWEST_ROWS", 1)
    monkeypatch.setattr(bin_pairs, "ROWS_PER_PAIR", 1)
    monkeypatch.setattr(outofcore, "most_rows", lambda *given, **more: 3_000)
    rows = frame()
    space = Workspace(tmp_path / "space")
    with scratch_folder(space.root) as place:
        rows.to_parquet(place / "table", index=False)
        rows.iloc[::3].to_parquet(place / "sample", index=False)
        table = space.tables.add_file(
            place / "table", "large", len(rows), rows.shape[1], sample=(place / "sample", len(rows) // 3)
        )
    stages = set()
    spec = spec_of(table=table.id, target="amount", positive=None, bands=10)
    model = training.train(space, spec, callback=lambda progress: stages.add(progress.stage))
    assert "bands" in stages
    assert model.bands == space.models.about(model.id).bands == 10
    assert dict(card.card(space, model.id).rows)["Bands"] == "10 refits on halves of the rows"


def test_the_beginning_of_a_table_has_the_types_of_the_whole(tmp_path):
    n, path = 11_000, tmp_path / "table.parquet"
    whole = frame(n).assign(late=pd.array([*range(n - 1), None], "Int64"), maybe=pd.array([True] * n, "boolean"))
    whole["kind"] = whole["c"].astype("category")
    table = pa.Table.from_pandas(whole, preserve_index=False)
    for told in (table, table.replace_schema_metadata()):
        pq.write_table(told, path, row_group_size=4_000)
        pd.testing.assert_series_equal(beginning(path).dtypes, pd.read_parquet(path).dtypes)
    pq.write_table(table.slice(0, 0), path)
    assert list(beginning(path)) == list(whole)
