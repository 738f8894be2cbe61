"""A flow against events whose counts are known, and against counting case by case."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from gamcore import edge_outcomes, read_flow
from gamcore.data.columns import TableError
from gamcore.stats.intervals import wilson


def events_of(paths):
    """Return the events of cases, by name, that take these steps one after the other."""
    rows = [(case, k, step) for case, path in paths.items() for k, step in enumerate(path)]
    return pd.DataFrame(rows, columns=["who", "when", "step"])


def test_shares_are_of_those_who_reach_a_step():
    paths = {"a": ["open", "renew"], "b": ["open", "later", "safer"], "c": ["open", "later"], "d": ["open"]}
    events = events_of(paths).sample(frac=1.0, random_state=0)
    flow = read_flow(events, "who", "step", "when")
    assert flow.steps[0] == "open"
    edges = {(edge.source, edge.target): edge for edge in flow.edges}
    assert (edges["open", "later"].n, edges["open", "later"].reached) == (2, 4)
    assert edges["open", "later"].interval == wilson(0.5, 4)
    assert edges["later", "safer"].share == 0.5
    assert edges["open", None].n == 1
    assert flow.words() == "Of 4 who reach open, 25.0% leave there, more than anywhere else."
    frame = flow.frame()
    assert frame.groupby("from")["share"].sum().tolist() == pytest.approx([1.0] * 4)


def test_a_flow_counts_as_one_would_by_hand():
    rng = np.random.default_rng(0)
    paths = {f"c{k}": rng.choice(list("pqrs"), rng.integers(1, 9)).tolist() for k in range(200)}
    flow = read_flow(events_of(paths), "who", "step")
    n, reached = Counter(), Counter()
    for path in paths.values():
        merged = [step for step, before in zip(path, [None, *path], strict=False) if step != before]
        reached.update(set(merged))
        n.update(set(zip(merged, [*merged[1:], None], strict=True)))
    assert {(edge.source, edge.target): (edge.n, edge.reached) for edge in flow.edges} == {
        key: (size, reached[key[0]]) for key, size in n.items()
    }
    assert dict(zip(flow.steps, flow.reached, strict=True)) == dict(reached)
    for edge in flow.edges:
        of_edge = edge_outcomes(events_of(paths), "who", "step", edge=(edge.source, edge.target))
        assert (int(of_edge["outcome"].sum()), len(of_edge)) == (edge.n, edge.reached)


def test_what_is_no_flow_says_so():
    events = events_of({"a": ["open"]})
    with pytest.raises(TableError, match="no column 'whom'"):
        read_flow(events, "whom", "step")
    with pytest.raises(TableError, match="at most 60"):
        read_flow(pd.DataFrame({"who": range(99), "step": range(99)}), "who", "step")
    with pytest.raises(TableError, match="No row has a value"):
        read_flow(pd.DataFrame({"who": ["a"], "step": [None]}), "who", "step")
    with pytest.raises(TableError, match="No case reaches"):
        edge_outcomes(events, "who", "step", edge=("nowhere", None))
