"""Any folder of an addition, or all, can be deleted, and another put there: nothing else knows which are there."""

from __future__ import annotations

import shutil

import pytest

from gamcore.common.seam import ADDITIONS
from tests.support.forks import Program, failures
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

LIBRARIES = ["numba", "pandas", "plotly.graph_objects", "pyarrow.parquet", "scipy.stats", "sklearn.base"]

PROGRAM = """
import pkgutil, sys
from importlib import import_module

import numpy as np
import pandas as pd

import gamcore
from gamcore.common.seam import ADDITIONS

assert gamcore.__path__[0].startswith(sys.argv[1])
for module in pkgutil.walk_packages(gamcore.__path__, "gamcore."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
gone = set(sys.argv[2].split(","))
assert not gone & set(ADDITIONS.names) and not gone & set(ADDITIONS.public_names.values())
rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(list("pq"), 300)})
model = gamcore.GAMRegressor(outer_bags=2, max_rounds=20, interactions=1, bands=10, random_state=0).fit(X, X["a"])
model.save(sys.argv[1] + "/model.gamx")
read = gamcore.load_model(sys.argv[1] + "/model.gamx")
np.testing.assert_array_equal(read.predict(X), model.predict(X))
assert read.explain_shape("a").plot() is not None and read.explain_pair("a", "b") is not None
assert "</svg>" in read.explain_shape("a")._repr_html_() and read.importance() is not None
assert np.allclose(read.explain_rows(X).scores, read.predict(X))
"""

ADDED = """
import sys

import pandas as pd

import gamcore
from gamcore import GAMRegressor, edit, load_model, note, notes_of

assert gamcore.__path__[0].startswith(sys.argv[1])
X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 20})
model = GAMRegressor(outer_bags=2, max_rounds=5, random_state=0).fit(X, X["a"])
noted = note(note(model, "row 7", "seen"), "row 8", "gone")
assert notes_of(model) == {} and notes_of(note(noted, "row 8", "")) == {"row 7": "seen"}
edit(noted, "a", "rising").save(sys.argv[1] + "/model.gamx")
read = load_model(sys.argv[1] + "/model.gamx")
assert notes_of(read) == {"row 7": "seen", "row 8": "gone"}
"""


def copied(place):
    """The library in a folder, with what Python has compiled of it; return its additions."""
    shutil.copytree(ROOT / "gamcore", place / "gamcore")
    return place / "gamcore" / "additions"


def test_any_folder_can_be_deleted_and_the_example_of_an_addition_needs_nothing_but_its_folder(tmp_path):
    programs = []
    for gone in [*ADDITIONS.names, "all"]:
        shutil.rmtree(copied(tmp_path / gone) / ("" if gone == "all" else gone))
        place, names = str(tmp_path / gone), ",".join(ADDITIONS.names) if gone == "all" else gone
        programs.append(Program(f"without {gone}", PROGRAM, place, (place, names)))
    folder = copied(tmp_path / "more") / "notes"
    folder.mkdir()
    shutil.copy(ROOT / "docs" / "examples" / "addition.py", folder)
    (folder / "__init__.py").write_text(
        'from gamcore.additions.notes.addition import note, notes_of\n\n__all__ = ["note", "notes_of"]\n',
        encoding="utf-8",
    )
    programs.append(Program("with notes", ADDED, str(tmp_path / "more"), (str(tmp_path / "more"),)))
    assert failures(programs, LIBRARIES) == {}
