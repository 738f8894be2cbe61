"""Clusters with TLS: certificates of an authority of their own, and what a program that has them is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.forks import Program
from tests.support.pieces import dask_forks
from tests.support.places import ROOT


def certificates_of(folder: Path, name: str = "cluster") -> dict[str, str]:
    """Make a certificate that is its own authority; return the variables by which Dask finds it."""
    folder.mkdir(exist_ok=True)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={name}"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = {"CA_FILE": certificate}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        tls |= {f"{role}__KEY": key, f"{role}__CERT": certificate}
    return {f"DASK_DISTRIBUTED__COMM__TLS__{part}": str(path) for part, path in tls.items()}


def answer_of(address: str, variables: dict[str, str], seconds: float = 5.0) -> str:
    """Return what a program with these variables prints of the workers at an address. seconds : its patience."""
    code = (
        "import dask\ndask.config.refresh()\n"
        "from shapewise.access import cluster\nfrom shapewise.errors import StoreError\n"
        f"cluster.WAIT_SECONDS = {seconds}\n"
        "try: print(cluster.workers().number)\nexcept StoreError as error: print(error)"
    )
    program = Program("answer", code, str(ROOT))
    return dask_forks().run(program, {"SHAPEWISE_CLUSTER": address, **variables}).text
