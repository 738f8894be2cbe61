"""Memory of a server that many use: what reruns have freed goes back to the system."""

from __future__ import annotations

import gc
import threading
import time
from typing import Final

from gamcore.workspace.memory import few_arenas, give_back, give_back_early, no_pool

SECONDS: Final = 20.0


def settle() -> None:
    """Once a server: look no more at the libraries' objects, and give freed memory back from time to time."""
    gc.collect()
    gc.freeze()
    few_arenas()  # each rerun is a thread of its own
    give_back_early()  # else, where many reruns meet, what is freed between what they keep stays with the server
    no_pool()
    threading.Thread(target=_give_back, daemon=True, name="memory").start()


def _give_back() -> None:
    while True:
        time.sleep(SECONDS)
        gc.collect()  # figures are cycles, and hold arrays that Python's own collector does not count
        give_back()
