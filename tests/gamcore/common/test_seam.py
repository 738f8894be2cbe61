"""A core knows what stands beside it by looking, and runs nothing of it until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gamcore
from gamcore.common.seam import ADDITIONS, Additions
from tests.support.places import ROOT


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """Two additions, one that declares a number and one that declares texts, beside what is no addition."""
    for name, declaration in (("first", "NUMBER = 3\nlower = 4"), ("second", "WORD = 'four'\nOTHER = 'five'")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f'"""A."""\n\n__all__ = ["{name}_name", "Other{name}"]\n')
        (tmp_path / name / "addition.py").write_text(declaration)
    (tmp_path / "third.py").write_text("")
    package = type(sys)(f"{tmp_path.name}_additions")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, package.__name__, package)
    return Additions(tmp_path, package.__name__)


def test_additions_are_the_folders_that_are_there(beside):
    assert beside.names == ("first", "second")
    assert beside.public_names == {
        "first_name": "first", "Otherfirst": "first", "second_name": "second", "Othersecond": "second",
    }  # fmt: skip
    assert not [name for name in sys.modules if name.startswith(f"{beside.package}.")]


def test_additions_declare_by_class(beside):
    assert beside.declared(int) == [3]
    assert beside.declared(str)[-2:] == ["four", "five"]
    assert beside.declared_by("second", str) == ["four", "five"]
    assert beside.declared_by("first", float) == []
    assert beside.declared_by("absent", int) == []


def test_every_public_name_of_an_addition_is_one_of_the_library():
    for name, addition in ADDITIONS.public_names.items():
        assert name in dir(gamcore)
        assert getattr(gamcore, name) is getattr(sys.modules[f"gamcore.additions.{addition}"], name)
    assert not set(ADDITIONS.public_names) & set(gamcore.__all__)


def test_names_of_additions_are_listed_without_loading_them():
    code = "import sys, gamcore; dir(gamcore); print([n for n in sys.modules if n.startswith('gamcore.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['gamcore.common', 'gamcore.common.version', 'gamcore.common.seam']"


def test_a_name_that_nobody_has_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'nobody_has'"):
        gamcore.nobody_has  # noqa: B018
