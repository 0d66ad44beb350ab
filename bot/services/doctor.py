"""Checks of the installation, for those who are not at the machine: made by a process of its own.

The service holds its databases open; a process that opens one of them a second time loses SQLite's locks when it closes
it (POSIX). Neither does looking at an embedder or a disk belong on the event loop.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.errors import UserError
from bot.services.caller import Caller, Via
from bot.services.registry import Options, operation
from bot.services.results import Ink, Lines, Row
from sources.diagnostics import Finding, State
from texts import _, gettext_noop, ngettext

_SECONDS = 120.0
_MARKS = {State.GOOD: "✅", State.UNSET: "▫️", State.DOUBT: "⚠️", State.PROBLEM: "❌"}
_WORDS = {
    State.GOOD: gettext_noop("ok"),
    State.UNSET: gettext_noop("unset"),
    State.DOUBT: gettext_noop("look"),
    State.PROBLEM: gettext_noop("PROBLEM"),
}
_WIDTH = 9


class FindingRow(Row):
    """What was seen of one part, and what to do."""

    about: str
    state: State
    words: str
    remedy: str

    def line(self, ink: Ink) -> str:
        remedy = f"\n-# {ink.text(self.remedy)}" if self.remedy else ""
        return f"{_MARKS[self.state]} {ink.text(f'{self.about}: {self.words}')}{remedy}"


class Findings(Lines[FindingRow]):
    """What was found; a command that prints it fails where there is a problem."""

    empty: str = Field(default="", exclude=True)

    @classmethod
    def of(cls, found: Iterable[Finding]) -> "Findings":
        return cls(rows=tuple(FindingRow(**asdict(each)) for each in found))

    @property
    def code(self) -> int:
        return int(any(row.state is State.PROBLEM for row in self.rows))

    def terminal(self, ink: Ink, width: int | None) -> str:
        del ink, width
        counts = Counter(row.state for row in self.rows)
        problems = ngettext("{count} problem", "{count} problems", counts[State.PROBLEM])
        summary = _("{problems}, {doubts} to look at.", problems=problems, doubts=counts[State.DOUBT])
        return "\n".join([*map(finding_text, self.rows), summary])


def finding_text(found: Finding | FindingRow) -> str:
    """What was found, for a terminal."""
    remedy = f"\n{'':<{_WIDTH}}-> {found.remedy}" if found.remedy else ""
    return f"{_(_WORDS[found.state]):<{_WIDTH}}{found.about}: {found.words}{remedy}"


@dataclass(frozen=True)
class Doctor:
    """For the owner: it names folders and servers, and asks models, which costs a little."""

    @operation(
        "doctor", "Check the installation and suggest fixes", Action.EXAMINE,
        Options(via=frozenset({Via.DISCORD}), seconds=_SECONDS, file_name="doctor.md"),
    )  # fmt: skip
    async def examine(self, _caller: Caller) -> Findings:
        """What `carina doctor` finds. Raises UserError."""
        command = [sys.executable, "-m", "carina", "doctor", "--json"]
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        try:
            told, broken = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        try:
            return Findings(rows=tuple(map(FindingRow.model_validate, json.loads(told))))
        except ValueError:
            why = broken.decode(errors="replace").strip()[-300:]
            raise UserError(_("The installation could not be checked: {why}", why=why)) from None
