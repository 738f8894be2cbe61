"""Scripts import the doctor from where it was."""

from __future__ import annotations

import pytest

import shapewise.doctor.examine
import shapewise.doctor.leaks
import shapewise.ingest.doctor
import shapewise.ingest.leaks


@pytest.mark.parametrize(
    ("former", "now"),
    [
        (shapewise.ingest.doctor.examine, shapewise.doctor.examine.examine),
        (shapewise.ingest.leaks.leaks, shapewise.doctor.leaks.leaks),
    ],
)
def test_what_has_moved_is_the_same(former, now):
    assert former is now
