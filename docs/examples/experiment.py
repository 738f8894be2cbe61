"""An experiment: how long must it run, what did it measure, and for whom?"""

from pathlib import Path

import pandas as pd

from gamcore.decide.arms import ArmsTest, by_segment, read_arms
from gamcore.decide.arms_plan import plan
from gamcore.decide.experiment_plan import Metric

SAMPLES = Path(__file__).parents[2] / "sample_data"

# Before: 2,000 customers a day, a click rate of 22%, and a rise of 5% is worth finding. A stay must not fall.
metrics = [Metric("click", base=0.22, lift=0.05), Metric("stayed", base=0.55, lift=0.03, role="guardrail")]
planned = plan({"everybody": 2_000}, metrics, arms={"control": 0.5, "treated": 0.5})
print(f"{planned.weeks} weeks")
print("\n".join(planned.sentences()))

# After: one row per customer. The sample ratio comes first; a mismatch forbids a verdict.
rows = pd.read_parquet(SAMPLES / "renewal_experiment.parquet")
test = ArmsTest(
    arm="arm",
    control="control",
    metrics={"entry_1_click": "primary", "entry_1_stayed": "guardrail", "entry_2_click": "expected null"},
)
measured = read_arms(rows, test)
print(measured.sizes["all"])
print(measured.frame()[["metric", "arm", "against", "shown", "p, adjusted"]])

# For whom? Adjusted by Holm over all groups.
print(by_segment(rows, test, "entry_1_click", "device").frame()[["segment", "arm", "scale", "shown"]])
