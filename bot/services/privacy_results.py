"""What is kept about a person, and what came of an erasure, as results."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import Field

from bot.services.results import Ink, Result
from bot.services.tables import rows_text
from memory.people.privacy import Choice, Erasure
from memory.store.clock import from_text
from memory.store.plurals import many


class Kept(NamedTuple):
    """What a store holds, for who asks: a word for one of its rows, for several, and what these are."""

    one: str
    more: str
    what: str

    def counted(self, count: int) -> str:
        """ "1 message", "2 messages"."""
        return many(count, self.one, self.more)


WORDS = {
    store: Kept(*words)
    for store, words in {
        "messages": ("message", "messages", "what you said, what was said to you alone, your direct messages"),
        "follow_ups": ("change to follow", "changes to follow", "edits and deletions of yours whose traces still go"),
        "gaps": ("unread time", "unread times", "when your direct messages could not be read"),
        "inbox": ("arrival", "arrivals", "notes of what arrived from you, without the words"),
        "outbox": ("delivery", "deliveries", "what was sent to you"),
        "turns": ("step", "steps", "of the work on your messages"),
        "groups": ("part of group work", "parts of group work", "what agents of a group did for you together"),
        "budgets": ("budget", "budgets", "what may be spent on language models for you"),
        "folders": ("file", "files", "in folders, with words of yours"),
        "usage": ("model call", "model calls", "made for you (numbers)"),
        "grants": ("permission", "permissions", "those of yours, and lines about you in their record"),
        "requests": ("request", "requests", "for a yes, and your answers"),
        "archival": ("archival entry", "archival entries", "things to remember"),
        "dreams": ("dream note", "dream notes", "how things to remember about you were tidied"),
        "graph": ("link", "links", "who and what these speak of, and how that belongs together"),
        "knowledge": (
            "learned thing",
            "learned things",
            "your corrections and thumbs, what you taught about projects, talks with you alone in short and how they "
            "went, work on your messages that was cut off, and what agents keep for some minutes or note for others",
        ),
        "blocks": ("part of memory blocks", "parts of memory blocks", "notes about you, with their history"),
        "labels": ("label", "labels", "that you ask not to be shown to everybody"),
        "steering": ("decision", "decisions", "what you decided about channels and sources"),
        "reminders": ("reminder", "reminders", "things to remind you of"),
        "tasks": ("task", "tasks", "what you have to do"),
        "events": ("event", "events", "dates of yours"),
        "times": ("clock setting", "clock settings", "your time zone and quiet hours"),
        "states": ("state", "states", "words on how you are"),
        "jobs": ("job", "jobs", "for something to be said to you, or made of what an agent saved of you"),
        "activity": ("activity note", "activity notes", "what agents did in talks with you"),
        "facts": ("fact", "facts", "what agents learned from you, and talks with you alone in short"),
        "coordination": ("task of agents", "tasks of agents", "from talks with you"),
        "admission": ("admission", "admissions", "your being let in, and your asking for it"),
        "identities": ("account or place", "accounts and places", "by which you are known"),
    }.items()
}
"""What each store holds, for who asks."""

_OTHERS = tuple(
    (re.compile(pattern), other)
    for pattern, other in (
        (r"\b(to|from|about|for|of|with|remind) you\b", r"\1 them"),
        (r"\byours\b", "theirs"),
        (r"\byour\b", "their"),
        (r"\byou\b", "they"),
    )
)


@dataclass(frozen=True)
class FileCounts:
    """What an erasure found in one file, and what was left there."""

    name: str
    file: str
    before: dict[str, int]
    after: dict[str, int]
    answers: int = 0
    """Messages of agents that were emptied."""

    def line(self) -> str:
        gone = ", ".join(_counted(self.before)) or "nothing"
        emptied = f"; {many(self.answers, 'message')} of agents emptied" if self.answers else ""
        return f"- {self.name}: {gone}{emptied}; {_left(self.after)}"

    def __bool__(self) -> bool:
        return bool(_counted(self.before) or _counted(self.after) or self.answers)


@dataclass(frozen=True)
class FoundWords:
    """A file in which words of an erased person stand still."""

    file: str
    copy: bool
    changed_at: str
    samples: int
    tables: dict[str, int] = field(default_factory=dict)

    def line(self, ink: Ink) -> str:
        tables = "".join(f", {many(count, 'row')} of {table}" for table, count in self.tables.items())
        kind = "a copy" if self.copy else "in use"
        day = ink.time(from_text(self.changed_at))
        return f"- found in {ink.text(self.file)} ({kind}, {day}): {many(self.samples, 'word')}{tables}"


@dataclass(frozen=True)
class OldCopy:
    """A copy of a database from before an erasure."""

    file: str
    at: str

    def line(self, ink: Ink) -> str:
        day = ink.time(from_text(self.at))
        return f"- {ink.text(self.file)} ({day}) is a copy from before; whoever runs this service can delete it."


class Receipt(Result):
    """What came of an erasure; `others` are those of the person's other accounts."""

    id: str
    person: str
    asked_by: str
    begun_at: str
    done_at: str
    stores: tuple[FileCounts, ...] = ()
    words: int = 0
    files: int = 0
    bytes: int = 0
    left: tuple[FoundWords, ...] = ()
    copies: tuple[OldCopy, ...] = ()
    others: tuple["Receipt", ...] = ()
    yours: bool = Field(default=True, exclude=True)

    @classmethod
    def of(cls, erasure: Erasure, **more: Any) -> "Receipt":
        keys = ("person", "asked_by", "begun_at", "done_at")
        known = {key: value for key, value in erasure.receipt.items() if key in cls.model_fields}
        return cls(id=str(erasure.id), **{key: getattr(erasure, key) for key in keys}, **known, **more)

    def lines(self, ink: Ink) -> list[str]:
        if not self.others:
            return self.own_lines(ink)
        return [line for each in (self, *self.others) for line in (f"{ink.person(each.person)}:", *each.own_lines(ink))]

    def own_lines(self, ink: Ink) -> list[str]:
        """Of this account."""
        return [
            f"Erased on {ink.time(from_text(self.done_at))}.{ink.number(self.id)}",
            *(each.line() for each in self.stores if each),
            self._searched(),
            *(each.line(ink) for each in self.left),
            *(each.line(ink) for each in self.copies),
        ]

    def _searched(self) -> str:
        whose = "your" if self.yours else "their"
        if not self.words:
            return f"There were no words of {whose} own to look for afterwards in the files."
        words = f"One of {whose} words was" if self.words == 1 else f"{self.words} of {whose} words were"
        where = f"in {len(self.left)}" if self.left else "in none"
        return f"{words} looked for in {many(self.files, 'file')} and found {where} of them."


class Seen(Result):
    """How much is kept about a person: counts by constellation and store, their choice, their erasures."""

    person: str
    persons: tuple[str, ...]
    choice: str
    since: str
    identities: int
    erasures: tuple[Receipt, ...]
    stores: dict[str, dict[str, int]]
    yours: bool = Field(default=True, exclude=True)

    @property
    def known(self) -> bool:
        """Whether there is anything at all: something kept, a choice, an erasure."""
        kept = any(count for counts in self.stores.values() for count in counts.values())
        return bool(kept or self.identities or self.choice or self.erasures)

    def held(self, ink: Ink) -> list[str]:
        """What is kept."""
        who, totals = self._who(ink), dict.fromkeys(WORDS, 0)
        for counts in self.stores.values():
            for store, count in counts.items():
                totals[store] = totals.get(store, 0) + count
        totals["identities"] = self.identities
        held = [self._held(store, count) for store, count in totals.items() if count]
        return [f"What is kept about {who}:", *held] if held else [f"Nothing about {who} is kept."]

    def lines(self, ink: Ink) -> list[str]:
        lines, who = self.held(ink), self._who(ink)
        if len(self.persons) > 1:
            lines.append(f"That is about all of these accounts: {', '.join(map(ink.person, self.persons))}.")
        if self.choice:
            chosen = "paused" if self.choice == Choice.PAUSED else "opted out"
            has, since = "have" if self.yours else "has", ink.time(from_text(self.since))
            lines.append(f"Since {since} {who} {has} {chosen}: nothing new is kept.")
        done = [each.done_at for each in self.erasures]
        lines += [f"Erased on {ink.time(from_text(each))}." for each in done if each]
        return lines + ["An erasure is under way." for each in done if not each]

    def _who(self, ink: Ink) -> str:
        return "you" if self.yours else ink.person(self.person)

    def _held(self, store: str, count: int) -> str:
        what = WORDS[store].what
        return f"- {WORDS[store].counted(count)}: {what if self.yours else _of_them(what)}"


class Export(Result):
    """Everything that is kept about a person, as plain data."""

    everything: dict[str, Any]

    def data(self) -> Any:
        return self.everything

    @property
    def document(self) -> str:
        return json.dumps(self.everything, ensure_ascii=False, indent=1)

    def lines(self, ink: Ink) -> list[str]:
        del ink
        return ["Everything that is kept about you:"]

    def terminal(self, ink: Ink, width: int | None) -> str:
        del ink
        rows = [
            {"constellation": name, "store": store, "row": json.dumps(row, ensure_ascii=False)}
            for name, stores in self.everything["constellations"].items()
            for store, held in stores.items()
            for row in held
        ]
        return rows_text(rows, empty=f"Nothing about {self.everything['person']} is kept.", width=width)


def _of_them(words: str) -> str:
    """What was written for the person themselves, said of them to somebody else."""
    for pattern, other in _OTHERS:
        words = pattern.sub(other, words)
    return words


def _counted(stores: Mapping[str, int]) -> list[str]:
    """How many of what; a receipt may be older than a store's name."""
    return [
        WORDS[store].counted(count) if store in WORDS else f"{count} {store}"
        for store, count in stores.items()
        if count
    ]


def _left(stores: Mapping[str, int]) -> str:
    if not (left := _counted(stores)):
        return "left: none"
    bare = {store: count for store, count in stores.items() if count} == {"identities": 1}
    why = " (a bare id: it owns a constellation, or other accounts are linked to it)"
    return f"LEFT: {', '.join(left)}{why if bare else ''}"
