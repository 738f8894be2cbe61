"""The files of tables and models, each named by the hash of its content, so that none is ever half replaced.

objects/ab/abcdef...   a file, never changed once it has its name
objects/workspace      id and edition of the workspace that owns the files (see identity.py)
objects/trash/         what a sweep removed, kept for a week as <time>-<hash>; restored if requested
objects/marks/         a mark for each file that was stored and has no record yet: <process>-<hash>

The default is a folder. A URL (s3://bucket/prefix, or any that fsspec supports) stores the files elsewhere; those that
were read are cached in the workspace.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from shapewise.errors import StoreError, room, without_secrets
from shapewise.store.atomic_files import sync_file, sync_folder, temporary, write_bytes
from shapewise.store.process_names import is_alive, own_name

IDENTITY: Final = "workspace"
HASH: Final = re.compile(r"[0-9a-f]{64}")
A_DAY: Final = 86_400.0
BLOCK: Final = 2**20
TRASH_TIME: Final = "%Y%m%dT%H%M%S"
LOST: Final = "A file of the workspace is missing: restore it from a backup (see docs/deploy/deployment.md)."
CHANGED: Final = (
    "A file of the workspace was changed or damaged where it is stored: restore it from a backup (see "
    "docs/deploy/deployment.md)"
)


@dataclass(frozen=True)
class Identity:
    """The workspace that owns the files, the edition that stored the last one, and the edition before it."""

    id: str
    edition: str
    previous: str = ""

    def text(self) -> str:
        """Return the text that is written beside the objects."""
        return f"{self.id}\n{self.edition}\n{self.previous}\n"

    @classmethod
    def read(cls, text: str) -> Identity | None:
        """Parse what was written; None if it is not an identity."""
        lines = text.splitlines()
        return cls(*lines[:3]) if len(lines) >= 2 and lines[0] else None


class Objects(Protocol):
    """Files addressed by the hash of their content."""

    @property
    def place(self) -> str:
        """The location of the files, for messages."""

    def identity(self) -> Identity | None:
        """Return the identity of the workspace that owns the files; None if it is not written yet."""

    def identify(self, identity: Identity) -> None:
        """Write the identity of the workspace that owns the files."""

    def put(self, path: Path, digest: str) -> None:
        """Store a file that has this hash; the file is moved."""

    def path(self, digest: str) -> Path:
        """Return a local file with the content, checked against its hash when it is first read; StoreError if it is
        lost or was changed."""

    def has(self, digest: str) -> bool:
        """Return whether the content exists; restore it if it is in the trash."""

    def stored(self, digest: str) -> float:
        """Return when an object was stored, in seconds since 1970; the current time if the store does not say."""

    def copy_to_trash(self, digest: str) -> None:
        """Copy an object to the trash."""

    def remove(self, digest: str) -> None:
        """Delete an object."""

    def empty_trash(self, before: datetime) -> int:
        """Delete what was moved to the trash before a time; return how many files."""

    def digests(self) -> Iterator[str]:
        """Yield the hashes of all objects."""

    def is_marked(self, digest: str) -> bool:
        """Return whether a process of this machine is about to create a record of the object."""

    def is_wanted(self, digest: str) -> bool:
        """Return whether any process on any machine may be about to create a record of the object."""

    def marked(self, digest: str) -> contextlib.AbstractContextManager[None]:
        """Protect an object from the sweep until the block ends."""


_whole: OrderedDict[Path, tuple[int, int, int]] = OrderedDict()
MOST_KNOWN: Final = 10_000
_lock = threading.Lock()


def check_whole(path: Path, digest: str) -> bool:
    """Return whether a file matches its hash; computed once per process, and again if size, inode or time change."""
    status = path.stat()
    stamp = status.st_size, status.st_ino, status.st_mtime_ns
    with _lock:
        if _whole.get(path) == stamp:
            return True
    if digest_of(path) != digest:
        return False
    with _lock:
        _whole[path] = stamp
        while len(_whole) > MOST_KNOWN:
            _whole.popitem(last=False)
    return True


def _trash_name(digest: str) -> str:
    return f"{datetime.now(UTC):{TRASH_TIME}}-{digest}"


def _is_older(name: str, before: datetime) -> bool:
    """Return whether a file was moved to the trash before a time."""
    return name.partition("-")[0] < f"{before:{TRASH_TIME}}"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Folder:
    """Files in a local folder."""

    def __init__(self, root: Path) -> None:
        self.root, self._marks, self._trash = root, root / "marks", root / "trash"
        self._marks.mkdir(mode=0o700, parents=True, exist_ok=True)

    place = "the folder objects"

    def identity(self) -> Identity | None:
        try:
            return Identity.read((self.root / IDENTITY).read_text(encoding="ascii", errors="replace"))
        except FileNotFoundError:
            return None

    def identify(self, identity: Identity) -> None:
        write_bytes(self.root / IDENTITY, identity.text().encode())

    def _place(self, digest: str) -> Path:
        if not HASH.fullmatch(digest):
            raise StoreError("This is not the name of a file in the workspace.")
        return self.root / digest[:2] / digest

    def put(self, path: Path, digest: str) -> None:
        target = self._place(digest)
        if target.is_file() and digest_of(target) == digest:  # a damaged file is replaced
            path.unlink()
            return
        with room():
            sync_file(path)
            target.parent.mkdir(mode=0o700, exist_ok=True)
            path.chmod(0o600)
            if path.stat().st_dev != self.root.stat().st_dev:
                near = temporary(target)
                shutil.copyfile(path, near)
                sync_file(near)
                path.unlink()
                path = near
            path.replace(target)
            sync_folder(target.parent)

    def path(self, digest: str) -> Path:
        if not self.has(digest):
            raise StoreError(LOST)
        place = self._place(digest)
        if not check_whole(place, digest):
            raise StoreError(f"{CHANGED}, or delete the table or model it belongs to, and load or train it again.")
        return place

    def has(self, digest: str) -> bool:
        return self._place(digest).is_file() or self._bring_back(digest)

    def _bring_back(self, digest: str) -> bool:
        for path in self._trash.glob(f"*-{digest}"):
            self._place(digest).parent.mkdir(mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # another reader was faster
                path.replace(self._place(digest))
        return self._place(digest).is_file()

    def stored(self, digest: str) -> float:
        try:
            return self._place(digest).stat().st_mtime
        except FileNotFoundError:  # another server has just taken it
            return 0.0

    def copy_to_trash(self, digest: str) -> None:
        self._trash.mkdir(mode=0o700, exist_ok=True)
        copy = self._trash / _trash_name(digest)
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            try:
                os.link(self._place(digest), copy)  # a hard link, where the disk supports it
            except OSError as error:
                if isinstance(error, FileNotFoundError | FileExistsError):
                    raise
                with room():
                    shutil.copyfile(self._place(digest), copy)

    def remove(self, digest: str) -> None:
        self._place(digest).unlink(missing_ok=True)

    def empty_trash(self, before: datetime) -> int:
        old = [path for path in self._trash.glob("*-*") if _is_older(path.name, before)]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def digests(self) -> Iterator[str]:
        for path in self.root.glob("??/*"):
            if HASH.fullmatch(path.name):
                yield path.name

    @contextmanager
    def marked(self, digest: str) -> Iterator[None]:
        mark = self._marks / f"{own_name()}-{digest}"
        mark.touch(0o600)
        try:
            yield
        finally:
            mark.unlink(missing_ok=True)

    def is_marked(self, digest: str) -> bool:
        marked = False
        for mark in self._marks.glob(f"*-{digest}"):
            if is_alive(mark.name.partition("-")[0]):
                marked = True
            else:
                mark.unlink(missing_ok=True)
        return marked

    def is_wanted(self, digest: str) -> bool:
        return self.is_marked(digest)


class Remote:
    """Files behind a URL that fsspec supports; files that were read are cached in a folder and checked."""

    def __init__(self, url: str, cache: Path) -> None:
        import fsspec  # needed only with a URL

        if "://" not in url:  # fsspec would take it for a folder beside the app
            raise StoreError("GAMCORE_OBJECTS_URL is no URL: set it to one such as s3://bucket/folder.")
        options = {"auto_mkdir": True} if url.startswith("file:") else {}
        try:
            with room():
                self._system, root = fsspec.core.url_to_fs(url, **options)
                self._system.makedirs(root, exist_ok=True)
        except StoreError:
            raise
        except (ImportError, ValueError, OSError) as error:
            why = without_secrets(str(error), url)[:200] or type(error).__name__
            raise StoreError(
                f"{self.place[0].upper()}{self.place[1:]} cannot be reached ({why}): correct it."
            ) from None
        self._root, self._cache = PurePosixPath(root), Folder(cache)

    def _place(self, digest: str) -> str:
        return str(self._root / digest[:2] / digest)

    place = "the store of GAMCORE_OBJECTS_URL"

    def identity(self) -> Identity | None:
        try:
            written = bytes(self._system.cat_file(str(self._root / IDENTITY)))
        except FileNotFoundError:
            return None
        return Identity.read(written.decode("ascii", errors="replace"))

    def identify(self, identity: Identity) -> None:
        making = str(self._root / f"{IDENTITY}.{own_name()}")  # atomic on a file system, too
        self._system.pipe_file(making, identity.text().encode())
        self._system.mv(making, str(self._root / IDENTITY))

    def put(self, path: Path, digest: str) -> None:
        if not self.has(digest):  # object stores guarantee that a put is atomic
            self._system.put_file(str(path), self._place(digest))
        self._cache.put(path, digest)

    def path(self, digest: str) -> Path:
        try:
            return self._cache.path(digest)
        except StoreError:  # not here yet, or changed since
            self._cache.remove(digest)
            self._fetch(digest)
        return self._cache.path(digest)

    def _fetch(self, digest: str) -> None:
        if not self.has(digest):
            raise StoreError(LOST)
        near = temporary(self._cache.root / digest)
        try:
            with room():
                self._system.get_file(self._place(digest), str(near))
            if digest_of(near) != digest:
                raise StoreError(f"{CHANGED}.")
            self._cache.put(near, digest)
        except FileNotFoundError as error:
            raise StoreError(LOST) from error
        finally:
            near.unlink(missing_ok=True)

    def has(self, digest: str) -> bool:
        return bool(self._system.exists(self._place(digest))) or self._bring_back(digest)

    def _trashed(self, pattern: str) -> list[str]:
        self._system.invalidate_cache(str(self._root / "trash"))
        return [str(path) for path in self._system.glob(str(self._root / "trash" / pattern))]

    def _bring_back(self, digest: str) -> bool:
        for path in self._trashed(f"*-{digest}"):
            self._system.makedirs(str(PurePosixPath(self._place(digest)).parent), exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # another reader was faster
                self._system.mv(path, self._place(digest))
        return bool(self._system.exists(self._place(digest)))

    def stored(self, digest: str) -> float:
        try:
            return float(self._system.modified(self._place(digest)).timestamp())
        except NotImplementedError:
            return time.time()
        except FileNotFoundError:  # another server has just taken it
            return 0.0

    def copy_to_trash(self, digest: str) -> None:
        self._system.makedirs(str(self._root / "trash"), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self._system.cp_file(self._place(digest), str(self._root / "trash" / _trash_name(digest)))

    def remove(self, digest: str) -> None:
        self._cache.remove(digest)
        with contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._place(digest))

    def empty_trash(self, before: datetime) -> int:
        old = [path for path in self._trashed("*-*") if _is_older(PurePosixPath(path).name, before)]
        for path in old:
            self._system.rm_file(path)
        return len(old)

    def digests(self) -> Iterator[str]:
        for path in self._system.find(str(self._root)):
            name = PurePosixPath(path).name
            if HASH.fullmatch(name):
                yield name

    def marked(self, digest: str) -> contextlib.AbstractContextManager[None]:
        return self._cache.marked(digest)

    def is_marked(self, digest: str) -> bool:
        return self._cache.is_marked(digest)

    def is_wanted(self, digest: str) -> bool:
        """Return whether it is marked or less than a day old: the marks of other machines cannot be seen from here."""
        return self.is_marked(digest) or time.time() - self.stored(digest) < A_DAY


def open_objects(root: Path, url: str | None = None) -> Objects:
    """Open the object store of a workspace: in its folder, or at a URL if one is given."""
    return Remote(url, root / "cache") if url else Folder(root / "objects")
