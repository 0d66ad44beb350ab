"""How places are heard, who answers there, and which sources are paused: decided by command while the service runs.

A decision is a row, so it lasts; it wins over what the configuration says about the same place, and the narrower place
wins over the wider one, whoever said it. The mappings here are read by sources and router as they are at that moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot import policy
from bot.config import Config
from bot.desks.approving import Approvals
from bot.errors import UserError
from bot.houses import EVERYWHERE_ELSE, Answering
from bot.policy import Action, Approver, People
from memory import agents, steering
from memory.agents import Group
from memory.audience import OWNER, Scope
from memory.called import person_named
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.faults import commit_point
from memory.ids import ConstellationId, GroupId, PersonId
from memory.steering import Kind, Setting
from sources.terminal import PERSON, SOURCE

_DECIDE = commit_point("steering.decide")

_OWNER = Approver(PERSON, door="command line")
_log = structlog.get_logger("bot.desks.steering")


@dataclass(frozen=True)
class Origin:
    """What holds in a place, and who said so: at which of the place's levels, and whether by command."""

    value: str
    at: str
    setting: Setting | None = None

    def words(self, person: str, place: str) -> str:
        """For a person, after the value; by the names that who decided and the level have where it is said."""
        if self.setting is not None:
            return f"by command of {person}, {self.setting.at:%Y-%m-%d %H:%M} UTC, for {place}"
        return f"by the configuration, for {place}" if self.at else "by default"


@dataclass
class Steering:
    """The decisions of one constellation. `resume` sees to what waits; `sources` are those that can be paused."""

    constellations: Constellations
    answering: Answering
    people: People
    clock: Clock
    house: ConstellationId
    resume: Callable[[], None]
    sources: tuple[str, ...] = ()
    modes: dict[str, str] = field(default_factory=dict, init=False)
    """Modes by "discord:<channel, category or guild>", kept as the store has them."""
    paused: dict[str, Setting] = field(default_factory=dict, init=False)
    resumed: dict[str, Callable[[], None]] = field(default_factory=dict, init=False)
    """What a source does when it is resumed, to read what was said meanwhile. Of one that is not here that is left."""
    _held: dict[tuple[Kind, str], Setting] = field(default_factory=dict, init=False)

    async def load(self) -> None:
        """Read what was decided; to be done before anything is heard."""
        async with self.constellations.use(self.house) as database:
            found = await database.read(steering.settings)
        for mapping in (self._held, self.modes, self.paused, self.answering.decided):
            mapping.clear()
        for setting in found:
            self._hold(setting)

    def deaf(self, source: str) -> bool:
        """Whether nothing of a source is heard or answered."""
        return source in self.paused

    def called(self, person: PersonId) -> str:
        """Who decided something, where nothing but the id is known of anybody but the owner."""
        return "the owner" if person in self.people.owner else person

    def state(self, source: str, called: Callable[[PersonId], str] | None = None) -> str:
        """Words on a source that is paused, by whom as they are `called` there; empty when it is not."""
        setting = self.paused.get(source)
        if setting is None:
            return ""
        since = f"since {setting.at:%Y-%m-%d %H:%M} UTC by {(called or self.called)(setting.by)}"
        return f"paused {since}: nothing there is heard or answered until `source resume {source}`"

    # ------------------------------------------------------------------ decisions

    async def mode(self, subject: str, mode: str | None, who: Approver) -> str:
        """Set how a place is heard; None leaves it to the configuration again. Raises UserError."""
        policy.require(self.people, who, Action.STEER)
        return await self._decide("mode", subject, mode, who)

    async def route(self, subject: str, group: str | None, who: Approver) -> str:
        """Let a group answer in a place; None leaves it to the configuration again. Raises UserError."""
        policy.require(self.people, who, Action.STEER)
        if group is None:
            return await self._decide("group", subject, None, who)
        known = {each.name.casefold(): each for each in await self.groups()}
        found = known.get(group.casefold())
        if found is None:
            raise UserError(
                f"There is no group {group!r}; there are: {', '.join(each.name for each in known.values())}."
            )
        return await self._decide("group", subject, found.id, who)

    async def pause(self, source: str, who: Approver) -> str:
        """Hear and answer nothing of a source until it is resumed. Raises UserError."""
        self._require_source(source, who)
        if source in self.paused:
            raise UserError(f"{source} is {self.state(source)}.")
        await self._decide("pause", source, "", who)
        later = (
            "which reads the newest of it"
            if source in self.resumed
            else "and what was said meanwhile is not read then either"
        )
        return (
            f"{source} is paused: nothing that is said there from now on is heard, kept or answered, also after a "
            f"restart, until `source resume`, {later}. Commands still work, and what was answered already is still "
            "sent."
        )

    async def resume_source(self, source: str, who: Approver) -> str:
        """Hear and answer a source again. Raises UserError."""
        self._require_source(source, who)
        if source not in self.paused:
            raise UserError(f"{source} is not paused.")
        await self._decide("pause", source, None, who)
        self.resume()
        read_back = self.resumed.get(source)
        if read_back is not None:
            read_back()
        meanwhile = (
            "is read as after a restart: the newest of each place"
            if read_back is not None
            else "is not read: who wants an answer says it again"
        )
        return f"{source} is heard and answered again. What was said there while it was paused {meanwhile}."

    def origin(self, kind: Kind, chain: tuple[str, ...], configured: Mapping[str, str], default: str) -> Origin:
        """What holds in a place named by these subjects, narrowest first, and who said so."""
        for subject in chain:
            setting = self._held.get((kind, subject))
            if setting is not None:
                return Origin(setting.value, subject, setting)
            if subject in configured:
                return Origin(configured[subject], subject)
        return Origin(default, "")

    def group_origin(self, bindings: tuple[str, ...]) -> Origin:
        """Which group answers in a place, by its id, and who said so."""
        chain = (*bindings, EVERYWHERE_ELSE)
        return self.origin("group", chain, self.answering.places, self.answering.default)

    async def groups(self) -> list[Group]:
        """Every group, by name."""
        async with self.constellations.use(self.house) as database:
            return await database.read(agents.groups)

    def _require_source(self, source: str, who: Approver) -> None:
        policy.require(self.people, who, Action.SOURCES)
        if source == SOURCE:
            raise UserError("The terminal is where you can always be asked and answered; it cannot be paused.")
        if source not in self.sources:
            known = ", ".join(self.sources) or "none is configured"
            raise UserError(f"There is no source {source!r} that could be paused: {known}.")

    async def _decide(self, kind: Kind, subject: str, value: str | None, who: Approver) -> str:
        now = self.clock()
        setting = Setting(kind, subject, value or "", who.person, now)

        def work(tx: Tx) -> bool:
            if value is None:
                return steering.drop(tx, kind, subject)
            steering.put(tx, setting)
            return True

        async with self.constellations.use(self.house) as database:
            done = await database.write(_DECIDE, work, durable=True)
        if not done:
            raise UserError(
                "Nothing was decided about that by command; what holds there is what the configuration says."
            )
        if value is None:
            self._forget(kind, subject)
        else:
            self._hold(setting)
        _log.info("steered", kind=kind, subject=subject, value=value, by=who.person, door=who.door)
        return "Done." if value is not None else "Taken back: the configuration holds there again."

    def _hold(self, setting: Setting) -> None:
        self._held[setting.kind, setting.subject] = setting
        match setting.kind:
            case "mode":
                self.modes[setting.subject] = setting.value
            case "group":
                self.answering.decided[setting.subject] = GroupId(setting.value)
            case "pause":
                self.paused[setting.subject] = setting

    def _forget(self, kind: Kind, subject: str) -> None:
        del self._held[kind, subject]
        for of, mapping in (("mode", self.modes), ("group", self.answering.decided), ("pause", self.paused)):
            if of == kind:
                mapping.pop(subject, None)

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "source.list": self.owner_sources,
            "source.pause": self.owner_pause,
            "source.resume": self.owner_resume,
            "steering.list": self.owner_settings,
        }

    async def owner_sources(self) -> list[dict[str, Any]]:
        """The sources that can be paused, and how they stand."""

        def read(rows: Rows) -> dict[PersonId, str]:
            people = {each.by for each in tuple(self.paused.values())}
            named = {each: person_named(rows, each, Scope(OWNER)) for each in people}
            return {each: self.called(each) if name == each else name for each, name in named.items()}

        async with self.constellations.use(self.house) as database:
            names = await database.read(read)
        return [
            {
                "source": each,
                "state": self.state(each, lambda by: names.get(by) or self.called(by)) or "heard and answered",
            }
            for each in self.sources
        ]

    async def owner_pause(self, source: str) -> list[dict[str, Any]]:
        """Pause one."""
        return [{"text": await self.pause(source, _OWNER)}]

    async def owner_resume(self, source: str) -> list[dict[str, Any]]:
        """Resume one."""
        return [{"text": await self.resume_source(source, _OWNER)}]

    async def owner_settings(self) -> list[dict[str, Any]]:
        """Every decision."""
        return [
            {"kind": kind, "subject": subject, "value": each.value, "by": each.by, "at": to_text(each.at)}
            for (kind, subject), each in self._held.items()
        ]


async def open_steering(config: Config, approvals: Approvals, answering: Answering) -> Steering:
    """Make it for one constellation, with what was decided before."""
    sources = tuple(config.sources)
    constellations, people, clock = approvals.constellations, approvals.people, approvals.clock
    made = Steering(constellations, answering, people, clock, approvals.house, approvals.resume, sources)
    await made.load()
    return made
