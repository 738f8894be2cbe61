"""Programs that each run in a process of its own, forked from one that has imported what they all need: the libraries,
which take longer to import than most programs run."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, BinaryIO

import psutil

from tests.support.places import ROOT


@dataclass(frozen=True)
class Program:
    """Code to run in the folder `place`, where it looks for modules first. arguments : those of its command line."""

    name: str
    code: str
    place: str
    arguments: Sequence[str] = ()


@dataclass(frozen=True)
class Result:
    """How a program ended, 0 if it went well, and what it printed."""

    code: int
    text: str


class Forks:
    """The process whose forks are programs: each may have other variables of the environment than it has itself.

    imports : modules that the programs share."""

    def __init__(self, imports: Iterable[str], **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forks", *imports], cwd=ROOT, env={**os.environ, **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def start(self, program: Program, environment: Mapping[str, str]) -> psutil.Process:
        """Start a program that goes on by itself."""
        return psutil.Process(self._ask(program, environment, waits=False)["number"])

    def run(self, program: Program, environment: Mapping[str, str] | None = None) -> Result:
        """Run a program to its end."""
        return Result(**self._ask(program, environment or {}, waits=True))

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process; programs that were started go on."""
        self._process.terminate()
        self._process.communicate()

    def _ask(self, program: Program, environment: Mapping[str, str], *, waits: bool) -> dict[str, Any]:
        request, answer = self._process.stdin, self._process.stdout
        assert request is not None
        assert answer is not None
        asked = {"program": asdict(program), "environment": dict(environment), "waits": waits}
        print(json.dumps(asked), file=request, flush=True)
        line = answer.readline()
        assert line, "the process that is forked has ended"
        told: dict[str, Any] = json.loads(line)
        return told


def failures(programs: Sequence[Program], imports: Sequence[str], **environment: str) -> dict[str, str]:
    """Run programs, one after the other; return what those that fail print, by their names.

    imports : modules that the programs share."""
    with Forks(imports, **environment) as forks:
        results = {program.name: forks.run(program) for program in programs}
    return {name: f"ended with {result.code}: {result.text}" for name, result in results.items() if result.code}


def _run(asked: Mapping[str, Any], printed: BinaryIO) -> None:
    """Run a program, which prints to a file, and end this process."""
    code, program = 1, asked["program"]
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
        os.environ.update(asked["environment"])
        os.chdir(program["place"])
        sys.path.insert(0, program["place"])
        sys.argv = [program["name"], *program["arguments"]]
        exec(compile(program["code"], program["name"], "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as end:
        code = int(bool(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _forked(asked: Mapping[str, Any], printed: BinaryIO) -> int:
    """Fork this process to run a program; return the number of the fork."""
    number = os.fork()
    if not number:
        _run(asked, printed)
    return number


def main(imports: Sequence[str]) -> None:
    """Run the programs that lines of the input ask for, until it ends; answer each by a line."""
    gc.disable()
    for name in imports:
        import_module(name)
    gc.freeze()  # the forks' search for garbage would copy all that is shared
    gc.enable()
    going: set[int] = set()

    def bury(*_: object) -> None:
        for number in list(going):
            with suppress(ChildProcessError):
                if os.waitpid(number, os.WNOHANG)[0]:
                    going.discard(number)

    signal.signal(signal.SIGCHLD, bury)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["waits"]:
            with TemporaryFile() as printed:
                _, status = os.waitpid(_forked(asked, printed), 0)
                printed.seek(0)
                text = printed.read().decode("utf-8", "replace")
            answer = {"code": os.waitstatus_to_exitcode(status), "text": text}
        else:
            with Path(os.devnull).open("wb") as nowhere:
                number = _forked(asked, nowhere)
            going.add(number)
            answer = {"number": number}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
