"""Rules of the house that import-linter's layers do not say, and the layers themselves (pyproject.toml)."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.support.places import ROOT

LIBRARY = sorted((ROOT / "gamcore").rglob("*.py"))
APPLICATION = sorted((ROOT / "shapewise").rglob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
UI = [path for path in APPLICATION if path.is_relative_to(ROOT / "shapewise" / "ui")]
OURS = [*LIBRARY, *APPLICATION, *PAGES]
FILE_MAKERS = {"matplotlib", "pptx", "xlsxwriter", "lxml", "fontTools"}
ARRAYS_ONLY = ("kernels", "model", "boosting", "multitask")
"""Rooms that know arrays, not frames."""

KNOW_FRAMES = {"multitask/tables.py"}


def place(path):
    return path.relative_to(ROOT).as_posix()


def imports(path):
    """Dotted names of everything a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def libraries(path):
    return {name.split(".")[0] for name in imports(path)}


def test_imports_go_down():
    """By a process of its own: it sets up logging for all."""
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_the_house_has_few_rooms():
    for floor, most in (("gamcore", 15), ("shapewise", 15)):
        rooms = {path.name for path in (ROOT / floor).iterdir() if path.is_dir() and not path.name.startswith("_")}
        assert len(rooms) <= most


@pytest.mark.parametrize("path", OURS, ids=place)
def test_libraries_stay_in_their_places(path):
    where, known = place(path), libraries(path)
    is_ui = path in UI or path in PAGES
    assert "streamlit" not in known or is_ui
    assert "plotly" not in known or is_ui or where.startswith("gamcore/viz/")
    assert not known & FILE_MAKERS or where.startswith("gamcore/viz/files/") or where == "shapewise/ingest/excel.py"
    assert "numba" not in known or where.startswith("gamcore/kernels/")
    if where.startswith("gamcore/"):
        assert "shapewise" not in known
        room, _, rest = where.removeprefix("gamcore/").partition("/")
        assert "pandas" not in known or room not in ARRAYS_ONLY or f"{room}/{rest}" in KNOW_FRAMES
    assert "pages" not in known or path in PAGES


def calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {word.arg: ast.unparse(word.value) for word in node.keywords}


@pytest.mark.parametrize("path", OURS, ids=place)
def test_nothing_dangerous(path):
    assert not {"pickle", "marshal", "shelve"} & libraries(path)
    for name, words in calls(path):
        assert name not in ("eval", "exec", "joblib.load", "prange", "numba.prange")
        assert words.get("parallel") != "True"
        assert words.get("allow_pickle") != "True"
        assert "unsafe_allow_html" not in words


@pytest.mark.parametrize("path", UI, ids=place)
def test_shared_page_code_draws_nothing_when_imported(path):
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        for node in ast.walk(statement):
            assert not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("st.")), ast.unparse(node)


@pytest.mark.parametrize("path", OURS, ids=place)
def test_files_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 600
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 80, node.name


def test_pages_are_named_as_their_urls():
    scripts = {path.stem for path in (ROOT / "pages").glob("*.py")} - {"__init__"}
    assert scripts == {
        "people", "data", "train", "models", "overview", "shapes", "pairs", "rows", "compare", "tasks", "strategies",
        "experiment", "report",
    }  # fmt: skip


@pytest.mark.parametrize(
    "what", ["import gamcore", "from gamcore import GAMClassifier, MultiTaskTreesClassifier, PRESETS"]
)
def test_the_library_comes_without_screen_files_and_records(what):
    unwanted = ("streamlit", "plotly", "matplotlib", "sqlalchemy", "statsmodels", "pptx", "shapewise")
    code = f"import sys; {what}; print([name for name in {unwanted} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_the_reader_of_files_comes_without_the_library_s_core():
    """A second and 150 MB that a reader has no use for."""
    code = "import sys, shapewise.ingest.child; print([n for n in ('numba', 'sklearn', 'scipy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
