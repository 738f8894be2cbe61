"""A job that is done as soon as it has begun: `python -m tests.support.done RUN_FOLDER`."""

import sys
from pathlib import Path

from shapewise.jobs import process as child

if __name__ == "__main__":
    sys.exit(child.work_on(Path(sys.argv[1]), dict, (), "Doing nothing"))
