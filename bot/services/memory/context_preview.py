"""A preview of an agent's context in a place: its blocks, and the prompt, which is sent to no model."""

from collections.abc import Iterator, Mapping
from typing import Annotated

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
from bot.services.caller import Caller
from bot.services.memory.search import why_words
from bot.services.names import find_living, find_named, shown_block, where
from bot.services.registry import AT_TERMINAL, Arguments, Param, operation
from bot.services.results import Listing, Markup, Result, Row
from bot.services.transactions import Service
from memory import agents, blocks, why
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
from memory.store.ids import BlockId, PlaceId, TurnId
from memory.store.records import replace
from sources.text import one_line
from texts import _, gettext_noop, number_text

_NAMED = 80  # characters
_LOOKED = 200  # newest messages of a place that are searched for one by a person


class PreviewArguments(Arguments):
    """The place, the writer and a changed block; without a text, the block stays as it is."""

    place: Annotated[
        str, Param("ID of the place, such as discord:1234", example="discord:1234", suggests="places", positional=True)
    ]
    agent: Annotated[str, Param("Name of the agent", metavar="NAME", suggests="agents")] = ""
    person: Annotated[str, Param("ID of the person who writes there (default: whoever wrote last)")] = ""
    block: Annotated[str, Param("Block to try with different text", suggests="blocks")] = ""
    text: Annotated[str, Field(max_length=MOST_CHARACTERS), Param("Text to try in the block; it is not saved")] = ""


_ALWAYS = gettext_noop("always shown")
_SHOWN_BECAUSE = {
    BlockType.LOG: gettext_noop("log of this place"),
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
    why: str
    phrase = "{memory}: {why}"


class Preview(Result):
    agent: str
    place: str
    said: str
    """The newest message there, which would be answered."""
    sections: tuple[Section, ...]
    reasons: tuple[Reason, ...]
    text: str

    def lines(self, markup: Markup) -> list[str]:
        return [*(each.line(markup) for each in (*self.sections, *self.reasons)), "", markup.text(self.text)]


class SeenBlock(Row):
    """A block that an agent sees in a place, with its estimated tokens."""

    agent: str
    block: str = Field(validation_alias="label")
    name: str = Field(exclude=True)
    id: str = Field(exclude=True)
    type: str
    pinned: bool = Field(exclude=True)
    characters: int
    most: int = Field(validation_alias="char_limit")
    tokens: int
    audience: str
    readers: str

    @classmethod
    def of(cls, rows: Rows, agent: Agent, block: Block, scope: Scope) -> "SeenBlock":
        sizes = {"characters": len(block.content), "tokens": estimate_tokens(render_block(block))}
        told = {"name": shown_block(label_called(rows, block.label, scope)), "agent": agent.name}
        return cls.from_record(block, **sizes, **told, readers=where(rows, block.audience, scope))

    def line(self, markup: Markup) -> str:
        return self.told(
            markup,
            gettext_noop(
                "{block} ({agent}, {type}): {characters} of {most} characters, about {tokens} tokens; for {readers}"
            ),
            block=markup.text(self.name),
            type=_shown_because(BlockType(self.type), self.pinned),
        )


class ContextViews(Service, frozen=True):
    @operation("context", "Show what memory agents see when they answer here", Action.READ_MEMORY)
    def show_context(self, rows: Rows, caller: Caller) -> Listing[SeenBlock]:
        """Show the context of a message that refers to the same things as the newest answer, which `/why` explains."""
        scope = caller.scope if caller.here is None else caller.here.scope
        referred = _referred(rows, why.newest_answer(rows, caller.place, scope))
        found = [
            SeenBlock.of(rows, agent, block, scope)
            for agent in agents.agents(rows)
            for block in blocks.visible_blocks(rows, agent.id, scope, referred=referred)
        ]
        total = number_text(sum(row.tokens for row in found))
        more = _("- about {total} tokens in total, not counting the conversation", total=total)
        return Listing.of(found, _("There are no blocks to show here."), more if found else "")

    @operation("agent.preview", "Show what an agent would see in a place", Action.EXAMINE, AT_TERMINAL)
    def preview(self, rows: Rows, caller: Caller, arguments: PreviewArguments) -> Preview:
        """Preview the prompt for the newest message, optionally with another text of a block. Tools are not counted."""
        place, person, block = arguments.place, arguments.person, arguments.block
        found = inbox.place(rows, PlaceId(place))
        if found is None or not caller.scope.may_use(found.audience):
            raise UserError("There is no place “{name}” here.", name=place)
        answering, scope = find_living(rows, arguments.agent), Scope(found.audience, frozenset(found.within))
        said = (each for each in reversed(messages.conversation(rows, found.id, scope, _LOOKED)) if each.role == "user")
        newest = next((each for each in said if each.text and person in ("", each.person)), None)
        if newest is None:
            raise UserError("Nobody has said anything there that you can read.")
        material = self._material(rows, answering, scope, newest)
        if block:
            changed = find_named(rows, caller.scope, block).block.id
            if all(each.id != changed for each in material.placed.blocks):
                raise UserError("{agent} would not see the block “{block}” there.", agent=answering.name, block=block)
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
        name = found.name or found.id
        reasons = tuple(_reasons(material, written))
        sized = sections(request.sizes, tokens)
        return Preview(
            agent=answering.name, place=name, said=newest.text, sections=sized, reasons=reasons, text=written
        )

    def _material(self, rows: Rows, agent: Agent, scope: Scope, newest: Message) -> PromptInputs:
        now = self.clock()
        who, referred = (newest.place, newest.person, scope, newest.trust), _referred(rows, newest.batch)
        turn = Turn(turns.new_turn_id(), agent.id, None, *who, referred, 0, now)
        joined = Step(0, MessagesJoined(((newest.id, newest.revision),)), now)
        looked = prompt.inputs(rows, turn, agent, TurnRows((), (newest,), (joined,)))
        return prompt.add_recalled(rows, prompt.add_inputs(rows, looked))


def _referred(rows: Rows, turn: TurnId | None) -> tuple[BlockId, ...]:
    """The blocks that the messages of a turn brought in, about its place and its people."""
    found = None if turn is None else turns.get(rows, turn)
    return () if found is None else found.blocks


def _shown_because(kind: BlockType, pinned: bool) -> str:
    return _("pinned") if pinned and kind is BlockType.WORKING else _(_SHOWN_BECAUSE.get(kind, _ALWAYS))


def _with_calls(said: PromptMessage) -> str:
    """A message, with the calls of an answer, which contain what the blocks lack."""
    calls = said.calls if isinstance(said, AssistantMessage) else ()
    return "\n".join(filter(None, (said.text, *(f"{call.name} {call.arguments}" for call in calls))))


def _reasons(material: PromptInputs, written: str) -> Iterator[Reason]:
    """Why each block, recalled entry and fact is in the prompt."""
    for block in (*material.placed.blocks, *material.placed.logs):
        yield Reason(memory=block.label, why=_shown_because(block.type, block.pinned))
    for each in material.recalled:
        name = shown_name(each.entry.label, "") or one_line(each.entry.content, _NAMED)
        newest = _("one of the newest, because nothing matches what was said")
        by = _("linked in the graph to what was said") if each.linked else newest
        yield Reason(memory=name, why=_("found: {why}", why=why_words(Why.of(each.hit))) if each.hit else by)
    for fact in (*material.known.own, *material.known.shared):
        if fact_line(fact) in written:
            yield Reason(memory=one_line(fact.text, _NAMED), why=_("one of the facts that were said most often"))


def sections(sizes: Mapping[str, int], tokens: int) -> tuple[Section, ...]:
    """The share of the tokens that each part uses, estimated by characters."""
    whole = max(sum(sizes.values()), 1)
    return tuple(
        Section(name=_(name), tokens=round(tokens * sizes[part] / whole), cached=cached)
        for part, (name, cached) in _PARTS.items()
        if sizes.get(part)
    )
