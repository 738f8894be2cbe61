"""The files that start a cluster for a team: their commands run, and what is named in them exists."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
import yaml
from dask.utils import parse_bytes
from distributed import Client

from shapewise.access import cluster
from tests.support.pages_of_docs import DOCS
from tests.support.places import ROOT
from tests.support.serving import free_port

pytestmark = pytest.mark.slow

COMPOSE, KUBERNETES = (DOCS / "deploy" / name for name in ("compose.yaml", "kubernetes.yaml"))
FILES = {path.name: path for path in (COMPOSE, KUBERNETES)}
PARTS = ("scheduler", "worker")
SECONDS = 60


def objects(kind):
    """Return the objects of a kind in the Kubernetes file."""
    return [one for one in yaml.safe_load_all(KUBERNETES.read_text(encoding="utf-8")) if one["kind"] == kind]


def services():
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]


def containers():
    """Return the containers in the Kubernetes file by their names."""
    return {
        one["name"]: one for made in objects("Deployment") for one in made["spec"]["template"]["spec"]["containers"]
    }


def command(file, part):
    """Return the words of the command of a part of the cluster."""
    of_part = services()[part] if file == COMPOSE.name else containers()[part]
    words = of_part["command"]
    return shlex.split(words) if isinstance(words, str) else words


def option(words, name):
    return words[words.index(name) + 1]


def changed(words, **options):
    """Return a command with other values of some of its options."""
    given = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    assert given.keys() <= set(words)
    return [given.get(before, word) for before, word in zip(["", *words], words, strict=False)]


def settings(file):
    """Return the variables that the app has by a file."""
    if file == COMPOSE.name:
        return services()["app"]["environment"]
    return {one["name"]: one["value"] for one in containers()["app"]["env"]}


def templates():
    """Return the labels of the pods of each deployment."""
    return [made["spec"]["template"]["metadata"]["labels"] for made in objects("Deployment")]


def selected(labels):
    """Return the parts that a selector selects."""
    return {pod["part"] for pod in templates() if labels.items() <= pod.items()}


@pytest.mark.parametrize("part", PARTS)
def test_both_files_start_a_part_by_the_same_command(part):
    one, other = ([re.sub(r"//[^:]+:", "//", word) for word in command(file, part)] for file in FILES)
    assert one == other


@pytest.mark.parametrize("file", FILES)
def test_the_commands_make_a_cluster_that_the_app_can_use(file, tmp_path, monkeypatch):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = changed(command(file, "scheduler"), host="127.0.0.1", port=str(port))
    worker = changed(command(file, "worker"), memory_limit="1GiB", local_directory=str(tmp_path))
    worker = [address if word.startswith("tcp://") else word for word in worker]
    started = []
    try:
        for program, *words in (scheduler, worker):
            assert program == "dask"
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            started.append(subprocess.Popen([sys.executable, "-m", "dask", *words], cwd=tmp_path, **quiet))
        with Client(address, timeout=SECONDS, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=SECONDS)
        monkeypatch.setenv("SHAPEWISE_CLUSTER", address)
        there = cluster.workers()
        assert (there.number, there.threads, there.memory) == (1, int(option(worker, "--nthreads")), 2**30)
        assert any(tmp_path.iterdir())
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


@pytest.mark.parametrize("file", FILES)
def test_workers_and_the_app_know_the_scheduler_by_one_address(file, monkeypatch):
    for name, value in settings(file).items():
        monkeypatch.setenv(name, value)
    assert cluster.misconfigured() == []
    assert cluster.address() == command(file, "worker")[2]
    assert cluster.address().endswith(f":{option(command(file, 'scheduler'), '--port')}")
    (place,) = cluster.allowed()
    assert cluster.check_dataset(f"{place}/renewals") == f"{place}/renewals"


def test_the_address_names_the_scheduler():
    assert cluster.FORM.fullmatch(command(COMPOSE.name, "worker")[2])
    assert command(COMPOSE.name, "worker")[2].startswith("tcp://scheduler:")
    (service,) = (one for one in objects("Service") if selected(one["spec"]["selector"]) == {"scheduler"})
    (port,) = (one["port"] for one in service["spec"]["ports"])
    assert command(KUBERNETES.name, "worker")[2] == f"tcp://{service['metadata']['name']}:{port}"


def test_every_selector_matches_pods():
    for made in objects("Deployment"):
        labels = made["spec"]["template"]["metadata"]["labels"]
        assert made["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert selected(labels) == {labels["part"]}
    for service in objects("Service"):
        assert len(selected(service["spec"]["selector"])) == 1
        ports = {
            one["containerPort"]
            for part in selected(service["spec"]["selector"])
            for one in containers()[part]["ports"]
        }
        assert {one["port"] for one in service["spec"]["ports"]} == ports


@pytest.mark.parametrize(
    ("part", "others", "ports"),
    [("scheduler", {"app", "worker"}, [8786]), ("worker", {"app", "worker", "scheduler"}, [])],
)
def test_only_parts_of_the_cluster_and_the_app_reach_it(part, others, ports):
    (policy,) = (
        one["spec"] for one in objects("NetworkPolicy") if selected(one["spec"]["podSelector"]["matchLabels"]) == {part}
    )
    (rule,) = policy["ingress"]
    assert policy["policyTypes"] == ["Ingress"]
    assert set().union(*(selected(one["podSelector"]["matchLabels"]) for one in rule["from"])) == others
    assert [one["port"] for one in rule.get("ports", [])] == ports


def test_only_the_app_is_on_a_network_with_a_way_out():
    made = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    assert made["networks"] == {"cluster": {"internal": True}}
    on = {name: set(service["networks"]) for name, service in made["services"].items()}
    assert on == {"scheduler": {"cluster"}, "worker": {"cluster"}, "app": {"cluster", "default"}}
    assert [name for name, service in made["services"].items() if "ports" in service or "env_file" in service] == [
        "app"
    ]


def test_a_worker_stays_below_the_limit_of_its_container():
    of_compose = services()["worker"]["deploy"]["resources"]["limits"]
    resources = containers()["worker"]["resources"]
    assert resources["requests"] == resources["limits"]
    for file, limits in ((COMPOSE.name, of_compose), (KUBERNETES.name, resources["limits"])):
        assert parse_bytes(option(command(file, "worker"), "--memory-limit")) < parse_bytes(limits["memory"])
        cores = limits["cpus" if file == COMPOSE.name else "cpu"]
        assert option(command(file, "worker"), "--nthreads") == cores


@pytest.mark.parametrize("file", FILES)
def test_every_variable_is_one_that_the_source_reads(file):
    sources = "".join(
        path.read_text(encoding="utf-8") for of in ("shapewise", "gamcore") for path in (ROOT / of).rglob("*.py")
    )
    named = set(re.findall(r"\b(?:SHAPEWISE|GAMCORE)_[A-Z_]+", FILES[file].read_text(encoding="utf-8")))
    assert {"SHAPEWISE_CLUSTER", "SHAPEWISE_DATASETS"} <= named
    assert not [name for name in named if not re.search(rf"\b{name}\b", sources)]


def test_the_image_has_what_both_files_ask_for():
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (extras,) = re.findall(r"\.\[(.+?)\]", image)
    assert {"shared", "cluster"} <= set(extras.split(","))
    for made in objects("Deployment"):
        user = made["spec"]["template"]["spec"]["securityContext"]
        assert user["runAsNonRoot"]
        assert f"--uid {user['runAsUser']} " in image
    folders = re.findall(r'VOLUME \["(.+?)", "(.+?)"\]', image)[0]
    assert option(command(COMPOSE.name, "worker"), "--local-directory") in folders
    assert (COMPOSE.parent / services()["app"]["build"] / "Dockerfile").is_file()
