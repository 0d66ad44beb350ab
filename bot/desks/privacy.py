"""What every chatter may have done with what is kept about them: seen, exported, paused, erased.

Each for themselves; the owner for anybody. `Choices` says whose words are withheld: nothing they say is stored or
answered until they resume, in any constellation.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import structlog

from bot import policy
from bot.desks.erasing import Eraser
from bot.errors import UserError
from bot.policy import Action, Approver, People
from memory.amounts import many
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.faults import commit_point
from memory.ids import PersonId
from memory.people import persons, privacy
from memory.people.privacy import Choice, Erasure
from sources.terminal import PERSON

_CHOOSE = commit_point("privacy.choose")

_OWNER = Approver(PERSON, door="command line")
_log = structlog.get_logger("bot.desks.privacy")


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
        "feedback": ("judgement", "judgements", "what you said of answers: corrections, thumbs up and down"),
        "evaluations": (
            "evaluation",
            "evaluations",
            "how talks with you alone went, in a word, and which tools failed",
        ),
        "blocks": ("part of memory blocks", "parts of memory blocks", "notes about you, with their history"),
        "steering": ("decision", "decisions", "what you decided about channels and sources"),
        "reminders": ("reminder", "reminders", "things to remind you of"),
        "tasks": ("task", "tasks", "what you have to do"),
        "events": ("event", "events", "dates of yours"),
        "times": ("clock setting", "clock settings", "your time zone and quiet hours"),
        "states": ("state", "states", "words on how you are"),
        "working": ("working note", "working notes", "what agents keep for some minutes from talks with you"),
        "jobs": ("job", "jobs", "for something to be said to you, or made of what an agent saved of you"),
        "activity": ("activity note", "activity notes", "what agents did in talks with you"),
        "facts": ("fact", "facts", "what agents learned from you, and talks with you alone in short"),
        "projects": ("project note", "project notes", "what you taught agents about projects"),
        "work": ("interrupted task", "interrupted tasks", "work on your messages that was cut off"),
        "coordination": ("task or note of agents", "tasks and notes of agents", "from talks with you"),
        "summaries": ("summary", "summaries", "of talks with you alone"),
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


class Choices:
    """What people chose, in memory as in global.db."""

    def __init__(self, constellations: Constellations, clock: Clock) -> None:
        self._registry = constellations.registry
        self._clock = clock
        self._held: dict[PersonId, tuple[Choice, str]] = {}
        self.selves: Callable[[PersonId], tuple[PersonId, ...]] = lambda person: (person,)
        """Every account of a person: what they chose under one of them holds for all."""

    async def load(self) -> None:
        """Read what was chosen before; to be done before anything is heard."""
        self._held = await self._registry.read(privacy.choices)

    def withheld(self, person: PersonId | None) -> bool:
        """Whether nothing that this person says is stored or answered."""
        return person is not None and bool(self._held) and self.of(person) is not None

    def of(self, person: PersonId) -> tuple[Choice, str] | None:
        """A person's choice, and since when; None when they made none. An opt-out comes before a pause."""
        found = [self._held[each] for each in self.selves(person) if each in self._held]
        return next((each for each in found if each[0] is Choice.OPTED_OUT), found[0] if found else None)

    async def choose(self, person: PersonId, choice: Choice | None) -> None:
        """Make a choice for all accounts of a person, durably; None ends it. It stays with each that is unlinked."""
        now, people = self._clock(), self.selves(person)

        def work(tx: Tx) -> None:
            for each in people:
                privacy.choose(tx, each, choice, now)

        await self._registry.write(_CHOOSE, work, durable=True)
        for each in people:
            if choice is None:
                self._held.pop(each, None)
            else:
                self._held[each] = (choice, to_text(now))


@dataclass(frozen=True)
class Privacy:
    """The front door: every command calls these, whoever gives it and where. All raise UserError who may not."""

    constellations: Constellations
    people: People
    choices: Choices
    eraser: Eraser
    clock: Clock

    async def see(self, person: PersonId, who: Approver) -> dict[str, Any]:
        """How much is held about a person: counts by constellation and store, their choice, their erasures."""
        self._check(person, who)

        def read(rows: Rows) -> dict[str, int]:
            found = [persons.count_all(rows, each) for each in self.people.selves(person)]
            return {store: sum(counts[store] for counts in found) for store in found[0]}

        counts = {}
        for house in self.constellations.all():
            async with self.constellations.use(house.id) as database:
                counts[house.name] = await database.read(read)
        return {"person": person, **await self._global(person), "stores": counts}

    async def export(self, person: PersonId, who: Approver) -> dict[str, Any]:
        """Everything that is held about a person, as plain data: every store of every constellation."""
        self._check(person, who)

        def read(rows: Rows) -> dict[str, Any]:
            selves = self.people.selves(person)
            return {
                store.name: [row for each in selves for row in store.export(rows, each)] for store in persons.STORES
            }

        found = {}
        for house in self.constellations.all():
            async with self.constellations.use(house.id) as database:
                found[house.name] = await database.read(read)
        _log.info("exported", person=person, by=who.person, door=who.door)
        about = {"person": person, "exported_at": to_text(self.clock()), **await self._global(person)}
        return {**about, "constellations": found, "accounts": await self._identities(person)}

    async def choose(self, person: PersonId, who: Approver, choice: Choice | None) -> str:
        """Pause, opt out, or resume (None); gives words for who asked."""
        self._check(person, who)
        before = self.choices.of(person)
        await self.choices.choose(person, choice)
        _log.info("privacy_chosen", person=person, choice=choice or "resumed", by=who.person, door=who.door)
        return _chosen(choice, resumed=before is not None)

    async def erase(self, person: PersonId, who: Approver) -> dict[str, Any]:
        """Erase everything that is held about a person; gives the receipt as plain data.

        Each of several accounts has a receipt of its own; those of the others stand under "others".
        """
        self._check(person, who)
        first, *others = await self.eraser.erase_all(self.people.selves(person), who.person)
        more = {"others": [erasure_data(each) for each in others]} if others else {}
        return {**erasure_data(first), **more}

    def words_withheld(self, person: PersonId) -> str:
        """What is told to somebody who talks while nothing of theirs is heard; empty when it is heard."""
        if not self.choices.withheld(person):
            return ""
        return "You chose that nothing you say is kept or answered. `carina privacy resume terminal:owner` ends that."

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "privacy.see": self.owner_see,
            "privacy.export": self.owner_export,
            "privacy.choose": self.owner_choose,
            "privacy.erase": self.owner_erase,
        }

    async def owner_see(self, person: str) -> dict[str, Any]:
        """Counts for anybody."""
        return await self.see(named(person), _OWNER)

    async def owner_export(self, person: str) -> dict[str, Any]:
        """Everything about anybody."""
        return await self.export(named(person), _OWNER)

    async def owner_choose(self, person: str, choice: str = "") -> dict[str, Any]:
        """Choose for anybody; an empty choice resumes."""
        if choice and choice not in list(Choice):
            raise UserError(f"there is no choice {choice!r}: {', '.join(Choice)}, or nothing to resume")
        words = await self.choose(named(person), _OWNER, Choice(choice) if choice else None)
        return {"person": person, "choice": choice, "text": words}

    async def owner_erase(self, person: str) -> dict[str, Any]:
        """Erase anybody."""
        return await self.erase(named(person), _OWNER)

    async def _global(self, person: PersonId) -> dict[str, Any]:
        registry, selves = self.constellations.registry, self.people.selves(person)
        erasures = await registry.read(
            lambda rows: [found for each in selves for found in privacy.erasures_of(rows, each)]
        )
        chosen = self.choices.of(person)
        return {
            "persons": list(selves),
            "choice": chosen[0].value if chosen else "",
            "since": chosen[1] if chosen else "",
            "identities": len(await self._identities(person)),
            "erasures": [erasure_data(each) for each in erasures],
        }

    async def _identities(self, person: PersonId) -> list[dict[str, Any]]:
        selves = self.people.selves(person)

        def read(rows: Rows) -> list[dict[str, Any]]:
            found = [row for each in selves for store in persons.GLOBAL_STORES for row in store.export(rows, each)]
            return [row for n, row in enumerate(found) if row not in found[:n]]  # a row can be about two of them

        return await self.constellations.registry.read(read)

    def _check(self, person: PersonId, who: Approver) -> None:
        action = Action.PRIVACY if person in self.people.selves(who.person) else Action.PRIVACY_OF_OTHERS
        if not policy.may(self.people, who, action):
            raise UserError(f"Only {dict(policy.table())[action].value} may {action.value}.")


_SOURCES = ("discord", "bluesky", "terminal")


def named(person: str) -> PersonId:
    """A person as the command line names them. Raises UserError."""
    source, _, identifier = person.partition(":")
    if source not in _SOURCES or not identifier or person.split() != [person]:
        raise UserError(f"{person!r} names nobody: a person is named like discord:1234 or terminal:owner")
    return PersonId(person)


def erasure_data(erasure: Erasure) -> dict[str, Any]:
    """An erasure as plain data."""
    return {
        "id": str(erasure.id),
        "person": erasure.person,
        "asked_by": erasure.asked_by,
        "begun_at": erasure.begun_at,
        "done_at": erasure.done_at,
        **erasure.receipt,
    }


def seen_lines(seen: dict[str, Any], *, you: bool = True) -> list[str]:
    """What `see` gave, for a person."""
    who, totals = "you" if you else str(seen["person"]), dict.fromkeys(WORDS, 0)
    for counts in seen["stores"].values():
        for store, count in counts.items():
            totals[store] = totals.get(store, 0) + count
    totals["identities"] = seen["identities"]
    held = [_held(store, count, you=you) for store, count in totals.items() if count]
    lines = (
        [f"What is kept about {who}:", *(f"- {line}" for line in held)] if held else [f"Nothing about {who} is kept."]
    )
    if len(seen["persons"]) > 1:
        lines.append(f"That is about all of these accounts: {', '.join(seen['persons'])}.")
    if seen["choice"]:
        chosen = "paused" if seen["choice"] == Choice.PAUSED else "opted out"
        lines.append(f"Since {_day(seen['since'])} {who} {'have' if you else 'has'} {chosen}: nothing new is kept.")
    lines += [f"Erased on {_day(each['done_at'])}." for each in seen["erasures"] if each["done_at"]]
    lines += ["An erasure is under way." for each in seen["erasures"] if not each["done_at"]]
    return lines


def _held(store: str, count: int, *, you: bool) -> str:
    what = WORDS[store].what
    return f"{WORDS[store].counted(count)}: {what if you else _of_them(what)}"


def is_known(seen: dict[str, Any]) -> bool:
    """Whether `see` found anything at all: something kept, a choice, an erasure."""
    kept = any(count for counts in seen["stores"].values() for count in counts.values())
    return bool(kept or seen["identities"] or seen["choice"] or seen["erasures"])


def _of_them(words: str) -> str:
    """What was written for the person themselves, said of them to somebody else."""
    for pattern, other in _OTHERS:
        words = pattern.sub(other, words)
    return words


def receipt_lines(receipt: dict[str, Any], *, you: bool = True) -> list[str]:
    """The receipt of an erasure, for a person: of every account of theirs."""
    others = receipt.get("others", ())
    if others:
        each = {**receipt, "others": ()}
        return [line for one in (each, *others) for line in (f"{one['person']}:", *receipt_lines(one, you=you))]
    lines = [f"Erased (receipt {receipt['id']}, {_day(receipt['done_at'])})."]
    for file in receipt["stores"]:
        gone = _counted(file["before"])
        if gone or any(file["after"].values()) or file["answers"]:
            answers = f"; {many(file['answers'], 'message')} of agents emptied" if file["answers"] else ""
            lines.append(f"- {file['name']}: {', '.join(gone) or 'nothing'}{answers}; {_left(file['after'])}")
    lines.append(_searched(receipt, "your" if you else "their"))
    for left in receipt["left"]:
        tables = "".join(f", {many(count, 'row')} of {table}" for table, count in left.get("tables", {}).items())
        kind = "a copy" if left["copy"] else "in use"
        lines.append(
            f"- found in {left['file']} ({kind}, {_day(left['changed_at'])}): {many(left['samples'], 'word')}{tables}"
        )
    lines += [
        f"- {copy['file']} ({_day(copy['at'])}) is a copy from before; whoever runs this service can delete it."
        for copy in receipt["copies"]
    ]
    return lines


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


def _searched(receipt: dict[str, Any], whose: str) -> str:
    if not receipt["words"]:
        return f"There were no words of {whose} own to look for afterwards in the files."
    where = "in none" if not receipt["left"] else f"in {len(receipt['left'])}"
    words = "One" if receipt["words"] == 1 else f"{receipt['words']}"
    were = "was" if receipt["words"] == 1 else "were"
    files = many(receipt["files"], "file")
    return f"{words} of {whose} words {were} looked for in {files} and found {where} of them."


def _chosen(choice: Choice | None, *, resumed: bool) -> str:
    match choice:
        case Choice.PAUSED:
            return "Paused: from now on nothing you say is kept or answered. `/privacy resume` ends that."
        case Choice.OPTED_OUT:
            return (
                "Opted out: from now on nothing you say is kept or answered, anywhere, until you use "
                "`/privacy resume`. What was kept before stays until you use `/privacy erase`."
            )
        case None:
            return "Resumed: I hear you again." if resumed else "Nothing was paused: I hear you."


def _day(stamp: str) -> str:
    return f"{stamp[:16].replace('T', ' ')} UTC"
