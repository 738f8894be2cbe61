"""The page of the sources names files that exist and commands that run."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.pages_of_docs import DOCS
from tests.support.places import ROOT

PAGE = (DOCS / "method" / "sources.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not re.match(r"\| claim|\|-", line)]
COMMANDS = sorted(set(re.findall(r"`(benchmarks(?:\.\w+)+)`", PAGE)))


def test_each_line_names_its_code_and_what_was_measured():
    assert len(ROWS) > 35
    for row in ROWS:
        claim, code, measured, _ = (cell.strip() for cell in row.strip("|").split(" |"))
        paths = re.findall(r"`([\w./]+/[\w./]+)`", row)
        assert claim, row
        assert measured, row
        assert "`" in code, row
        assert paths, row
        for path in paths:
            assert (ROOT / path).exists(), path


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_it_needs(command):
    done = subprocess.run(
        [sys.executable, "-m", command, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout
