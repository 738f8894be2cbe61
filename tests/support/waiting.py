"""A job that only waits until it is cancelled."""

import time

from shapewise.jobs import process as child


def wait(folder):
    while True:
        child.look_for_a_stop(folder)
        time.sleep(0.05)


def main(folder):
    return child.work_on(folder, lambda: wait(folder), (), "Waiting")
