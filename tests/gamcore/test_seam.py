"""The core knows what stands beside it by looking, and runs nothing of it until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gamcore
from gamcore import seam
from tests.support.places import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of additions: one that declares a number, one that declares nothing, and what is no addition."""
    for name, declaration in (("first", "NUMBER = 3"), ("second", "WORD = 'four'")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f'"""A."""\n\n__all__ = ["{name}_name", "Other{name}"]\n')
        (tmp_path / name / "addition.py").write_text(declaration)
    (tmp_path / "third.py").write_text("")
    monkeypatch.setattr(seam, "FOLDER", tmp_path)
    monkeypatch.setattr(seam, "PACKAGE", f"{tmp_path.name}_additions")
    package = type(sys)(seam.PACKAGE)
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, seam.PACKAGE, package)
    for cached in (seam.additions, seam.public_names):
        cached.cache_clear()
    yield tmp_path
    for cached in (seam.additions, seam.public_names):
        cached.cache_clear()


def test_additions_are_the_folders_that_are_there(folder):
    assert seam.additions() == ("first", "second")
    assert seam.public_names() == {
        "first_name": "first", "Otherfirst": "first", "second_name": "second", "Othersecond": "second",
    }  # fmt: skip
    assert not [name for name in sys.modules if name.startswith(f"{seam.PACKAGE}.")]


def test_additions_declare_by_class(folder):
    assert seam.declared(int) == {"first": 3}
    assert seam.declared_by("second", str) == "four"
    assert seam.declared_by("first", float) is None
    assert seam.declared_by("absent", int) is None


def test_every_public_name_of_an_addition_is_one_of_the_library():
    for name, addition in seam.public_names().items():
        assert name in dir(gamcore)
        assert getattr(gamcore, name) is getattr(sys.modules[f"gamcore.additions.{addition}"], name)
    assert not set(seam.public_names()) & set(gamcore.__all__)


def test_names_of_additions_are_listed_without_loading_them():
    code = "import sys, gamcore; dir(gamcore); print([n for n in sys.modules if n.startswith('gamcore.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['gamcore.seam']"


def test_a_name_that_nobody_has_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'nobody_has'"):
        gamcore.nobody_has  # noqa: B018
