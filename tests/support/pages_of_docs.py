"""The pages of the documentation, and the blocks of code on them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from tests.support.places import ROOT

DOCS = ROOT / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^(?P<margin> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=margin)```", re.MULTILINE | re.DOTALL)


def name(path: Path) -> str:
    """Return the path of a page from the top of the repository."""
    return path.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> list[tuple[int, str]]:
    """Return the fenced blocks of a page in some languages, each with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, block.start("code")) + 1, textwrap.dedent(block["code"]))
        for block in BLOCK.finditer(text)
        if block["language"] in languages and "--8<--" not in block["code"]
    ]
