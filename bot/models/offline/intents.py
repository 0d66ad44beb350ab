"""Intents of a message. Pure: a text goes in, intents come out, in the order of the text."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import NamedTuple

from msgspec import Struct

from bot.models.offline.facts import clauses
from bot.models.offline.language import LONGEST, Language, detect
from memory.store.errors import StoreError
from scheduler import dates
from scheduler.times_in_words import long_date

_LONGEST_UNASKED = 300  # a statement that is kept without a request is short; nobody's essay is mined
_LONGEST_ITEM, _MOST_MISSPELT = 60, 4  # characters of a list item; words among which a misspelled one is searched
_TRAILING = " \t\n.!。！…"
_ASKED, _ENDS = _TRAILING + "?？", _TRAILING + ":："


class Intent(NamedTuple):
    """One thing that is wanted, by the name of its act (`acts.py`); what an act does not need is empty.

    `text`: the fact, question, title or sum. `name`: the phrase to say, what to list or end, "undo", "by" of a move.
    `when`: a time in their words; of a look back its first day. `other`: an event's end, the event to remind ahead of,
    the fact to replace, a look back's last day, "sure" after a yes. `instead`: the title to replace. `number`: days.
    """

    act: str
    text: str = ""
    name: str = ""
    when: str = ""
    other: str = ""
    instead: str = ""
    number: int = 0


STATEMENT = Intent("statement")  # a remark without an intent; it may belong to the previous sentence
_CANNOT, _UNCHANGED = Intent("say", name="cannot"), Intent("say", name="unchanged")
_KEPT, _IDLE, _GREETINGS = ("remember", "note"), (STATEMENT.act, "talk"), ("greeting", "wellbeing")
_CHOSEN = {"all": slice(None), "first": slice(1), "second": slice(1, 2), "third": slice(2, 3), "last": slice(-1, None)}
_LISTS = ("list", "look_back", "known")  # leave what is spoken of as it is
_WEAK, _UNASKED = (STATEMENT.act, "ask"), (STATEMENT.act, "say", "talk", "note")  # sought better; never meant by a slip


class Parser(Struct, frozen=True):
    """Parses messages in one language at one time, in the speaker's time zone."""

    language: Language
    now: datetime
    listed: Sequence[str] = ()  # what the last answer listed, without "(in 2 minutes)", which changes
    read: dict[int, tuple[Intent, ...]] = {}  # what was read of earlier messages, each once

    def parse(self, said: str, before: Sequence[str] = ()) -> tuple[Intent, ...]:
        """The intents of one message, completed from the same person's messages `before` it."""
        text = self.language.clean(said := said.strip())
        if len(said) > LONGEST:
            return (Intent("say", name="too_long", number=len(said)),)
        if before and 0 < len(text) <= _LONGEST_UNASKED and self.sentence(text).name not in _GREETINGS:
            _, first, more = text.partition(next(self.language.sentences(text), text))  # "Yes. No, wait" is no yes
            joined = self._following(first.strip(), before) if more and not self.language.begins("meant", more) else ()
            if joined not in ((), (_UNCHANGED,)):
                return (*joined, *self.parse(more))
            if joined := self._following(text, before):
                return joined
        intents = tuple(dict.fromkeys(self._intents(text)))
        if wanted := tuple(each for each in intents if each.act not in _IDLE):
            return wanted
        meant = self.language.begins("meant", text)
        return (_UNCHANGED,) if meant and (meant["word"] or self._time_alone(meant["what"])) else intents[:1]

    def statements(self, text: str) -> Iterator[str]:
        """The facts that a message states, without questions, commands and small talk."""
        for said in map(str.strip, self.language.sentences(self.language.clean(text)[:LONGEST])):
            intent = self.sentence(said)
            if intent.act in _KEPT:
                yield intent.text
            elif (_is_loose(intent) or intent.act == "done_perhaps") and said[0] != ">" and not self._time_alone(said):
                yield said

    def is_question(self, text: str) -> bool:
        return any(self.language.begins("question", each) for each in (text, *self._spelt(text)))

    def sentence(self, text: str) -> Intent:
        """The intent of one sentence, if need be with a misspelled command corrected, or without its lead ("hey")."""
        best = STATEMENT
        for _ in range(4):
            intent = self._one(text.strip())
            if intent.act in (*_WEAK, "unclear") or intent == _CANNOT:
                meant = [each for each in map(self._one, self._spelt(text.strip())) if _is_meant(each, intent)]
                intent = min(meant, key=lambda each: each.act == "unclear", default=intent)
            best = intent if intent != STATEMENT else best
            lead = self.language.begins("lead", text)
            if intent.act not in _WEAK or lead is None:
                break
            text = text[lead.end() :]
        return best

    def _following(self, text: str, before: Sequence[str]) -> tuple[Intent, ...]:
        """The intents of a message that follows others: an answer to a question, one thing more, a correction."""
        messages, begins = self._earlier(before), self.language.begins
        reader, told, asked = last = next(messages)
        while asked and all(each.act in ("ask", *_LISTS) for each in asked):  # what is asked about stays the topic
            reader, told, asked = next(messages, (reader, "", ()))
        if said := (asked and self._retimed(asked[-1], text)) or self._restated(asked, told, text):
            return (said,)
        yes = begins("yes", text) and not text.endswith(("?", "？"))
        undone = self.sentence(text).name == "undo" and all(each.act != "ask" for each in last[2])
        question = next((each for each in asked if each.name in self.language.data["questions"]), None)
        earlier = (asked or (STATEMENT,))[-1]
        answer = self._answered(question, text, reader, yes=bool(yes)) if question else ()
        if answer := answer or self._picked(earlier if told == last[1] else STATEMENT, text, (m[2] for m in messages)):
            return answer
        match earlier:
            case Intent("task") if (more := begins("more", text)) and _is_loose(self.sentence(text)):
                return tuple(self.parts(self.task(self._title(more["what"]))._replace(act="tasks")))
            case Intent("remember", newest, other=old) if old and undone:
                return (Intent("remember", old, "undo", other=newest),)
            case Intent("remind" | "task" | "event" | "remember" | "note") if undone:
                which = "\n".join(f"- {each.text}" for each in _undoing(asked))
                return (Intent("say", which, "which"),) if "\n" in which else _undoing(asked)
            case Intent("forget", name="") | Intent("cancel_all", "") if yes:  # to everything that was asked
                return tuple(each._replace(other="sure") for each in asked if each.act == earlier.act)
            case Intent("forget", name="", other="") if begins("no", text):
                return (Intent("say", name="forget_not"),)
            case Intent() if new := self._corrected(earlier, text):
                return (new,)
            case Intent("statement") if "\n" not in self.language.rewrite("amend", f"{told}\n{text.strip(_TRAILING)}"):
                return (_UNCHANGED,)
            case Intent("remind" | "task" | "event" | "move") if begins("meant", text) or begins("no", text):
                return (_UNCHANGED,) if self.sentence(text).act in _IDLE else ()
        return self._about_it(text, before)

    def _answered(self, asked: Intent, text: str, reader: "Parser", *, yes: bool) -> tuple[Intent, ...]:
        """What becomes of a question, which may be in another language, by an answer; none if it is no answer."""
        when = self._time_alone(text) or text * bool(dates.without_end(text)[1])
        match asked:
            case Intent("unclear", missing, "remind_when" | "event_when") if when:
                both = map(reader.sentence, (f"{missing} {when}", f"{when} {missing}"))
                return next(((each,) for each in both if each.act in ("remind", "event")), (asked,))
            case Intent("unclear", name="remind_what" | "event_what") if _is_subject(self.sentence(text)):
                what = self._title(text.strip(_ASKED), "agenda_lead")
                return (asked._replace(act=asked.name.removesuffix("_what"), text=what, name=""),) if what else ()
        act = "tasks" if reader.language.search("several", asked.text) else "task"
        offered = reader.parts(reader.task(asked.text)._replace(act=act)) if asked.name == "offer_task" else (asked,)
        return tuple(offered) if yes else ()

    def _earlier(self, before: Sequence[str]) -> Iterator[tuple["Parser", str, tuple[Intent, ...]]]:
        """The earlier messages with their intents, newest first, each with its parser."""
        for at, text in reversed(list(enumerate(before))):
            reader = Parser(detect(text, self.language.code), self.now, read=self.read)
            yield reader, text, self.read.get(at) or self.read.setdefault(at, reader.parse(text, before[:at]))

    def _about_it(self, text: str, before: Sequence[str]) -> tuple[Intent, ...]:
        """A command about "it", the last planned or requested item; none if another intent came in between."""
        it, them = (self.language.search(each, text) for each in ("it", "them"))
        wanted = (said[-1] if said else Intent("") for _, _, said in self._earlier(before if it or them else ()))
        last = next((one for one in wanted if one.act not in _UNASKED and (them or one.act not in _LISTS)), STATEMENT)
        if them:
            keeps = self.language.data["keeps"].get(last.act, ("",))
            kind = last.name if last.name in self.language.data["lists"] else keeps[0]
            return (Intent("cancel_all", name=kind),) if kind else ()
        what = self.language.say("it", text=" ".join(self.language.content_words(last.text)) or last.text)
        named = self.sentence(f"{text[: it.start('it')]}{what}{text[it.end('it') :]}" if it else text)
        return (named,) if last.act in (*self.language.data["keeps"], "move", "ask") else ()

    def _corrected(self, kept: Intent, said: str) -> Intent | None:
        """What was kept, at another time or in other words; a timer is identified by its time."""
        planned = kept.act in self.language.data["keeps"] or (kept.act, kept.name) == ("move", "")
        meant = planned or kept.act in _KEPT or kept.name == "offer_task"
        what = found["what"].strip(_ASKED) if meant and (found := self.language.begins("meant", said)) else ""
        if planned and (when := dates.corrected(what, kept.when, self.now, self.language.code)):
            old, new = (dates.span(each, self.language.code) for each in (kept.when, when))
            text = kept.text.replace(old, new) if kept.name == "timer_set" else kept.text
            return kept._replace(text=text, when=when, other="", instead=kept.text)
        text = self.language.rewrite("amend", f"{kept.text}\n{said.strip(_TRAILING)}")
        same = "\n" in text or not dates.keeps_times(kept.text, text, self.language.code)
        if not what or same or kept.act == "move" or not _is_subject(self.sentence(what)):
            return None
        fact = Intent("remember", text, other=kept.text)
        return fact if kept.act in _KEPT else kept._replace(text=text, instead=kept.text)

    def _retimed(self, kept: Intent, said: str) -> Intent | None:
        """A fact with the day or time of day that is said instead; unchanged if it is not clear instead of which."""
        meant = self.language.begins("meant", said) if kept.act in _KEPT else None
        text = dates.replaced(meant["what"], kept.text, self.language.code) if meant else None
        return Intent("remember", text, other=kept.text) if text else None if text is None else _UNCHANGED

    def _restated(self, asked: Sequence[Intent], told: str, text: str) -> Intent | None:
        """A fact as it is said instead, with all its times."""
        for fact in (each.text or told.strip(_TRAILING) for each in asked if each.act in (*_KEPT, STATEMENT.act)):
            said = self.language.begins("instead", self.language.rewrite("bare", f"{fact}\n{text}"))
            if said and (said["what"] in text or dates.keeps_times(said["old"], said["what"], self.language.code)):
                return Intent("remember", said["what"].strip(_TRAILING), other=said["old"])
        return None

    def _intents(self, text: str) -> list[Intent]:
        """The intents by sentence; a fragment, the lines of a list and a correction belong to what they follow."""
        found: list[Intent] = []
        before, listing, gap = "", False, " " * self.language.spaced
        for said in self.language.sentences(text):
            intent, last = self.sentence(said), found[-1] if found else STATEMENT
            line, item = before.rstrip(), self.language.rewrite("item", said)
            joined = f"{line}{self.language.say('join') if listing and line[-1] not in _ENDS else gap}{item}"
            unsaid = last.name == "remember_what" or (last.act == "ask" and self.language.begins("remember", before))
            unended = last.act == "remember" and last.text in before and self.language.search("open", last.text)
            listed = (listing or line.endswith((":", "："))) and len(item) <= _LONGEST_ITEM and _is_subject(intent)
            goes_on = (unsaid or unended) and self.sentence(joined).act in _KEPT
            if found and (new := self._retimed(last, said) or self._corrected(last, said)) not in (None, _UNCHANGED):
                found[-1], before = new._replace(other=last.other, instead=last.instead), said
            elif before.endswith("\n") and (listed or goes_on):
                found[-1], before, listing = self.sentence(joined), joined, True
            elif last.act == "remember" and _is_loose(intent):
                mark = before[len(before.rstrip(_TRAILING)) :].strip()
                found[-1] = last._replace(text=f"{last.text}{mark}{gap}{said.strip(_TRAILING)}")
                before = f"{line}{gap}{said.lstrip()}"
            elif intent.name == "remember_what" and found and _is_loose(last):
                found[-1], before, listing = Intent("remember", before.strip(_TRAILING)), said, False
            elif intent.name != "remember_what" or last.act not in _KEPT:
                # "My key is in the drawer. Please remember that.": the key is remembered
                found.append(intent)
                before, listing = said, False
        return [each for intent in found for each in self.parts(intent)]

    def parts(self, intent: Intent) -> Iterator[Intent]:
        """One intent for each question of a sentence, each item of a list, and each reminder with its own time."""
        between = {"ask": "further", "tasks": "items", "remind": "reminding"}.get(intent.act, "")
        first, *more = self.language.split(between, intent.text) if between else [intent.text]
        timed = [self._timed("remind", each, each) for each in more if between == "reminding"]
        first = self._title(first) if between == "reminding" else first
        parts = [intent._replace(text=first), *(timed or (intent._replace(text=each) for each in more))]
        whole = all(each.act == intent.act and self.language.content_words(each.text) for each in parts)
        yield from (each._replace(act=each.act.replace("tasks", "task")) for each in (parts if whole else [intent]))

    def _spelt(self, text: str) -> Iterator[str]:
        """A sentence with one misspelled word of a command after the other corrected, as few as are needed."""
        language, orders = self.language, self.language.words("orders")
        known = language.stops | orders | language.words("no_slips")
        parts = re.split(r"([^\W\d_]{2,}(?:'[^\W\d_]+)?)", text) if language.spaced else []
        for place in range(1, len(parts), 2)[:_MOST_MISSPELT]:
            word = parts[place].lower()
            # Letters may be missing, extra or swapped; a replaced letter makes another word (remote, remove).
            near = sorted(it for it in orders if it[0] == word[0] and (set(it) <= set(word) or set(word) <= set(it)))
            long = len(word) > 3 or place == 1
            if word not in known and long and (right := get_close_matches(word, near, 1, 1 - 1.1 / len(word))):
                parts[place] = right[0]
                yield "".join(parts)

    def _one(self, sentence: str) -> Intent:
        for name in self.language.data["order"]["wanted"].split():
            for pattern, _ in self.language.patterns("begin", name):
                if (found := pattern.match(sentence)) and (intent := self._wanted(name, found, sentence)):
                    return intent
        return self._plain(sentence)

    def _wanted(self, name: str, found: re.Match[str], sentence: str) -> Intent | None:
        """The intent of a sentence that begins with a pattern of that name; None if it only looks like one."""
        act, _, rest = name.partition("_")
        groups = {key.rstrip("234"): said for key, said in found.groupdict().items() if said}  # when, or when2
        what = groups.get("what", "")
        match act:
            case "list" | "say" if "when" in groups:
                begin, end = (self.language.rewrite("feasts", groups.get(each, "")) for each in ("from", "when"))
                both = dates.coming_days(begin, end, self.now, self.language.code)
                text = long_date(self.language.code, *both["from" not in groups :])
                return Intent(act, text, rest, number=(both[-1] - both[0]).days + (act == "list")) if both else None
            case "say" | "talk" | "known" | "statement" | "list" | "unclear":
                days = next((int(each[4:]) for each in groups if each[:4] == "days"), 0)
                return Intent(act, sentence.strip(_ASKED) * (act == "unclear"), rest, number=days)
            case "remind" if "ahead" in groups:
                event, ahead = self._title(groups["event"]), self._time_alone(groups["ahead"])
                return Intent(act, self._title(what), when=ahead, other=event) if ahead else None
            case "remind" | "event" if "first" not in groups or self._time_alone(groups["first"]):
                return self._timed(act, " ".join(groups.values()).strip(), sentence)
            case "at":
                said = self.language.rewrite(rest, groups.get("when", "").strip(_ASKED))
                text = self.language.say(rest, text=groups.get("for", said).strip(_ASKED))
                missing, when = Intent("unclear", sentence.strip(_ASKED), "remind_when"), self._time_alone(said)
                return Intent("remind", text, f"{rest}_set", when) if when else missing
            case "remember" | "forget":
                return self._memory(act, self.language.rewrite("noted", what.strip(_ASKED)), sentence)
            case "talked" | "sum":
                return self._look_back(sentence) if act == "talked" else self._sum(sentence)
            case "cancel" | "snooze" | "done" if rest == "all":  # all of a kind
                kind = next(filter(self.language.data["lists"].__contains__, groups), "reminders")
                return Intent(name, what, kind, self._time_alone(groups.get("when", "")))
            case "move" | "snooze":
                when = self._time_alone(groups.get("when") or groups.get("by", ""))
                moved = Intent(act, self._title(what), "by" * ("by" in groups), when)
                return moved if when or act == "snooze" else None
            case "task" | "tasks" | "done" | "cancel" if (title := self._title(what)) or rest:
                ended = Intent(name, chosen[0] if len(chosen := self._chosen(title)) == 1 else title)
                return self.task(title)._replace(act=act) if act in ("task", "tasks") else ended
        return None

    def _memory(self, act: str, what: str, sentence: str) -> Intent:
        """Something to remember or forget. A question is neither ("do you remember where ...?")."""
        asks = sentence.rstrip().endswith(("?", "？")) and not self.language.search("polite", sentence)
        known = self.language.content_words(what)
        if act == "remember" and (asks or self.is_question(what) or (known and self.language.begins("bare", what))):
            return Intent("ask", sentence if asks else what)
        return Intent(act, what) if known else Intent("say", name=f"{act}_what")

    def _sum(self, sentence: str) -> Intent | None:
        asked = self.language.begins("sum_lead", sentence)
        text = self.language.rewrite("sums", sentence[asked.end() if asked else 0 :].strip(_ASKED + "=＝").casefold())
        text = unicodedata.normalize("NFKC", text)
        named = self.language.search("date", text) or (not asked and self.language.search("number", sentence))
        return Intent("sum", " ".join(text.split())) if self.language.search("sum", text) and not named else None

    def _plain(self, sentence: str) -> Intent:
        if self.is_question(sentence):
            return Intent("ask", sentence)
        said = sentence.strip(_TRAILING)
        lasting = len(sentence) <= _LONGEST_UNASKED and not self.language.search("passing", sentence)
        ordered = (self.language.rewrite("order", part) for part in clauses(said, self.language))
        if lasting and any(self.language.begins("lasting", part) for part in ordered):
            return Intent("note", said)
        if found := self.language.begins("need", sentence):
            return Intent("say", self._title(found["what"]), "offer_task")
        return _CANNOT if self.language.begins("request", sentence) else STATEMENT

    def _look_back(self, sentence: str) -> Intent | None:
        """What was said on some days, possibly about a topic; None if the day is not understood."""
        today, language = self.now.date(), self.language
        days, rest = dates.past_days(sentence, self.now, language.code)
        topic = " ".join(word for word in language.content_words(rest) if word not in language.words("filler"))
        if not days and topic:
            return None
        first, last = days or [today - timedelta(days=6), today]
        return Intent("look_back", topic, "me" * bool(language.search("i_said", sentence)), str(first), str(last))

    def task(self, what: str) -> Intent:
        """A task, with its due date if one is given ("by friday")."""
        due = self.language.search("due", what)
        left, when = dates.without_due(what, due, self.now, self.language.code) if due else (what, "")
        title = left.strip(f"{_ASKED},:、")
        return Intent("task", title, when=when) if title and when else Intent("task", what)

    def _timed(self, act: str, said: str, sentence: str) -> Intent:
        """An intent with a time; a missing time or subject is asked for."""
        said, ends = dates.without_end(said) if act == "event" else (said, "")
        try:
            found = dates.find_when(said, self.now, str(self.now.tzinfo), self.language.code)
        except StoreError:  # a day that does not exist: the tool says so
            return Intent(act, said, when=said, other=ends)
        if found is None:
            return Intent("unclear", sentence.strip(_ASKED), f"{act}_when")
        timed = Intent(act, self._title(found.rest, "agenda_lead"), when=found.said, other=ends)
        return timed if timed.text else timed._replace(act="unclear", name=f"{act}_what")

    def _title(self, what: str, lead: str = "") -> str:
        """What something is called; of a reminder or an event without its lead ("to call mom")."""
        return self.language.rewrite("title", self.language.rewrite(lead, what).strip(_ASKED + ":"))

    def _picked(self, earlier: Intent, text: str, before: Iterable[Sequence[Intent]]) -> tuple[Intent, ...]:
        """What is meant of several things, which were listed because it was unclear, and nothing else since."""
        chosen = self._chosen(text)
        match earlier:
            case Intent("say", name="which"):
                undone = next(filter(None, map(_undoing, before)), ())
                return tuple(each for each in undone if each.text in (chosen or [self.sentence(text).text]))
            case Intent("cancel" | "done" | "move") if chosen:
                return tuple(earlier._replace(text=each) for each in chosen)
            case Intent("cancel" | "done") if self.listed and self._time_alone(text):
                return (earlier._replace(text=f"{earlier.text} {text}"),)
        return ()

    def _chosen(self, said: str) -> Sequence[str]:
        """Those that are meant of what the last answer listed, by their place in it."""
        found = self.language.begins("chosen", said)
        return self.listed[_CHOSEN[found.lastgroup or ""]] if found else ()

    def _time_alone(self, said: str) -> str:
        """The time phrase, if the text contains nothing else."""
        return dates.alone(said.strip(_ASKED), self.now, self.language.code)


def _undoing(kept: Iterable[Intent]) -> tuple[Intent, ...]:
    """What takes back all that was kept."""
    undone = (each for each in kept if each.act in ("remind", "task", "event", *_KEPT))
    return tuple(Intent("forget" if each.act in _KEPT else "cancel", each.text, "undo") for each in undone)


def _is_meant(spelt: Intent, said: Intent) -> bool:
    """Whether a sentence is rather meant with its spelling corrected: as an order, not as another remark."""
    orders = spelt.act in (*_WEAK, "list", "known") if said.act == "ask" else spelt.act not in (*_UNASKED, said.act)
    return (orders and spelt != STATEMENT) or spelt.name in ("undo", "clock_time")


def _is_loose(intent: Intent) -> bool:
    """Whether it is a fragment that may belong to the previous sentence."""
    return intent == STATEMENT or intent.name == "offer_task"


def _is_subject(intent: Intent) -> bool:
    """Whether it can be the subject of a reminder or a list item, because it is no other intent."""
    return _is_loose(intent) or intent == _CANNOT or intent.act == "done_perhaps"
