"""The card that asks a person: who wants what, exactly, why, where from, and until when. Pure."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory import requests
from memory.grants import Given
from memory.people.audience import PUBLIC
from memory.queue.outbox import CardButtons, CardDetail, File, NewRow
from memory.requests import Request, Status, Verdict
from memory.store.ids import PersonId, PlaceId, place_source

_INLINE = 1_000  # characters of arguments that a card shows; longer ones are an attachment as well
_LISTED, _REASON = 5, 100  # questions that are told apart at once, and characters of why each is asked
_NAMED = 40  # characters of an argument that a lasting yes fixes
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
"""Unicode categories that can hide or reorder what is read: written out as escapes."""


@dataclass(frozen=True)
class Origin:
    """Names for what a request says by ids; all of them flattened to one line."""

    agent: str
    speaker: str
    place: str


@dataclass(frozen=True)
class Card:
    """What one place is shown. `arguments` is the attachment, empty when the text shows all."""

    text: str
    arguments: str = ""


def offers(request: Request) -> tuple[Verdict, ...]:
    """What an approver can choose."""
    if request.once_only:
        return (Verdict.ONCE, Verdict.DENY)
    return (Verdict.ONCE, Verdict.HOUR, Verdict.ALWAYS, Verdict.DENY)


def card(request: Request, origin: Origin, *, may_read: bool) -> Card:
    """The question. Without `may_read` the arguments are withheld."""
    exact = exactly(request.arguments)
    shown, attached = exact, ""
    if len(exact) > _INLINE:
        shown, attached = f"{exact[:_INLINE]}…", exact
    lines = [
        f"**{_plain(origin.agent)}** asks for your yes.",
        f"What: `{request.tool}`",
        f"Why: {_plain(request.reason)}",
        f"For: {_plain(origin.speaker)} ({request.person}) in {_plain(origin.place)}",
        f"Until: {request.expires_at:%Y-%m-%d %H:%M} UTC",
    ]
    if request.quorum > 1:
        lines.append(f"It takes {request.quorum} of you to allow it.")
    if may_read:
        lines.append(f"Exactly this will run:\n```json\n{shown}\n```")
        lines += ["The whole of it is in the file."] if attached else []
        lines += [] if request.once_only else [_lasting(request)]
    else:
        lines.append("The arguments come from a direct message and are not shown to anybody else.")
    lines.append(f"-# request {request.id}")
    return Card("\n".join(lines), attached if may_read else "")


def row(request: Request, shown: Card, chain: tuple[PlaceId, ...]) -> NewRow:
    """A card in the first of these places; the others are for when that one takes no message."""
    place, *rest = chain
    files = (File(f"request-{request.id}.json", shown.arguments),) if shown.arguments else ()
    return NewRow(
        key=f"card/{request.id}/{place}",
        place=place,
        source=place_source(place),
        content=shown.text,
        audience=request.hearers.audience,
        person=request.person,
        agent=request.agent,
        detail=CardDetail(CardButtons(request.id, tuple(offers(request))), tuple(rest), files),
    )


def _lasting(request: Request) -> str:
    """What is allowed besides by whoever says yes for longer: often more than the call that is shown."""
    free = [name for name in parsed(request.arguments) if name not in request.pattern]
    if not free:
        return f"*For 1 hour* and *Always* are for calls of `{request.tool}` with these arguments."
    bound = ", ".join(f"{name} {_short(value)}" for name, value in request.pattern.items())
    which = f"every call of `{request.tool}`{f' with {bound}' if bound else ''}"
    return f"*For 1 hour* and *Always* are for {which}, whatever its {' and '.join(map(_plain, free))}."


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"`{''.join(map(_visible, text[:_NAMED]))}{'…' * (len(text) > _NAMED)}`"


def exactly(arguments: str) -> str:
    """Arguments so that every character is seen and none ends the code block they stand in; still the same JSON."""
    try:
        laid_out = json.dumps(json.loads(arguments or "{}"), indent=1, ensure_ascii=False)
    except ValueError:
        laid_out = json.dumps(arguments, ensure_ascii=False)
    return "".join(_visible(character) for character in laid_out)


def _visible(character: str) -> str:
    if character == "\n" or not (character == "`" or unicodedata.category(character) in _UNSEEN):
        return character
    return json.dumps(character)[1:-1] if character != "`" else "\\u0060"


def outcome(text: str, words: str) -> str:
    """A card after the decision: what it asked, and what came of it."""
    return f"{text}\n**{words}**"


def ruling(request: Request, who: str, verdict: Verdict | None, at: datetime) -> str:
    """What was decided, in one line; `who` is how the person is named there."""
    when = f"{at:%Y-%m-%d %H:%M} UTC"
    match request.status:
        case Status.DENIED:
            return f"Denied by {who}, {when}"
        case Status.EXPIRED:
            return f"Expired unanswered, {when}"
        case Status.WITHDRAWN:
            return f"Taken back, {when}"
        case Status.WAITING:
            return f"{who} said yes, {when}; more are needed"
        case _:
            length = {Verdict.HOUR: "for 1 hour", Verdict.ALWAYS: "always"}.get(verdict or Verdict.ONCE, "once")
            return f"Allowed {length} by {who}, {when}"


def named(person: PersonId, source: str, handle: str = "") -> str:
    """How a person is written in a place of that source; on Discord as a mention, which wakes nobody there."""
    home, _, identifier = person.partition(":")
    if home == source == "discord":
        return f"<@{identifier}>"
    return f"{person} ({handle})" if handle else person


def which(asking: Sequence[Request], among: Iterable[int]) -> str:
    """What somebody is asked who did not say clearly enough which of their questions they answer."""
    ids = list(among)
    found = [f"{requests.code(each.id, ids)} ({each.tool}: {_short_reason(each)})" for each in asking[:_LISTED]]
    more = f", and {len(asking) - _LISTED} more (`carina permits list`)" if len(asking) > _LISTED else ""
    wait = "1 question waits" if len(asking) == 1 else f"{len(asking)} questions wait"
    return (
        f"Nothing was decided: {wait} for you, and an answer names its question by the end of its number. "
        f"Say yes or no with one of: {', '.join(found)}{more}"
    )


def _short_reason(request: Request) -> str:
    return request.reason if len(request.reason) <= _REASON else f"{request.reason[: _REASON - 1]}…"


def told_agent(request: Request, words: str) -> str:
    """What the agent reads when it goes on."""
    if request.hearers.audience == PUBLIC:
        return f"Your call of {request.tool} is made now. {_TOLD_NOBODY}"
    about = f"Request {request.id} (your call of {request.tool}): {words}."
    match request.status:
        case Status.APPROVED:
            return f"{about} The call is made now; tell the person what came of it."
        case Status.DENIED:
            return f"{about} The call was not made. Tell the person; do not ask for the same again by yourself."
        case _:
            return f"{about} The call was not made. Tell the person."


_TOLD_NOBODY = (
    "Nobody in this public thread is told that it needs anybody's leave, or what was decided: say nothing of that. "
    "Where what came of it answers nobody, your answer is empty."
)


def waiting(request: Request) -> str:
    """The result of a call that waits."""
    if request.hearers.audience == PUBLIC:
        return f"This call was not made yet; do not call it again for the same. {_TOLD_NOBODY}"
    return (
        f"This call was not made yet: it waits for approval {request.id}, because {request.reason}. Somebody was "
        f"asked; the answer may take until {request.expires_at:%Y-%m-%d %H:%M} UTC. Do not call it again for the "
        "same; tell the person in a sentence that it waits for approval. You will be told when it is decided."
    )


def given(arguments: str, bound: tuple[str, ...] | None) -> Given:
    """The arguments of a call, and which of them a lasting yes fixes: those that the tool names, or all."""
    every = parsed(arguments)
    return Given(every, every if bound is None else {name: every[name] for name in bound if name in every})


def parsed(arguments: str) -> dict[str, Any]:
    """Arguments as values; none when they are no object of JSON."""
    try:
        found = json.loads(arguments or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _plain(text: str) -> str:
    """One line without markup."""
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\*_`~|>[]#@<" else _visible(c) for c in flat)
