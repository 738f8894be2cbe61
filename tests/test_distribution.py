"""What is published: one wheel with the library, the application and its samples, which works away from a checkout."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

import gamcore
from tests.support.distribution import Builder, Environment, contents, unpacked
from tests.support.places import ROOT
from tests.support.serving import Server, settle, sound, window
from tests.support.steps import press

pytestmark = pytest.mark.slow

PRIMARY = "rgb(31, 95, 168)"
"""The theme's primary colour on light pages: Streamlit's own is red."""


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    return Builder(tmp_path_factory.mktemp("backend"))


@pytest.fixture(scope="module")
def wheel(builder, tmp_path_factory):
    return builder.build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("environment") / "v", wheel)


def in_tree(folder, pattern="*"):
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_the_packages_the_app_and_the_samples_and_nothing_else(wheel):
    beside = {"app.py", ".streamlit/config.toml", *in_tree("pages"), *in_tree("sample_data", "*.csv")}
    beside |= in_tree("sample_data", "*.parquet")
    expected = {*in_tree("gamcore"), *in_tree("shapewise"), *(f"shapewise/app/{name}" for name in beside)}
    about = {name for name in contents(wheel) if ".dist-info/" in name}
    assert {*contents(wheel)} - about == expected
    assert wheel.name == f"shapewise-{gamcore.__version__}-py3-none-any.whl"


def test_the_sdist_builds_the_same_wheel(builder, wheel, tmp_path):
    for name in ("sdist", "unpacked", "wheel"):
        (tmp_path / name).mkdir()
    tree = unpacked(builder.build("sdist", ROOT, tmp_path / "sdist"), tmp_path / "unpacked")
    assert contents(builder.build("wheel", tree, tmp_path / "wheel")) == contents(wheel)


def test_without_the_app_the_command_says_what_to_install(environment):
    refused = environment.run()
    assert refused.returncode == 2
    assert refused.stderr == (
        'The application needs sqlalchemy, psutil, streamlit: run pip install "shapewise[app]".\n'
    )
    assert environment.run("--version").stdout == f"Shapewise {gamcore.__version__}\n"


@pytest.mark.browser
def test_the_installed_command_leads_to_a_first_curve(environment, chromium, tmp_path):
    """With the theme and the limits of the checkout, and nothing written where it is installed."""
    environment.lend_dependencies()
    before = environment.files()
    space = tmp_path / "space"
    space.mkdir()
    with sound(Server(space, installed=environment.command)) as server:
        page = window(chromium, base_url=server.ready(), color_scheme="light").new_page()
        page.goto("/")
        settle(page)
        press(page, "Load renewal")
        train = page.get_by_role("button", name="Train on this table")
        train.wait_for()
        assert train.evaluate("element => getComputedStyle(element).backgroundColor") == PRIMARY
        train.click()
        page.get_by_role("button", name="Train", exact=True).wait_for()
        settle(page)
        press(page, "Train")
        press(page, "Read the curves")
        page.wait_for_url("**/shapes?*")
        page.locator(".js-plotly-plot .scatterlayer path.js-line").first.wait_for()
    assert environment.files() == before
    checked = environment.run("check", "--workspace", str(space))
    assert (checked.returncode, checked.stdout) == (0, "The workspace is complete and undamaged.\n")


def test_every_extra_that_a_message_names_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for path in [*(ROOT / "gamcore").rglob("*.py"), *(ROOT / "shapewise").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert "gamcore[" not in text
        assert {*re.findall(r"shapewise\[(\w+)\]", text), *re.findall(r'with extra\("(\w+)"\)', text)} <= {*extras}


def test_the_citation_is_of_this_version_and_names_the_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= {*citation}  # what the format requires
    assert citation["version"] == gamcore.__version__
    for paper in citation["references"]:
        assert paper["type"] == "conference-paper"
        assert {"title", "authors", "year"} <= {*paper}


def test_issue_forms_ask_something():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form["name"]
        ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
        assert len(ids) == len({*ids}) > 0
