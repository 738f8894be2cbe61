"""A job that only waits until it is cancelled: `python -m tests.support.waiting RUN_FOLDER`."""

import sys
import time
from pathlib import Path

from shapewise.jobs import process as child


def wait(folder):
    while True:
        child.look_for_a_stop(folder)
        time.sleep(0.05)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.exit(child.work_on(folder, lambda: wait(folder), (), "Waiting"))
