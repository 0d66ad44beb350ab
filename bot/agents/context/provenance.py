"""Where words that a turn was shown come from, as far as that takes trust from it: what tools read elsewhere.

A result stays foreign as long as the agent sees it: in the turn that read it, and in later ones while the row is in
view. Results of other agents are not shown, so they take nothing.
"""

import json
from collections.abc import Iterator, Sequence

from memory.people.audience import Trust
from memory.queue.messages import Message
from memory.queue.steps import Answered, CallDone, Step
from memory.store.ids import AgentId
from sources.text import one_line

_NAMED = ("path", "url")
_MOST, _CHARACTERS = 2, 80


def foreign_rows(history: Sequence[Message], own: AgentId) -> Iterator[Message]:
    """What an agent sees of a conversation that came from somewhere nobody vouches for."""
    return (
        each for each in history if each.trust is Trust.WEB and (each.tool_call_id is None or each.agent in (None, own))
    )


def foreign_words(history: Sequence[Message], steps: Sequence[Step], own: AgentId, *, exact: bool = True) -> str:
    """The sources that take trust from a turn, in words such as "text from notes.md"; empty where none does.

    Unless `exact`, only the tools are named: what a call said may not be known to whoever is asked.
    """
    given = {row.tool_call_id: row.tool_args or "" for row in history if row.role == "assistant" and row.tool_call_id}
    read = [(row.tool_name or "", given.get(row.tool_call_id or "", "")) for row in foreign_rows(history, own)]
    bodies = [step.body for step in steps]
    calls = {call.id: call.arguments for body in bodies if isinstance(body, Answered) for call in body.calls}
    read += [(b.name, calls.get(b.call, "")) for b in bodies if isinstance(b, CallDone) and b.trust < Trust.AGENT]
    named = list(dict.fromkeys(_source(tool, call if exact else "") for tool, call in reversed(read)))
    more = f" and {len(named) - _MOST} more" if len(named) > _MOST else ""
    return f"text from {', '.join(named[:_MOST])}{more}" if named else ""


def _source(tool: str, arguments: str) -> str:
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        given = {}
    found = next((given[each] for each in _NAMED if isinstance(given, dict) and given.get(each)), "")
    named = one_line(str(found), _CHARACTERS).replace("“", "'").replace("”", "'")  # the model chose the words
    return f"“{named}”" if named else tool or "an earlier message"
