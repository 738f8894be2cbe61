"""What a server is told of a cluster: its address, its certificates, and the datasets that may be loaded."""

from __future__ import annotations

import shutil

import pytest

from shapewise.access import cluster
from shapewise.errors import StoreError
from shapewise.ui.session import deployment
from tests.support.certificates import answer_of, certificates_of
from tests.support.pieces import bare_cluster

LAKE = "s3://bank/lake"


@pytest.mark.parametrize(
    "url", [LAKE, f"{LAKE}/renewals", f" {LAKE}/2026/renewals.parquet/ ", "/data/lake/year=2026/a_b.parquet"]
)
def test_what_is_below_an_allowed_place_may_be_loaded(url, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_DATASETS", f"{LAKE}/, /data/lake")
    assert cluster.check_dataset(url) == url.strip().rstrip("/")


@pytest.mark.parametrize("url", [
    "", "/", "s3://bank", "s3://bank/lakes", "s3://bank/lake-secret/x", "s3://other/lake/x", f"{LAKE}/../payroll",
    f"{LAKE}/./x", f"{LAKE}/a/../../payroll", f"{LAKE}/%2e%2e/payroll", f"{LAKE}/x?endpoint_override=evil:80",
    f"{LAKE}/x#y", f"{LAKE}/*", f"{LAKE}\\..\\x", "s3://key:secret@bank/lake/x", "/etc/passwd", "/data/lake/../secret",
    "/data/lakes", "file:///data/lake/x", "http://bank/lake/x", f"{LAKE}/a\nb",
    f"{LAKE}/a\0b", f"{LAKE}/\u202ea", f"{LAKE}/a\u200bb", f"{LAKE}/x::file:///etc", "/data/lake/x::s3://other/y",
])  # fmt: skip
def test_nothing_else_may_be_loaded(url, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_DATASETS", f"{LAKE}/, /data/lake")
    with pytest.raises(StoreError, match="may not be loaded here: give a dataset below s3://bank/lake, /data/lake"):
        cluster.check_dataset(url)


def test_without_a_list_nothing_may_be_loaded(monkeypatch):
    monkeypatch.delenv("SHAPEWISE_DATASETS", raising=False)
    with pytest.raises(StoreError, match="below none"):
        cluster.check_dataset("/data/lake/x")


@pytest.mark.parametrize("address", ["scheduler:8786", "http://scheduler:8786", "tcp://scheduler", "tcp://a b:1"])
def test_a_server_with_a_wrong_address_does_not_start(address, monkeypatch, capsys):
    monkeypatch.setenv("SHAPEWISE_CLUSTER", address)
    (said,) = deployment.lacks()
    assert said.startswith(f"SHAPEWISE_CLUSTER is {address!r}: set it to a scheduler's address")
    with pytest.raises(StoreError, match="set it to a scheduler's address"):
        cluster.workers()


WITH_SECRETS = ["s3://AKIAKEY:SECRETKEY@bank/lake", "s3://AKIAKEY@bank/lake", "/srv/SECRETKEY@home/x",
                "s3://bank/lake?endpoint_override=http://SECRETKEY", "https://u:SECRETKEY@host/lake/", "s3://bank/?SECRETKEY",
                "s3://AKIAKEY:SECRET/KEY@bank/lake"]  # fmt: skip
TOO_WIDE = ["/", "//", "///", ".", "*", "s3://", "s3:///", "s3://bank", "s3://bank/", "s3://bank//", "file:///", "file://",
            "gs://bank", "C:/", "srv/lake", "~", "/srv/../etc", "/srv/lake/*", "/./", "/srv/a b", "..",
            "/srv/a\u202eb", "/srv/a::b"]  # fmt: skip


@pytest.mark.parametrize("place", WITH_SECRETS + TOO_WIDE)
def test_a_place_with_credentials_or_without_a_folder_stops_the_start_and_is_never_shown(place, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_CLUSTER", "tls://scheduler:8786")
    monkeypatch.setenv("SHAPEWISE_DATASETS", f"{LAKE}, {place} ,/data/lake")
    (said,) = deployment.lacks()
    assert said.startswith("SHAPEWISE_DATASETS, place 2: ")
    assert "SECRET" not in said.replace("AWS_SECRET_ACCESS_KEY", "")
    assert cluster.allowed() == [LAKE, "/data/lake"]
    for url in (place, place.rstrip("/") + "/x", "/etc/passwd", "s3://any/x", "s3://bank/x", "./x", "/data/lake/../x"):
        with pytest.raises(StoreError, match="may not be loaded here") as refused:
            cluster.check_dataset(url)
        assert "SECRET" not in str(refused.value).replace(repr(url.rstrip("/")[:200]), "")


@pytest.mark.parametrize(
    "place", [LAKE, "/srv", "/data/lake/", "file:///srv/x", "gs://bank/a_b-c", "C:/lake", "//host/lake"]
)
def test_a_folder_is_a_place_of_datasets(place, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_CLUSTER", "tls://scheduler:8786")
    monkeypatch.setenv("SHAPEWISE_DATASETS", place)
    assert deployment.lacks() == []
    assert cluster.check_dataset(f"{place}/x") == f"{place}/x"


@pytest.mark.parametrize("address", ["tcp://me:SECRET@scheduler:8786", "tls://SECRET@scheduler:8786", "tcp://SECRET@x"])
def test_a_password_in_the_address_of_the_scheduler_is_not_shown(address, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_CLUSTER", address)
    (said,) = deployment.lacks()
    assert "SECRET" not in said
    with pytest.raises(StoreError) as refused:
        cluster.workers()
    assert "SECRET" not in str(refused.value)


def test_datasets_need_a_cluster(monkeypatch):
    monkeypatch.setenv("SHAPEWISE_DATASETS", LAKE)
    (said,) = deployment.lacks()
    assert said.startswith("SHAPEWISE_DATASETS is set, but nobody reads them: set SHAPEWISE_CLUSTER")


@pytest.mark.parametrize("address", ["", "tcp://scheduler:8786", "tls://10.0.0.1:8786"])
def test_a_server_with_a_right_address_or_none_starts(address, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_CLUSTER", address)
    assert deployment.lacks() == []


def test_a_server_says_at_its_start_what_the_cluster_has(monkeypatch, caplog):
    monkeypatch.setattr(deployment, "_looking", [])
    monkeypatch.setattr(cluster, "WAIT_SECONDS", 0.5)
    monkeypatch.setenv("SHAPEWISE_CLUSTER", "tcp://127.0.0.1:1")
    deployment.look_at_cluster()
    deployment._looking[0].join()
    assert "The cluster at tcp://127.0.0.1:1 does not answer" in caplog.text
    deployment.look_at_cluster()
    assert len(deployment._looking) == 1


@pytest.fixture
def certificates(tmp_path):
    """The environment of those who have a certificate of a cluster's own authority."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing")
    return certificates_of(tmp_path)


@pytest.mark.slow
def test_certificates_are_those_of_dask(certificates, tmp_path):
    with bare_cluster(tmp_path, 1, certificates) as made:
        address = made.client.scheduler.address
        assert address.startswith("tls://")
        assert answer_of(address, certificates) == "1\n"
        assert "does not answer" in answer_of(address, {})
