"""Whether a file was written by this workspace: a keyed checksum, and the key, which never leaves its folder.

The checksums inside a model file tell that it is whole; anybody can make them. This one only who has the key can.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from gamcore.workspace.files import new_folder

KEY_BYTES: Final = 32


class SigningError(ValueError):
    """A key that must not be used; the message names its file and the way out."""


def sign(data: bytes, key: bytes) -> str:
    """HMAC-SHA256 of a file's content, 64 hexadecimal digits."""
    if len(key) != KEY_BYTES:
        raise SigningError(f"A signing key has {KEY_BYTES} bytes, not {len(key)}: take the one of key_of.")
    return hmac.new(key, data, hashlib.sha256).hexdigest()


def is_signed_by(data: bytes, signature: str, key: bytes) -> bool:
    """Whether a signature, which may be any text, is that of the data; takes as long wherever the two differ."""
    return hmac.compare_digest(sign(data, key).encode(), signature.encode("utf-8", "replace"))


def key_of(folder: Path) -> bytes:
    """The 32 bytes of a folder's key, made at the first call; of processes that make one at once, one wins.

    SigningError where others could have read or put the key there.
    """
    path = folder / "signing" / "key"
    if not path.exists() and not path.is_symlink():
        _make(path)
    return _read(path)


def _make(path: Path) -> None:
    with new_folder(path.parent) as made:
        made.chmod(0o700)
        handle = os.open(made / path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())


def _read(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        raise SigningError(f"The signing key {path} cannot be read: {error.strerror}.") from error
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(file.fileno())
        foreign = os.name != "nt" and (state.st_uid != os.getuid() or bool(stat.S_IMODE(state.st_mode) & 0o077))
        if foreign:
            raise SigningError(f"The signing key {path} is open to others: make it yours alone, with mode 0600.")
        key = file.read(KEY_BYTES + 1)
    if len(key) != KEY_BYTES:
        raise SigningError(f"The signing key {path} is damaged: restore it, or delete it and sign every file anew.")
    return key
