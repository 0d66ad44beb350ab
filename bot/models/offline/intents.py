"""What a message wants. Pure: a text goes in, intents come out, in the order they were said."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct

from bot.models.offline.facts import clauses
from bot.models.offline.language import Language
from bot.models.offline.text import LONGEST, clean, content_words, month_and_day, sentences
from memory.store.errors import StoreError
from scheduler.dates import FoundTime, find_when
from scheduler.triggers import next_run

_LONGEST_UNASKED = 300
"""A statement that is kept without being asked is short; nobody's essay is mined."""
_LONGEST_ITEM = 60  # characters of a line that is one of a list
_LONGEST_SUM = 200
_SHORTEST_SLIP = 5  # letters of a word that is taken for a misspelt order
_MOST_SLIPS = 4  # words of a sentence in which a misspelt order is known again
_SNOOZED = 10  # minutes, where none are said
_TRAILING = " \t\n.!。！…"
_ASKED = _TRAILING + "?？"
_QUOTES = "\"“”„«»「」'"
_CALLED = r"(?i)\s{0,8}(?:(?:<@[!&]?\d{1,25}>|@[\w.-]{1,40}|carina|カリーナ)[\s,:;.!?、。！？]{0,8}){1,5}"
"""Nothing but who is spoken to."""
_ISO = r"\b(\d{4})-(\d{2})-(\d{2})\b"
_MARK = r"[:.]\d\d(?: ?[ap]m)?|時(?:半|\d{1,2}分)?| ?[ap]m| ?uhr|"
_FROM_TO = (
    rf"(?i)(?:\b(?:from|von|at|um) )?(?<![0-9A-Za-z:.-])(?P<hour>\d{{1,2}})(?P<mark>{_MARK})"
    rf" ?(?:to|until|till|bis|-|–|から) ?(?P<hour2>\d{{1,2}})(?P<mark2>{_MARK})(?:まで)?(?![0-9A-Za-z:-])"
)
_SUM = r"(?=.*\d)(?=.*(?:\d\W*[-+*/]\W*[\d(]|sqrt))[-+*/().\d\s]*(?:sqrt[-+*/().\d\s]*)*"
_NUMBER, _DATE = r"[-/.\d\s]*", r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\s*"
"""Figures with dashes and slashes alone are a number or a date where nobody asks what they are."""
_DAY = timedelta(days=1)


class Intent(NamedTuple):
    """One thing that is wanted, by the name of its act (`acts.py`); what an act does not need is empty."""

    act: str
    text: str = ""
    """The fact, question, title or sum."""
    name: str = ""
    """The phrase to say, or the tool whose list is wanted."""
    when: str = ""
    """A time in the person's words; of a look back its first day."""
    other: str = ""
    """The end of an event, the reminder that one replaces, the last day of a look back."""
    number: int = 0
    """Minutes, days or characters."""
    sure: bool = False
    """The person said yes to it."""


STATEMENT = Intent("statement")
"""Something said that wants nothing; it may belong to what stands before it."""
_LOOSE = (STATEMENT.act, "done_perhaps")
_WEAK = (STATEMENT.act, "ask")
_PHRASES = ("who", "help", "forget_all", "why", "about_me")
_ACTS = ("agenda_task", "agenda_done", "agenda_cancel", "agenda_done_perhaps")
_AT_TIMES = ("agenda_timer", "agenda_alarm", "agenda_event", "agenda_snooze")
_LISTS = ("agenda_reminders", "agenda_tasks", "agenda_events")


class Parser(Struct, frozen=True):
    """Reads messages of one language at one time."""

    language: Language
    now: datetime
    """On the clocks of who speaks."""

    def parse(self, said: str, before: str = "") -> tuple[Intent, ...]:
        """Every intent of one message; small talk falls away beside something to do.

        `before` is what the same person said last: what was missing of it is filled in, or it is corrected.
        """
        said = said.strip()
        text = self.language.spell(clean(said))
        if len(said) > LONGEST:  # refused as a fact, otherwise work for a language model
            start, end = next(sentences(text, self.language), (0, 0))
            kept = self.sentence(text[start : min(end, 400)]).act in ("remember", "note")
            return (Intent("too_long", number=len(said)) if kept else Intent("say", name="cannot"),)
        if before and (joined := self._following(text, before)):
            return (joined,)
        intents = tuple(dict.fromkeys(self._intents(text)))
        busy = tuple(each for each in intents if each.act not in (STATEMENT.act, "talk"))
        return busy or intents[:1]

    def statements(self, text: str) -> Iterator[str]:
        """What a message states as a fact: neither question nor command nor small talk."""
        part = self.language.spell(clean(text)[:LONGEST])
        for start, end in sentences(part, self.language):
            said = part[start:end].strip()
            intent = self.sentence(said)
            if intent.act in ("remember", "note"):
                yield intent.text
            elif (intent.act in _LOOSE or intent.name == "offer_task") and not said.startswith(">"):
                yield said

    def is_question(self, text: str) -> bool:
        return any(self.language.begins("question", each) for each in (text, self._spelt(text)))

    def sentence(self, text: str) -> Intent:
        """One sentence; where it is no command, once more without its lead ("hey Carina, ...")."""
        best = STATEMENT
        for _ in range(4):
            intent = self._corrected_spelling(text.strip())
            best = intent if intent != STATEMENT else best
            lead = self.language.begins("lead", text)
            if intent.act not in _WEAK or lead is None:
                break
            text = text[lead.end() :]
        return best

    # ------------------------------------------------------------------------------------------ between sentences

    def _following(self, text: str, before: str) -> Intent | None:
        """What a message means right behind another one: the time that was missing, a yes to an offer, a correction."""
        earlier = next(iter(self.parse(before)), STATEMENT)
        match earlier:
            case Intent("unclear", missing, "remind_when" | "event_when") if when := self._time_alone(text):
                both = (f"{missing} {when}", f"{when} {missing}")
                return next((each for each in map(self.sentence, both) if each.act in ("remind", "event")), None)
            case Intent("say", title, "offer_task") if self.language.begins("yes", text):
                return self._task(title)
            case Intent("forget") if self.language.begins("yes", text) and not text.endswith(("?", "？")):
                return earlier._replace(sure=True)
            case Intent("forget") if self.language.begins("no", text):
                return Intent("say", name="forget_not")
            case Intent("remind") if meant := self.language.begins("meant", text):
                return self._corrected(earlier, meant["what"])
            case _:
                return None

    def _corrected(self, wanted: Intent, said: str) -> Intent | None:
        """A reminder at another time, which was said right after it: an hour alone is of the same day."""
        when = self._time_alone(said)
        old, new = self.find_time(wanted.when), self.find_time(when)
        if new is None:
            return None
        was = self._moment(old, self.now)
        if old and old.dated and not new.dated and was:
            midnight = was.replace(hour=0, minute=0)
            meant = self._moment(Parser(self.language, midnight).find_time(when), midnight)
            when = f"{meant or was:%Y-%m-%d %H:%M}"
        return Intent("remind", wanted.text, when=when, other=wanted.text)

    def _intents(self, text: str) -> Iterator[Intent]:
        """Sentence by sentence. What follows "remember ..." and is nothing by itself belongs to the fact."""
        fact, fact_end, before, kept = "", 0, "", False
        text = self._unbroken(text)
        for start, end in sentences(text, self.language):
            intent = self.sentence(text[start:end])
            bare = intent.name == "remember_what"
            if bare and before:
                intent = Intent("remember", before)
            elif bare and kept:
                continue  # "My key is in the drawer. Please remember that.": it is remembered
            kept = intent.act in ("remember", "note")
            loose = intent == STATEMENT or intent.name == "offer_task"
            before = text[start:end].strip(_TRAILING) if loose else ""
            if fact and loose:
                fact, fact_end = fact + text[fact_end:end].replace("\n", " "), end
                continue
            if fact:
                yield Intent("remember", fact.strip(_TRAILING))
                fact = ""
            if intent.act == "remember":
                fact, fact_end = intent.text + _ending(text[start:end]), end
            elif intent.act == "ask":
                yield from self._questions(intent.text)
            else:
                yield intent
        if fact:
            yield Intent("remember", fact.strip(_TRAILING))

    def _unbroken(self, text: str) -> str:
        """Lines put together where one goes on in the next: a fact to remember that is not whole yet, and a list."""
        lines, listing, gap = [""], False, " " if self.language.spaced else ""
        for line in text.split("\n"):
            last, said = lines[-1].rstrip(), line.strip()
            if said and last and self._goes_on(last, said, gap):
                lines[-1], listing = f"{last}{gap}{said}", True
            elif said and listing and self._is_item(said):
                lines[-1] = f"{last}, {said}"
            else:
                lines.append(line)
                listing = False
        return "\n".join(lines[1:])

    def _goes_on(self, last: str, said: str, gap: str) -> bool:
        """Whether a line is no whole thought without the next one."""
        if last.endswith((":", "：")):
            return self._is_item(said)
        intent = self.sentence(last)
        whole = intent.act != "remember" or not self.language.search("open", intent.text)
        asks = intent.act == "ask" and self.language.begins("remember", last) is not None
        if whole and not asks and intent.name != "remember_what":
            return False
        return self.sentence(f"{last}{gap}{said}").act in ("remember", "note")

    def _is_item(self, said: str) -> bool:
        """Whether a line is one of a list: a few words that are nothing by themselves."""
        return len(said) <= _LONGEST_ITEM and said[-1] not in "?？!！。" and self.sentence(said) == STATEMENT

    def _questions(self, asked: str) -> Iterator[Intent]:
        """The questions of one sentence ("what's my name and where do I live?")."""
        (further,) = self.language.patterns("search", "further")
        parts = further.split(asked)
        whole = all(content_words(part, self.language) for part in parts)
        yield from (Intent("ask", part) for part in (parts if whole else (asked,)))

    # ---------------------------------------------------------------------------------------------- one sentence

    def _corrected_spelling(self, sentence: str) -> Intent:
        """One sentence as it stands; where that wants nothing, with a misspelt order or question word put right."""
        intent = self._one(sentence)
        if intent.act not in _WEAK or (spelt := self._spelt(sentence)) == sentence:
            return intent
        meant = self._one(spelt)
        unasked = meant.act in (STATEMENT.act, "say", "talk", "note") or (intent.act == "ask" and meant.act != "ask")
        return intent if unasked else meant

    def _spelt(self, text: str) -> str:
        """A sentence with a misspelt order or question word put right ("waht is ...", "remmeber that ...")."""
        language, orders = self.language, self.language.words("orders")
        known = language.stops | orders | language.words("no_slips")
        for count, found in enumerate(re.finditer(r"[^\W\d_]+(?:'[^\W\d_]+)?", text)):
            word = found[0].lower()
            if count >= _MOST_SLIPS or not language.spaced:
                break
            if word in known:
                continue
            openers = language.words("openers") if count == 0 else ()
            meant = [each for each in sorted(openers) if _misses(word, each)]
            meant += [each for each in sorted(orders) if _slip(word, each)]
            if meant:
                return text[: found.start()] + meant[0] + text[found.end() :]
        return text

    def _one(self, sentence: str) -> Intent:
        if sentence.startswith(">"):
            return STATEMENT
        if re.fullmatch(_CALLED, sentence) or not sentence.strip(_ASKED + "！"):
            return Intent("talk", name="called")
        if not any(map(str.isalnum, sentence)):
            return Intent("talk", name="ack")
        if phrase := self.language.first(_PHRASES, sentence)[0]:
            return Intent("known") if phrase == "about_me" else Intent("say", name=phrase)
        return (
            self._agenda(sentence)
            or self._command(sentence)
            or self._clock_or_sum(sentence)
            or self._look_back(sentence)
            or self._small_talk(sentence)
            or self._plain(sentence)
        )

    def _command(self, sentence: str) -> Intent | None:
        if found := self.language.begins("remember", sentence):
            fact = (found.groupdict().get("fact") or "").strip(_ASKED)
            if sentence.rstrip().endswith(("?", "？")) and not self.language.search("polite", sentence):
                return Intent("ask", sentence)
            if self.is_question(fact) or (content_words(fact, self.language) and self.language.begins("bare", fact)):
                return Intent("ask", fact)
            known = content_words(fact, self.language)
            return Intent("remember", fact) if known else Intent("say", name="remember_what")
        found = self.language.begins("forget", sentence)
        if found is None or self._small_talk(sentence):
            return None
        what = found["what"].strip(_ASKED)
        return Intent("forget", what) if content_words(what, self.language) else Intent("say", name="forget_what")

    def _clock_or_sum(self, sentence: str) -> Intent | None:
        if wanted := self.language.first(("clock_time", "clock_day"), sentence)[0]:
            return Intent("clock", name=wanted)
        if len(sentence) > _LONGEST_SUM or not any(map(str.isdigit, sentence)):
            return None
        asked = self.language.begins("sum_lead", sentence)
        text = (sentence[asked.end() :] if asked else sentence).strip(_ASKED + "=").casefold()
        text = self.language.rewrite("sums", text)
        named = re.fullmatch(_DATE, text) or (not asked and re.fullmatch(_NUMBER, text))
        return Intent("sum", " ".join(text.split())) if re.fullmatch(_SUM, text) and not named else None

    def _small_talk(self, sentence: str) -> Intent | None:
        talk, _ = self.language.first(self.language.names("chat_"), sentence)
        return Intent("talk", name=talk.removeprefix("chat_")) if talk else None

    def _plain(self, sentence: str) -> Intent:
        language = self.language
        if self.is_question(sentence):
            return Intent("ask", sentence)
        said = sentence.strip(_TRAILING)
        lasting = len(sentence) <= _LONGEST_UNASKED and not language.search("passing", sentence)
        if lasting and any(language.begins("lasting", language.order(part)) for part in clauses(said, language)):
            return Intent("note", said)
        if found := language.begins("agenda_need", sentence):
            return Intent("say", found["what"].strip(_TRAILING), "offer_task")
        return Intent("say", name="cannot") if language.begins("request", sentence) else STATEMENT

    # ---------------------------------------------------------------------------------------------- looking back

    def _look_back(self, sentence: str) -> Intent | None:
        """What was said in some days, perhaps about something."""
        language, rest, today = self.language, sentence, self.now.date()
        if language.begins("talked", sentence) is None:
            return None
        dates = (*language.patterns("search", "date"), *language.patterns("search", "weekdays"))
        for pattern in (*dates, *(days for days, _ in language.days)):
            rest = pattern.sub(" ", rest)
        words = content_words(re.sub(_ISO, " ", rest), language)
        topic = " ".join(word for word in words if word not in language.words("filler"))
        days = None
        with suppress(ValueError, OverflowError):  # a day that does not exist
            days = self._days(sentence, today)
        if days is None and topic:
            return None
        first, last = days or (today - 6 * _DAY, today)
        return Intent("look_back", topic, when=first.isoformat(), other=last.isoformat())

    def _days(self, text: str, today: date) -> tuple[date, date] | None:
        """The first and the last day that a text speaks of; None when it names none."""
        for pattern, rule in self.language.days:
            if pattern.search(text):
                unit, number = rule.split(":")
                if unit == "month":
                    first = (today.replace(day=1) + int(number) * _DAY).replace(day=1)
                    return first, (first + 31 * _DAY).replace(day=1) - _DAY
                if unit == "week":
                    first = today + (7 * int(number) - today.weekday()) * _DAY
                    return first, first + 6 * _DAY
                return today + int(number) * _DAY, today + int(number) * _DAY
        day: date | None = None
        for place, weekday in enumerate(self.language.patterns("search", "weekdays")):
            if day is None and weekday.search(text):
                day = today - ((today.weekday() - place - 1) % 7 + 1) * _DAY
        if day is None and (iso := re.search(_ISO, text)):
            day = date.fromisoformat(iso[0])
        if day is None and (found := self.language.search("date", text)):
            day = date(today.year, *month_and_day(found, self.language))
            day = day if day <= today else day.replace(year=today.year - 1)
        return (day, day) if day else None

    # -------------------------------------------------------------------------------- reminders, tasks, events

    def _agenda(self, sentence: str) -> Intent | None:
        """What is wanted of reminders, tasks and events; None where a sentence wants nothing of the kind."""
        name, found = self.language.first(_LISTS, sentence)
        if found:
            days = next((int(group[4:]) for group, said in found.groupdict().items() if said), 0)
            return Intent("list", name=name.removeprefix("agenda_"), number=days)
        for pattern in self.language.patterns("begin", "agenda_remind"):
            found = pattern.match(sentence)
            first = found.groupdict().get("first") if found else None
            if found and (first is None or self._time_alone(first)):  # nothing stands before it, or its time alone
                return self._timed("remind", " ".join(filter(None, found.groups())), sentence)
        name, found = self.language.first(_AT_TIMES, sentence)
        if found and name == "agenda_event":
            said, ends = _without_end(found["what"])
            return self._timed("event", said, sentence, ends)
        if found and name == "agenda_snooze":
            later = self._moment(self.find_time(self._time_alone(found["for"] or "")), self.now)
            minutes = max(1, round((later - self.now).total_seconds() / 60)) if later else _SNOOZED
            return Intent("snooze", _unquoted(found["what"]), number=minutes)
        if found:
            what = (found.groupdict().get("for") or "").strip(_ASKED)
            text = what or self.language.say(name.removeprefix("agenda_"))
            when = self._time_alone(found["when"].replace("-", " "))
            missing = Intent("unclear", found[0].strip(_ASKED), "remind_when")
            return Intent("remind", text, when=when) if when else missing
        name, found = self.language.first(_ACTS, sentence)
        what = _unquoted(found["what"]) if found else ""
        if what and name == "agenda_task":
            return self._task(what)
        return Intent(name.removeprefix("agenda_"), what) if what else None

    def _task(self, what: str) -> Intent:
        """A task, and until when it is to be done where that is said ("by friday")."""
        due = self.language.search("due", what)
        found = self.find_time(due["when"]) if due else None
        if due is None or found is None:
            return Intent("task", what)
        said = found.said if any(map(str.isalnum, found.left)) else due["when"]
        left = f"{what[: due.start()]}{due['when'].removeprefix(said)}{what[due.end() :]}"
        title = " ".join(left.split()).strip(f"{_ASKED},:、")
        return Intent("task", title, when=said) if title and due["when"].startswith(said) else Intent("task", what)

    def _timed(self, act: str, said: str, sentence: str, other: str = "") -> Intent:
        """Words with a time in them; where it or they are missing, they are asked for."""
        try:
            found = find_when(said, self.now, _zone(self.now), self.language.code)
        except StoreError:  # a day that does not exist: the tool says so
            return Intent(act, said, when=said, other=other)
        if found is None:
            return Intent("unclear", sentence.strip(_ASKED), f"{act}_when")
        (lead,) = self.language.patterns("search", "agenda_lead")
        text = _unquoted(lead.sub("", lead.sub("", found.rest)).strip())
        return Intent(act, text, when=found.said, other=other) if text else Intent("unclear", name=f"{act}_what")

    def find_time(self, said: str) -> FoundTime | None:
        """The time in some words; None as well for a day that does not exist."""
        with suppress(StoreError):
            return find_when(said, self.now, _zone(self.now), self.language.code) if said else None
        return None

    def moment(self, said: str) -> datetime | None:
        """When the time in some words comes next."""
        return self._moment(self.find_time(said), self.now)

    def _moment(self, found: FoundTime | None, now: datetime) -> datetime | None:
        moment = next_run(found.trigger, now) if found else None
        return moment.astimezone(now.tzinfo) if moment else None

    def _time_alone(self, said: str) -> str:
        """The words of a time, where there is nothing else; a number of minutes alone is a time from now."""
        said = said.strip(_ASKED)
        for text in (said, *self.language.spans(said)):
            found = self.find_time(text)
            if found is not None and not any(letter.isalnum() for letter in found.left):
                return text
        return ""


def _misses(word: str, meant: str) -> bool:
    """Whether a word has the letters of another in any order, perhaps without one."""
    return word[:1] == meant[:1] and len(meant) - len(word) in (0, 1) and not Counter(word) - Counter(meant)


def _slip(word: str, meant: str) -> bool:
    """The same of orders, or with a letter too many. Another letter may be another word (remote is not remove)."""
    return len(word) >= _SHORTEST_SLIP and (_misses(word, meant) or _misses(meant, word))


def _ending(sentence: str) -> str:
    last = sentence.rstrip()[-1:]
    mark = last if last in (".", "!", "。", "！") else ""
    return f"{mark} " if sentence.endswith("\n") else mark


def _unquoted(what: str) -> str:
    """A title without the quotation marks around it."""
    what = what.strip(_ASKED + ":")
    return what.strip(_QUOTES) if what[:1] in _QUOTES and what[-1:] in _QUOTES else what


def _without_end(said: str) -> tuple[str, str]:
    """What is said of an event without "to 22:00" of "from 20:00 to 22:00", and that end; empty where there is none."""
    found = re.search(_FROM_TO, said)
    if found is None or not (found["mark"] or found["mark2"]):
        return said, ""
    half = found["mark2"] if found["mark2"].strip().casefold()[:1] in ("a", "p") else ""  # from 8 to 10pm
    begin = f"{found['hour']}{found['mark'] or half or ':00'}"
    return f"{said[: found.start()]}{begin}{said[found.end() :]}", f"{found['hour2']}{found['mark2'] or ':00'}"


def _zone(now: datetime) -> str:
    return now.tzinfo.key if isinstance(now.tzinfo, ZoneInfo) else "UTC"
