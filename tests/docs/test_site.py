"""The documentation site is built without a warning, loads nothing from elsewhere, and has every public name."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import subprocess
import sys

import pytest

import gamcore
from gamcore.common.seam import ADDITIONS
from tests.support.pages_of_docs import DOCS, name
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

LOADED = re.compile(r"""<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//|<link[^>]*\bhref="(?:https?:)?//""")
FROM_STYLES = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
ESTIMATORS = ("GAMClassifier", "GAMRegressor", "MultiTaskTreesClassifier", "MultiTaskTreesRegressor")
FOR_US = {
    "additive_model", "boosting_parameters",
}  # fmt: skip
"""Methods that the application and the estimators themselves call."""

TOP = sorted(ROOT.glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    lacking = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
    if lacking and os.environ.get("CI") != "true":
        pytest.skip(f'The site needs {", ".join(lacking)}: pip install -e ".[docs]"')
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_public_name_has_its_place(site):
    api = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    for public in gamcore.__all__:
        assert f'id="gamcore.{public}"' in api, public
    for public, addition in ADDITIONS.public_names.items():
        assert f'id="gamcore.additions.{addition}.{public}"' in api, public


def test_every_method_of_an_estimator_has_its_place(site):
    api = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    for model in ESTIMATORS:
        estimator = getattr(gamcore, model)
        ours = {method for cls in estimator.__mro__ if cls.__module__.startswith("gamcore") for method in vars(cls)}
        for method in ours - FOR_US:
            public = not re.match("_|set_.*_request", method) and inspect.isfunction(getattr(estimator, method))
            assert not public or f'id="gamcore.{model}.{method}"' in api, f"{model}.{method}"


def test_nothing_is_loaded_from_elsewhere(site):
    for page in site.rglob("*.html"):
        assert not LOADED.search(page.read_text(encoding="utf-8")), page.relative_to(site)
    for style in site.rglob("*.css"):
        assert not FROM_STYLES.search(style.read_text(encoding="utf-8")), style.relative_to(site)


@pytest.mark.parametrize("page", TOP, ids=name)
def test_links_of_the_pages_beside_it_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_pages_named_in_the_code_exist():
    for folder in ("gamcore", "shapewise", "pages", "benchmarks", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for mentioned in re.findall(r"docs/[\w/-]+\.(?:md|py)", path.read_text(encoding="utf-8")):
                assert (ROOT / mentioned).exists() or path == DOCS / "test_site.py", f"{name(path)}: {mentioned}"


def test_pictures_are_small_and_there_in_both_themes():
    pictures = {path.stem: path for path in (DOCS / "pictures").glob("*.webp")}
    assert pictures
    for stem, path in pictures.items():
        theme = "dark" if stem.endswith("-light") else "light"
        assert f"{stem.rpartition('-')[0]}-{theme}" in pictures
        assert path.stat().st_size < 100_000
