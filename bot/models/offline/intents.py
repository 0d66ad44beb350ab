"""What a message wants. Pure: a text goes in, intents come out, in the order they were said."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from bot.models.offline.content import content_words
from bot.models.offline.days import Span, find_span, lately, without_days
from bot.models.offline.facts import clauses
from bot.models.offline.language import Language
from bot.models.offline.text import LONGEST, clean, sentences, tokens
from bot.models.offline.wishes import Agenda, wish

_LONGEST_UNASKED = 300
"""A statement that is kept without being asked is short; nobody's essay is mined."""
_LONGEST_ITEM = 60  # characters of a line that is one of a list
_TRAILING = " \t\n.!。！…"
_CALLED = re.compile(
    r"\s{0,8}(?:(?:<@[!&]?\d{1,25}>|@[\w.-]{1,40}|carina|カリーナ)[\s,:;.!?、。！？]{0,8}){1,5}", re.IGNORECASE
)
"""Nothing but who is spoken to."""


@dataclass(frozen=True)
class Remember:
    fact: str
    asked: bool = True
    """False for a lasting statement that nobody asked us to keep."""


@dataclass(frozen=True)
class Ask:
    question: str


@dataclass(frozen=True)
class Forget:
    what: str


@dataclass(frozen=True)
class ListKnown:
    """What is stored about the person."""


@dataclass(frozen=True)
class LookBack:
    """What was said in a span of days, perhaps about something."""

    span: Span
    topic: tuple[str, ...]


@dataclass(frozen=True)
class Say:
    """An answer that needs no memory: a field of `Phrases`, friendly or plain."""

    phrase: str
    friendly: bool = False


@dataclass(frozen=True)
class TooLong:
    length: int


@dataclass(frozen=True)
class Statement:
    """Something said that is none of our business; it may belong to what stands before it."""


Intent: TypeAlias = Remember | Ask | Forget | ListKnown | LookBack | Agenda | Say | TooLong | Statement


def understand(said: str, language: Language, now: datetime) -> tuple[Intent, ...]:
    """Every intent of one message; small talk falls away beside something to do."""
    said = said.strip()
    text = language.grammar.spell(clean(said))
    if len(said) > LONGEST:
        return (_long(said, text, language, now),)
    intents = tuple(dict.fromkeys(_read(text, language, now)))
    busy = tuple(intent for intent in intents if not isinstance(intent, Statement) and not _friendly(intent))
    return busy or intents[:1]


def statements(text: str, language: Language, now: datetime) -> Iterator[str]:
    """What a message states as a fact: neither question nor command nor small talk."""
    part = language.grammar.spell(clean(text)[:LONGEST])
    for start, end in sentences(part):
        match classify(part[start:end], language, now):
            case Remember(fact):
                yield fact
            case Statement() if not part[start:end].lstrip().startswith(">"):
                yield part[start:end].strip()
            case _:
                pass


def _lasts(clause: str, language: Language) -> bool:
    ordered = language.grammar.order(clause)
    return any(statement.match(ordered) for statement in language.patterns.lasting)


def is_question(text: str, language: Language) -> bool:
    """Whether a sentence asks."""
    question = language.patterns.question
    return bool(question.match(_opened(text, language)) if language.grammar.spaced else question.search(text))


def _opened(text: str, language: Language) -> str:
    """A sentence with the question word at its beginning spelt right ("waht is ...")."""
    first = next(iter(tokens(text[:60], language)), "")
    if first in language.grammar.stops or text[: len(first)].lower() != first:
        return text
    meant = [
        opener
        for opener in sorted(language.grammar.openers)
        if first[:1] == opener[:1] and len(first) <= len(opener) and sorted(first) in _letters(opener)
    ]
    return meant[0] + text[len(first) :] if meant else text


def _letters(word: str) -> list[list[str]]:
    """The letters of a word, and of the word with one letter left out."""
    return [sorted(word), *(sorted(word[:at] + word[at + 1 :]) for at in range(1, len(word)))]


def _friendly(intent: Intent) -> bool:
    return isinstance(intent, Say) and intent.friendly


def _long(said: str, text: str, language: Language, now: datetime) -> Intent:
    """A message longer than we read: refused as a fact, otherwise work for a language model."""
    start, end = next(sentences(text), (0, 0))
    if isinstance(classify(text[start : min(end, 400)], language, now), Remember):
        return TooLong(len(said))
    return Say("cannot")


def _read(text: str, language: Language, now: datetime) -> Iterator[Intent]:
    """Sentence by sentence. What follows "remember ..." and is nothing by itself belongs to the fact."""
    fact, fact_end, before, kept = "", 0, "", False
    text = _unbroken(text, language, now)
    for start, end in sentences(text):
        intent = classify(text[start:end], language, now)
        if before and intent == Say("remember_what"):
            intent = Remember(before)
        if kept and intent == Say("remember_what"):
            continue  # "My key is in the drawer. Please remember that.": it is remembered
        kept = isinstance(intent, Remember)
        before = text[start:end].strip(_TRAILING) if isinstance(intent, Statement) else ""
        if fact and isinstance(intent, Statement):
            fact += text[fact_end:end].replace("\n", " ")
            fact_end = end
            continue
        if fact:
            yield Remember(fact.strip(_TRAILING))
            fact = ""
        if isinstance(intent, Remember) and intent.asked and not fact:
            fact, fact_end = intent.fact + _ending(text[start:end]), end
        elif isinstance(intent, Ask):
            yield from _questions(intent.question, language)
        else:
            yield intent
    if fact:
        yield Remember(fact.strip(_TRAILING))


def _unbroken(text: str, language: Language, now: datetime) -> str:
    """Lines put together where one goes on in the next: a fact to remember that is not whole yet, and a list."""
    lines, listing, gap = [""], False, " " if language.grammar.spaced else ""
    for line in text.split("\n"):
        last, said = lines[-1].rstrip(), line.strip()
        if said and last and _goes_on(last, said, language, now):
            lines[-1], listing = f"{last}{gap}{said}", True
        elif said and listing and _is_item(said, language, now):
            lines[-1] = f"{last}, {said}"
        else:
            lines.append(line)
            listing = False
    return "\n".join(lines[1:])


def _goes_on(last: str, said: str, language: Language, now: datetime) -> bool:
    """Whether a line is no whole thought without the next one."""
    if last.endswith((":", "：")):
        return _is_item(said, language, now)
    intent = classify(last, language, now)
    wanted = intent.fact if isinstance(intent, Remember) and intent.asked else ""
    is_open = intent == Say("remember_what") or (isinstance(intent, Ask) and _asks_to_remember(last, language))
    if not is_open and not (wanted and language.patterns.open.search(wanted)):
        return False
    joined = f"{last} {said}" if language.grammar.spaced else last + said
    return isinstance(classify(joined, language, now), Remember)


def _asks_to_remember(sentence: str, language: Language) -> bool:
    return any(remember.match(sentence) for remember in language.patterns.remember)


def _is_item(said: str, language: Language, now: datetime) -> bool:
    """Whether a line is one of a list: a few words that are nothing by themselves."""
    few = len(said) <= _LONGEST_ITEM and said[-1] not in "?？!！。"
    return few and isinstance(classify(said, language, now), Statement)


def _questions(asked: str, language: Language) -> Iterator[Ask]:
    """The questions of one sentence ("what's my name and where do I live?")."""
    parts = language.patterns.further.split(asked)
    yield from map(Ask, parts if all(content_words(part, language) for part in parts) else (asked,))


def _ending(sentence: str) -> str:
    last = sentence.rstrip()[-1:]
    mark = last if last in (".", "!", "。", "！") else ""
    return f"{mark} " if sentence.endswith("\n") else mark


def classify(sentence: str, language: Language, now: datetime) -> Intent:
    """One sentence; where it is no command, once more without its lead ("hey Carina, ...")."""
    best: Intent = Statement()
    for _ in range(4):
        intent = _one(_opened(sentence.strip(), language), language, now)
        best = best if isinstance(intent, Statement) else intent
        lead = language.patterns.lead.match(sentence)
        if not isinstance(intent, Statement | Ask) or lead is None:
            return best
        sentence = sentence[lead.end() :]
    return best


def _one(sentence: str, language: Language, now: datetime) -> Intent:
    patterns = language.patterns
    if sentence.startswith(">"):
        return Statement()
    if _CALLED.fullmatch(sentence) or not sentence.strip(_TRAILING + "?？！"):
        return Say("called", friendly=True)
    if not any(letter.isalnum() for letter in sentence):
        return Say("ack", friendly=True)
    if patterns.who.match(sentence):
        return Say("who")
    if patterns.help.match(sentence):
        return Say("help")
    if patterns.forget_all.match(sentence):
        return Say("forget_all")
    if patterns.about_me.match(sentence):
        return ListKnown()
    return (
        wish(sentence, language, now)
        or _command(sentence, language)
        or _look_back(sentence, language, now)
        or _small_talk(sentence, language)
        or _plain(sentence, language)
    )


def _command(sentence: str, language: Language) -> Intent | None:
    patterns = language.patterns
    for remember in patterns.remember:
        if found := remember.match(sentence):
            return _remember(found.groupdict(), sentence, language)
    for forget in patterns.forget:
        if found := forget.match(sentence):
            what = found["what"].strip(_TRAILING + "?？")
            if any(talk.match(sentence) for talk in patterns.chat.values()):
                return None
            return Forget(what) if content_words(what, language) else Say("forget_what")
    return None


def _remember(groups: dict[str, str | None], sentence: str, language: Language) -> Intent:
    patterns = language.patterns
    asking = sentence.rstrip().endswith(("?", "？"))
    if asking and not patterns.polite.search(sentence):
        return Ask(sentence)
    fact = (groups.get("fact") or "").strip(_TRAILING + "?？")
    if not is_question(fact, language) and not content_words(fact, language):
        return Say("remember_what")
    if is_question(fact, language) or patterns.bare.match(fact):
        return Ask(fact)
    return Remember(fact)


def _look_back(sentence: str, language: Language, now: datetime) -> Intent | None:
    if language.patterns.talked.match(sentence) is None:
        return None
    calendar = language.calendar
    span = find_span(sentence, calendar, now)
    rest = content_words(without_days(sentence, calendar), language)
    topic = tuple(word for word in rest if word not in calendar.filler)
    if span is None and topic:
        return None
    return LookBack(span or lately(now), topic)


def _small_talk(sentence: str, language: Language) -> Intent | None:
    for phrase, talk in language.patterns.chat.items():
        if talk.match(sentence):
            return Say(phrase, friendly=True)
    return None


def _plain(sentence: str, language: Language) -> Intent:
    patterns = language.patterns
    if is_question(sentence, language):
        return Ask(sentence)
    lasting = len(sentence) <= _LONGEST_UNASKED and not patterns.passing.search(sentence)
    if lasting and any(_lasts(part, language) for part in clauses(sentence.strip(_TRAILING), language)):
        return Remember(sentence.strip(_TRAILING), asked=False)
    asks = patterns.request.match(sentence) if language.grammar.spaced else patterns.request.search(sentence)
    return Say("cannot") if asks else Statement()
