"""What people can do with the data about them: see, export, pause, erase.

Everybody for themselves; the owner for anybody. `privacy_choices` knows whose messages are ignored.
"""

from typing import Annotated, Any, ClassVar

from msgspec import Struct

from bot.agents.permissions.who_may import Action, People
from bot.errors import UserError
from bot.services.caller import IGNORED, TERMINAL_ONLY, Caller
from bot.services.people.erasure import Eraser
from bot.services.people.privacy_choices import Choices
from bot.services.people.privacy_results import Export, PersonCounts, Receipt
from bot.services.registry import CHANGES, Options, Param, operation
from bot.services.results import Plain
from memory.erasure import records
from memory.erasure import stores as persons
from memory.people.privacy_choices import PrivacyChoice
from memory.store.clock import Clock, to_text
from memory.store.constellation import Constellations
from memory.store.database import Rows
from memory.store.ids import PersonId
from memory.store.logs import Log
from texts import _, gettext_noop

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
            lambda rows: [found for each in selves for found in records.erasures_of(rows, each)]
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
