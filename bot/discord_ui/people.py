"""`/pair` and `/people`: letting strangers in by their codes, and letting in or shutting out people, roles, servers."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.admission import Admission, Listed
from bot.discord_ui.answering import Interaction, answer, defer, suggests
from bot.discord_ui.asking import approver_of
from bot.errors import UserError
from bot.policy import Approver
from memory.admission import MOST_OPEN, Rule
from memory.ids import PersonId
from sources.discord.places import person_id, user_number
from sources.discord.settings import guild_subject, role_subject

Command: TypeAlias = app_commands.Command[Any, ..., None]

_SERVER = guild_subject(0)[:-1]
_ROLE = role_subject(0)[:-1]


def install_people(tree: app_commands.CommandTree[Any], admission: Admission) -> None:
    """Put the commands into the tree."""
    pair = app_commands.Group(name="pair", description="Strangers who ask to be let in")
    for command in (_approve(admission), _waiting(admission), _revoke(admission)):
        pair.add_command(command)
    tree.add_command(pair)
    people = app_commands.Group(name="people", description="Who may talk to me")
    people.add_command(_rule(admission, Rule.ALLOW, "Let a person, a role or a server in, until you take it back"))
    people.add_command(_rule(admission, Rule.DENY, "Shut a person, a role or a server out, until you take it back"))
    people.add_command(_forget(admission))
    people.add_command(_list(admission))
    tree.add_command(people)


def _approve(admission: Admission) -> Command:
    @app_commands.command(name="approve", description="Let a stranger in by the code they gave you")
    @app_commands.describe(code="The code, such as ABCD-2345; it was told to them alone")
    async def command(interaction: Interaction, code: app_commands.Range[str, 1, 40]) -> None:
        if await defer(interaction):
            await answer(interaction, admission.approve(code, _who(interaction)))

    return command


def _waiting(admission: Admission) -> Command:
    @app_commands.command(name="list", description="Who was told a code and waits")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, _waiting_text(admission, _who(interaction)), file_name="waiting.md")

    return command


async def _waiting_text(admission: Admission, who: Approver) -> str:
    waiting = (await admission.listed(who)).waiting
    lines = [
        f"- {_named(each.person)} as {discord.utils.escape_markdown(each.name)}, until {each.expires_at:%H:%M} UTC"
        for each in waiting
    ]
    full = [f"That is as many as can wait; others are told nothing ({MOST_OPEN})."] if len(lines) >= MOST_OPEN else []
    return "\n".join([*lines, *full]) or "Nobody waits to be let in."


def _revoke(admission: Admission) -> Command:
    @app_commands.command(name="revoke", description="End somebody's code, or take back that they were let in")
    @app_commands.describe(person="Who")
    async def command(interaction: Interaction, person: discord.User) -> None:
        if await defer(interaction):
            await answer(interaction, admission.forget(person_id(person.id), _who(interaction)))

    return command


def _rule(admission: Admission, rule: Rule, description: str) -> Command:
    @app_commands.command(name=rule.value, description=description)
    @app_commands.describe(person="A person", role="A role, in its own server", server="A server, by its id")
    async def command(
        interaction: Interaction,
        person: discord.User | None = None,
        role: discord.Role | None = None,
        server: app_commands.Range[str, 1, 20] | None = None,
    ) -> None:
        if await defer(interaction):
            await answer(interaction, _ruled(admission, rule, _subjects(person, role, server), _who(interaction)))

    return command


async def _ruled(admission: Admission, rule: Rule, subjects: list[str], who: Approver) -> str:
    if len(subjects) != 1:
        raise UserError("Say who: a person, a role or a server, one of them.")
    return await admission.rule(subjects[0], rule, who)


def _subjects(person: discord.User | None, role: discord.Role | None, server: str | None) -> list[str]:
    named = [person_id(person.id)] if person is not None else []
    roles = [role_subject(role.id)] if role is not None else []
    return [*named, *roles, *([f"{_SERVER}{server}"] if server is not None else [])]


def _forget(admission: Admission) -> Command:
    @app_commands.command(name="forget", description="Take back what was decided about somebody by command")
    @app_commands.describe(who="Whom: one of the list, or such as discord:1234")
    async def command(interaction: Interaction, who: app_commands.Range[str, 1, 60]) -> None:
        if await defer(interaction):
            await answer(interaction, admission.forget(who, _who(interaction)))

    async def known(interaction: Interaction) -> Iterable[tuple[str, str]]:
        found = await admission.listed(_who(interaction))
        lines: dict[str, str] = {each.subject: f"{each.subject} ({each.rule})" for each in found.ruled}
        lines |= {each.person: f"{each.name} ({each.person}) waits" for each in found.waiting}
        return lines.items()

    suggests(command, "who", known)
    return command


def _list(admission: Admission) -> Command:
    @app_commands.command(name="list", description="Who was let in and shut out, and where that was said")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, _listed_text(admission, _who(interaction)), file_name="people.md")

    return command


async def _listed_text(admission: Admission, who: Approver) -> str:
    found: Listed = await admission.listed(who)
    lines = []
    for rule, head in ((Rule.ALLOW, "**Let in**"), (Rule.DENY, "**Shut out**")):
        said = [
            f"- {_named(each.subject)}: by {each.via} of {_named(each.by)}, {each.at:%Y-%m-%d %H:%M} UTC"
            for each in found.ruled
            if each.rule is rule
        ]
        said += [f"- {_named(each)}: in the configuration" for each, of in found.configured.items() if of is rule]
        lines += [head, *(said or ["nobody by name"])]
    return "\n".join(lines)


def _named(subject: str | PersonId) -> str:
    """A subject as Discord shows it: a mention, which wakes nobody in an answer that one person sees."""
    if subject.startswith(_ROLE):
        return f"<@&{subject.removeprefix(_ROLE)}> (`{subject}`)"
    if subject.startswith(_SERVER):
        return f"server `{subject.removeprefix(_SERVER)}`"
    number = user_number(subject)
    return f"<@{number}> (`{subject}`)" if number is not None else f"`{subject}`"


def _who(interaction: Interaction) -> Approver:
    return approver_of(interaction, "command")
