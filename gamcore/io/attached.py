"""What additions keep with a model, in its file: plain values in the manifest, and arrays that readers may leave out.

The manifest's `additions` has an entry for each: its plain `entry`, and the names of its `arrays`, which are the
optional members `arrays/ADDITION.NAME.npy`. A reader without the addition keeps nothing of it, and predicts the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from gamcore.common.seam import ADDITIONS
from gamcore.io.checks import ModelFileError, ModelFileWarning, require
from gamcore.io.manifest import Saved
from gamcore.io.manifest_bins import Arrays
from gamcore.model.additive import AdditiveModel

MOST_ARRAYS: Final = 8
"""Arrays of an addition in a file."""


@dataclass(frozen=True)
class FilePart:
    """How an addition writes what it keeps with a model to a file, and reads it. It is declared in `addition.py`.

    write : from the model, and what is attached, to a plain JSON entry and arrays of one or two dimensions, by name.
    read : from the model without it, the untrusted entry and the arrays (finite numbers) to the model with it;
        `gamcore.io.checks.require` names a fault.
    fields : manifest fields of files from before additions, which such a file requires.
    read_fields : from the model and the manifest of such a file to the model that it means.
    """

    write: Callable[[AdditiveModel, Any], tuple[dict[str, Any], Arrays]]
    read: Callable[[AdditiveModel, dict[str, Any], Arrays], AdditiveModel]
    fields: tuple[str, ...] = ()
    read_fields: Callable[[AdditiveModel, dict[str, Any]], AdditiveModel] | None = None


def attached_parts(model: AdditiveModel) -> tuple[dict[str, Any], Arrays]:
    """Return the manifest's entries for what is attached to a model, and its arrays."""
    entries: dict[str, Any] = {}
    arrays: Arrays = {}
    for addition, attachment in model.attachments.items():
        if (part := _part(addition)) is not None:
            entry, own = part.write(model, attachment)
            entries[addition] = {"entry": entry, "arrays": list(own)}
            arrays |= {f"{addition}.{name}": array for name, array in own.items()}
    optional = [f"arrays/{name}.npy" for name in arrays]
    return ({"additions": entries} if entries else {}) | ({"optional": optional} if optional else {}), arrays


def attached_names(manifest: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of a file's arrays of the additions that are there."""
    known = {addition: entry for addition, entry in _entries(manifest).items() if _part(addition) is not None}
    return tuple(f"{addition}.{name}" for addition, entry in known.items() for name in entry["arrays"])


def with_attached(saved: Saved, manifest: dict[str, Any], arrays: Arrays) -> Saved:
    """Return a model with what is attached to it; what no addition reads is left out, with a warning."""
    for addition, of_file in _entries(manifest).items():
        part = _part(addition)
        if part is None:
            warnings.warn(
                f"The model file has what the addition {addition[:80]!r} keeps with a model, and this installation of "
                "gamcore is without it: it was left out. The model predicts the same.",
                ModelFileWarning,
                stacklevel=2,
            )
            continue
        if not isinstance(saved.model, AdditiveModel):
            raise ModelFileError("The model file is damaged: additions keep nothing with a model of this kind.")
        own = {name: arrays[f"{addition}.{name}"] for name in of_file["arrays"]}
        saved = replace(saved, model=part.read(saved.model, of_file["entry"], own))
    return saved


def earlier_fields() -> dict[str, FilePart]:
    """Return what reads the fields of files from before additions, by field."""
    return {field: part for part in ADDITIONS.declared(FilePart) for field in part.fields}


def with_earlier(saved: Saved, manifest: dict[str, Any]) -> Saved:
    """Return the model that a file from before additions means, by the fields that it requires."""
    required = set(manifest.get("required", []))
    if not isinstance(saved.model, AdditiveModel) or not required:
        return saved
    for part in ADDITIONS.declared(FilePart):
        if part.read_fields is not None and required & set(part.fields):
            saved = replace(saved, model=part.read_fields(saved.model, manifest))
    return saved


def _part(addition: str) -> FilePart | None:
    """Return the part of files that an addition declares, if it is there and has one."""
    return next(iter(ADDITIONS.declared_by(addition, FilePart)), None)


def _entries(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the checked entries of additions, by name."""
    entries = manifest.get("additions", {})
    require(isinstance(entries, dict), "its additions are not a table")
    for of_file in entries.values():
        fine = isinstance(of_file, dict) and isinstance(of_file.get("entry"), dict)
        names = of_file.get("arrays") if fine else None
        fine = isinstance(names, list) and len(names) <= MOST_ARRAYS and all(isinstance(name, str) for name in names)
        require(fine, "an addition of it is not complete")
    return dict(entries)
