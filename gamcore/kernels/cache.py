"""The disk cache of compiled kernels.

Numba's cache files are pickles, so a folder that others can write to would let them run code here. This one is private
to the user (mode 0700, ownership checked). Numba does not notice when a kernel *called* by a cached kernel changes, so
the folder is named after a hash of all kernel sources. Cache errors never reach the user: the cache is wiped, the
kernel is compiled again, and one line is logged.

Processes that begin at the same time, such as a server, its warm-up and a training, need the same kernels: one of them
compiles each, and the others wait for what it keeps.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numba
import platformdirs
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from gamcore.common import mixing

log = logging.getLogger(__name__)

PATIENCE: Final = 60.0
"""Seconds that a process waits for another that compiles the same kernel, and may have been stopped meanwhile."""

LOOK_SECONDS: Final = 0.02

SETTINGS: Final = (
    "BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "DISABLE_INTEL_SVML", "DEBUGINFO_DEFAULT",
    "ENABLE_PROFILING", "DEBUG_NRT",
)  # fmt: skip
"""Settings of numba that change the code of a kernel, but not the key under which numba caches it."""


def _fingerprint(way: str) -> str:
    """Return a hash of all compiled sources and of what compiles them, of the way, of numba's settings, and of numba's
    and Python's versions."""
    settings = [f"{name}={getattr(numba.config, name, None)}" for name in SETTINGS]
    digest = hashlib.sha256(" ".join([numba.__version__, sys.version, way, *settings]).encode())
    for path in [*sorted(Path(__file__).parent.glob("*.py")), Path(mixing.__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder(way: str) -> Path | None:
    """Return the private folder of this version's kernels, created if needed; None if there is no safe place.

    way : how they are compiled; each has a folder of its own.
    """
    chosen = os.environ.get("GAMCORE_CACHE_DIR")
    try:
        base = Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gamcore", appauthor=False))
        folder = base / "kernels" / _fingerprint(way)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
        if hasattr(os, "getuid") and state.st_uid != os.getuid():
            raise PermissionError(f"{folder} belongs to another user")
        if stat.S_IMODE(state.st_mode) & 0o077:
            folder.chmod(0o700)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:
        log.warning("Compiled kernels are not kept between runs: %s", error)
        return None
    return folder


class _AnyPath(_CacheLocator):  # type: ignore[misc]
    """The folder in CACHE_DIR wherever the sources are, so that no environment compiles what another has compiled."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _AnyPath:
        return cls(str(Path(numba.config.CACHE_DIR) / "compiled"))

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return ""  # the folder is named after a hash of all sources

    def get_disambiguator(self) -> None:
        return None


class _Placed(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_AnyPath,)


class _ForgivingCache(FunctionCache):  # type: ignore[misc]
    """Numba's function cache, except that a damaged or unwritable file costs a compilation, never an exception."""

    _impl_class = _Placed

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # unpickling and decoding can raise almost any type
            self._give_up("read", error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # full disk, read-only folder, a race with another process
            self._give_up("written", error)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other process compiles this kernel: it then finds what they have kept. A process that ends, for
        whatever reason, waits and is waited for no more."""
        with contextlib.ExitStack() as held:
            with contextlib.suppress(OSError):  # no room, or a disk that knows no locks
                folder = Path(self.cache_path)
                folder.mkdir(mode=0o700, exist_ok=True)
                _lock(held.enter_context((folder / f"{self._impl.filename_base}.lock").open("w")).fileno())
            yield

    def _give_up(self, verb: str, error: Exception) -> None:
        folder = Path(self.cache_path).parent
        log.warning("The kernel cache could not be %s and is rebuilt: %s", verb, error)
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700)


def _lock(file: int) -> None:
    """Wait for a lock of a file, which is let go of when the file is closed."""
    if sys.platform == "win32":
        return
    import fcntl

    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOOK_SECONDS)
        else:
            return


def turn(dispatcher: Any) -> contextlib.AbstractContextManager[None]:
    """Return a turn to compile a function, or to load it from its cache, if it has one."""
    kept = dispatcher._cache
    return kept.turn() if isinstance(kept, _ForgivingCache) else contextlib.nullcontext()


def attach(dispatcher: Any, folder: Path | None) -> None:
    """Cache a compiled function in `folder`; without one, each process compiles it anew."""
    if folder is None:
        return
    # Set only here: the setting applies to the whole process, where other code may use numba.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        dispatcher._cache = _ForgivingCache(dispatcher.py_func)
    except RuntimeError as error:  # numba found no place to cache in
        log.warning("Compiled kernels are not kept between runs: %s", error)
    finally:
        numba.config.CACHE_DIR = before
