"""All that editing adds to the core: a part of model files, which holds the edits and the curves before them."""

from __future__ import annotations

from typing import Final

from gamcore.additions.editing.file import read_earlier, read_edits, write_edits
from gamcore.io.attached import FilePart

FILE: Final = FilePart(write_edits, read_edits, fields=("edits",), read_fields=read_earlier)
