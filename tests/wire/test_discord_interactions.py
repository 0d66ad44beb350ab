"""Commands, buttons, menus and forms through the test server, with a plain discord.py client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest
from discord import app_commands, ui

from tests.wire.discord import Impossible
from tests.wire.discord_stage import Bot, Stage

Incoming = discord.Interaction[Any]
memory = app_commands.Group(name="memory", description="what is remembered")


@memory.command(name="show", description="show a block")
async def show(interaction: Incoming, label: str, times: app_commands.Range[int, 1, 3] = 1) -> None:
    await interaction.response.send_message(f"{label} x{times}", ephemeral=True)


@app_commands.command(description="never answers")
async def silent(interaction: Incoming) -> None:
    return


@app_commands.command(description="for those who manage the server")
@app_commands.default_permissions(manage_guild=True)
@app_commands.guild_only()
async def rule(interaction: Incoming) -> None:
    await interaction.response.send_message("ruled")


class Panel(ui.View):
    @ui.button(label="Yes", custom_id="panel:yes")
    async def yes(self, interaction: Incoming, _: ui.Button[Panel]) -> None:
        await interaction.response.edit_message(content=f"yes from {interaction.user.name}", view=None)


@app_commands.command(description="shows the panel")
async def panel(interaction: Incoming, hidden: bool = False) -> None:
    await interaction.response.send_message("panel", view=Panel(), ephemeral=hidden)


@pytest.fixture
async def synced(stage: Stage) -> AsyncIterator[Stage]:
    offered: list[Any] = [memory, silent, rule, panel]
    for command in offered:
        stage.bot.tree.add_command(command)
    await stage.bot.tree.sync()
    yield stage
    stage.bot.tree.clear_commands(guild=None)


async def test_no_answer_in_time_is_a_failure_and_later_10062(synced: Stage) -> None:
    synced.server.settings.answer_seconds = 0.2
    answered = await synced.ana.command("silent", channel=synced.general)
    assert answered.failed
    caught = await late_error(synced.bot, synced)
    assert (caught.status, caught.code) == (404, 10062)


async def late_error(bot: Bot, stage: Stage) -> discord.HTTPException:
    """What an answer after its time gives."""
    loop = asyncio.get_running_loop()
    given: asyncio.Future[discord.HTTPException] = loop.create_future()

    @app_commands.command(description="too late")
    async def late(interaction: Incoming) -> None:
        stage.server.settings.answer_seconds = 0.0
        try:
            await interaction.response.send_message("late")
        except discord.HTTPException as error:
            given.set_result(error)

    bot.tree.add_command(late)
    await bot.tree.sync()
    stage.server.settings.answer_seconds = 0.2
    await stage.ana.command("late", channel=stage.general)
    return await given


async def test_a_second_answer_gives_40060_and_an_old_token_50027(synced: Stage) -> None:
    codes: list[int] = []

    @app_commands.command(description="answers twice")
    async def twice(interaction: Incoming) -> None:
        with pytest.raises(discord.HTTPException) as caught:
            await interaction.followup.send("too early")
        codes.append(caught.value.code)
        await interaction.response.send_message("once")
        interaction.response._response_type = None
        with pytest.raises(discord.HTTPException) as caught:
            await interaction.response.send_message("twice")
        codes.append(caught.value.code)
        synced.server.settings.token_seconds = 0.0
        with pytest.raises(discord.HTTPException) as caught:
            await interaction.followup.send("after hours")
        codes.append(caught.value.code)
        synced.server.world.changes.notify()

    synced.bot.tree.add_command(twice)
    await synced.bot.tree.sync()
    await synced.ana.command("twice", channel=synced.general)
    await synced.server.until(lambda: codes if len(codes) == 3 else None)
    assert codes == [10015, 40060, 50027]


async def test_a_person_gets_only_what_is_offered(synced: Stage) -> None:
    with pytest.raises(Impossible, match="no command 'nothing'"):
        await synced.ana.command("nothing", channel=synced.general)
    with pytest.raises(Impossible, match="no 'hide'"):
        await synced.ana.command("memory hide", channel=synced.general)
    with pytest.raises(Impossible, match="needs"):
        await synced.ana.command("memory show", channel=synced.general)
    with pytest.raises(Impossible, match="between"):
        await synced.ana.command("memory show", {"label": "x", "times": 4}, synced.general)
    with pytest.raises(Impossible, match="permissions"):
        await synced.ana.command("rule", channel=synced.general)
    with pytest.raises(Impossible, match="this kind of place"):
        await synced.ana.command("rule")
    synced.guild.change(synced.ana, roles=[synced.guild.role("boss", "manage_guild")])
    assert (await synced.ana.command("rule", channel=synced.general)).text == "ruled"


async def test_a_hidden_panel_is_only_for_its_person(synced: Stage) -> None:
    ben = synced.server.person("ben")
    synced.guild.add(ben)
    shown = (await synced.ana.command("panel", {"hidden": True}, synced.general)).message
    assert shown is not None
    with pytest.raises(Impossible, match="not to be seen"):
        await ben.press(shown, "Yes")
    await synced.ana.press(shown, "Yes")
    assert shown.content == "yes from ana"


async def test_what_the_description_forbids_is_refused(stage: Stage) -> None:
    if not stage.server.checked:
        pytest.skip("no OpenAPI description")
    view = ui.View()
    view.add_item(ui.Button(label="x" * 80, custom_id="c"))
    await stage.place().send("fits", view=view)
    view.add_item(ui.Button(label="x" * 81, custom_id="d"))
    with pytest.raises(discord.HTTPException, match="too long"):
        await stage.place().send("does not", view=view)
    assert "too long" in stage.server.violations.pop()
