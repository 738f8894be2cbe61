"""Levels are listed in one way, from which each of them can be read again."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from gamcore import GAMRegressor
from gamcore.additions.editing.edits import Where
from gamcore.data.labels import LONGEST_LEVEL, levels_in_words
from gamcore.decide.rules import Levels, Missing, Not
from gamcore.explain.counterfactuals import Step
from gamcore.explain.places import Place
from gamcore.stats.column_drift import what_moved

ODD = st.sampled_from([
    "Smith, Ann", "north or south", "Trinidad and Tobago", "a; b", " a", "a ", "a  b", "", "or", "AND", "not a",
    "missing", "nothing", "1,000", "01", "5 or more", 'the "best"', "“x”", "a\tb", "a\nb", "Zürich, 8001", "東京、日本",
    "الرياض", "x" * 90 + ", y", "x" * 90 + ", z",
])  # fmt: skip
LEVELS = st.lists(ODD | st.text(" ,abor", max_size=8), min_size=1, max_size=6, unique=True)
NAME = re.compile(r"“(?P<apart>.*?)”(?=$|, | or | and )|(?P<plain>[^,]+?)(?=$|, | or | and )")


def read_back(text: str, joint: str) -> list[str]:
    """Return the names that a list in words has, read from left to right."""
    read, rest = [], text
    while True:
        match = NAME.match(rest)
        assert match, f"no name in {rest!r} of {text!r}"
        read.append(match["apart"] if match["apart"] is not None else match["plain"])
        rest = rest[match.end() :]
        if not rest:
            return read
        rest = rest.removeprefix(", ") if rest.startswith(", ") else rest.removeprefix(f" {joint} ")


def as_shown(level: str) -> str:
    return " ".join(level.splitlines())


@given(LEVELS, st.sampled_from(["or", "and"]))
def test_each_level_of_a_list_can_be_read_from_it(levels, joint):
    text = levels_in_words(levels, joint)
    if not any("”" in level for level in levels):  # marks of its own: they stay, inside the others
        read = read_back(text, joint)
        assert len(read) == len(levels)
        assert all(len(one) <= LONGEST_LEVEL for one in read)
        pairs = zip(levels, read, strict=True)
        assert all(one == as_shown(level) for level, one in pairs if len(level) <= LONGEST_LEVEL)
    assert "\n" not in text


@given(LEVELS, LEVELS)
def test_what_is_said_of_levels_uses_that_list(levels, others):
    named = levels_in_words(levels, "or")
    assert Levels("c", tuple(levels)).words() == f"c is {named}"
    assert Not(Levels("c", tuple(levels))).words() != Levels("c", tuple(others)).words()
    assert Levels("c", tuple(levels)).words() != Missing("c").words()
    assert Where(levels=tuple(levels)).words() == levels_in_words(levels)
    assert Place(levels[0], levels=(levels[0],)).spoken == levels_in_words(levels[:1])


@given(st.lists(ODD.filter(lambda level: level == level.strip() != ""), min_size=4, max_size=6, unique=True))
def test_a_step_to_merged_levels_and_a_move_of_levels_list_them_so(levels):
    rng = np.random.default_rng(0)
    cells = np.array(levels, object)[rng.integers(0, len(levels), 200)]
    frame = pd.DataFrame({"c": cells, "x": rng.normal(size=200)})
    model = GAMRegressor(bins={"c": [levels[:2]]}, max_rounds=2, outer_bags=2, random_state=0).fit(frame, frame["x"])
    bins = model.model_.bins[0]
    code = bins.codes_of_levels[levels[0]]
    assert Step("c", bins, int(code), 0.1).words == f"is {levels_in_words(bins.members[code - 1], 'or')}"
    (moved,) = what_moved(frame[["c"]][cells == levels[0]], frame[["c"]]).columns
    assert levels_in_words(moved.came, most=3) in moved.words
