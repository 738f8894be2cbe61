"""The flow on Strategies: its chart, and a scenario that an edge becomes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from tests.support.pages import button, headlines, open_page

TITLE = "Where do people go, and where do they leave?"


def test_an_edge_becomes_a_scenario_to_learn(space, monkeypatch):
    rng = np.random.default_rng(0)
    customers = pd.DataFrame({"who": [f"c{k:03d}" for k in range(200)], "age": rng.normal(50, 9, 200).round()})
    goes = rng.random(200) < 0.3
    opened = pd.DataFrame({"who": customers["who"], "day": 1.0, "step": "open"})
    renewed = pd.DataFrame({"who": customers["who"][goes], "day": 2.0, "step": "renew"})
    table = space.tables.add(customers, "customers")
    space.tables.add(pd.concat([renewed, opened]), "steps")
    opened_page = []
    monkeypatch.setattr(st, "switch_page", lambda page, **given: opened_page.append((page.name, given)))
    app = open_page("strategies", table=table.id)
    app.session_state[f"panel-{TITLE}"] = True
    app = app.run()
    assert not app.exception
    next(box for box in app.selectbox if box.label == "When").set_value("day").run()
    assert any(f"Of 200 who reach open, {100 * (1 - goes.mean()):.1f}% leave there" in line for line in headlines(app))
    scenario = next(box for box in app.selectbox if box.label == "Scenario")
    scenario.set_value(scenario.options.index("open → renew")).run()
    button(app, "Learn who takes it").click().run()
    assert not app.exception
    assert not app.error
    added = next(one for one in space.tables.listed() if one.name == "customers, open → renew")
    assert opened_page == [("train.py", {"query_params": {"table": added.id}})]
    frame = space.tables.read(added.id)
    assert frame.columns[-1] == "after open: renew"
    assert (frame.set_index("who")["after open: renew"] == "yes").reindex(customers["who"]).tolist() == goes.tolist()


def test_it_is_offered_beside_a_table_that_may_have_steps(space):
    customers = pd.DataFrame({"who": ["a", "b"], "age": [1.0, 2.0]})
    table = space.tables.add(customers, "customers")
    space.tables.add(customers.assign(age=3.0), "newer customers")
    space.tables.add(pd.DataFrame({"city": ["x"], "people": [1]}), "cities")

    def is_offered():
        return any(TITLE in box.label for box in open_page("strategies", table=table.id).expander)

    assert not is_offered()
    space.tables.add(pd.DataFrame({"who": ["a", "a"], "step": ["open", "renew"]}), "steps")
    assert is_offered()
