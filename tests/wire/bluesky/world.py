"""What stands on the server: accounts and their records, and how each is shown to whoever asks."""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from regex import findall

from tests.wire.bluesky.jetstream import Jetstream

Json = dict[str, Any]
POSTS = "app.bsky.feed.post"
_BEGUN = datetime.now(UTC)
_TICKS = itertools.count(1)


def now_text() -> str:
    """A time of its own for every event, in order."""
    at = max(datetime.now(UTC), _BEGUN) + timedelta(milliseconds=next(_TICKS) % 1000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Invalid(Exception):
    """A request that a server answers with 400."""

    def __init__(self, error: str, message: str = "", status: int = 400) -> None:
        super().__init__(message or error)
        self.error, self.status = error, status


@dataclass(eq=False)
class User:
    world: "World"
    did: str
    handle: str
    password: str
    display_name: str = ""
    labels: list[str] = field(default_factory=list)
    blocks: set[str] = field(default_factory=set)
    muted: set[str] = field(default_factory=set)
    taken_down: bool = False
    records: dict[tuple[str, str], Json] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def post(
        self,
        text: str,
        *,
        reply_to: "Post | None" = None,
        mentions: "tuple[User, ...]" = (),
        langs: tuple[str, ...] = ("en",),
        quotes: "Post | None" = None,
        alts: tuple[str, ...] = (),
    ) -> "Post":
        """Post something; every "@handle" of those mentioned becomes a facet."""
        record: Json = {"$type": POSTS, "text": text, "createdAt": now_text(), "langs": list(langs)}
        if reply_to is not None:
            root = reply_to.record.get("reply", {}).get("root", reply_to.reference)
            record["reply"] = {"root": root, "parent": reply_to.reference}
        if quotes is not None:
            record["embed"] = {"$type": "app.bsky.embed.record", "record": quotes.reference}
        if alts:
            blob = {"$type": "blob", "ref": {"$link": "bafk"}, "mimeType": "image/png", "size": 4}
            shown = [{"alt": alt, "image": blob} for alt in alts]
            record["embed"] = {"$type": "app.bsky.embed.images", "images": shown}
        raw = text.encode()
        for each in mentions:
            start = raw.index(f"@{each.handle}".encode())
            feature = {"$type": "app.bsky.richtext.facet#mention", "did": each.did}
            index = {"byteStart": start, "byteEnd": start + len(f"@{each.handle}")}
            record.setdefault("facets", []).append({"index": index, "features": [feature]})
        return self.world.create(self, POSTS, f"3k{next(self.world.numbers):011d}", record)

    def like(self, post: "Post", reason: str = "like") -> None:
        self._act(f"app.bsky.feed.{reason}", post.reference)

    def follow(self, other: "User") -> None:
        self._act("app.bsky.graph.follow", other.did)

    def _act(self, collection: str, subject: Json | str) -> None:
        record = {"$type": collection, "subject": subject, "createdAt": now_text()}
        self.world.create(self, collection, f"3k{next(self.world.numbers):011d}", record)

    @property
    def posts(self) -> "list[Post]":
        return [post for post in self.world.posts.values() if post.author is self]


@dataclass(eq=False)
class Post:
    world: "World"
    author: User
    uri: str
    cid: str
    record: Json
    indexed_at: str
    gate: bool = False
    """Whether only those mentioned may reply."""
    unquotable: bool = False

    @property
    def reference(self) -> Json:
        return {"uri": self.uri, "cid": self.cid}

    @property
    def text(self) -> str:
        return str(self.record["text"])

    @property
    def parent(self) -> str:
        return str(self.record.get("reply", {}).get("parent", {}).get("uri", ""))

    @property
    def root(self) -> str:
        return str(self.record.get("reply", {}).get("root", {}).get("uri", self.uri))

    @property
    def replies(self) -> "list[Post]":
        return [each for each in self.world.posts.values() if each.parent == self.uri]

    def delete(self) -> None:
        key = self.uri.rpartition("/")[2]
        del self.world.posts[self.uri]
        del self.author.records[POSTS, key]
        self.world.jetstream.send(self.author.did, key, "", None, "delete")


class World:
    """All accounts and posts, and who is told of what."""

    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        self.posts: dict[str, Post] = {}
        self.told: dict[str, list[Json]] = {}
        """Notifications by DID, the oldest first."""
        self.numbers: Iterator[int] = itertools.count(1)
        self.lists: dict[str, list[User]] = {}
        """Members of lists, by the list's URI."""
        self.jetstream = Jetstream()

    def user(self, handle: str, display_name: str = "", labels: tuple[str, ...] = ()) -> User:
        did = f"did:plc:{hashlib.sha256(handle.encode()).hexdigest()[:24]}"
        made = User(self, did, handle, f"pass-{next(self.numbers)}-word", display_name, list(labels))
        self.users[did] = made
        return made

    def named(self, name: str) -> User:
        found = self.users.get(name) or next((each for each in self.users.values() if each.handle == name), None)
        if found is None:
            raise Invalid("InvalidRequest", f"nobody is called {name}")
        return found

    def create(self, user: User, collection: str, key: str, record: Json) -> Post:
        """Make a record; one that is there already is refused, as the real server refuses it."""
        if collection not in (POSTS, "app.bsky.actor.profile") and not isinstance(record.get("subject"), dict | str):
            raise Invalid("InvalidRequest", "Record must have the property subject")
        if (collection, key) in user.records:
            raise Invalid("InternalServerError", "Internal Server Error", 500)
        cid = "bafy" + hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:48]
        post = Post(self, user, f"at://{user.did}/{collection}/{key}", cid, record, now_text())
        if collection == POSTS:
            _check(record, user)
            self.posts[post.uri] = post
            self._tell(post)
            self.jetstream.note(post)
        elif isinstance(record.get("subject"), dict | str):
            self._tell_of_act(post, collection.rpartition(".")[2], record["subject"])
        user.records[collection, key] = {"uri": post.uri, "cid": cid, "value": record}
        return post

    def _tell(self, post: Post) -> None:
        reasons: dict[str, str] = {}
        quoted = _quoted(post.record)
        for each in self._upwards(post):
            reasons.setdefault(each.author.did, "reply")
        if quoted in self.posts:
            reasons[self.posts[quoted].author.did] = "quote"
        for facet in post.record.get("facets", ()):
            for feature in facet["features"]:
                if "did" in feature:
                    reasons[feature["did"]] = "mention"
        reasons.pop(post.author.did, None)
        for did, reason in reasons.items():
            self.told.setdefault(did, []).append(
                {"uri": post.uri, "reason": reason, "indexedAt": post.indexed_at, "isRead": False}
            )

    def _tell_of_act(self, act: Post, reason: str, subject: Json | str) -> None:
        about = subject["uri"] if isinstance(subject, dict) else ""
        to = self.posts[about].author.did if about in self.posts else subject
        if to in self.users and to != act.author.did:
            told = {"uri": act.uri, "cid": act.cid, "reason": reason, "indexedAt": act.indexed_at, "isRead": False}
            more = {"record": act.record, "by": act.author} | ({"reasonSubject": about} if about else {})
            self.told.setdefault(str(to), []).append(told | more)

    def _upwards(self, post: Post) -> Iterator[Post]:
        above = self.posts.get(post.parent)
        while above is not None:
            yield above
            above = self.posts.get(above.parent)

    # ------------------------------------------------------------------ views

    def author_view(self, user: User, viewer: User) -> Json:
        labels = [{"src": user.did, "uri": user.did, "val": each, "cts": now_text()} for each in user.labels]
        seen: Json = {"muted": user.did in viewer.muted, "blockedBy": viewer.did in user.blocks}
        if user.did in viewer.blocks:
            seen["blocking"] = f"at://{viewer.did}/app.bsky.graph.block/1"
        seen |= self.acted(viewer, {"following": "app.bsky.graph.follow"}, user.did)
        return {
            "did": user.did,
            "handle": user.handle,
            "displayName": user.display_name,
            "labels": labels,
            "viewer": seen,
            "description": str(
                user.records.get(("app.bsky.actor.profile", "self"), {}).get("value", {}).get("description", "")
            ),
        }

    def post_view(self, post: Post, viewer: User) -> Json:
        root = self.posts.get(post.root)
        closed = root is not None and root.gate and root.author is not viewer
        quoted = self.posts.get(_quoted(post.record))
        return {
            "$type": "app.bsky.feed.defs#postView",
            "uri": post.uri,
            "cid": post.cid,
            "author": self.author_view(post.author, viewer),
            "record": post.record,
            **_pictures(post.record),
            **({} if quoted is None else {"embed": self.quote_view(quoted, viewer)}),
            "indexedAt": post.indexed_at,
            "viewer": ({"replyDisabled": True} if closed else {})
            | ({"embeddingDisabled": True} if post.unquotable else {})
            | self.acted(viewer, {"like": "app.bsky.feed.like", "repost": "app.bsky.feed.repost"}, post.reference),
            "labels": [],
        }

    def acted(self, viewer: User, collections: dict[str, str], subject: Json | str) -> Json:
        """The records by which somebody did something to it, by the view's names of what that is."""
        names = {collection: name for name, collection in collections.items()}
        mine = [(names.get(kind), each) for (kind, _), each in viewer.records.items()]
        return {name: each["uri"] for name, each in mine if name and each["value"].get("subject") == subject}

    def quote_view(self, quoted: Post, viewer: User) -> Json:
        view: Json = {"$type": "app.bsky.embed.record#viewRecord", "uri": quoted.uri, "cid": quoted.cid}
        view |= {"author": self.author_view(quoted.author, viewer), "value": quoted.record}
        return {"$type": "app.bsky.embed.record#view", "record": view}

    def thread_view(self, post: Post, viewer: User, depth: int, height: int) -> Json:
        view: Json = {"$type": "app.bsky.feed.defs#threadViewPost", "post": self.post_view(post, viewer)}
        if viewer.did in post.author.blocks or post.author.did in viewer.blocks:
            return {"$type": "app.bsky.feed.defs#blockedPost", "uri": post.uri, "blocked": True}
        if height > 0 and post.parent:
            above = self.posts.get(post.parent)
            missing = {"$type": "app.bsky.feed.defs#notFoundPost", "uri": post.parent, "notFound": True}
            view["parent"] = missing if above is None else self.thread_view(above, viewer, 0, height - 1)
        if depth > 0:
            view["replies"] = [self.thread_view(each, viewer, depth - 1, 0) for each in post.replies]
        return view

    def notifications(self, viewer: User) -> list[Json]:
        """What an account is told, the newest first; posts that are gone are left out."""
        found = []
        for each in reversed(self.told.get(viewer.did, [])):
            if "by" in each:
                found.append({**each, "author": self.author_view(each["by"], viewer), "by": ""})
                continue
            post = self.posts.get(each["uri"])
            if post is not None and viewer.did not in post.author.blocks:
                view = self.post_view(post, viewer)
                found.append({**{key: view[key] for key in ("uri", "cid", "author", "record")}, **each})
        return found


def _pictures(record: Json) -> Json:
    """How a post's pictures are shown: each as a small version that everybody can fetch, and what it shows in words."""
    shown = [
        {"thumb": f"https://pictures.test/small/{number}", "alt": each["alt"]}
        for number, each in enumerate(record.get("embed", {}).get("images", ()), 1)
    ]
    return {"embed": {"$type": "app.bsky.embed.images#view", "images": shown}} if shown else {}


def _quoted(record: Json) -> str:
    """The URI of the post that a record quotes, alone or with pictures."""
    of = record.get("embed", {}).get("record", {})
    return str(of.get("record", of).get("uri", ""))


def _check(record: Json, user: User) -> None:
    text = record["text"]
    if len(findall(r"\X", text)) > 300 or len(text.encode()) > 3000:
        raise Invalid("InvalidRequest", "Invalid app.bsky.feed.post record: Record/text must not be longer than 300")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", record.get("createdAt", "")):
        raise Invalid("InvalidRequest", "Record/createdAt must be a datetime")
    embed = record.get("embed", {})
    for image in embed.get("media", embed).get("images", ()):
        link, alt = image["image"]["ref"]["$link"], image["alt"]
        if not isinstance(alt, str) or (link != "bafk" and link not in user.blobs):
            raise Invalid("InvalidRequest", "Could not find blob")
    raw = text.encode()
    for facet in record.get("facets", ()):
        index = facet["index"]
        if not 0 <= index["byteStart"] < index["byteEnd"] <= len(raw):
            raise Invalid("InvalidRequest", "facet outside of the text")
