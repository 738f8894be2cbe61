"""A dialogue with the shape of Lou et al. 2020, section 5: `python -m sample_data.dialogue FOLDER [--rows N]`.

Customers whose product is about to mature, with 637 features in the eight families of the paper's Table 4, go through
the flow of its Figure 6: an overview, then *renew*, *not now* or a drop; after *not now*, *lower risk*, *other assets*,
both, or neither. With 88,051 rows, the four scenarios have about as many positives and negatives as in Table 5. Two
files are written: `dialogue.parquet`, a row per customer, and `dialogue_events.parquet`, a row per step of one.

The truth: EFFECTS has every effect on the log-odds of a step; all other features have none. Clicks of a family share
how active a customer is, so features without an effect correlate with those that have one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]

N_ROWS: Final = 88_051
N_DAYS: Final = 26
FAMILIES: Final = {
    "portfolio": 12, "page": 304, "region": 104, "gain": 5,
    "trading": 38, "market": 37, "promotion": 16, "profile": 121,
}  # fmt: skip
"""Families of features as in the paper's Table 4, and how many each has."""

RATES: Final = {"renew": 5540 / 88_051, "not now": 14_247 / 88_051, "lower risk": 1801 / 14_247, "other": 1064 / 14_247}
"""Shares of the customers at a step who go on to another, after the paper's Table 5."""

STEPS: Final = tuple(RATES)
"""*renew* and *not now* follow the overview; the other two follow *not now*, independently."""

EFFECTS: Final[Mapping[str, Mapping[str, Callable[[Floats], Floats]]]] = {
    "renew": {
        "profile_sex": lambda x: 0.5 * (x == 1),
        "region_000": lambda x: 0.8 * (x <= 1),  # clicks on account positions
        "portfolio_00": lambda x: -0.15 * np.minimum(x, 6),
        "profile_age": lambda x: 0.6 * np.tanh((x - 45) / 12),
        "promotion_00": lambda x: 0.5 * x,
        "trading_00": lambda x: -0.5 * (x >= 4),
        "gain_0": lambda x: 0.3 * np.tanh(2 * x),
        "page_000": lambda x: 0.25 * np.log1p(x),
    },
    "not now": {
        "region_000": lambda x: 0.5 * (x >= 3),
        "page_001": lambda x: 0.3 * np.log1p(x),
        "profile_tenure": lambda x: 0.3 * (x >= 36),
    },
    "lower risk": {
        "profile_balance": lambda x: 0.8 * np.tanh(x),
        "profile_age": lambda x: 0.4 * np.tanh((x - 45) / 12),
        "gain_1": lambda x: -0.5 * np.tanh(2 * x),
    },
    "other": {
        "page_002": lambda x: 0.6 * (x >= 3),  # visits of pages on funds
        "portfolio_01": lambda x: 0.3 * (x >= 2),
        "market_00": lambda x: 0.2 * x,
    },
}
"""What adds to the log-odds of each step, up to a constant."""


def features(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return n customers. Counts depend on how active a customer is, alike within a family; markets are of the day."""
    active = rng.normal(size=n)
    day = rng.integers(0, N_DAYS, n)
    columns: dict[str, NDArray[np.generic]] = {}
    for family, mean in (("portfolio", 1.0), ("page", 0.8), ("region", 1.2), ("trading", 1.0)):
        own = active + rng.normal(size=n)
        for k, name in enumerate(names(family)):
            level = mean * np.exp(0.6 * rng.normal() if k > 2 else 0.7)  # the first ones are not rare
            columns[name] = rng.poisson(level * np.exp(0.5 * own - 0.25)).astype(np.int16)
    for name in names("gain"):
        columns[name] = rng.normal(size=n).astype(np.float32)
    for name in names("market"):
        columns[name] = rng.normal(size=N_DAYS)[day].astype(np.float32)
    for name in names("promotion"):
        columns[name] = rng.random(n) < rng.uniform(0.1, 0.5)
    columns |= _profile(n, rng)
    return pd.DataFrame(columns)


def names(family: str) -> list[str]:
    """Return the names of the features of a family."""
    width = len(str(FAMILIES[family] - 1))
    numbered = [f"{family}_{k:0{width}d}" for k in range(FAMILIES[family])]
    return numbered if family != "profile" else [*KNOWN_OF_PROFILE, *numbered[len(KNOWN_OF_PROFILE) :]]


KNOWN_OF_PROFILE: Final = ("profile_sex", "profile_age", "profile_balance", "profile_tenure", "profile_education")


def _profile(n: int, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
    columns: dict[str, NDArray[np.generic]] = {
        "profile_sex": (rng.random(n) < 0.54).astype(np.int16),
        "profile_age": np.clip(rng.gamma(9, 4.6, n) + 6, 18, 84).astype(np.int16),
        "profile_balance": rng.normal(size=n).astype(np.float32),
        "profile_tenure": rng.integers(1, 97, n).astype(np.int16),
        "profile_education": rng.choice(np.array(["school", "vocational", "bachelor", "master"], object), n),
    }
    for k, name in enumerate(names("profile")[len(KNOWN_OF_PROFILE) :]):
        if k % 4 == 0:
            levels = np.array([f"level {level}" for level in range(int(rng.integers(3, 12)))], object)
            columns[name] = rng.choice(levels, n)
        else:
            columns[name] = rng.normal(size=n).astype(np.float32)
    return columns


def scores(X: pd.DataFrame) -> dict[str, Floats]:
    """Return the true log-odds (n,) of each step: of *renew* and *not now* against a drop, of the others against not
    taking them after *not now*."""
    free = {
        step: np.sum([effect(X[name].to_numpy(np.float64)) for name, effect in effects.items()], axis=0)
        for step, effects in EFFECTS.items()
    }
    reached = {step: free[step] + _level(free[step], RATES[step]) for step in ("lower risk", "other")}
    renew, later = free["renew"], free["not now"]
    for _ in range(50):  # each level moves the other's rate
        renew = renew + np.log(RATES["renew"] / _two(renew, later)[0].mean())
        later = later + np.log(RATES["not now"] / _two(renew, later)[1].mean())
    return {"renew": renew, "not now": later} | reached


def _level(values: Floats, rate: float) -> float:
    return float(brentq(lambda level: (1 / (1 + np.exp(-values - level))).mean() - rate, -50.0, 50.0))


def _two(renew: Floats, later: Floats) -> tuple[Floats, Floats]:
    whole = 1 + np.exp(renew) + np.exp(later)
    return np.exp(renew) / whole, np.exp(later) / whole


def steps(log_odds: Mapping[str, Floats], rng: np.random.Generator) -> pd.DataFrame:
    """Return which of STEPS each customer took, as columns of 0 and 1."""
    renew, later = _two(log_odds["renew"], log_odds["not now"])
    drawn = rng.random(renew.size)
    taken = {"renew": drawn < renew, "not now": (drawn >= renew) & (drawn < renew + later)}
    for step in ("lower risk", "other"):
        chance = 1 / (1 + np.exp(-log_odds[step]))
        taken[step] = taken["not now"] & (rng.random(renew.size) < chance)
    return pd.DataFrame(taken).astype(np.int8)


SCENARIOS: Final = ("renew or not", "renew or not now", "lower risk or not", "other assets or not")
"""Scenarios 1 to 4 of the paper's Table 5, as columns of targets: 1, 0, or missing where a customer is in neither."""


def scenarios(taken: pd.DataFrame) -> pd.DataFrame:
    """Return the targets of the four scenarios; those who took a step after *not now* are in no other's negatives."""
    renew, later, lower, other = (taken[step].to_numpy(bool) for step in STEPS)
    left = ~renew & ~later
    stayed = later & ~lower & ~other
    rows = {
        SCENARIOS[0]: (renew, later | left),
        SCENARIOS[1]: (renew, later),
        SCENARIOS[2]: (lower, stayed),
        SCENARIOS[3]: (other, stayed),
    }
    targets = {name: np.select([yes, no], [1.0, 0.0], np.nan) for name, (yes, no) in rows.items()}
    return pd.DataFrame(targets)


def chances(log_odds: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the true chances (n,) of a 1 in each scenario, of a customer who is in it.

    The first mixes in the effects of *not now*, the second has those of *renew* less those of *not now*, and the last
    two mix in a little of each other.
    """
    renew, later = _two(log_odds["renew"], log_odds["not now"])
    lower, other = (1 / (1 + np.exp(-log_odds[step])) for step in ("lower risk", "other"))
    neither = (1 - lower) * (1 - other)
    exact = (renew, renew / (renew + later), lower / (lower + neither), other / (other + neither))
    return dict(zip(SCENARIOS, exact, strict=True))


def flow_chances(log_odds: Mapping[str, Floats]) -> dict[tuple[str, str | None], float]:
    """Return the true probability of each way on from a step, given that a customer reaches it; None for leaving."""
    renew, later = _two(log_odds["renew"], log_odds["not now"])
    lower, other = (1 / (1 + np.exp(-log_odds[step])) for step in ("lower risk", "other"))
    ways: dict[str, dict[str, Floats]] = {
        "overview": {"renew": renew, "not now": later},
        "not now": {"lower risk": later * lower, "other": later * (1 - lower) * other},
        "lower risk": {"other": later * lower * other},
    }
    reached = {"overview": np.ones_like(renew), "not now": later, "lower risk": later * lower}
    on: dict[tuple[str, str | None], float] = {}
    for source, taken in ways.items():
        shares = {target: float(chance.sum() / reached[source].sum()) for target, chance in taken.items()}
        on |= {(source, target): share for target, share in shares.items()}
        on[source, None] = 1 - sum(shares.values())
    return on | {("renew", None): 1.0, ("other", None): 1.0}


def events(taken: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return a row per step of each customer, in order of time: the overview, then what was chosen."""
    n = len(taken)
    start = pd.Timestamp("2020-01-08") + pd.to_timedelta(rng.integers(0, N_DAYS * 86_400, n), unit="s")
    parts = [pd.DataFrame({"customer": np.arange(n), "time": start, "step": "overview"})]
    for place, step in enumerate(STEPS, 1):
        who = np.flatnonzero(taken[step])
        waited = pd.to_timedelta(rng.integers(5, 50, who.size) + 60 * place, unit="s")
        parts.append(pd.DataFrame({"customer": who, "time": start[who] + waited, "step": step}))
    return pd.concat(parts).sort_values(["time", "customer"], ignore_index=True)


def dialogue(n: int = N_ROWS, seed: int = 7) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the customers with their features and targets, and the events."""
    rng = np.random.default_rng(seed)
    X = features(n, rng)
    taken = steps(scores(X), rng)
    return pd.concat([X, scenarios(taken)], axis=1), events(taken, rng)


def main() -> None:
    """Write the files."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--rows", type=int, default=N_ROWS)
    asked = options.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    customers, taken = dialogue(asked.rows)
    customers.insert(0, "customer", range(len(customers)))  # as the events name them
    customers.to_parquet(asked.folder / "dialogue.parquet", index=False, compression="zstd")
    taken.to_parquet(asked.folder / "dialogue_events.parquet", index=False, compression="zstd")


if __name__ == "__main__":
    main()
