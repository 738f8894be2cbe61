"""The two stages of multi-task trees, and the explanations of such a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

import gamcore
from gamcore import MultiTaskTreesClassifier, MultiTaskTreesRegressor, TableError
from gamcore.data.binning import encode_table
from gamcore.data.sampling import Split
from gamcore.estimators.multitask_parameters import CRITERIA
from gamcore.explain.task_outliers import TaskOutliers
from gamcore.explain.tasks import levels_there, named_by
from gamcore.kernels.tree_growth import Growth
from gamcore.kernels.tree_splits import Splitting
from gamcore.model.losses import LOSSES
from gamcore.multitask.boosting import TaskParameters, TaskProblem, boost_tasks
from gamcore.multitask.tables import MAX_TASK_CODES, UNKNOWN, task_codes
from gamcore.multitask.trees import Forest, TreeTable
from tests.support import naive
from tests.support.fits import QUICK, two_tasks
from tests.support.places import DATA


def problem_of(codes, y, task, common, n_valid=40, weight=None, loss="squared"):
    """Make a problem whose last rows are for validation."""
    group = (np.arange(y.size) >= y.size - n_valid).astype(np.int64)
    n_tasks = int(task.max()) + 1
    table = TreeTable.of(codes, codes.max(axis=1), [False] * len(codes))
    return TaskProblem(
        table, task.astype(np.int32), tuple(map(str, range(n_tasks))), y, np.empty(0) if weight is None else weight,
        LOSSES[loss], np.array(common), tuple(np.array(common) for _ in range(n_tasks)), group,
    )  # fmt: skip


def parameters(depth=2, rounds=12, criterion="none", **changes):
    told = {"learning_rate": 0.3, "max_rounds": rounds, "specific_rounds": 8, "patience": 4, "min_valid": 5,
            "own_quit": True, "depths": (1, depth)}  # fmt: skip
    how = Splitting(CRITERIA[criterion], 1.0, 1e-12, 0.0, 0.5)
    return TaskParameters(how, Growth(depth, 2**31, False, False), **{**told, **changes})


def run(problem, settings, valid=True):
    split = Split(np.array([0]), np.array([1]) if valid else np.empty(0, np.int64))
    told, loop = [], boost_tasks(problem, split, settings, True)
    while True:
        try:
            told.append(next(loop))
        except StopIteration as end:
            return end.value, told


def simple_rows(seed=0, n=160, n_tasks=2):
    rng = np.random.default_rng(seed)
    codes = rng.integers(1, 6, (3, n)).astype(np.uint8)
    task = rng.integers(0, n_tasks, n)
    y = np.round(8 * ((codes[0] > 2) * 2.0 + (codes[1] > 3) * task + rng.normal(size=n))) / 8
    return codes, y, task


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_task_is_plain_boosting(criterion):
    """Compare with a short reference: shrunken trees on residuals, with early stopping on the validation rows."""
    codes, y, task = simple_rows(1)
    task[:] = 0
    refit, _ = run(problem_of(codes, y, task, range(3)), parameters(criterion=criterion))
    last, nominal = codes.max(axis=1).astype(int), [False] * 3
    train, valid = list(range(120)), np.arange(120, 160)
    score = np.full(160, y[:120].mean())
    losses, scores = [np.square(y - score)[valid].sum()], [score]
    for _ in range(12):
        residual, ones = (y - score).astype(np.float32).astype(float), np.ones(160)
        tree = naive.tree(codes, train, residual, ones, task, last, nominal, 2, 0.3)
        score = score + [naive.tree_value(tree, row) for row in codes.T]
        losses.append(np.square(y - score)[valid].sum())
        scores.append(score)
        if len(losses) - 1 - int(np.argmin(losses)) >= 4:
            break
    best = int(np.argmin(losses))
    assert refit.quits.tolist() == [best, best]
    assert [trees.ends.size - 1 for trees in refit.specific] == [0]
    found = np.full(160, refit.base_score)
    Forest(refit.common).add(codes, np.arange(160), 0, best, found)
    np.testing.assert_allclose(found, scores[best], atol=1e-6)


def naive_quits(rows, task, patience, n_tasks):
    """Return the rounds each task keeps, from the losses (rounds + 1, n) of every validation row at every round.

    A task quits when its best round is `patience` rounds back and either its loss is clearly higher since or the pooled
    best round is as far back. It keeps its best round if that is clearly better than the pooled best, else the latter.
    """

    def clearly(worse, better):
        gap = worse - better
        return gap.mean() > gap.std(ddof=1) / np.sqrt(gap.size)

    left, best, pooled, lowest, frozen, kept = {}, [0] * n_tasks, 0, np.inf, {}, {}
    for number, now in enumerate(rows):
        losses = [now[task == t].sum() for t in range(n_tasks)]
        for t in range(n_tasks):
            if losses[t] < rows[best[t]][task == t].sum() - 1e-5 * rows[0][task == t].sum():
                best[t] = number
        total = sum(frozen.get(t, losses[t]) for t in range(n_tasks))
        if number == 0 or total < lowest - 1e-5 * rows[0].sum():
            pooled, lowest = number, total
        for t in set(range(n_tasks)) - set(left):
            mine = task == t
            if number - best[t] >= patience and (
                clearly(now[mine], rows[best[t]][mine]) or number - pooled >= patience
            ):
                left[t], frozen[t] = number, losses[t]
                kept[t] = best[t] if clearly(rows[pooled][mine], rows[best[t]][mine]) else pooled
        if len(left) == n_tasks:
            break
    now = [best[t] if clearly(rows[pooled][task == t], rows[best[t]][task == t]) else pooled for t in range(n_tasks)]
    return [*[kept.get(t, now[t]) for t in range(n_tasks)], pooled], left


@pytest.mark.parametrize("seed", range(6))
def test_quits_are_those_of_the_twin_and_rewind(seed):
    """Running the kept rounds again gives the validation loss that the loop reported."""
    codes, y, task = simple_rows(seed, n=400, n_tasks=3)
    y = np.where(task == 2, np.random.default_rng(seed).normal(size=y.size), y)  # noise alone: it should quit soon
    problem = problem_of(codes, y, task, range(3), 120)
    refit, told = run(problem, parameters(rounds=40))
    valid = np.arange(280, 400)
    rows = []
    for number in range(refit.common.ends.size):
        score = np.full(400, refit.base_score)
        Forest(refit.common).add(codes, valid, 0, number, score)
        rows.append(np.square(y - score)[valid])
    quits, left = naive_quits(np.array(rows), task[valid], 4, 3)
    assert refit.quits.tolist() == quits
    assert {int(name): p.round for p in told for name, _ in p.quits} == left
    assert refit.quits[2] < refit.quits[0]
    score = np.full(400, refit.base_score)
    for t in range(3):
        rows = valid[task[valid] == t]
        Forest(refit.common).add(codes, rows, 0, int(refit.quits[t]), score)
        Forest(refit.specific[t]).add(codes, rows, 0, refit.specific[t].ends.size - 1, score)
    assert refit.valid_loss == pytest.approx(np.square(y - score)[valid].mean())


def test_a_task_that_quits_takes_its_rows_along():
    """Trees after the round in which it quits are those of the other task alone."""
    codes, y, task = simple_rows(3, n=400)
    y = np.where(task == 1, np.random.default_rng(1).normal(size=y.size), y)
    problem = problem_of(codes, y, task, range(3), 120)
    refit, told = run(problem, parameters(rounds=40))
    left = next(p.round for p in told if any(name == "1" for name, _ in p.quits))
    weights = [trees_weight(refit.common, number) for number in range(refit.common.ends.size - 1)]
    assert left < len(weights)
    assert set(weights[:left]) == {280.0}
    assert set(weights[left:]) == {float((task[:280] == 0).sum())}


def trees_weight(trees, number):
    return float(trees.weight[trees.ends[number]])


def test_tasks_with_few_validation_rows_follow_the_pooled_loss():
    codes, y, task = simple_rows(4, n=300)
    task[:] = 0
    task[np.r_[0:30, 290:293]] = 1  # three of its rows are for validation
    refit, _ = run(problem_of(codes, y, task, range(3), 100), parameters(rounds=30))
    assert refit.quits[1] == refit.quits[2]
    assert refit.specific[1].ends.size == 1
    pooled, _ = run(problem_of(codes, y, task, range(3), 100), parameters(rounds=30, own_quit=False))
    assert len(set(pooled.quits.tolist())) == 1


def test_a_task_without_validation_rows_has_no_trees_of_its_own():
    """Without validation rows, nothing would stop such trees."""
    codes, y, task = simple_rows(4, n=300)
    task[:] = 0
    task[:80] = 1  # the last rows are for validation
    refit, _ = run(problem_of(codes, y, task, range(3), 100), parameters(rounds=30))
    assert refit.specific[1].ends.size == 1
    assert refit.quits[1] == refit.quits[2]


def test_tasks_are_told_apart_by_their_rows_not_by_their_numbers():
    codes, y, task = simple_rows(5, n=300, n_tasks=3)
    a, _ = run(problem_of(codes, y, task, range(3), 90), parameters(rounds=20, criterion="entropy"))
    turned = (task + 1) % 3
    b, _ = run(problem_of(codes, y, turned, range(3), 90), parameters(rounds=20, criterion="entropy"))
    np.testing.assert_array_equal(a.quits[[0, 1, 2]], b.quits[[1, 2, 0]])
    np.testing.assert_array_equal(a.common.feature, b.common.feature)


def test_without_validation_all_rounds_are_kept():
    codes, y, task = simple_rows(6)
    refit, _ = run(problem_of(codes, y, task, range(3)), parameters(rounds=7), valid=False)
    assert refit.quits.tolist() == [7, 7, 7]
    assert np.isnan(refit.valid_loss)


def test_a_stop_keeps_the_best_so_far():
    codes, y, task = simple_rows(7, n=300)
    problem, split = problem_of(codes, y, task, range(3), 90), Split(np.array([0]), np.array([1]))
    loop = boost_tasks(problem, split, parameters(rounds=40), False)
    next(loop)
    with pytest.raises(StopIteration) as end:
        loop.send(True)
    assert end.value.value.common.ends.size == 2
    assert all(trees.ends.size == 1 for trees in end.value.value.specific)


# The estimators


@pytest.mark.parametrize("preset", gamcore.TASK_PRESETS)
def test_presets_train(preset):
    X, y, task = two_tasks()
    told = {**gamcore.TASK_PRESETS[preset], "outer_bags": 1, "max_rounds": 5, "specific_rounds": 5}
    model = MultiTaskTreesRegressor(**told, random_state=0).fit(X, y, task=task)
    assert model.n_rounds_ <= 5
    if preset == "paper":
        used = model.importance().frame().set_index("feature")["common"]
        assert set(used.index[used > 0]) <= {"shared", "level"}


@pytest.fixture(scope="module")
def fitted():
    X, y, task = two_tasks()
    return MultiTaskTreesRegressor(**QUICK).fit(X, y, task=task)


def test_it_learns_what_is_common_and_what_is_not(fitted):
    X, y, task = two_tasks(1)
    rmse = np.sqrt(np.mean(np.square(fitted.predict(X, task=task) - y)))
    assert rmse < 0.55 * y.std()
    shares = fitted.importance().frame().set_index("feature")["total"]
    assert shares.sum() == pytest.approx(1.0)
    assert shares["shared"] > shares["level"] > 0


def test_fitting_twice_is_fitting_once(fitted):
    """The authors' program kept the trees of its first split for all others."""
    X, y, task = two_tasks()
    other, y_other, _ = two_tasks(9)
    again = clone(fitted).fit(other, y_other, task=task).fit(X, y, task=task)
    np.testing.assert_array_equal(again.predict(X, task), fitted.predict(X, task))
    assert again.model_.forest.n_trees == fitted.model_.forest.n_trees


def test_threads_do_not_change_a_bit(fitted):
    X, y, task = two_tasks()
    threaded = clone(fitted).set_params(n_jobs=2).fit(X, y, task=task)
    np.testing.assert_array_equal(threaded.predict(X, task), fitted.predict(X, task))


def test_a_dict_of_tables_is_the_same_as_one_table(fitted):
    X, y, task = two_tasks()
    tables = {name: (X[task == name].dropna(axis=1, how="all"), y[task == name]) for name in ("a", "b")}
    by_table = clone(fitted).fit(tables)
    told = by_table.predict({name: frame for name, (frame, _) in tables.items()})
    for name in ("a", "b"):
        np.testing.assert_array_equal(told[name], fitted.predict(X, task)[task == name])


def test_a_cell_of_a_column_that_the_task_lacks_says_nothing(fitted):
    X, _, task = two_tasks()
    filled = X.assign(extra=X["extra"].fillna(2.0))
    np.testing.assert_array_equal(fitted.predict(filled, task), fitted.predict(X, task))
    assert fitted.model_.owned.tolist() == [[True, True, True, False], [True, True, False, True]]


def test_a_missing_cell_is_not_an_absent_one(fitted):
    X, _, task = two_tasks()
    rows = fitted.model_.given(0, 0)
    assert rows.tolist() == [-1, -1, -1, fitted.model_.bins[3].size, 1]
    blank = X.assign(shared=np.nan)
    assert not np.array_equal(fitted.predict(blank, task), fitted.predict(X, task))


def test_an_unknown_task_is_served_by_the_common_trees(fitted):
    X, _, _ = two_tasks()
    model = fitted.model_
    found = fitted.predict(X, task="never seen")
    np.testing.assert_array_equal(found, fitted.predict(X))
    codes, place = fitted._known_rows(X, "never seen")
    assert set(place.tolist()) == {UNKNOWN}
    expected = np.zeros(len(X))
    for k in range(model.n_refits):
        score = np.full(len(X), model.base_scores[k])
        first = int(model.common_trees[k])
        model.forest.add(codes, np.arange(len(X)), first, first + int(model.quits[k, -1]), score)
        expected += score / model.n_refits
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isfinite(fitted.predict(X[["shared"]], task="never seen")).all()


def test_columns_of_one_name_and_two_types_are_two_features():
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"x": rng.normal(size=200), "z": rng.normal(size=200)})
    texts = pd.DataFrame({"x": rng.choice(["p", "q"], 200), "z": rng.normal(size=200)})
    model = MultiTaskTreesRegressor(**QUICK).fit(
        {"n": (numbers, numbers["x"]), "t": (texts, (texts["x"] == "p").astype(float))}
    )
    assert [bins.feature.name for bins in model.model_.bins] == ["x (number)", "z", "x (category)"]
    assert model.model_.owned.tolist() == [[True, True, False], [False, True, True]]
    assert np.corrcoef(model.predict(texts, "t"), texts["x"] == "p")[0, 1] > 0.9
    assert np.corrcoef(model.predict(numbers, "n"), numbers["x"])[0, 1] > 0.9


def test_contributions_add_up_to_the_score(fitted):
    X, _, task = two_tasks(2)
    for asked in (task, None):
        found = fitted.explain_rows(X, asked)
        np.testing.assert_allclose(found.intercept + found.contributions.sum(axis=1), found.scores, atol=1e-10)
        np.testing.assert_allclose(found.scores, fitted.predict(X, asked), atol=1e-12)
    told = fitted.explain_rows(X, task)
    assert told.features[-1] == "(task)"
    assert not told.contributions[task == "a", 3].any()  # that `own` is absent there is the task's doing
    assert told.contributions[task == "b", 3].any()


@pytest.mark.parametrize("kind", [MultiTaskTreesRegressor, MultiTaskTreesClassifier])
def test_an_additive_model_is_a_sum_of_curves(kind):
    X, y, task = two_tasks()
    target = y if kind is MultiTaskTreesRegressor else y > 0.5
    model = kind(**QUICK, additive=True).fit(X, target, task=task)
    score = model.predict if kind is MultiTaskTreesRegressor else model.decision_function
    for name in ("a", "b"):
        rows = X[task == name]
        terms = model.additive_model(name)
        assert "own" in [b.feature.name for b in terms.bins] or name == "a"
        np.testing.assert_allclose(terms.score(encode_table(rows, terms.bins)), score(rows, name), atol=1e-10)
        for term in terms.terms:
            assert np.average(term.scores, weights=term.counts) == pytest.approx(0.0, abs=1e-10)
        parts = [model.explain_shape("shared", name, part).scores for part in ("common", "specific", "whole")]
        np.testing.assert_allclose(parts[0] + parts[1], parts[2], atol=1e-10)
    with pytest.raises(TableError, match="additive=True"):
        kind(**QUICK).fit(X, target, task=task).additive_model("a")


def test_agreement_and_similarity_tell_a_reversed_task():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1800)
    task = np.repeat(["one", "two", "odd"], 600)
    y = np.where(task == "odd", -1, 1) * np.tanh(2 * x) + 0.2 * rng.normal(size=1800)
    X = pd.DataFrame({"x": x, "flat": rng.normal(size=1800)})
    model = MultiTaskTreesRegressor(outer_bags=3, random_state=0, additive=True).fit(X, y, task=task)
    told = model.agreement("x").frame().set_index("task")["verdict"]
    assert told.to_dict() == {"one": "agrees", "two": "agrees", "odd": "reverses"}
    small = clone(model).fit(X, y * 2.0**-40, task=task)  # the unit of a target says nothing of its shape
    for name in X:
        assert small.agreement(name).verdict == model.agreement(name).verdict
    assert small.outliers().verdict == model.outliers().verdict
    alike = model.similarity()
    assert alike.loc["one", "two"] > 0.9
    assert alike.loc["one", "odd"] < -0.9
    np.testing.assert_allclose(np.diag(alike), 1.0)
    np.testing.assert_allclose(alike, alike.T)
    apart = model.outliers()
    assert dict(zip(apart.tasks, apart.verdict, strict=True)) == {"one": "shares", "two": "shares", "odd": "reverses"}
    assert apart.outliers == ("odd",)
    assert apart.frame()["task"][0] == "odd"
    assert "odd is an outlier: its curves reverse" in apart.words()


def test_tasks_of_one_truth_have_no_outlier_and_unrelated_ones_no_majority():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(2000, 4)), columns=list("abcd"))
    task = np.repeat(list("stuv"), 500)
    own = X.to_numpy()[np.arange(2000), np.repeat(range(4), 500)]
    settings = {"outer_bags": 3, "max_rounds": 60, "specific_rounds": 60, "random_state": 0}
    alike = MultiTaskTreesRegressor(**settings).fit(X, X["a"] + 0.3 * rng.normal(size=2000), task=task).outliers()
    assert alike.verdict == ("shares",) * 4
    assert alike.outliers == ()
    assert alike.words().startswith("No task is an outlier")
    unrelated = MultiTaskTreesRegressor(**settings).fit(X, own + 0.3 * rng.normal(size=2000), task=task).outliers()
    assert unrelated.outliers == ()
    assert (unrelated.lowest <= unrelated.score).all()
    assert (unrelated.score <= unrelated.highest).all()


def test_a_curve_of_the_common_shape_says_how_much_higher_it_lies():
    rng = np.random.default_rng(0)
    n, places = 3000, [f"p{k}" for k in range(12)]
    task = np.repeat(["cheap", "dear"], n // 2)
    place = np.where(task == "cheap", rng.integers(0, 7, n), rng.integers(5, 12, n))
    X = pd.DataFrame({"place": np.take(places, place), "size": rng.normal(size=n)})
    y = 10.0 * place + X["size"] + rng.normal(size=n)
    model = MultiTaskTreesRegressor(outer_bags=3, random_state=0, additive=True).fit(X, y, task=task)
    told = model.agreement("place")
    assert told.verdict == ("agrees", "agrees")
    common = model.explain_shape("place")
    for t, name in enumerate(model.tasks_):
        own = model.explain_shape("place", name)
        higher = np.average(own.scores - common.scores, weights=own.counts)
        assert told.shift[t] == pytest.approx(higher, abs=1e-6)
        assert told.apart(t)
        assert {own.labels[k] for k in levels_there(own)} == set(X.loc[task == name, "place"])
    assert told.shift[0] > 20  # each is centred on its own rows: the levels of the cheap one are low in common
    assert told.shift[1] < -20
    assert not any(model.agreement("size").apart(t) for t in range(2))
    assert levels_there(model.explain_shape("size", "dear")).size == model.explain_shape("size").scores.size


def test_a_bin_of_several_levels_names_those_of_the_task():
    place = ["p0", "p1"] * 100 + ["r0", "r1", "r2", "r3"]
    X, task = pd.DataFrame({"place": place * 2}), np.repeat(["a", "b"], len(place))
    y = (X["place"] == "p1") + 0.1 * np.arange(len(X)) % 1
    two_places = MultiTaskTreesRegressor(outer_bags=1, max_rounds=5, random_state=0).fit(X, y, task=task)
    own = two_places.explain_shape("place", "a")
    assert own.labels[-1] == "(rare: r0, r1, r2, ...)"
    named = named_by(own, {"p0", "p1", "r0", "r2"})
    assert named.labels == ("p0", "p1", "(rare: r0, r2)")
    assert named.members[-1] == named.rare == ("r0", "r2")
    assert named_by(own, {"p0"}).labels == own.labels  # nothing is known of it


def test_a_feature_that_a_task_lacks_is_absent_there(fitted):
    assert dict(fitted.agreement("own").frame()[["task", "verdict"]].to_numpy())["a"] == "absent"


def test_weights_of_zero_leave_rows_out():
    X, y, task = two_tasks()
    spoilt, weight = y.copy(), np.ones(y.size)
    spoilt[::7], weight[::7] = 1e6, 0.0
    kept = weight > 0
    a = MultiTaskTreesRegressor(**QUICK).fit(X, spoilt, task=task, sample_weight=weight)
    b = MultiTaskTreesRegressor(**QUICK).fit(X[kept], y[kept], task=task[kept])
    np.testing.assert_allclose(a.predict(X, task), b.predict(X, task))


def test_rows_of_a_group_stay_together():
    """Copies of a row in both training and validation would make noise look like signal."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": np.repeat(rng.normal(size=150), 4)})
    y, task = np.repeat(rng.normal(size=150), 4), np.repeat(rng.choice(["a", "b"], 150), 4)
    settings = {"outer_bags": 4, "max_rounds": 60, "random_state": 0, "min_child_weight": 1.0, "l2": 0.0}
    apart = MultiTaskTreesRegressor(**settings).fit(X, y, task=task, groups=np.repeat(np.arange(150), 4))
    mixed = MultiTaskTreesRegressor(**settings).fit(X, y, task=task)
    assert mixed.validation_losses_.mean() < 0.8 * apart.validation_losses_.mean()


def test_groups_that_hold_whole_tasks_do_not_end_the_common_trees():
    """Tasks without training rows count in the pooled loss unchanged, from the first round to the last."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(20), 30)
    X = pd.DataFrame({"x": rng.normal(size=600)})
    y = 2 * np.sin(2 * X["x"]) + 0.2 * rng.normal(size=600)
    model = MultiTaskTreesRegressor(outer_bags=2, random_state=0).fit(X, y, task=task, groups=task)
    assert np.sqrt(np.mean((model.predict(X, task) - y) ** 2)) < 0.5 * y.std()


def test_units_of_the_target_do_not_matter():
    X, y, task = two_tasks()
    a = MultiTaskTreesRegressor(**QUICK).fit(X, y, task=task)
    b = MultiTaskTreesRegressor(**QUICK).fit(X, y * 1e8, task=task)
    np.testing.assert_allclose(b.predict(X, task), 1e8 * a.predict(X, task), rtol=1e-4, atol=1e4)
    np.testing.assert_allclose(b.validation_losses_, 1e16 * a.validation_losses_, rtol=1e-3)


def test_more_tasks_than_codes_share_the_last():
    task = np.repeat(np.arange(300), np.arange(300, 0, -1))
    codes = task_codes(np.bincount(task, minlength=300))
    assert codes[: MAX_TASK_CODES - 1].tolist() == list(range(1, MAX_TASK_CODES))
    assert set(codes[MAX_TASK_CODES - 1 :].tolist()) == {MAX_TASK_CODES}
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=1500)})
    labels = rng.integers(0, 300, 1500)
    model = MultiTaskTreesRegressor(outer_bags=1, max_rounds=5).fit(X, X["x"] + labels, task=labels)
    assert np.isfinite(model.predict(X, labels)).all()


def test_a_task_of_one_class_or_one_row_is_learnt_with_the_others():
    X, y, task = two_tasks()
    label = y > 0.5
    label[task == "b"] = True
    model = MultiTaskTreesClassifier(**QUICK).fit(X, label, task=task)
    assert model.predict_proba(X, task)[task == "b", 1].mean() > 0.9
    single = np.where(np.arange(y.size) == 5, "lonely", task)
    assert np.isfinite(MultiTaskTreesRegressor(**QUICK).fit(X, y, task=single).predict(X, single)).all()


def test_progress_tells_who_quits_and_can_stop():
    X, y, task = two_tasks()
    told = []
    MultiTaskTreesRegressor(
        **{**QUICK, "max_rounds": 200}, early_stopping_rounds=3, learning_rate=0.5, callback=told.append
    ).fit(X, y, task=task)
    assert {p.stage for p in told} == {"common trees", "specific trees"}
    names = {name for p in told for name, _ in p.quits}
    assert names == {"a", "b"}
    stopped = MultiTaskTreesRegressor(**{**QUICK, "callback": lambda progress: progress.round >= 3}).fit(
        X, y, task=task
    )
    assert stopped.n_rounds_ <= 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": "a"}, "one label per row"),
        ({"task": ["a"]}, "1 entries for 720 rows"),
        ({"task": np.array([None] + ["a"] * 719, object)}, "missing in 1 rows"),
        ({"task": np.zeros((720, 1))}, "task has 2 dimensions"),
        ({"task": np.array([np.inf] + [1.0] * 719)}, "A task is float 'inf': label them with strings, or numbers"),
        ({"task": [10**30] + [1] * 719}, "A task is int '1000"),
        ({"task": np.array(["\ud800"] + ["a"] * 719, object)}, "unpaired surrogate"),
        ({"task": np.array([b"a"] * 720)}, "A task is bytes"),
        ({"y": None}, "requires y"),
    ],
)
def test_bad_rows_are_refused_in_words(change, words):
    X, y, task = two_tasks()
    with pytest.raises(TableError, match=words):
        MultiTaskTreesRegressor(**QUICK).fit(**{"X": X, "y": y, "task": task, **change})


def test_other_mistakes_are_refused_in_words(fitted):
    X, y, task = two_tasks()
    with pytest.raises(TableError, match="leave y and task out"):
        MultiTaskTreesRegressor().fit({"a": (X, y)}, y)
    with pytest.raises(TableError, match=r"an \(X, y\) for each task"):
        MultiTaskTreesRegressor().fit({"a": X})
    with pytest.raises(TableError, match="Task 'b' has 720 rows and 3 targets"):
        MultiTaskTreesRegressor().fit({"a": (X, y), "b": (X, y[:3])})
    with pytest.raises(TableError, match="lacks column 'extra', which task 'a'"):
        fitted.predict(X[["shared", "level"]], task="a")
    with pytest.raises(KeyError, match="no task 'c'"):
        fitted.explain_shape("shared", "c")
    with pytest.raises(TableError, match="names 'nothing'"):
        MultiTaskTreesRegressor(common_features=["nothing"]).fit(X, y, task=task)
    with pytest.raises(ValueError, match="'criterion' parameter"):
        MultiTaskTreesRegressor(criterion="gini").fit(X, y, task=task)
    with pytest.raises(NotFittedError):
        MultiTaskTreesRegressor().predict(X)


@pytest.mark.parametrize("features", ["shared", ["level"]])
def test_common_trees_may_be_kept_to_some_features(features):
    X, y, task = two_tasks()
    model = MultiTaskTreesRegressor(**QUICK, common_features=features, task_column=False).fit(X, y, task=task)
    used = model.importance().frame().set_index("feature")["common"]
    allowed = {"shared", "level"} if features == "shared" else {"level"}
    assert set(used.index[used > 0]) <= allowed
    own = model.importance().specific
    assert own[0, 2] > 0  # a's own trees use what the common ones may not


def test_a_model_file_holds_all_of_it(fitted, tmp_path):
    X, _, task = two_tasks()
    fitted.save(tmp_path / "tasks.gamx")
    loaded = gamcore.load_model(tmp_path / "tasks.gamx")
    assert type(loaded) is MultiTaskTreesRegressor
    np.testing.assert_array_equal(loaded.predict(X, task), fitted.predict(X, task))
    assert loaded.tasks_.tolist() == ["a", "b"]
    pd.testing.assert_frame_equal(loaded.rounds(), fitted.rounds())
    pd.testing.assert_frame_equal(loaded.explain_shape("own", "b").frame(), fitted.explain_shape("own", "b").frame())


def test_loans_of_two_kinds(sample_loans):
    X, y, task = sample_loans
    rng = np.random.default_rng(0)
    train = rng.random(len(X)) < 0.8
    model = MultiTaskTreesClassifier(random_state=0, n_jobs=2).fit(X[train], y[train], task=task[train])
    chance = model.predict_proba(X[~train], task[~train])[:, 1]
    assert roc_auc_score(y[~train] == "yes", chance) > 0.7
    assert model.agreement("debt_ratio").verdict == ("agrees", "agrees")


@pytest.fixture
def sample_loans():
    frame = pd.read_csv("sample_data/loans.csv")
    return frame.drop(columns=["default", "product"]), frame["default"], frame["product"]


def test_school_is_neither_too_bad_nor_too_good_to_be_true():
    """An error under 9.6 would mean a leak: identical rows differ by 9.73 (docs/method/multitask.md)."""
    source = DATA / "school.parquet"
    if not source.exists():
        pytest.skip("The school table is not on this machine.")
    frame = pd.read_parquet(source)
    rng = np.random.default_rng(0)
    train = rng.random(len(frame)) < 0.8
    X, y, task = frame.drop(columns=["exam_score", "school"]), frame["exam_score"].astype(float), frame["school"]
    model = MultiTaskTreesRegressor(outer_bags=2, learning_rate=0.2, random_state=0).fit(
        X[train], y[train], task[train]
    )
    rmse = np.sqrt(np.mean(np.square(model.predict(X[~train], task[~train]) - y[~train])))
    assert 9.6 < rmse < 10.4
    assert len(model.tasks_) == 139


def test_a_model_of_one_task_is_saved_and_read(tmp_path):
    X, y, _ = two_tasks()
    model = MultiTaskTreesRegressor(**QUICK).fit(X, y)
    model.save(tmp_path / "one.gamx")
    loaded = gamcore.load_model(tmp_path / "one.gamx")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.validation_losses_, model.validation_losses_)


def test_labels_of_another_type_are_known_by_their_text(fitted):
    X, y, task = two_tasks()
    numbered = np.where(task == "a", 1, 2)
    model = MultiTaskTreesRegressor(**QUICK).fit(X, y, task=numbered)
    np.testing.assert_array_equal(model.predict(X, numbered.astype(str)), model.predict(X, numbered))
    with pytest.raises(TableError, match="same name as text"):
        MultiTaskTreesRegressor().fit(X, y, task=[1, *["1"] * (len(X) - 1)])
    with pytest.raises(TableError, match=r"A task is tuple .*: label them with strings, or numbers"):
        MultiTaskTreesRegressor().fit({("eu", "a"): (X, y), ("eu", "b"): (X, y)})


def test_tables_of_many_kinds_are_joined():
    """Categories may differ, names may be taken already, and a column may be empty everywhere."""
    rng = np.random.default_rng(0)
    a = pd.DataFrame({"k": pd.Categorical(rng.choice([1, 2], 90)), "z": rng.normal(size=90), "e": np.nan})
    b = pd.DataFrame({"k": pd.Categorical(rng.choice([2, 3], 90)), "z": rng.choice(["p", "q"], 90)})
    b["z (number)"] = rng.normal(size=90)
    y = rng.normal(size=90)
    model = MultiTaskTreesRegressor(**QUICK).fit({"a": (a, y), "b": (b, y)})
    names = [bins.feature.name for bins in model.model_.bins]
    assert names == ["k", "z (number)_", "z (category)", "z (number)"]
    assert model.model_.bins[0].levels == ("1", "2", "3")
    assert np.isfinite(model.predict(a, "a")).all()
    assert np.isfinite(model.predict(b, "b")).all()


def test_the_parts_of_a_row_do_not_depend_on_the_others(fitted):
    X, _, task = two_tasks(2)
    whole, alone = fitted.explain_rows(X, task), fitted.explain_rows(X.iloc[[5]], task[5])
    assert alone.intercept == whole.intercept
    np.testing.assert_allclose(alone.contributions[0], whole.contributions[5])


def test_an_unknown_task_has_no_additive_model():
    X, y, task = two_tasks()
    model = MultiTaskTreesRegressor(**QUICK, additive=True).fit(X, y, task=task)
    with pytest.raises(TableError, match="name a task"):
        model.additive_model(None)


def test_a_bar_is_no_outlier_where_the_sentence_says_that_there_is_none():
    score = np.array([0.6, -0.4, -0.6])
    few = TaskOutliers(("a", "b", "c"), score, score - 0.1, score + 0.1, ("shares", "outlier", "reverses"), 2)
    assert not few.outliers
    (bars, *_) = few.describe().main.marks
    assert sorted(bars.texts) == ["shares", "unclear", "unclear"]
