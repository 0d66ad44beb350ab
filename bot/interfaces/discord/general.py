"""The slash command `/help`."""

from typing import Any, TypeAlias

from discord import app_commands

from bot.interfaces.discord.responses import Interaction, answer_now
from texts import _, gettext_noop

Tree: TypeAlias = app_commands.CommandTree[Any]

_HELP = (
    gettext_noop(
        "**Talk to me** by mentioning me, replying to me, or sending me a direct message. I remember what you "
        "tell me. What you say in a direct message stays there: I never use it where others can read."
    ),
    gettext_noop(
        "**Your day**: `/remind me`, `/tasks add`, `/events add`, `/quiet` for your time zone and quiet "
        "hours, `/state` to say how you are."
    ),
    gettext_noop(
        "**What I know**: `/search` finds messages and memory. `/memory list`, `/archival list` and `/facts "
        "list` show what I keep; you can edit, correct or forget what is yours. `/why` shows what my last "
        "answer was based on, and so does *Apps > Why did you say this?* in the menu of a message."
    ),
    gettext_noop(
        "**What agents use**: `/context` shows what they see when they answer here, `/project list` what they "
        "learned from projects."
    ),
    gettext_noop("**What happened**: `/summary show`, `/activity`, `/coord status`, `/dream report`."),
    gettext_noop(
        "**Who is here**: `/agent list`, `/group list`; `/chat agent` and `/chat group` talk to one of them by name."
    ),
    gettext_noop(
        "**Your decisions**: `/permits list` shows requests that are waiting for you; `/approve` and `/deny` "
        "answer them. `/dream waiting` lists what I inferred about you and use only if you agree. `/retry` "
        "retries a message that I could not answer."
    ),
    gettext_noop(
        "**Your data**: `/privacy see`, `export`, `pause`, `optout` and `erase`. `/link start` links your "
        "other accounts."
    ),
    gettext_noop(
        "**For the owner and admins**: `/status`, `/cost`, `/budget`, `/inbox`, `/outbox`, `/pair`, "
        "`/people`, `/mode`, `/route`, `/source`, `/jobs`, `/backup`, `/halt`, `/doctor`, `/restart`."
    ),
)


def install(tree: Tree) -> None:
    """Put the command into the tree."""

    @app_commands.command(name="help", description=gettext_noop("Learn how to talk to me and what I keep"))
    async def command(interaction: Interaction) -> None:
        await answer_now(interaction, "\n".join(map(_, _HELP)))

    tree.add_command(command)
