"""The cluster that trainings may run on, and the datasets that its workers may read: what runs the server decides both.

`SHAPEWISE_CLUSTER` is the address of a Dask scheduler; certificates for tls:// are those of Dask's own configuration.
`SHAPEWISE_DATASETS` lists paths or URLs, separated by commas; what is below one of them may be loaded.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from gamcore.common.numbers import count, counted, size
from shapewise.errors import StoreError

if TYPE_CHECKING:
    from gamcore.distributed.cluster import OnCluster

ADDRESS: Final = "SHAPEWISE_CLUSTER"
DATASETS: Final = "SHAPEWISE_DATASETS"
FORM: Final = re.compile(r"(tcp|tls|ws|wss|ucx)://[^\s/:@]+:\d{1,5}")
PLACE: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://(?:[^/]+/+|/+)|[A-Za-z]:/+|/+)[^/]")
"""A place of datasets is a folder: of a bucket or a host, or of this machine, whose root is none."""

UNSAFE: Final = re.compile(r"[\s\\%?#@*]|::|(^|/)\.{1,2}(/|$)")
"""What a path below an allowed one may not have: steps upwards, patterns, queries, credentials, one URL in another."""

WAIT_SECONDS: Final = 5.0


def address() -> str:
    """Return the address of the scheduler, empty if there is no cluster."""
    return os.environ.get(ADDRESS, "").strip()


def misconfigured() -> list[str]:
    """Return what is wrong with the settings, as sentences."""
    wrong = []
    if address() and not FORM.fullmatch(address()):
        wrong.append(f"{ADDRESS} is {_shown(address())!r}: set it to a scheduler's address, such as "
                     "tls://scheduler:8786.")  # fmt: skip
    if address() and find_spec("distributed") is None:
        wrong.append(f'{ADDRESS} needs more libraries: pip install "shapewise[cluster]".')
    wrong += [f"{DATASETS}, place {number}: {why}" for number, place in enumerate(_listed(), 1)
              if (why := _wrong_with(place))]  # fmt: skip
    if _listed() and not address():
        wrong.append(f"{DATASETS} is set, but nobody reads them: set {ADDRESS} to a scheduler's address.")
    return wrong


@dataclass(frozen=True)
class Workers:
    """The workers of a cluster: how many, with how many threads, and with how many bytes of memory, all together."""

    number: int
    threads: int
    memory: float

    @property
    def words(self) -> str:
        """Them in words."""
        return (
            f"{counted(self.number, 'worker')}, {count(self.threads)} "
            f"thread{'s' * (self.threads != 1)}, {size(self.memory)} of memory"
        )


def workers() -> Workers:
    """Return the workers there are now; StoreError if nobody answers."""
    with connected() as crew:
        known = crew.workers()
        return Workers(len(known), sum(threads for threads, _ in known), sum(memory for _, memory in known))


@contextmanager
def connected() -> Iterator[OnCluster]:
    """Yield the workers of the cluster; StoreError, in a sentence, where the cluster fails."""
    if not address():
        raise StoreError(f"There is no cluster: set {ADDRESS} to a scheduler's address, or do without it.")
    if wrong := misconfigured():
        raise StoreError(wrong[0])
    from distributed.comm.core import CommClosedError

    from gamcore.distributed.client import NO_SCHEDULER, ClusterError
    from gamcore.distributed.cluster import OnCluster

    client = _client()
    try:
        crew = OnCluster(client)
        try:
            yield crew
        finally:
            crew.close()
    except ClusterError as error:
        raise StoreError(str(error)) from error
    except CommClosedError as error:
        raise StoreError(NO_SCHEDULER) from error
    finally:
        client.close(timeout=WAIT_SECONDS)


def _client() -> Any:
    """Return a connection to the scheduler."""
    import distributed

    library: Any = distributed

    class Prompt(library.Client):  # type: ignore[misc]
        """Dask waits for ever for the first answer of a scheduler that it has connected to. It closes a client that
        could not connect if the reason is an OSError, and otherwise leaves that to the collector of garbage, in
        whatever thread this works: in that of the next client's loop, it would wait for a lock that this one holds."""

        async def _ensure_connected(self, timeout: float | None = None) -> None:
            try:
                await asyncio.wait_for(super()._ensure_connected(timeout=timeout), 2 * WAIT_SECONDS)
            except OSError:
                raise
            except Exception as error:  # such as MemoryError, where an endless answer is announced
                raise OSError(str(error) or type(error).__name__) from error

        def start(self, **options: Any) -> None:
            try:
                super().start(**options)
            except BaseException:
                self._loop_runner.stop()  # or its thread would stay
                raise

    try:
        return Prompt(address(), timeout=WAIT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:  # all but the first where certificates are missing
        raise StoreError(
            f"The cluster at {address()} does not answer ({str(error)[:300] or type(error).__name__}): see that its "
            "scheduler runs, then try again."
        ) from error


def _shown(text: str) -> str:
    """Return an address without the name and password in it."""
    return re.sub(r"[^/]*@", "…@", text)


def _listed() -> list[str]:
    return [place.strip() for place in os.environ.get(DATASETS, "").split(",") if place.strip()]


def _wrong_with(place: str) -> str:
    """Return why datasets below a place may not be loaded, without the place, which may hold a password; empty if they
    may."""
    if "@" in place or "?" in place:
        return (
            "it holds credentials or options, which everybody would see: give these to app and workers as "
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL, or as your store's own variables."
        )
    if not PLACE.match(place):
        return "it is no folder, so that anything could be read: name one, such as /srv/lake or s3://bucket/lake."
    return "it has steps, spaces or patterns: name a plain folder." if _is_unsafe(place.rstrip("/")) else ""


def _is_unsafe(plain: str) -> bool:
    """Return whether a place has what none may have, also signs that are not seen as they are read."""
    return UNSAFE.search(plain) is not None or not plain.isprintable()


def allowed() -> list[str]:
    """Return the paths and URLs below which datasets may be loaded; those that `misconfigured` names are left out."""
    return [place.rstrip("/") for place in _listed() if not _wrong_with(place)]


def check_dataset(url: str) -> str:
    """Return the path or URL of a dataset; StoreError unless it is below an allowed one."""
    plain = url.strip().rstrip("/")
    if not any(plain == place or plain.startswith(f"{place}/") for place in allowed()) or _is_unsafe(plain):
        places = ", ".join(allowed()) or "none"
        raise StoreError(f"{plain[:200]!r} may not be loaded here: give a dataset below {places}.")
    return plain
