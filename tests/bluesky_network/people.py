"""People on the network, who speak to their server in its own words."""

import asyncio
import itertools
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp

from tests.bluesky_network.runner import Network

_NUMBERS = itertools.count(1)
POSTS = "app.bsky.feed.post"


@dataclass
class Refused(Exception):
    """What the server answers instead."""

    status: int
    error: str
    message: str


@dataclass
class Human:
    """One account, logged in with the account's own password."""

    network: Network
    http: aiohttp.ClientSession
    did: str
    handle: str
    token: str

    @classmethod
    async def join(cls, network: Network, http: aiohttp.ClientSession, name: str) -> "Human":
        """Make an account, with a profile."""
        handle = f"{name}{next(_NUMBERS)}.test"
        given = {"handle": handle, "email": f"{handle}@example.test", "password": "the account's own"}
        made = await _post(http, network.pds, "com.atproto.server.createAccount", given)
        human = cls(network, http, made["did"], handle, made["accessJwt"])
        record = {"$type": "app.bsky.actor.profile", "displayName": name.title()}
        await human.do("com.atproto.repo.putRecord", **human._key("app.bsky.actor.profile", "self"), record=record)
        return human

    async def do(self, method: str, **data: Any) -> dict[str, Any]:
        return await _post(self.http, self.network.pds, method, data, self.token)

    async def ask(self, method: str, **query: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.http.get(f"{self.network.pds}/xrpc/{method}", params=query, headers=headers) as answer:
            return await _read(answer)

    async def app_password(self) -> str:
        return str((await self.do("com.atproto.server.createAppPassword", name=f"carina{next(_NUMBERS)}"))["password"])

    async def post(
        self,
        text: str,
        *,
        to: dict[str, Any] | None = None,
        mention: "Human | None" = None,
        quote: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Post something, perhaps as a reply to a post that `thread` gave or `post` made."""
        record: dict[str, Any] = {"$type": POSTS, "text": text, "createdAt": _now(), "langs": ["en"]}
        if to is not None:
            root = to.get("record", {}).get("reply", {}).get("root", _reference(to))
            record["reply"] = {"root": root, "parent": _reference(to)}
        if quote is not None:
            record["embed"] = {"$type": "app.bsky.embed.record", "record": _reference(quote)}
        if mention is not None:
            start = text.encode().index(f"@{mention.handle}".encode())
            feature = {"$type": "app.bsky.richtext.facet#mention", "did": mention.did}
            index = {"byteStart": start, "byteEnd": start + len(mention.handle) + 1}
            record["facets"] = [{"index": index, "features": [feature]}]
        made = await self.do("com.atproto.repo.createRecord", repo=self.did, collection=POSTS, record=record)
        return {"uri": made["uri"], "cid": made["cid"], "record": record}

    async def delete(self, post: dict[str, Any]) -> None:
        key = post["uri"].rpartition("/")[2]
        await self.do("com.atproto.repo.deleteRecord", repo=self.did, collection=POSTS, rkey=key)

    async def records(self, collection: str = POSTS) -> list[dict[str, Any]]:
        """What stands in the account's repository, the oldest first."""
        found = await self.ask("com.atproto.repo.listRecords", repo=self.did, collection=collection, limit=100)
        return list(reversed(found["records"]))

    async def wait_for_records(self, count: int, within: float = 60.0, collection: str = POSTS) -> list[dict[str, Any]]:
        """The records, once there are so many."""
        end = time.monotonic() + within
        while len(found := await self.records(collection)) < count:
            if time.monotonic() > end:
                raise AssertionError(f"{self.handle} has {len(found)} records of {collection}, not {count}")
            await asyncio.sleep(0.01)
        return found

    def _key(self, collection: str, key: str) -> dict[str, str]:
        return {"repo": self.did, "collection": collection, "rkey": key}


def _reference(post: dict[str, Any]) -> dict[str, str]:
    return {"uri": post["uri"], "cid": post["cid"]}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _post(
    http: aiohttp.ClientSession, server: str, method: str, data: dict[str, Any], token: str = ""
) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with http.post(f"{server}/xrpc/{method}", json=data, headers=headers) as answer:
        return await _read(answer)


async def _read(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    content = await answer.json(content_type=None) if answer.content_length != 0 else {}
    if answer.status >= 400:
        raise Refused(answer.status, str(content.get("error")), str(content.get("message")))
    return dict(content or {})
