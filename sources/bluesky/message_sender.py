"""Sends to Bluesky: each outbox row is one record with its own key, so it exists once or not at all."""

import base64
import copy
import hashlib
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from memory.store.clock import to_text
from memory.store.faults import call_point
from memory.store.ids import OutboxId, PersonId, PlaceId
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from sources.base import Activity, Buttons, Delivery, DeliveryFailed, Endpoint, Form, HistoryUnreadable
from sources.bluesky import failures, identifiers, post_splitting_and_facets
from sources.bluesky.answer_rules import SkipReason
from sources.bluesky.deleted_posts import WatchedPosts
from sources.bluesky.direct_messages import DirectMessages
from sources.bluesky.failures import SOON, CallFailed, CallRefused, NoAnswer, RateLimited, ServerUnreachable
from sources.bluesky.identifiers import POSTS, author_of, person_id, record_key, uri_and_cid, user_of
from sources.bluesky.lookups import BlueskyReader
from sources.bluesky.server_responses import Account, Post, Reference, account, post
from sources.bluesky.session import SharedState
from sources.outgoing_text import outgoing, without_markup
from sources.text import visible
from texts import gettext_lazy

log = Log(__name__)

WRITE = call_point("bluesky.write")
_REMOVE = call_point("bluesky.remove")
_MOST_LANGUAGES = 3
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{1,8}){0,4}")
_UPLOAD = call_point("bluesky.upload")
_QUOTE, _QUOTE_MEDIA, _IMAGES = "app.bsky.embed.record", "app.bsky.embed.recordWithMedia", "app.bsky.embed.images"
_ACTS = {"like": "app.bsky.feed.like", "repost": "app.bsky.feed.repost", "follow": "app.bsky.graph.follow"}


_SHUT_OUT = {
    SkipReason.OPTED_OUT: gettext_lazy("the person does not want to hear from the bot (opted out)"),
    SkipReason.EXCLUDED_PERSON: gettext_lazy("the person is excluded by the configuration or by `carina people deny`"),
    SkipReason.BLOCKED: gettext_lazy(
        "one of the two accounts has blocked the other, or the bot's has muted the person"
    ),
}


class BlueskyEndpoint(Endpoint):
    max_length = post_splitting_and_facets.MOST_GRAPHEMES
    nonce_seconds = 1_800.0
    """A record's key never expires; after this time it is checked whether the record exists."""

    def __init__(self, state: SharedState, watched: WatchedPosts, direct: DirectMessages) -> None:
        self._state = state
        self._settings, self._session = state.settings, state.session
        self._watched, self._direct = watched, direct
        self._done: RecentValues[OutboxId, str] = RecentValues(5_000)
        self.reader = BlueskyReader(state)
        self.form = Form(state.settings.max_posts, takes_files=False, shows_names=False)

    @property
    def account(self) -> str:
        """The account's DID; empty before the first login."""
        return self._session.did

    def at(self, place: PlaceId) -> Endpoint:
        there = copy.copy(self)
        there.max_length = (
            post_splitting_and_facets.MOST_DIRECT if user_of(place) else post_splitting_and_facets.MOST_GRAPHEMES
        )
        return there

    def split(self, text: str) -> list[str]:
        return post_splitting_and_facets.posts(outgoing(text), self.max_length, numbered=self._settings.numbered)

    async def send(self, delivery: Delivery) -> str:
        if (already := self._done.get(delivery.id)) is not None:
            return already
        try:
            await self._session.open()
            if did := user_of(delivery.place):
                said = await self._say(delivery, did)
            else:
                said = await (self._act(delivery) if delivery.act else self._reply(delivery))
        except CallFailed as why:
            raise failures.as_delivery(why) from why
        except DeliveryFailed as why:
            why.withdrawn |= bool(delivery.act) and why.retry_after is None  # what a check refuses stays refused
            raise
        return self._done.put(delivery.id, said)

    async def _say(self, delivery: Delivery, did: str) -> str:
        if not self._settings.direct_messages:
            raise DeliveryFailed(gettext_lazy("direct messages on Bluesky are turned off"))
        self._check_person(Account(did))
        try:
            return await self._direct.send(delivery, did)
        except NoAnswer as why:
            if self._direct.known_to_be_missing:
                raise DeliveryFailed(
                    gettext_lazy("direct messages are not available there: {reason}", reason=why.reason)
                ) from why
            raise

    async def _reply(self, delivery: Delivery) -> str:
        root, parent, languages = await self._answered(delivery)
        record = await self._record(delivery, languages)
        record["reply"] = {"root": root.data(), "parent": parent.data()}
        said = await self._create(delivery, record)
        self._watched.answered(delivery.reply_to)
        return said

    async def _act(self, delivery: Delivery) -> str:
        """Post, like, repost, quote, reply or follow; or take one of these back."""
        if delivery.act == "post":
            return await self._create(delivery, await self._record(delivery, ()))
        if delivery.act in ("unlike", "unfollow", "delete"):
            return await self._undo(delivery)
        made = {"$type": _ACTS.get(delivery.act, POSTS), "createdAt": to_text(delivery.created_at)}
        if delivery.act == "follow":
            who = await self._followed(delivery.target)
            existing = await self._existing_record(delivery, who.followed)
            return existing or await self._create(delivery, {**made, "subject": delivery.target})
        found = (await self._watched.posts([delivery.target])).get(delivery.target)
        if found is None:
            raise DeliveryFailed(gettext_lazy("the post was deleted, or the bot cannot see it"))
        if delivery.act == "reply":
            return await self._create(delivery, await self._elsewhere(delivery, found))
        self._check_person(found.author)
        subject = Reference(found.uri, found.cid).data()
        if delivery.act != "quote":
            existing = await self._existing_record(delivery, found.liked if delivery.act == "like" else found.reposted)
            return existing or await self._create(delivery, {**made, "subject": subject})
        if found.quotes_closed:
            raise DeliveryFailed(gettext_lazy("the author of the post does not let the bot quote it"))
        record = await self._record(delivery, ())
        return await self._create(delivery, {**record, "embed": {"$type": _QUOTE, "record": subject}})

    async def _undo(self, delivery: Delivery) -> str:
        """Remove our record, whichever row or client made it; if there is none, there is nothing to do."""
        if delivery.act == "delete":
            records = [delivery.target]
        elif delivery.act == "unfollow":
            who = account(await self._session.query("app.bsky.actor.getProfile", {"actor": delivery.target}))
            records = [who.followed, *(self._uri("follow", row) for row in delivery.earlier)]
        else:
            found = (await self._watched.posts([delivery.target])).get(delivery.target)
            records = [found.liked if found is not None else "", *(self._uri("like", row) for row in delivery.earlier)]
        for uri in dict.fromkeys(each for each in records if author_of(each) == self._session.did):
            await self._remove(uri)
        return ""

    async def _remove(self, uri: str) -> None:
        """Remove a record of ours, if it still exists. Raises CallFailed."""
        _, _, did, collection, key = uri.split("/")
        await self._session.procedure(
            "com.atproto.repo.deleteRecord", {"repo": did, "collection": collection, "rkey": key}, _REMOVE
        )

    async def _existing_record(self, delivery: Delivery, seen: str) -> str | None:
        """An existing record with the same effect, as a message: by an earlier row, or, in `seen` by the server, made
        by hand.

        Our own server knows at once what was removed in any client, though another may show it for a while.
        """
        made = [self._uri(delivery.act, row) for row in delivery.earlier]
        for uri in dict.fromkeys([*made, *([seen] if author_of(seen) == self._session.did else [])]):
            with suppress(CallRefused):
                return _message(await self._session.record(uri))
        return None

    async def _elsewhere(self, delivery: Delivery, found: Post) -> dict[str, Any]:
        """A reply to a post that did not address us."""
        self._check(found)
        filters = self._settings.filters
        if found.author.is_bot and found.author.did not in filters.friends and not self._settings.bot_answers_per_day:
            raise DeliveryFailed(gettext_lazy("the account is labeled as a bot, and `bot_answers_per_day` is 0"))
        record = await self._record(delivery, _languages(found))
        parent = Reference(found.uri, found.cid)
        return {**record, "reply": {"root": found.root.data(), "parent": parent.data()}}

    # ------------------------------------------------------------------ what is answered

    async def _answered(self, delivery: Delivery) -> tuple[Reference, Reference, tuple[str, ...]]:
        """The thread's first post, the post to reply to, and its languages. Raises DeliveryFailed."""
        if delivery.follows:
            return await self._own(delivery.follows)
        root = identifiers.root_of(delivery.place)
        uri, _ = uri_and_cid(delivery.reply_to)
        if delivery.turn is not None and delivery.later and not uri:
            # The thread's first author may never have written to us.
            raise DeliveryFailed(gettext_lazy("the post it continues was not delivered"))
        if not root:
            raise DeliveryFailed(gettext_lazy("{place} is not a thread on Bluesky", place=delivery.place))
        found = (await self._watched.posts([uri or root])).get(uri or root)
        if found is None:
            self._watched.gone(delivery.reply_to)
            raise DeliveryFailed(
                gettext_lazy("the post it would answer was deleted, or the bot cannot see it"), withdrawn=True
            )
        self._check(found)
        return found.root, Reference(found.uri, found.cid), _languages(found)

    def _check(self, found: Post) -> None:
        if found.author.did == self._session.did:
            raise DeliveryFailed(gettext_lazy("it would answer one of the bot's own posts"), withdrawn=True)
        self._check_person(found.author)
        if found.replies_closed:
            raise DeliveryFailed(gettext_lazy("the author of the thread does not let the bot reply"), withdrawn=True)

    def _check_person(self, who: Account) -> None:
        """Raise DeliveryFailed for a person whom we do not contact, by their choice or by ours."""
        if (why := self._state.us.shut_out(who)) is not None:
            raise DeliveryFailed(_SHUT_OUT[why], withdrawn=True)

    async def _followed(self, did: str) -> Account:
        """A person without a known post, after the same checks."""
        if did == self._session.did:
            raise DeliveryFailed(gettext_lazy("the account cannot follow itself"))
        self._check_person(Account(did))
        who = account(await self._session.query("app.bsky.actor.getProfile", {"actor": did}))
        self._check_person(who)
        return who

    async def _own(self, message: str) -> tuple[Reference, Reference, tuple[str, ...]]:
        """The same for a post of ours that continues: from its own record, which our server has at once."""
        uri, cid = uri_and_cid(message)
        found = await self._session.record(uri)
        own = post({**found, "record": found.get("value")})
        if own is None:
            raise DeliveryFailed(gettext_lazy("the post it continues was deleted"))
        return own.root, Reference(uri, cid), own.languages

    # ------------------------------------------------------------------ the record

    async def _record(self, delivery: Delivery, languages: tuple[str, ...]) -> dict[str, Any]:
        """The post; the same for every attempt, including its time."""
        text = outgoing(delivery.text).strip()
        if not delivery.act:  # an approved post is sent literally
            text = without_markup(text)
        if not visible(text):
            raise DeliveryFailed(gettext_lazy("there is nothing to say"))
        if not post_splitting_and_facets.fits(text):
            raise DeliveryFailed(
                gettext_lazy(
                    "the text has {count} characters, but a post can have at most 300",
                    count=post_splitting_and_facets.graphemes(text),
                )
            )
        record: dict[str, Any] = {
            "$type": POSTS,
            "text": text,
            "createdAt": to_text(delivery.created_at),
            "langs": list(languages or self._settings.post_languages),
        }
        if facets := post_splitting_and_facets.facets(text, await self._resolved(text, delivery.may_mention)):
            record["facets"] = facets
        return record

    async def _resolved(self, text: str, may_mention: Collection[PersonId]) -> Mapping[str, str]:
        """The DIDs of the handles that a text mentions, if those people may be notified."""
        found = {handle: await self._did(handle) for handle in post_splitting_and_facets.handles(text)[:10]}
        return {handle: did for handle, did in found.items() if person_id(did) in may_mention}

    async def _did(self, handle: str) -> str:
        """The DID that has this handle now; empty if there is none. Raises CallFailed."""
        try:
            answer = await self._session.query("com.atproto.identity.resolveHandle", {"handle": handle})
        except CallRefused:
            return ""
        return str(answer.get("did") or "")

    async def person(self, handle: str) -> PersonId | None:
        await self._session.open()
        did = await self._did(handle)
        return person_id(did) if did else None

    async def _create(self, delivery: Delivery, record: Mapping[str, Any]) -> str:
        """Create the record under the row's own key, or find that it exists already."""
        if delivery.images:
            record = {**record, "embed": await self._embed(delivery, record.get("embed"))}
        key = record_key(delivery.id)
        collection = record["$type"]
        data = {"repo": self._session.did, "collection": collection, "rkey": key, "record": dict(record)}
        try:
            answer = await self._session.procedure("com.atproto.repo.createRecord", data, WRITE)
        except (ServerUnreachable, RateLimited):
            raise
        except CallFailed:
            if (there := await self._there(delivery)) is not None:
                return there
            raise
        return _message(answer)

    async def _embed(self, delivery: Delivery, quoted: Mapping[str, Any] | None) -> dict[str, Any]:
        """The images, with the quote. An image that is uploaded twice is one file."""
        images = []
        for each in delivery.images:
            try:
                blob = await self._session.upload(base64.b64decode(each.content), each.content_type, _UPLOAD)
            except NoAnswer as why:  # nothing was posted yet
                raise DeliveryFailed(why.reason, retry_after=SOON) from why
            images.append({"image": blob, "alt": each.alt})
        media = {"$type": _IMAGES, "images": images}
        return media if quoted is None else {"$type": _QUOTE_MEDIA, "record": dict(quoted), "media": media}

    async def _there(self, delivery: Delivery) -> str | None:
        """The row's record as a message, if it exists."""
        try:
            found = await self._session.record(self._uri(delivery.act, delivery.id))
        except CallRefused:
            return None
        return _message(found)

    def _uri(self, act: str, row: OutboxId) -> str:
        return f"at://{self._session.did}/{_ACTS.get(act, POSTS)}/{record_key(row)}"

    # ------------------------------------------------------------------ afterwards

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        """Each by its own key, which no two rows share; direct messages by their text."""
        found = {}
        try:
            await self._session.open()
            if deliveries and (did := user_of(deliveries[0].place)):
                return await self._direct.find(deliveries, did, taken)
            for delivery in deliveries:
                there = self._done.get(delivery.id) or await self._there(delivery)
                if there is not None and there not in taken:
                    found[delivery.id] = there
        except CallFailed as why:
            raise HistoryUnreadable(why.reason, passing=not isinstance(why, CallRefused)) from why
        return found

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        del buttons
        if did := user_of(place):
            await self._say_after(did, external_id, text)
            return
        raise DeliveryFailed(
            gettext_lazy("posts on Bluesky cannot be edited: {post} in {place}", post=external_id, place=place)
        )

    async def _say_after(self, did: str, external_id: str, text: str) -> None:
        """A direct message cannot be edited: the new end of its text is sent as another message."""
        number = OutboxId(int(hashlib.sha256(external_id.encode()).hexdigest()[:15], 16))
        last, at = text.strip().rpartition("\n")[2].strip("*"), datetime.now(UTC)
        try:
            await self._direct.send(Delivery(number, identifiers.direct_place(did), last, at, again=True), did)
        except CallFailed as why:
            raise DeliveryFailed(why.reason, retry_after=SOON) from why

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        uri, _ = uri_and_cid(external_id)
        if author_of(uri) != self._session.did:
            raise DeliveryFailed(
                gettext_lazy("{post} in {place} is not one of the bot's posts", post=external_id, place=place)
            )
        try:
            await self._remove(uri)
        except CallFailed as why:
            raise DeliveryFailed(why.reason, retry_after=5, reached=False) from why

    def show(self, activity: Activity) -> None:
        """Bluesky has no typing indicator."""


def _languages(answered: Post) -> tuple[str, ...]:
    """The valid languages of a post, for the reply: authors write anything, and servers reject others."""
    return tuple(each for each in answered.languages if _LANGUAGE.fullmatch(each))[:_MOST_LANGUAGES]


def _message(record: Mapping[str, Any]) -> str:
    """A record in a server's answer, as a message of ours."""
    uri, cid = record.get("uri"), record.get("cid")
    if not isinstance(uri, str) or not isinstance(cid, str):
        raise NoAnswer(gettext_lazy("Bluesky's answer contains no record"))
    return identifiers.message_id(uri, cid)
