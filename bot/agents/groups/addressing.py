"""Which agents or groups a message addresses by name or keyword; and which group handles a person's state."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from bot.agents.groups.settings import State
from memory.agents import Group
from memory.people import states
from memory.people.audience import Scope
from memory.store.database import Rows
from memory.store.ids import GroupId, PersonId

_GREETINGS = r"(?:(?:hey|hi|hello|ok|okay|hallo)\s+)?"
_BEFORE = r"^\s*(?:@\S+\s+)?"
"""The account itself may be mentioned before the name."""


def addressed(text: str, names: Collection[str], *, everybody: bool = True) -> list[str]:
    """The names that a message addresses, in the order of `names`; all of them for "@all" if `everybody` may be
    addressed."""
    if everybody and re.match(r"^\s*(?:@\S+\s+)?@all\b", text, re.IGNORECASE):
        return list(names)
    return _longest([name for name in names if _speaks_to(text, name)])


def signed(text: str, names: Collection[str]) -> list[str]:
    """The names that a message addresses as "@name", which is unambiguous."""
    return _longest([name for name in names if re.match(_signed(name), text, re.IGNORECASE)])


def _longest(spoken: list[str]) -> list[str]:
    """Of "Ann" and "Ann Lee", the longer one that was written."""
    longest = max(map(len, spoken), default=0)
    return [name for name in spoken if len(name) == longest]


def _signed(name: str) -> str:
    return rf"^\s*(?:@\S+\s+)?@{re.escape(name)}(?!\w)"


def mentioned_words(text: str, words: Iterable[str]) -> list[str]:
    """The words or phrases that occur in a text as whole words, in any case."""
    return [word for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]


def _speaks_to(text: str, name: str) -> bool:
    own = re.escape(name)
    forms = (
        _signed(name),
        rf"{_BEFORE}{_GREETINGS}{own}\s*[:,]",
        rf"{_BEFORE}(?:hey|hi|hello|ok|okay|hallo)\s+{own}(?!\w)",
    )
    return any(re.match(form, text, re.IGNORECASE) for form in forms)


Selves = Callable[[PersonId], tuple[PersonId, ...]]


def group_for(
    rows: Rows, groups: Sequence[Group], people: tuple[PersonId, ...], scope: Scope, now: datetime
) -> GroupId | None:
    """The first group for a person's current state, as far as the scope may know the state."""
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
    """Whether a block's text ("name: value" lines) has a field with a value that matches the state."""
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
