"""A faulty kernel cache costs a compilation, never an exception."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys

import numba
import pytest

from gamcore.kernels import cache
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

CODE = """
import numpy as np
from gamcore.kernels import histogram
total = np.zeros(4)
histogram.combine(np.ones((3, 4)), np.arange(3), 4, total)
print(total.tolist(), sum(histogram.combine.stats.cache_hits.values()))
"""


def begin(folder, place=ROOT, **settings):
    env = {**os.environ, "GAMCORE_CACHE_DIR": str(folder), "PYTHONPATH": str(place), **settings}
    return subprocess.Popen(
        [sys.executable, "-c", CODE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=place
    )


def end(process):
    """How often a process found the kernel in its cache, and what it said."""
    out, said = process.communicate()
    assert process.returncode == 0, said
    assert "[3.0, 3.0, 3.0, 3.0]" in out
    return int(out.split()[-1]), said


def run(folder, place=ROOT, **settings):
    return end(begin(folder, place, **settings))


def files(folder, suffix):
    return [path for path in folder.rglob(f"*{suffix}") if "combine" in path.name]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder in which a process has kept the kernel that it compiled."""
    folder = tmp_path_factory.mktemp("compiled")
    assert run(folder)[0] == 0
    return folder


def test_kernels_are_kept_privately_and_found_again(compiled):
    assert run(compiled)[0] == 1
    (folder,) = (compiled / "kernels").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_of_processes_that_begin_together_one_compiles(tmp_path):
    assert sorted(end(one)[0] for one in [begin(tmp_path), begin(tmp_path)]) == [0, 1]


def test_another_environment_finds_what_one_has_compiled(compiled, tmp_path):
    """An app that is installed anew, or run by a tool that makes an environment each time, compiles nothing."""
    shutil.copytree(ROOT / "gamcore", tmp_path / "elsewhere" / "gamcore", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(compiled, place=tmp_path / "elsewhere")[0] == 1


def test_kernels_that_check_their_indices_are_kept_apart(compiled, tmp_path):
    folder = shutil.copytree(compiled, tmp_path / "shared")
    assert run(folder, NUMBA_BOUNDSCHECK="1")[0] == 0
    assert run(folder, NUMBA_BOUNDSCHECK="1")[0] == 1
    assert run(folder)[0] == 1


@pytest.mark.parametrize("setting", cache.SETTINGS)
def test_each_setting_that_changes_the_code_has_a_folder_of_its_own(setting, tmp_path, monkeypatch):
    monkeypatch.setenv("GAMCORE_CACHE_DIR", str(tmp_path))
    before = cache.cache_folder("parts")
    monkeypatch.setattr(numba.config, setting, 2)  # none has this by default
    assert cache.cache_folder("parts") != before
    monkeypatch.undo()
    monkeypatch.setenv("GAMCORE_CACHE_DIR", str(tmp_path))
    assert cache.cache_folder("parts") == before


@pytest.mark.parametrize(
    ("suffix", "content"), [(".nbc", b""), (".nbc", b"\x80garbage"), (".nbi", b""), (".nbi", b"x" * 50)]
)
def test_damaged_files_are_compiled_over(compiled, tmp_path, suffix, content):
    folder = shutil.copytree(compiled, tmp_path / "damaged")
    for path in files(folder, suffix):
        path.write_bytes(content)
    hits, said = run(folder)
    assert hits == 0
    assert said.count("kernel cache") <= 2
    assert run(folder)[0] == 1


def test_no_place_to_keep_them(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    hits, said = run(tmp_path / "file")
    assert hits == 0
    assert "not kept" in said
