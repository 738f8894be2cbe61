"""What a house template may bring along: the parts of a PPTX file by their content types, and the relationships
between them. Code, embedded files and links to elsewhere stay behind, with what refers to them."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Callable
from typing import Any, Final

from lxml import etree

MOST_UNPACKED: Final = 100 * 2**20
MOST_XML: Final = 10 * 2**20
"""Most bytes of a template unpacked, and of all that is not a picture by its first bytes: python-pptx reads a part as
XML by its content type, whatever it is called, and holds it in memory as a tree."""

MOST_PARTS: Final = 3_000
MOST_RELATIONSHIPS: Final = 3_000
PICTURES: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"\x01\0\0\0", b"\xd7\xcd\xc6\x9a")
"""First bytes of PNG, JPEG, GIF, BMP, TIFF (two), EMF and WMF."""

OFFICE: Final = r"vnd\.openxmlformats-officedocument\."
KEPT: Final = re.compile(
    rf"image/(?!svg)[\w.+-]+|application/(x-fontdata|{OFFICE}(presentationml|drawingml)\.[\w.+-]+"
    rf"|{OFFICE}(theme|themeOverride|extended-properties|custom-properties)\+xml"
    r"|vnd\.openxmlformats-package\.(core-properties|relationships)\+xml)",
    re.IGNORECASE,
)
"""Content types of parts that may stay: what a slide is made of. A picture as SVG may hold scripts and links."""

CODE: Final = re.compile(r"vba|ole|activex|control|package|macro|toolbar|extensibility|external", re.IGNORECASE)
"""In the last word of a relationship's type: what may run, or is a file of its own."""

MAIN: Final = re.compile(
    rb"application/vnd\.(openxmlformats-officedocument\.presentationml\.template"
    rb"|ms-powerpoint\.(presentation|template)\.macroEnabled)\.main\+xml"
)
PRESENTATION: Final = b"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
ELEMENTS: Final = "{*}*"
"""All elements, without comments."""

TYPES: Final = "[Content_Types].xml"
REFERENCE: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


class TemplateError(ValueError):
    """A file that cannot be a template; the message says why, and what would do."""


def without_code(data: bytes) -> bytes:
    """Return a PPTX or POTX file as a presentation of which only the parts of slides are left; TemplateError if it is
    none, or too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = _read(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, UnicodeError) as error:
        raise TemplateError("This is not a PowerPoint file, or it is damaged or encrypted: save it again.") from error
    try:
        kept = _kept(parts)
    except (etree.XMLSyntaxError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, TemplateError):
            raise
        raise TemplateError("The template cannot be read: open it in PowerPoint and save it again.") from error
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as copy:
        for name, content in kept.items():
            copy.writestr(name, content)
    return buffer.getvalue()


def _read(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Return the parts of a file by their names, after looking at how much there is."""
    large = TemplateError("The template is too large once unpacked: keep its master and layouts only.")
    entries = archive.infolist()
    if len(entries) > MOST_PARTS or sum(entry.file_size for entry in entries) > MOST_UNPACKED:
        raise large
    if any(entry.filename.lower().endswith("vbaproject.bin") for entry in entries):
        raise TemplateError("The template holds macros: save it as .pptx or .potx without them.")
    parts: dict[str, bytes] = {}
    xml = 0
    for entry in entries:
        with archive.open(entry) as file:
            first = file.read(8)
            xml += 0 if first.startswith(PICTURES) else entry.file_size
            if xml > MOST_XML:
                raise large
            parts[entry.filename] = first + file.read()  # a part larger than it says does not pass its checksum
    named = {name.lower(): name for name in parts}
    if TYPES.lower() not in named:
        raise TemplateError("This is not a PowerPoint file: choose a .pptx or .potx.")
    parts[TYPES] = MAIN.sub(PRESENTATION, parts.pop(named[TYPES.lower()]))
    return parts


def _tree(content: bytes) -> Any:
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def _written(tree: Any) -> bytes:
    return bytes(etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True))


def _kept(parts: dict[str, bytes]) -> dict[str, bytes]:
    """Return the parts that may stay, without relationships to others and what refers to these."""
    types = _tree(parts[TYPES])
    type_of = _types(types)
    names = {name for name in parts if name == TYPES or KEPT.fullmatch(type_of(name))}
    kept = {name: content for name, content in parts.items() if name in names}
    count = 0
    for name in [name for name in kept if name.lower().endswith(".rels")]:
        tree = _tree(kept[name])
        source = posixpath.join(posixpath.dirname(posixpath.dirname(name)), posixpath.basename(name)[: -len(".rels")])
        links = list(tree.iterchildren(ELEMENTS))
        count += len(links)
        if count > MOST_RELATIONSHIPS:
            raise TemplateError("The template has too many links between its parts: keep its master and layouts only.")
        gone = set()
        for link in links:
            if not _may_stay(link, posixpath.dirname(source), names):
                gone.add(link.get("Id"))
                tree.remove(link)
        if gone:
            kept[name] = _written(tree)
            if source in kept:
                kept[source] = _without(kept[source], gone - {link.get("Id") for link in tree.iterchildren(ELEMENTS)})
    known = {name.lower() for name in names}
    for entry in list(types):
        part = (entry.get("PartName") or f"/{TYPES}")[1:]
        if part.lower() not in known or not KEPT.fullmatch(entry.get("ContentType") or ""):
            types.remove(entry)
    return kept | {TYPES: _written(types)}


def _types(tree: Any) -> Callable[[str], str]:
    """Return what gives the content type of a part by its name."""
    entries = list(tree.iterchildren(ELEMENTS))
    by_name = {entry.get("PartName", "")[1:].lower(): entry.get("ContentType", "") for entry in entries}
    by_end = {
        entry.get("Extension", "").lower(): entry.get("ContentType", "") for entry in entries if entry.get("Extension")
    }
    return lambda name: by_name.get(name.lower()) or by_end.get(name.rpartition(".")[2].lower(), "")


def _may_stay(link: Any, folder: str, names: set[str]) -> bool:
    """Return whether a relationship leads to a part that is kept, and not as code. folder : of the part it is of."""
    if link.get("TargetMode", "Internal") != "Internal" or CODE.search(link.get("Type", "").rpartition("/")[2]):
        return False
    target = link.get("Target", "")
    return posixpath.normpath(posixpath.join("/", folder, target))[1:] in names


def _without(content: bytes, gone: set[str]) -> bytes:
    """Return a part without the elements that refer to relationships that are gone; a frame goes with what it frames,
    and a picture stays as an empty one."""
    tree = _tree(content)
    for node in list(tree.iter(etree.Element)):
        lost = [key for key, value in node.attrib.items() if key.startswith(REFERENCE) and value in gone]
        if not lost:
            continue
        if etree.QName(node).localname == "blip":
            for key in lost:
                del node.attrib[key]
            continue
        frame = next((outer for outer in node.iterancestors() if etree.QName(outer).localname == "graphicFrame"), node)
        if frame.getparent() is not None:
            frame.getparent().remove(frame)
    return _written(tree)
