"""The offline model: a pure function from a request and the time to the next step of a turn.

It holds nothing. Where a turn stands it reads from the request: the messages since the last answer, and the results
of the calls it made for them, which it knows by their ids.
"""

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.models.base import (
    Answer,
    AssistantMessage,
    Call,
    Event,
    Request,
    TextDelta,
    ToolMessage,
    Trouble,
    Unanswered,
    Usage,
    UserMessage,
)
from bot.models.offline.acts import act
from bot.models.offline.desk import Desk, Lines, Saved, Turn
from bot.models.offline.intents import Say, understand
from bot.models.offline.language import Language
from bot.models.offline.patrol import is_patrol, patrol
from bot.models.offline.text import LANGUAGES, LONGEST, detect, uncalled
from bot.models.standing import key_setting
from memory.clock import Clock

_PIECE = 80
"""Characters streamed at once."""

_DECISIONS = ("approved", "denied", "expired", "withdrawn", "used")
"""Events that tell what became of a request; any other one is a timer's or another agent's."""


@dataclass(frozen=True)
class _Reply:
    text: str = ""
    calls: tuple[Call, ...] = ()


class OfflineModel:
    """Answers by rules and from memory. `setting` names the model that could answer better.

    What it does not know or cannot do it says together with why no language model answers: none is configured, or
    what is wrong with the one that was asked first. Beside anything else it says so once a day to each person in each
    place.
    """

    name = "offline"
    context_window = 1_000_000

    def __init__(self, clock: Clock, setting: str = "CARINA_MODEL") -> None:
        self._clock = clock
        self._setting = setting

    async def complete(self, request: Request) -> AsyncIterator[Event]:
        reply = self._reply(request, self._clock().astimezone(UTC))
        for start in range(0, len(reply.text), _PIECE):
            yield TextDelta(reply.text[start : start + _PIECE])
        yield Answer(text=reply.text, calls=reply.calls, usage=Usage(), model=self.name)

    def _reply(self, request: Request, now: datetime) -> _Reply:
        if is_patrol(request):
            return _Reply(*patrol(request, now))
        if _woken(request):
            return _Reply()
        heard, since = _unanswered(request)
        turn = _turn(request, since, heard, now)
        language = _language_before(request)
        calls: list[Call] = []
        said: list[Lines] = []
        for number, message in enumerate(heard):
            words = uncalled(message.said, request.agent)
            language = detect(words[:LONGEST], language)
            intents = understand(words, language, now) if words.strip() else (Say("picture"),)
            for place, intent in enumerate(intents):
                ident = f"off_{_digest(message)}_{number}_{place}"
                step = act(intent, Desk(turn, language, message.speaker, ident))
                if isinstance(step, Lines):
                    said.append(step)
                else:
                    calls.extend(step)
        if not calls and heard:
            calls.extend(_forced(request, turn, heard[-1]))
        if calls:
            return _Reply(calls=tuple(calls))
        if not heard and not _spoken(request):
            return _Reply(_decided(request, language))
        return _Reply(text=self._hinted(said, language, request, now))

    def _hinted(self, said: list[Lines], language: Language, request: Request, now: datetime) -> str:
        """The answer, and why no language model gave it: where that is asked for, or where one should have."""
        busy = [lines for lines in said if not lines.friendly]  # small talk is answered only by itself
        said = busy or said[-1:] or [Lines(language.phrases.called, friendly=True, hint=True)]
        text = _compose(said, language)
        hint = self._hint(language, request.failed)
        if not any(lines.hint and not lines.friendly for lines in said):
            told = any(each.trouble is Trouble.BUDGET for each in request.failed)  # a notice of its own said so
            wanted = not told and (bool(request.failed) or any(lines.hint for lines in said))
            if not wanted or _said_today(request, now, {self._hint(each, request.failed) for each in LANGUAGES}):
                return text
        between = "\n" if "\n" in text else " " if language.grammar.spaced else ""
        return text + between + hint

    def _hint(self, language: Language, failed: tuple[Unanswered, ...]) -> str:
        phrases = language.phrases
        if not failed:
            return phrases.no_model.format(setting=f"`{self._setting}`")
        first = failed[0]
        words = str(getattr(phrases, f"model_{first.trouble}"))
        setting = key_setting(first.model) if first.trouble is Trouble.KEY else self._setting
        return words.format(model=first.model, setting=f"`{setting}`")


def _compose(said: list[Lines], language: Language) -> str:
    """One message: what was stored as one list, and each thing once."""
    saved = [lines.fact for lines in said if isinstance(lines, Saved)]
    parts = [lines.text for lines in said if len(saved) < 2 or not isinstance(lines, Saved)]
    if len(saved) > 1:
        parts.insert(0, "\n".join([language.phrases.saved_list, *(f"- {fact}" for fact in dict.fromkeys(saved))]))
    return "\n".join(dict.fromkeys(parts))


def _said_today(request: Request, now: datetime, hints: set[str]) -> bool:
    """Whether the person of this turn was told one of these today; an answer without a time counts as of today."""
    people = [each for each in request.messages if isinstance(each, UserMessage) and not each.answer]
    speakers = [message.speaker for message in people if message.speaker]
    answered = ""
    for message in request.messages:
        if isinstance(message, UserMessage) and not message.answer:
            answered = message.speaker or answered
        elif isinstance(message, UserMessage | AssistantMessage) and speakers and answered == speakers[-1]:
            today = message.at is None or message.at.astimezone(UTC).date() == now.date()
            if today and any(hint in message.text for hint in hints):
                return True
    return False


def _unanswered(request: Request) -> tuple[list[UserMessage], int]:
    """What the person of this turn said since the last answer, and where that begins.

    Only the speaker of the newest message is heard: what others said before stands there as context.
    """
    heard: list[UserMessage] = []
    since = len(request.messages)
    for position in range(len(request.messages) - 1, -1, -1):
        message = request.messages[position]
        if isinstance(message, AssistantMessage) and not message.calls:
            break
        if isinstance(message, UserMessage) and message.answer:
            break
        if not isinstance(message, UserMessage) or message.overheard:
            continue
        if heard and message.speaker != heard[0].speaker:
            break
        if message.said.strip() or message.images:
            heard.insert(0, message)
            since = position
    return heard, since


def _turn(request: Request, since: int, heard: list[UserMessage], now: datetime) -> Turn:
    window = request.messages[since:]
    return Turn(
        now=now,
        tools={tool.name for tool in request.tools},
        results={message.call_id: message for message in window if isinstance(message, ToolMessage)},
        made={call.id for message in window if isinstance(message, AssistantMessage) for call in message.calls},
        said={message.said.strip() for message in heard},
        agent=request.agent,
    )


def _forced(request: Request, turn: Turn, message: UserMessage) -> tuple[Call, ...]:
    """The call that the turn's rules demand, once, where we know how to make it."""
    harmless = {"recall": {"operation": "read"}, "search": {"query": message.said[:200], "domain": "all"}}
    call_id = f"off_{_digest(message)}_forced"
    if request.force_tool not in harmless.keys() & turn.tools or call_id in turn.made:
        return ()
    return (Call(call_id, request.force_tool, json.dumps(harmless[request.force_tool], sort_keys=True)),)


def _woken(request: Request) -> bool:
    """Whether the agent is to look after things by itself, or another one wrote to it, which no rule can answer."""
    newest = next((each for each in reversed(request.messages) if isinstance(each, UserMessage)), None)
    return newest is not None and newest.event in ("sleeptime", "agent")


def _decided(request: Request, language: Language) -> str:
    """What became of a call that had to wait; nothing to say at any other time."""
    newest = next((each for each in reversed(request.messages) if isinstance(each, UserMessage)), None)
    if newest is None or newest.event not in _DECISIONS:
        return ""
    if newest.event != "approved":
        return language.phrases.refused
    result = request.messages[-1]
    done = isinstance(result, ToolMessage) and result.ok
    failed = result.text if isinstance(result, ToolMessage) else language.phrases.no_result
    return language.phrases.allowed if done else language.phrases.failed.format(text=failed)


def _spoken(request: Request) -> bool:
    """Whether a person began this turn, if without words; timers and jobs get silence."""
    speakers = [message.speaker for message in request.messages if isinstance(message, UserMessage)]
    return bool(speakers and speakers[-1])


def _language_before(request: Request) -> Language:
    """The language of the last message that tells one; English at the beginning."""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage) and message.said.strip():
            texts = {detect(message.said[:LONGEST], fallback).code for fallback in LANGUAGES}
            if len(texts) == 1:
                return detect(message.said[:LONGEST])
    return LANGUAGES[0]


def _digest(message: UserMessage) -> str:
    at = message.at.isoformat() if message.at else ""
    raw = f"{at}\0{message.speaker}\0{message.said}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:12]
