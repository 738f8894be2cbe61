"""The models of a workspace: `.gamx` files and their descriptions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gamcore.boosting.updating.tables import KeptTables
from gamcore.common.types import Floats
from gamcore.decide.unseen import Unseen
from gamcore.io import gamx
from gamcore.io.manifest import Saved
from gamcore.io.tables_file import load_tables, save_tables
from gamcore.model.additive import AdditiveModel
from gamcore.multitask.model import TaskModel
from shapewise.errors import DeniedError, room
from shapewise.store import records
from shapewise.store.atomic_files import scratch_file, scratch_folder
from shapewise.store.database import once
from shapewise.store.items import Things
from shapewise.store.names import clean_name, known, new_id
from shapewise.store.parts import read_expected, read_unseen
from shapewise.store.records import now

MAX_NOTE = 2_000


@dataclass(frozen=True)
class ModelAbout:
    """The description of a stored model; `metrics` are computed on the held-out rows."""

    id: str
    name: str
    table: str
    table_name: str
    target: str
    kind: str
    created: str
    seconds: float
    metrics: dict[str, float] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    n_pairs: int = 0
    tasks: list[dict[str, Any]] = field(default_factory=list)  # a `task_dataset.TaskScore` each
    bands: int = 0  # number of half-sample refits
    headlines: dict[str, str] = field(default_factory=dict)  # titles given to plots, by the names of their features
    notes: dict[str, str] = field(default_factory=dict)  # notes on plots, by the same names
    part_of: str = ""  # id of the model that it is a part of; `part` says which part
    part: str = ""
    project: str = ""  # see projects.py
    steps: list[dict[str, Any]] = field(default_factory=list)  # those of its table: what its columns are computed from
    counted: bool = False  # whether counts of its rows are kept beside it, so that rows can be added
    drift: list[dict[str, Any]] = field(default_factory=list)  # of the rows added last: `gamcore.estimators.updating`
    edits: list[dict[str, Any]] = field(default_factory=list)  # by hand, as plain values
    edited_from: str = ""  # id of the model that it is an edited copy of
    edited_from_name: str = ""
    edits_left: list[str] = field(default_factory=list)  # of an earlier model, in words, that did not fit this one
    learnt_around: bool = False  # whether what was not edited was learnt anew around the edits
    on_cluster: bool = False  # whether the workers of a cluster trained it
    apart: list[dict[str, Any]] = field(default_factory=list)  # features that tell the arms apart (`training.effects`)
    unseen: list[str] | None = None  # columns of the curves of models without each part of its rows: `Models.unseen`
    reasons: dict[str, Any] = field(default_factory=dict)  # how they are told: `scoring.reasons`
    card: dict[str, Any] = field(default_factory=dict)  # how it is made a scorecard: `ui.explain.scorecard`

    @property
    def of_tasks(self) -> bool:
        """Whether it is a multitask model."""
        return self.kind.startswith("multitask")

    @property
    def has_one_outcome(self) -> bool:
        """Whether it predicts what its table has: none of several tasks, of an effect, or from elsewhere."""
        return bool(self.spec) and not self.of_tasks and not self.spec.get("treatment")


class Models:
    """The models that one person can view."""

    _known = partial(known, ModelAbout)

    def __init__(self, space: Things) -> None:
        self._space = space

    def add(
        self, saved: Saved, about: ModelAbout, tables: KeptTables | None = None, expected: Floats | None = None,
        unseen: Unseen | None = None,
    ) -> ModelAbout:  # fmt: skip
        """Store a model under the id in `about`. tables : counts of its rows; expected, unseen : what was expected of
        those of an experiment, and what models say that have not seen them; to be kept beside it."""
        with scratch_folder(self._space.root) as folder:
            parts = {"model": folder / "model"}
            with room():
                parts["model"].write_bytes(gamx.to_bytes(saved))
                if tables is not None:
                    parts["tables"] = folder / "tables"
                    save_tables(tables, parts["tables"])
                if expected is not None:
                    parts["expected"] = folder / "expected.npy"
                    np.save(parts["expected"], expected, allow_pickle=False)
                if unseen is not None:
                    parts["unseen"] = folder / "unseen.npy"
                    kept = np.stack([unseen.part, unseen.predicted, *unseen.curves.values()])
                    np.save(parts["unseen"], kept, allow_pickle=False)
                    about = replace(about, unseen=list(unseen.curves))
            about = replace(about, counted=tables is not None)
            self._space.add(
                "models", about.id, about=asdict(about), parts=parts, parent=about.part_of, detail=about.name
            )
        return self.about(about.id)

    def tables(self, identifier: str) -> KeptTables:
        """Return the counts of rows that are kept beside a model; StoreError if there are none, or if this person may
        not see the table that they are of."""
        self._check_rows(identifier)
        return load_tables(self._space.part("models", identifier, "tables"))

    def expected(self, identifier: str) -> Floats:
        """Return what was expected of each row (n,) of an experiment; StoreError if that is not kept, or if this person
        may not see its table."""
        self._check_rows(identifier)
        return read_expected(self._space.part("models", identifier, "expected"))

    def unseen(self, identifier: str) -> Unseen | None:
        """Return what is said of each row of an experiment by a model that has not seen it; None where that is not
        kept, as of older models."""
        names = self.about(identifier).unseen
        if names is None:
            return None
        self._check_rows(identifier)
        part, predicted, *curves = read_unseen(self._space.part("models", identifier, "unseen"))
        return Unseen(part.astype(np.int64), predicted, dict(zip(names, curves, strict=True)))

    def _check_rows(self, identifier: str) -> None:
        """Raise DeniedError unless this person may know the rows of a model's table: they may view it, or, once it is
        deleted, the model is theirs."""
        model = self._space.thing("models", identifier)
        table = str(model.about.get("table", ""))
        if self._space.may("view", "tables", table) or not table:
            return
        with self._space.meta.reading() as connection:
            deleted = records.known_thing(connection, "tables", table, self._space.person.id) is None
        theirs = model.owner == self._space.person.id or self._space.may("administer")
        if not (deleted and theirs):
            raise DeniedError(
                "What is kept of the rows of this model is for those who may see its table: ask the table's owner to "
                "share it."
            )

    def about(self, identifier: str) -> ModelAbout:
        """Return the description of a model."""
        return self._known(self._space.thing("models", identifier).about)

    def listed(self) -> list[ModelAbout]:
        """Return all models, newest first, without those trained on a part of another model's rows."""
        key = "models", self._space.root, self._space.person.id
        return once(key, lambda: self._space.listed("models", self._known))[::-1]

    def parts(self, identifier: str) -> list[ModelAbout]:
        """Return the models trained on parts of a model's rows, oldest first."""
        return self._space.listed("models", self._known, identifier) if identifier else []

    def set_bands(self, identifier: str, saved: Saved, n_refits: int) -> ModelAbout:
        """Replace a model by the same model with bands."""
        with scratch_file(self._space.root) as path:
            with room():
                path.write_bytes(gamx.to_bytes(saved))
            self._space.edit("models", identifier, lambda about: about | {"bands": n_refits}, {"model": path})
        return self.about(identifier)

    def set_headline(self, identifier: str, plot: str, text: str) -> None:
        """Set the title of a plot of a model; an empty text restores the default."""
        self._say(identifier, "headlines", plot, clean_name(text) if text.strip() else "")

    def set_note(self, identifier: str, plot: str, text: str) -> None:
        """Pin a note to a plot of a model; an empty text removes it."""
        self._say(identifier, "notes", plot, text.strip()[:MAX_NOTE])

    def _say(self, identifier: str, what: str, plot: str, text: str) -> None:
        def say(about: dict[str, Any]) -> dict[str, Any]:
            texts = {name: kept for name, kept in about.get(what, {}).items() if name != plot}
            return about | {what: texts | ({plot: text} if text else {})}

        self._space.edit("models", identifier, say)

    def set_card(self, identifier: str, settings: dict[str, Any]) -> None:
        """Remember some of how a model is made a scorecard."""
        self._space.edit("models", identifier, lambda about: about | {"card": about.get("card", {}) | settings})

    def set_reasons(self, identifier: str, how: dict[str, Any]) -> None:
        """Remember some of how the reasons for a model's decisions are told."""
        self._space.edit("models", identifier, lambda about: about | {"reasons": about.get("reasons", {}) | how})

    def path(self, identifier: str) -> Path:
        """Return the `.gamx` file of a model."""
        return self._space.part("models", identifier, "model")

    def load(self, identifier: str) -> Saved:
        """Return the model itself."""
        return gamx.load(self.path(identifier))

    def rename(self, identifier: str, name: str) -> None:
        """Give a model another name."""
        self._space.edit("models", identifier, lambda about: about | {"name": clean_name(name)})

    def delete(self, identifier: str) -> None:
        """Delete a model, and what this person dropped on it to be scored."""
        self._space.delete("models", identifier)
        for table in self._space.listed("tables", dict):
            if table.get("dropped_on") == identifier and self._space.may("delete", "tables", str(table["id"])):
                self._space.delete("tables", str(table["id"]))

    def bring_in(self, data: bytes, name: str) -> ModelAbout:
        """Import the content of a `.gamx` file; `ModelFileError` if it is not one."""
        saved = gamx.from_bytes(data)
        target = str(saved.about.get("target", ""))
        about = ModelAbout(
            id=new_id(),
            name=clean_name(name),
            table="",
            table_name="imported",
            target=clean_name(target) if target else "",
            kind=saved.kind,
            created=now(),
            seconds=0.0,
        )
        if not isinstance(saved.model, TaskModel):
            about = replace(about, n_pairs=len(saved.model.pairs), bands=saved.model.n_halves)
        if isinstance(saved.model, AdditiveModel):
            about = replace(about, **listed(saved.model))
        return self.add(saved, about)


def listed(model: AdditiveModel) -> dict[str, Any]:
    """Return what additions keep with a model, as far as its record has fields for it."""
    known = {field.name for field in fields(ModelAbout)}
    values = [attachment.listed().items() for attachment in model.attachments.values()]
    return {name: value for items in values for name, value in items if name in known}
