"""No text of a slide runs out of its box, or into another, in the widest font that it may be shown in."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore.viz.files.parts import KeyFigure, Report, ReportPart
from gamcore.viz.files.pptx_report import to_deck
from tests.support.slides import check_room

WORDS = ["Womens", "E-Mail", "conversion", "of", "32,400", "(no currency given)", "measured", "+9.76 points", "among",
         "Donaudampfschifffahrt", "customers"]  # fmt: skip


def sentence(rng: np.random.Generator, n: int) -> str:
    return " ".join(rng.choice(WORDS, n))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("brief", [True, False])
def test_texts_stay_in_their_boxes_and_apart(seed, brief):
    rng = np.random.default_rng(seed)
    figures = [KeyFigure(sentence(rng, int(rng.integers(1, 5))), sentence(rng, int(rng.integers(2, 8))),
                         sentence(rng, int(rng.integers(2, 14)))) for _ in range(rng.integers(0, 4))]  # fmt: skip
    lines = [(sentence(rng, int(rng.integers(1, 4))), sentence(rng, int(rng.integers(1, 40))))
             for _ in range(rng.integers(0, 9))]  # fmt: skip
    text = [sentence(rng, int(rng.integers(1, 60))) for _ in range(rng.integers(0, 3))] if not lines else []
    table = [[sentence(rng, int(rng.integers(1, 3 + 8 * (k > 0) * (k2 == 1)))) for k2 in range(4)]
             for k in range(rng.integers(2, 30))] if rng.random() < 0.6 else []  # fmt: skip
    part = ReportPart(sentence(rng, int(rng.integers(1, 24))), text, figures=figures, lines=lines, table=table)
    report = Report(sentence(rng, int(rng.integers(1, 20))), sentence(rng, 12), (part,),
                    about=sentence(rng, int(rng.integers(1, 60))), brief=brief)  # fmt: skip
    check_room(to_deck(report))
