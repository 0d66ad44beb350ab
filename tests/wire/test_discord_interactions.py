"""What Discord refuses of commands, buttons and forms, with a plain discord.py client; tests/service uses the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest
from discord import app_commands, ui

from tests.wire.discord import Impossible
from tests.wire.discord_stage import Stage

Incoming = discord.Interaction[Any]
memory = app_commands.Group(name="memory", description="what is remembered")


@memory.command(name="show", description="show a block")
async def show(interaction: Incoming, label: str, times: app_commands.Range[int, 1, 3] = 1) -> None:
    await interaction.response.send_message(f"{label} x{times}", ephemeral=True)


@app_commands.command(description="for those who manage the server")
@app_commands.default_permissions(manage_guild=True)
@app_commands.guild_only()
async def rule(interaction: Incoming) -> None:
    await interaction.response.send_message("ruled")


class Panel(ui.View):
    """A button, a dead one and one that opens a form."""

    def __init__(self) -> None:
        super().__init__(timeout=None)

    @ui.button(label="Yes", custom_id="panel:yes", style=discord.ButtonStyle.green)
    async def yes(self, interaction: Incoming, _: ui.Button[Panel]) -> None:
        await interaction.response.edit_message(content=f"yes from {interaction.user.name}", view=None)

    @ui.button(label="Later", custom_id="panel:later", disabled=True)
    async def later(self, interaction: Incoming, _: ui.Button[Panel]) -> None:
        raise AssertionError

    @ui.button(label="Form", custom_id="panel:form")
    async def form(self, interaction: Incoming, _: ui.Button[Panel]) -> None:
        await interaction.response.send_modal(Form())


class Form(ui.Modal, title="A form"):
    note: ui.Label[Form] = ui.Label(text="Note", component=ui.TextInput(custom_id="note", max_length=10))
    old = ui.TextInput[Any](label="Old style", custom_id="old", required=False)

    async def on_submit(self, interaction: Incoming) -> None:
        assert isinstance(self.note.component, ui.TextInput)
        await interaction.response.send_message(f"{self.note.component.value}/{self.old.value}")


@app_commands.command(description="shows the panel to one person")
async def panel(interaction: Incoming) -> None:
    await interaction.response.send_message("panel", view=Panel(), ephemeral=True)


@pytest.fixture
async def synced(stage: Stage) -> AsyncIterator[Stage]:
    offered: list[Any] = [memory, rule, panel]
    for command in offered:
        stage.bot.tree.add_command(command)
    await stage.bot.tree.sync()
    yield stage
    stage.bot.tree.clear_commands(guild=None)


async def test_an_answer_too_late_or_twice_or_with_an_old_token_has_its_code(synced: Stage) -> None:
    codes: list[int] = []
    settings = synced.server.settings

    @app_commands.command(description="answers after its time")
    async def late(interaction: Incoming) -> None:
        settings.answer_seconds = 0.0
        with pytest.raises(discord.NotFound) as caught:
            await interaction.response.send_message("late")
        codes.append(caught.value.code)
        synced.server.world.changes.notify()

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
        settings.token_seconds = 0.0
        with pytest.raises(discord.HTTPException) as caught:
            await interaction.followup.send("after hours")
        codes.append(caught.value.code)
        synced.server.world.changes.notify()

    synced.bot.tree.add_command(late)
    synced.bot.tree.add_command(twice)
    await synced.bot.tree.sync()
    await synced.ana.command("twice", channel=synced.general)
    await synced.server.until(lambda: len(codes) == 3)
    settings.answer_seconds = 0.2
    assert (await synced.ana.command("late", channel=synced.general)).failed
    await synced.server.until(lambda: len(codes) == 4)
    assert codes == [10015, 40060, 50027, 10062]


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


async def test_a_panel_for_one_person_offers_only_what_can_be_pressed_and_filled_in(synced: Stage) -> None:
    ben = synced.server.person("ben")
    synced.guild.add(ben)
    shown = (await synced.ana.command("panel", channel=synced.general)).message
    assert shown is not None
    for person, button, why in (
        (ben, "Yes", "not to be seen"),
        (synced.ana, "Later", "cannot be pressed"),
        (synced.ana, "Never", "no 'Never'"),
    ):
        with pytest.raises(Impossible, match=why):
            await person.press(shown, button)
    opened = await synced.ana.press(shown, "Form")
    with pytest.raises(Impossible, match="wrong length"):
        await synced.ana.submit_modal(opened, {"note": "x" * 11})
    with pytest.raises(Impossible, match="must be filled in"):
        await synced.ana.submit_modal(opened, {})
    assert (await synced.ana.submit_modal(opened, {"Note": "milk", "Old style": "yes"})).text == "milk/yes"
    assert (await synced.ana.press(shown, "panel:yes")).message is shown
    assert (shown.content, shown.buttons) == ("yes from ana", [])


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
