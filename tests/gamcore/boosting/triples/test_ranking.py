"""Curves, pairs and triples by coarse grids: against plain sums and least squares, and on planted truths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamcore.boosting.triples.ranking import (
    ALL_TRIPLES,
    FLIPS,
    PAIRS_ON,
    Axes,
    Descent,
    cells_of,
    in_turn,
    ranked,
    steps_of,
)
from gamcore.kernels.cubes import GridRows, grid_scratch, purify_grid
from gamcore.model.losses import LOSSES


def rows_of(rng, n, sizes, channels=2):
    codes = np.stack([rng.integers(0, size, n) for size in sizes]).astype(np.uint8)
    gradient = rng.normal(size=(n, channels)).astype(np.float32)
    return GridRows(codes, np.array(sizes), gradient, rng.uniform(0.1, 2.0, n).astype(np.float32))


def beyond_lower(rows, channel):
    """The energy of a full grid less that of the least squares fit of all grids of fewer axes, by plain loops."""
    sums, weight = {}, {}
    for i in range(rows.weight.size):
        cell = tuple(int(line[i]) for line in rows.codes)
        sums[cell] = sums.get(cell, 0.0) + float(rows.gradient[i, channel])
        weight[cell] = weight.get(cell, 0.0) + float(rows.weight[i])
    cells = sorted(sums)
    axes = [k for k, size in enumerate(rows.sizes) if size > 1]
    lower = [kept for r in range(len(axes)) for kept in itertools.combinations(axes, r)]
    columns = []
    for kept in lower:
        for value in sorted({tuple(cell[k] for k in kept) for cell in cells}):
            columns.append([float(tuple(cell[k] for k in kept) == value) for cell in cells])
    root = np.sqrt([weight[cell] for cell in cells])
    target = np.array([sums[cell] / weight[cell] for cell in cells]) * root
    design = np.array(columns).T * root[:, None]
    fit = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return float(np.square(target - fit).sum())


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 120), st.sampled_from([(4, 3, 2), (3, 3, 3), (5, 4, 1), (6, 1, 1), (2, 2, 2)])
)
def test_the_energy_of_a_grid_is_what_least_squares_leaves(seed, n, sizes):
    rows = rows_of(np.random.default_rng(seed), n, sizes)
    out = np.zeros(2)
    purify_grid(rows, np.arange(3), 1e-12, grid_scratch(2), out)
    np.testing.assert_allclose(out, [beyond_lower(rows, k) for k in (0, 1)], rtol=1e-4, atol=1e-4)


def squares(y, weight=None):
    return Descent.of(LOSSES["squared"], y, np.zeros((y.size, 1)), np.ones(y.size) if weight is None else weight)


def axes_of(codes, nominal=False):
    counts = [np.bincount(line, minlength=int(line.max()) + 2).astype(float) for line in codes]
    p = len(codes)
    return Axes.of(counts, np.full(p, nominal), np.zeros((p, 256)), rows=codes.shape[1])


def drawn(seed, n=3000, p=6, size=40):
    rng = np.random.default_rng(seed)
    return rng.integers(1, size + 1, (p, n)).astype(np.uint8), rng


def side(line):
    return np.where(line > 20, 1.0, -1.0)


TERMS = [(2,), (1, 4), (0, 3, 5)]


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("objective", ["squared", "logistic", "poisson"])
def test_a_planted_term_is_first_and_clear_whatever_its_order(term, objective):
    codes, rng = drawn(3)
    score = 0.8 * math.prod(side(codes[j]) for j in term)
    loss = LOSSES[objective]
    y = {
        "squared": lambda: score + rng.normal(size=score.size),
        "logistic": lambda: (rng.random(score.size) < 1 / (1 + np.exp(-score))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(score)).astype(float),
    }[objective]()
    axes = axes_of(codes)
    base = np.full((y.size, 1), loss.base_score(y, np.ones(y.size)))
    made = ranked(axes, axes.coded(codes), Descent.of(loss, y, base, np.ones(y.size)))
    first = made.order[0]
    assert made.terms[first] == term
    assert made.clear[first]
    assert len(made.terms) == 6 + 15 + 20


def test_the_strength_is_the_fall_of_the_mean_loss():
    codes, rng = drawn(4, n=20_000)
    y = 0.5 * side(codes[0]) * side(codes[1]) * side(codes[2]) + rng.normal(size=20_000)
    axes = axes_of(codes)
    made = ranked(axes, axes.coded(codes), squares(y))
    assert made.strengths[made.order[0]] == pytest.approx(0.25, abs=0.03)


def test_rows_may_come_in_any_unit():
    codes, rng = drawn(5)
    y, axes = rng.normal(size=3000), axes_of(codes)
    coarse = axes.coded(codes)
    plain, scaled = ranked(axes, coarse, squares(y)), ranked(axes, coarse, squares(1e6 * y, np.full(y.size, 7.0)))
    np.testing.assert_allclose(scaled.standing, plain.standing, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(scaled.strengths, 1e12 * plain.strengths, rtol=1e-3, atol=1e12 * 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("per_cluster", [1, 20])
def test_noise_is_clear_in_one_of_twenty_tables(per_cluster):
    """Noise that clusters share is noise, too; the bound is that of 200 tables of which 5% show something."""
    shown = 0
    for seed in range(200):
        codes, rng = drawn(seed, n=600, p=5)
        clusters = np.repeat(np.arange(600 // per_cluster), per_cluster)
        codes[:2] = codes[:2, ::per_cluster].repeat(per_cluster, axis=1)  # features that clusters share, too
        y = rng.normal(size=600 // per_cluster)[clusters] + rng.exponential(size=600)
        axes = axes_of(codes)
        made = ranked(axes, axes.coded(codes), squares(y - y.mean()), clusters)
        shown += bool(made.clear.any())
    assert shown <= 20


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["poisson", "logistic"])
def test_rare_events_are_no_more_often_clear(objective):
    """About eighty events among 3,000 rows of unequal exposure; the bound is that of 100 tables, as above."""
    shown, loss = 0, LOSSES[objective]
    for seed in range(100):
        codes, rng = drawn(seed, p=5)
        score = np.log(0.05 * rng.uniform(0.1, 1.0, 3000)) + codes[0] / 40
        mean = loss.inverse_link(score)
        y = rng.poisson(mean) if objective == "poisson" else rng.random(3000) < mean
        descent = Descent.of(loss, np.asarray(y, float), score[:, None], np.ones(3000))
        counts = [np.bincount(line, minlength=42).astype(float) for line in codes]
        axes = Axes.of(counts, np.zeros(5, bool), np.zeros((5, 256)), rows=descent.rows)
        shown += bool(ranked(axes, axes.coded(codes), descent).clear.any())
    assert shown <= 12


def test_a_feature_has_nothing_to_say_beside_its_copy():
    codes, rng = drawn(6, p=3)
    codes[1] = codes[0]
    y = side(codes[0]) + rng.normal(size=3000)
    axes = axes_of(codes)
    made = ranked(axes, axes.coded(codes), squares(y))
    assert made.standing[made.terms.index((0, 1))] == -np.inf


@pytest.mark.parametrize("several", [False, True])
def test_the_cells_of_a_term_lower_the_loss(several):
    codes, rng = drawn(7, n=6000)
    score = 1.2 * side(codes[0]) * side(codes[3]) * side(codes[5])
    loss = LOSSES["softmax" if several else "squared"]
    y = (rng.random(6000) < 1 / (1 + np.exp(-score))) + 0.0 if several else score + rng.normal(size=6000)
    if several:
        y[rng.random(6000) < 0.3] = 2.0
    scores = np.zeros((6000, 3 if several else 1))
    axes, weight = axes_of(codes), np.ones(6000)
    coarse = axes.coded(codes)
    descent = Descent.of(loss, y, scores, weight)
    after = scores + steps_of(axes, coarse, (0, 3, 5), cells_of(axes, coarse, descent, (0, 3, 5)))
    again = ranked(axes, coarse, Descent.of(loss, y, after, weight))
    before = ranked(axes, coarse, descent)
    place = before.terms.index((0, 3, 5))
    assert before.order[0] == place
    assert before.clear[place]
    assert again.strengths[place] < 0.15 * before.strengths[place]


@pytest.mark.parametrize("objective", ["squared", "logistic"])
def test_each_triple_is_taken_for_what_those_before_it_leave(objective):
    """A copy with some noise stands for one feature of the strongest triple: it has nothing more to say, and a weaker
    triple of other features comes first."""
    codes, rng = drawn(17, n=8000, p=7)
    codes[6] = np.where(rng.random(8000) < 0.1, codes[6], codes[2])
    strong, weak = (np.prod([side(codes[j]) for j in term], axis=0) for term in ((0, 1, 2), (3, 4, 5)))
    score = 1.5 * strong + 0.6 * weak
    y = score + rng.normal(size=8000) if objective == "squared" else rng.random(8000) < 1 / (1 + np.exp(-2 * score))
    descent = Descent.of(LOSSES[objective], np.asarray(y, float), np.zeros((8000, 1)), np.ones(8000))
    axes = axes_of(codes)
    coarse = axes.coded(codes)
    ranking = ranked(axes, coarse, descent)
    assert [ranking.terms[k] for k in ranking.order[:2]] == [(0, 1, 2), (0, 1, 6)]
    alike = {"axes": axes, "codes": coarse, "descent": descent}
    assert in_turn(ranking, 2, True, **alike) == [(0, 1, 2), (3, 4, 5)]
    clear = {term for term, stands in zip(ranking.terms, ranking.clear, strict=True) if stands and len(term) == 3}
    assert set(in_turn(ranking, 99, True, **alike)) == clear
    every = in_turn(ranking, 99, False, **alike)
    assert every[:2] == [(0, 1, 2), (3, 4, 5)]
    assert len(every) == len(set(every)) == 35
    assert in_turn(ranking, 0, False, **alike) == []


def test_many_features_lead_to_triples_by_their_strongest_pairs():
    codes, rng = drawn(8, n=800, p=ALL_TRIPLES + 3)
    y = 2 * side(codes[0]) * side(codes[1]) + rng.normal(size=800)
    axes = axes_of(codes)
    made = ranked(axes, axes.coded(codes), squares(y), pairs=[(4, 9)])
    triples = [term for term in made.terms if len(term) == 3]
    assert {(0, 1, 2), (4, 9, 15), (2, 4, 9)} <= set(triples)
    assert len(triples) <= (PAIRS_ON + 1) * (ALL_TRIPLES + 1)
    again = ranked(axes, axes.coded(codes), squares(y), among=made.terms)
    np.testing.assert_array_equal(again.standing, made.standing)


def test_missing_cells_and_levels_are_codes_like_others():
    codes, rng = drawn(9, p=4, size=7)
    codes[0, rng.random(3000) < 0.3] = 0
    y = 0.8 * (codes[0] == 0) * side(codes[1] * 6) * (codes[2] % 2) + rng.normal(size=3000)
    axes = axes_of(codes, nominal=True)
    made = ranked(axes, axes.coded(codes), squares(y - y.mean()))
    assert made.terms[made.order[0]] in ((0, 1, 2), (1, 2), (0, 2), (0, 1))
    assert FLIPS == 19  # so that anything is clear by chance in one of twenty tables
