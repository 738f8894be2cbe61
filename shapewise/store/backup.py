"""Back up, restore and check whole workspaces."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import sqlalchemy as sa

from shapewise.errors import StoreError, room
from shapewise.store import database as meta
from shapewise.store import migrations, parts, records
from shapewise.store.atomic_files import write_bytes
from shapewise.store.database import NOT_DELETED_PARTS, part, released, thing
from shapewise.store.object_store import HASH, IDENTITY, Identity, digest_of
from shapewise.store.workspace import Workspace


def backup(space: Workspace, target: Path) -> tuple[int, list[str]]:
    """Copy a workspace to a new folder while it is in use; return the number of objects copied, and the hashes of those
    that are lost or damaged.

    Records are copied first; no sweep removes an object that they refer to before it is copied.
    """
    if not space.meta.embedded:
        raise StoreError("The records are in a separate database: back it up with its own tools, and the objects with "
                         "the tools of their store.")  # fmt: skip
    if target.exists() and any(target.iterdir()):
        raise StoreError(f"{target} is not empty: name a new folder for the backup.")
    if target.resolve().is_relative_to(space.root.resolve()):
        raise StoreError(f"{target} is inside the workspace and would be lost with it: choose a folder outside it.")
    making = target.with_name(f".{target.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700, parents=True)
    (making / "objects").mkdir(mode=0o700)
    damaged = []
    try:
        with ExitStack() as stack, room():
            for digest in _digests(space.meta):
                stack.enter_context(space.objects.marked(digest))
            migrations.backup(space.meta, making / meta.FILE)
            digests = sorted(_digests_in(making))
            for digest in digests:
                if not _copy(space, digest, making / "objects" / digest[:2] / digest):
                    damaged.append(digest)
            write_bytes(making / "objects" / IDENTITY, _identity_in(making).text().encode())
        if target.exists():
            target.rmdir()
        making.rename(target)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return len(digests) - len(damaged), damaged


def _copy(space: Workspace, digest: str, target: Path) -> bool:
    """Copy an object, without linking, so that damage to one copy spares the other; return whether it is intact."""
    target.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        shutil.copyfile(space.objects.path(digest), target)
    except StoreError:
        return False
    if digest_of(target) == digest:
        return True
    target.unlink()
    return False


def _digests(records: meta.Meta) -> set[str]:
    """Return the hashes of the objects that the records refer to."""
    with records.reading() as connection:
        return set(connection.execute(sa.select(part.c.object)).scalars())


def _identity_in(root: Path) -> Identity:
    """Return the workspace id and edition stored in the records in a folder."""
    records = meta.Meta(meta.url_of(root))
    try:
        with records.reading() as connection:
            row = connection.execute(sa.select(meta.workspace.c.id, meta.workspace.c.edition)).one()
            return Identity(row.id, row.edition)
    finally:
        records.close()


def _digests_in(root: Path) -> set[str]:
    """Return the hashes of the objects that the records in a folder refer to."""
    records = meta.Meta(meta.url_of(root))
    try:
        return _digests(records)
    finally:
        records.close()


def restore(source: Path, root: Path, partly: bool = False) -> Workspace:
    """Restore a backup to an empty folder, checking every hash; return the workspace. Leave nothing behind on failure.

    partly : restore what is intact from a damaged backup; `check` then lists the rest.
    """
    if os.environ.get("GAMCORE_META_URL") or os.environ.get("GAMCORE_OBJECTS_URL"):
        raise StoreError("Backups are restored to a folder: unset GAMCORE_META_URL and GAMCORE_OBJECTS_URL first.")
    if not (source / meta.FILE).is_file():
        raise StoreError(f"{source} is not a backup: it has no {meta.FILE}.")
    if root.exists() and any(root.iterdir()):
        raise StoreError(f"{root} is not empty: move its contents elsewhere first.")
    making = root.with_name(f".{root.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700, parents=True)
    (making / "objects").mkdir(mode=0o700)
    try:
        with room():
            shutil.copyfile(source / meta.FILE, making / meta.FILE)
            for digest in sorted(_digests_in(making)):
                place = source / "objects" / digest[:2] / digest
                if not HASH.fullmatch(digest) or not place.is_file() or digest_of(place) != digest:
                    if partly and HASH.fullmatch(digest):
                        continue
                    raise StoreError(
                        f"The backup is damaged: its object {digest[:12]} is missing or was changed. Use --partly "
                        "to restore the others."
                    )
                target = making / "objects" / digest[:2] / digest
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.copyfile(place, target)
            if (source / "objects" / IDENTITY).is_file():
                shutil.copyfile(source / "objects" / IDENTITY, making / "objects" / IDENTITY)
        if root.exists():
            root.rmdir()
        making.rename(root)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return Workspace(root)


def check(space: Workspace) -> Iterator[str]:
    """Yield the problems of a workspace, a line each: damaged records, lost or changed objects, parts that are not what
    they are called."""
    with space.meta.reading() as connection:
        if space.meta.embedded:
            for row in connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars():
                if row != "ok":
                    yield f"records: {row}"
        rows = connection.execute(NOT_DELETED_PARTS).all()
        abouts = connection.execute(
            sa.select(thing.c.kind, thing.c.id, thing.c.about).where(thing.c.deleted.is_(None))
        ).all()
    good: dict[str, bool] = {}
    have: dict[str, set[str]] = {}
    for kind, identifier, name, digest in rows:
        have.setdefault(identifier, set()).add(name)
        if digest not in good:
            good[digest] = _is_whole(space, digest)
        if not good[digest]:
            yield f"{kind}/{identifier}: its {name} is missing or was changed"
        elif wrong := parts.wrong_in(kind, name, space.objects.path(digest)):
            yield f"{kind}/{identifier}: {wrong}"
    for kind, identifier, text in abouts:
        about = records.parsed(text)
        if about is None:
            yield f"{kind}/{identifier}: its description cannot be read"
        for name in parts.lacking(kind, about or {}, have.get(identifier, set())):
            yield f"{kind}/{identifier}: no record says where its {name} is"
    with space.meta.reading() as connection:
        known = set(connection.execute(sa.select(part.c.object)).scalars())
        known |= set(connection.execute(sa.select(released.c.object)).scalars())
    for digest in space.objects.digests():
        if digest not in known and not space.objects.is_marked(digest):
            yield (
                f"objects/{digest[:12]}: no record refers to it: a crash left it behind, or the records are older than "
                "the files"
            )


def _is_whole(space: Workspace, digest: str) -> bool:
    """Return whether an object exists and still has its hash, computed anew."""
    try:
        return digest_of(space.objects.path(digest)) == digest
    except StoreError:
        return False
