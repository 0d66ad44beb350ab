"""Commands for constellations: create, show, delete, and assign places to them."""

import shlex
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, ClassVar

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config
from bot.config.agent_files import problem_with
from bot.config.file_settings import Constellation as Section
from bot.errors import UserError
from bot.runtime.configured_constellation import seed_routing
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.names import NO_CONSTELLATION, find, named_place, require_name
from bot.services.registry import AT_TERMINAL, CHANGES_AT_TERMINAL, Options, Param, Suggestions, operation, suggestions
from bot.services.results import Listing, Markup, Result, Row
from memory import agent_groups, agents
from memory.queue import inbox
from memory.store.clock import Clock
from memory.store.constellations import Constellation, Constellations
from memory.store.database import Rows
from memory.store.errors import StoreError
from memory.store.ids import ConstellationId
from memory.store.logs import Log
from sources.terminal import PERSON
from texts import _, error_sentence, gettext_noop, ngettext, ngettext_noop, size_text

_DELETES = Options(via=TERMINAL_ONLY, changes=True, asks=True)
_log = Log("bot.services.agents.constellations")

_Name = Annotated[str, Param("Name of the constellation", example="home", suggests="constellations")]
_Place = Annotated[
    str,
    Param(
        "The place, such as discord:guild:1234, discord:1234 or bluesky",
        example="discord:guild:1234",
        suggests="assigned",
    ),
]
_NewName = Annotated[str, Param("Name of the constellation", example="home", positional=True)]
_Which = Annotated[
    str, Param("Name of the constellation (default: the configured one)", positional=True, suggests="constellations")
]


class ConstellationRow(Row):
    constellation: str
    id: str
    state: str
    places: list[str]

    def line(self, markup: Markup) -> str:
        places = f": {', '.join(map(markup.text, self.places))}" if self.places else ""
        return f"{markup.text(self.constellation)} ({_(self.state)}){places}"


class ConstellationStatus(Result):
    constellation: str
    id: str
    state: str
    places: list[str]
    agents: list[str]
    hibernated: list[str]
    archived: list[str]
    groups: list[str]
    waiting: int
    bytes: int

    def lines(self, markup: Markup) -> list[str]:
        lists = {key: ", ".join(value) for key, value in self.data().items() if isinstance(value, list) and value}
        waits = ngettext("{count} message waits for an answer", "{count} messages wait for an answer", self.waiting)
        return [
            f"{markup.text(self.constellation)} ({_(self.state)})",
            *(markup.text(f"{_(key)}: {value}") for key, value in lists.items()),
            *([waits] if self.waiting else []),
            f"{_('size')}: {size_text(self.bytes)}",
        ]


class ConstellationCommands(Struct, frozen=True):
    """The constellations of the data folder. `shut` closes an unused one; `is_open` tells whether one is open."""

    titles: ClassVar = {"constellation": "Manage constellations: each has its own agents, groups and memory"}

    registry: Constellations
    config: Config
    clock: Clock
    configured: ConstellationId
    is_open: Callable[[ConstellationId], bool]
    shut: Callable[[ConstellationId], Awaitable[bool]]

    @operation("constellation.list", "List the constellations and their places", Action.CONSTELLATIONS, AT_TERMINAL)
    @suggestions("constellations")
    async def list_all(self, _caller: Caller) -> Listing[ConstellationRow]:
        return Listing.of(ConstellationRow(**self._about(each)) for each in self.registry.all())

    @operation("constellation.create", "Create a constellation", Action.CONSTELLATIONS, CHANGES_AT_TERMINAL)
    async def create(self, _caller: Caller, name: _NewName) -> str:
        if wrong := problem_with(Section, name=name):
            raise UserError("This name cannot be used: {why}.", why=wrong)
        require_name(name)
        if any(name.casefold() == each.name.casefold() for each in self.registry.all()):
            raise UserError("There is already a constellation “{name}”.", name=name)
        made = await self.registry.ensure(name, PERSON)
        async with self.registry.use(made.id) as database:
            await seed_routing(self.config, database, self.clock)
        _log.info("constellation_created", constellation=made.name)
        return _(
            "{name} was created with the agents and groups from the configuration. No place belongs to it yet: "
            "`carina constellation assign PLACE {shown}` assigns one.",
            name=made.name,
            shown=shlex.quote(made.name),
        )

    @operation(
        "constellation.status", "Show who is in a constellation and how large it is", Action.CONSTELLATIONS, AT_TERMINAL
    )
    async def status(self, _caller: Caller, name: _Which = "") -> ConstellationStatus:
        found = self._find(name) if name else self.registry.of(self.configured)

        def read(rows: Rows) -> dict[str, Any]:
            every = agents.every_agent(rows)
            return {
                "agents": [each.name for each in every if each.status == "active"],
                "hibernated": [each.name for each in every if each.status == "hibernated"],
                "archived": [each.name for each in every if each.status == "archived"],
                "groups": [each.name for each in agent_groups.groups(rows)],
                "waiting": inbox.counts(rows)["waiting"],
            }

        about = self._about(found)
        async with self.registry.use(found.id) as database:
            return ConstellationStatus(**about, **await database.read(read), bytes=found.path.stat().st_size)

    @operation(
        "constellation.delete", "Delete a constellation; its files are set aside", Action.CONSTELLATIONS, _DELETES
    )
    async def delete(self, caller: Caller, name: _Name) -> str:
        found = self._find(name)
        if found.id == self.configured:
            raise UserError("{name} is the configured constellation, which cannot be deleted.", name=found.name)
        question = [
            _(
                "Delete the constellation “{name}”? Its agents and their memory will no longer be used.",
                name=found.name,
            ),
            _("Its files will be set aside."),
        ]
        if places := ", ".join(each.place for each in self.registry.assigned(found.id)):
            question.append(_("These places belong to it: {places}.", places=places))
        caller.confirm(" ".join(question))
        try:
            if not await self.shut(found.id):
                raise StoreError("the constellation “{name}” is in use; try again in a moment", name=found.name)
            kept, count = await self.registry.remove(found.id)
        except StoreError as error:
            raise UserError(error_sentence(error)) from error
        _log.warning("constellation_deleted", constellation=found.name, kept=str(kept), by=caller.person)
        one, more = ngettext_noop("{count} place now belongs to {name}.", "{count} places now belong to {name}.")
        said = [
            _("Deleted {name}.", name=found.name),
            *([ngettext(one, more, count, name=self._name())] if count else []),
            _("Its files are kept in {folder}. Delete that folder to remove them.", folder=kept),
        ]
        return " ".join(said)

    @operation("constellation.assign", "Assign a place to a constellation", Action.CONSTELLATIONS, CHANGES_AT_TERMINAL)
    async def assign(self, caller: Caller, place: _Place, name: _Name) -> str:
        found, place = self._find(name), named_place(place)
        await self.registry.bind(place, found.id, caller.person, before=self.configured)
        _log.info("place_assigned", place=place, constellation=found.name, by=caller.person)
        return _("{place} now belongs to {name}. Earlier messages stay where they are.", place=place, name=found.name)

    @operation(
        "constellation.unassign",
        "Return a place to the configured constellation",
        Action.CONSTELLATIONS,
        CHANGES_AT_TERMINAL,
    )
    async def unassign(self, caller: Caller, place: _Place) -> str:
        place = named_place(place)
        if not await self.registry.unbind(place, self.configured):
            raise UserError("{place} is not assigned to any constellation.", place=place)
        _log.info("place_unassigned", place=place, by=caller.person)
        return _("{place} belongs to {name} again.", place=place, name=self._name())

    @suggestions("assigned")
    async def suggest_places(self, _caller: Caller) -> Suggestions:
        return [each.place for each in self.registry.assigned()]

    def _name(self) -> str:
        return self.registry.of(self.configured).name

    def _find(self, name: str) -> Constellation:
        return self.registry.of(named(self.registry, name))

    def _about(self, found: Constellation) -> dict[str, Any]:
        unused = gettext_noop("open") if self.is_open(found.id) else gettext_noop("idle")
        state = gettext_noop("configured") if found.id == self.configured else unused
        places = [each.place for each in self.registry.assigned(found.id)]
        return {"constellation": found.name, "id": found.id, "state": state, "places": places}


def named(constellations: Constellations, name: str) -> ConstellationId:
    """A constellation by its name, in any case, or its id. Raises UserError."""
    every = constellations.all()
    by_id = next((each.id for each in every if each.id == name), None)
    return by_id or find(every, name, NO_CONSTELLATION).id
