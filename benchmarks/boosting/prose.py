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

`python -m benchmarks.harness.all --data DIR --json DIR` makes this page out of its JSON files.
"""

PEERS: Final = """
## Against other libraries

The tables are [these eight](presets.md). All models get the same rows: {train:.0%} for fitting, {test:.0%} for
testing, {splits}. Each fit is made in a process of its own, which first fits {warm} rows, so that compiled code, thread
pools and worker processes are there; then the clock runs for the whole fit, binning included. The models of one table
and split run one after the other; a fit during which other processes took more than {noise} cores, and {least} seconds
of them, was measured again, at most {again} times, and the quietest attempt counts. Seconds are medians over splits,
metrics are means.

- **Ours**: [the presets](presets.md), trained on all rows for fitting, of which they hold their own share
  out.
- **EBM** (interpret): without pairs (`interactions=0`), since ours has none, and with {jobs} processes; the rest as it
  comes. *Our bins and leaves*: with the `max_bins` and `max_leaves` of our default.
- **LightGBM and XGBoost, defaults**: 100 trees with all interactions. Another kind of model, for orientation.
- **One cut per tree**: the same two as additive models, learning rate .1, as many trees as {patience} rounds of
  patience on {held:.0%} of the rows for fitting allow; LightGBM also with the learning rate and patience of our
  default. One fit each: no refits, so no bands.
- **pyGAM**: splines for numbers, factors for categories, the default penalty.
- **GPGam** (imodels): a Gaussian process per curve, regression only. Its defaults, pairs included, are given
  {patient:.0f} seconds per fit; *64 bins, no pairs* is what a user would turn to when they do not end.
- Text columns go to ours and to EBM as they are. LightGBM and XGBoost get categories, pyGAM and GPGam codes and medians
  for missing cells; that is done before the clock starts.
- **Memory** is the peak of the process and its children during the fit less the level just before. Pages that several
  processes share count once per process.
- **Predictions** are of the rows for testing, median of {predictions}, warm.
"""

RATIOS: Final = """
### Seconds over those of {base}

A ratio of 10 means that the other model took ten times as long on the same rows. It is taken within a split, whose fits
were at most {minutes:.0f} minutes apart, and the median over splits is told. The geometric mean is over all tables.
"""

PARITY: Final = """
### {base}, against EBM

Differences of the test metric are paired by split; the standard error is that of their mean. Splits share rows, so it
is a guide only. *Same*: within {auc} AUC or {rmse:.1%} RMSE.
"""

ADDITIVE: Final = """
### {base}, against LightGBM with one cut per tree

As above. A ratio of seconds over 1 means that ours was quicker; ours are eight refits, LightGBM's is one fit.
"""

STEPS: Final = """
## One step, part by part

Nanoseconds a row and share of the whole step: one thread, float32, {bags} bags, {features} features, each part timed
alone, best of several repeats. *Skewed*: {heavy:.0%} of the rows in one bin. Adding up, combining and cutting cost the
same whatever the rows. A numpy copy of {mib:.0f} MiB reads and writes {copied:.1f} GB/s here in one thread; *ns at copy
speed* is what the bytes of a row that a part touches would cost at that speed.
"""

GROWTH: Final = """
## How a step grows

Medians of a step on one feature, {loss} loss, on codes made directly. Memory is the peak above that of the codes, which
are one byte per row and feature. Threads share a step only where a table is large and the refits leave some free:
refits run side by side first.
"""

LARGE: Final = """
A fit of {rows:,} rows x {features} features, from a float32 frame of {frame:,.0f} MiB, with one refit and {jobs}
threads, took {seconds:.1f} seconds to its early stop ({rounds} rounds) and {mib:,.0f} MiB beyond the frame.
"""

LIVE: Final = """
## Live training

A default model of *{table}*, {rows:,} training rows, on the Shapes page in Chromium, with the server on the same
machine: seconds from a click on a feature's switch to the first frame with the curve of the new refit.
"""

PAPER: Final = """
## Lou et al. 2020, made again

The paper's strategies in our own code, one thread, float32 unless told. Its Tables 2 and 3, the test metrics of the
variants, are in [the settings](presets.md).
"""

NOISE: Final = """
While this was measured, processes of others took up to {worst:.2f} cores.
"""
