"""The child process that looks at a house template: a file of unknown worth stays out of the server."""

from __future__ import annotations

from pathlib import Path

from gamcore.viz.files.pptx_package import TemplateError
from gamcore.viz.files.pptx_template import checked
from shapewise.errors import StoreError, room
from shapewise.processes import write_end
from shapewise.store.atomic_files import keep_spare


def main(argument: str) -> None:
    """Check the file `given` in a folder and write what is kept of it as template.pptx."""
    folder = Path(argument)
    keep_spare(folder)
    try:
        with room():
            (folder / "template.pptx").write_bytes(checked((folder / "given").read_bytes()))
    except (TemplateError, StoreError) as error:
        write_end(folder, {"state": "failed", "message": str(error)})
    except MemoryError:
        write_end(folder, {"state": "failed", "message": "The template needs more memory than there is."})
    else:
        write_end(folder, {"state": "done"})
