"""The slash commands `/help` and `/status`. All answers are seen by the asker alone.

What an answer shows is what the asker may know in that place: the scope is worked out from where the command
was given, as for a message said there, and an ephemeral answer is heard by one person.
"""

from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot import policy
from bot.desks.desk import Desk, ServiceStatus
from bot.discord_ui.answering import Interaction, answer, answer_now, defer, suggests
from bot.discord_ui.asking import approver_of
from bot.discord_ui.house import agent_line
from bot.errors import UserError
from bot.policy import Action, People

Tree: TypeAlias = app_commands.CommandTree[Any]

_HELP = """**Talk to me** by mentioning me, answering one of my messages, or in a direct message.
I remember what you tell me. What you say in a direct message stays there: I never use it where others can read.
`/search` finds what was said or stored, as far as you may know it; also by time, place or speaker.
`/memory list` shows what I keep in mind here; `show`, `history`, `diff`, `blame`, `rollback`, `undo`, `revert` and
`edit` are there too.
`/why` shows what my last answer was made from; in a message's menu under Apps it is *Why did you say this?*
`/archival list` shows what I keep for the long term; `search`, `show`, `add` and `delete` are there too.
`/facts list` shows what I learned from what people say; `add`, `confirm`, `correct` and `forget` are there too.
`/project` keeps what projects taught: `review`, `prefer`, `done` and `rate` add to it, `list` shows it.
`/dream report` shows how that was tidied, `/dream waiting` what I guess of you and use only when you say yes.
`/activity` shows what agents did lately, `/coord status` what they arranged, `/summary` earlier talk in short.
`/context` shows what an agent has before its eyes here, `/agents` and `/groups list` who lives here.
`/chat agent` and `/chat group` talk to one of them by name. `/state` says how you are, for who answers you here.
`/permits list` shows what waits for your yes; `/approve` and `/deny` answer it.
`/link start` tells me that two accounts are both yours.
`/remind me` tells you something at a time; `/tasks add` keeps what you want to do, `/events add` what is when, `/quiet`
your quiet hours.
`/privacy see` shows how much I keep about you; `export`, `pause`, `optout` and `erase` are there too.
**For my owner and admins**: `/status`, `/cost`, `/budget`, `/inbox`, `/outbox`, `/pair`, `/people`, `/mode`, `/route`,
`/source`, `/job`, `/backup`, `/halt`, `/doctor`, `/restart`, `/export`."""


def install(tree: Tree, desk: Desk, people: People) -> None:
    """Put the commands into the tree."""
    tree.add_command(_help())
    tree.add_command(_status(desk, people))


def _help() -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="help", description="How to talk to me, and what I do with what you say")
    async def command(interaction: Interaction) -> None:
        await answer_now(interaction, _HELP)

    return command


def _status(desk: Desk, people: People) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="status", description="How I am doing: connections, models, what waits")
    @app_commands.describe(agent="One agent: its model, tools and rules")
    async def command(interaction: Interaction, agent: app_commands.Range[str, 1, 64] = "") -> None:
        if not policy.may(people, approver_of(interaction, "command"), Action.STATUS):
            text = "Only my owner and admins can see this. Whoever runs me sets DISCORD_OWNER_ID and [discord.admins]."
            await answer_now(interaction, text)
        elif await defer(interaction):
            shown = _agent(desk, agent) if agent else _service(desk)
            await answer(interaction, shown, file_name="status.md")

    async def names(interaction: Interaction) -> list[tuple[str, str]]:
        policy.require(people, approver_of(interaction, "command"), Action.STATUS)
        return [(each.name, each.name) for each in await desk.agents()]

    suggests(command, "agent", names)
    return command


async def _service(desk: Desk) -> str:
    return status_text(await desk.status())


async def _agent(desk: Desk, name: str) -> str:
    """One agent, and how its model stands. Raises UserError."""
    found = await desk.agents()
    agent = next((each for each in found if each.name.casefold() == name.casefold()), None)
    if agent is None:
        raise UserError(f"There is no agent {name!r}; there are: {', '.join(each.name for each in found)}.")
    models = [f"  {each.model}: {each.words}" for each in desk.standings([desk.model_of(agent)])]
    return "\n".join([agent_line(agent, desk, whole=True), *models])


def status_text(status: ServiceStatus) -> str:
    """How things stand, for a person."""
    lines = [f"**{status.constellation}**"]
    lines += [f"- {discord.utils.escape_markdown(line, as_needed=True)}" for line in status.lines()]
    if status.dead:
        lines.append("`carina inbox list --dead` shows what was given up.")
    return "\n".join(lines)
