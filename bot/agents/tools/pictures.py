"""Pictures from an agent's folders, for what is posted: which file is meant, and its bytes without metadata."""

import base64
from pathlib import Path

from bot.agents.tools.base import ToolContext
from bot.errors import ToolError
from memory import folders
from memory.folders import disk
from memory.folders.paths import parts_of
from memory.people.audience import Audience
from memory.store.database import Rows
from memory.store.errors import Refused
from texts import gettext_lazy

MOST_BYTES = 1_000_000
"""Of one picture: what every server takes."""
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_PNG_META = frozenset((b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME"))
_KEPT = frozenset((0xE0, 0xE2, 0xEE))
"""JPEG's application segments that change how the picture looks: JFIF, the colour profile, Adobe's transform."""


def picture(rows: Rows, context: ToolContext, path: str) -> tuple[str, bytes, Audience]:
    """The type, the bytes without metadata, and who may know the folder of a picture. Raises ToolError, Refused."""
    name, _, inside = path.strip().strip("/").partition("/")
    known = folders.attached(rows, context.turn.agent, context.turn.scope)
    folder = next((each.folder for each in known if each.folder.name == name), None)
    if folder is None or not inside:
        names = ", ".join(each.folder.name for each in known) or "none that may be used here"
        raise ToolError(f"{path!r} is no file of your folders. A path is folder/file; the folders are: {names}.")
    parts_of(inside)
    if folder.kind == "local":
        held: bytes | None = _on_disk(Path(folder.path), context.database.path, inside)
    else:
        file = folders.file(rows, folder.id, inside, context.turn.scope)
        held = None if file is None else folders.content(rows, file.id, context.turn.scope)
    if held is None:
        raise Refused(gettext_lazy("there is no file {path}; `file` lists them", path=path))
    if len(held) > MOST_BYTES:
        raise ToolError(f"{path} is larger than {MOST_BYTES:,} bytes, and Bluesky takes no larger picture.")
    return *bare(held, path), folder.audience


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def bare(content: bytes, path: str) -> tuple[str, bytes]:
    """The type of a picture and its bytes without what says where and when it was taken. Raises ToolError."""
    try:
        if content.startswith(_PNG):
            return "image/png", _bare_png(content)
        if content.startswith(_JPEG):
            return "image/jpeg", _bare_jpeg(content)
    except (IndexError, ValueError) as why:
        raise ToolError(f"{path} is a broken picture.") from why
    raise ToolError(f"{path} is neither a PNG nor a JPEG picture.")


def _bare_png(content: bytes) -> bytes:
    kept, at = bytearray(_PNG), len(_PNG)
    while at < len(content):
        end = at + 12 + int.from_bytes(content[at : at + 4], "big")
        if end > len(content):
            raise ValueError("a chunk is cut off")
        if content[at + 4 : at + 8] not in _PNG_META:
            kept += content[at:end]
        at = end
    return bytes(kept)


def _bare_jpeg(content: bytes) -> bytes:
    """Segments are a marker and a length each, up to the start of the scan (0xDA), from where all is kept."""
    kept, at = bytearray(content[:2]), 2
    while content[at + 1] != 0xDA:
        if content[at] != 0xFF:
            raise ValueError("no marker where one must be")
        end = at + 2 + int.from_bytes(content[at + 2 : at + 4], "big")
        marker = content[at + 1]
        told = marker == 0xFE or (0xE0 <= marker <= 0xEF and marker not in _KEPT)
        if not told:
            kept += content[at:end]
        at = end
    return bytes(kept + content[at:])


def _on_disk(root: Path, database: Path, inside: str) -> bytes:
    if root in database.parents:
        raise Refused(gettext_lazy("that folder now contains Carina's own data and cannot be opened"))
    with disk.opened(root, inside) as file:
        if file.seen.size > MOST_BYTES:
            return bytes(MOST_BYTES + 1)  # too large, whatever is in it
        return b"".join(file.blocks())[: MOST_BYTES + 1]
