"""Signatures of files: only the key's owner makes them, and the key is the owner's alone."""

from __future__ import annotations

import hashlib
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamcore.workspace.signing import KEY_BYTES, SigningError, is_signed_by, key_of, sign

KEYS = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)
POSIX = pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")


def by_definition(data, key):
    """RFC 2104, for keys shorter than a block."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + data).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).hexdigest()


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300), KEYS)
def test_a_signature_is_the_hmac_of_the_data(data, key):
    assert sign(data, key) == by_definition(data, key)
    assert is_signed_by(data, sign(data, key), key)


@settings(max_examples=50, deadline=None)
@given(st.binary(min_size=1, max_size=300), KEYS, st.data())
def test_another_bit_of_data_or_key_is_another_signature(data, key, drawn):
    signature = sign(data, key)
    for of_key, whole in ((False, data), (True, key)):
        place = drawn.draw(st.integers(0, 8 * len(whole) - 1))
        other = bytearray(whole)
        other[place // 8] ^= 1 << place % 8
        assert not is_signed_by(data if of_key else bytes(other), signature, bytes(other) if of_key else key)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=80))
def test_any_other_text_is_no_signature(text):
    assert not is_signed_by(b"data", text, bytes(KEY_BYTES))
    assert not is_signed_by(b"data", sign(b"data", bytes(KEY_BYTES)).upper() + text, bytes(KEY_BYTES))


@pytest.mark.parametrize("text", ["", "\ud800", "é" * 64, "0" * 64])
def test_odd_text_is_no_signature(text):
    assert not is_signed_by(b"", text, bytes(KEY_BYTES))


@pytest.mark.parametrize("key", [b"", b"short", bytes(33)])
def test_a_key_of_another_length_signs_nothing(key):
    with pytest.raises(SigningError, match="32 bytes"):
        sign(b"", key)


def test_a_folder_keeps_its_key(tmp_path):
    key = key_of(tmp_path / "one")
    assert len(key) == KEY_BYTES
    assert key_of(tmp_path / "one") == key
    assert key_of(tmp_path / "two") != key
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["signing"]


@POSIX
def test_the_key_is_the_owners_alone_from_the_first_moment(tmp_path, monkeypatch):
    modes = []
    real = os.fsync

    def fsync(handle):
        modes.append(os.fstat(handle).st_mode)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    before = os.umask(0)
    try:
        key_of(tmp_path)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(mode) for mode in modes if stat.S_ISREG(mode)] == [0o600]
    assert stat.S_IMODE((tmp_path / "signing" / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "signing").stat().st_mode) == 0o700


def test_threads_that_make_a_key_at_once_have_the_same(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        for turn in range(10):
            folder = tmp_path / str(turn)
            keys = set(pool.map(lambda _, folder=folder: key_of(folder), range(8)))
            assert len(keys) == 1
            assert [path.name for path in folder.iterdir()] == ["signing"]


def test_nothing_is_left_of_a_key_that_could_not_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        key_of(tmp_path)
    assert list(tmp_path.iterdir()) == []


@POSIX
@pytest.mark.parametrize("mode", [0o644, 0o660, 0o601])
def test_a_key_that_others_may_read_is_refused(tmp_path, mode):
    key_of(tmp_path)
    (tmp_path / "signing" / "key").chmod(mode)
    with pytest.raises(SigningError, match="mode 0600"):
        key_of(tmp_path)


@POSIX
@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_link_in_the_place_of_the_key_is_not_followed(tmp_path, target):
    (tmp_path / "there").write_bytes(bytes(KEY_BYTES))
    (tmp_path / "there").chmod(0o600)
    (tmp_path / "signing").mkdir()
    (tmp_path / "signing" / "key").symlink_to(tmp_path / target)
    with pytest.raises(SigningError, match="cannot be read"):
        key_of(tmp_path)


@pytest.mark.parametrize("content", [b"", bytes(31), bytes(33)])
def test_a_key_cut_short_is_refused_and_stays(tmp_path, content):
    key_of(tmp_path)
    path = tmp_path / "signing" / "key"
    path.write_bytes(content)
    with pytest.raises(SigningError, match="damaged"):
        key_of(tmp_path)
    assert path.read_bytes() == content
