"""Any folder of an addition, or all, can be deleted, and another put there: nothing else knows which are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from gamcore.seam import ADDITIONS
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

PROGRAM = """
import pkgutil, sys
from importlib import import_module

import numpy as np
import pandas as pd

import gamcore
from gamcore.seam import ADDITIONS

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


@pytest.mark.parametrize("gone", [*ADDITIONS.names, "all"])
def test_a_folder_can_be_deleted(gone, tmp_path):
    shutil.copytree(ROOT / "gamcore", tmp_path / "gamcore", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "gamcore" / "additions" / ("" if gone == "all" else gone))
    run(PROGRAM, tmp_path, ",".join(ADDITIONS.names) if gone == "all" else gone)


ADDED = """
import sys

import pandas as pd

import gamcore
from gamcore import GAMRegressor, edit, load_model, note, notes_of

X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 20})
model = GAMRegressor(outer_bags=2, max_rounds=5, random_state=0).fit(X, X["a"])
noted = note(note(model, "row 7", "seen"), "row 8", "gone")
assert notes_of(model) == {} and notes_of(note(noted, "row 8", "")) == {"row 7": "seen"}
edit(noted, "a", "rising").save(sys.argv[1] + "/model.gamx")
read = load_model(sys.argv[1] + "/model.gamx")
assert notes_of(read) == {"row 7": "seen", "row 8": "gone"}
"""


def test_the_example_of_an_addition_needs_nothing_but_its_folder(tmp_path):
    shutil.copytree(ROOT / "gamcore", tmp_path / "gamcore", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "gamcore" / "additions" / "notes"
    folder.mkdir()
    shutil.copy(ROOT / "docs" / "examples" / "addition.py", folder)
    (folder / "__init__.py").write_text(
        'from gamcore.additions.notes.addition import note, notes_of\n\n__all__ = ["note", "notes_of"]\n',
        encoding="utf-8",
    )
    run(ADDED, tmp_path)


def run(program, place, *arguments):
    """Run a program with the library of a folder."""
    command = [sys.executable, "-c", program, str(place), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place, env=environment)
    assert done.returncode == 0, done.stderr
