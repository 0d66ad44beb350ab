"""Files that come with a message, from any source: which are read, which are only named, and why."""

import dataclasses
import re
from collections.abc import Sequence

from memory.queue.payloads import Attachment
from sources.names import flatten
from texts import gettext_noop

MAX_CONSIDERED = 10
MAX_TEXT = 20 * 1024
MAX_PICTURE = 3_584 * 1024
"""Bytes of an image that is stored here and sent to the model: in base64 every provider accepts it."""
PICTURES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
"""The types that models and browsers can show, and how such a file begins."""
TOO_MANY = gettext_noop("only the first 10 files of a message are read")
NEITHER = gettext_noop("neither text up to 20 kB nor a PNG, JPEG, GIF or WebP image up to 3.5 MB")


def consider(one: Attachment, number: int) -> Attachment:
    """Decide what to do with a file as it was announced, the `number`-th of its message; the content of a possible text
    is read later."""
    kind = one.content_type.partition(";")[0].strip().lower()
    named = Attachment(flatten(one.name, 100) or "unnamed file", flatten(kind), one.size)
    if number >= MAX_CONSIDERED:
        return dataclasses.replace(named, skipped=TOO_MANY)
    if kind not in PICTURES and one.size > MAX_TEXT:
        return dataclasses.replace(named, skipped=NEITHER)
    return dataclasses.replace(named, url=one.url)


def may_be_text(file: Attachment) -> bool:
    return not file.skipped and file.content_type not in PICTURES


def received(files: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """Files that came along, in the form that is stored with their message."""
    return tuple(_received(one, number) for number, one in enumerate(files))


def _received(one: Attachment, number: int) -> Attachment:
    found = consider(one, number)
    if found.skipped:
        return found
    if may_be_text(found):
        return with_text(found, one.content)
    if one.size > MAX_PICTURE or not PICTURES[found.content_type].match(one.content):
        return dataclasses.replace(found, skipped=NEITHER)
    return dataclasses.replace(found, content=one.content)


def with_text(file: Attachment, content: bytes) -> Attachment:
    text = decode(content)
    return (
        dataclasses.replace(file, skipped=NEITHER)
        if text is None
        else dataclasses.replace(file, content_type="text/plain", text=text)
    )


def decode(body: bytes) -> str | None:
    try:
        wide = body.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = body.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
