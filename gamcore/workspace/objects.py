"""The bytes of tables and models, each under the hash of its content, so that nothing is ever half replaced.

objects/ab/abcdef...   a file, never changed once it has its name
objects/marks/         a mark for each file that was put and has no record yet: <process>-<hash>

The default is a folder. A URL (s3://bucket/prefix, or whatever fsspec knows) puts the files elsewhere, and keeps copies
of those that were read in the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from gamcore.workspace.errors import StoreError, room
from gamcore.workspace.files import is_alive, owner, sync_file, sync_folder, temporary

HASH: Final = re.compile(r"[0-9a-f]{64}")
A_DAY: Final = 86_400.0
BLOCK: Final = 2**20
LOST: Final = "A file of the workspace is not there any more: bring it back from a backup (see docs/deployment.md)."


class Objects(Protocol):
    """Files by the hash of their content."""

    def put(self, path: Path, digest: str) -> None:
        """Take a file of this hash in; it is moved away."""

    def path(self, digest: str) -> Path:
        """A local file with the content; StoreError where it is lost."""

    def has(self, digest: str) -> bool:
        """Whether the content is there."""

    def remove(self, digest: str) -> None:
        """Forget a content."""

    def digests(self) -> Iterator[str]:
        """All that is there."""

    def is_wanted(self, digest: str) -> bool:
        """Whether somebody who lives may be about to make a record of it."""

    def marked(self, digest: str) -> contextlib.AbstractContextManager[None]:
        """Keep a content from the sweep until its record is made."""


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Folder:
    """Files in a folder of this machine."""

    def __init__(self, root: Path) -> None:
        self._root, self._marks = root, root / "marks"
        self._marks.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _place(self, digest: str) -> Path:
        if not HASH.fullmatch(digest):
            raise StoreError("That is not the name of a file of the workspace.")
        return self._root / digest[:2] / digest

    def put(self, path: Path, digest: str) -> None:
        target = self._place(digest)
        if target.is_file() and digest_of(target) == digest:  # else this one mends it
            path.unlink()
            return
        with room():
            sync_file(path)
            target.parent.mkdir(mode=0o700, exist_ok=True)
            path.chmod(0o600)
            if path.stat().st_dev != self._root.stat().st_dev:
                near = temporary(target)
                shutil.copyfile(path, near)
                sync_file(near)
                path.unlink()
                path = near
            path.replace(target)
            sync_folder(target.parent)

    def path(self, digest: str) -> Path:
        place = self._place(digest)
        if not place.is_file():
            raise StoreError(LOST)
        return place

    def has(self, digest: str) -> bool:
        return self._place(digest).is_file()

    def remove(self, digest: str) -> None:
        self._place(digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        for path in self._root.glob("??/*"):
            if HASH.fullmatch(path.name):
                yield path.name

    @contextmanager
    def marked(self, digest: str) -> Iterator[None]:
        mark = self._marks / f"{owner()}-{digest}"
        mark.touch(0o600)
        try:
            yield
        finally:
            mark.unlink(missing_ok=True)

    def is_wanted(self, digest: str) -> bool:
        wanted = False
        for mark in self._marks.glob(f"*-{digest}"):
            if is_alive(mark.name.partition("-")[0]):
                wanted = True
            else:
                mark.unlink(missing_ok=True)
        return wanted


class Remote:
    """Files behind a URL that fsspec knows; what was read is kept in a folder, and checked against its hash."""

    def __init__(self, url: str, cache: Path) -> None:
        import fsspec  # only for those who give a URL

        options = {"auto_mkdir": True} if url.startswith("file:") else {}
        self._system, root = fsspec.core.url_to_fs(url, **options)
        self._root, self._cache = PurePosixPath(root), Folder(cache)
        self._system.makedirs(root, exist_ok=True)

    def _place(self, digest: str) -> str:
        return str(self._root / digest[:2] / digest)

    def put(self, path: Path, digest: str) -> None:
        if not self.has(digest):  # a put is whole or not there: so object stores promise
            self._system.put_file(str(path), self._place(digest))
        self._cache.put(path, digest)

    def path(self, digest: str) -> Path:
        if not self._cache.has(digest):
            near = temporary(self._cache._place(digest).parent.parent / digest)
            try:
                with room():
                    self._system.get_file(self._place(digest), str(near))
                if digest_of(near) != digest:
                    raise StoreError("A file of the workspace's store is damaged: bring it back from a backup.")
                self._cache.put(near, digest)
            except FileNotFoundError as error:
                raise StoreError(LOST) from error
            finally:
                near.unlink(missing_ok=True)
        return self._cache.path(digest)

    def has(self, digest: str) -> bool:
        return bool(self._system.exists(self._place(digest)))

    def remove(self, digest: str) -> None:
        self._cache.remove(digest)
        with contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._place(digest))

    def digests(self) -> Iterator[str]:
        for path in self._system.find(str(self._root)):
            name = PurePosixPath(path).name
            if HASH.fullmatch(name):
                yield name

    def marked(self, digest: str) -> contextlib.AbstractContextManager[None]:
        return self._cache.marked(digest)

    def is_wanted(self, digest: str) -> bool:
        """Other machines' marks are not seen from here: what is younger than a day may be theirs."""
        if self._cache.is_wanted(digest):
            return True
        try:
            return bool(time.time() - self._system.modified(self._place(digest)).timestamp() < A_DAY)
        except (FileNotFoundError, NotImplementedError):
            return False


def open_objects(root: Path, url: str | None = None) -> Objects:
    """The files of a workspace: in its folder, or where a URL says."""
    return Remote(url, root / "cache") if url else Folder(root / "objects")
