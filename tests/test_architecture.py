"""Who may import whom, and what may not be there at all."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = sorted((ROOT / "gamcore").rglob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]

LAYERS = [  # low to high; names of one layer do not import each other
    {"kernels", "mixing"}, {"table"},
    {"binning", "groups", "losses", "purify", "trees", "bands", "scales", "rules", "intervals", "fairness"},
    {"rulecode", "rulejson", "experiments"}, {"strategies", "verdicts"}, {"model", "executor", "taskdata", "rowfiles"},
    {"rounds"}, {"refit"}, {"boosting", "pairs", "ranking", "encoded"},
    {"interactions", "multitask", "explain", "spill"},
    {"taskmodel", "halves"},
    {"modelfile", "taskexplain"}, {"taskfile"}, {"serialize"},
    {"surface", "base", "changes", "compare", "tradeoff", "quality", "pieces"},
    {"segments", "additive", "reading", "drift", "moved", "overlay", "curvemoves", "taskestimators", "scoring"},
    {"estimators", "presets", "_version"}, {"plots"}, {"figures"}, {"export"}, {"workspace"},
]  # fmt: skip
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imports(path):
    """Dotted names of everything a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "gamcore":
                yield from (f"gamcore.{alias.name}" for alias in node.names)


def part_of(path):
    relative = path.relative_to(ROOT / "gamcore")
    return relative.parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path):
    mine = part_of(path)
    if mine == "__init__":
        return
    assert mine in LEVEL, f"give {mine} its place among the layers"
    for name in imports(path):
        if name.startswith("gamcore."):
            theirs = name.split(".")[1]
            if theirs in LEVEL and theirs != mine:
                assert LEVEL[theirs] < LEVEL[mine], f"{mine} imports {theirs}, which is not below it"


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_libraries_stay_in_their_places(path):
    mine, found = part_of(path), {name.split(".")[0] for name in imports(path)}
    assert "streamlit" not in found
    assert "plotly" not in found or mine in ("figures", "export")
    assert not found & {"matplotlib", "pptx", "xlsxwriter", "lxml", "fontTools"} or mine == "export"
    assert "numba" not in found or mine == "kernels"
    if mine in (
        "kernels",
        "rounds",
        "refit",
        "boosting",
        "pairs",
        "ranking",
        "interactions",
        "model",
        "purify",
        "losses",
        "trees",
        "multitask",
        "taskmodel",
        "groups",
        "executor",
    ):
        assert "pandas" not in found
    assert "gamcore.figures" not in set(imports(path)) or mine not in ("__init__",)


def calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {word.arg: ast.unparse(word.value) for word in node.keywords}


@pytest.mark.parametrize("path", [*CORE, *PAGES], ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_dangerous(path):
    assert not {"pickle", "marshal", "shelve"} & {name.split(".")[0] for name in imports(path)}
    for name, words in calls(path):
        assert name not in ("eval", "exec", "joblib.load", "prange", "numba.prange")
        assert words.get("parallel") != "True"
        assert words.get("allow_pickle") != "True"
        assert "unsafe_allow_html" not in words


@pytest.mark.parametrize("path", sorted((ROOT / "pages" / "shared").glob("*.py")), ids=lambda p: p.name)
def test_shared_page_code_draws_nothing_when_imported(path):
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        for node in ast.walk(statement):
            assert not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("st.")), ast.unparse(node)


@pytest.mark.parametrize("path", [*CORE, *PAGES], ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 600
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 80, node.name


def test_pages_are_named_as_their_urls():
    scripts = {path.stem for path in (ROOT / "pages").glob("*.py")} - {"__init__"}
    assert scripts == {
        "people",
        "data",
        "train",
        "models",
        "overview",
        "shapes",
        "pairs",
        "rows",
        "compare",
        "tasks",
        "strategies",
        "experiment",
        "report",
    }


def test_the_core_comes_without_the_screen():
    code = (
        "import sys, gamcore; "
        "print([name for name in ('streamlit', 'plotly', 'matplotlib') if name in sys.modules], "
        "'gamcore.workspace' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[] False"
