"""One number has one form: what it is, how sure it is, and where it comes from."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gamcore.data.column_names import Measure
from gamcore.decide.results import Result, Scale, Source, money
from gamcore.decide.rules import EVERYBODY
from gamcore.decide.segments import Evidence
from gamcore.decide.strategies import Strategy

SOURCES: tuple[Source, ...] = ("measured", "observed", "model", "assumed")
SCALES: tuple[Scale, ...] = ("level", "difference", "relative", "sum")
UNIT = some.floats(-0.999, 0.999)
NUMBER = re.compile(r"[+-]?[\d,]*\.?\d+(?:e-?\d+)?")


def digits(text):
    return [float(one.replace(",", "")) for one in NUMBER.findall(text)]


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (Result(0.583, (0.535, 0.629), is_rate=True), "58.3% (53.5 to 62.9%)"),
        (Result(0.0447, (0.0387, 0.0523), "measured", "difference", is_rate=True), "+4.5 points (+3.9 to +5.2)"),
        (Result(0.0068, (0.005, 0.0086), "measured", "difference", is_rate=True), "+0.68 points (+0.50 to +0.86)"),
        (Result(0.0057, (0.0042, 0.0075), is_rate=True), "0.57% (0.42 to 0.75%)"),
        (Result(0.426, (0.356, 0.5), "measured", "relative"), "+42.6% (+35.6% to +50.0%)"),
        (Result(0.77, (0.485, 1.05), "measured", "difference"), "+0.77 (+0.48 to +1.05)"),
        (Result(1213, (1100, 1301), measure=Measure("$", "money")), "$1,213 ($1,100 to $1,301)"),
        (money(259_321, (214_123, 304_456), "EUR", "assumed"), "259,000 EUR (214,000 to 304,000 EUR)"),
        (money(-1234, (-2000, -500), "$", "measured"), "-$1,230 (-$2,000 to -$500)"),
        (Result(math.nan), "not known"),
        (Result(0.5, is_rate=True), "50.0%"),
        (Result(0.0012, source="assumed", is_rate=True), "0.12%"),
        (Result(0.0, is_rate=True), "0.0%"),
        (Result(0.0043, scale="difference", is_rate=True), "+0.43 points"),
        (Result(1234.5), "1,234"),
        (Result(0.395, (-0.163, 0.952), scale="difference"), "+0.40 (-0.16 to +0.95)"),
        (Result(0.634, (0.079, 1.189), scale="difference"), "+0.63 (+0.08 to +1.19)"),  # as sure: as many decimals
    ],
)  # fmt: skip
def test_numbers_are_written_in_one_way(shown, words):
    assert shown.words() == words


@given(UNIT, some.floats(0.0, 0.5), some.sampled_from(SOURCES), some.sampled_from(SCALES), some.booleans(),
       some.one_of(some.none(), some.integers(0, 10**7)), some.sampled_from(("", "nan", "value", "low")))  # fmt: skip
def test_words_hold_the_number_and_never_a_missing_one(value, half, source, scale, is_rate, n, lacks):
    value, low = (math.nan if lacks in ("nan", name) else x for name, x in (("value", value), ("low", value - half)))
    shown = Result(value, (low, value + half), source, scale, n, is_rate)
    for text in (shown.text, shown.ends, shown.words(), shown.sentence()):
        assert not {"nan", "inf"} & set(re.findall("[a-z]+", text.lower()))
    assert ("measured" in shown.grounds) == (source == "measured")
    assert ("assumed" in shown.grounds) == (source == "assumed")
    if not shown.is_known:
        assert shown.sentence() == "not known"
    elif "under" not in shown.text and "over" not in shown.text:
        factor = 100 if (is_rate and scale in ("level", "difference")) or scale == "relative" else 1
        assert digits(shown.text)[0] == pytest.approx(factor * value, abs=max(0.02 * factor * half, 0.06), rel=0.006)


EVIDENCE = {
    "rows": 100, "inside": 40, "mean": 9.76, "interval": (7.7, 11.8), "rest": 1.0, "opportunity": 8.76,
    "opportunity_interval": (6.0, 11.0), "contrast": 2.0, "agree": 1.0, "tried": 1, "binary": False,
}  # fmt: skip


def test_only_the_effect_of_an_experiment_is_called_measured():
    found = Evidence(**EVIDENCE)
    assert found.inside_result().sentence() == "9.8 (7.7 to 11.8), observed in 40 rows"
    assert (found.opportunity_result().source, found.contrast_result().source) == ("observed", "model")
    moved = Evidence(**EVIDENCE, effect="points")
    assert moved.inside_result().sentence() == "+9.8 points (+7.7 to +11.8), measured among 40 customers of a test"
    assert (moved.opportunity_result().source, moved.contrast_result().source) == ("measured", "model")
    spent = Evidence(**EVIDENCE, effect="$")
    assert spent.inside_result().text.endswith(" $")


def test_a_strategy_says_whether_its_lifts_were_measured():
    guessed = Strategy("A", EVERYBODY, base=0.2, lift=(0.05, 0.1, 0.2), value=10, cost=0.5)
    assert guessed.lifted.sentence() == "+10.0% (+5.0% to +20.0%), assumed"
    assert guessed.worth_of(1_000, "EUR").sentence() == "-300 EUR (-400 to -100 EUR), assumed"
    known = Strategy.from_dict(guessed.to_dict() | {"tested": 4_635})
    assert known.gap.sentence() == "+2.0 points (+1.0 to +4.0), measured among 4,635 customers of a test"
    assert Strategy.from_dict(known.to_dict()) == known
    spent = Strategy.from_dict(known.to_dict() | {"is_rate": False, "base": 0.65})
    assert spent.gap.text == "+0.065"  # a mean below 1 is no rate
    assert Strategy.from_dict(spent.to_dict()) == spent


@pytest.mark.parametrize(("source", "words"), [("observed", "observed in 1 row"),
                                               ("measured", "measured among 1 customer of a test")])  # fmt: skip
def test_one_row_is_not_called_rows(source, words):
    assert Result(2.0, source=source, n=1).grounds == words
