from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.data import sampling as groups
from tests.support import naive


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 5))
def test_a_deal_is_a_permutation_into_equal_groups(n, n_groups, seed):
    dealt = groups.deal(n, n_groups, seed)
    assert sorted(dealt.order) == list(range(n))
    assert dealt.n_groups == min(n, n_groups)
    assert np.ptp(np.diff(dealt.starts)) <= 1


def test_strata_are_spread_over_groups():
    strata = np.repeat([0, 1], [900, 100])
    dealt = groups.deal(1000, 20, 0, strata=strata)
    ones = [strata[dealt.order[a:b]].sum() for a, b in zip(dealt.starts[:-1], dealt.starts[1:], strict=True)]
    assert set(ones) == {5}


@given(st.integers(1, 25), st.integers(1, 40), st.integers(0, 3))
def test_clusters_stay_together(n_clusters, n_groups, seed):
    clusters = np.arange(100) % n_clusters
    dealt = groups.deal(100, n_groups, seed, clusters=clusters)
    assert dealt.n_groups == min(n_clusters, n_groups)
    group = np.repeat(np.arange(dealt.n_groups), np.diff(dealt.starts))
    home = {}
    for row, g in zip(dealt.order, group, strict=True):
        assert home.setdefault(clusters[row], g) == g


def test_validation_sets_cover_all_groups_evenly():
    made = groups.splits(32, 0.15, 8, 0)
    times = np.bincount(np.concatenate([split.valid for split in made]), minlength=32)
    assert times.min() >= 1
    assert times.max() <= 2
    for split in made:
        assert split.valid.size == 5
        assert sorted([*split.train, *split.valid]) == list(range(32))


@given(st.integers(1, 12), st.floats(0, 0.9), st.integers(1, 9))
def test_every_refit_has_something_to_train_on(n_groups, fraction, n_refits):
    for split in groups.splits(n_groups, fraction, n_refits, 1):
        assert split.train.size >= 1
        assert (split.valid.size > 0) == (fraction > 0 and n_groups > 1)


def test_bags_of_groups():
    pool = groups.bag_pool(27, 0.65, 16, 0)
    assert pool.shape == (groups.POOL_DRAWS, 16, 18)
    assert all(len(set(bag)) == 18 for bag in pool.reshape(-1, 18))
    assert len({tuple(bag) for bag in pool.reshape(-1, 18)}) == 64
    assert groups.bag_pool(4, 1.0, 1, 0).tolist() == [[[0, 1, 2, 3]]]


def test_distances_are_symmetric_differences():
    bags = groups.subsamples(np.arange(10, 60), 6, 0.65, 0)
    found = groups.distances(bags)
    for a in range(6):
        for b in range(6):
            assert found[a, b] == naive.set_distance(bags[a], bags[b])


@pytest.mark.parametrize("share", [0.5, 0.65, 1.0])
def test_a_tour_rebuilds_every_bag_at_the_cost_of_the_spanning_tree(share):
    rows = np.arange(100, 300)
    bags = groups.subsamples(rows, 9, share, 1)
    walk = groups.tour(bags)
    assert walk.order[0] == 0
    assert walk.parent[0] == -1
    made = {}
    for b in walk.order:
        parent = made[walk.parent[b]] if walk.parent[b] >= 0 else set()
        made[b] = (parent | set(walk.added[b])) - set(walk.removed[b])
        assert made[b] == set(bags[b])
    assert len(made) == 9
    assert walk.cost == bags[0].size + _prim([[naive.set_distance(a, b) for b in bags] for a in bags])


def _prim(cost):
    """Return the weight of a minimum spanning tree by Prim's algorithm."""
    inside, total = {0}, 0
    while len(inside) < len(cost):
        weight, new = min((cost[a][b], b) for a in inside for b in range(len(cost)) if b not in inside)
        inside.add(new)
        total += weight
    return total


def test_bootstraps_have_n_draws():
    for rows, times in groups.bootstraps(np.arange(5, 205), 4, 0):
        assert times.sum() == 200
        assert (np.diff(rows) > 0).all()
        assert rows.min() >= 5


def test_draws_depend_on_the_seed_alone():
    assert np.array_equal(groups.deal(100, 8, 3).order, groups.deal(100, 8, 3).order)
    assert not np.array_equal(groups.deal(100, 8, 3).order, groups.deal(100, 8, 4).order)
