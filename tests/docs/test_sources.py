"""The page of the sources names files that exist and commands that run."""

from __future__ import annotations

import re

import pytest

from tests.support.forks import Program, failures
from tests.support.pages_of_docs import DOCS
from tests.support.places import ROOT

PAGE = (DOCS / "method" / "sources.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not re.match(r"\| claim|\|-", line)]
COMMANDS = sorted(set(re.findall(r"`(benchmarks(?:\.\w+)+)`", PAGE)))


def test_each_line_names_its_code_and_what_was_measured():
    assert len(ROWS) > 35
    for row in ROWS:
        claim, code, measured, command = (cell.strip() for cell in row.strip("|").split(" |"))
        paths = re.findall(r"`([\w./]+/[\w./]+)`", row)
        assert claim, row
        assert measured, row
        assert re.fullmatch(r"`(benchmarks|pytest)[^`]+`", command), row
        assert "`" in code, row
        assert paths, row
        for path in paths:
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize(("file", "words"), sorted(set(re.findall(r"`pytest (\S+) -k (\w+)`", PAGE))))
def test_each_test_that_is_named_is_there(file, words):
    assert re.search(rf"^def test_\w*{words}", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


HELP = """
import io, runpy, sys
from contextlib import redirect_stdout, suppress

with redirect_stdout(io.StringIO()) as printed, suppress(SystemExit):
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
assert "usage" in printed.getvalue()
"""


@pytest.mark.slow
def test_each_command_says_what_it_needs():
    programs = [Program(command, HELP, str(ROOT), ("--help",)) for command in COMMANDS]
    assert failures(programs, ["gamcore", "sklearn.datasets", "sklearn.ensemble", "sklearn.linear_model"]) == {}
