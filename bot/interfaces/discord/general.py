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
        "**Your day**: `/remind me`, `/tasks add`, `/events add`, `/settings` for your time zone and quiet "
        "hours, `/my state` to say how you are."
    ),
    gettext_noop(
        "**What I know**: `/search` finds messages and memory. `/memory list`, `/memory archival list` and "
        "`/facts list` show what I keep; you can edit, correct or forget what is yours. `/why` shows what my last "
        "answer was based on, and so does *Apps > Why did you say this?* in the menu of a message."
    ),
    gettext_noop(
        "**What agents use**: `/memory context` shows what they see when they answer here, `/memory project list` "
        "what they learned from projects."
    ),
    gettext_noop("**What happened**: `/summary show`, `/memory activity`, `/memory dream report`."),
    gettext_noop("**Talk to one of us by name**: `/chat agent` and `/chat group` suggest who is here."),
    gettext_noop(
        "**Your decisions**: `/permits list` shows requests that are waiting for you; `/permits approve` and "
        "`/permits deny` answer them. `/memory dream waiting` lists what I inferred about you and use only if you "
        "agree. `/my retry` retries a message that I could not answer."
    ),
    gettext_noop(
        "**Your data**: `/privacy see`, `export`, `pause`, `optout` and `erase`. `/my link start` links your "
        "other accounts."
    ),
    gettext_noop(
        "**For the owner and admins**: everything under `/admin` and `/owner`, such as `/admin status`, "
        "`/admin mode`, `/owner people` and `/admin halt`."
    ),
)


def install(tree: Tree) -> None:
    """Put the command into the tree."""

    @app_commands.command(name="help", description=gettext_noop("Learn how to talk to me and what I keep"))
    async def command(interaction: Interaction) -> None:
        await answer_now(interaction, "\n".join(map(_, _HELP)))

    tree.add_command(command)
