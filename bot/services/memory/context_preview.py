"""A preview of an agent's context in a place: the prompt, which is sent to no model, and why each memory is in it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from bot.agents.context import prompt
from bot.agents.context.block_layout import render_block
from bot.agents.context.prompt import PromptInputs, TurnRows
from bot.agents.context.quotes import estimate_tokens
from bot.agents.context.recalled_knowledge import fact_line
from bot.agents.permissions.roles_and_rights import Action
from bot.agents.tools.search import Why
from bot.errors import UserError
from bot.models.base import AssistantMessage
from bot.models.base import Message as PromptMessage
from bot.services.caller import TERMINAL_ONLY, Caller, is_offered
from bot.services.memory.search import why_words
from bot.services.names import find_living, find_named, shown_block, where
from bot.services.registry import Arguments, Options, Param, operation
from bot.services.results import Markup, Result, Row
from bot.services.transactions import Service
from memory import agents
from memory.agents import Agent
from memory.blocks import Block, BlockType
from memory.blocks.records import MOST_CHARACTERS
from memory.knowledge.entries import shown_name
from memory.people.audience import Scope
from memory.people.identities import label_called
from memory.queue import inbox, messages, turns
from memory.queue.messages import Message
from memory.queue.steps import MessagesJoined, Step
from memory.queue.turns import Turn
from memory.store.database import Rows
from memory.store.ids import BlockId, PlaceId
from memory.store.records import replace
from sources.text import one_line
from texts import _, gettext_noop

_NAMED = 80  # characters
_LOOKED = 200  # newest messages of a place that are searched for one by a person
_OWNERS: Mapping[str, Any] = {"via": TERMINAL_ONLY, "needs": Action.EXAMINE}


class ContextArguments(Arguments):
    """Only the owner may choose the place, the writer and a changed block; without a text, the block stays as it is."""

    place: Annotated[
        str,
        Param("ID of the place (default: here)", example="discord:1234", suggests="places", positional=True, **_OWNERS),
    ] = ""
    agent: Annotated[
        str, Param("Name of the agent (default: the one that answered last)", metavar="NAME", suggests="agents")
    ] = ""
    person: Annotated[str, Param("ID of the person who writes there (default: whoever wrote last)", **_OWNERS)] = ""
    block: Annotated[str, Param("Block to try with different text", suggests="blocks", **_OWNERS)] = ""
    text: Annotated[
        str, Field(max_length=MOST_CHARACTERS), Param("Text to try in the block; it is not saved", **_OWNERS)
    ] = ""


_NOTHING_SAID = gettext_noop("Nobody has said anything there that you can read.")
_ALWAYS = gettext_noop("always shown")
_SHOWN_BECAUSE = {
    BlockType.LOG: gettext_noop("log for this place"),
    BlockType.WORKING: gettext_noop("from the last answer here"),
}
_PARTS = {
    "instructions": (gettext_noop("Instructions"), True),
    "blocks": (gettext_noop("Memory blocks"), True),
    "tools": (gettext_noop("Tools"), True),
    "earlier": (gettext_noop("Earlier conversation"), True),
    "recalled": (gettext_noop("Recalled memories"), False),
    "now": (gettext_noop("The place and the newest message"), False),
}
"""For each part of a prompt its name for people, and whether it stays the same from turn to turn."""


class Section(Row):
    """A part of the prompt, with its estimated tokens."""

    name: str
    tokens: int
    cached: bool
    """It stays the same from turn to turn, so providers can cache it."""

    phrase = gettext_noop("{name}: about {tokens} tokens")


class Reason(Row):
    """A memory that is in the prompt, and why."""

    memory: str
    block: str = Field(default="", exclude=True)
    """Its id, if it is a block."""
    why: str
    tokens: int
    phrase = gettext_noop("{memory}: {why}, about {tokens} tokens")


class Preview(Result):
    agent: str
    place: str
    said: str
    """The newest message there, which would be answered."""
    sections: tuple[Section, ...]
    reasons: tuple[Reason, ...]
    text: str
    """The whole prompt, for the owner at the terminal or on the dashboard."""

    def lines(self, markup: Markup) -> list[str]:
        found = [f"**{markup.text(self.agent)}**", *(each.line(markup) for each in (*self.sections, *self.reasons))]
        return [*found, "", markup.text(self.text)] if self.text else found


class ContextViews(Service, frozen=True):
    @operation(
        "context",
        "Show what an agent sees when it answers here",
        Action.READ_MEMORY,
        Options(formerly=("agent.preview",)),
    )
    def show_context(self, rows: Rows, caller: Caller, arguments: ContextArguments) -> Preview:
        """Preview the prompt for the newest message, optionally with another text of a block. Tools are not counted."""
        person, block = arguments.person, arguments.block
        found = inbox.place(rows, PlaceId(arguments.place or caller.place))
        if found is None or not caller.scope.may_use(found.audience):
            raise UserError(_NOTHING_SAID)
        here = caller.scope if caller.here is None else caller.here.scope  # what they may know now
        scope = Scope(found.audience, frozenset(found.within)) if arguments.place else here
        said = (each for each in reversed(messages.conversation(rows, found.id, scope, _LOOKED)) if each.role == "user")
        newest = next((each for each in said if each.text and person in ("", each.person)), None)
        if newest is None:
            raise UserError(_NOTHING_SAID)
        answered = None if newest.batch is None else turns.get(rows, newest.batch)
        last = None if answered is None or arguments.agent else agents.agent(rows, answered.agent)
        agent = last or find_living(rows, arguments.agent)
        material = self._material(rows, agent, scope, newest, () if answered is None else answered.blocks)
        if block:
            changed = find_named(rows, caller.scope, block).block.id
            if all(each.id != changed for each in material.placed.blocks):
                raise UserError("{agent} would not see the block “{block}” there.", agent=agent.name, block=block)
            one = [
                tuple(each._replace(content=arguments.text) if each.id == changed else each for each in shown)
                for shown in (material.placed.above, material.placed.below)
            ]
            material = replace(material, placed=replace(material.placed, above=one[0], below=one[1]))
        elif arguments.text:
            raise UserError("Name the block in which to try the text.")
        request = prompt.render(material, ())
        parts = [request.system, *map(_with_calls, request.messages)]
        tokens, written = sum(map(estimate_tokens, parts)), "\n\n".join(parts)
        return Preview(
            agent=agent.name,
            place=found.name or found.id,
            said=newest.text,
            sections=sections(request.sizes, tokens),
            reasons=tuple(_reasons(rows, material, written)),
            text=written if is_offered(caller.via, TERMINAL_ONLY) else "",
        )

    def _material(
        self, rows: Rows, agent: Agent, scope: Scope, newest: Message, referred: tuple[BlockId, ...]
    ) -> PromptInputs:
        now, who = self.clock(), (newest.place, newest.person, scope, newest.trust)
        turn = Turn(turns.new_turn_id(), agent.id, None, *who, referred, 0, now)
        joined = Step(0, MessagesJoined(((newest.id, newest.revision),)), now)
        looked = prompt.inputs(rows, turn, agent, TurnRows((), (newest,), (joined,)))
        return prompt.add_recalled(rows, prompt.add_inputs(rows, looked))


def _shown_because(block: Block) -> str:
    if block.pinned and block.type is BlockType.WORKING:
        return _("pinned")
    return _(_SHOWN_BECAUSE.get(block.type, _ALWAYS))


def _with_calls(said: PromptMessage) -> str:
    """A message, with the calls of an answer, which contain what the blocks lack."""
    calls = said.calls if isinstance(said, AssistantMessage) else ()
    return "\n".join(filter(None, (said.text, *(f"{call.name} {call.arguments}" for call in calls))))


def _reasons(rows: Rows, material: PromptInputs, written: str) -> Iterator[Reason]:
    """Why each block, recalled entry and fact is in the prompt."""
    placed, scope = (*material.placed.blocks, *material.placed.logs), material.turn.scope
    named = Counter(block.label for block in placed)
    for block in placed:
        name, why = shown_block(label_called(rows, block.label, scope)), _shown_because(block)
        if named[block.label] > 1:
            name = _("{name} in {where}", name=name, where=where(rows, block.audience, scope))
        yield Reason(memory=name, block=block.id, why=why, tokens=estimate_tokens(render_block(block)))
    for each in material.recalled:
        name = shown_name(each.entry.label, "") or one_line(each.entry.content, _NAMED)
        newest = _("one of the newest, because nothing matches what was said")
        by = _("linked in the graph to what was said") if each.linked else newest
        why = _("found: {why}", why=why_words(Why.of(each.hit))) if each.hit else by
        yield Reason(memory=name, why=why, tokens=estimate_tokens(each.entry.content))
    for fact in (*material.known.own, *material.known.shared):
        if (told := fact_line(fact)) in written:
            why = _("one of the facts mentioned most often")
            yield Reason(memory=one_line(fact.text, _NAMED), why=why, tokens=estimate_tokens(told))


def sections(sizes: Mapping[str, int], tokens: int) -> tuple[Section, ...]:
    """The share of the tokens that each part uses, estimated by characters."""
    whole = max(sum(sizes.values()), 1)
    return tuple(
        Section(name=_(name), tokens=round(tokens * sizes[part] / whole), cached=cached)
        for part, (name, cached) in _PARTS.items()
        if sizes.get(part)
    )
