"""Direct messages: conversations of two, which the server asks its chat service for when a header names that."""

import hashlib
import itertools
from typing import TYPE_CHECKING

from tests.wire.bluesky.world import Invalid, Json, User, now_text

if TYPE_CHECKING:
    from tests.wire.bluesky.server import BlueskyServer

PROXY = "did:web:api.bsky.chat#bsky_chat"


class Chat:
    def __init__(self) -> None:
        self.there = True
        """Whether the server has this service; without it calls are answered with 500, as the real one does."""
        self.lost_answers = 0
        """Messages that are taken next without the sender being told so."""
        self._said: dict[frozenset[str], list[Json]] = {}
        self._numbers = itertools.count(1)

    def say(self, sender: User, to: User, text: str) -> Json:
        message: Json = {
            "$type": "chat.bsky.convo.defs#messageView",
            "id": f"m{next(self._numbers):06d}",
            "rev": f"{next(self._numbers):013d}",
            "text": text,
            "sender": {"did": sender.did},
            "sentAt": now_text(),
        }
        self._said.setdefault(frozenset((sender.did, to.did)), []).append(message)
        return message

    def delete(self, message: Json) -> None:
        """Its sender takes it back: what is left has no words."""
        message["$type"] = "chat.bsky.convo.defs#deletedMessageView"
        del message["text"]

    def forget(self) -> None:
        """Everybody left all conversations."""
        self._said.clear()

    def restore(self, one: User, other: User, messages: list[Json]) -> None:
        self._said[frozenset((one.did, other.did))] = messages

    def between(self, one: User, other: User) -> list[Json]:
        return self._said.get(frozenset((one.did, other.did)), [])

    def texts(self, sender: User, to: User) -> list[str]:
        return [each["text"] for each in self.between(sender, to) if each["sender"]["did"] == sender.did]

    def answer(self, server: "BlueskyServer", method: str, user: User, data: Json, proxy: str) -> Json:
        if proxy != PROXY or not self.there:
            raise Invalid("InternalServerError", "Internal Server Error", 500)
        match method.rpartition(".")[2]:
            case "listConvos":
                found = [self._view(server, pair, user) for pair in self._said if user.did in pair]
                return {"convos": sorted(found, key=lambda each: str(each["rev"]), reverse=True)}
            case "getConvoForMembers":
                other = server.named(data["members"][0])
                if user.did in other.blocks:
                    raise Invalid("InvalidRequest", "recipient has blocked the sender")
                pair = frozenset((user.did, other.did))
                self._said.setdefault(pair, [])
                return {"convo": self._view(server, pair, user)}
            case "getMessages":
                said = self._said[self._pair(data["convoId"][0])]
                limit, start = min(int(data["limit"][0]), server.page), int(data.get("cursor", ["0"])[0])
                page: Json = {"messages": said[::-1][start : start + limit]}
                return {**page, "cursor": str(start + limit)} if len(said) > start + limit else page
            case "sendMessage":
                to = next(did for did in self._pair(data["convoId"]) if did != user.did)
                said_now = self.say(user, server.users[to], data["message"]["text"])
                if self.lost_answers:
                    self.lost_answers -= 1
                    raise Invalid("UpstreamFailure", "no answer", 502)
                return said_now
            case _:
                raise Invalid("MethodNotImplemented", method, 501)

    def _view(self, server: "BlueskyServer", pair: frozenset[str], viewer: User) -> Json:
        said = self._said[pair]
        last = {"lastMessage": said[-1], "rev": said[-1]["rev"]} if said else {"rev": ""}
        members = [server.author_view(server.users[did], viewer) for did in sorted(pair)]
        return {"id": _key(pair), "members": members, "unreadCount": 0, "muted": False, **last}

    def _pair(self, key: str) -> frozenset[str]:
        return next(pair for pair in self._said if _key(pair) == key)


def _key(pair: frozenset[str]) -> str:
    return "3l" + hashlib.sha256(",".join(sorted(pair)).encode()).hexdigest()[:11]
