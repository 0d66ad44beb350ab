"""Servers' answers as plain values. Other people's records may contain anything: what is invalid is left out."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from memory.store.records import replace
from sources.bluesky.identifiers import author_of, message_id, moment
from sources.names import flatten
from sources.text import one_line
from texts import many

ALT_LENGTH = 2_000
MOST_IMAGES = 4
_BOT, _NO_READERS = "bot", "!no-unauthenticated"
_QUOTES = "(quotes "


class Account(Struct, frozen=True):
    did: str
    handle: str = ""
    display_name: str = ""
    description: str = ""
    labels: frozenset[str] = frozenset()
    blocked: bool = False
    """Whether one of us blocks the other, directly or by a list."""
    muted: bool = False
    followed: str = ""
    """URI of our record that follows them, as the public server has it."""

    @property
    def shown(self) -> str:
        return flatten(self.display_name) or flatten(self.handle) or self.did

    @property
    def is_bot(self) -> bool:
        return _BOT in self.labels

    @property
    def shy(self) -> bool:
        """Whether the person asks that their posts are shown only to readers who are logged in."""
        return _NO_READERS in self.labels


class Image(Struct, frozen=True):
    url: str
    alt: str
    content_type: str = "image/jpeg"
    size: int = 0


class Reference(Struct, frozen=True):
    """A post by its record and content, as replies refer to it."""

    uri: str
    cid: str

    def data(self) -> dict[str, str]:
        return {"uri": self.uri, "cid": self.cid}


class Post(Struct, frozen=True):
    """One post. `replies_closed`, `quotes_closed`: a gate of its author keeps us from replying to it, or quoting it."""

    uri: str
    cid: str
    author: Account
    text: str
    at: datetime
    root: Reference
    parent: Reference | None = None
    mentions: Mapping[str, str] = field(default_factory=dict)
    """The DIDs of mentioned people, from facets, with the words of each."""
    languages: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    extras: tuple[str, ...] = ()
    """Images, cards and quotes in words, a line each."""
    quotes: str = ""
    """URI of the post that it quotes."""
    quoted_by: Account | None = None
    """The author of its quote, if known."""
    liked: str = ""
    reposted: str = ""
    """URIs of our records that do so, as the public server has them."""
    replies_closed: bool = False
    quotes_closed: bool = False

    @property
    def id(self) -> str:
        return message_id(self.uri, self.cid)

    @property
    def words(self) -> str:
        return "\n".join(line for line in (self.text, *self.extras) if line)

    def unquoted(self) -> "Post":
        """The post without its quote."""
        extras = tuple(line for line in self.extras if not line.startswith(_QUOTES))
        return replace(self, extras=extras, quoted_by=None)

    def quoting_you(self) -> "Post":
        """The post with its quote marked as the reader's own."""
        name = f"{_QUOTES}{self.quoted_by.shown if self.quoted_by is not None else ''}"
        return replace(self, extras=tuple(line.replace(name, f"{_QUOTES}you", 1) for line in self.extras))


class BlueskyNotification(Struct, frozen=True):
    """One notification: the reason, and the post, if it is about one."""

    reason: str
    indexed_at: datetime
    post: Post

    @property
    def id(self) -> str:
        return self.post.id


def account(data: Any) -> Account:
    data = mapping(data)
    viewer = mapping(data.get("viewer"))
    return Account(
        did=text_of(data.get("did")),
        handle=text_of(data.get("handle")),
        display_name=text_of(data.get("displayName")),
        description=text_of(data.get("description")),
        labels=_labels(data),
        blocked=bool(viewer.get("blockedBy") or viewer.get("blocking") or viewer.get("blockingByList")),
        muted=bool(viewer.get("muted") or viewer.get("mutedByList")),
        followed=text_of(viewer.get("following")),
    )


def post(data: Any) -> Post | None:
    """A post view, or a notification about one; None if it is not a post."""
    data = mapping(data)
    record, uri, cid = mapping(data.get("record")), text_of(data.get("uri")), text_of(data.get("cid"))
    if not author_of(uri) or not cid or record.get("$type", "app.bsky.feed.post") != "app.bsky.feed.post":
        return None
    text, reply = text_of(record.get("text")), mapping(record.get("reply"))
    embed, own = mapping(data.get("embed")), mapping(record.get("embed"))
    parent, root = _reference(reply.get("parent")), _reference(reply.get("root"))
    images, viewer = _images(embed, own), mapping(data.get("viewer"))
    return Post(
        uri=uri,
        cid=cid,
        author=account(data.get("author")),
        text=text,
        at=_when(record, data),
        root=root or Reference(uri, cid),
        parent=parent,
        mentions=_mentions(text, record.get("facets")),
        languages=tuple(text_of(each) for each in items(record.get("langs")) if text_of(each)),
        images=images[:MOST_IMAGES],
        extras=(*_image_lines(images), *_extras(embed or own)),
        quotes=_quoted_uri(own),
        quoted_by=_quoted_by(embed or own),
        liked=text_of(viewer.get("like")),
        reposted=text_of(viewer.get("repost")),
        replies_closed=bool(viewer.get("replyDisabled")),
        quotes_closed=bool(viewer.get("embeddingDisabled")),
    )


def _when(record: Mapping[str, Any], view: Mapping[str, Any]) -> datetime:
    """When it was posted: as the author says, but not after the server got it, since authors may write anything."""
    said, indexed = text_of(record.get("createdAt")), text_of(view.get("indexedAt"))
    times = [moment(each) for each in (said, indexed) if each]
    return min(times) if times else moment("")


def notified(data: Any) -> BlueskyNotification | None:
    """One item of listNotifications that is about a post."""
    data = mapping(data)
    found = post(data)
    if found is None:
        return None
    return BlueskyNotification(text_of(data.get("reason")), moment(text_of(data.get("indexedAt"))), found)


def _labels(data: Mapping[str, Any]) -> frozenset[str]:
    """Valid labels; `bot` only if the account itself set it."""
    did, found = data.get("did"), set()
    for label in items(data.get("labels")):
        each = mapping(label)
        if each.get("neg") or (each.get("val") == _BOT and each.get("src") != did):
            continue
        found.add(text_of(each.get("val")))
    return frozenset(found)


def _mentions(text: str, facets: Any) -> dict[str, str]:
    raw, found = text.encode("utf-8", "surrogatepass"), {}
    for facet in items(facets):
        index = mapping(mapping(facet).get("index"))
        start, end = index.get("byteStart"), index.get("byteEnd")
        for feature in items(mapping(facet).get("features")):
            each = mapping(feature)
            if each.get("$type") != "app.bsky.richtext.facet#mention" or not text_of(each.get("did")):
                continue
            words = raw[start:end].decode("utf-8", "replace") if _offsets(start, end, len(raw)) else ""
            found[text_of(each.get("did"))] = words
    return found


def _offsets(start: Any, end: Any, length: int) -> bool:
    return isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= length


def _images(embed: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[Image, ...]:
    """Images with their URLs from the view, and their sizes from the record."""
    shown = items(_media(embed).get("images"))
    blobs = items(_media(own).get("images"))
    found = []
    for number, each in enumerate(map(mapping, shown or blobs)):
        blob = mapping(mapping(blobs[number]).get("image")) if number < len(blobs) else {}
        size = blob.get("size")
        kind = text_of(blob.get("mimeType"))
        found.append(
            Image(
                url=text_of(each.get("thumb")),
                alt=one_line(text_of(each.get("alt")), ALT_LENGTH),
                content_type=kind if kind.startswith("image/") else "image/jpeg",
                size=size if isinstance(size, int) else 0,
            )
        )
    return tuple(found)


def _media(embed: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of an embed that has images: itself, or the one beside a quote."""
    return mapping(embed.get("media")) or embed


def _image_lines(images: Sequence[Image]) -> list[str]:
    lines = [
        f"(image: {image.alt})" if image.alt else "(image without a description)" for image in images[:MOST_IMAGES]
    ]
    return [*lines, f"(and {many(len(images) - MOST_IMAGES, 'more image')})"] if len(images) > MOST_IMAGES else lines


def _extras(embed: Mapping[str, Any]) -> list[str]:
    lines, media = [], _media(embed)
    if card := mapping(media.get("external")):
        parts = [one_line(text_of(card.get(key))) for key in ("title", "description", "uri")]
        lines.append(f"(link card: {' | '.join(part for part in parts if part)})")
    if "video" in text_of(media.get("$type")):
        lines.append(f"(video: {one_line(text_of(media.get('alt')), ALT_LENGTH) or 'without a description'})")
    if line := _quote_line(embed):
        lines.append(line)
    return lines


def _quoted_view(embed: Mapping[str, Any]) -> Mapping[str, Any]:
    quoted = mapping(embed.get("record"))
    return mapping(quoted.get("record")) or quoted


def _quoted_by(embed: Mapping[str, Any]) -> Account | None:
    view = _quoted_view(embed)
    return account(view.get("author")) if mapping(view.get("value")) else None


def _quote_line(embed: Mapping[str, Any]) -> str:
    view, who = _quoted_view(embed), _quoted_by(embed)
    if who is not None:
        value = mapping(view.get("value"))
        seen = _image_lines(_images({}, mapping(value.get("embed"))))
        words = one_line(" ".join([text_of(value.get("text")), *seen]))
        return "" if who.blocked else f"{_QUOTES}{who.shown}: {words})"
    kind = text_of(view.get("$type"))
    return f"{_QUOTES}a post that cannot be seen)" if "Blocked" in kind or "NotFound" in kind else ""


def _quoted_uri(own: Mapping[str, Any]) -> str:
    record = mapping(own.get("record"))
    return text_of((mapping(record.get("record")) or record).get("uri"))


def _reference(data: Any) -> Reference | None:
    uri, cid = text_of(mapping(data).get("uri")), text_of(mapping(data).get("cid"))
    return Reference(uri, cid) if author_of(uri) and cid else None


def mapping(data: Any) -> Mapping[str, Any]:
    """A JSON object; empty if it is anything else."""
    return data if isinstance(data, Mapping) else {}


def items(data: Any) -> list[Any]:
    """A JSON list; empty if it is anything else."""
    return data if isinstance(data, list) else []


def text_of(data: Any) -> str:
    return data.encode("utf-8", "replace").decode() if isinstance(data, str) else ""
