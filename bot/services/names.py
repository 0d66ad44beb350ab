"""Readable names of agents, groups, blocks and audiences, and their lookup."""

import re
import shlex
from collections.abc import Iterable
from typing import Protocol, TypeVar

from msgspec import Struct

from bot.agents.agenda.tasks import list_known
from bot.errors import CallError, UserError
from memory import agent_groups, agents, blocks
from memory.agent_groups import Group
from memory.agents import Agent, plain_name
from memory.blocks import CONSTELLATION_OWNER, Block, BlockType
from memory.blocks.history import ChangeLog
from memory.blocks.store import block_history
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, parse_audience
from memory.people.identities import audience_called, label_called
from memory.store.database import Rows
from memory.store.ids import BlockId
from sources.base import Directory, Front, PlatformError
from sources.bluesky.identifiers import NAME as BLUESKY
from sources.names import place_title
from texts import _, error_sentence, gettext_noop, source

NO_AGENT = gettext_noop("There is no agent “{name}”.")
NO_GROUP = gettext_noop("There is no group “{name}”.")
NO_FEED = gettext_noop("There is no feed, calendar, folder or webhook “{name}”.")
NO_TEMPLATE = gettext_noop("There is no task template “{name}”.")
NO_CONSTELLATION = gettext_noop("There is no constellation “{name}”.")
_SHOWN = 80  # characters of an unknown name that are shown
_HANDLE = re.compile(r"(?:bluesky:)?@?((?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{0,62})", re.IGNORECASE)
_NAME = re.compile(r"(?!(?i:con_))[^\W_][\w .'-]*")  # con_: the ids of constellations


_PROGRAMS = re.compile(r"\b[a-z]+_(?:channel|thread|user):")
"""Introduces the subject of a block in its label."""


class HasName(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=HasName)


def find(every: Iterable[N], name: str, missing: str) -> N:
    """The item of that name. Raises UserError with the text `missing` and the known names."""
    known, wanted = list(every), plain_name(name)
    for each in known:
        if each.name.casefold() == wanted:
            return each
    raise UserError(_(missing, name=name[:_SHOWN]) + _(list_known([each.name for each in known])))


async def looked_up(said: str, fronts: Iterable[Front]) -> str:
    """A name as typed; a Bluesky handle becomes its DID, which nobody can take over. Raises UserError."""
    if (handle := _HANDLE.fullmatch(said.strip())) is None:
        return said
    endpoint = next((front.endpoint for front in fronts if front.source.name == BLUESKY), None)
    if not isinstance(endpoint, Directory):
        raise UserError(
            "Bluesky is not connected, so I can't look up this handle. Connect it, or give the account's ID "
            "(did:plc:…)."
        )
    try:
        found = await endpoint.person(handle[1])
    except PlatformError as why:
        raise UserError(why.reason) from why
    if found is None:
        raise UserError("Nobody on Bluesky has the handle {handle}.", handle=handle[1])
    return found


def find_agent(rows: Rows, name: str) -> Agent:
    """An agent, including archived ones, whose memory stays. Raises UserError."""
    return find(agents.every_agent(rows), name, NO_AGENT)


def find_living(rows: Rows, name: str) -> Agent:
    """An agent that is not archived; without a name, the oldest one. Raises UserError."""
    known = agents.agents(rows)
    if not known:
        raise UserError("All agents are archived. `carina agent restore` restores one.")
    return find(known, name, NO_AGENT) if name.strip() else min(known, key=lambda each: each.id)


def require_name(name: str) -> None:
    """Raise UserError for a name that commands and files could not use."""
    if not _NAME.fullmatch(name):
        raise UserError(
            "A name must start with a letter or digit and can contain only letters, digits, spaces and . - _ '"
        )


def command_to_answer(rows: Rows) -> str:
    """The command that makes an agent answer again; empty if one does."""
    every = agents.every_agent(rows)
    if not every or any(each.status == "active" for each in every):
        return ""
    verb = "restore" if every[0].status == "archived" else "wake"
    return f"`carina agent {verb} {shlex.quote(every[0].name)}`"


def find_group(rows: Rows, name: str) -> Group:
    """A group. Raises UserError."""
    return find(agent_groups.groups(rows), name, NO_GROUP)


_LISTED = 25  # names in an error
_SHARED = {
    "guild": re.compile(r"discord:[0-9]{1,20}"),
    "channel": re.compile(r"discord:[0-9]{1,20}|(?!discord:)[a-z]+:\S+"),
}
"""Ids of audiences with several people."""
_PLACE = re.compile(
    r"discord:(?:guild:|user:)?[0-9]{1,20}|bluesky(?::(?:at|user)[A-Za-z0-9._:%/-]{1,300})?|terminal:local"
)


class NamedBlock(Struct, frozen=True):
    """A block with its readable name; `agent` is the owner."""

    name: str
    agent: str
    block: Block


def named_blocks(rows: Rows, scope: Scope) -> list[NamedBlock]:
    """The blocks that a scope may see, each with a unique name: the label, with owner and audience if necessary."""
    found: dict[BlockId, tuple[str, Block]] = {}
    for agent in agents.every_agent(rows):  # including archived agents, whose memory stays
        for block in blocks.visible_blocks(rows, agent.id, scope, types=tuple(BlockType)):
            owner = block.shared_from or (_("everybody") if block.owner == CONSTELLATION_OWNER else agent.name)
            found.setdefault(block.id, (owner, block))
    named, used = list[NamedBlock](), set[str]()
    for owner, block in found.values():
        alike = [other for other in found.values() if other[1].label == block.label]
        name = label_called(rows, block.label, scope)
        if any(other[0] != owner for other in alike):
            name = f"{owner}/{name}"
        if sum(other[0] == owner for other in alike) > 1:
            name = _("{name} in {where}", name=name, where=where(rows, block.audience, scope))
        name, number = name[:90], 2
        while name in used:
            name, number = f"{name[:85]} ({number})", number + 1
        used.add(name)
        named.append(NamedBlock(name, owner, block))
    return named


def shown_block(name: str) -> str:
    """A block's name for its reader; on Discord, where names are picked, without the parts that only programs need."""
    if source() != "discord":
        return name
    return place_title(_PROGRAMS.sub("", name).replace("tool_execution_log", _("tool use")))


def typed_id(identifier: str) -> str:
    """An ID after a word, for readers who can type it; empty on Discord, where things are chosen by their words."""
    return "" if source() == "discord" else f" {identifier}"


def named_audience(text: str) -> Audience:
    """Parse an audience; a bare number is a Discord server or channel. Raises CallError, UserError."""
    kind, _colon, which = text.strip().partition(":")
    shared = kind in ("guild", "channel")
    which = f"discord:{which}" if which.isdecimal() else which
    if shared and not _SHARED[kind].fullmatch(which):
        raise CallError("“{text}” is not valid. Write it as {kind}:discord:1234.", text=text.strip(), kind=kind)
    try:
        return parse_audience(f"{kind}:{which}" if shared else text.strip())
    except ValueError as error:
        require_suggested(text)
        raise CallError(error_sentence(error)) from None


def require_suggested(given: str) -> None:
    """On Discord, refuse a value that is not among the suggestions, without mentioning ids. Raises UserError."""
    if source() == "discord":
        raise UserError("“{given}” is not one of the suggestions. Choose one of them.", given=given[:_SHOWN])


def unnamed(subject: str) -> str:
    """A description of a Discord person, server or role whose name is unknown; anything else by its id."""
    kind, _colon, number = subject.removeprefix("person:").replace("discord:", "").rpartition(":")
    words = {
        "": gettext_noop("somebody who has not written yet (…{end})"),
        "role": gettext_noop("a role (…{end})"),
        "guild": gettext_noop("a server (…{end})"),
    }
    return _(words[kind], end=number[-4:]) if "discord:" in subject and kind in words else subject


def named_place(text: str) -> str:
    """Parse a place as it is named in settings. Raises UserError."""
    if not _PLACE.fullmatch(text):
        shapes = _(
            "discord:guild:1234 for a server, discord:1234 for a channel or category, discord:user:1234, or bluesky"
        )
        raise UserError("“{place}” is not a place. Use {examples}.", place=text[:80], examples=shapes)
    return text


def where(rows: Rows, audience: Audience, scope: Scope) -> str:
    """The location of an audience, by the name of a place that the scope knows."""
    if audience == PUBLIC:
        return _("all places")
    if audience == OWNER:
        return _("the owner's places")
    if audience.startswith("person:"):
        return _("our direct messages")
    return audience_called(rows, audience, scope) or (
        _("a server") if audience.startswith("guild:") else _("a channel")
    )


def place_as_read(name: str, audience: str) -> str:
    """A place's name for somebody who reads its messages; direct messages are described as the reader's own."""
    alone = audience == OWNER or audience.startswith("person:")
    ours = alone and name.startswith(("direct messages", "the direct messages with "))
    return _("our direct messages") if ours else place_title(name)


def is_shared(audience: str) -> bool:
    """Whether others than the owner may see it."""
    return audience != OWNER


def find_named(rows: Rows, scope: Scope, name: str) -> NamedBlock:
    """The block of that name or id. Raises UserError, listing the valid names."""
    every = named_blocks(rows, scope)
    wanted = name.strip().casefold()
    found = [each for each in every if wanted in (each.name.casefold(), shown_block(each.name).casefold())]
    exact = [each for each in found if name.strip() in (each.name, shown_block(each.name))]
    found = (
        exact or found or [each for each in every if wanted in _names(each, where(rows, each.block.audience, scope))]
    )
    if len(found) == 1:
        return found[0]
    names = [shown_block(each.name) for each in (found or every)[:_LISTED]]
    if found:
        there = ", ".join(names)
        raise UserError("Several blocks are called “{name}”. Choose one: {there}.", name=name, there=there)
    raise UserError(_("There is no block “{name}” here.", name=name[:80]) + _(list_known(names)))


def _names(named: NamedBlock, place: str) -> set[str]:
    """Every name of a block, valid even if a shorter one is unambiguous; the last is its id."""
    label = named.block.label
    names = (label, f"{named.agent}/{label}", f"{named.block.owner}/{label}")
    return {each.casefold() for name in names for each in (name, _("{name} in {where}", name=name, where=place))} | {
        named.block.id.casefold()
    }


def named_past(rows: Rows, scope: Scope, name: str) -> tuple[NamedBlock, ChangeLog]:
    """The block of that name with its history. Raises UserError, BlockCorrupt."""
    named = find_named(rows, scope, name)
    return named, block_history(rows, named.block.id)
