"""Why something was said, in words for a person; the same for every front end but for how it escapes text."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from memory.audience import OWNER, PUBLIC, Audience, person_audience
from memory.clock import to_text
from memory.ids import PersonId
from memory.why import Account, Memory
from sources.links import message_link
from sources.text import one_line

SHORT = 160
"""Characters of a quotation in a list."""

_NOTHING = "That answer uses nothing that I keep: it comes from the conversation here, and from the model that spoke."
_UNRECORDED = "What that answer was made from is erased, with the data of the person it was for."


def account_text(account: Account, asker: PersonId, escape: Callable[[str], str] = str) -> str:
    """What one answer used, for one person: each memory with its origin, then what ran, and what is only counted."""
    found = [memory for memory in account.memories if memory.kind != "block"]
    kept = [memory for memory in account.memories if memory.kind == "block"]
    lines = []
    if found:
        lines.append("That answer comes from the conversation here, and from what I remember:")
    elif not (account.hidden or account.gone):
        lines.append(_NOTHING if account.recorded else _UNRECORDED)
    lines += _numbered(found, 1, asker, escape)
    lines += ["In view besides, as at other times:"] if kept else []
    lines += _numbered(kept, len(found) + 1, asker, escape)
    more = "more " if account.memories else ""
    if account.hidden:
        lines.append(f"{account.hidden} {more}that you may not see here.")
    if account.gone:
        lines.append(f"{account.gone} {more}that {'was' if account.gone == 1 else 'were'} forgotten or deleted since.")
    ran = Counter(account.tools)
    tools = ", ".join(f"{escape(name)}{f' ({count} times)' if count > 1 else ''}" for name, count in ran.items())
    lines.append(f"Tools that ran: {tools}." if tools else "No tool ran.")
    return "\n".join(lines)


def account_data(account: Account) -> dict[str, Any]:
    """The same for a program: what one answer used, as plain data."""
    return {
        "turn": str(account.turn),
        "memories": [_memory_data(memory) for memory in account.memories],
        "tools": list(account.tools),
        "hidden": account.hidden,
        "gone": account.gone,
        "recorded": account.recorded,
    }


def _memory_data(memory: Memory) -> dict[str, Any]:
    return {
        "kind": memory.kind,
        "id": memory.id,
        "label": memory.label,
        "text": memory.text,
        "at": to_text(memory.at),
        "speaker": memory.speaker,
        "place": (memory.place.name or memory.place.id) if memory.place else "",
        "audience": memory.audience,
        "link": link_of(memory),
    }


def _numbered(memories: Sequence[Memory], start: int, asker: PersonId, escape: Callable[[str], str]) -> list[str]:
    return [f"{number}. {memory_text(memory, asker, escape)}" for number, memory in enumerate(memories, start)]


def memory_text(memory: Memory, asker: PersonId, escape: Callable[[str], str] = str, limit: int = SHORT) -> str:
    """One memory: what it is, when and by whom it was said, who can read it, where, and its words."""
    who = f" by {escape(memory.speaker)}" if memory.speaker and memory.kind != "block" else ""
    where = f" in {escape(memory.place.name or memory.place.id)}" if memory.place else ""
    said = f"{_VERB[memory.kind]} {memory.at:%Y-%m-%d %H:%M} UTC{who}{where}"
    quoted = one_line(memory.text, limit)
    lines = [f"{_name(memory, escape)}, {said}; {readers_text(memory.audience, asker)}", f"> {escape(quoted)}"]
    if link := link_of(memory):
        lines.append(f"<{link}>")
    return "\n".join(lines)


def link_of(memory: Memory) -> str:
    """The address of the message that a memory comes from; empty where there is none."""
    place = memory.place
    if place is None:
        return ""
    return message_link(place.id, place.kind, (place.audience, *place.within), memory.external_id)


def readers_text(audience: Audience, asker: PersonId) -> str:
    """Who can read a memory, in words."""
    if audience == PUBLIC:
        return "everybody can read it"
    if audience == OWNER:
        return "only my owner can read it"
    if audience == person_audience(asker):
        return "only you can read it, in our direct messages"
    return _READERS[audience.partition(":")[0]]


_VERB = {"entry": "said", "message": "said", "block": "last changed", "summary": "from"}
_READERS = {
    "guild": "everybody in that server can read it",
    "channel": "those in that channel can read it",
    "person": "one person can read it, in direct messages",
}


def _name(memory: Memory, escape: Callable[[str], str]) -> str:
    match memory.kind:
        case "entry":
            return f"Stored entry “{escape(memory.label)}”" if memory.label else "Stored entry"
        case "message":
            return "A message" if memory.said else "An answer of mine"
        case "summary":
            return f"Summary of {'an agent' if memory.label == 'agent' else f'a {memory.label}'}"
        case "block":
            of = f" of {escape(memory.speaker)}" if memory.speaker else ""
            return f"Block “{escape(memory.label)}”{of} as it reads now"
