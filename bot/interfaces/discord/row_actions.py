"""Pages of a list, a menu to choose one of its items, and a button for each operation that takes that item.

They are made from the registry. Their ids contain the operation and its arguments, so they work after a restart.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import discord

from bot.errors import CallError, UserError
from bot.interfaces.discord.components import LONGEST_ID, select
from bot.services.caller import Caller, Via
from bot.services.registry import Operation, Parameter, Registry
from bot.services.results import Row
from bot.services.slash_names import BUTTONS, names_of
from sources.discord.cards import call_id, encoded
from texts import _

_STEPS, _LABEL = 10, 80  # buttons under a chosen item, and characters of one
_TAKES_AWAY = ("cancel", "delete", "drop", "forget", "refuse", "remove")  # the suffix of operations that do so
_NAME = r"(?P<name>[a-z.-]{1,40})"
PAGE = re.compile(rf"carina:page:(?P<page>[0-9]{{1,4}}):{_NAME}:(?P<given>.*)")
PICK = re.compile(rf"carina:pick:{_NAME}")


def one_taken(declared: Operation) -> Parameter | None:
    """The only argument with suggestions; of several, the only required one."""
    chosen = [each for each in declared.taken(Via.DISCORD) if each.suggests]
    needed = [each for each in chosen if each.required] or chosen
    return needed[0] if len(needed) == 1 else None


def steps_of(operations: Mapping[str, Operation], declared: Operation) -> list[Operation]:
    """The operations next to a list that take one of its items: the largest set with the same argument name."""
    if len(declared.words) == 1:  # its items differ from those of its siblings
        return []
    names = names_of(operations.values())
    above = names[" ".join(declared.words)].rpartition(" ")[0]
    beside = [operations[words.replace(" ", ".")] for words, at in names.items() if at.rpartition(" ")[0] == above]
    taking: dict[str, list[Operation]] = {}
    for each in beside:
        if above and each.name in BUTTONS and (taken := one_taken(each)) is not None:
            taking.setdefault(taken.name, []).append(each)
    return max(taking.values(), key=len, default=[])


async def menu(
    registry: Registry, caller: Caller, declared: Operation, rows: Iterable[Row]
) -> list[discord.ui.Item[Any]]:
    """A menu of the shown rows, if there are operations on them."""
    listed = {row.choice[0] for row in rows}
    if not (steps := await registry.permitted(steps_of(registry.operations, declared), caller)):
        return []
    there = {value: words for each in (await _suggested(registry, caller, steps)).values() for value, words in each}
    shown = ((value, words) for value, words in there.items() if value in listed)
    return select(f"carina:pick:{declared.name}", shown, _("Choose one"))


def page_buttons(name: str, given: Mapping[str, Any], number: int, count: int) -> list[discord.ui.Button[Any]]:
    """Buttons for the previous and next page; none if the arguments do not fit into an id."""
    told = encoded({key: value for key, value in given.items() if value not in (None, "")})
    found = list[discord.ui.Button[Any]]()
    for label, to in (("◀", number - 1), ("▶", number + 1)):
        identifier = f"carina:page:{to}:{name}:{told}"
        if len(identifier) > LONGEST_ID:
            return []
        found.append(discord.ui.Button(label=label, custom_id=identifier, disabled=not 1 <= to <= count))
    return found


async def step_buttons(
    registry: Registry, caller: Caller, declared: Operation, chosen: str
) -> tuple[str, list[discord.ui.Item[Any]]]:
    """The label of the chosen item, and a button for each operation on it."""
    steps = await registry.permitted(steps_of(registry.operations, declared), caller)
    there = await _suggested(registry, caller, steps)
    offered = {name: dict(each)[chosen] for name, each in there.items() if chosen in dict(each)}
    buttons: list[discord.ui.Item[Any]] = [
        discord.ui.Button[Any](
            label=_(BUTTONS[each.name])[:_LABEL],
            custom_id=identifier,
            style=discord.ButtonStyle.danger if each.words[-1] in _TAKES_AWAY else discord.ButtonStyle.secondary,
        )
        for each in steps[:_STEPS]
        if each.name in offered and (taken := one_taken(each)) is not None
        if len(identifier := call_id(each.name, {taken.name: chosen})) <= LONGEST_ID
    ]
    return next(iter(offered.values()), ""), buttons


async def _suggested(
    registry: Registry, caller: Caller, steps: Sequence[Operation]
) -> dict[str, list[tuple[str, str]]]:
    """The suggestions of each operation, by its name; a shared source is asked once."""
    found: dict[str, list[tuple[str, str]]] = {}
    for each in steps:
        taken = one_taken(each)
        if taken is not None and taken.suggests not in found:
            try:
                found[taken.suggests] = list(await registry.suggest(each.name, taken.name, caller, {}))
            except (UserError, CallError):
                found[taken.suggests] = []
    return {each.name: found[taken.suggests] for each in steps if (taken := one_taken(each)) is not None}
