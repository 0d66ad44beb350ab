"""Which group answers somebody because of how they are: by `/my state`, or by blocks about them."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from bot.agents.groups.settings import State
from memory.agents import Group
from memory.people import states
from memory.people.audience import Scope
from memory.store.database import Rows
from memory.store.ids import GroupId, PersonId

Selves = Callable[[PersonId], tuple[PersonId, ...]]


def group_for(
    rows: Rows, groups: Sequence[Group], people: tuple[PersonId, ...], scope: Scope, now: datetime
) -> GroupId | None:
    """The first group that is there for how somebody is now, as far as the scope may know that."""
    wanted = [(group.id, State.model_validate(state)) for group in groups for state in group.states]
    if not wanted:
        return None
    said = states.of(rows, people, scope, now).casefold()
    blocks = {label: states.noted(rows, people, scope, label) for label in {each.block for _, each in wanted} - {""}}
    for group, state in wanted:
        if (state.said and state.said.casefold() == said) or any(
            holds(state, text) for text in blocks.get(state.block, ())
        ):
            return group
    return None


def holds(state: State, content: str) -> bool:
    """Whether the field that a state is about has such a value in the text of a block of fields ("name: value")."""
    line = re.search(rf"(?m)^(?:- )?{re.escape(state.field)}: (.+)$", content)
    if line is None:
        return False
    value = line[1].strip()
    if state.value:
        return value.casefold() == state.value.casefold()
    number = re.match(r"-?\d+(?:\.\d+)?", value)
    if number is None:
        return False
    return (state.below is not None and float(number[0]) < state.below) or (
        state.above is not None and float(number[0]) > state.above
    )
