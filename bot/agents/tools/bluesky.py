"""`bluesky`: posting, liking, reposting, quoting and answering, following, and taking any of that back. The answer to
whoever speaks to the agent needs no tool: it is the final text.

Each act is an outbox row, like everything that is said: it happens once, over crashes and bad connections, within the
account's limits, under a record key made from the row. A like, repost or follow that is asked for again is a row of its
own, which knows those before it: it comes to something only where none of their records stands any more.
"""

import re
from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from bot.agents.context.quotes import line
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.agents.tools.pictures import encoded, picture
from bot.errors import ToolError
from memory.people.audience import PUBLIC, Trust
from memory.queue import messages, outbox
from memory.requests import Kind, Need, require
from memory.store.database import Rows, Tx
from memory.store.ids import PlaceId, snowflakes
from sources.base import Endpoint

SOURCE = "bluesky"
PLACE = PlaceId("bluesky:account")
"""Where acts of the account stand in the outbox: one after another."""
POST = re.compile(r"at://did:[a-z]+:[A-Za-z0-9._:%-]+/app\.bsky\.feed\.post/[A-Za-z0-9._:~-]+")
_SAYING = ("post", "quote", "reply")
_UNDOES = {"unlike": "like", "unfollow": "follow"}
_DID = re.compile(r"did:[a-z]+:[A-Za-z0-9._:%-]+")


@runtime_checkable
class Owned(Protocol):
    """An endpoint that speaks for an account with a DID."""

    @property
    def account(self) -> str: ...


class Picture(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(description="folder/file of a folder of yours, PNG or JPEG")
    alt: str = Field(min_length=1, max_length=2_000, description="what it shows, for who cannot see it")


class BlueskyArguments(Arguments):
    operation: Literal["post", "like", "repost", "quote", "reply", "follow", "unlike", "unfollow", "delete"] = Field(
        description="post something of your own; like, repost, quote or answer a post; follow a person; unlike and "
        "unfollow take that back, delete takes a post of yours back"
    )
    target: str = Field(
        default="",
        description="the post as at://…, or for follow and unfollow the person as did:…; empty: the newest post to "
        "you, its author; post has none",
    )
    text: str = Field(default="", description="post, quote, reply: what you say, at most 300 characters")
    images: tuple[Picture, ...] = Field(default=(), max_length=4, description="pictures that go with what you say")


class BlueskyTool(StoreTool[BlueskyArguments]):
    name = "bluesky"
    description = (
        "Post on Bluesky; like, repost, quote or answer posts, follow somebody, or take such a thing back; everybody "
        "can see it. Not needed to answer who speaks to you: your final text is the reply. All but liking what you are "
        "answering needs the owner's yes, who is asked."
    )
    arguments: type[Arguments] = BlueskyArguments
    caution = Caution(bound=("operation", "target", "text", "images"))

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._endpoints = endpoints

    def work(self, tx: Tx, context: ToolContext, arguments: BlueskyArguments) -> Outcome:
        turn, asked, act = context.turn, _asked(tx, context), arguments.operation
        if SOURCE not in self._endpoints:
            raise ToolError("Bluesky is not connected.")
        target = _target(context, arguments, asked)
        if says := arguments.operation in _SAYING:
            self._require_sayable(context, arguments.text)
        elif arguments.images:
            raise ToolError("Pictures go with a post, a quote or a reply.")
        if arguments.operation == "reply" and target == asked and not arguments.images:
            raise ToolError("Your final text is the reply to that post: no tool is needed.")
        if act == "follow" and target == self._own:
            raise ToolError("That is this account itself, which cannot follow itself.")
        if act == "delete" and not target.startswith(f"at://{self._own}/"):
            raise ToolError("That is no post of this account.")
        before = [] if says else outbox.of_prefix(tx, f"tool/{act}/{target}/")
        if any(each.status in (outbox.Status.PENDING, outbox.Status.SENDING) for each in before):
            return Outcome(line(f"nothing to do: this account was told to {act} {target} a moment ago"))
        key = f"tool/{turn.id}/{snowflakes.next()}/0" if says else f"tool/{act}/{target}/{len(before)}"
        done = outbox.of_prefix(tx, f"tool/{_UNDOES[act]}/{target}/") if act in _UNDOES else before
        earlier = [each.id for each in done if each.status in (outbox.Status.SENT, outbox.Status.UNKNOWN)]
        if turn.trust < Trust.OWNER and not (act == "like" and target == asked):
            reason = f"somebody who is not the owner wants the account to {act} {target}".rstrip()
            require(Need(Kind.TOOL, f"bluesky {act} {target}".rstrip(), reason), context.permit)
        images = tuple(self._image(tx, context, each) for each in arguments.images)
        row = outbox.NewRow(
            key=key,
            place=PLACE,
            source=SOURCE,
            content=arguments.text if says else act,
            audience=PUBLIC,
            turn=turn.id,
            person=turn.person,
            agent=turn.agent,
            detail=outbox.ActDetail(act, target, images, tuple(earlier)),
        )
        outbox.add(tx, row, context.now)
        if earlier and act not in _UNDOES:
            return Outcome(
                line(f"queued: this account did {act} {target} before, and does it again only if it was undone")
            )
        return Outcome(line(f"queued: {act} {target}".rstrip() + " is done as soon as this turn's step is stored"))

    @property
    def _own(self) -> str:
        """Who the account is; empty while nobody knows."""
        endpoint = self._endpoints.get(SOURCE)
        return endpoint.account if isinstance(endpoint, Owned) else ""

    def _image(self, rows: Rows, context: ToolContext, wanted: Picture) -> outbox.Image:
        """Type, alt text and bytes of a picture; who is in charge is asked where not everybody may know its folder."""
        kind, content, audience = picture(rows, context, wanted.file)
        if audience != PUBLIC:
            reason = f"everybody could see {wanted.file}, whose folder is not for everybody"
            require(Need(Kind.TOOL, f"bluesky picture {wanted.file}", reason, once_only=True), context.permit)
        return outbox.Image(kind, wanted.alt, encoded(content))

    def _require_sayable(self, context: ToolContext, text: str) -> None:
        """Raise for words that are no post, or that were made of what not everybody may know."""
        if len(self._endpoints[SOURCE].split(text)) != 1:
            raise ToolError("A post, a quote or a reply needs a text of 1 to 300 characters.")
        turn = context.turn
        if turn.scope.audience != PUBLIC:
            reason = "everybody can read it on Bluesky, and it may tell what was said here"
            require(Need(Kind.SOURCE, PLACE, reason, asks=turn.person, once_only=True), context.permit)


def _asked(rows: Rows, context: ToolContext) -> str:
    """The post that the turn answers; empty when it answers none."""
    if context.message is None:
        return ""
    found = messages.by_ids(rows, [context.message], context.turn.scope)
    uri = (found[0].external_id or "").partition("#")[0] if found else ""
    return uri if POST.fullmatch(uri) else ""


def _target(context: ToolContext, arguments: BlueskyArguments, asked: str) -> str:
    """Which post or person is meant; raises ToolError."""
    given = arguments.target.strip()
    if arguments.operation == "post":
        if given:
            raise ToolError("A post of your own has no target: `reply` and `quote` do.")
        return ""
    if arguments.operation == "delete" and not given:
        raise ToolError("Name the post that is to be deleted.")
    if arguments.operation in ("follow", "unfollow"):
        found = given or (context.turn.person or "").removeprefix(f"{SOURCE}:")
        if _DID.fullmatch(found):
            return found
        raise ToolError("A person is named by their DID, such as did:plc:ewvi7nxzyoun6zhxrhs64oiz.")
    found = given or asked
    if POST.fullmatch(found):
        return found
    raise ToolError("A post is named like at://did:plc:…/app.bsky.feed.post/…, as the thread's block has it.")
