"""Files of every earlier schema open and predict as before; files of later schemas open where they can."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gamcore import ModelFileError, predict_interval
from gamcore.estimators.base import to_saved
from gamcore.estimators.saved import from_saved
from gamcore.io import gamx
from gamcore.io.gamx import SCHEMA, from_bytes, to_bytes
from gamcore.io.manifest_intervals import OPTIONAL
from gamcore.model.losses import LOSSES
from tests.support import golden
from tests.support.golden.make import additive, multitask
from tests.support.mutants import npy, pack, put_together, take_apart

pytestmark = pytest.mark.slow

NAME = "1.3-classifier-pairs"


def asked_of(name):
    """Return the arguments to predict `probe` besides its rows."""
    rows = len(golden.probe())
    return {"task": np.resize(np.array(golden.TASKS, object), rows)} if "multitask" in name else {}


def answers(model, name):
    ask = model.decision_function if "classifier" in name else model.predict
    return np.asarray(ask(golden.probe(), **asked_of(name)))


@pytest.mark.parametrize("name", golden.NAMES)
def test_a_file_says_what_it_said(name):
    data = golden.read(name)
    assert take_apart(data)[0]["schema"] == [int(part) for part in name.split("-")[0].split(".")]
    model = from_saved(from_bytes(data))
    said = golden.scores(name)
    assert answers(model, name).tobytes() == said.tobytes()
    if "classifier" in name:  # the logistic function is the machine's, so in its last digits it may differ
        chance = model.predict_proba(golden.probe(), **asked_of(name))
        np.testing.assert_allclose(chance[:, 1], LOSSES["logistic"].inverse_link(said), rtol=1e-14)
    again = from_saved(from_bytes(to_bytes(to_saved(model))))
    assert answers(again, name).tobytes() == said.tobytes()


def test_every_schema_and_kind_is_there():
    kinds = {}
    for name in golden.NAMES:
        schema, kind = name.split("-", 1)
        kinds.setdefault(schema, set()).add(kind)
    one = {"regressor", "classifier"}
    pairs = one | {f"{kind}-pairs" for kind in one}
    tasks = pairs | {f"multitask-{kind}" for kind in one}
    bands = tasks | {f"{kind}-bands" for kind in pairs}
    assert kinds == {"1.0": one, "1.1": pairs, "1.2": tasks, "1.3": bands | {"regressor-intervals"}}
    assert f"{SCHEMA[0]}.{SCHEMA[1]}" in kinds, "a new schema needs golden files: python -m tests.support.golden.make"
    assert all((golden.FOLDER / f"{name}.gamx.gz").stat().st_size < 20_000 for name in golden.NAMES)


def test_golden_files_are_what_this_version_writes():
    """Fields, members and shapes are the same, but for members that readers may leave out, so that a change of what is
    written requires a new schema."""
    made = next(iter(additive())), next(multitask())
    for kind, model, _ in made:
        manifest, members = take_apart(to_bytes(to_saved(model)))
        before, held = take_apart(golden.read(f"{SCHEMA[0]}.{SCHEMA[1]}-{kind}"))
        optional = manifest.pop("optional", [])
        assert set(optional) <= {"arrays/beside.npy"}
        assert list(manifest) == [field for field in before if field != "optional"]
        assert [member for member in members if member not in optional] == list(held)
        assert list(manifest["features"][0]) == list(before["features"][0])
        assert manifest["features"][2]["levels"] == before["features"][2]["levels"]


def test_a_reader_that_knows_no_intervals_still_predicts(monkeypatch):
    """Version 1.3 had readers before it had intervals."""
    name = "1.3-regressor-intervals"
    known = from_saved(from_bytes(golden.read(name)))
    ends = predict_interval(known, golden.probe(), 0.8)
    assert (ends[:, 0] < answers(known, name)).all()
    assert (answers(known, name) < ends[:, 1]).all()
    before = frozenset(named for named in gamx.UNDERSTOOD if named not in OPTIONAL)
    monkeypatch.setattr(gamx, "UNDERSTOOD", before)
    monkeypatch.setattr(gamx, "CONTENTS", (*gamx.ADDITIVE, gamx.TASK_MEMBERS))
    model = from_saved(from_bytes(golden.read(name)))
    assert model.model_.intervals is None
    assert answers(model, name).tobytes() == golden.scores(name).tobytes()


# Later schemas


def later(schema=(1, 9), members=None, **fields):
    """Make a golden file as a later version may write it."""
    manifest, held = take_apart(golden.read(NAME))
    added = {name: npy(np.arange(3.0)) for name in members or ()}
    return put_together({**manifest, "schema": list(schema), **fields}, {**held, **added})


@pytest.mark.parametrize(
    "data",
    [
        later(),
        later(colours={"a": [1, 2]}),
        later(optional=["colours"], colours=[]),
        later(members=["arrays/knots.npy"], optional=["arrays/knots.npy"]),
        later(members=["thumbnail.png", "arrays/knots.npy"], optional=["arrays/knots.npy", "thumbnail.png"]),
        later(required=["pairs", "arrays/surfaces.npy"]),
        later((1, 3), required=["pairs"]),
    ],
)
def test_what_a_later_minor_calls_optional_is_passed_over(data):
    assert answers(from_saved(from_bytes(data)), NAME).tobytes() == golden.scores(NAME).tobytes()


@pytest.mark.parametrize(
    ("data", "schema"),
    [
        (later(required=["splines"]), "1.9"),
        (later((1, 4), required=["pairs", "arrays/knots.npy"], members=["arrays/knots.npy"]), "1.4"),
        (later((1, 12), members=["arrays/knots.npy"]), "1.12"),
        (later((1, 9), kind="ranker"), "1.9"),
        (later((1, 9), loss="poisson"), "1.9"),
        (later((1, 3), required=["splines"]), "1.3"),
        (later((2, 0)), "2.0"),
        (later((2, 0), required=["splines"], optional=["x"]), "2.0"),
    ],
)
def test_what_a_later_schema_requires_is_refused_with_that_schema(data, schema):
    with pytest.raises(
        ModelFileError, match=rf"schema {schema}\b.* (gamcore that reads {schema}|update gamcore)"
    ) as error:
        from_bytes(data)
    assert str(error.value).count(". ") == 0


@pytest.mark.parametrize("field", ["required", "optional"])
@pytest.mark.parametrize("told", ["pairs", [1], {"pairs": 1}, None, [["pairs"]]])
def test_requirements_that_are_no_list_of_names_are_refused(field, told):
    with pytest.raises(ModelFileError, match="not a list of names"):
        from_bytes(later(**{field: told}))


def test_optional_takes_nothing_away():
    """Members that this version needs stay required even if marked optional, and unlisted members are refused."""
    data = later(optional=["manifest.json", "arrays/surfaces.npy", "pairs"])
    assert len(from_bytes(data).model.pairs) == 1
    with pytest.raises(ModelFileError, match="damaged: its members"):
        from_bytes(later((1, 3), members=["arrays/knots.npy"]))
    manifest, held = take_apart(golden.read(NAME))
    del held["arrays/surfaces.npy"]
    told = json.dumps({**manifest, "schema": [1, 9], "optional": ["arrays/surfaces.npy"]}).encode()
    with pytest.raises(ModelFileError, match=r"other members"):
        from_bytes(pack([("manifest.json", told), *held.items()]))
