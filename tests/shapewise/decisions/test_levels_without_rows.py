"""A categorical column may list levels that no row has: they are no arms, wherever arms are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.columns import TableError, read_present_texts, read_texts
from gamcore.data.table import Table
from shapewise.decisions.arm_tests import possible_arms
from shapewise.decisions.plan_and_outcome import test_of as of_board
from shapewise.training.dataset import treated_in
from shapewise.training.spec import Treatment


@pytest.mark.parametrize("seed", range(5))
def test_present_texts_are_those_of_the_column_as_plain_text(seed):
    rng = np.random.default_rng(seed)
    arm = rng.choice(["a", "b", "c", None], 40, p=[0.4, 0.3, 0.2, 0.1])
    listed = pd.Series(pd.Categorical(arm, categories=rng.permutation([*"abcdefg"])))
    codes, names = read_present_texts(listed)
    assert set(names) == set(read_texts(pd.Series(arm))[1])
    assert [names[code] if code >= 0 else None for code in codes] == list(arm)


def test_levels_without_rows_are_no_arms():
    arm = pd.Categorical(["old", "new"] * 20, categories=["pilot", "old", "new", *map(str, range(40))])
    table = Table.of(pd.DataFrame({"arm": arm, "x": np.arange(40.0)}))
    assert set(possible_arms(table)["arm"]) == {"old", "new"}
    assert np.nansum(treated_in(table, Treatment("arm", "new", "old"))) == 20
    with pytest.raises(TableError, match="No row of 'arm' is 'pilot'"):
        treated_in(table, Treatment("arm", "pilot", "old"))


def test_a_planned_arm_that_nobody_got_keeps_its_share():
    form = {"arm": "arm", "control": "old", "treated": ["new", "pilot"], "shares": {"old": 1, "new": 1, "pilot": 1}}
    test = of_board(form | {"roles": {}, "before": {}}, ["old", "new"])
    assert (test.control, test.treated, test.shares) == ("old", ("new", "pilot"), {"old": 1, "new": 1, "pilot": 1})
