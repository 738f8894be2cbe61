"""Read public files whose right cells are known: `python -m benchmarks.files --doc docs/benchmarks/files.md`.

Packages are fetched by name and version, by the clients of their registries, into the cache; nothing of them is in the
project but facts about their tables (`benchmarks/files/expected`). One that cannot be had is left out, with a word."""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

import chardet
import pandas as pd

from benchmarks.files.expected import Expected, expected
from benchmarks.files.judge import OUTCOMES, RIGHT, Verdict, verdict
from benchmarks.files.readers import READERS, read, takes
from benchmarks.files.sources import SOURCES
from benchmarks.harness.page import markdown, publish

MARKS: Final = ("<!-- measured -->", "<!-- /measured -->")


def main() -> None:
    """Judge all readers on all files, print what is wrong, and write the shares on a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "shapewise-files")
    parser.add_argument("--only", nargs="*", default=[], help="packages, or parts of paths")
    parser.add_argument("--readers", nargs="*", default=list(READERS))
    parser.add_argument("--doc", type=Path, help="page that gets the tables")
    asked = parser.parse_args()
    folders = {source.name: source.fetch(asked.cache) for source in SOURCES}
    files = [right for right in expected() if folders.get(right.source)]
    if asked.only:
        files = [right for right in files if any(part in f"{right.source}/{right.path}" for part in asked.only)]
    verdicts = {}
    for right in files:
        folder = folders[right.source]
        assert folder is not None
        path = right.place(folder)
        text = _text(path)
        for reader in filter(lambda name: takes(name, path), asked.readers):
            verdicts[right, reader] = result = verdict(read(reader, path), right, text)
            if result.outcome != RIGHT:
                print(f"{right.source}/{right.path}, {reader}: {result.outcome}: {result.why[:160]}")
    lines = [f"`python -m benchmarks.files`: {len(files)} files", "", *tables(verdicts, asked.readers)]
    publish(lines, asked.doc, MARKS)


def _text(path: Path) -> str:
    """Return the text of a file, in whatever encoding it is; empty for workbooks and Parquet."""
    if path.suffix in (".xlsx", ".parquet", ".feather", ".arrow"):
        return ""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode(chardet.detect(data)["encoding"] or "latin-1", "replace")


def tables(verdicts: dict[tuple[Expected, str], Verdict], readers: list[str]) -> list[str]:
    """Return the shares of each outcome by reader, and the packages with their files, as lines of Markdown."""
    shares = {}
    for reader in readers:
        outcomes = Counter(judged.outcome for (_, name), judged in verdicts.items() if name == reader)
        files = max(outcomes.total(), 1)
        shares[reader] = [
            str(files),
            *(f"{outcomes[outcome]} ({100 * outcomes[outcome] / files:.1f}%)" for outcome in OUTCOMES),
        ]
    counts = Counter(right.source for right, _ in {(right, "") for right, _ in verdicts})
    packages = ", ".join(f"{source.name} {source.version} ({counts[source.name]})" for source in SOURCES)
    return [
        *markdown(pd.DataFrame(shares, index=["files", *OUTCOMES]).T.rename_axis("reader")),
        "",
        f"Files of {packages}.",
    ]


if __name__ == "__main__":
    main()
