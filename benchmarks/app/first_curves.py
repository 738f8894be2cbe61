"""The curves of the first screen, trained anew: `python -m benchmarks.app.first_curves`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from shapewise.decisions import guided_example as example
from shapewise.store.workspace import Workspace
from shapewise.training.train import add_bands, train
from shapewise.ui.data.first_screen import MODEL


def main() -> None:
    """Train the model, and write it where the first screen reads it."""
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder) / "space")
        about = train(space, example.first_spec(example.load(space, example.FUNNEL)))
        add_bands(space, about.id)
        shutil.copyfile(space.models.path(about.id), MODEL)
    print(f"{MODEL}: {MODEL.stat().st_size} bytes")


if __name__ == "__main__":
    main()
