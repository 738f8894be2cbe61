"""Programs that each run in a process of its own, forked from one that has imported what they all need: the libraries,
which take longer to import than most programs run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from tempfile import TemporaryFile
from typing import Any

from tests.support.places import ROOT


@dataclass(frozen=True)
class Program:
    """Code to run in the folder `place`, where it looks for modules first. arguments : those of its command line."""

    name: str
    code: str
    place: str
    arguments: Sequence[str] = ()


def failures(programs: Sequence[Program], imports: Sequence[str], **environment: str) -> dict[str, str]:
    """Run programs, one after the other; return what those that fail print, by their names.

    imports : modules that the programs share."""
    given = json.dumps({"imports": imports, "programs": [asdict(program) for program in programs]})
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.forks"], input=given, cwd=ROOT, env={**os.environ, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    failed: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return failed


def _run(program: Mapping[str, Any], printed: int) -> None:
    """Run a program, which prints to a file, and end this process."""
    code = 1
    try:
        for stream in (1, 2):
            os.dup2(printed, stream)
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


def _failure(program: Mapping[str, Any]) -> str:
    """Run a program in a fork; return what it printed, or nothing if it went well."""
    with TemporaryFile() as printed:
        child = os.fork()
        if not child:
            _run(program, printed.fileno())
        _, status = os.waitpid(child, 0)
        printed.seek(0)
        text = printed.read().decode("utf-8", "replace")
    return "" if status == 0 else f"ended with {os.waitstatus_to_exitcode(status)}: {text}"


def main() -> None:
    """Run the programs that the input names; print the failures."""
    given = json.load(sys.stdin)
    for name in given["imports"]:
        import_module(name)
    failed = {program["name"]: text for program in given["programs"] if (text := _failure(program))}
    print(json.dumps(failed))


if __name__ == "__main__":
    main()
