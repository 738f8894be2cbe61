"""Who is moved, beside the meta-learners of causalml and econml: `python -m benchmarks.boosting.effect_peers [--runs N]
[--rows N]`.

The experiments of `effects`. Each learner orders as many fresh customers; its Qini is that of the known effects in that
order, so that only the learners differ. The libraries come with `shapewise[bench]`; one that is not there is left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

import numpy as np
import pandas as pd

from benchmarks.boosting.effects import SCENARIOS, Scenario, two_models
from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown
from gamcore import EffectGAM, warmup
from gamcore.common.types import Floats
from gamcore.decide.uplift import read_uplift

Learner = Callable[[pd.DataFrame, Floats, Floats, Floats, pd.DataFrame, int], Floats]
"""From features, outcomes, arms, shares, fresh features and a seed to the effects of the fresh rows."""


def _encoded(X: pd.DataFrame) -> Floats:
    """Return features as numbers, levels one-hot, as these libraries need them."""
    return pd.get_dummies(X, columns=["plan"], dtype=float).to_numpy(float)


def _additive(X: pd.DataFrame, y: Floats, t: Floats, share: Floats, fresh: pd.DataFrame, seed: int) -> Floats:
    return EffectGAM(random_state=seed, n_jobs=1).fit(X, y, t, propensity=share).predict(fresh)


def _greedy(X: pd.DataFrame, y: Floats, t: Floats, share: Floats, fresh: pd.DataFrame, seed: int) -> Floats:
    model = EffectGAM(random_state=seed, n_jobs=1, order="greedy").fit(X, y, t, propensity=share)
    return model.predict(fresh)


def _two(X: pd.DataFrame, y: Floats, t: Floats, share: Floats, fresh: pd.DataFrame, seed: int) -> Floats:
    return two_models(X, y, t, fresh, seed)


CALM: Final = {"n_estimators": 100, "learning_rate": 0.05, "num_leaves": 8, "min_child_samples": 200}
"""LightGBM as one would set it for effects, which are weak: its defaults learn noise."""


def _causalml(name: str, calm: bool = False) -> Learner:
    """Return a meta-learner of causalml with LightGBM inside, at its defaults or calm."""

    def learn(X: pd.DataFrame, y: Floats, t: Floats, share: Floats, fresh: pd.DataFrame, seed: int) -> Floats:
        from causalml.inference import meta
        from lightgbm import LGBMRegressor

        inside = LGBMRegressor(n_jobs=1, verbose=-1, random_state=seed, **(CALM if calm else {}))
        if name in ("R", "DR"):
            model = getattr(meta, f"Base{name}Regressor")(learner=inside)
            extra = {"seed": seed} if name == "DR" else {}
            model.fit(_encoded(X), t.astype(int), y, p=share, **extra)
        else:
            model = getattr(meta, f"Base{name}Regressor")(learner=inside)
            model.fit(_encoded(X), t.astype(int), y, **({"p": share} if name == "X" else {}))
        needs = {"p": np.full(len(fresh), share.mean())} if name == "X" else {}
        return np.asarray(model.predict(_encoded(fresh), **needs)).ravel()

    return learn


def _econml(name: str, calm: bool = False) -> Learner:
    """Return a learner of econml: a causal forest, or a doubly robust one with LightGBM inside, at its defaults or
    calm."""

    def learn(X: pd.DataFrame, y: Floats, t: Floats, share: Floats, fresh: pd.DataFrame, seed: int) -> Floats:
        from econml.dml import CausalForestDML
        from econml.dr import DRLearner
        from lightgbm import LGBMClassifier, LGBMRegressor

        def outcome() -> LGBMRegressor:
            return LGBMRegressor(n_jobs=1, verbose=-1, random_state=seed, **(CALM if calm else {}))

        arm = LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)
        if name == "forest":
            model = CausalForestDML(
                model_y=outcome(), model_t=arm, discrete_treatment=True, random_state=seed, n_jobs=1
            )
        else:
            model = DRLearner(
                model_propensity=arm, model_regression=outcome(), model_final=outcome(), random_state=seed
            )
        model.fit(y, t.astype(int), X=_encoded(X))
        return np.asarray(model.effect(_encoded(fresh))).ravel()

    return learn


LEARNERS: Final[dict[str, Learner]] = {
    "EffectGAM": _additive, "EffectGAM, greedy": _greedy, "two GAMs (T)": _two,
    **{f"causalml {name}": _causalml(name) for name in ("S", "T", "X", "R", "DR")},
    **{f"econml {name}": _econml(name) for name in ("DR", "forest")},
    **{f"causalml {name}, calm": _causalml(name, calm=True) for name in ("S", "T", "X", "R", "DR")},
    **{f"econml {name}, calm": _econml(name, calm=True) for name in ("DR", "forest")},
}  # fmt: skip


def there() -> dict[str, Learner]:
    """Return the learners whose libraries are installed."""
    return {name: learner for name, learner in LEARNERS.items()
            if all(find_spec(part) for part in ("causalml", "econml") if name.startswith(part))}  # fmt: skip


def experiment(scenario: Scenario, n: int, seed: int, only: str) -> list[dict[str, object]]:
    """Return the Qini and the seconds of each learner in one experiment."""
    rng = np.random.default_rng([2027, seed])
    X, fresh = scenario.customers(n, rng), scenario.customers(n, rng)
    treated, y = scenario.run(X, moved=True, rng=rng)
    rows: list[dict[str, object]] = []
    for name, learn in there().items():
        if only not in name and name != "EffectGAM":
            continue
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            effects = learn(X, y, treated, scenario.shares(X), fresh, seed)
        seconds = time.perf_counter() - began
        qini = read_uplift(effects, scenario.effect(fresh)).qini[0]
        rows.append({"scenario": scenario.name, "learner": name, "seed": seed, "qini": qini, "seconds": seconds})
    return rows


def table(rows: pd.DataFrame) -> list[str]:
    """Return a line per learner: Qini by scenario, with its standard error beside the first learner's, and seconds."""
    shown: dict[str, dict[str, str]] = {}
    first = rows[rows["learner"] == "EffectGAM"].set_index(["scenario", "seed"])["qini"]
    for name, frame in rows.groupby("learner", sort=False):
        line = {}
        for scenario, part in frame.groupby("scenario", sort=False):
            gap = part.set_index(["scenario", "seed"])["qini"] - first.loc[[scenario]]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            beside = f" ({gap.mean():+.4f} ± {error:.4f})" if gap.any() else ""
            line[str(scenario)] = f"{part['qini'].mean():.4f}{beside}"
        shown[str(name)] = line | {"seconds": f"{frame['seconds'].median():.2f}"}
    return markdown(pd.DataFrame(shown).T.rename_axis("learner"))


def main() -> None:
    """Run the experiments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="experiments per scenario")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--only", default="", help="learners with this in their name, besides EffectGAM")
    asked = parser.parse_args()
    warmup()
    rows = [row for scenario in SCENARIOS for seed in range(asked.runs)
            for row in experiment(scenario, asked.rows, seed, asked.only)]  # fmt: skip
    print(describe(), *table(pd.DataFrame(rows)), sep="\n")


if __name__ == "__main__":
    main()
