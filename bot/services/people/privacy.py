"""Data stored about people, and what they, and the owner for anybody, can do with it: see, export, pause, erase."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action, People
from bot.errors import UserError
from bot.services.caller import IGNORED, TERMINAL_ONLY, Caller
from bot.services.people.opted_out_people import Choices
from bot.services.people.person_erasure import Eraser
from bot.services.people.personal_copy import packed
from bot.services.registry import CHANGES, Options, Output, Param, operation
from bot.services.results import Markup, Plain, Result, WrittenFile
from memory.erasure import personal_tables
from memory.people import person_settings
from memory.people.privacy_choices import PrivacyChoice
from memory.store import erasure_records
from memory.store.clock import Clock, from_text, to_text
from memory.store.constellations import Constellations
from memory.store.data_folder import BACKUPS, DELETED
from memory.store.database import Rows
from memory.store.erasure_records import Erasure
from memory.store.ids import PersonId
from memory.store.logs import Log
from sources.bluesky.identifiers import DID
from texts import _, gettext_noop, source

_SURE = gettext_noop(
    "Erase all of this, here and everywhere else? This cannot be undone. What you say later "
    "is kept again unless you pause or opt out."
)
_NOTHING_KEPT = gettext_noop(
    "Record an erasure anyway? An older backup may still hold something; the erasure is repeated if one is restored."
)
_SEES = Options(default=True)
_EXPORTS = Options(changes=True, seconds=300.0, suffix="zip")
"""Logged, because the owner can export others' direct messages: never through a link or with a read-only token."""
_ERASES = Options(changes=True, asks=True, seconds=None)
_log = Log("bot.services.people.privacy")
_Person = Annotated[
    str,
    Field(min_length=1),  # an empty variable in a script must not mean oneself
    Param(
        "Person, such as discord:1234 or @ana.bsky.social (default: you)",
        metavar="PERSON",
        positional=True,
        via=TERMINAL_ONLY,
        needs=Action.PRIVACY_OF_OTHERS,
    ),
]
_PERSON = re.compile(rf"bluesky:{DID}|(?:discord|terminal|api):\S+")

WORDS = {
    "messages": (gettext_noop("messages"), gettext_noop("including direct messages and private answers")),
    "follow_ups": (
        gettext_noop("pending removals"),
        gettext_noop("traces of edits and deletions that are still being removed"),
    ),
    "gaps": (gettext_noop("unread periods"), gettext_noop("when direct messages could not be read")),
    "inbox": (gettext_noop("received messages"), gettext_noop("that they arrived, without their words")),
    "outbox": (gettext_noop("sent messages"), gettext_noop("what was said to you")),
    "turns": (gettext_noop("work on answers"), gettext_noop("what agents did to answer messages")),
    "groups": (gettext_noop("parts of group work"), gettext_noop("what agents in a group did together")),
    "budgets": (gettext_noop("budgets"), gettext_noop("limits on spending for language models")),
    "folders": (gettext_noop("files"), gettext_noop("in folders, with words from conversations")),
    "files": (gettext_noop("files"), gettext_noop("sent with messages in the dashboard")),
    "usage": (gettext_noop("model calls"), gettext_noop("numbers only")),
    "grants": (gettext_noop("permissions"), gettext_noop("including lines in the audit log")),
    "requests": (gettext_noop("requests"), gettext_noop("for approval, with the answers")),
    "archival": (gettext_noop("stored entries"), gettext_noop("things to remember")),
    "dreams": (gettext_noop("cleanup notes"), gettext_noop("how entries were cleaned up")),
    "graph": (gettext_noop("relations"), gettext_noop("people and things in entries, and how they are related")),
    "knowledge": (
        gettext_noop("things learned"),
        gettext_noop(
            "corrections, reactions, project lessons, summaries of private conversations, "
            "interrupted work and agents' short-lived notes"
        ),
    ),
    "blocks": (gettext_noop("parts of memory blocks"), gettext_noop("notes, with their history")),
    "labels": (gettext_noop("labels"), gettext_noop("on accounts that ask not to be shown to everyone")),
    "steering": (gettext_noop("decisions"), gettext_noop("about channels and sources")),
    "reminders": (gettext_noop("reminders"), gettext_noop("open and done")),
    "tasks": (gettext_noop("tasks"), gettext_noop("things to do, including agents' tasks")),
    "events": (gettext_noop("events"), gettext_noop("in the calendar")),
    "times": (gettext_noop("clock settings"), gettext_noop("time zone and quiet hours")),
    "states": (gettext_noop("states"), gettext_noop("a few words on how somebody is doing")),
    "jobs": (gettext_noop("jobs"), gettext_noop("scheduled messages and work")),
    "activity": (gettext_noop("activity notes"), gettext_noop("what agents did in conversations")),
    "facts": (gettext_noop("facts"), gettext_noop("what agents learned")),
    "admission": (gettext_noop("access"), gettext_noop("pairing requests and approvals")),
    "identities": (gettext_noop("account records"), gettext_noop("user IDs, links and sign-ins")),
}
"""The content of each store, as described to the caller."""


@dataclass(frozen=True)
class FileCounts:
    name: str
    file: str
    before: dict[str, int]
    after: dict[str, int]
    answers: int = 0
    """Messages of agents that were emptied."""


@dataclass(frozen=True)
class FoundWords:
    """A file that still contains words of an erased person."""

    file: str
    copy: bool
    changed_at: str
    samples: int


@dataclass(frozen=True)
class OldCopy:
    file: str
    at: str


class Receipt(Result):
    """The outcome of an erasure; `others` are those of the person's other accounts."""

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
    replica: bool = False
    """Whether Litestream makes a copy."""
    others: tuple["Receipt", ...] = ()

    @classmethod
    def of(cls, erasure: Erasure) -> "Receipt":
        keys = ("person", "asked_by", "begun_at", "done_at")
        known = {key: value for key, value in erasure.receipt.items() if key in cls.model_fields}
        return cls(id=str(erasure.id), **{key: getattr(erasure, key) for key in keys}, **known)

    def lines(self, markup: Markup) -> list[str]:
        if not self.others:
            return self.own_lines(markup)
        return [
            line
            for each in (self, *self.others)
            for line in (f"{markup.person(each.person)}:", *each.own_lines(markup))
        ]

    def own_lines(self, markup: Markup) -> list[str]:
        """The lines for this account."""
        return [
            _("Erased on {from_text}.{id}", from_text=markup.time(from_text(self.done_at)), id=markup.number(self.id)),
            *self._counts(),
            *self._files(markup),
            *([_("- It will be gone from the continuous backup within a day.")] if self.replica else []),
        ]

    def _counts(self) -> list[str]:
        """What was deleted and what remains."""
        gone, kept = (sum_counts(getattr(each, when) for each in self.stores) for when in ("before", "after"))
        less = ((store, count - kept.get(store, 0)) for store, count in gone.items())
        deleted = [_held(store, count) for store, count in less if count > 0]
        if answers := sum(each.answers for each in self.stores):
            deleted.append(_("- answers: {count} (emptied, because they may repeat something)", count=answers))
        lines = [_("This was deleted:"), *deleted] if deleted else [_("There was nothing to delete.")]
        bare = _(_BARE) if kept == {"identities": 1} else ""
        remains = [f"- {_(WORDS.get(store, (store,))[0])}: {count}{bare}" for store, count in kept.items()]
        if not kept and all(each.copy for each in self.left):
            return [*lines, _("None of it is left in memory.")]
        return [*lines, _("This remains:"), *remains]

    def _files(self, markup: Markup) -> list[str]:
        """Files with words, then older copies; one line for each backup."""
        told = dict[str, tuple[str, str]]()
        for each in self.left:
            internal = source() != "terminal" and not each.copy  # its name has a raw ID
            file = _("One of my files") if internal else _backup(each.file)
            told.setdefault(file, (_COPY_LEFT if each.copy else _LEFT, each.changed_at))
        for copy in self.copies:
            told.setdefault(_backup(copy.file), (_OLDER, copy.at))
        searched = [_(_NONE_LEFT)] if self.words and not self.left else []
        return searched + [
            _(text, file=markup.text(file), day=markup.time(from_text(at))) for file, (text, at) in told.items()
        ]


class PersonCounts(Result):
    """The amount of data stored about a person: counts by constellation and store, their choice, their erasures."""

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
        """Whether there is anything: data, a choice, or an erasure."""
        kept = any(count for counts in self.stores.values() for count in counts.values())
        return bool(kept or self.identities or self.choice or self.erasures)

    def held(self, markup: Markup) -> list[str]:
        who, totals = self._who(markup), sum_counts([*self.stores.values(), {"identities": self.identities}])
        held = [_held(store, count) for store, count in totals.items()]
        return (
            [_("What is kept about {who}:", who=who), *held] if held else [_("Nothing about {who} is kept.", who=who)]
        )

    def lines(self, markup: Markup) -> list[str]:
        lines = self.held(markup)
        if len(self.persons) > 1:
            lines.append(
                _("This covers all of these accounts: {map}.", map=", ".join(map(markup.person, self.persons)))
            )
        return lines + self.decided(markup)

    def decided(self, markup: Markup) -> list[str]:
        """Their choice, and their erasures."""
        lines = []
        if self.choice:
            since = markup.time(from_text(self.since))
            lines.append(
                _("Paused since {since}: nothing new is kept.", since=since)
                if self.choice == PrivacyChoice.PAUSED
                else _("Opted out since {since}: nothing new is kept.", since=since)
            )
        done = [each.done_at for each in self.erasures]
        lines += [_("Erased on {from_text}.", from_text=markup.time(from_text(each))) for each in done if each]
        return lines + [_("An erasure is in progress.") for each in done if not each]

    def _who(self, markup: Markup) -> str:
        return _("you") if self.yours else markup.person(self.person)


class Export(WrittenFile):
    everything: dict[str, Any]
    zone: str = Field(exclude=True)

    def data(self) -> dict[str, Any]:
        return {"file": self.file} if self.file else self.everything

    @property
    def document(self) -> str:
        return json.dumps(self.everything, ensure_ascii=False, indent=1)

    def attachment(self, clean: Callable[[str], str]) -> bytes:
        titles = {store: _(what) for store, (what, _more) in WORDS.items()}
        return packed(self.everything, titles, self.zone, clean)

    def lines(self, _markup: Markup) -> list[str]:
        return [_("Everything kept about you:")]

    def terminal(self, markup: Markup) -> str:
        text = gettext_noop(
            "Written to {file}, which only you can read: messages, what agents learned, settings, choices and "
            "accounts, as text and as JSON."
        )
        return self.told(markup, text) if self.file else self.document


def _backup(file: str) -> str:
    """The backup that a file belongs to; a copy next to the databases counts as a backup of its own."""
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] in (BACKUPS, DELETED) else file


def sum_counts(found: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The total of each kind, in the order of `WORDS`, without zeros."""
    totals = dict.fromkeys(WORDS, 0)
    for store, count in (each for counts in found for each in counts.items()):
        totals[store] = totals.get(store, 0) + count
    return {store: count for store, count in totals.items() if count}


def _held(store: str, count: int) -> str:
    """A line of a list; a receipt may be older than a store's name."""
    what, more = WORDS.get(store, (store, ""))
    return f"- {_(what)}: {count}" + (f" ({_(more)})" if more else "")


_BARE = gettext_noop(" (only the ID: it owns a constellation, or other accounts are linked to it)")
_LEFT = gettext_noop(
    "- {file} ({day}) still has some of the words, perhaps because others said them or "
    "an agent wrote them; the person who runs me can look there."
)
_COPY_LEFT = gettext_noop(
    "- {file} ({day}) is a copy that still has some of the words; the person who runs me can delete it."
)
_OLDER = gettext_noop("- {file} ({day}) is an older copy; the person who runs me can delete it.")
_NONE_LEFT = gettext_noop("I searched my files for the deleted words and found none.")


class Privacy(Struct, frozen=True):
    """The privacy operations: for everybody their own data, for the owner anybody's."""

    titles: ClassVar = {"privacy": "Show, export or erase what is kept about you, or pause data collection"}

    constellations: Constellations
    people: People
    choices: Choices
    eraser: Eraser
    clock: Clock
    looked_up: Callable[[str], Awaitable[str]]
    """Replaces a handle by its lasting ID. Raises UserError."""
    zone: str
    """The zone of people who have not set one."""

    @operation("privacy.see", "Show what is kept about you", Action.PRIVACY, _SEES)
    async def see(self, caller: Caller, person: _Person = "") -> PersonCounts:
        """Show the data about a person. Raises UserError if nothing is known of a named person, so that typos show."""
        seen = await self._seen(await self._meant(caller, person), yours=not person)
        if person and not seen.known:
            raise UserError("Nothing has ever been kept about {person}. Is the ID correct?", person=person)
        return seen

    @operation("privacy.export", "Export everything kept about you", Action.PRIVACY, _EXPORTS)
    async def export(self, caller: Caller, person: _Person = "", output: Output = None) -> Export:
        whose = await self._meant(caller, person)

        def read(rows: Rows) -> dict[str, Any]:
            selves = self.people.selves(whose)
            return {
                store.name: [row for each in selves for row in store.export(rows, each)]
                for store in personal_tables.STORES
            }

        found = await self.constellations.read_each(read)
        zones = await self.constellations.read_each(
            lambda rows: person_settings.zone_for(rows, self.people.selves(whose), "")
        )
        zone = next(filter(None, zones.values()), self.zone)
        _log.info("person_exported", person=whose, by=caller.person, interface=caller.approver.interface)
        about = {"person": whose, "exported_at": to_text(self.clock()), **await self._global(whose)}
        about["erasures"] = [each.data() for each in about["erasures"]]
        everything = {**about, "constellations": found, "accounts": await self._identities(whose)}
        return await asyncio.to_thread(Export(everything=everything, zone=zone).written, output)

    @operation("privacy.pause", "Pause: do not keep or answer what you say until you resume", Action.PRIVACY, CHANGES)
    async def pause(self, caller: Caller, person: _Person = "") -> str:
        text = _("Paused: from now on, nothing {who} is kept or answered. `carina privacy resume{of}` ends that.")
        return await self._choose(caller, person, PrivacyChoice.PAUSED, text)

    @operation("privacy.optout", "Opt out: never keep or answer what you say", Action.PRIVACY, CHANGES)
    async def opt_out(self, caller: Caller, person: _Person = "") -> str:
        text = _(
            "Opted out: from now on, nothing {who} is kept or answered anywhere. `carina privacy resume{of}` ends "
            "that. What was kept before stays until it is erased with `carina privacy erase{of}`."
        )
        return await self._choose(caller, person, PrivacyChoice.OPTED_OUT, text)

    @operation("privacy.resume", "Resume keeping and answering what you say", Action.PRIVACY, CHANGES)
    async def resume(self, caller: Caller, person: _Person = "") -> str:
        held = self.choices.of(await self._meant(caller, person)) is not None
        text = (
            _("Resumed: what {who} is kept and answered again.")
            if held
            else _("Nothing was paused: what {who} is kept and answered.")
        )
        return await self._choose(caller, person, None, text)

    @operation("privacy.erase", "Erase everything kept about you", Action.PRIVACY, _ERASES)
    async def erase(self, caller: Caller, person: _Person = "") -> Receipt:
        whose = await self._meant(caller, person)
        if not caller.sure:
            seen = await self.see(caller, person)
            head, *held = seen.held(Plain("UTC", self.clock()))
            caller.confirm("\n".join([head, *held, _(_SURE if held else _NOTHING_KEPT)]))
        done = await self.eraser.erase_all(self.people.selves(whose), caller.person)
        first, *others = map(Receipt.of, done)
        return first.model_copy(update={"others": tuple(others)})

    def words_ignored(self, person: PersonId) -> str:
        """The notice for a person who writes while opted out; empty for all others."""
        if not self.choices.ignored(person):
            return ""
        return _(IGNORED)

    async def _meant(self, caller: Caller, person: str) -> PersonId:
        return named(await self.looked_up(person)) if person else caller.person

    async def _choose(self, caller: Caller, person: str, choice: PrivacyChoice | None, text: str) -> str:
        whose = await self._meant(caller, person)
        await self.choices.choose(whose, choice)
        by = caller.approver
        _log.info("privacy_chosen", person=whose, choice=choice or "resumed", by=by.person, interface=by.interface)
        of = f" {person}" if person else ""
        return text.format(who=_("{person} says", person=person) if of else _("you say"), of=of)

    async def _seen(self, person: PersonId, *, yours: bool) -> PersonCounts:
        def read(rows: Rows) -> dict[str, int]:
            found = [personal_tables.count_all(rows, each) for each in self.people.selves(person)]
            return {store: sum(counts[store] for counts in found) for store in found[0]}

        counts = await self.constellations.read_each(read)
        return PersonCounts(person=person, stores=counts, yours=yours, **await self._global(person))

    async def _global(self, person: PersonId) -> dict[str, Any]:
        registry, selves = self.constellations.registry, self.people.selves(person)
        erasures = await registry.read(
            lambda rows: [found for each in selves for found in erasure_records.erasures_of(rows, each)]
        )
        chosen = self.choices.of(person)
        return {
            "persons": list(selves),
            "choice": chosen[0].value if chosen else "",
            "since": chosen[1] if chosen else "",
            "identities": len(await self._identities(person)),
            "erasures": [Receipt.of(each) for each in erasures],
        }

    async def _identities(self, person: PersonId) -> list[dict[str, Any]]:
        selves = self.people.selves(person)

        def read(rows: Rows) -> list[dict[str, Any]]:
            found = [
                row for each in selves for store in personal_tables.GLOBAL_STORES for row in store.export(rows, each)
            ]
            return [row for n, row in enumerate(found) if row not in found[:n]]  # a row can be about two of them

        return await self.constellations.registry.read(read)


def named(person: str) -> PersonId:
    """Parse a person's id on the command line. Raises UserError."""
    if not _PERSON.fullmatch(person):
        raise UserError(
            "“{person}” is not a person. Examples: discord:1234, @ana.bsky.social, bluesky:did:plc:… or terminal:owner",
            person=person,
        )
    return PersonId(person)
