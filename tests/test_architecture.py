"""Rules of the house that import-linter's layers do not say, and the layers themselves (pyproject.toml)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache, wraps

import pytest

from gamcore.model.losses import LOSSES
from tests.support.places import ROOT

LIBRARY = sorted((ROOT / "gamcore").rglob("*.py"))
APPLICATION = sorted((ROOT / "shapewise").rglob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
UI = [path for path in APPLICATION if path.relative_to(ROOT / "shapewise").parts[0] in ("ui", "additions")]
OURS = [*LIBRARY, *APPLICATION, *PAGES]
BENCHMARKS = [path for path in sorted((ROOT / "benchmarks").rglob("*.py")) if path.parent.name != "tests"]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
FILE_MAKERS = {"matplotlib", "pptx", "xlsxwriter", "lxml", "fontTools"}
ARRAYS_ONLY = ("kernels", "model", "boosting", "multitask")
"""Rooms that know arrays, not frames."""

KNOW_FRAMES = {"multitask/tables.py", "multitask/coding.py"}


@cache
def tree_of(path):
    """The syntax tree of a file, which many rules look at."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path):
    return list(ast.walk(tree_of(path)))


def place(path):
    return path.relative_to(ROOT).as_posix()


def each(paths):
    """Hold a rule against each of some files, as one test: thousands of tests would take longer than what they ask."""

    def of(rule):
        @wraps(rule, assigned=("__name__", "__module__", "__doc__"))
        def test():
            for path in paths:
                try:
                    rule(path)
                except AssertionError as error:
                    raise AssertionError(f"{place(path)}: {error}") from error

        del test.__wrapped__  # pytest would ask it for its argument
        return test

    return of


def imports(path):
    """Dotted names of everything a file imports, wherever in it."""
    for node in nodes(path):
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


@each(LIBRARY)
def test_nothing_is_imported_by_a_string(path):
    """No contract sees such an import. But by a package that loads its names on first use, and by the seam, as the core
    finds additions by looking at their folder and knows none of their names."""
    if path.name != "__init__.py" and place(path) != "gamcore/common/seam.py":
        assert "importlib" not in libraries(path)


def test_the_house_has_few_rooms():
    """What stands in no folder is a room, too."""
    for floor, most in (("gamcore", 14), ("gamcore/boosting", 12), ("shapewise", 22)):
        rooms = [path for path in (ROOT / floor).iterdir() if path.is_dir() or path.suffix == ".py"]
        rooms = [path for path in rooms if not path.name.startswith("_")]
        assert len(rooms) <= most


@each(OURS)
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


@each([p for p in LIBRARY if "loss" in p.stem or "boosting" in p.parts])
def test_no_matrix_product_of_rows(path):
    """The threads of a linear algebra library spin for a tenth of a second after each, on the cores of other refits."""
    tree = tree_of(path)
    assert not any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) for node in ast.walk(tree))
    assert not {"np.dot", "np.matmul", "np.vdot", "np.inner", "np.einsum"} & {name for name, _ in calls(path)}


def calls(path):
    for node in nodes(path):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {word.arg: ast.unparse(word.value) for word in node.keywords}


@each(OURS)
def test_nothing_dangerous(path):
    assert not {"pickle", "marshal", "shelve"} & libraries(path)
    for name, words in calls(path):
        assert name not in ("eval", "exec", "joblib.load", "prange", "numba.prange")
        assert words.get("parallel") != "True"
        assert words.get("allow_pickle") != "True"
        assert "unsafe_allow_html" not in words


@each([path for path in UI if path.name != "starting.py"])  # it draws while it is
def test_shared_page_code_draws_nothing_when_imported(path):
    for statement in tree_of(path).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        for node in ast.walk(statement):
            assert not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("st.")), ast.unparse(node)


@each(OURS)
def test_files_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 600  # a file is as long as its one idea: a tight cap only squeezes code
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 80, node.name
        if isinstance(node, ast.ClassDef):
            assert sum(isinstance(one, ast.FunctionDef) for one in node.body) <= 25, node.name


def own_methods(cls):
    """Names of the methods of a class and of those of ours that it inherits from."""
    ours = [one for one in cls.__mro__ if one.__module__.split(".")[0] in ("gamcore", "shapewise")]
    return {name for one in ours for name, what in vars(one).items() if callable(what) or isinstance(what, property)}


def test_the_workspace_is_no_class_that_does_everything():
    from shapewise.store.workspace import Workspace

    assert len({name for name in own_methods(Workspace) if not name.startswith("__")}) <= 22


@each([*OURS, *BENCHMARKS])
def test_names_say_what_values_hold(path):
    fields = {id(line.target) for node in nodes(path) if isinstance(node, ast.ClassDef)
              for line in node.body if isinstance(line, ast.AnnAssign)}  # fmt: skip
    for node in nodes(path):
        name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else ""
        assert name not in ("found", "told"), f"line {node.lineno}"
        is_use = isinstance(getattr(node, "ctx", None), ast.Load)  # of a function
        assert name not in ("of", "one", "made", "said") or is_use or id(node) in fields, f"line {node.lineno}"
        if isinstance(node, ast.FunctionDef):
            assert node.name.strip("_") not in ("found", "told", "one", "made", "said"), f"line {node.lineno}"


@cache
def signatures():
    """Names of our functions and classes, those apart that take any number of arguments, and kernels."""
    known, exempt = set(), {"add_table"}  # as python-pptx has it
    for path in OURS:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                known.add(node.name)
                several = isinstance(node, ast.FunctionDef) and node.args.vararg is not None
                exempt |= {node.name} if several or "kernels" in path.parts else set()
    return known - exempt


@each([path for path in OURS if "kernels" not in path.parts])
def test_arguments_are_named_where_they_are_many(path):
    for node in nodes(path):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in signatures():
            assert len(node.args) <= 5, f"line {node.lineno}: {ast.unparse(node)[:80]}"


@each(LIBRARY)
def test_only_the_losses_know_one_loss_from_another(path):
    if place(path) in ("gamcore/kernels/losses.py", "gamcore/model/losses.py", "gamcore/model/power_losses.py"):
        return
    names = {loss.name for loss in LOSSES.values()}
    for node in nodes(path):
        if isinstance(node, ast.Compare):
            words = ast.unparse(node)
            assert not {name.upper() for name in names} & set(words.replace(".", " ").split()), words
            assert not any(f"'{name}'" in words for name in names), words


PRESSED = {"retrain_button", "downloads", "sharing", "find"}
"""Rooms whose own `button` gives its key to the one that it draws."""
SEEN = {"plotly_chart", "dataframe", "data_editor", "image", "altair_chart"}


@each([*UI, *PAGES])
def test_what_pages_ask_for_often_is_not_cached_for_a_time(path):
    """Streamlit fails with a KeyError where a value expires between its look and its take, which a page meets
    that asks a hundred times for what lasts a second."""
    for node in nodes(path):
        if isinstance(node, ast.keyword) and node.arg == "ttl" and isinstance(node.value, ast.Constant):
            assert node.value.value >= 15


@each([*UI, *PAGES])
def test_charts_tables_and_pictures_have_a_text_alternative(path):
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEEN:
            assert {"alt", None} & {word.arg for word in node.keywords}, f"line {node.lineno}: {node.func.attr}"


@each([*UI, *PAGES])
def test_a_button_whose_words_change_has_a_key(path):
    """Else its words are what it is known by, and a press is lost where they have changed since it was drawn."""
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "button":
            words = [*node.args[:1], *(word.value for word in node.keywords if word.arg in ("help", "type", "icon"))]
            known = any(word.arg == "key" for word in node.keywords) or ast.unparse(node.func.value) in PRESSED
            assert known or all(isinstance(word, ast.Constant) for word in words), f"line {node.lineno}"


@each([*UI, *PAGES])
def test_a_dialog_is_one_that_the_page_waits_for(path):
    """Streamlit's own is closed by the next run of the page, which a timer may ask for."""
    if path.name != "dialogs.py":
        for node in nodes(path):
            assert not (isinstance(node, ast.Attribute) and ast.unparse(node) == "st.dialog"), f"line {node.lineno}"


@each(TESTS)
def test_no_test_imports_another(path):
    for name in imports(path):
        assert not name.startswith("tests.") or name.startswith("tests.support"), name
        assert not name.startswith("benchmarks"), f"{name}: what both need is in tests/support"


@each(BENCHMARKS)
def test_benchmarks_draw_and_fit_nothing_when_imported(path):
    for statement in tree_of(path).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            for node in ast.walk(statement.value):
                if isinstance(node, ast.Call):
                    assert not {"fit", "default_rng", "code", "read_parquet"} & set(ast.unparse(node.func).split("."))


def test_importing_the_library_writes_nothing(tmp_path):
    environment = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": ""}
    code = "import sys; sys.dont_write_bytecode = True; import gamcore; gamcore.PRESETS; dir(gamcore)"
    subprocess.run([sys.executable, "-B", "-c", code], check=True, cwd=ROOT, env=environment)
    assert list(tmp_path.iterdir()) == []


def test_pages_are_named_as_their_urls():
    scripts = {path.stem for path in (ROOT / "pages").glob("*.py")} - {"__init__"}
    assert scripts == {
        "people", "home", "data", "train", "models", "overview", "shapes", "pairs", "rows", "compare", "tasks",
        "strategies", "experiment", "report",
    }  # fmt: skip


@pytest.mark.parametrize(
    "what", ["import gamcore", "from gamcore import GAMClassifier, MultiTaskTreesClassifier, PRESETS"]
)
def test_the_library_comes_without_screen_files_and_records(what):
    unwanted = ("streamlit", "plotly", "matplotlib", "sqlalchemy", "statsmodels", "pptx", "shapewise")
    code = f"import sys; {what}; print([name for name in {unwanted} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("entry", ["shapewise.ingest.child", "shapewise.ui.session.deployment"])
def test_what_comes_first_comes_without_the_library_s_core(entry):
    """A second and 150 MB that a reader has no use for, and in which a first visitor would see a blank page."""
    code = f"import sys, {entry}; print([n for n in ('numba', 'sklearn', 'scipy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_a_process_that_the_app_spawns_starts_no_server():
    """A spawned process runs its parent's main script under another name."""
    code = "import runpy; runpy.run_path('app.py', run_name='__mp_main__')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=120)


GATES = {"gamcore/data/columns.py", "gamcore/data/table.py", "gamcore/data/targets.py"}
"""Where data comes in: columns of a table, and targets, which are not part of one."""


@each(OURS)
def test_kinds_are_inferred_at_the_gate(path):
    tree = tree_of(path)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert place(path) in GATES or "kind_of" not in names


WRITES_NUMBERS = {
    "gamcore/common/numbers.py",
    "gamcore/decide/rules.py",  # rounds a number by writing it
    "gamcore/decide/rules_code.py",  # source code
    "gamcore/viz/files/pptx_xml.py",  # XML
    "gamcore/viz/palette.py",  # CSS
    "gamcore/viz/svg/axes.py",  # coordinates
    "gamcore/viz/svg/marks.py",
    "gamcore/viz/svg/picture.py",
    "shapewise/jobs/scheduler.py",  # the name of a process
    "shapewise/training/partitions.py",  # names of levels, which have to come back as the same number
}
"""Everything else leaves numbers to `gamcore.common.numbers`, or to the formats of tables below."""

NUMBER_FORMATS = {"gamcore/estimators/additive_parameters.py", "gamcore/estimators/multitask_parameters.py",
                  "shapewise/ui/widgets/columns.py"}  # fmt: skip
NUMBER_SPEC = re.compile(r"[,_]|[eEfFgGn%]$|^[+ ]")
PRINTF = re.compile(r"%[-+ ]*\d*(\.\d+)?[defg]")


@each(OURS)
def test_one_module_writes_numbers(path):
    for node in nodes(path):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = "".join(part.value for part in node.format_spec.values if isinstance(part, ast.Constant))
            assert place(path) in WRITES_NUMBERS or not NUMBER_SPEC.search(spec), f"line {node.lineno}: {spec}"
        if isinstance(node, ast.Call):
            forms = [ast.unparse(word.value) for word in node.keywords if word.arg == "format"]
            written = [form for form in forms if PRINTF.search(form) or form in ("'percent'", "'localized'")]
            draws = place(path).startswith("gamcore/viz/") or "plots" in (path.parent.name, path.stem)
            drawn = draws or place(path) in NUMBER_FORMATS
            assert drawn or not written, f"line {node.lineno}: {written}"
