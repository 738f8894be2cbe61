"""Rewriting of model files."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np


def rewrite(data, change=None, arrays=None, keep=None, extra=None):
    """Return the archive with a changed manifest or other members, and corrected checksums."""
    import hashlib

    source = zipfile.ZipFile(io.BytesIO(data))
    members = {name: source.read(name) for name in source.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    for name, array in (arrays or {}).items():
        out = io.BytesIO()
        np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
        members[f"arrays/{name}.npy"] = out.getvalue()
    manifest["members"] = {n: {"sha256": hashlib.sha256(d).hexdigest(), "bytes": len(d)} for n, d in members.items()}
    if change:
        change(manifest)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        archive.writestr("manifest.json", text)
        for name, content in {**members, **(extra or {})}.items():
            if keep is None or keep(name):
                archive.writestr(name, content)
    return out.getvalue()


def array_of(data, name):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return np.load(io.BytesIO(archive.read(f"arrays/{name}.npy")))


def put(path, value):
    def change(manifest):
        place = manifest
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change
