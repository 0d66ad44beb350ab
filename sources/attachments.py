"""Files that come with a message, from whichever source: which are read, which are only named, and why."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sources.base import Attachment
from sources.text import flatten
from texts import gettext_noop

MAX_CONSIDERED = 10
MAX_TEXT = 20 * 1024
MAX_PICTURE = 3_584 * 1024
"""Of a picture that is stored here and sent to the model: in base64 every provider takes it."""
PICTURES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
"""The kinds that models see and browsers show, and how such a file begins."""

_OTHER_IMAGE = gettext_noop("an image that is not PNG, JPEG, GIF or WebP")
_NEITHER = gettext_noop("neither text nor an image")
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml", "application/toml", "application/x-")
_BINARY_X = ("zip", "tar", "compressed", "executable", "bittorrent", "iso", "shockwave", "msdos", "gzip", "rar", "bzip")
_TEXT_SUFFIXES = re.compile(
    r"\.(txt|md|rst|[ct]sv|jsonl?|ya?ml|toml|ini|cfg|conf|log|xml|html?|css|[jt]sx?|py|rs|go|java|kt|[ch]|[ch]pp|cs"
    r"|rb|php|sh|bash|ps1|sql|diff|patch|tex|srt)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Offered:
    """A file as it is announced, or with its `content` where it came along."""

    name: str
    content_type: str
    size: int
    url: str = ""
    content: bytes = field(default=b"", repr=False)

    @property
    def kind(self) -> str:
        return self.content_type.partition(";")[0].strip().lower()


def consider(one: Offered, number: int) -> Attachment:
    """What becomes of a file, the how manieth of its message; the text of one that `is_text` is still to be read."""
    named = Attachment(flatten(one.name, 100) or "unnamed file", flatten(one.content_type), one.size)
    if number >= MAX_CONSIDERED:
        return replace(named, skipped=gettext_noop("only the first 10 files of a message are looked at"))
    if one.kind in PICTURES:
        return replace(named, content_type=one.kind, url=one.url)
    if not looks_like_text(one):
        image = one.kind.startswith("image/")
        return replace(named, skipped=_OTHER_IMAGE if image else _NEITHER)
    if one.size > MAX_TEXT:
        return replace(named, skipped=gettext_noop("larger than 20 KB"))
    return replace(named, url=one.url)


def is_text(file: Attachment) -> bool:
    return not file.skipped and file.content_type not in PICTURES


def received(files: Sequence[Offered]) -> tuple[Attachment, ...]:
    """Files that came along, as they are kept with their message."""
    return tuple(replace(_received(one, number), kept=True) for number, one in enumerate(files))


def _received(one: Offered, number: int) -> Attachment:
    found = consider(one, number)
    if found.skipped:
        return found
    if is_text(found):
        return with_text(found, one.content)
    if not PICTURES[found.content_type].match(one.content):
        return replace(found, skipped=gettext_noop("not a readable image"))
    if one.size > MAX_PICTURE:
        return replace(found, skipped=gettext_noop("larger than 3.5 MB"))
    return replace(found, content=one.content)


def with_text(file: Attachment, content: bytes) -> Attachment:
    text = decode(content)
    return replace(file, text=text) if text is not None else replace(file, skipped=gettext_noop("not readable as text"))


def looks_like_text(one: Offered) -> bool:
    if one.kind in ("", "application/octet-stream"):
        return _TEXT_SUFFIXES.search(one.name) is not None
    if one.kind.startswith("application/x-") and any(word in one.kind for word in _BINARY_X):
        return False
    return one.kind.startswith(_TEXT_TYPES) or one.kind.endswith(("+json", "+xml"))


def decode(body: bytes) -> str | None:
    try:
        wide = body.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = body.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
