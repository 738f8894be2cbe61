"""Files for the rows of a fit, for tables larger than memory.

Codes are stored in chunks, a line per feature in each; targets, weights, clusters and buckets have a file each. The
files are unnamed, so they vanish with the process however it ends. They are not memory-mapped, since mapped pages would
count as memory in use.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import CODE

ROW_BYTES: Final = 8 + 8 + 8 + 2
"""Bytes of a row on disk besides its codes: target, weight, cluster, bucket."""


class Files:
    """Columns of rows in unnamed files, and codes (p, m) in chunks as written."""

    def __init__(self, folder: Path, n_features: int, code: type = CODE) -> None:
        self.n_features, self.code, self.chunks = n_features, code, [0]
        self._lock = threading.Lock()  # concurrent refits share the file positions
        names = ("codes", "y", "weight", "log_exposure", "cluster", "bucket", "task")
        self._files: dict[str, IO[bytes]] = {name: tempfile.TemporaryFile(dir=folder) for name in names}  # noqa: SIM115

    @property
    def n_rows(self) -> int:
        """Rows written so far."""
        return self.chunks[-1]

    def write(self, codes: Codes, **columns: NDArray[Any]) -> None:
        """Append a chunk of rows: codes (p, m) and the columns y, weight, log_exposure, cluster, bucket, task (m,)."""
        self._files["codes"].write(np.ascontiguousarray(codes).data)
        for name, values in columns.items():
            self._files[name].write(np.ascontiguousarray(values).data)
        self.chunks.append(self.n_rows + codes.shape[1])

    def _read(self, name: str, dtype: type, first: int, shape: tuple[int, ...]) -> NDArray[Any]:
        values: NDArray[Any] = np.empty(shape, dtype)
        file = self._files[name]
        with self._lock:
            file.seek(first * values.itemsize)
            if file.readinto(values.reshape(-1).view(np.uint8).data) != values.nbytes:  # type: ignore[attr-defined]
                raise OSError(f"The file of the table's {name} on disk was truncated.")
        return values

    def column(self, name: str, dtype: type, first: int, end: int) -> NDArray[Any]:
        """Return the rows first .. end - 1 of a column."""
        return self._read(name, dtype, first, (end - first,))

    def codes_of(self, chunk: int) -> Codes:
        """Return the codes (p, m) of a chunk."""
        first, end = self.chunks[chunk : chunk + 2]
        return self._read("codes", self.code, first * self.n_features, (self.n_features, end - first))

    def close(self) -> None:
        """Close the files, which frees their disk space."""
        for file in self._files.values():
            file.close()
