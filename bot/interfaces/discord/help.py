"""`/help`: what people can do with the bot, page by page.

The help of a single command is the text of its `@operation`, in bot/services.
"""

import re
from contextlib import suppress

from discord import app_commands

from bot.interfaces.discord.components import hear, select
from bot.interfaces.discord.memory_forms import MENU
from bot.interfaces.discord.responses import Interaction, Tree, answer_now, shown
from sources.discord.cards import CardStyle, container
from sources.discord.send_failures import REFUSED
from texts import _, gettext_noop

_HELP_PAGE = re.compile(r"carina:help")
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
        "answer was based on, and so does *Apps > {menu}* in the menu of a message."
    ),
    gettext_noop(
        "**What agents use**: `/memory context` shows what they see when they answer here, and "
        "`/memory project list` shows what they learned from projects."
    ),
    gettext_noop("**What happened**: `/summary show`, `/memory activity`, `/memory dream report`."),
    gettext_noop("**Talk to one of us by name**: `/chat agent` and `/chat group` suggest who is here."),
    gettext_noop(
        "**Your decisions**: `/permits list` shows requests that are waiting for you; "
        "`/permits approve` and `/permits deny` answer them. `/memory dream waiting` lists "
        "what I inferred about you and will use only if you approve it. `/my retry` retries "
        "a message that I couldn't answer."
    ),
    gettext_noop(
        "**Your data**: `/privacy see`, `export`, `pause`, `optout` and `erase`. `/my link start` links your "
        "other accounts."
    ),
    gettext_noop(
        "**For the owner and admins**: everything under `/admin` and `/owner`, such as `/admin status`, "
        "`/admin mode`, `/owner people` and `/admin halt`. The service's log is on the page *Logs* of the dashboard, "
        "which `carina dashboard` opens."
    ),
)


def install_help(tree: Tree) -> None:

    @app_commands.command(name="help", description=gettext_noop("Learn how to talk to me and what I keep"))
    async def command(interaction: Interaction) -> None:
        await answer_now(interaction, *page(0))

    tree.add_command(command)
    tree.client.add_dynamic_items(hear(_HELP_PAGE, _turn_help))


def page(number: int) -> tuple[str, CardStyle]:
    """One page, with a menu of all; its first bold text is the title."""
    told = [_(each, menu=_(MENU)) for each in _HELP]
    titles = ((str(at), each.split("**")[1]) for at, each in enumerate(told))
    return told[number], CardStyle(items=select("carina:help", titles, chosen=str(number)))


async def _turn_help(interaction: Interaction, _named: re.Match[str], chosen: str) -> None:
    if chosen in map(str, range(len(_HELP))):
        words, looks = page(int(chosen))
        with suppress(*REFUSED):
            await interaction.response.edit_message(view=container(shown(interaction, words), looks))
