"""Addresses of databases and stores hold passwords: no error shows them, wherever the address is wrong."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapewise.errors import StoreError, without_secrets
from shapewise.store.workspace import Workspace

DATABASES = [
    "postgresql://user:SECRET@127.0.0.1:1/db", "postgresql://user:SECRET@127.0.0.1:x/db", "mysql://user:SECRET@h/db",
    "postgres://user:SECRET@h/db", "user:SECRET@h", "postgresql://user:p@SECRET@127.0.0.1:1/db", "SECRET",
    "postgresql://user:a/SECRET@127.0.0.1:1/db", "postgresql://127.0.0.1:1/db?password=SECRET",
    " postgresql://user:SECRET@h/db", "postgresql://user:SECRET@[::1/db",
]  # fmt: skip
STORES = [
    "nope://KEY:SECRET@bucket/x", "ftp://user:SECRET@127.0.0.1:1/x", "ftp://user:p@SECRET@127.0.0.1:1/x",
    "file:///proc/1/nothing?token=SECRET", "KEY:SECRET@bucket", "SECRET/folder",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "url"), [*(("META", one) for one in DATABASES), *(("OBJECTS", one) for one in STORES)]
)
def test_a_wrong_address_is_told_in_a_sentence_without_its_secrets(name, url, tmp_path, monkeypatch):
    monkeypatch.setenv(f"GAMCORE_{name}_URL", url)
    with pytest.raises(StoreError) as refused:
        Workspace(tmp_path / "space").tables.listed()
    assert "SECRET" not in "".join(traceback.format_exception(refused.value))  # the log has no more
    assert str(refused.value).startswith((f"GAMCORE_{name}_URL is ", "The workspace's records cannot be reached",
                                          "The store of GAMCORE_OBJECTS_URL cannot be reached"))  # fmt: skip


WORD = st.text("abcXYZ019!$.-_", min_size=3, max_size=12)


@given(WORD, st.lists(WORD, min_size=1, max_size=3), st.sampled_from("@:/"))
def test_no_piece_of_who_asks_is_left(user, pieces, sign):
    password = sign.join(pieces)
    url = f"postgresql://{user}:{password}@host/db"
    for said in (url, f"cannot resolve {pieces[-1]}@host", f"no user {user!r}", f"bad port {password!r}"):
        assert not any(piece in without_secrets(said, url) for piece in (user, password, *pieces))
