"""What README and the documentation show as code runs: Python is run, commands exist."""

from __future__ import annotations

import importlib.util
import re
import runpy
import shutil
import sys
import tomllib

import pytest

from tests.support.pages_of_docs import DOCS, EXAMPLES, PAGES, blocks, name
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

ELSEWHERE = {"docker", "openssl", "uvx"}
"""Commands that are not ours, and need not be on this machine."""


@pytest.fixture
def beside_samples(tmp_path, monkeypatch):
    """A folder with the sample tables, as code in a clone finds them."""
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)


NOTEBOOK = DOCS / "guides" / "notebooks.md"
"""Is run as a notebook by its own test."""


@pytest.mark.parametrize("page", [page for page in PAGES if page != NOTEBOOK and blocks(page, "python")], ids=name)
@pytest.mark.usefixtures("beside_samples")
def test_blocks_of_a_page_run_in_their_order(page):
    namespace = {"__name__": "__main__"}
    for line, code in blocks(page, "python"):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)  # with the page's own line numbers


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
@pytest.mark.usefixtures("beside_samples")
def test_an_example_runs(example, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_examples_are_ten_short_programs_all_shown():
    shown = (ROOT / "docs" / "examples" / "index.md").read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 10
    for example in EXAMPLES:
        assert example.read_text(encoding="utf-8").count("\n") < 70, example.name
        assert f'\n--8<-- "examples/{example.name}"\n' in shown


def commands(code):
    """Return the commands of a shell block as lists of words, variables that are set for them left out."""
    for line in code.replace("\\\n", " ").splitlines():
        for command in re.split(r"&&|\|", line.partition("#")[0]):
            words = command.split()
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words.pop(0)
            if words:
                yield words


def exists(words):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = set(project.get("scripts", {}))
    command, *rest = words
    if command == "python" and rest[:1] == ["-m"]:
        return importlib.util.find_spec(rest[1]) is not None or rest[1] == "mkdocs"
    if command == "python":
        return (ROOT / rest[0]).is_file()
    if command == "pip":
        extras = re.findall(r"\[(.+?)\]", " ".join(rest))
        return all(extra in project["optional-dependencies"] for some in extras for extra in some.split(","))
    ours = {re.match(r"[\w-]+", text)[0] for extra in project["optional-dependencies"].values() for text in extra}
    return command in own | ours | ELSEWHERE or shutil.which(command) is not None


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh", "bash")], ids=name)
def test_commands_exist(page):
    for line, code in blocks(page, "sh", "bash"):
        for words in commands(code):
            assert exists(words), f"line {line}: {' '.join(words)}"
