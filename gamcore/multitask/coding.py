"""A piece of a table as coded rows of several tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.types import Bools, Codes, Ints
from gamcore.data.table import Table
from gamcore.distributed.coding import Coding
from gamcore.multitask.tables import UNKNOWN, TaskRows, places, read_labels, training_codes


@dataclass(frozen=True)
class TaskCoding(Coding):
    """How pieces become codes. names, owned, of_task : the tasks, which columns they have (T, p), their codes (T,)."""

    names: tuple[Any, ...]
    owned: Bools
    of_task: Ints

    @property
    def n_lines(self) -> int:
        """Lines of codes: of the features, and of the task."""
        return len(self.bins) + 1

    def codes(self, rows: pd.DataFrame) -> Codes:
        """Return the codes (p + 1, m) of training rows."""
        task = self._places(rows)
        of_tasks = TaskRows(Table(rows.reset_index(drop=True)), task, self.names, {})
        return training_codes(of_tasks, self.bins, self.owned, self.of_task)

    def tasks(self, rows: pd.DataFrame) -> NDArray[np.int32]:
        """Return the index (m,) of each row's task."""
        return self._places(rows).astype(np.int32)

    def _places(self, rows: pd.DataFrame) -> Ints:
        task = places(read_labels(rows[self.roles.task], len(rows)), self.names)
        assert not (task == UNKNOWN).any()
        return task
