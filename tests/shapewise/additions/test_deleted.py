"""Any folder of an addition, or all, can be deleted, here and in the library: all else is imported, and every page
opens."""

from __future__ import annotations

import shutil

import pytest

from gamcore.common.seam import ADDITIONS as OF_LIBRARY
from shapewise.seam import ADDITIONS
from shapewise.store.database import forget
from tests.support.forks import Program, failures
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

LIBRARIES = ["numba", "plotly.graph_objects", "psutil", "pyarrow.parquet", "scipy.stats", "sqlalchemy",
             "streamlit.testing.v1"]  # fmt: skip

PROGRAM = """
import pkgutil, sys
from functools import cache
from importlib import import_module
from pathlib import Path

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

import gamcore
import shapewise
from gamcore.common.seam import ADDITIONS as OF_LIBRARY
from shapewise.seam import ADDITIONS

root, gone, table, model = Path(sys.argv[1]), set(sys.argv[2].split(",")), sys.argv[3], sys.argv[4]
assert (Path(shapewise.__path__[0]), Path(gamcore.__path__[0])) == (root / "shapewise", root / "gamcore")
assert not gone & {*ADDITIONS.names, *OF_LIBRARY.names}
for module in pkgutil.walk_packages(shapewise.__path__, "shapewise."):
    if not module.name.endswith(("__main__", "starting")):
        import_module(module.name)
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)  # half of a page's time
pages = sorted(page for page in (root / "pages").glob("*.py") if page.name != "__init__.py")
assert len(pages) > 10
for page in pages:
    app = AppTest.from_file(str(page), default_timeout=120)
    app.query_params["table"], app.query_params["model"] = table, model
    app.run()
    assert not app.exception, (page.name, app.exception)
"""


def test_any_folder_can_be_deleted(sure, tmp_path):
    space, table, model, _ = sure
    forget(space.root)
    programs = []
    both = sorted({*ADDITIONS.names, *OF_LIBRARY.names})
    for gone in [*both, "all"]:
        place = tmp_path / gone
        for part in ("gamcore", "shapewise", "pages", "sample_data"):
            shutil.copytree(ROOT / part, place / part)  # with what Python has compiled
        shutil.copy(ROOT / "app.py", place)
        for house in ("gamcore", "shapewise"):
            shutil.rmtree(place / house / "additions" / ("" if gone == "all" else gone), ignore_errors=True)
        names = ",".join(both) if gone == "all" else gone
        programs.append(Program(f"without {gone}", PROGRAM, str(place), (str(place), names, table.id, model.id)))
    assert failures(programs, LIBRARIES) == {}
