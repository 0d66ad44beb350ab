"""What agents keep for the long term, and what one is shown in a place: for commands, scoped as a message there is."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bot import policy
from bot.desks.desk import Asker
from bot.desks.remembering import Asking
from bot.desks.remembering_names import named_audience, where
from bot.errors import UserError
from bot.policy import Action, Approver, Change, Held, People
from bot.quoting import estimate_tokens
from bot.turns.context import readers, render_block
from memory import agents, archival, blocks, turns
from memory.agents import Agent
from memory.amounts import many
from memory.archival import Entry, NewEntry, Origin
from memory.audience import OWNER, Audience, Scope, Trust
from memory.blocks import Block
from memory.blocks.history import Hand
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.errors import EntryNotFound, Refused
from memory.faults import commit_point
from memory.following import forget_words
from memory.ids import AgentId, ConstellationId, EntryId, PersonId
from memory.widening import require_widening_entry, widen_entry
from sources.terminal import PERSON

T = TypeVar("T")

_ADD = commit_point("archive.add")
_DELETE = commit_point("archive.delete")
_WIDEN = commit_point("archive.widen")

_MOST = 200
_OWNER = Approver(PERSON, door="command line")
_OWNER_ASKER = Asker(PERSON, Scope(OWNER), is_owner=True)


@dataclass(frozen=True)
class Shown:
    """A block that an agent sees in a place, with the tokens it takes (an estimate)."""

    agent: str
    block: Block
    tokens: int


@dataclass(frozen=True)
class New:
    """What somebody wants kept; without an agent it is for the one that answered them last."""

    content: str
    label: str = ""
    agent: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Added:
    """The entry that holds what was added; `not_taken` says what of the request it does not have."""

    entry: Entry
    keeper: str
    not_taken: tuple[str, ...]


@dataclass(frozen=True)
class Archive:
    """The long-term entries of one constellation."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock

    async def latest(self, asker: Asker, agent: str = "", limit: int = 20) -> list[Entry]:
        """The newest entries that the asker may know, of an agent or of all. Raises UserError."""
        most = max(1, min(limit, _MOST))

        def read(rows: Rows) -> list[Entry]:
            found = [
                each
                for of in agents_called(rows, agent)
                for each in archival.latest(rows, of.id, asker.scope, limit=most)
            ]
            return sorted(found, key=lambda entry: (entry.created_at, entry.id), reverse=True)[:most]

        return await self._read(read)

    async def show(self, asker: Asker, label: str, agent: str = "") -> Entry:
        """One entry, by its label or id. Raises UserError."""
        return await self._read(lambda rows: _entry(rows, agent, label, asker.scope))

    async def add(self, asker: Asker, trust: Trust, new: New) -> Added:
        """Store an entry, as words of the asker, for those who hear answers to them alone. Raises UserError."""
        policy.require(self.people, Approver(asker.person), Action.KEEP)
        origin = Origin(asker.scope, trust, asker.person)
        entry = NewEntry(new.content, origin, new.label or None, new.category, new.tags)
        now = self.clock()

        def work(tx: Tx) -> Added:
            keeper = _keeper(tx, new.agent, asker.person)
            kept = archival.insert(tx, keeper.id, entry, now)
            return Added(kept, keeper.name, tuple(archival.not_taken(kept, entry)))

        async with self.constellations.use(self.house) as database:
            try:
                return await database.write(_ADD, work)
            except Refused as error:
                raise UserError(f"That cannot be stored: {error}.") from error

    async def keepers(self) -> dict[AgentId, str]:
        """The names of the agents that entries are of."""
        return await self._read(lambda rows: {agent.id: agent.name for agent in agents.every_agent(rows)})

    async def delete(self, asker: Asker, who: Approver, label: str, agent: str = "") -> str:
        """Forget an entry, with the words it came from as far as they are the asker's. Raises UserError."""
        now = self.clock()

        def work(tx: Tx) -> str:
            entry = _entry(tx, agent, label, asker.scope)
            held = Held(entry.people, entry.audience, (Change.FORGET,))
            if refused := policy.change_refusal(self.people, who, Change.FORGET, held):
                raise UserError(refused)
            deleted = archival.delete(tx, entry.agent, entry.id, Scope(entry.audience))
            asking = next((one for one in entry.people if one in self.people.selves(who.person)), who.person)
            emptied = forget_words(tx, entry, deleted.messages, asking, now)
            return f"Forgotten; {many(emptied, 'message')} lost the words with it."

        async with self.constellations.use(self.house) as database:
            return await database.write(_DELETE, work)

    async def widen(
        self, asking: Asking, label: str, to: str, *, sure: bool = False, agent: str = ""
    ) -> dict[str, Any]:
        """Let those of a wider audience ("public", "guild:<id>", "channel:<id>") know an entry of one's own words.

        Without `sure` nothing is changed: it says what they would be told. Raises UserError.
        """
        policy.require(self.people, asking.who, Action.WIDEN)
        audience = named_audience(to)
        person, scope = asking.who.person, asking.scope
        owner = policy.may(self.people, asking.who, Action.EDIT_ANY)
        hand = Hand(person, self.people.selves(person), owner, scope, asking.trust, self.clock())

        def look(rows: Rows) -> dict[str, Any]:
            entry = _entry(rows, agent, label, scope)
            require_widening_entry(rows, hand, entry, audience)
            return _widened(rows, entry, audience, scope, done=False)

        def work(tx: Tx) -> dict[str, Any]:
            entry = _entry(tx, agent, label, scope)
            told = _widened(tx, entry, audience, scope, done=True)
            widen_entry(tx, hand, entry, audience)
            return told

        async with self.constellations.use(self.house) as database:
            try:
                return await (database.write(_WIDEN, work) if sure else database.read(look))
            except Refused as error:
                raise UserError(f"That cannot be made known more widely: {error}.") from error

    async def context(self, scope: Scope) -> list[Shown]:
        """The blocks that each agent sees where an answer is heard by these, with their sizes."""

        def read(rows: Rows) -> list[Shown]:
            return [
                Shown(agent.name, block, estimate_tokens(render_block(block)))
                for agent in agents.agents(rows)
                for block in blocks.visible_blocks(rows, agent.id, scope, referred=())
            ]

        async with self.constellations.use(self.house) as database:
            return await database.read(read, indexed=True)

    async def _read(self, read: Callable[[Rows], T]) -> T:
        async with self.constellations.use(self.house) as database:
            return await database.read(read, indexed=True)

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "archival.list": self.owner_list,
            "archival.show": self.owner_show,
            "archival.add": self.owner_add,
            "archival.delete": self.owner_delete,
            "archival.widen": self.owner_widen,
        }

    async def owner_list(self, agent: str = "", limit: int = 20) -> list[dict[str, Any]]:
        """The newest entries that the owner may read."""
        names = await self.keepers()
        return [entry_data(entry, names) for entry in await self.latest(_OWNER_ASKER, agent, limit)]

    async def owner_show(self, label: str, agent: str = "") -> list[dict[str, Any]]:
        """One entry."""
        return [entry_data(await self.show(_OWNER_ASKER, label, agent), await self.keepers())]

    async def owner_add(
        self, content: str, label: str = "", agent: str = "", category: str = "", tags: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Store an entry that is known in the owner's own places."""
        new = New(content, label, agent, category, tuple(tags))
        added = await self.add(_OWNER_ASKER, Trust.OWNER, new)
        return [added_data(added)]

    async def owner_delete(self, label: str, agent: str = "") -> list[dict[str, Any]]:
        """Forget an entry."""
        return [{"text": await self.delete(_OWNER_ASKER, _OWNER, label, agent)}]

    async def owner_widen(self, label: str, to: str, agent: str = "", *, sure: bool = False) -> dict[str, Any]:
        """Let more people know an entry of the owner's own."""
        return await self.widen(Asking(_OWNER, Scope(OWNER), Trust.OWNER), label, to, sure=sure, agent=agent)


def _widened(rows: Rows, entry: Entry, to: Audience, scope: Scope, *, done: bool) -> dict[str, Any]:
    """Which text is, or would be, made known to whom."""
    return {
        "entry": archival.shown_name(entry.label, entry.id),
        "from": where(rows, entry.audience, scope),
        "to": where(rows, to, scope),
        "audience": str(to),
        "text": whole_text(entry),
        "done": done,
    }


def whole_text(entry: Entry) -> str:
    """All of an entry that can be read: its words, then category, tags and metadata."""
    more = {"category": entry.category, "tags": ", ".join(entry.tags)}
    more |= {str(name): str(value) for name, value in entry.metadata.items()}
    return "\n".join([entry.content, *(f"({name}: {value})" for name, value in more.items() if value)])


def added_data(added: Added) -> dict[str, Any]:
    """What came of adding, as plain data; `already` when the words were known, `not_taken` in words."""
    entry = entry_data(added.entry, {added.entry.agent: added.keeper})
    return {**entry, "already": added.entry.reinforcement > 0, "not_taken": list(added.not_taken)}


def added_text(data: Mapping[str, Any]) -> str:
    """Who keeps what was added under which name, and what of the request was not taken on."""
    again = " It was known already and is stronger now." if data["already"] else ""
    left = f" It did not take on {'; nor '.join(data['not_taken'])}." if data["not_taken"] else ""
    return f"Kept as `{archival.shown_name(data['label'], data['id'])}` by {data['agent']}.{again}{left}"


def entry_data(entry: Entry, names: Mapping[AgentId, str]) -> dict[str, Any]:
    """An entry as plain data; `names` are those of the agents."""
    return {
        "id": entry.id,
        "agent": names.get(entry.agent, ""),
        "label": entry.label or "",
        "category": entry.category,
        "tags": list(entry.tags),
        "importance": entry.importance,
        "reinforcement": entry.reinforcement,
        "metadata": dict(entry.metadata),
        "text": entry.content,
        "people": list(entry.people),
        "audience": entry.audience,
        "stored": to_text(entry.created_at),
        "changed": to_text(entry.updated_at),
        "last_seen": "" if entry.last_seen is None else to_text(entry.last_seen),
    }


def shown_lines(shown: list[Shown]) -> list[str]:
    """What agents see, for a person."""
    lines = [
        f"{each.block.label} ({each.agent}, {each.block.type}): {len(each.block.content):,} of "
        f"{each.block.char_limit:,} characters, about {each.tokens:,} tokens; read by {readers(each.block.audience)}"
        for each in shown
    ]
    total = sum(each.tokens for each in shown)
    return (
        [*lines, f"together about {total:,} tokens, before the conversation"] if lines else ["No block is seen here."]
    )


def agents_called(rows: Rows, name: str) -> list[Agent]:
    """The agent of that name, or all: also those that are archived, whose memory stays. Raises UserError."""
    found = agents.every_agent(rows)
    named = [agent for agent in found if agent.name.casefold() == name.casefold()] if name else found
    if name and not named:
        raise UserError(f"There is no agent {name!r}; there are: {', '.join(agent.name for agent in found)}.")
    return named


def _keeper(rows: Rows, name: str, person: PersonId) -> Agent:
    """Who keeps what a person adds: the agent of that name, else the one that answered them last, else the first."""
    living = [agent for agent in agents_called(rows, name) if agent.status != "archived"]
    if not living:
        raise UserError(
            f"{f'The agent {name}' if name else 'Every agent'} is archived; `carina agent restore` undoes that."
        )
    last = turns.answered_last(rows, person)
    return next((agent for agent in living if agent.id == last), living[0])


def _entry(rows: Rows, agent: str, label: str, scope: Scope) -> Entry:
    found = dict[EntryId, tuple[Agent, Entry]]()
    for of in agents_called(rows, agent):
        with contextlib.suppress(EntryNotFound):
            entry = archival.read(rows, of.id, label, scope)
            found[entry.id] = of, entry
            if entry.id == label:
                return entry
    if not found:
        raise UserError(
            f"No archival entry {label!r} can be seen from here; the list of entries shows those that can be."
        )
    if len(found) > 1:
        which = ", ".join(f"{entry.id} of {of.name}" for of, entry in found.values())
        raise UserError(f"Several agents have an entry {label!r}; say which by its id: {which}.")
    return next(entry for _of, entry in found.values())
