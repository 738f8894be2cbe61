"""A report follows what is chosen: a test alone, a board alone, or both, with the parts that these can fill."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore.decide.arms import ArmsTest
from gamcore.decide.rules import Levels
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.viz.files.parts import ReportPart
from gamcore.viz.files.pptx_report import to_deck
from gamcore.viz.files.report import to_report
from shapewise.decisions import arm_tests, boards
from shapewise.reports import recipes
from shapewise.reports.recipes import ReportItem
from shapewise.reports.review import review_of
from tests.support.gears import mostly_slow
from tests.support.pages import choose, open_page
from tests.support.report_texts import texts_of
from tests.support.slides import check_room


@pytest.fixture
def mailing(space):
    """A board and a test of three arms and three outcomes of one table."""
    rng = np.random.default_rng(0)
    n = 6_000
    arm = rng.choice(["none", "women's e-mail", "men's e-mail"], n)
    moved = pd.Series({"none": 0.0, "women's e-mail": 0.05, "men's e-mail": 0.1})[arm].to_numpy()
    frame = pd.DataFrame({"arm": arm, "kind": rng.choice(["a", "b"], n)})
    for k, name in enumerate(("visit", "conversion")):
        frame[name] = (rng.random(n) < 0.2 + moved / (k + 1)).astype(int)
    frame["spend"] = frame["conversion"] * rng.gamma(2.0, 10.0, n)
    table = space.tables.add(frame, "mail")
    roles = dict.fromkeys(("visit", "conversion", "spend"), "primary")
    test = arm_tests.keep(space, table.id, "Mail", ArmsTest("arm", "none", roles))
    one = Strategy("A", Levels("kind", ("a",)), "women's e-mail", metric="visit", base=0.2, lift=(0.1, 0.2, 0.3),
                   value=5.0, tested=4_000)  # fmt: skip
    return space, boards.add_board(space, StrategySet("Who gets it", (one,)), table.id), test


def words_of(part: ReportPart) -> str:
    cells = [cell for row in part.table or () for cell in row]
    return " ".join([part.title, *(part.text or ()), *cells, *(f"{a} {b}" for a, b in part.lines or ())])


CHOICES = [(False, True), (True, False), (True, True)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("audience", recipes.AUDIENCES)
@pytest.mark.parametrize("chosen", CHOICES)
def test_every_part_that_is_usual_or_offered_can_be_filled(mailing, chosen, audience):
    space, *both = mailing
    board, test = (one if wanted else None for one, wanted in zip(both, chosen, strict=True))
    usual = recipes.usual(None, [], board, test, audience)
    offered = recipes.offered(board, test)
    assert {item.kind for item in usual.items} <= {item.kind for item in offered} | {"reading"}
    report = review_of(space, replace(usual, audience="analyst", items=tuple(offered)))
    assert not [part for part in report.parts if "Left out" in words_of(part)]
    check_room(to_deck(review_of(space, usual)))


@pytest.mark.parametrize("start", CHOICES)
@pytest.mark.parametrize("to", CHOICES)
def test_parts_follow_the_choice_and_what_somebody_added_stays_where_it_applies(mailing, start, to):
    space, *both = mailing
    (before, there), (now, offered) = (
        (recipes.usual(None, [], *parts), [*recipes.offered(*parts), ReportItem("reading")])
        for parts in ([one if wanted else None for one, wanted in zip(both, chosen, strict=True)]
                      for chosen in (start, to))
    )  # fmt: skip
    own = next((item for item in there if item not in before.items), None)
    mine = replace(before, items=(*before.items, *([own] if own else [])))
    made = recipes.followed(mine, before, now, offered)
    assert (made.board, made.test) == (now.board, now.test)
    assert {(item.kind, item.of) for item in made.items} <= {(item.kind, item.of) for item in offered}
    assert made.items[: len(now.items)] == now.items
    if start == to:
        assert made.items == mine.items
    report = review_of(space, made)
    assert not [part for part in report.parts if "Left out" in words_of(part)]


def test_a_comment_and_a_title_of_ones_own_stay(mailing):
    _, board, test = mailing
    before, now = recipes.usual(None, [], board), recipes.usual(None, [], None, test)
    mine = replace(before, name="For the board", items=(replace(before.items[0], comment="Read this"),))
    made = recipes.followed(mine, before, now, recipes.offered(None, test))
    assert (made.name, made.items[0].comment) == ("For the board", "Read this")
    assert recipes.followed(before, before, now, recipes.offered(None, test)).name == now.name == "Mail"


def test_a_director_reads_a_slide_per_outcome(mailing):
    space, _, test = mailing
    report = review_of(space, recipes.usual(None, [], None, test, "director"))
    titles = [part.plot.title if part.plot is not None else part.title for part in report.parts]
    assert titles[0].startswith("Choose men's e-mail: visit")
    for name, title in zip(("visit", "conversion", "spend"), titles[1:4], strict=True):
        assert title.startswith(f"{name}: +")
        assert "with men's e-mail" in title
        assert "with women's e-mail" in title
    assert len(report.parts) <= recipes.MOST_SLIDES


def test_both_show_the_board_s_decision_and_what_the_test_measured(mailing):
    space, board, test = mailing
    report = review_of(space, recipes.usual(None, [], board, test, "director"))
    first = words_of(report.parts[0])
    assert "measured among 4,000 customers of a test" in first
    assert "No lift" not in first
    titles = [part.plot.title for part in report.parts if part.plot is not None]
    assert [title.split(":")[0] for title in titles[:3]] == ["visit", "conversion", "spend"]
    assert not [part for part in report.parts if "the analyst's report" in words_of(part)]  # all have a slide here


def test_a_strategy_that_costs_more_than_it_brings_is_a_risk(mailing):
    space, board, _ = mailing
    for cost, says in ((0.1, False), (2.5, True)):  # the lift brings 0.2 * 0.2 * 5.0 = 0.2
        changed = boards.change(space, board.id, strategies=lambda those, cost=cost: replace(
            those, strategies=tuple(replace(one, cost=cost) for one in those.strategies)))  # fmt: skip
        first = review_of(space, recipes.usual(None, [], changed, None, "director")).parts[0]
        assert ("A costs more than the lift brings." in dict(first.lines)["Risk"]) == says


def against_control(part: ReportPart) -> ReportPart:
    """Return a part whose files have no arms beside each other: these are a question of their own, by Holm."""
    if part.plot is None or "against" not in part.plot.numbers:
        return part
    numbers = part.plot.numbers
    return replace(part, plot=replace(part.plot, numbers=numbers[numbers["against"].isin(["", "none"])]))


BESIDE = "How the treated arms differ from each other"
SETUPS = [{}, {"adjustment": "Dunnett"}, {"adjustment": "Dunnett", "customers": 9_000}]


@pytest.mark.slow
@pytest.mark.parametrize(("setup", "filed"), mostly_slow(zip(SETUPS, recipes.AUDIENCES, strict=True), 1))
def test_page_and_files_name_the_method_that_adjusted_the_p_values(mailing, setup, filed):
    """Holm's takes the place of Dunnett's where a test may be looked at early.

    Of each setup one audience gets all files, and each audience the page: a file says what its report says, for
    whichever setup."""
    space, _, test = mailing
    test = arm_tests.keep(space, test.table, test.name, replace(test.test(), **setup), test.id)
    used, other = ("Dunnett", "Holm") if len(setup) == 1 else ("Holm", "Dunnett")
    page = choose(open_page("experiment", table=test.table), "Begin with", "test")
    caption = next(one.value for one in page.caption if "intervals are blue" in one.value)
    said = {"page": caption.partition("Arms against each other")[0]}  # which is a question of its own, by Holm
    for audience in recipes.AUDIENCES:
        recipe = recipes.usual(None, [], None, test, audience)
        every = replace(recipe, items=tuple(recipes.offered(None, test)))
        report = review_of(space, every)
        own = [against_control(part) for part in report.parts if part.title != BESIDE]
        assert (len(own) < len(report.parts)) == (audience != "director")
        report = replace(report, parts=tuple(own))
        texts = texts_of(report) if audience == filed else {"html": to_report(report, "html").decode()}
        said |= {f"{audience}, {kind}": text for kind, text in texts.items()}
    assert [place for place, text in said.items() if used not in text] == []
    assert [place for place, text in said.items() if other in text] == []
