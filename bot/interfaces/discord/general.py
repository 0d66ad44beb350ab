"""The slash command `/help`."""

from typing import Any, TypeAlias

from discord import app_commands

from bot.interfaces.discord.responses import Interaction, answer_now

Tree: TypeAlias = app_commands.CommandTree[Any]

_HELP = """**Talk to me** by mentioning me, answering one of my messages, or in a direct message.
I remember what you tell me. What you say in a direct message stays there: I never use it where others can read.
`/search` finds what was said or stored, as far as you may know it.
`/memory list` shows what I keep in mind here; `show`, `history`, `diff`, `blame`, `rollback`, `undo`, `revert` and
`edit` are there too.
`/why` shows what my last answer was made from; in a message's menu under Apps it is *Why did you say this?*
`/archival list` shows what I keep for the long term; `search`, `show`, `add` and `delete` are there too.
`/facts list` shows what I learned from what people say; `add`, `confirm`, `correct` and `forget` are there too.
`/project list` shows what projects taught.
`/dream report` shows how that was tidied, `/dream waiting` what I guess of you and use only when you say yes.
`/activity` shows what agents did lately, `/coord status` what they arranged, `/summary` earlier talk in short.
`/context` shows what an agent sees of its memory here, `/agent list` and `/group list` who there is.
`/chat agent` and `/chat group` talk to one of them by name. `/state` says how you are, for who answers you here.
`/permits list` shows what waits for your yes; `/approve` and `/deny` answer it.
`/link start` tells me that two accounts are both yours.
`/remind me` tells you something at a time; `/tasks add` keeps what you want to do, `/events add` what is when, `/quiet`
your quiet hours.
`/retry` has a message answered that I gave up on.
`/privacy see` shows how much I keep about you; `export`, `pause`, `optout` and `erase` are there too.
**For my owner and admins**: `/status`, `/cost`, `/budget`, `/inbox`, `/outbox`, `/pair`, `/people`, `/mode`, `/route`,
`/source`, `/jobs`, `/backup`, `/agent`, `/group`, `/halt`, `/doctor`, `/restart`."""


def install(tree: Tree) -> None:
    """Put the command into the tree."""

    @app_commands.command(name="help", description="Learn how to talk to me and what I keep")
    async def command(interaction: Interaction) -> None:
        await answer_now(interaction, _HELP)

    tree.add_command(command)
