"""A job that only reports its limits: `python -m tests.support.telling RUN_FOLDER`."""

import sys
from dataclasses import asdict
from pathlib import Path

from shapewise.jobs import queue as jobs
from shapewise.store.atomic_files import write_json

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_json(folder / "end.json", {"state": "done", "message": "", **asdict(jobs.space_of(folder).limits)})
