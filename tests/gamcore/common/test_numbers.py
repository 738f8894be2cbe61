"""What people read of a number: close to it, without exponents, with one sign, alike in a list."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gamcore.common.numbers import (
    LARGE,
    LARGEST,
    SMALLEST,
    alike,
    count,
    counted,
    duration,
    exact,
    factor,
    fixed,
    in_full,
    number,
    p_value,
    percent,
    place,
    points,
    read,
    roundest,
    size,
)

usual = st.floats(-1e14, 1e14).filter(lambda value: value == 0 or abs(value) >= SMALLEST)


def back(text):
    return float(text.replace(",", ""))


@given(usual, st.integers(1, 6))
def test_a_measured_number_is_off_by_half_its_last_digit_at_most(value, digits):
    assert abs(back(number(value, digits)) - value) <= 0.5000001 * 10.0 ** (1 - digits) * abs(value)


@given(usual)
def test_an_exact_number_is_itself_to_ten_digits(value):
    text = exact(value)
    assert back(text) == pytest.approx(value, rel=1e-9)
    assert "." not in text or text[-1] not in "0."


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 6), st.booleans())
@example(2.5e-9, 3, False)
@example(-3e20, 3, True)
def test_a_number_of_any_size_is_written_out_or_its_side_is(value, digits, signed):
    assert back(exact(value)) == pytest.approx(value, rel=1e-9)
    side, _, end = number(value, digits, signed).rpartition(" ")
    assert len(end) < 50
    assert set(end + exact(value)) <= set("0123456789.,+-")
    assert math.isnan(read(number(value, digits, signed))) == bool(side)
    if side:
        assert abs(value) < SMALLEST or abs(value) > LARGEST
        assert value < back(end) if side == "under" else value > back(end)
    elif abs(value) >= LARGE:
        assert back(end) == pytest.approx(value, rel=0.0051)


@given(st.floats(allow_nan=False).filter(lambda value: abs(value) < LARGE), st.integers(0, 6), st.booleans())
def test_no_exponent_and_no_sign_of_nothing(value, decimals, signed):
    text = fixed(value, decimals, signed)
    assert "e" not in text
    zero = set(text) <= set("0.+-,")
    assert text[0] in "0123456789" if zero else text.startswith("-") == (value < 0)
    assert zero or text.startswith("+") == (signed and value > 0)


@given(st.integers(-(10**14), 10**14))
def test_counts_are_exact(value):
    assert int(count(value).replace(",", "")) == value


@given(st.lists(usual, min_size=1, max_size=20))
def test_numbers_that_stand_together_have_the_same_decimals(values):
    assert len({len(text.partition(".")[2]) for text in alike(values)}) == 1


def test_a_millionth_is_not_under_itself():
    assert (percent(1e-6, 0), percent(9.99e-7, 0)) == ("0.00010%", "under 0.0001%")


near_all = st.floats(1e-11, 1e-3).map(lambda left: 1 - left)


@given(st.one_of(st.floats(-10, 10), st.floats(0, 1e-3), near_all, near_all.map(lambda share: -share)),
       st.integers(0, 2), st.booleans())  # fmt: skip
def test_a_percentage_is_nothing_only_for_nothing_and_all_only_for_all(share, decimals, signed):
    text = percent(share, decimals, signed)
    assert text.endswith("%")
    assert "e" not in text.replace("over ", "").replace("under ", "")
    if text.startswith(("over ", "under ")):
        side, end = text[:-1].split(" ")
        assert 100 * share > back(end) if side == "over" else 100 * share < back(end)
        assert min(abs(share), abs(1 - abs(share))) < 1e-6
        return
    assert (back(text[:-1]) == 0) == (share == 0)
    assert abs(back(text[:-1]) - 100 * share) <= 0.5000001 * 10**-decimals
    assert abs(back(text[:-1])) != 100 or abs(share) > 1 - 1e-11


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_in_full_reads_back_as_itself(value):
    text = in_full(value)
    assert float(text.replace(",", "")) == value
    assert "e" not in text
    assert text == "0" or not text.endswith(".0")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_neighbouring_places_are_told_apart(start, span):
    ends = [start, start + span]
    if ends[0] != ends[1] and span > 1e-12 * abs(start):
        assert place(ends[0], span) != place(ends[1], span)


@pytest.mark.parametrize(("made", "text"), [
    (number(1_000_000), "1,000,000"), (number(0.0123456), "0.0123"), (number(0.5, signed=True), "+0.500"),
    (number(9.996), "10.0"), (number(2.5e-9), "0.00000000250"), (number(0), "0"),
    (number(3e20), "300,000,000,000,000,000,000"),
    (number(np.float64(16424.3)), "16,424"), (number(math.nan), "not known"), (number(-math.inf), "-∞"),
    (percent(0.1), "10.0%"), (percent(0.2, 0), "20%"), (percent(-0.1603, signed=True), "-16.0%"),
    (percent(0.0004), "0.040%"), (percent(math.nan), "not known"), (percent(0.005, 0), "0.50%"),
    (percent(0.997, 0), "99.7%"), (percent(0.99995), "99.995%"), (percent(1.0, 0), "100%"), (percent(0.9996), "99.96%"),
    (percent(-0.9999999), "under -99.9999%"), (percent(1e-9), "under 0.0001%"), (percent(-1e-9), "over -0.0001%"),
    (percent(0.1 * 3 / 0.3), "100.0%"), (percent(1.0004), "100.0%"), (in_full(1e-9), "0.000000001"),
    (in_full(12_345.5), "12,345.5"), (in_full(-0.0), "0"), (in_full(3e6), "3,000,000"),
    (roundest(302.12, 302.1299, 302.12), "302.12"),
    (roundest(0.0, 0.4, 0.0), "0"), (roundest(-0.0, 0.0, -0.0), "0"), (roundest(-20.0, -20.0, -20.0), "-20"),
    (points(19.34), "+19.3 points"), (points(-0.02), "0.0 points"), (factor(1.5), "×1.50"),
    (exact(0.05), "0.05"), (exact(2_500.0), "2,500"), (exact(-0.0), "0"), (fixed(0.69949, 3), "0.699"),
    (size(999_950), "1 MB"), (size(12), "12 bytes"), (size(2.5e9), "2.5 GB"), (p_value(0.0342), "p = .034"),
    (p_value(1e-9), "p < .0001"), (duration(0.04), "under 0.1 s"), (duration(59.6), "60 s"),
    (duration(9_000), "2.5 hours"),
    (place(16_424.3, 500), "16,424"), (place(0.5, 1), "0.5"),
])  # fmt: skip
def test_examples(made, text):
    assert made == text


@given(st.integers(0, 10**7))
def test_one_is_one_thing_and_others_are_several(n):
    assert (counted(n, "held-out row") == f"{count(n)} held-out row") == (n == 1)
    assert counted(n, "strategy", "gets", "get").split(" ", 1)[1] == ("strategy gets" if n == 1 else "strategies get")
    assert counted(n, "query").endswith("query" if n == 1 else "queries")
    assert counted(n, "class").endswith("class" if n == 1 else "classes")
    assert counted(n, "day").endswith("day" if n == 1 else "days")
