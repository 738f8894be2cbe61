"""The arithmetic of `benchmarks.app.pages`."""

import pytest

from benchmarks.app import page_report

pytestmark = pytest.mark.slow


def look(page, seconds, first=0.1, words=()):
    return {"page": page, "seconds": seconds, "first": first, "words": words}


def result(**changes):
    good = {
        "machine": {"cores": 2}, "others_cores": 0.0, "warm": [look("a", 0.1), look("b", 0.3)],
        "features": [look("next feature", 0.2)], "first": [look("a", 1.0)], "empty": [look("a", 90.0, 1.0, ("waits",))],
    }  # fmt: skip
    return good | changes


def test_quantiles_are_of_all_visits_and_pages_are_listed_slowest_first():
    assert page_report.quantiles([0.1, 0.2, 0.3]) == pytest.approx({"n": 3, "median": 0.2, "p95": 0.29, "slowest": 0.3})
    assert list(page_report.by_page([look("a", 0.1), look("b", 0.5), look("a", 0.2)])) == ["b", "a"]


def test_each_goal_is_missed_by_itself():
    assert page_report.missed(result()) == []
    for part, looks in {
        "features": [look("next feature", 0.5)], "first": [look("a", 6.0)], "empty": [look("a", 9.0, 6.0)],
        "warm": [look("a", 0.1)] * 9 + [look("a", 3.0)],
    }.items():  # fmt: skip
        assert len(page_report.missed(result(**{part: looks}))) == 1, part
    assert "nan" in page_report.missed(result(features=[]))[0]  # nothing measured is nothing reached


def test_the_sentence_of_a_wait_is_printed_and_a_part_left_out_is_not():
    text = "\n".join(page_report.lines(result()))
    assert "waits" in text
    assert "never compiled" not in "\n".join(page_report.lines(result(empty=[])))
