"""Plans and read-outs of experiments, checked against statsmodels, SciPy and known lifts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from gamcore.common.numbers import percent
from gamcore.decide import verdicts
from gamcore.decide.arms import ArmsTest, ReadOut, sizes_of
from gamcore.decide.experiment_effects import Arm, concluded, effect_of_means, effect_of_rates
from gamcore.decide.experiment_plan import ExperimentError, Metric, power_of, sample_size, smallest_lift
from gamcore.decide.experiment_readout import read_counts
from gamcore.stats.intervals import (
    difference_of_means,
    newcombe,
    p_of_means,
    p_of_rates,
    ratio_of_means,
    ratio_of_rates,
    student,
    wilson,
)
from sample_data import generate
from tests.support.by_strategy import read_strategies

METRICS = {"entry_1_click": "primary", "entry_1_stayed": "primary", "entry_2_click": "expected null",
           "entry_2_stayed": "primary"}  # fmt: skip


# Reference numbers


def test_reference_numbers():
    """Published figures confirmed by several programs: 56 of 70 against 48 of 80; 10% to 12%; two sample ratios."""
    assert newcombe(56 / 70, 70, 48 / 80, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert p_of_rates(56 / 70, 70, 48 / 80, 80) == pytest.approx(0.00805, abs=5e-6)
    assert math.ceil(sample_size(Metric("clicks", 0.10, 0.2))) == 3841
    assert math.ceil(sample_size(Metric("clicks", 0.10, 0.2), method="arcsine")) == 3835
    assert sizes_of({"control": 49_700, "treated": 50_300}, None).p == pytest.approx(0.058, abs=5e-4)
    assert sizes_of({"control": 9_800, "treated": 10_200}, None).p == pytest.approx(0.0047, abs=5e-5)
    assert not sizes_of({"control": 9_800, "treated": 10_200}, None).alarm
    assert sizes_of({"control": 9_700, "treated": 10_300}, None).alarm


def by_hand_newcombe(x, n, y, m):
    """Compute Newcombe (1998), method 10, from Wilson's limits."""

    def ends(k, total):
        z = stats.norm.ppf(0.975)
        p = k / total
        middle, wide = p + z * z / (2 * total), z * math.sqrt(p * (1 - p) / total + z * z / (4 * total**2))
        return (middle - wide) / (1 + z * z / total), (middle + wide) / (1 + z * z / total)

    (l1, u1), (l2, u2), (p, q) = ends(x, n), ends(y, m), (x / n, y / m)
    return p - q - math.hypot(p - l1, u2 - q), p - q + math.hypot(u1 - p, q - l2)


@given(n=st.integers(1, 500), m=st.integers(1, 500), a=st.floats(0, 1), b=st.floats(0, 1))
def test_rates_by_hand(n, m, a, b):
    x, y = round(a * n), round(b * m)
    assert newcombe(x / n, n, y / m, m) == pytest.approx(by_hand_newcombe(x, n, y, m), abs=1e-9)
    low, high = stats.binomtest(x, n).proportion_ci(method="wilson")
    assert wilson(x / n, n) == pytest.approx((low, high), abs=1e-9)
    if x > 0 and y > 0 and x + y < n + m:
        wide = stats.norm.ppf(0.975) * math.sqrt((1 - x / n) / x + (1 - y / m) / y)
        ratio = x / n / (y / m)
        found = ratio_of_rates(x / n, n, y / m, m)
        assert found == pytest.approx((ratio * math.exp(-wide), ratio * math.exp(wide)))
    else:
        assert np.isnan(ratio_of_rates(x / n, n, y / m, m)).all()
    p = p_of_rates(x / n, n, y / m, m)
    pooled = (x + y) / (n + m)
    if 0 < x + y < n + m and min(pooled, 1 - pooled) * min(n, m) < 5:
        assert p == pytest.approx(stats.fisher_exact([[x, n - x], [y, m - y]]).pvalue)
    elif 0 < x + y < n + m:
        assert p == pytest.approx(proportions_ztest([x, y], [n, m])[1])
    else:
        assert p == 1.0


def test_means_by_other_programs():
    rng = np.random.default_rng(0)
    a, b = rng.gamma(2, 1, 80), rng.gamma(2, 1.4, 50)
    both = CompareMeans(DescrStatsW(a), DescrStatsW(b))
    assert difference_of_means(a, b) == pytest.approx(both.tconfint_diff(usevar="unequal"))
    assert p_of_means(a, b) == pytest.approx(both.ttest_ind(usevar="unequal")[1])
    assert student(a) == pytest.approx(DescrStatsW(a).tconfint_mean())
    low, high = ratio_of_means(a, b)
    assert low < a.mean() / b.mean() < high
    assert math.log(high) - math.log(a.mean() / b.mean()) == pytest.approx(
        stats.t.ppf(0.975, 128) * math.sqrt(a.var(ddof=1) / 80 / a.mean() ** 2 + b.var(ddof=1) / 50 / b.mean() ** 2)
    )


def test_edges_of_intervals_are_said_not_to_be_known():
    none, one = np.empty(0), np.ones(1)
    for found in (wilson(0.5, 0), newcombe(0.5, 0, 0.5, 3), student(one), difference_of_means(one, none),
                  ratio_of_means(one, -np.ones(5))):  # fmt: skip
        assert np.isnan(found).all()
    assert np.isnan(
        [p_of_means(one, one), p_of_means(np.ones(3), np.zeros(4)), p_of_means(np.ones(3), np.ones(4))]
    ).all()
    assert np.isnan(difference_of_means(np.ones(3), np.zeros(4))).all()  # a handful of equal rows is no certainty


# Plan


@pytest.mark.parametrize("metric", [Metric("rate", 0.1, 0.15), Metric("mean", 5.0, 0.05, deviation=8.0)])
@pytest.mark.parametrize("control", [1.0, 3.0])
def test_the_smallest_lift_is_the_inverse_of_the_sample_size(metric, control):
    n = sample_size(metric, 0.01, 0.9, control)
    assert power_of(metric, n, 0.01, control) == pytest.approx(0.9, abs=1e-4)
    assert smallest_lift(metric, n, 0.01, 0.9, control) == pytest.approx(metric.lift, rel=1e-3)


def test_power_by_simulation():
    metric, rng = Metric("rate", 0.2, 0.2), np.random.default_rng(0)
    n = math.ceil(sample_size(metric))
    x, y = rng.binomial(n, 0.24, 4000), rng.binomial(n, 0.2, 4000)
    found = np.mean([p_of_rates(a / n, n, b / n, n) < 0.05 for a, b in zip(x, y, strict=True)])
    assert found == pytest.approx(0.8, abs=0.02)


# Read-out


@pytest.fixture(scope="module")
def renewal():
    frame = pd.read_parquet(generate.HERE / "renewal_experiment.parquet")
    names = list(generate.LIFTS)
    strategy = generate.would_be(frame)
    assigned = np.select([strategy == name for name in names], range(len(names)), -1)
    return frame, (frame["arm"] == "treated").to_numpy(), assigned, names


@pytest.mark.slow
def test_the_lifts_of_renewal_are_recovered(renewal):
    frame, treated, assigned, names = renewal
    planned = {(name, metric): lift for name in names for metric, lift in generate.LIFTS[name].items() if lift}
    found = read_strategies(frame, treated, assigned, names, METRICS, planned=planned)
    assert not found.stopped
    assert len(found.effects) == 12
    inside = 0
    for effect in found.effects:
        truth = generate.LIFTS[effect.strategy][effect.metric]
        inside += effect.lift_interval[0] <= truth <= effect.lift_interval[1]
        assert effect.lift == pytest.approx(truth, abs=0.12)
        assert effect.is_significant == (truth > 0)
        tone, words = verdicts.verdict(effect)
        assert tone == ("good" if truth else "open")  # no plan says how small a move matters
        assert ("No change detected, as expected" in words) == (truth == 0)
    assert inside >= 10
    for name in names:
        tone, words = verdicts.of_strategy(found, name)
        assert tone == "good"
        assert "Roll out" in words
    assert verdicts.overall(found)[0] == "good"
    one = next(effect for effect in found.effects if (effect.strategy, effect.metric) == ("C", "entry_1_click"))
    rows = [frame[(assigned == 1) & arm]["entry_1_click"] for arm in (treated, ~treated)]
    (x, n), (y, m) = ((part.sum(), len(part)) for part in rows)
    assert one.p == pytest.approx(proportions_ztest([x, y], [n, m])[1])
    assert one.difference_interval == pytest.approx(confint_proportions_2indep(x, n, y, m, method="newcomb"))
    family = [effect for effect in found.effects if effect.role != "expected null"]
    assert [effect.p_adjusted for effect in family] == pytest.approx(
        multipletests([effect.p for effect in family], method="holm")[1]
    )
    assert found.frame()["scale"].value_counts().to_dict() == {"level": 24, "difference": 12, "relative": 12}
    nulls = [effect for effect in found.effects if effect.role == "expected null"]
    assert [effect.p_adjusted for effect in nulls] == pytest.approx(
        multipletests([effect.p for effect in nulls], method="holm")[1]
    )
    again = read_strategies(
        frame, treated, assigned, names, METRICS, planned={(name, "entry_2_click"): 0.3 for name in names}
    )
    assert {verdicts.verdict(e)[0] for e in again.effects if e.role == "expected null"} == {"good"}


def test_a_broken_split_stops_the_verdict(renewal):
    frame, treated, assigned, names = renewal
    rng = np.random.default_rng(0)
    kept = ~(treated & frame["entry_1_click"].to_numpy() & (rng.random(len(frame)) < 0.2))  # lost on the way
    found = read_strategies(frame[kept], treated[kept], assigned[kept], names, METRICS)
    assert found.stopped
    assert found.sizes["all"].p < 0.001
    tone, words = verdicts.overall(found)
    assert (tone, words[:8]) == ("stop", "The arms")
    assert all(verdicts.of_strategy(found, name)[0] == "stop" for name in names)


def test_an_expected_null_that_moves_is_an_alarm(renewal):
    frame, treated, assigned, names = renewal
    moved = frame.assign(entry_2_click=frame["entry_1_click"])
    found = read_strategies(moved, treated, assigned, names, METRICS)
    assert verdicts.of_strategy(found, "A") == (
        "bad", "Check the set-up before anything else: entry_2_click moved although nothing there was changed.",
    )  # fmt: skip
    assert verdicts.overall(found)[0] == "bad"


@given(n=st.integers(2, 200), spread=st.floats(0.1, 30.0))
def test_no_fall_beyond_all_of_it_is_told(n, spread):
    values = 10.0 + spread * np.array([-1.0, 1.0] * n)
    effect = effect_of_means("A", "m", "guardrail", (values, values), planned=0.05)
    effect = concluded([effect])[0]
    words = verdicts.verdict(effect)[1]
    above = words.partition("a fall above ")[2].rstrip("%.")
    assert ("even a fall to 0" in words) == (effect.smallest >= 1)
    assert not above or float(above) <= 100


def test_nothing_found_says_what_could_have_been_missed(renewal):
    frame, treated, assigned, names = renewal
    rng = np.random.default_rng(1)
    found = read_strategies(frame, rng.permutation(treated), assigned, names, METRICS)
    effect = found.effects[0]
    tone, words = verdicts.verdict(effect)
    assert tone == "open"
    assert f"could only have seen a lift above {percent(effect.smallest, 0)}" in words
    control = effect.control.n / effect.treated.n
    metric = Metric("m", effect.control.mean, effect.smallest)
    assert power_of(metric, effect.treated.n, 0.05 / 9, control) == pytest.approx(0.8, abs=1e-3)


def test_counts_say_what_rows_say(renewal):
    frame, treated, assigned, names = renewal
    rows = []
    for place, name in enumerate(names):
        for metric in METRICS:
            parts = [frame[(assigned == place) & arm][metric] for arm in (treated, ~treated)]
            rows.append((name, metric, len(parts[0]), parts[0].sum(), len(parts[1]), parts[1].sum()))
    columns = ["strategy", "metric", "treated", "treated successes", "control", "control successes"]
    by_counts = read_counts(pd.DataFrame(rows, columns=columns), METRICS)
    by_rows = read_strategies(frame, treated, assigned, names, METRICS)
    pd.testing.assert_frame_equal(by_counts.frame(), by_rows.frame())
    for name, size in by_rows.by_strategy.items():
        assert by_counts.by_strategy[name] == size
    assert by_counts.sizes["all"] == by_rows.sizes["all"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("A", "m", 10, 11, 10, 3), "Row 1"),
        (("A", "m", 10, 1.5, 10, 3), "whole"),
        (("A", "m", 10, -1, 10, 3), "Row 1"),
        (("A", "m", 10**400, 1, 10, 3), r"Row 1 .* below 2\^53"),
        (("A", "m", 10, 1, 10**17, 10**16), r"below 2\^53"),
    ],
)
def test_bad_counts_are_refused_by_row(row, words):
    columns = ["strategy", "metric", "treated", "treated successes", "control", "control successes"]
    with pytest.raises(ExperimentError, match=words):
        read_counts(pd.DataFrame([row], columns=columns), {})
    with pytest.raises(ExperimentError, match="lack control"):
        read_counts(pd.DataFrame([row[:4]], columns=columns[:4]), {})
    twice = pd.DataFrame([("A", "m", 10, 1, 10, 3)] * 2, columns=columns)
    with pytest.raises(ExperimentError, match="twice"):
        read_counts(twice, {})
    with pytest.raises(ExperimentError, match="'A'"):
        read_counts(twice.head(1), {}, names=["B"])
    with pytest.raises(ExperimentError, match="no counts"):
        read_counts(pd.DataFrame(columns=columns), {})


def test_a_bad_outcome_is_refused_by_column(renewal):
    frame, treated, assigned, names = renewal
    with pytest.raises(ExperimentError, match="gone"):
        read_strategies(frame, treated, assigned, names, {"gone": "primary"})
    with pytest.raises(ExperimentError, match="sex"):
        read_strategies(frame, treated, assigned, names, {"sex": "primary"})
    with pytest.raises(ExperimentError, match="No row"):
        read_strategies(frame, treated, np.full(len(frame), -1), names, METRICS)


def test_a_value_from_before_narrows_a_mean(renewal):
    frame, treated, assigned, names = renewal
    metrics = {"visits_after": "primary"}
    plain = read_strategies(frame, treated, assigned, names, metrics).effects[0]
    adjusted = read_strategies(
        frame, treated, assigned, names, metrics, before={"visits_after": "visits_before"}
    ).effects[0]
    wide, narrow = (np.ptp(effect.difference_interval) for effect in (plain, adjusted))
    assert narrow < 0.9 * wide
    assert adjusted.reduced == pytest.approx(1 - (narrow / wide) ** 2, abs=0.01)
    rows = assigned == 0
    X = np.column_stack([np.ones(rows.sum()), treated[rows], frame["visits_before"][rows]])
    fitted = sm.OLS(frame["visits_after"][rows].to_numpy(float), X.astype(float)).fit(cov_type="HC2")
    assert adjusted.difference == pytest.approx(fitted.params[1], abs=1e-9)
    assert adjusted.difference_interval == pytest.approx(tuple(fitted.conf_int()[1]), rel=1e-2)
    share = 0.8 * frame["visits_before"][rows].mean() / (0.8 * frame["visits_before"][rows].mean() + 0.3)
    assert adjusted.lift_interval[0] <= 0.06 * share <= adjusted.lift_interval[1]


def test_who_has_no_value_from_before_counts_as_average_there():
    rng = np.random.default_rng(0)
    arms = rng.normal(5, 1, 50), rng.normal(5, 1, 60)
    before = np.full(50, np.nan), np.full(60, np.nan)
    plain, adjusted = effect_of_means("A", "m", "primary", arms), effect_of_means("A", "m", "primary", arms, before)
    assert adjusted.difference_interval == plain.difference_interval
    assert adjusted.reduced == 0
    some = arms[0].copy(), arms[1].copy()
    some[0][::2] = np.nan
    told = effect_of_means("A", "m", "primary", arms, some)
    assert 0 < told.reduced < 1


def test_arms_without_customers_have_no_verdict():
    nobody = effect_of_rates("A", "m", "primary", Arm(0, math.nan), Arm(10, 0.5))
    alone = effect_of_means("A", "m", "primary", (np.ones(1), np.ones(9)))
    for effect in (nobody, alone):
        assert verdicts.verdict(effect) == ("open", "No verdict: too few customers, or none that differ.")
    zero = effect_of_rates("A", "m", "primary", Arm(50, 0.1), Arm(50, 0.0))
    assert math.isnan(zero.ratio)
    assert np.isfinite(zero.difference_interval).all()
    assert "a difference of +10.0 points" in verdicts.verdict(zero)[1]


def one(role, treated, control, planned=math.nan, binary=True):
    """Make the read-out of one comparison, from counts out of 10,000 or from values."""
    if binary:
        return effect_of_rates("A", role, role, Arm(10_000, treated), Arm(10_000, control), planned)
    return effect_of_means("A", role, role, (treated, control), planned=planned)


def read_out(*effects):
    """Make the read-out of a strategy from its comparisons."""
    sizes = sizes_of({"control": 10_000, "treated": 10_000}, None)
    test = ArmsTest("", "control", {effect.metric: effect.role for effect in effects})
    return ReadOut(test, ("control", "treated"), {"all": sizes}, concluded(effects), by_strategy={"A": sizes})


def test_a_guardrail_that_is_not_settled_holds_a_roll_out_up():
    lift = one("primary", 0.12, 0.10)
    for rate, planned, tone in (
        (0.482, 0.03, "open"),
        (0.489, 0.05, "good"),
        (0.489, math.nan, "open"),
        (0.44, 0.05, "bad"),
    ):
        found = read_out(lift, one("guardrail", rate, 0.489, planned))
        assert verdicts.of_strategy(found, "A")[0] == tone, (rate, planned)
        assert verdicts.overall(found)[0] == tone
    nobody = effect_of_rates("A", "guardrail", "guardrail", Arm(0, math.nan), Arm(10, 0.5))
    assert verdicts.of_strategy(read_out(lift, nobody), "A")[0] == "open"


def test_a_guardrail_whose_interval_has_no_fall_in_it_holds():
    """Also where nobody has said which fall is accepted, and where no ratio is known; significant it need not be."""
    values = np.random.default_rng(3).normal(0, 1, 2_000)
    for arms, binary in (((0.505, 0.49), True), ((values + 0.066 - values.mean(), values - values.mean()), False)):
        found = read_out(one("primary", 0.12, 0.10), one("primary", 0.1, 0.1),
                         one("guardrail", *arms, binary=binary))  # fmt: skip
        effect = found.effects[-1]
        assert effect.difference_interval[0] > 0
        assert not effect.is_significant
        tone, words = verdicts.verdict(effect)
        assert tone == "good"
        assert words.startswith("Holds: ")
        assert words.endswith("; a fall is ruled out.")
        assert verdicts.of_strategy(found, "A")[0] == "good"


def of_arms(**effects):
    """Make the read-out of a strategy with several treated arms: by arm, the rates of a primary metric and of a
    guardrail, those of the control being 10% and 48.9%."""
    made = [replace(one(role, rate, base), arm=arm) for arm, rates in effects.items()
            for role, rate, base in zip(("primary", "guardrail"), rates, (0.10, 0.489), strict=True)]  # fmt: skip
    arms = ("control", *effects)
    sizes = sizes_of(dict.fromkeys(arms, 10_000), None)
    test = ArmsTest("", "control", {"primary": "primary", "guardrail": "guardrail"})
    return ReadOut(test, arms, {"all": sizes}, concluded(made), by_strategy={"A": sizes})


def test_an_arm_is_held_up_by_its_own_guardrails():
    """A strategy with several arms goes with one of them: what the others leave open or lower does not speak against
    it, and is not passed over."""
    found = of_arms(small=(0.12, 0.51), aide=(0.10, 0.489))
    assert verdicts.of_strategy(found, "A")[0] == "good"
    assert verdicts.of_strategy(found, "A")[1].startswith("Roll out: small · primary +20.0%")
    assert verdicts.passing(found.effects, "A") == ["small"]
    fell = of_arms(small=(0.12, 0.51), aide=(0.14, 0.40))
    tone, words = verdicts.of_strategy(fell, "A")
    assert tone == "good"
    assert words.endswith("; aide · guardrail fell.")
    assert verdicts.overall(fell) == ("good", "A works.")
    assert verdicts.of_strategy(of_arms(small=(0.10, 0.489), aide=(0.14, 0.40)), "A")[0] == "bad"


def test_a_lift_that_is_held_up_is_not_denied():
    found = read_out(one("primary", 0.12, 0.10), one("guardrail", 0.489, 0.489))
    assert verdicts.overall(found) == ("open", "A has a lift, but a guardrail could have fallen: settle that first.")
    flat = read_out(one("primary", 0.10, 0.10), one("guardrail", 0.489, 0.489))
    assert verdicts.overall(flat) == ("open", "No strategy has a significant lift in this experiment.")


def test_only_what_was_looked_at_is_said_to_be_well():
    assert verdicts.overall(read_out(one("primary", 0.12, 0.10))) == ("good", "A works.")
    lift, null = one("primary", 0.12, 0.10), one("expected null", 0.2, 0.2)
    assert verdicts.overall(read_out(lift, null))[1] == "A works. Nothing moved that should not."
    held = one("guardrail", 0.489, 0.489, 0.05)
    assert verdicts.overall(read_out(lift, held))[1] == "A works. No guardrail got worse."


def test_means_below_zero_are_told_as_differences():
    rng = np.random.default_rng(0)
    found = read_out(one("primary", rng.normal(-5, 1, 200), rng.normal(-10, 1, 200), 0.1, False))
    tone, words = verdicts.verdict(found.effects[0])
    assert tone == "good"
    assert "a difference of +" in words
    assert "%" not in words.replace("95%", "")
    assert "Roll out: primary +" in verdicts.of_strategy(found, "A")[1]


def test_a_handful_of_customers_is_no_verdict():
    few = one("primary", np.array([3.0, 3.0]), np.array([2.0, 2.0]), binary=False)
    assert verdicts.verdict(concluded([few])[0])[0] == "open"
    counts = effect_of_rates("A", "m", "primary", Arm(4, 1.0), Arm(4, 0.0))
    assert counts.p == pytest.approx(stats.fisher_exact([[4, 0], [0, 4]]).pvalue)
    none = read_out(one("guardrail", 0.5, 0.5))
    assert verdicts.of_strategy(none, "A") == ("open", "No primary metric: nothing here decides.")


def test_sound_nulls_rarely_speak_against_a_strategy():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(300):
        effects = [one("expected null", *(rng.binomial(10_000, 0.2, 2) / 10_000)) for _ in range(6)]
        alarms += any(effect.is_significant for effect in concluded(effects))
    assert alarms / 300 < 0.08


def test_outcomes_that_go_missing_by_arm_stop_the_verdict():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.normal(size=20_000)})
    treated = np.arange(20_000) % 2 == 0
    frame.loc[treated & (frame["y"] < -1), "y"] = np.nan
    found = read_strategies(frame, treated, np.zeros(20_000, int), ["A"], {"y": "primary"})
    assert found.stopped
    assert list(found.wrong_sizes) == [" among rows with y"]


@pytest.mark.parametrize("cell", [None, pd.NA, np.nan, "ten", "10", 1.5, np.inf, -1, pd.NaT])
@pytest.mark.parametrize("column", ["treated", "treated successes", "control", "control successes"])
def test_a_count_that_is_no_whole_number_is_named_by_its_row(cell, column):
    good = {
        "strategy": "s",
        "metric": "m",
        "treated": 20,
        "treated successes": 1,
        "control": 10,
        "control successes": 3,
    }
    rows = pd.DataFrame([good, good | {"strategy": "t", column: cell}]).astype({column: object})
    with pytest.raises(ExperimentError, match="Row 2 of the counts"):
        read_counts(rows, {"m": "primary"})
