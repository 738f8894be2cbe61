"""A workspace on a disk that is mounted read-only, as a disk that fails is: it can be looked at and backed up.

SQLite writes even to read, so the records are opened in a copy, with their write-ahead log: on such a disk nobody
changes them meanwhile.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from shapewise.access.permissions import LOCAL
from shapewise.access.quotas import Limits
from shapewise.store import database as meta
from shapewise.store.atomic_files import is_read_only
from shapewise.store.migrations import migrate
from shapewise.store.object_store import Folder, Identity
from shapewise.store.process_names import is_alive
from shapewise.store.workspace import Workspace


@contextmanager
def for_looking(root: Path) -> Iterator[Workspace]:
    """Yield a workspace to be read; StoreError if it cannot be."""
    elsewhere = os.environ.get("GAMCORE_META_URL") or os.environ.get("GAMCORE_OBJECTS_URL")
    if elsewhere or not is_read_only(root):
        yield Workspace(root)
        return
    with TemporaryDirectory(prefix="shapewise-") as copies:
        try:
            yield _ReadOnly(root, Path(copies))
        finally:
            meta.forget(Path(copies))


class _Files(Folder):
    """Files that nobody can change."""

    def __init__(self, root: Path) -> None:
        self.root, self._marks, self._trash = root, root / "marks", root / "trash"

    def _place(self, digest: str) -> Path:
        """Return where a file is: also in the trash, from which it would come back."""
        place = super()._place(digest)
        return place if place.is_file() else next(self._trash.glob(f"*-{digest}"), place)

    def has(self, digest: str) -> bool:
        return self._place(digest).is_file()

    def identify(self, identity: Identity) -> None:
        """Write nothing: the records of the copy are gone soon."""

    @contextmanager
    def marked(self, digest: str) -> Iterator[None]:
        yield  # no sweep takes it

    def is_marked(self, digest: str) -> bool:
        return any(is_alive(mark.name.partition("-")[0]) for mark in self._marks.glob(f"*-{digest}"))


class _ReadOnly(Workspace):
    def __init__(self, root: Path, copies: Path) -> None:
        self.root, self.person, self.limits = root, LOCAL, Limits.configured()
        self.objects = _Files(root / "objects")
        for path in root.glob(f"{meta.FILE}*"):
            if path.name in (meta.FILE, f"{meta.FILE}-wal"):
                shutil.copyfile(path, copies / path.name)
        self._meta_url = meta.url_of(copies)
        migrate(self.meta, copies, self.objects)
