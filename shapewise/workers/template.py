"""The child process that looks at a house template: a file of unknown worth stays out of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gamcore.viz.files.pptx_package import TemplateError
from gamcore.viz.files.pptx_template import checked
from shapewise.errors import StoreError
from shapewise.processes import outcome, write_end
from shapewise.store.atomic_files import keep_spare


def main(argument: str) -> None:
    """Check the file `given` in a folder and write what is kept of it as template.pptx."""
    folder = Path(argument)
    keep_spare(folder)

    def work() -> dict[str, Any]:
        (folder / "template.pptx").write_bytes(checked((folder / "given").read_bytes()))
        return {}

    write_end(folder, outcome(work, (TemplateError, StoreError), "The template needs more memory than there is."))
