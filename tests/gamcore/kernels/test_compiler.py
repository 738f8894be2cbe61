"""Kernels whose callees are compiled once give what plain numba gives."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from numba import typeof
from numba.core.compiler_lock import global_compiler_lock

from gamcore.kernels import PLAIN, kernel, trait
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

FIT = """
import hashlib, numpy as np
from gamcore import GAMRegressor
from gamcore.kernels import PLAIN
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
X[::9, 0] = np.nan
model = GAMRegressor(max_rounds=4, outer_bags=1, random_state=0).fit(X, X[:, 1] + rng.normal(size=200))
print(PLAIN, hashlib.sha256(model.predict(X).tobytes()).hexdigest())
"""


@kernel
def _add(values, sign):
    total = 0.0
    for k in range(values.size):
        total += sign * values[k]
    if not total < 100.0:
        raise ValueError("too much")
    return total


@kernel
def _both(values):
    return _add(values, 1) + _add(values, 2)


@kernel
def _twice(values):
    return _both(values) + _add(values, 3)


@trait
def _half(value):
    return value / 2


@kernel
def _halves(values):
    return _half(values[0]) + _half(values[1])


def test_kernels_call_kernels_with_numbers_constants_and_errors():
    values = np.arange(4.0)
    assert _twice(values) == 6 * values.sum()
    assert _both(values) == 3 * values.sum()
    assert _add(values, -1) == -values.sum()
    for broken in (np.full(3, 1e3), np.array([np.nan])):
        with pytest.raises(ValueError, match="too much"):
            _twice(broken)


def made_entry(function, types):
    """An entry compiled anew."""
    with global_compiler_lock:
        return function._compiler.compile(types, None).entry_point


def a_line_of(dtype):
    """Types of arguments, compiled anew in each run: a call would read the cache."""
    return (typeof(np.empty(1, dtype)),)


@pytest.mark.skipif(PLAIN, reason="numba was not tested with, or is asked to compile as it likes")
def test_a_kernel_has_a_part_per_signature_and_an_entry_only_where_python_calls_it():
    _twice.part(a_line_of(np.float32))
    float32 = [one for one in _add._parts if "float32" in str(one)]
    assert len(float32) == 1  # a constant has no signature of its own
    assert not any("float32" in str(one) for one in _add.signatures)


@pytest.mark.skipif(PLAIN, reason="numba was not tested with, or is asked to compile as it likes")
def test_an_entry_wraps_the_part_that_kernels_call():
    line = a_line_of(np.int32)
    assert made_entry(_both, line)(np.arange(4, dtype=np.int32)) == 18.0
    part = _both._parts[line]
    _twice.part(line)
    assert _both._parts[line] is part


@pytest.mark.skipif(PLAIN, reason="numba was not tested with, or is asked to compile as it likes")
def test_compiling_leaves_the_collection_of_garbage_as_it_was():
    for collects in (True, False):
        (gc.enable if collects else gc.disable)()
        try:
            made_entry(_half, (typeof(1.0 if collects else 1),))
            assert gc.isenabled() == collects
        finally:
            gc.enable()


@kernel
def _spread(values):
    return max(values[0], values[1]) - min(values[0], values[1])


@pytest.mark.skipif(PLAIN, reason="numba was not tested with, or is asked to compile as it likes")
@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.float32, np.float64])
def test_what_numba_registers_while_it_compiles_is_found(dtype):
    """`min` and `max` bring code of their own for each type, between two looks for new rules."""
    assert made_entry(_spread, a_line_of(dtype))(np.array([3, 8], dtype)) == 5


@pytest.mark.skipif(PLAIN, reason="numba was not tested with, or is asked to compile as it likes")
def test_what_somebody_froze_stays_frozen():
    gc.freeze()
    try:
        made_entry(_half, (typeof(np.int8(1)),))
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_python_calls_a_trait_as_it_is_and_kernels_compile_it():
    assert _half(3) == _halves(np.array([1.0, 2.0])) == 1.5
    assert isinstance(_half(Fraction(3)), Fraction)


def test_plain_numba_gives_the_same_bits(capsys):
    """The cache's folder of each way is its own: this compiles once per version of the kernels."""
    exec(FIT, {})
    environment = {**os.environ, "GAMCORE_PLAIN_NUMBA": "1"}
    done = subprocess.run([sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    plain, expected = done.stdout.split()
    assert plain == "True"
    assert capsys.readouterr().out.split()[1] == expected
