"""The text of docs/benchmarks/libraries.md. Every number in it is filled in from the measurements or from the code."""

from __future__ import annotations

from typing import Final

LABELS: Final = {
    **{
        f"ours-{preset}-{n}": f"ours, {preset}, {n} thread{'s' if n > 1 else ''}"
        for preset in ("fast", "balanced", "accurate")
        for n in (1, 2)
    },
    "ebm": "EBM, defaults (14 outer bags)",
    "ebm-8": "EBM, 8 outer bags",
    "ebm-matched": "EBM, 8 outer bags, our bins and leaves",
    "ebm-256": "EBM, 256 bins",
    "lightgbm": "LightGBM, defaults",
    "lightgbm-additive": "LightGBM, one cut per tree",
    "lightgbm-additive-quick": "LightGBM, one cut per tree, our rate and patience",
    "xgboost": "XGBoost, defaults",
    "xgboost-additive": "XGBoost, one cut per tree",
    "pygam": "pyGAM, defaults",
    "gpgam": "GPGam, defaults",
    "gpgam-64": "GPGam, 64 bins, no pairs",
}
"""Models by their names for readers."""

TITLE: Final = """
# Other libraries, and how a step grows

`python -m benchmarks.harness.all --data DIR --json DIR` makes this page from its JSON files.
"""

PEERS: Final = """
## Against other libraries

The tables are [these eight](presets.md#accuracy). All models get the same rows, {train:.0%} for fitting, {splits}.
Seconds are medians over splits, and metrics are means. Variants, such as EBM with 8 outer bags, are in the JSON files.

Each fit, binning included, runs in a process of its own, warmed up on {warm} rows; where other processes took more than
{noise} cores it was measured again, at most {again} times. Ours, balanced, is a mean of eight refits; LightGBM and
XGBoost are one fit each, so without bands.

- **EBM** (interpret): without pairs (`interactions=0`), since ours has none, and with {jobs} processes; otherwise its
  defaults. *Our bins and leaves*: with the `max_bins` and `max_leaves` of our default.
- **LightGBM and XGBoost, defaults**: 100 trees with all interactions, for orientation.
- **One cut per tree**: the same as additive models, with learning rate .1, and as many trees as {patience} rounds
  of patience on {held:.0%} of the rows for fitting allow; LightGBM also with
  the rate and patience of our default.
- **GPGam** (imodels): a Gaussian process per curve, regression only. Its defaults, pairs included, get
  {patient:.0f} seconds per fit; *64 bins, no pairs* is what you would turn to if they do not finish.
- **Text columns** go to ours and to EBM as they are, to LightGBM and XGBoost as categories, to GPGam as codes, with
  medians for missing cells.
- **Memory** is the peak of the process and its children during the fit, less the level just before. **Predictions** are
  for the rows for testing, the median of {predictions}, warm.
"""

SECONDS: Final = """
### Seconds of a fit

*Over ours*: how many times as long as {base}; the geometric mean over tables, the least and the most.
Ratios are medians over splits, whose fits were at most {minutes:.0f} minutes apart.
"""

STEPS: Final = """
With {bags} bags, {features} features and float32, a step takes {parts}.
"""

GROWTH: Final = """
## How a step grows

Medians of a step on one feature, {loss} loss, on codes made directly: {base}, but for what is varied. *MiB*: the peak
above that of the codes, which take one byte per row and feature. *Slope*: of log seconds on log rows, from
{slope_from:,} rows.
"""

LARGE: Final = """
A fit of {rows:,} rows x {features} features, from a float32 frame of {frame:,.0f} MiB, with one refit and {jobs}
threads, took {seconds:.1f} seconds until it stopped early ({rounds} rounds), and {mib:,.0f} MiB beyond the frame.
"""

LIVE: Final = """
## Live training

From a key on a setting's slider to the first frame with the new curve: a median of {light:.3f} s in the light theme and
{dark:.3f} s in the dark one, {longest:.3f} s at most ({changes} changes each; a default model of *{table}*, {rows:,}
training rows, on the Shapes page in Chromium).
"""

NOISE: Final = """
Meanwhile, other processes took up to {worst:.2f} cores.
"""
