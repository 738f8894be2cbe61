"""Any folder of an addition, or all, can be deleted: every page still opens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from shapewise.seam import ADDITIONS
from shapewise.store.database import forget
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

PROGRAM = """
import pkgutil, sys
from importlib import import_module
from pathlib import Path

from streamlit.testing.v1 import AppTest

import shapewise
from shapewise.seam import ADDITIONS

root, gone, table, model = Path(sys.argv[1]), set(sys.argv[2].split(",")), sys.argv[3], sys.argv[4]
assert Path(shapewise.__path__[0]) == root / "shapewise" and not gone & set(ADDITIONS.names)
for module in pkgutil.walk_packages(shapewise.__path__, "shapewise."):
    if not module.name.endswith(("__main__", "starting")):
        import_module(module.name)
pages = sorted(page for page in (root / "pages").glob("*.py") if page.name != "__init__.py")
assert len(pages) > 10
for page in pages:
    app = AppTest.from_file(str(page), default_timeout=120)
    app.query_params["table"], app.query_params["model"] = table, model
    app.run()
    assert not app.exception, (page.name, app.exception)
"""


@pytest.mark.parametrize("gone", [*ADDITIONS.names, "all"])
def test_a_folder_can_be_deleted(gone, sure, tmp_path):
    space, table, model, _ = sure
    forget(space.root)
    for part in ("shapewise", "pages", "sample_data"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "app.py", tmp_path)
    folder = tmp_path / "shapewise" / "additions"
    if gone == "all":
        shutil.rmtree(folder)
    else:
        shutil.rmtree(folder / gone)
    names = ",".join(ADDITIONS.names) if gone == "all" else gone
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), names, table.id, model.id]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
