"""Commands, buttons, menus and forms through the test server, with a plain discord.py client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest
from discord import app_commands, ui

from tests.wire.discord import Impossible, Upload
from tests.wire.discord_stage import Bot, Stage

Incoming = discord.Interaction[Any]
memory = app_commands.Group(name="memory", description="what is remembered")
deep = app_commands.Group(name="deep", description="further down", parent=memory)


@memory.command(name="show", description="show a block")
async def show(interaction: Incoming, label: str, times: app_commands.Range[int, 1, 3] = 1) -> None:
    await interaction.response.send_message(f"{label} x{times}", ephemeral=True)


@show.autocomplete("label")
async def suggest(_: Incoming, typed: str) -> list[app_commands.Choice[str]]:
    names = ["human", "humour", "persona"]
    return [app_commands.Choice(name=n.title(), value=n) for n in names if n.startswith(typed)]


@deep.command(name="dig", description="a command in a group in a group")
async def dig(interaction: Incoming, who: discord.Member, where: discord.TextChannel, what: discord.Attachment) -> None:
    data = await what.read()
    await interaction.response.send_message(f"{who.display_name} {where.name} {what.filename} {len(data)}")


@app_commands.command(description="answers late")
async def slow(interaction: Incoming) -> None:
    await interaction.response.defer(ephemeral=True, thinking=True)
    await interaction.followup.send("first", ephemeral=True)
    await interaction.followup.send("second", ephemeral=True)
    await interaction.edit_original_response(content="first, corrected")


@app_commands.command(description="answers for all, then takes it back")
async def open_slow(interaction: Incoming) -> None:
    await interaction.response.defer()
    await interaction.edit_original_response(content="for all")
    sent = await interaction.followup.send("more", wait=True)
    await sent.edit(content="even more")
    assert (await interaction.original_response()).content == "for all"


@app_commands.command(description="never answers")
async def silent(interaction: Incoming) -> None:
    return


@app_commands.command(description="for those who manage the server")
@app_commands.default_permissions(manage_guild=True)
@app_commands.guild_only()
async def rule(interaction: Incoming) -> None:
    await interaction.response.send_message("ruled")


class Panel(ui.View):
    """A button, a dead one, one that opens a form, and a menu."""

    def __init__(self) -> None:
        super().__init__(timeout=None)

    @ui.button(label="Yes", custom_id="panel:yes", style=discord.ButtonStyle.green)
    async def yes(self, interaction: Incoming, _: ui.Button[Panel]) -> None:
        await interaction.response.edit_message(content=f"yes from {interaction.user.name}", view=None)

    @ui.button(label="Later", custom_id="panel:later", disabled=True)
    async def later(self, interaction: Incoming, _: ui.Button[Panel]) -> None:
        raise AssertionError

    @ui.button(label="Quiet", custom_id="panel:quiet")
    async def quiet(self, interaction: Incoming, _: ui.Button[Panel]) -> None:
        await interaction.response.defer()

    @ui.button(label="Form", custom_id="panel:form")
    async def form(self, interaction: Incoming, _: ui.Button[Panel]) -> None:
        await interaction.response.send_modal(Form())

    @ui.select(custom_id="panel:pick", options=[discord.SelectOption(label=x) for x in ("red", "blue")])
    async def pick(self, interaction: Incoming, menu: ui.Select[Panel]) -> None:
        await interaction.response.send_message(f"picked {menu.values[0]}", ephemeral=True)

    @ui.select(cls=ui.UserSelect, custom_id="panel:who")
    async def who(self, interaction: Incoming, menu: ui.UserSelect[Panel]) -> None:
        await interaction.response.send_message(f"chose {menu.values[0].display_name}")


class Form(ui.Modal, title="A form"):
    note: ui.Label[Form] = ui.Label(text="Note", component=ui.TextInput(custom_id="note", max_length=10))
    old = ui.TextInput[Any](label="Old style", custom_id="old", required=False)

    async def on_submit(self, interaction: Incoming) -> None:
        assert isinstance(self.note.component, ui.TextInput)
        await interaction.response.send_message(f"{self.note.component.value}/{self.old.value}")


@app_commands.command(description="shows the panel")
async def panel(interaction: Incoming, hidden: bool = False) -> None:
    await interaction.response.send_message("panel", view=Panel(), ephemeral=hidden)


@app_commands.command(description="opens a form")
async def form(interaction: Incoming) -> None:
    await interaction.response.send_modal(Form())


@app_commands.context_menu(name="Why")
async def why(interaction: Incoming, message: discord.Message) -> None:
    await interaction.response.send_message(f"because {message.content}", ephemeral=True)


@app_commands.context_menu(name="Greet")
async def greet(interaction: Incoming, user: discord.Member) -> None:
    await interaction.response.send_message(f"hello {user.display_name}")


@pytest.fixture
async def synced(stage: Stage) -> AsyncIterator[Stage]:
    offered: list[Any] = [memory, slow, open_slow, silent, rule, panel, form, why, greet]
    for command in offered:
        stage.bot.tree.add_command(command)
    await stage.bot.tree.sync()
    yield stage
    stage.bot.tree.clear_commands(guild=None)


async def test_commands_are_synced_and_keep_their_ids(synced: Stage) -> None:
    before = {command["name"]: command["id"] for command in synced.server.commands}
    assert before.keys() >= {"memory", "slow", "Why"}
    await synced.bot.tree.sync()
    assert {command["name"]: command["id"] for command in synced.server.commands} == before
    assert [c.name for c in await synced.bot.tree.fetch_commands()] == list(before)


async def test_guild_commands_live_in_their_guild(stage: Stage) -> None:
    home = discord.Object(stage.guild.id)
    stage.bot.tree.add_command(slow, guild=home)
    await stage.bot.tree.sync(guild=home)
    assert [c["name"] for c in stage.server.guild_commands(stage.guild)] == ["slow"]
    assert (await stage.ana.command("slow", channel=stage.general)).ephemeral
    with pytest.raises(Impossible):
        await stage.ana.command("slow")


async def test_a_command_answers_only_the_person(synced: Stage) -> None:
    answered = await synced.ana.command("memory show", {"label": "human", "times": 2}, synced.general)
    assert (answered.text, answered.ephemeral, answered.failed) == ("human x2", True, False)
    assert synced.general.messages == []
    assert (await synced.ana.command("memory show", {"label": "x"})).text == "x x1"


async def test_options_can_be_persons_places_and_files(synced: Stage) -> None:
    upload = Upload("a.bin", b"12345")
    options = {"who": synced.ana, "where": synced.general, "what": upload}
    answered = await synced.ana.command("memory deep dig", options, synced.general)
    assert answered.text == "Annie general a.bin 5"
    assert synced.general.messages == [answered.message]


async def test_suggestions(synced: Stage) -> None:
    choices = await synced.ana.autocomplete("memory show", "label", "hum", synced.general)
    assert [(choice.name, choice.value) for choice in choices] == [("Human", "human"), ("Humour", "humour")]


async def test_a_deferred_answer_is_filled_by_the_first_followup(synced: Stage) -> None:
    answered = await synced.ana.command("slow", channel=synced.general)
    assert (answered.deferred, answered.ephemeral) == (True, True)
    await synced.server.until(lambda: answered.text == "first, corrected")
    assert [(m.text, m.ephemeral) for m in answered.followups] == [("second", True)]
    assert synced.general.messages == []


async def test_a_deferred_answer_for_all(synced: Stage) -> None:
    answered = await synced.ana.command("open_slow", channel=synced.general)
    await synced.server.until(lambda: [m.text for m in answered.followups] == ["even more"])
    assert [m.text for m in synced.general.messages] == ["for all", "even more"]


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


async def test_buttons_and_menus(synced: Stage) -> None:
    shown = (await synced.ana.command("panel", channel=synced.general)).message
    assert shown is not None
    assert [button["label"] for button in shown.buttons] == ["Yes", "Later", "Quiet", "Form"]
    with pytest.raises(Impossible, match="cannot be pressed"):
        await synced.ana.press(shown, "Later")
    with pytest.raises(Impossible, match="no 'Never'"):
        await synced.ana.press(shown, "Never")
    assert (await synced.ana.press(shown, "Quiet")).kind == 6
    picked = await synced.ana.select(shown, "panel:pick", "blue")
    assert (picked.text, picked.ephemeral) == ("picked blue", True)
    assert (await synced.ana.select(shown, "panel:who", synced.ana)).text == "chose Annie"
    assert (await synced.ana.press(shown, "panel:yes")).message is shown
    assert (shown.content, shown.buttons) == ("yes from ana", [])


async def test_a_hidden_panel_is_only_for_its_person(synced: Stage) -> None:
    ben = synced.server.person("ben")
    synced.guild.add(ben)
    shown = (await synced.ana.command("panel", {"hidden": True}, synced.general)).message
    assert shown is not None
    with pytest.raises(Impossible, match="not to be seen"):
        await ben.press(shown, "Yes")
    await synced.ana.press(shown, "Yes")
    assert shown.content == "yes from ana"


async def test_forms_from_a_command_and_from_a_button(synced: Stage) -> None:
    opened = await synced.ana.command("form", channel=synced.general)
    assert opened.modal is not None
    assert (opened.modal.title, sorted(opened.modal.inputs)) == ("A form", ["note", "old"])
    sent = await synced.ana.submit_modal(opened, {"Note": "milk", "Old style": "yes"})
    assert sent.text == "milk/yes"
    with pytest.raises(Impossible, match="wrong length"):
        await synced.ana.submit_modal(opened, {"note": "x" * 11})
    with pytest.raises(Impossible, match="must be filled in"):
        await synced.ana.submit_modal(opened, {})
    shown = (await synced.ana.command("panel", channel=synced.general)).message
    assert shown is not None
    again = await synced.ana.press(shown, "Form")
    assert (await synced.ana.submit_modal(again, {"note": "tea"})).text == "tea/"


async def test_context_menus(synced: Stage) -> None:
    said = await synced.ana.say(synced.general, "I say so")
    answered = await synced.ana.menu("Why", said)
    assert (answered.text, answered.ephemeral) == ("because I say so", True)
    assert (await synced.ana.menu("Greet", synced.ana, synced.general)).text == "hello Annie"


async def test_an_old_button_works_after_a_restart(synced: Stage) -> None:
    shown = (await synced.ana.command("panel", channel=synced.general)).message
    assert shown is not None
    await synced.bot.close()
    fresh = Bot(discord.Intents.all())
    fresh.add_view(Panel())
    async with synced.running(fresh):
        await synced.ana.press(shown, "Yes")
    assert shown.content == "yes from ana"


class Board(ui.LayoutView):
    """Components of the second version."""

    box: ui.Container[Board] = ui.Container(
        ui.TextDisplay("# Board"),
        ui.Separator(),
        ui.Section("press it", accessory=ui.Button(label="Inside", custom_id="board:inside")),
        accent_colour=0xFF0000,
    )

    async def interaction_check(self, interaction: Incoming) -> bool:
        await interaction.response.send_message("pressed inside")
        return False


async def test_layouts_are_kept_and_pressed(stage: Stage) -> None:
    await stage.place().send(view=Board())
    shown = await stage.general.wait_for_bot()
    assert shown.text == "# Board\npress it"
    assert (await stage.ana.press(shown, "Inside")).text == "pressed inside"


@app_commands.command(description="works without the bot being there")
@app_commands.user_install()
async def anywhere(interaction: Incoming) -> None:
    await interaction.response.send_message(f"user install: {interaction.is_user_integration()}")


async def test_user_installed_commands_work_without_the_bot(stage: Stage) -> None:
    stage.bot.tree.add_command(anywhere)
    await stage.bot.tree.sync()
    elsewhere = stage.server.guild("Elsewhere", with_bot=False)
    elsewhere.add(stage.ana)
    lobby = elsewhere.text_channel("lobby")
    with pytest.raises(Impossible, match="not installed"):
        await stage.ana.command("anywhere", channel=lobby)
    stage.ana.installed = True
    assert (await stage.ana.command("anywhere", channel=lobby)).text == "user install: True"
    assert [m.text for m in lobby.from_bot] == ["user install: True"]


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
