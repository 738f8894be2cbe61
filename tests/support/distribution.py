"""The distribution as it would be published, and an environment away from the checkout that it is installed in."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.places import ROOT

BUILD = "import sys, {0} as backend; print(getattr(backend, sys.argv[1])(sys.argv[2]))"


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Builder:
    """The build backend that pyproject.toml asks for, fetched into a folder. Skips where there is no network."""

    def __init__(self, folder: Path) -> None:
        asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
        fetched = _pip("install", "--target", str(folder), *asked["requires"])
        if fetched.returncode and os.environ.get("CI") != "true":
            pytest.skip(f"The build backend cannot be fetched: {fetched.stderr.strip().splitlines()[-1]}")
        assert fetched.returncode == 0, fetched.stderr
        self._code, self._environment = BUILD.format(asked["build-backend"]), {"PYTHONPATH": str(folder)}

    def build(self, kind: str, tree: Path, into: Path) -> Path:
        """Build a `wheel` or an `sdist` of a tree into a folder; return its path."""
        command = [sys.executable, "-c", self._code, f"build_{kind}", str(into)]
        environment = {**os.environ, **self._environment}
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return into / done.stdout.split()[-1]


def contents(wheel: Path) -> dict[str, int]:
    """Return the checksum of each file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def unpacked(sdist: Path, into: Path) -> Path:
    """Unpack an sdist; return the folder that it holds."""
    with tarfile.open(sdist) as archive:
        archive.extractall(into, filter="data")
    (folder,) = into.iterdir()
    return folder


class Environment:
    """A new virtual environment with a wheel and nothing else."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, symlinks=True)
        self.command = folder / "bin" / "shapewise"
        (self.packages,) = folder.glob("lib/python*/site-packages")
        python = str(folder / "bin" / "python")
        done = _pip("--python", python, "install", "--no-deps", "--no-index", str(wheel))
        assert done.returncode == 0, done.stderr

    def lend_dependencies(self) -> None:
        """Let it find the libraries of the running environment, after its own."""
        (self.packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command `shapewise` in its folder, away from the checkout."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command, place = [str(self.command), *arguments], self.packages
        return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)

    def files(self) -> dict[str, int]:
        """Return when each of its installed files was last changed."""
        return {str(path): path.stat().st_mtime_ns for path in self.packages.rglob("*") if path.is_file()}
