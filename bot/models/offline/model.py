"""The rules of the offline model: a pure function from a request and the time to the next step of a turn.

It has no state: the progress of a turn is in the request, whose results it recognizes by the ids of their calls.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import reduce

from bot.models.base import Call, Request, ToolMessage, UserMessage, is_answer
from bot.models.health import no_model
from bot.models.language_detection import languages, spoken
from bot.models.offline.acts import act
from bot.models.offline.intents import Intent, Parser
from bot.models.offline.language import LONGEST, Language, detect, language
from bot.models.offline.turn import Context, FailedError, Lines, PendingError, Turn
from scheduler.zones import zone_of
from sources.names import uncalled

_MOST_BEFORE = 6  # messages that are searched for an open question


def reply(request: Request, now: datetime, own_zone: str) -> tuple[str, tuple[Call, ...]]:
    """The answer, and the calls that are made first."""
    newest = next((each for each in reversed(request.messages) if isinstance(each, UserMessage)), None)
    if newest is not None and newest.event in ("sleeptime", "agent", "patrol"):  # no rule can work through a checklist
        return "", ()
    zone = request.zone or own_zone
    turn = Turn(request, now.astimezone(zone_of(zone)), zone)
    texts = (each.said for each in reversed(request.messages) if isinstance(each, UserMessage) and each.said.strip())
    # The language of the last message that is unambiguous; at first English.
    speaks = language(next((best[0] for best in map(languages, texts) if len(best) == 1), next(iter(spoken()))))
    calls, said = list[Call](), list[Lines]()
    for context, intent in _wanted(turn, speaks):
        speaks = context.language
        try:
            said.append(act(intent, context))
        except PendingError as pending:
            calls.extend(pending.args)
        except FailedError as failed:
            said.append(Lines(str(failed)))
    if calls := calls or _forced(turn):
        return "", tuple(calls)
    if not turn.heard and not (newest and newest.speaker):  # timers and jobs get silence
        return _decided(newest, speaks, turn), ()
    return _composed(said, speaks, turn), ()


def _composed(said: list[Lines], speaks: Language, turn: Turn) -> str:
    """One message; with the reason why no language model answers, if one would have known more."""
    said = [lines for lines in said if not lines.friendly] or said[-1:]  # small talk is answered only if it is alone
    parts = [lines.text for lines in said] + [speaks.say("picture")] * any(each.files for each in turn.heard)
    text = "\n".join(dict.fromkeys(parts)) or speaks.say("called")
    reason = "" if not any(lines.beyond for lines in said) or _said_today(turn) else no_model(speaks.say, turn.request)
    between = "\n" if "\n" in text else " " if speaks.spaced else ""
    return text + between + reason if reason else text


def _said_today(turn: Turn) -> bool:
    """Whether that was said here today in any language; an answer without a time counts as of today."""
    messages, zone = turn.request.messages, turn.now.tzinfo
    reasons = {no_model(detect(each.said).say, turn.request) for each in messages if isinstance(each, UserMessage)}
    said = [each for each in messages if is_answer(each)]
    today = [each for each in said if each.at is None or each.at.astimezone(zone).date() == turn.now.date()]
    return any(reason in each.text for each in today for reason in filter(None, reasons))


def _wanted(turn: Turn, speaks: Language) -> Iterator[tuple[Context, Intent]]:
    """Every intent of the messages, each with its context."""
    earlier = [each for each in turn.before if isinstance(each, UserMessage)]
    names = [turn.request.agent, *sorted({each.speaker for each in earlier if each.answer})]
    before = [reduce(uncalled, names, each.said[:LONGEST]) for each in turn.own[-_MOST_BEFORE:]]
    listed = [re.sub(r"( – .*?) ?[(（][^()（）]*[)）]$", r"\1", line[2:]) for line in turn.answered if line[:2] == "- "]
    for number, message in enumerate(turn.heard):
        words = uncalled(message.said, turn.request.agent)
        speaks = detect(words[:LONGEST], speaks.code)
        parser = Parser(speaks, turn.now, listed)
        intents = parser.parse(words, before) if words.strip() else (Intent("say", name="picture"),)
        before.append(words)
        for place, intent in enumerate(intents):
            ident = f"off_{message.digest}_{number}_{place}"
            yield Context(turn, speaks, message.speaker, ident, message.files), intent


def _forced(turn: Turn) -> list[Call]:
    """The call that the turn's rules demand, once, if it can be made."""
    tool = turn.request.force_tool
    if not turn.heard or tool not in turn.tools:
        return []
    known = {"recall": {"operation": "read"}, "search": {"domain": "all", "query": turn.heard[-1].said[:200]}}
    call = Call(f"off_{turn.heard[-1].digest}_forced", tool, json.dumps(known.get(tool), sort_keys=True))
    return [call] if tool in known and call.id not in turn.made else []


def _decided(newest: UserMessage | None, speaks: Language, turn: Turn) -> str:
    """The outcome of a call that waited for approval; empty at any other time."""
    if newest is None or newest.event not in speaks.words("decisions"):
        return ""
    if newest.event != "approved":
        return speaks.say("refused")
    result = turn.request.messages[-1]
    if not isinstance(result, ToolMessage):
        return speaks.say("failed", text=speaks.say("no_result"))
    phrase = "allowed" if result.ok else "failed" if result.name in turn.tools else "missing_tool"
    return speaks.say(phrase, tool=result.name, text=result.told_in(speaks.code))
