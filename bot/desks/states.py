"""How somebody says they are, by command: seen, said and taken back by themselves, for where they said it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bot.desks.approving import Approvals
from bot.errors import UserError
from bot.groups.settings import State
from memory import agents
from memory.audience import OWNER, Scope
from memory.database import Rows, Tx
from memory.faults import commit_point
from memory.ids import PersonId
from memory.people import states
from sources.terminal import PERSON
from sources.text import one_line

_SAY = commit_point("state.say")

NOTHING = "none"
"""Said instead of a state, it takes back what was said."""


@dataclass(frozen=True)
class States:
    """In one constellation. Everything raises UserError with words for who asked."""

    approvals: Approvals

    def handlers(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {"state": self.owners}

    async def known(self) -> list[str]:
        """The states that some group is there for, by word."""

        def read(rows: Rows) -> list[str]:
            found = (State.model_validate(each).said for group in agents.groups(rows) for each in group.states)
            return sorted({said for said in found if said}, key=str.casefold)

        async with self.approvals.constellations.use(self.approvals.house) as database:
            return await database.read(read)

    async def seen(self, person: PersonId, scope: Scope) -> str:
        """What somebody said last of how they are, as far as that is known here."""
        people = self.approvals.people.selves(person)
        async with self.approvals.constellations.use(self.approvals.house) as database:
            found = await database.read(lambda rows: states.of(rows, people, scope, self.approvals.clock()))
        known = ", ".join(await self.known()) or "none"
        now = f'You said that you are "{found}".' if found else "You said nothing of how you are."
        return f"{now} States for which a group is there: {known}."

    async def say(self, person: PersonId, scope: Scope, word: str) -> str:
        """Take a state for what holds where this scope hears it, until another is said or `none`."""
        state = one_line(word, states.LONGEST + 1)
        if len(state) > states.LONGEST:
            raise UserError(f"a state is a word or a few, of at most {states.LONGEST} characters")
        state = "" if state.casefold() == NOTHING else state
        now = self.approvals.clock()

        def work(tx: Tx) -> None:
            for each in self.approvals.people.selves(person):
                states.put(tx, each, scope.audience, state if each == person else "", now)

        async with self.approvals.constellations.use(self.approvals.house) as database:
            await database.write(_SAY, work, durable=True)
        if not state:
            return "Taken back: who answers you is not chosen by how you are any more, as far as it was said here."
        known = {each.casefold() for each in await self.known()}
        heard = "what you say alone to me" if scope.audience.startswith(("person:", "owner")) else "what you say here"
        if state.casefold() not in known:
            return f'Noted: "{state}". No group is there for it, so it changes nothing about who answers.'
        until = "until you say another or `none`, and for a day at most"
        return f'Noted: "{state}". The group that is there for it answers {heard}, {until}.'

    async def owners(self, word: str = "") -> list[dict[str, Any]]:
        """The owner's own, at the terminal."""
        scope = Scope(OWNER)
        text = await (self.say(PERSON, scope, word) if word.strip() else self.seen(PERSON, scope))
        return [{"text": text}]
