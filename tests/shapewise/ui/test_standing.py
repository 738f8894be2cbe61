"""How far a training is, in words."""

import numpy as np
import pytest

from shapewise.training.runs import Standing
from shapewise.ui.session.standing import in_words


@pytest.mark.parametrize(("begun", "threads", "left"), [(1, 2, ""), (2, 2, ""), (4, 2, "about 20 s left")])
def test_the_time_left_is_said_once_a_refit_has_ended(begun, threads, left):
    points = np.array([[refit, number, 0.5, 0.5] for refit in range(begun) for number in range(3)])
    words = in_words(Standing("main effects", 0, 4, 20, 20.0, points), threads)[1]
    assert words.split(" · ")[1] == f"refit {begun} of 4"
    assert ("left" in words, left in words) == (bool(left), True)
