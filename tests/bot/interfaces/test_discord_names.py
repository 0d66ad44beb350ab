"""Where commands stand on Discord: what members see, what only those in charge do, and what Discord takes at most."""

from typing import Any

import discord
from discord import app_commands
from pydantic import SecretStr

from bot.agents.permissions.policy import Approver, Rank
from bot.interfaces.discord.commands import Commands
from bot.services import services, titles
from bot.services.caller import Caller, Spoken, Via
from bot.services.registry import Registry
from bot.services.slash_names import HIDDEN, operation_words, slash_names
from memory.people.audience import PUBLIC, Scope, Trust
from memory.store.ids import PersonId, PlaceId
from sources.discord.client import CatalogTranslator
from sources.discord.settings import DiscordSettings
from tests.bot.services.calling import registry


def every() -> Registry:
    """All operations as declared; what they would be done with is not there."""
    return registry(*(object.__new__(each) for each in services()))


async def told() -> list[dict[str, Any]]:
    tree = app_commands.CommandTree[Any](discord.Client(intents=discord.Intents.none()))
    Commands(every(), titles(), DiscordSettings(token=SecretStr("none"))).install(tree)
    return [await each.get_translated_payload(tree, CatalogTranslator()) for each in tree.get_commands()]


def size(part: dict[str, Any]) -> int:
    """Characters as Discord counts them: of each text its longest translation."""
    own = sum(
        max(len(text) for text in (part.get(name, ""), *(part.get(f"{name}_localizations") or {}).values()))
        for name in ("name", "description")
    )
    below = [*part.get("options", ()), *part.get("choices", ())]
    return own + len(str(part.get("value", ""))) + sum(map(size, below))


async def test_the_commands_are_within_what_discord_takes() -> None:
    commands = await told()
    assert len(commands) + 3 <= 100, "three are made by hand"
    for each in commands:
        assert size(each) <= 8_000, each["name"]
        for group in [each, *each["options"]]:
            assert len(group.get("options", ())) <= 25, group["name"]
    assert all(len(shown.split()) <= 3 for shown in slash_names().values())


async def test_members_see_a_short_list_and_nothing_that_is_not_theirs() -> None:
    commands = await told()
    seen = {each["name"] for each in commands if each["default_member_permissions"] is None}
    assert {each["name"]: each["default_member_permissions"] for each in commands if each["name"] not in seen} == {
        name: discord.Permissions(manage_guild=True).value for name in HIDDEN
    }
    assert len(seen) <= 12
    for declared in every().operations.values():
        shown = slash_names().get(" ".join(declared.words))
        if shown is not None and shown.split()[0] in seen:
            needed = [declared.needs, *(each.needs for each in declared.parameters if Via.DISCORD in each.via)]
            assert {each.least for each in needed if each is not None} == {Rank.PERSON}, shown


def test_words_name_a_command_as_it_is_called_there() -> None:
    person = PersonId("discord:1")
    alone = Spoken(PlaceId("discord:user:1"), Scope(PUBLIC))
    caller = Caller(Approver(person), Via.DISCORD, Scope(PUBLIC), alone, Trust.STRANGER, commands=slash_names())
    assert caller.command("pair approve ABCD") == "`/owner pair approve ABCD`"
    assert caller.command("privacy resume") == "`/privacy resume`"
    assert operation_words("memory archival add") == "archival add", "which keeps words"
    assert operation_words("chat agent") == "chat agent"
