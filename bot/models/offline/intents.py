"""What a message wants. Pure: a text goes in, intents come out, in the order they were said."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from bot.models.offline.language import Language
from bot.models.offline.statements import clauses
from bot.models.offline.sums import read_sum
from bot.models.offline.text import LONGEST, clean, content_words, sentences
from bot.models.offline.wishes import (
    AddEvent,
    AddTask,
    Agenda,
    Finish,
    LookBack,
    Remind,
    Unclear,
    corrected,
    look_back,
    time_alone,
    wish,
)

_LONGEST_UNASKED = 300
"""A statement that is kept without being asked is short; nobody's essay is mined."""
_LONGEST_ITEM = 60  # characters of a line that is one of a list
_SHORTEST_SLIP = 5  # letters of a word that is taken for a misspelt order
_MOST_SLIPS = 4  # words of a sentence in which a misspelt order is known again
_TRAILING = " \t\n.!。！…"
_ASKED = _TRAILING + "?？"
_CALLED = r"(?i)\s{0,8}(?:(?:<@[!&]?\d{1,25}>|@[\w.-]{1,40}|carina|カリーナ)[\s,:;.!?、。！？]{0,8}){1,5}"
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
class Say:
    """An answer that needs no memory: a phrase by name, friendly or plain; `text` is its matter."""

    phrase: str
    friendly: bool = False
    text: str = ""


@dataclass(frozen=True)
class TooLong:
    length: int


@dataclass(frozen=True)
class Statement:
    """Something said that wants nothing; it may belong to what stands before it."""


@dataclass(frozen=True)
class Clock:
    """What time it is, or what day: "time", "day"."""

    wanted: str


@dataclass(frozen=True)
class Sum:
    expression: str


Intent: TypeAlias = Remember | Ask | Forget | ListKnown | LookBack | Clock | Sum | Agenda | Say | TooLong | Statement


def understand(said: str, language: Language, now: datetime, before: str = "") -> tuple[Intent, ...]:
    """Every intent of one message; small talk falls away beside something to do.

    `before` is what the same person said last: what was missing of it is filled in, or it is corrected.
    """
    said = said.strip()
    text = language.spell(clean(said))
    if len(said) > LONGEST:
        return (_long(said, text, language, now),)
    if before and (joined := _following(text, language, now, before)):
        return (joined,)
    intents = tuple(dict.fromkeys(_read(text, language, now)))
    busy = tuple(each for each in intents if not isinstance(each, Statement) and not _friendly(each))
    return busy or intents[:1]


def _following(text: str, language: Language, now: datetime, before: str) -> Intent | None:
    """What a message means right behind another one: the time that was missing, a yes to an offer, a correction."""
    match next(iter(understand(before, language, now)), None):
        case Unclear("remind_when" | "event_when", missing) if when := time_alone(text, now, language):
            both = (f"{missing} {when}", f"{when} {missing}")
            read = (classify(each, language, now) for each in both)
            return next((each for each in read if isinstance(each, Remind | AddEvent)), None)
        case Say("offer_task", text=title) if language.begins("yes", text):
            return AddTask(title)
        case Remind() as wanted if meant := language.begins("meant", text):
            return corrected(wanted, meant["what"], now, language)
        case _:
            return None


def statements(text: str, language: Language, now: datetime) -> Iterator[str]:
    """What a message states as a fact: neither question nor command nor small talk."""
    part = language.spell(clean(text)[:LONGEST])
    for start, end in sentences(part, language):
        match classify(part[start:end], language, now):
            case Remember(fact):
                yield fact
            case Statement() | Finish(_, True) | Say("offer_task") if not part[start:end].lstrip().startswith(">"):
                yield part[start:end].strip()
            case _:
                pass


def is_question(text: str, language: Language) -> bool:
    """Whether a sentence asks."""
    return any(language.begins("question", each) for each in (text, _spelt(text, language)))


def _spelt(text: str, language: Language) -> str:
    """A sentence with a misspelt order or question word put right ("waht is ...", "remmeber that ...")."""
    orders = language.words("orders")
    for count, found in enumerate(re.finditer(r"[^\W\d_]+(?:'[^\W\d_]+)?", text)):
        word = found[0].lower()
        if count >= _MOST_SLIPS or not language.spaced:
            break
        if word in language.stops | orders | language.words("no_slips"):
            continue
        openers = [each for each in sorted(language.words("openers")) if count == 0 and _misses(word, each)]
        meant = [*openers, *(each for each in sorted(orders) if _slip(word, each))]
        if meant:
            return text[: found.start()] + meant[0] + text[found.end() :]
    return text


def _misses(word: str, meant: str) -> bool:
    """Whether a word has the letters of another in any order, perhaps without one."""
    if word[:1] != meant[:1] or len(meant) - len(word) not in (0, 1):
        return False
    letters = sorted(word)
    if len(word) == len(meant):
        return letters == sorted(meant)
    return any(letters == sorted(meant[:at] + meant[at + 1 :]) for at in range(1, len(meant)))


def _slip(word: str, meant: str) -> bool:
    """The same of orders, or with a letter too many. Another letter may be another word (remote is not remove)."""
    return len(word) >= _SHORTEST_SLIP and (_misses(word, meant) or _misses(meant, word))


def _friendly(intent: Intent) -> bool:
    return isinstance(intent, Say) and intent.friendly


def _long(said: str, text: str, language: Language, now: datetime) -> Intent:
    """A message longer than we read: refused as a fact, otherwise work for a language model."""
    start, end = next(sentences(text, language), (0, 0))
    asks = isinstance(classify(text[start : min(end, 400)], language, now), Remember)
    return TooLong(len(said)) if asks else Say("cannot")


def _read(text: str, language: Language, now: datetime) -> Iterator[Intent]:
    """Sentence by sentence. What follows "remember ..." and is nothing by itself belongs to the fact."""
    fact, fact_end, before, kept = "", 0, "", False
    text = _unbroken(text, language, now)
    for start, end in sentences(text, language):
        intent = classify(text[start:end], language, now)
        if before and intent == Say("remember_what"):
            intent = Remember(before)
        if kept and intent == Say("remember_what"):
            continue  # "My key is in the drawer. Please remember that.": it is remembered
        kept = isinstance(intent, Remember)
        loose = isinstance(intent, Statement) or intent == Say("offer_task")
        before = text[start:end].strip(_TRAILING) if loose else ""
        if fact and loose:
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
    lines, listing, gap = [""], False, " " if language.spaced else ""
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
    asks = isinstance(intent, Ask) and language.begins("remember", last) is not None
    if intent != Say("remember_what") and not asks and not (wanted and language.search("open", wanted)):
        return False
    joined = f"{last} {said}" if language.spaced else last + said
    return isinstance(classify(joined, language, now), Remember)


def _is_item(said: str, language: Language, now: datetime) -> bool:
    """Whether a line is one of a list: a few words that are nothing by themselves."""
    few = len(said) <= _LONGEST_ITEM and said[-1] not in "?？!！。"
    return few and isinstance(classify(said, language, now), Statement)


def _questions(asked: str, language: Language) -> Iterator[Ask]:
    """The questions of one sentence ("what's my name and where do I live?")."""
    (further,) = language.patterns("search", "further")
    parts = further.split(asked)
    yield from map(Ask, parts if all(content_words(part, language) for part in parts) else (asked,))


def _ending(sentence: str) -> str:
    last = sentence.rstrip()[-1:]
    mark = last if last in (".", "!", "。", "！") else ""
    return f"{mark} " if sentence.endswith("\n") else mark


def classify(sentence: str, language: Language, now: datetime) -> Intent:
    """One sentence; where it is no command, once more without its lead ("hey Carina, ...")."""
    best: Intent = Statement()
    for _ in range(4):
        intent = _read_one(sentence.strip(), language, now)
        best = best if isinstance(intent, Statement) else intent
        lead = language.begins("lead", sentence)
        if not isinstance(intent, Statement | Ask) or lead is None:
            return best
        sentence = sentence[lead.end() :]
    return best


def _read_one(sentence: str, language: Language, now: datetime) -> Intent:
    """One sentence as it stands; where that wants nothing, with a misspelt order or question word put right."""
    intent, spelt = _one(sentence, language, now), _spelt(sentence, language)
    if spelt == sentence or not isinstance(intent, Statement | Ask):
        return intent
    meant = _one(spelt, language, now)
    unasked = isinstance(meant, Statement | Say) or (isinstance(meant, Remember) and not meant.asked)
    return intent if unasked or (isinstance(intent, Ask) and not isinstance(meant, Ask)) else meant


def _one(sentence: str, language: Language, now: datetime) -> Intent:
    if sentence.startswith(">"):
        return Statement()
    if re.fullmatch(_CALLED, sentence) or not sentence.strip(_TRAILING + "?？！"):
        return Say("called", friendly=True)
    if not any(letter.isalnum() for letter in sentence):
        return Say("ack", friendly=True)
    for phrase in ("who", "help", "forget_all", "why"):
        if language.begins(phrase, sentence):
            return Say(phrase)
    if language.begins("about_me", sentence):
        return ListKnown()
    return (
        wish(sentence, language, now)
        or _command(sentence, language)
        or _clock_or_sum(sentence, language)
        or look_back(sentence, language, now)
        or _small_talk(sentence, language)
        or _plain(sentence, language)
    )


def _clock_or_sum(sentence: str, language: Language) -> Intent | None:
    for wanted in ("time", "day"):
        if language.begins(f"clock_{wanted}", sentence):
            return Clock(wanted)
    expression = read_sum(sentence, language)
    return Sum(expression) if expression else None


def _command(sentence: str, language: Language) -> Intent | None:
    if found := language.begins("remember", sentence):
        return _remember((found.groupdict().get("fact") or "").strip(_ASKED), sentence, language)
    if found := language.begins("forget", sentence):
        what = found["what"].strip(_ASKED)
        if any(language.begins(talk, sentence) for talk in language.names("chat_")):
            return None
        return Forget(what) if content_words(what, language) else Say("forget_what")
    return None


def _remember(fact: str, sentence: str, language: Language) -> Intent:
    if sentence.rstrip().endswith(("?", "？")) and not language.search("polite", sentence):
        return Ask(sentence)
    if not is_question(fact, language) and not content_words(fact, language):
        return Say("remember_what")
    return Ask(fact) if is_question(fact, language) or language.begins("bare", fact) else Remember(fact)


def _small_talk(sentence: str, language: Language) -> Intent | None:
    talk = next((name for name in language.names("chat_") if language.begins(name, sentence)), "")
    return Say(talk.removeprefix("chat_"), friendly=True) if talk else None


def _plain(sentence: str, language: Language) -> Intent:
    if is_question(sentence, language):
        return Ask(sentence)
    said = sentence.strip(_TRAILING)
    lasting = len(sentence) <= _LONGEST_UNASKED and not language.search("passing", sentence)
    if lasting and any(language.begins("lasting", language.order(part)) for part in clauses(said, language)):
        return Remember(said, asked=False)
    if found := language.begins("agenda_need", sentence):
        return Say("offer_task", text=found["what"].strip(_TRAILING))
    return Say("cannot") if language.begins("request", sentence) else Statement()
