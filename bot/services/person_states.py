"""How somebody says they are, by command: seen, said and taken back by themselves, for where they said it."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.agents.groups.settings import State
from bot.agents.permissions.policy import Action, People
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, Suggestions, operation, suggestions
from bot.services.results import Sentence
from memory import agents
from memory.people import states
from memory.people.audience import Scope
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId
from sources.text import one_line
from texts import _

_SAY = commit_point("state.say")
_SAYS = Options(changes=True, keeps=True)

NOTHING = "none"
"""Said instead of a state, it takes back what was said."""


class SayState(Arguments):
    state: Annotated[
        str | None,
        Field(max_length=60),
        Param(
            f'A few words; "{NOTHING}" clears it (default: show it)',
            positional=True,
            suggests="states",
        ),
    ] = None


@dataclass(frozen=True)
class States:
    """In one constellation."""

    database: Database
    people: People
    clock: Clock

    @operation("state", "Show or set how you are; it can decide who answers you", Action.KEEP, _SAYS)
    async def state(self, caller: Caller, arguments: SayState) -> Sentence:
        """For what is heard where it is said."""
        scope = caller.scope if caller.here is None else caller.here.scope
        word = (arguments.state or "").strip()
        return Sentence(
            text=await (self._say(caller.person, scope, word) if word else self._seen(caller.person, scope))
        )

    @suggestions("states")
    async def suggest(self, _caller: Caller) -> Suggestions:
        """The states that some group is there for, by word."""
        known = await self._known()
        return [(each, each) for each in (*known, NOTHING)] if known else []

    async def _known(self) -> list[str]:
        def read(rows: Rows) -> list[str]:
            found = (State.model_validate(each).said for group in agents.groups(rows) for each in group.states)
            return sorted({said for said in found if said}, key=str.casefold)

        return await self.database.read(read)

    async def _seen(self, person: PersonId, scope: Scope) -> str:
        """What somebody said last of how they are, as far as that is known here."""
        people = self.people.selves(person)
        found = await self.database.read(lambda rows: states.of(rows, people, scope, self.clock()))
        known = ", ".join(await self._known())
        now = _('Your state is "{found}".', found=found) if found else _("You have not said how you are.")
        return _("{now} Groups respond to these states: {known}.", now=now, known=known) if known else now

    async def _say(self, person: PersonId, scope: Scope, word: str) -> str:
        """Take a state for what holds where this scope hears it, until another is said or `none`."""
        state = one_line(word, states.LONGEST + 1)
        if len(state) > states.LONGEST:
            raise UserError(_("Use a few words, at most {LONGEST} characters.", LONGEST=states.LONGEST))
        state = "" if state.casefold() == NOTHING else state
        now = self.clock()

        def work(tx: Tx) -> None:
            for each in self.people.selves(person):
                states.put(tx, each, scope.audience, state if each == person else "", now)

        await self.database.write(_SAY, work, durable=True)
        if not state:
            return _("Cleared. Your state no longer decides who answers you here.")
        known = {each.casefold() for each in await self._known()}
        heard = (
            _("what you tell me privately")
            if scope.audience.startswith(("person:", "owner"))
            else _("what you say here")
        )
        if state.casefold() not in known:
            return _('Saved: "{state}". No group responds to it, so the same agents answer as before.', state=state)
        until = _('until you change it or choose "{NOTHING}", for at most a day', NOTHING=NOTHING)
        return _(
            'Saved: "{state}". The group that responds to it answers {heard}, {until}.',
            state=state,
            heard=heard,
            until=until,
        )
