"""`more_tools`: gives the model the schemas of tools that a prompt only names.

Every request pays for its schemas, used or not, and small models lose sight of the right tool among many words.
Everyday tools are always shown, some of them in brief. Others are shown once the model asks for them, and as long as
the conversation in view shows their use; the rest of a brief tool, for the turn that asks.
"""

import functools
from collections.abc import Collection, Iterator, Sequence, Set

from msgspec import Struct
from pydantic import Field

from bot.agents.context.prompt import PromptInputs
from bot.agents.context.quotes import passage
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tool_rules import MORE_TOOLS, Rules
from bot.agents.tools.base import Arguments, Outcome, ReadTool, ToolContext, Toolset, shortened, spec_of
from bot.agents.tools.blocks import BlockTool
from bot.agents.tools.bluesky import SOURCE as BLUESKY
from bot.errors import ToolError
from bot.models.base import ToolSpec
from memory.blocks.schemas import TEXT
from memory.people.audience import PUBLIC
from memory.queue.steps import ModelAnswer, Step
from memory.store.database import Rows
from memory.store.ids import place_source

_LAST = {"calculate"}
"""Tools listed last: small models that are unsure take the first."""


class MoreToolsArguments(Arguments):
    names: tuple[str, ...] = Field(min_length=1, description="of the tools you need")


class MoreToolsTool(ReadTool[MoreToolsArguments]):
    name = MORE_TOOLS
    caution = Caution()
    description = (
        "Get tools that are not listed here, or the rest of one that is, for this turn, then call them. There are: "
        "{named}. Rest of: {parts}."
    )

    def __init__(self, there: Collection[str]) -> None:
        self._there = there

    def read(self, _rows: Rows, _context: ToolContext, arguments: MoreToolsArguments) -> Outcome:
        if unknown := [name for name in arguments.names if name not in self._there]:
            raise ToolError(f"There is no tool {', '.join(map(repr, unknown))}.")
        return Outcome(passage(f"You can call {', '.join(arguments.names)} now."))


class Offer(Struct, frozen=True):
    """The tools of a request: those it shows whole, and those it only names."""

    shown: tuple[ToolSpec, ...]
    named: tuple[ToolSpec, ...] = ()


def offer(tools: Toolset, material: PromptInputs, force: str) -> Offer:
    """The tools shown here: those for every day, those requested or used, and those that a rule mentions."""
    turn, needed = material.turn, {force, *_asked_for(material)}
    if material.agent.rules:
        needed.update(*(rule.named for rule in Rules.of(material.agent).rules))
    public, bluesky = turn.scope.audience == PUBLIC, place_source(turn.place) == BLUESKY
    whole = {force, *_got(material.steps)}
    if material.away or any(block.schema != TEXT for block in material.placed.blocks):
        whole.add(BlockTool.name)  # there is more to do than with plain texts
    needed, whole = needed & tools.rarely.keys(), whole & tools.in_brief.keys()
    return _offer(tools, frozenset(needed), frozenset(whole), public=public, bluesky=bluesky)


@functools.lru_cache(maxsize=100)
def _offer(tools: Toolset, needed: Set[str], whole: Set[str], *, public: bool, bluesky: bool) -> Offer:
    """Cached, so that the same tools give the same objects, and values derived from them are cached as well."""
    there = {"anywhere", *(["in public"] if public else []), *([] if bluesky else ["off Bluesky"])}
    rarely = {name: rare.what_for for name, rare in tools.rarely.items() if rare.where in there}
    every = sorted((spec for spec in tools.specs if spec.name != MORE_TOOLS), key=lambda spec: spec.name in _LAST)
    named = tuple(spec for spec in every if spec.name in rarely and spec.name not in needed)
    if len(named) < 2:  # asking would take more words
        return Offer(tuple(every))
    listed = "; ".join(f"{spec.name} ({rarely[spec.name]})" for spec in named)
    left_out = whole | {spec.name for spec in named}
    parts = {name: brief for name, brief in sorted(tools.in_brief.items()) if name not in left_out}
    rest = "; ".join(f"{name} ({brief.rest})" for name, brief in parts.items())
    told = MoreToolsTool.description.format(named=listed, parts=rest or "none")
    asking = spec_of(MORE_TOOLS, told, MoreToolsArguments, ())
    shown = (shortened(spec, parts[spec.name]) if spec.name in parts else spec for spec in every if spec not in named)
    return Offer((*shown, asking), named)


def _asked_for(material: PromptInputs) -> Iterator[str]:
    """Tools that this conversation used, that this turn got, and that it called without getting them."""
    for row in material.history:
        if row.role == "tool" and row.tool_name:
            yield row.tool_name
    for step in material.steps:
        if isinstance(step.body, ModelAnswer):
            yield from (call.name for call in step.body.calls)
    yield from _got(material.steps)


def _got(steps: Sequence[Step]) -> Iterator[str]:
    """The tools that this turn got."""
    for step in steps:
        if isinstance(step.body, ModelAnswer):
            for call in step.body.calls:
                if call.name == MORE_TOOLS:
                    yield from _names(call.arguments)


def _names(arguments: str) -> Sequence[str]:
    try:
        return MoreToolsArguments.model_validate_json(arguments).names
    except ValueError:
        return ()
