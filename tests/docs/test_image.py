"""The image: pinned at a release, and built where there is a builder."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.support.places import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
BASE = re.compile(r"^ARG BASE=(\S+)$", re.MULTILINE)
DIGEST = re.compile(r"[\w./:-]+@sha256:[0-9a-f]{64}")
RELEASED = re.compile(r"^## \[\d+\.\d+\.\d+\] - (.+)$", re.MULTILINE)


def is_pinned(dockerfile):
    """Whether every image that a Dockerfile starts from is named by its digest."""
    bases = dict(re.findall(r"^ARG (\w+)=(\S+)$", dockerfile, re.MULTILINE))
    starts = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    named = [bases.get(start.strip("${}"), start) for start in starts]
    return bool(named) and all(DIGEST.fullmatch(one) for one in named)


def test_a_release_names_its_base_by_digest():
    """Between releases the newest base of its tag is meant; a section with a date is a release."""
    first = RELEASED.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert first is not None
    assert first[1] == "unreleased" or is_pinned(DOCKERFILE)
    pinned = BASE.sub(f"ARG BASE=python@sha256:{'0' * 64}", DOCKERFILE)
    assert is_pinned(pinned)
    assert not is_pinned(BASE.sub("ARG BASE=python:3.13-slim", DOCKERFILE))


def test_releasing_audits_what_is_pinned_and_pins_the_image():
    steps = (ROOT / "docs" / "contribute" / "releasing.md").read_text(encoding="utf-8")
    audit = re.search(r"pip-audit --no-deps --disable-pip --requirement\s+(\S+?)`", steps)
    assert audit is not None
    pins = (ROOT / audit[1]).read_text(encoding="utf-8").splitlines()
    assert all("==" in line for line in pins if line.strip() and not line.startswith("#"))
    assert "ARG BASE=" in steps
    assert [int(number) for number in re.findall(r"^(\d+)\. ", steps, re.MULTILINE)] == list(range(1, 14))


def builder():
    """A program that builds images here; None where there is none, or nobody answers it."""
    for name in ("docker", "podman", "buildah"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


@pytest.mark.slow
def test_the_image_is_built_holds_no_secret_and_refuses_to_start_unset(tmp_path):
    program = builder()
    if program is None:
        pytest.skip("there is no builder of images here")
    tag = f"shapewise-test-{tmp_path.name}"
    subprocess.run([program, "build", "--tag", tag, str(ROOT)], check=True, timeout=1800)
    try:
        listed = subprocess.run([program, "run", "--rm", tag, "sh", "-c", "id -u; ls -A /app /app/.streamlit"],
                                capture_output=True, text=True, check=True, timeout=300).stdout  # fmt: skip
        assert listed.startswith("10001\n")
        assert not {"secrets.toml", ".git", "tests", "shapewise.env"} & set(listed.split())
        started = subprocess.run([program, "run", "--rm", tag], capture_output=True, check=False, timeout=300)
        assert started.returncode == 2  # nobody could sign in
    finally:
        subprocess.run([program, "rmi", "--force", tag], check=False)
