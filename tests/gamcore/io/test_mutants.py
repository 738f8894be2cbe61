"""Mutated model files: faults found by opening thousands of them, and 500 more in each run."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore import ModelFileError
from gamcore.estimators.base import to_saved
from gamcore.estimators.saved import from_saved
from gamcore.io.gamx import _check_extent, from_bytes, to_bytes
from tests.support import golden, openers, stuck
from tests.support.mutants import LEVELS, RAW, at_place, change_numbers, mutant, pack, put_together, take_apart

CLASSIFIER, TASKS = "1.3-classifier", "1.3-multitask-classifier"


def changed(name, path, value):
    """Return a golden file with one manifest value changed and correct checksums."""
    manifest, members = take_apart(golden.read(name))
    at_place(manifest, path[:-1])[path[-1]] = value
    return put_together(manifest, members)


def levels_of(value):
    """Return the nesting depth of a value's lists and objects."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(levels_of, inside), default=0)


def most_allocated(data):
    """Return the peak bytes allocated while opening a file that is refused."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            from_bytes(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_golden_files_are_read_without_code():
    """numpy reads the header of an array by evaluating it."""
    from_bytes(golden.read(CLASSIFIER))  # what is imported on first use
    seen = []
    on = [True]
    sys.addaudithook(lambda event, _: seen.append(event) if on[0] and event in ("compile", "exec") else None)
    try:
        for name in golden.NAMES:
            from_bytes(golden.read(name))
    finally:
        on[0] = False
    assert seen == []


@pytest.mark.parametrize("token", ["1e999", "-1e999", '"\\ud800"'])
@pytest.mark.parametrize("path", [("about", "versions", "numpy"), ("classes", 0), ("features", 0, "name")])
def test_what_could_not_be_written_again_is_refused(token, path):
    with pytest.raises(ModelFileError):
        from_bytes(changed(CLASSIFIER, path, RAW + token))


@pytest.mark.parametrize("name", [CLASSIFIER, TASKS])
@pytest.mark.parametrize("classes", [["no", 1], [True, 2], ["1", 1], [0.5, True], [0, 2**64], [-(2**63) - 1, 0]])
def test_classes_of_several_types_are_refused(name, classes):
    with pytest.raises(ModelFileError, match="classes are"):
        from_bytes(changed(name, ("classes",), classes))


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [0, 1], [0.5, 2], [-1, 2**62]])
def test_classes_of_one_type_are_read_and_written(classes):
    model = from_saved(from_bytes(changed(CLASSIFIER, ("classes",), classes)))
    assert model.classes_.tolist() == classes
    assert from_bytes(to_bytes(to_saved(model))).classes == tuple(classes)


def date_of(name):
    features = take_apart(golden.read(name))[0]["features"]
    return next(k for k, told in enumerate(features) if told["kind"] == "date" and told["part"] == "value")


@pytest.mark.parametrize("days", [[-719_163, 18_700], [-2_900_000, 18_700], [18_262, 2_932_897]])
def test_days_before_the_year_1_or_after_9999_are_refused(days):
    with pytest.raises(ModelFileError, match="a date is out of range"):
        from_bytes(changed(CLASSIFIER, ("features", date_of(CLASSIFIER), "range"), days))


def test_display_values_of_dates_are_dates():
    manifest, members = take_apart(golden.read(CLASSIFIER))
    before = sum(told["n_display"] for told in manifest["features"][: date_of(CLASSIFIER)])
    display = np.load(io.BytesIO(members["arrays/display.npy"]))
    display[before] = 1e12
    out = io.BytesIO()
    np.save(out, display)
    with pytest.raises(ModelFileError, match="a date is out of range"):
        from_bytes(put_together(manifest, members | {"arrays/display.npy": out.getvalue()}))


@pytest.mark.slow
def test_a_long_directory_is_refused_before_it_is_listed():
    """zipfile would create an object of half a kilobyte per entry."""
    data = pack([(f"{k}", b"") for k in range(60_000)])
    assert most_allocated(data) < 2**20


def test_a_manifest_of_many_small_values_is_refused_before_it_is_parsed():
    manifest, members = take_apart(golden.read(CLASSIFIER))
    text = b'{"x": [' + b",".join([b"[]"] * 700_000) + b"], " + json.dumps(manifest).encode()[1:]
    with pytest.raises(ModelFileError, match="too many values"):
        from_bytes(put_together(text, members))


TEXTS = st.text('"\\[]{},a', max_size=6)


@pytest.mark.slow
@given(st.recursive(TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_nesting_is_detectable_brackets_in_texts(value):
    """Whatever its texts hold, a value is read at its own depth limit, and refused at one level less."""
    text, levels = json.dumps([value], ensure_ascii=False), levels_of([value])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gamcore.io.gamx.MAX_DEPTH", levels)
        _check_extent(text)
        patch.setattr("gamcore.io.gamx.MAX_DEPTH", levels - 1)
        with pytest.raises(ModelFileError, match="nested too deeply"):
            _check_extent(text)


@pytest.mark.slow
@pytest.mark.parametrize("member", ["manifest.json", "arrays/scores.npy"])
def test_a_file_that_unpacks_to_far_more_is_refused(member):
    """Even within the bound per member, 100 to 1, it would be 100 times the file."""
    manifest, members = take_apart(golden.read(CLASSIFIER))
    listed = {"manifest.json": json.dumps(manifest).encode(), **members}
    rng = np.random.default_rng(0)
    listed[member] += b"".join(rng.bytes(16) + b" " * 1000 for _ in range(30_000))
    data = pack(list(listed.items()), zipfile.ZIP_DEFLATED)
    assert most_allocated(data) < 2**20


@pytest.mark.parametrize("mode", [0o120777, 0o040755, 0o010600])
def test_links_folders_and_pipes_are_refused(mode):
    manifest, members = take_apart(golden.read(CLASSIFIER))
    entry = zipfile.ZipInfo("arrays/scores.npy")
    entry.external_attr = mode << 16
    listed = [("manifest.json", json.dumps(manifest).encode())]
    listed += [(entry if name == entry.filename else name, data) for name, data in members.items()]
    with pytest.raises(ModelFileError, match="not a plain file"):
        from_bytes(pack(listed))


@pytest.mark.parametrize("around", [(b"MZ", b""), (b"", b"\0"), (b"#!/bin/sh\n", b"")])
def test_a_file_within_another_is_refused(around):
    with pytest.raises(ModelFileError, match="not a complete"):
        from_bytes(around[0] + golden.read(CLASSIFIER) + around[1])


def test_a_message_does_not_quote_the_file():
    """A false name length reaches into the next members, all of which zipfile's error would quote."""
    data = bytearray(golden.read(CLASSIFIER))
    data[26:28] = (5000).to_bytes(2, "little")
    with pytest.raises(ModelFileError) as error:
        from_bytes(bytes(data))
    assert len(str(error.value)) < 400


# The loop that opens them


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what a process maps is told by Linux alone")
def test_wrong_files_are_refused_or_behave(monkeypatch):
    monkeypatch.setattr(openers, "SECONDS", 60.0)  # long enough for a busy machine; endless files are still found
    told = openers.run(250, seed=0)
    assert openers.findings(told) == []
    assert [one["number"] for one in told] == list(range(250))
    assert {one["level"] for one in told} == set(LEVELS)
    outcomes = [one["outcome"] for one in told]
    assert min(outcomes.count("opened"), outcomes.count("refused")) > 25
    refusals = {one["message"] for one in told if one["outcome"] == "refused"}
    assert len(refusals) > 50  # many checks are reached, not the first ones many times
    assert all("\n" not in text and text.endswith(".") and len(text) < 400 for text in refusals)


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i8", "<i4", "|u1", "|i1", "?"])
def test_numbers_are_changed_whatever_an_array_holds(dtype):
    """A number that the array's type cannot hold once ended the loop itself, as if the file had crashed the reader."""
    array = np.arange(12).reshape(3, 4).astype(dtype)
    for seed in range(300):
        assert isinstance(change_numbers(random.Random(seed), array), np.ndarray)


def test_a_mutant_is_told_by_its_number():
    assert mutant(3, 5) == mutant(3, 5)
    assert len({mutant(3, k)[2] for k in range(40)}) > 35


CHILD = """
import json, os, sys, time
for k in range(int(sys.argv[1]), 100, 2):
    print(k, flush=True)
    if k == 4:
        os.abort()
    if k == 8:
        time.sleep(60)
    while k == 10:
        pass
    peak = 100_000_000 if k == 2 else 0
    print(json.dumps({"number": k, "level": "x", "outcome": "opened", "bytes": 7, "peak": peak}), flush=True)
"""


@pytest.mark.slow
def test_crashes_stops_and_greed_are_findings(monkeypatch):
    def start(seed, first, levels, checked, errors):
        command = [sys.executable, "-S", "-c", CHILD, str(first)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)

    monkeypatch.setattr(openers, "start", start)
    monkeypatch.setattr(openers, "SECONDS", 1.0)
    monkeypatch.setattr(stuck, "STANDS_STILL", 8.0)
    told = openers.lane(0, 0, 14, (), "")
    assert [one["number"] for one in told] == [0, 2, 4, 6, 8, 10, 12]
    assert [one["outcome"] for one in told] == [
        "opened", "too much memory", "crashed", "opened", "stood still", "stood still", "opened",
    ]  # fmt: skip


def test_a_process_is_stuck_by_its_own_time_not_by_that_of_a_busy_machine(monkeypatch):
    clock, spent = [0.0], [0.0]
    process = SimpleNamespace(cpu_times=lambda: SimpleNamespace(user=spent[0], system=0.0))
    monkeypatch.setattr(stuck.time, "monotonic", lambda: clock[0])
    slow, quick, gone = (
        stuck.Watch(lambda: process, 30.0),
        stuck.Watch(lambda: process, 1.0),
        stuck.Watch(lambda: None, 1.0),
    )
    for _ in range(30):
        clock[0], spent[0] = clock[0] + 100.0, spent[0] + 0.9
        assert not slow.is_over()  # a hundredth of a processor
    assert quick.is_over()
    assert gone.is_over()
    clock[0] += stuck.STANDS_STILL + 1.0
    assert slow.is_over()  # no more is computed


def test_a_column_is_read_in_one_way():
    """Two features must not read one column as different kinds."""
    manifest, members = take_apart(golden.read(CLASSIFIER))
    number, other = [k for k, told in enumerate(manifest["features"]) if told["kind"] == "number"][:2]
    for column in (manifest["features"][number]["column"], manifest["features"][other]["column"]):
        manifest["features"][other] |= {"column": column, "kind": "number"}
        from_bytes(put_together(manifest, members))  # two features of one column that agree
    manifest["features"][other] |= {"column": manifest["features"][number]["column"], "kind": "date"}
    with pytest.raises(ModelFileError, match="two ways"):
        from_bytes(put_together(manifest, members))
