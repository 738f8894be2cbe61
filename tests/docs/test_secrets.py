"""Where people write their secrets stays out of git and out of the image."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.places import ROOT

SECRETS = [".streamlit/secrets.toml", "shapewise.env", "docs/deploy/shapewise.env", ".env", "docs/deploy/tls/key.pem",
           "shapewise/.streamlit/secrets.toml"]  # fmt: skip


@pytest.mark.parametrize("path", SECRETS)
def test_git_ignores_what_holds_secrets(path):
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    done = subprocess.run(["git", "check-ignore", "--quiet", path], cwd=ROOT, check=False)
    assert done.returncode == 0


def is_in_image(path):
    """Whether Docker copies a path: the last pattern that fits it, or a folder of it, decides."""
    kept = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip().removeprefix("!").strip("/")
        if not pattern or line.startswith("#"):
            continue
        inside = "(.*/)?" if pattern.startswith("**/") else ""
        words = re.escape(pattern.removeprefix("**/")).replace(r"\*", "[^/]*")
        if re.fullmatch(rf"{inside}{words}(/.*)?", path):
            kept = line.startswith("!")
    return kept


@pytest.mark.parametrize("path", [*SECRETS, ".git/config", "notes.txt", "backup/meta.sqlite", "gamcore/local.env",
                                  "tests/conftest.py", "key.pem", "shapewise/__pycache__/x.pyc"])  # fmt: skip
def test_the_image_has_nothing_but_what_it_is_made_of(path):
    assert not is_in_image(path)


def test_the_image_has_what_it_is_made_of():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    tops = ("gamcore/", "shapewise/", "pages/", "sample_data/")
    needed = [path for path in listed if path.startswith(tops)]
    needed += ["app.py", "pyproject.toml", "constraints.txt", "README.md", "LICENSE", ".streamlit/config.toml"]
    assert len(needed) > 6 or not listed
    assert [path for path in needed if not is_in_image(path)] == []
