"""The rules of the offline model: a pure function from a request and the time to the next step of a turn.

It holds nothing. Where a turn stands it reads from the request: the messages since the last answer, and the results
of the calls it made for them, which it knows by their ids.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.models.base import (
    AssistantMessage,
    Call,
    FailedModel,
    Request,
    ToolMessage,
    Trouble,
    UserMessage,
)
from bot.models.health import key_setting
from bot.models.offline.acts import act
from bot.models.offline.intents import Intent, Parser
from bot.models.offline.language import Language, language, spoken
from bot.models.offline.text import LONGEST, detect, told, uncalled
from bot.models.offline.turn import Context, Lines, PendingError, Record, Turn
from scheduler.zones import zone_of

_DECISIONS = ("approved", "denied", "expired", "withdrawn", "used")
"""Events that tell what became of a request; any other one is a timer's or another agent's."""
_HARMLESS = {"recall": {"operation": "read"}, "search": {"domain": "all"}}
"""Calls that rules of a turn may demand and that we know how to make."""


def reply(request: Request, now: datetime, own_zone: str) -> tuple[str, tuple[Call, ...]]:
    """What is said, and the calls that are made first."""
    newest = next((each for each in reversed(request.messages) if isinstance(each, UserMessage)), None)
    speaks = _language_before(request)
    if newest is not None and newest.event in ("sleeptime", "agent", "patrol"):  # no rule knows what to look after
        return "", ()
    zone = request.zone or own_zone
    heard, since = _unanswered(request)
    turn = _turn(request, since, heard, now.astimezone(zone_of(zone)), zone)
    calls: list[Call] = []
    said: list[Lines] = []
    for context, intent in _wanted(request, turn, heard, since, speaks):
        speaks = context.language
        try:
            said.append(act(intent, context))
        except PendingError as pending:
            calls.extend(pending.calls)
    if not calls and heard:
        calls.extend(_forced(request, turn, heard[-1]))
    if calls:
        return "", tuple(calls)
    if not heard and not (newest and newest.speaker):  # timers and jobs get silence
        return _decided(request, newest, speaks, turn), ()
    return _with_reason(said, speaks, request, turn.now), ()


def _with_reason(said: list[Lines], speaks: Language, request: Request, now: datetime) -> str:
    """The answer; where a language model would have known more, also why none answered."""
    busy = [lines for lines in said if not lines.friendly]  # small talk is answered only by itself
    said = busy or said[-1:] or [Lines(speaks.say("called"), friendly=True)]
    text = _compose(said, speaks)
    if not any(lines.beyond for lines in said) or _said_today(request, now, _reasons(request)):
        return text
    reason = _reason(speaks, request)
    between = "\n" if "\n" in text else " " if speaks.spaced else ""
    return text + between + reason if reason else text


def _reason(speaks: Language, request: Request) -> str:
    """Why no language model answers, for the owner; for anybody else an apology where one should have."""
    if not request.owner:
        return speaks.say("limited") if request.failed else ""
    if not request.failed:
        return speaks.say("no_model", setting="`CARINA_MODEL`")
    first: FailedModel = request.failed[0]
    setting = key_setting(first.model) if first.trouble is Trouble.KEY else "CARINA_MODEL"
    return speaks.say(f"model_{first.trouble}", model=first.model, setting=f"`{setting}`")


def _reasons(request: Request) -> set[str]:
    """The same in every language that was spoken."""
    codes = {detect(each.said[:LONGEST]).code for each in request.messages if isinstance(each, UserMessage)}
    return {_reason(language(code), request) for code in codes} - {""}


def _wanted(
    request: Request, turn: Turn, heard: list[UserMessage], since: int, speaks: Language
) -> Iterator[tuple[Context, Intent]]:
    """Every intent of what was heard, each with what it works with."""
    before = _said_before(request.messages[:since], heard)
    for number, message in enumerate(heard):
        words = uncalled(message.said, request.agent)
        speaks = detect(words[:LONGEST], speaks.code)
        intents = Parser(speaks, turn.now).parse(words, before) if words.strip() else (Intent("say", name="picture"),)
        before = words
        for place, intent in enumerate(intents):
            ident = f"off_{_digest(message)}_{number}_{place}"
            yield Context(turn, speaks, message.speaker, ident, message.files), intent


def _compose(said: list[Lines], speaks: Language) -> str:
    """One message: what was stored as one list, and each thing once."""
    saved = list(dict.fromkeys(lines.fact for lines in said if lines.fact))
    parts = [lines.text for lines in said if len(saved) < 2 or not lines.fact]
    if len(saved) > 1:
        parts.insert(0, "\n".join([speaks.say("saved_list"), *(f"- {fact}" for fact in saved)]))
    return "\n".join(dict.fromkeys(parts))


def _said_today(request: Request, now: datetime, reasons: set[str]) -> bool:
    """Whether one of these was said here today; an answer without a time counts as of today."""
    return any(
        (message.at is None or message.at.astimezone(now.tzinfo).date() == now.date())
        and any(reason in message.text for reason in reasons)
        for message in request.messages
        if isinstance(message, AssistantMessage) or (isinstance(message, UserMessage) and message.answer)
    )


def _unanswered(request: Request) -> tuple[list[UserMessage], int]:
    """What the person of this turn said since the last answer, and where that begins.

    Only the speaker of the newest message is heard: what others said before stands there as context.
    """
    heard: list[UserMessage] = []
    people = [place for place, message in enumerate(request.messages) if isinstance(message, UserMessage)]
    since = people[-1] if people else 0
    for position, message in reversed(list(enumerate(request.messages))):
        match message:
            case AssistantMessage(calls=()) | UserMessage(answer=True):
                break
            case UserMessage(overheard=False):
                if heard and message.speaker != heard[0].speaker:
                    break
                if message.said.strip() or message.images:
                    heard.insert(0, message)
                    since = position
    return heard, since


def _said_before(earlier: Sequence[object], heard: list[UserMessage]) -> str:
    """What the same person said last before, where nobody else spoke since."""
    newest = next((each for each in reversed(earlier) if isinstance(each, UserMessage) and not each.answer), None)
    same = newest is not None and heard and newest.speaker == heard[0].speaker and not newest.overheard
    return newest.said[:LONGEST] if newest is not None and same else ""


def _turn(request: Request, since: int, heard: list[UserMessage], now: datetime, zone: str) -> Turn:
    earlier, window = request.messages[:since], request.messages[since:]
    return Turn(
        now=now,
        zone=zone,
        source=request.source,
        tools={tool.name for tool in (*request.tools, *request.named_tools)},
        results={message.call_id: message for message in window if isinstance(message, ToolMessage)},
        made={call.id for message in window if isinstance(message, AssistantMessage) for call in message.calls},
        said={message.said.strip() for message in heard},
        agent=request.agent,
        owner=request.owner,
        answered=next(
            (each.text for each in reversed(earlier) if isinstance(each, AssistantMessage) and not each.calls), ""
        ),
        overheard=[
            Record(f"view{place}", each.said, each.at, each.speaker, "", "", "message", "overheard", mine=None)
            for place, each in enumerate(request.messages)
            if isinstance(each, UserMessage) and each.overheard and each.said.strip()
        ],
    )


def _forced(request: Request, turn: Turn, message: UserMessage) -> tuple[Call, ...]:
    """The call that the turn's rules demand, once, where we know how to make it."""
    call_id = f"off_{_digest(message)}_forced"
    if request.force_tool not in _HARMLESS.keys() & turn.tools or call_id in turn.made:
        return ()
    asked = {"query": message.said[:200]} if request.force_tool == "search" else {}
    return (Call(call_id, request.force_tool, json.dumps(_HARMLESS[request.force_tool] | asked, sort_keys=True)),)


def _decided(request: Request, newest: UserMessage | None, speaks: Language, turn: Turn) -> str:
    """What became of a call that had to wait; nothing to say at any other time."""
    if newest is None or newest.event not in _DECISIONS:
        return ""
    if newest.event != "approved":
        return speaks.say("refused")
    result = request.messages[-1]
    if not isinstance(result, ToolMessage):
        return speaks.say("failed", text=speaks.say("no_result"))
    if result.ok:
        return speaks.say("allowed")
    if result.name not in turn.tools:
        return speaks.say("missing_tool", tool=result.name)
    return speaks.say("failed", text=result.text)


def _language_before(request: Request) -> Language:
    """The language of the last message that tells one; English at the beginning."""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage) and message.said.strip() and len(best := told(message.said)) == 1:
            return language(best[0])
    return language(spoken()[0].code)


def _digest(message: UserMessage) -> str:
    at = message.at.isoformat() if message.at else ""
    raw = f"{at}\0{message.speaker}\0{message.said}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:12]
