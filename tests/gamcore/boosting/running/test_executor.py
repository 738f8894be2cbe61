"""Work shared between threads: order, errors, and the caller's share."""

from __future__ import annotations

import threading
import time

import pytest

from gamcore.boosting.running.executor import Serial, Threads, make_executor


@pytest.mark.parametrize("n_workers", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 2, 7, 40])
def test_results_come_in_the_order_of_the_items(n_workers, n_items):
    executor = make_executor(n_workers)
    assert executor.map(lambda k: k * k, range(n_items)) == [k * k for k in range(n_items)]
    assert executor.n_workers == n_workers
    executor.close()


def test_the_caller_takes_part_and_each_worker_runs_at_once():
    executor = Threads(3)
    meet = threading.Barrier(3, timeout=60)
    names = executor.map(lambda _: (meet.wait(), threading.current_thread().name)[1], range(3))
    executor.close()
    assert len(set(names)) == 3
    assert threading.current_thread().name in names


@pytest.mark.parametrize("failing", [0, 1, 3])
def test_an_error_is_raised_and_what_has_not_begun_is_dropped(failing):
    executor = Threads(2)
    begun = []

    def work(k):
        begun.append(k)
        if k == failing:
            raise ValueError(f"piece {k}")
        time.sleep(0.01)

    with pytest.raises(ValueError, match=f"piece {failing}"):
        executor.map(work, range(200))
    assert len(begun) < 20
    assert executor.map(lambda k: k, range(3)) == [0, 1, 2]  # the pool lives on
    executor.close()


def test_one_worker_is_the_caller():
    assert isinstance(make_executor(1), Serial)
    assert Serial().map(lambda _: threading.current_thread(), [0]) == [threading.current_thread()]
