"""What people can do with the data about them: see, export, pause, erase.

Everybody for themselves; the owner for anybody. `Choices` knows whose messages are ignored: nothing they say is stored
or answered until they resume, in any constellation.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeAlias

from msgspec import Struct

from bot.agents.permissions.policy import Action, People, Selves
from bot.errors import UserError
from bot.services.caller import IGNORED, TERMINAL_ONLY, Caller
from bot.services.people.erasure import Eraser
from bot.services.people.privacy_results import Export, PersonCounts, Receipt
from bot.services.registry import CHANGES, Options, Param, operation
from bot.services.results import Plain
from bot.services.transactions import commit
from memory.erasure import stores as persons
from memory.people import hidden_people, privacy
from memory.people.privacy import PrivacyChoice
from memory.store.clock import Clock, to_text
from memory.store.constellation import Constellations
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId
from memory.store.logs import Log
from texts import _, gettext_noop

_FOLLOW = commit_point("privacy.follow")

_SURE = gettext_noop(
    "Erase all of this, here and everywhere else? This cannot be undone. What you say later "
    "is kept again unless you pause or opt out."
)
_SEES = Options(default=True)
_EXPORTS = Options(changes=True, seconds=300.0, suffix="json")
"""It is logged, since the owner can export others' direct messages: never by a link, or with a read-only token."""
_ERASES = Options(changes=True, asks=True, seconds=None)
_log = Log("bot.services.people.privacy")
_Person = Annotated[
    str,
    Param(
        "Person, such as discord:1234 (default: you)",
        metavar="PERSON",
        positional=True,
        via=TERMINAL_ONLY,
        needs=Action.PRIVACY_OF_OTHERS,
    ),
]
_SOURCES = ("discord", "bluesky", "terminal", "api")


_Stored: TypeAlias = tuple[dict[PersonId, tuple[PrivacyChoice, str]], dict[PersonId, list[tuple[str, str]]]]


def _stored(rows: Rows) -> _Stored:
    """People's choices, and the times of those that they ended."""
    return privacy.choices(rows), privacy.ended(rows)


@dataclass
class Choices:
    """People's choices, cached from global.db."""

    constellations: Constellations
    clock: Clock
    selves: Selves
    """Every account of a person: a choice with one of them applies to all."""
    _held: dict[PersonId, tuple[PrivacyChoice, str]] = field(default_factory=dict, init=False)
    _ended: dict[PersonId, list[tuple[str, str]]] = field(default_factory=dict, init=False)

    async def load(self) -> None:
        """Read the choices; call this before accepting any message, and after an erasure."""
        self._held, self._ended = await self.constellations.registry.read(_stored)

    def ignored(self, person: PersonId | None) -> bool:
        """Whether nothing that this person says is stored or answered."""
        return person is not None and bool(self._held) and self.of(person) is not None

    def ignored_at(self, person: PersonId | None, said: datetime) -> bool:
        """The same, or whether it was so when they said it: a platform's history may still have the message."""
        if person is None or not self._ended:
            return self.ignored(person)
        at = to_text(said)
        spans = (span for each in self.selves(person) for span in self._ended.get(each, ()))
        return self.ignored(person) or any(since <= at < until for since, until in spans)

    def of(self, person: PersonId) -> tuple[PrivacyChoice, str] | None:
        found = [self._held[each] for each in self.selves(person) if each in self._held]
        return next((each for each in found if each[0] is PrivacyChoice.OPTED_OUT), found[0] if found else None)

    def opted_out(self, person: PersonId) -> bool:
        return (chosen := self.of(person)) is not None and chosen[0] is PrivacyChoice.OPTED_OUT

    async def choose(self, person: PersonId, choice: PrivacyChoice | None) -> None:
        """Store a choice durably for all accounts of a person; None ends it. An account that is unlinked keeps it."""
        now, people = self.clock(), self.selves(person)

        def work(tx: Tx) -> _Stored:
            for each in people:
                privacy.choose(tx, each, choice, now)
            return _stored(tx)

        self._held, self._ended = await commit(self.constellations.registry, work)
        for each in self.constellations.all():
            async with self.constellations.use(each.id) as database:
                await self.follow(database)

    async def follow(self, database: Database) -> None:
        """Copy to a constellation whose words are not shown to others."""
        chosen = {person: since for person, (_, since) in self._held.items()}
        if await database.read(hidden_people.chosen) != chosen:
            await database.write(_FOLLOW, lambda tx: hidden_people.choices(tx, chosen))


class Privacy(Struct, frozen=True):
    """The privacy operations: for everybody their own data, for the owner anybody's."""

    titles: ClassVar = {"privacy": "Show, export, pause or erase the data kept about you"}

    constellations: Constellations
    people: People
    choices: Choices
    eraser: Eraser
    clock: Clock

    @operation("privacy.see", "Show what is kept about you", Action.PRIVACY, _SEES)
    async def see(self, caller: Caller, person: _Person = "") -> PersonCounts:
        """Raises UserError where nothing is known of somebody who was named, so that a slip of the pen is seen."""
        seen = await self._seen(_meant(caller, person), yours=not person)
        if person and not seen.known:
            raise UserError("Nothing about {person} is or was kept. Is the ID correct?", person=person)
        return seen

    @operation("privacy.export", "Export everything kept about you", Action.PRIVACY, _EXPORTS)
    async def export(self, caller: Caller, person: _Person = "") -> Export:
        whose = _meant(caller, person)

        def read(rows: Rows) -> dict[str, Any]:
            selves = self.people.selves(whose)
            return {
                store.name: [row for each in selves for row in store.export(rows, each)] for store in persons.STORES
            }

        found = await self.constellations.read_each(read)
        _log.info("person_exported", person=whose, by=caller.person, door=caller.approver.door)
        about = {"person": whose, "exported_at": to_text(self.clock()), **await self._global(whose)}
        about["erasures"] = [each.data() for each in about["erasures"]]
        return Export(everything={**about, "constellations": found, "accounts": await self._identities(whose)})

    @operation("privacy.pause", "Stop keeping and answering what you say until you resume", Action.PRIVACY, CHANGES)
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
        held = self.choices.of(_meant(caller, person)) is not None
        text = (
            _("Resumed: what {who} is kept and answered again.")
            if held
            else _("Nothing was paused: what {who} is kept and answered.")
        )
        return await self._choose(caller, person, None, text)

    @operation("privacy.erase", "Erase everything kept about you", Action.PRIVACY, _ERASES)
    async def erase(self, caller: Caller, person: _Person = "") -> Receipt:
        whose, yours = _meant(caller, person), not person
        if not caller.sure:
            seen = await self._seen(whose, yours=yours)
            caller.confirm("\n".join([*seen.held(Plain("UTC", self.clock())), _(_SURE)]))
        done = await self.eraser.erase_all(self.people.selves(whose), caller.person)
        first, *others = [Receipt.of(each, yours=yours) for each in done]
        return first.model_copy(update={"others": tuple(others)})

    def words_ignored(self, person: PersonId) -> str:
        """What a person is told who writes while opted out; empty for all others."""
        if not self.choices.ignored(person):
            return ""
        return _(IGNORED)

    async def _choose(self, caller: Caller, person: str, choice: PrivacyChoice | None, text: str) -> str:
        whose = _meant(caller, person)
        await self.choices.choose(whose, choice)
        by = caller.approver
        _log.info("privacy_chosen", person=whose, choice=choice or "resumed", by=by.person, door=by.door)
        of = f" {person}" if person else ""
        return text.format(who=_("{person} says", person=person) if of else _("you say"), of=of)

    async def _seen(self, person: PersonId, *, yours: bool) -> PersonCounts:
        def read(rows: Rows) -> dict[str, int]:
            found = [persons.count_all(rows, each) for each in self.people.selves(person)]
            return {store: sum(counts[store] for counts in found) for store in found[0]}

        counts = await self.constellations.read_each(read)
        return PersonCounts(person=person, stores=counts, yours=yours, **await self._global(person))

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
            "erasures": [Receipt.of(each) for each in erasures],
        }

    async def _identities(self, person: PersonId) -> list[dict[str, Any]]:
        selves = self.people.selves(person)

        def read(rows: Rows) -> list[dict[str, Any]]:
            found = [row for each in selves for store in persons.GLOBAL_STORES for row in store.export(rows, each)]
            return [row for n, row in enumerate(found) if row not in found[:n]]  # a row can be about two of them

        return await self.constellations.registry.read(read)


def named(person: str) -> PersonId:
    """Parse a person's id on the command line. Raises UserError."""
    source, _colon, identifier = person.partition(":")
    if source not in _SOURCES or not identifier or person.split() != [person]:
        raise UserError("{person} is not a person. Name one like discord:1234 or terminal:owner.", person=repr(person))
    return PersonId(person)


def _meant(caller: Caller, person: str) -> PersonId:
    return named(person) if person else caller.person
