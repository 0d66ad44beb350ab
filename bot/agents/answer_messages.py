"""Makes messages of an answer: without lines that a model repeats from its prompt, split, or as a file if very long."""

import dataclasses
import re
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from memory.queue import outbox
from memory.store.database import Tx
from memory.store.lazy import UnicodePattern
from memory.store.records import replace
from sources.base import Endpoint
from sources.text import CLUSTER
from texts import _

_SPOKEN = r"\[[^\n]{1,200} · \d{4}-\d\d-\d\d \d\d:\d\d UTC[^\n]{0,60}\]|\[system\] [^\n]*"
_OPENED = r'<(?:block:[^\s<>]{1,200} permission|quoted from)="[^\n<>]{0,400}>'
_CLOSED = r"</(?:block:[^\s<>]{1,200}|quoted)>"
_BLOCK = r'<block:[^\s<>]{1,200} permission="[^\n<>]{0,400}>(?s:.*?)</block:[^\s<>]{1,200}>'
_AROUND = (
    r"\[(?:now in [^\n]{1,200}; your answer is heard by: [^\n]{1,60}"
    r"|block [^\n]{1,200} above lacks your last [^\n]{1,20} in view"
    r"|this answer did not reach them: [^\n]{1,200}"
    r"|the message below answers (?:what you said|that of)[^\n]{1,200})\]"
    rf"|{_OPENED}|{_CLOSED}"
)
_END = r"[ \t]*(?:\n|\Z)"
_OURS = UnicodePattern(rf"\A(?:\s*(?:{_SPOKEN}|{_AROUND}){_END})+|^[ \t]*(?:{_AROUND}){_END}", re.MULTILINE)
_REPEATED = UnicodePattern(rf"\A(?:\s*(?:{_SPOKEN}|{_BLOCK}|{_AROUND}){_END})+")
_SIGNS = (
    " UTC",
    "heard by: ",
    "above lacks",
    "[system]",
    "message below",
    "did not reach",
    "<quoted",
    "</quoted",
    "block:",
)


class Piece(Struct, frozen=True):
    """One message: its text, and the text of an attached file, if any."""

    text: str
    file_name: str = ""
    file_text: str = ""

    @property
    def files(self) -> tuple[outbox.File, ...]:
        return (outbox.File(self.file_name, self.file_text),) if self.file_name else ()


def without_our_lines(text: str, *, whole: bool = True) -> str:
    """A model's text without lines that only the platform writes: small models repeat those of their prompt.

    Repeated blocks before any other text are removed whole. Text between the tags of a block or quotation stays,
    because somebody may have asked for it; so do lines that begin with "[system]" if there are no others. Unless the
    text is `whole`, a last line that may still become a platform line is left out.
    """
    if not ("[" in text or "<" in text):
        return text
    if any(sign in text for sign in _SIGNS) and _OURS.search(text) is not None:
        said = _OURS.sub("", _REPEATED.sub("", text)).strip() or _OURS.sub("", text).strip() * whole
        text = said or text * (whole and text.startswith("[system] "))
    before, _, last = ("", "", "") if whole else text.rpartition("\n")
    return before if last.lstrip()[:1] in ("[", "<") else text


def package(text: str, endpoint: Endpoint, speaker: str = "") -> list[Piece]:
    """The messages of an answer, in order; none if it is empty. Where files are impossible, a very long text is cut.

    `speaker` is one of several agents that answer; the text begins with its name where messages do not show it.
    """
    if not text.strip():
        return []
    form = endpoint.form
    if speaker and not form.shows_names:
        text = f"{speaker}: {text}"
    parts = endpoint.split(text)
    if len(parts) <= form.most_pieces:
        return [Piece(part) for part in parts]
    if not form.takes_files:
        return [Piece(part) for part in endpoint.split(_beginning(text, endpoint))]
    note = _("(My answer is {length} characters long. The file has the full text.)", length=f"{len(text):,}")
    return [Piece(parts[0]), Piece(note, "answer.md", text)]


def queue(tx: Tx, row: outbox.NewRow, detail: outbox.TextDetail, pieces: Sequence[Piece], now: datetime) -> str:
    """Queue messages with keys derived from the row's, each after the one before; returns the last key.

    Only a row without a predecessor replies to a message and replaces a preview.
    """
    for number, piece in enumerate(pieces):
        if detail.after:
            detail = dataclasses.replace(detail, reply_to="", preview="")
        key, said = f"{row.key}/{number}", dataclasses.replace(detail, files=piece.files)
        outbox.add(tx, replace(row, key=key, content=piece.text, detail=said), now)
        detail = dataclasses.replace(detail, after=key)
    return detail.after


def too_long(text: str, endpoint: Endpoint) -> str:
    """What to tell the model if its answer cannot be sent whole; empty if it can."""
    if endpoint.form.takes_files or len(endpoint.split(text)) <= endpoint.form.most_pieces:
        return ""
    room = len(_beginning(text, endpoint))
    return f"Your answer was not sent: it has {len(text):,} characters, and here at most about {room:,} fit."


def _beginning(text: str, endpoint: Endpoint) -> str:
    """The beginning of a text that fits into its messages, with an ellipsis, cut after a word if one ends nearby."""
    ends = [found.end() for found in CLUSTER.finditer(text)]
    least, most = 0, len(ends)
    while most - least > 1:
        middle = (least + most) // 2
        if len(endpoint.split(_cut(text, ends[middle]))) <= endpoint.form.most_pieces:
            least = middle
        else:
            most = middle
    end = ends[least]
    word = max((at for at in range(end // 2 + 1, end + 1) if text[at : at + 1].isspace()), default=end)
    return _cut(text, word)


def _cut(text: str, end: int) -> str:
    return f"{text[:end].rstrip()} …"
