"""What holds for every command, button and form alike: who is answered, what is kept, and whatever is typed or late."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.service.live_service import (
    DISCORDS_SECONDS,
    DONE,
    NO_MERGING,
    Live,
    answered_within,
    as_seen,
    asking_service,
    refused,
    started,
    told_beside,
    until,
)
from tests.wire.discord import Answered, Channel, Impossible, Person
from tests.wire.discord.messages import parts
from tests.wire.model import Answer, Call, Calls

KEEPING: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("tasks add", {"title": "buy zebras"}),
    ("remind me", {"text": "feed the zebras", "when": "in 20 minutes"}),
    ("events add", {"title": "zebras arrive", "when": "tomorrow at 9"}),
    ("facts add", {"fact": "I like zebras very much"}),
    ("my state", {"state": "zebras"}),
    ("chat agent", {"name": "Carina", "text": "hello zebras"}),
    ("memory archival add", {}),
)
"""Commands that take words; a form has none before it is opened."""
ALONE = {
    "admin halt now",
    "admin halt release",
    "privacy erase",
    "privacy pause",
    "privacy optout",
    "owner restart",
    "owner source pause",
}
"""Commands that would end the tour of all of them."""


async def test_who_is_shut_out_decides_nothing_by_a_button_either(tmp_path: Path) -> None:
    eves: list[Person] = []

    def settle(t: Live) -> str:
        eves.append(t.member("Eve"))
        return f'[discord.admins]\npersons = ["{eves[0].id}"]'

    async with asking_service(tmp_path, discord=settle) as t:
        (eve,), content = eves, "The kiwi is asleep."
        channel = t.guild.text_channel("hall")
        card = await t.waiting(t.ana, channel, content, DONE)
        request = t.request_of(content)
        await t.olga.command("owner people deny", {"person": eve})
        for verdict in ("Allow once", "Deny", "Details"):
            refused(await eve.press(as_seen(card, channel), verdict), "You are blocked here.")
        assert t.status_of(request) == "waiting"
        assert t.record_of(request) == ["asked"]
        await t.olga.command("owner people forget", {"who": f"discord:{eve.id}"})
        assert (await eve.press(as_seen(card, channel), "Allow once")).text.startswith("Allowed once")
        await t.finished(card, channel)
        assert t.times_kept(content) == 1


@pytest.mark.parametrize("who", ["opted out", "a stranger", "a stranger elsewhere"])
async def test_who_is_not_heard_is_not_kept_by_a_command_either(tmp_path: Path, who: str) -> None:
    async with started(tmp_path, f'{NO_MERGING}\ndm = "pair"') as t:
        zed = t.ana if who == "opted out" else t.server.person("zed", global_name="Zed")
        zed.installed = True
        place: Channel = t.general if who == "opted out" else zed.direct
        if who == "a stranger elsewhere":
            foreign = t.server.guild("Foreign", with_bot=False)
            foreign.add(zed)
            place = foreign.text_channel("foreign")
        opened = await t.olga.command("memory archival add")
        if who == "opted out":
            await zed.command("privacy optout", channel=place)
        words = (
            "You chose to have me neither keep nor answer what you say"
            if who == "opted out"
            else "You aren't allowed to talk to me here"
        )
        for command, options in KEEPING:
            answered = await zed.command(command, options, place)
            refused(answered, words)
        refused(await zed.command("my quiet", {"zone": "Asia/Tokyo"}, place), words)
        assert "Quiet hours: none" in (await zed.command("my quiet", channel=place)).text, "to look keeps nothing"
        assert opened.modal is not None
        refused(await zed.submit_modal(opened, {"text": "zebras live here"}, place), words)
        assert t.holding("zebras") == []
        assert place.from_bot == []
        assert t.model.requests == []
        if who == "opted out":
            await zed.command("privacy resume", channel=place)
            assert "zebras" in (await zed.command("tasks add", {"title": "buy zebras"}, place)).text


async def test_a_secret_that_somebody_says_is_stored_shown_and_sent_nowhere(t: Live) -> None:
    token, key, olga = t.server.token, t.model.api_key, t.olga
    t.model.script(
        Calls(Call("recall", {"operation": "insert", "content": f"It is {token}."})), Answer(f"It was {key}.")
    )
    assert (await t.ask(olga, olga.direct, f"my secrets are {token} and {key}")).text == "It was [secret]."
    form = await olga.command("memory archival add")
    await olga.submit_modal(form, {"text": f"keep {token} for me", "label": "kept"})
    assert "keep \\[secret\\] for me" in (await olga.command("memory archival show", {"entry": "kept"})).text
    edit = await olga.command("memory edit", {"label": "persona"})
    await olga.submit_modal(edit, {"text": f"I know {token}"})
    assert "I know [secret]" in (await olga.command("memory show", {"label": "persona"})).text
    for command, options in (
        ("tasks add", {"title": f"use {token}"}),
        ("remind me", {"text": f"say {key}", "when": "in 20 minutes"}),
        ("facts add", {"fact": f"my key is {key}"}),
        ("admin coord note", {"note": f"the key is {key}"}),
    ):
        assert (await olga.command(command, options)).ephemeral
    t.model.script(Answer("I see."))
    said = await olga.command("chat agent", {"name": "Carina", "text": f"it is {key}"}, t.general)
    assert said.text == "**To Carina:** it is [secret]"
    await t.general.wait_for_bot(lambda m: m.text == "I see.")
    assert t.holding(token, key) == []
    assert [line for line in t.service.lines if token in line or key in line] == []
    assert [sent.path for sent in t.server.requests if token in str(sent.body) or key in str(sent.body)] == []
    assert [asked for asked in t.model.requests if token in str(asked.body) or key in str(asked.body)] == []


@pytest.mark.parametrize("running", [False, True])
async def test_a_secret_on_the_command_line_is_stored_nowhere(tmp_path: Path, running: bool) -> None:
    async with started(tmp_path) as t:
        if not running:
            await t.service.stop()
        token, key = t.server.token, t.model.api_key
        for command in (
            ("archival", "add", f"keep {token} for me", "--label", "kept"),
            ("memory", "edit", "persona", "--text", f"I know {key}"),
            ("tasks", "add", f"use {token}"),
            ("facts", "add", f"my key is {key}"),
            ("coord", "note", f"the key is {key}"),
        ):
            await t.service.said(*command)
        assert "keep [secret] for me" in await t.service.said("archival", "show", "kept")
        assert t.holding(token, key) == []


# ------------------------------------------------------------------------------------------------ whatever is typed


def leaves(command: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The commands that can be given, with their options."""
    name = f"{before} {command['name']}".strip()
    below = [option for option in command.get("options", ()) if option["type"] in (1, 2)]
    for each in below:
        yield from leaves(each, name)
    if not below and command["type"] == 1:
        yield name, list(command.get("options", ()))


def typed(option: Mapping[str, Any], text: str, t: Live) -> Any:
    """A value that Discord lets through for an option, as unpleasant as it may be."""
    if option.get("choices"):
        return option["choices"][-1]["value"]
    match option["type"]:
        case 3:
            return f"{text}{'z' * option.get('min_length', 0)}"[: option.get("max_length", 6000)]
        case 4 | 10:
            return option["max_value" if text else "min_value"] if "max_value" in option else 2**53 - 1
        case 5:
            return True
        case 6:
            return t.ana
        case 7:
            return t.general
        case _:
            return t.guild.role("some")


@pytest.mark.parametrize("late", [False, True])
async def test_every_command_answers_who_gave_it_alone_whatever_is_typed(tmp_path: Path, late: bool) -> None:
    """Too late for Discord they do nothing that breaks; in time each is answered, to one person."""
    async with started(tmp_path) as t:
        t.model.default = lambda _request: Answer("I see.")
        t.server.settings.answer_seconds = 0.0 if late else 30.0  # many at once: how fast they are is not the question
        places: tuple[tuple[Person, Channel], ...] = ((t.olga, t.general), (t.ana, t.ana.direct))
        count = 0
        for command in await t.server.wait_for_commands():
            for name, options in leaves(command):
                for text in ("9" * 20, "`@everyone` <@&1> \u202e```\n# \\", "' OR 1=1 --" * 500, "-1")[
                    : 1 if late else 4
                ]:
                    for person, place in places if name not in ALONE else ():
                        named = options if place is t.general else [each for each in options if each["type"] != 7]
                        values = {each["name"]: typed(each, text, t) for each in named}
                        try:
                            answered = await person.command(name, values, place, timeout=60)
                        except Impossible:  # a role or a channel, named in direct messages
                            continue
                        count += 1
                        assert answered.failed if late else proper(name, answered), (name, text)
        assert count > 50


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "name", ["help", "admin status", "why", "memory list", "privacy see", "permits list", "tasks list"]
)
async def test_a_command_alone_is_answered_in_the_three_seconds_that_discord_gives(
    offline_service: Live, name: str
) -> None:
    t = offline_service
    with answered_within(t, DISCORDS_SECONDS):
        assert proper(name, await t.olga.command(name, {}, t.general))


def proper(name: str, answered: Answered) -> bool:
    """Whether an answer came, to who asked alone; what is said with `/chat` is for all."""
    return answered.modal is not None or (bool(answered.text) and (answered.ephemeral or name.startswith("chat ")))


async def test_a_halt_holds_though_discord_takes_no_answer_any_more(t: Live) -> None:
    with answered_within(t, 1.0):
        t.server.faults.hold_events()
        assert (await t.olga.command("admin halt now")).failed
        t.server.faults.release_events()
        await t.service.logged("agents_halted")
    await until(lambda: t.server.gateway.presences[-1:] == [("dnd", ["Halted"])])
    assert "halted since" in (await t.olga.command("admin status")).text


async def test_a_form_from_before_a_restart_is_heard_after_it_and_a_question_is_over(t: Live) -> None:
    form = await t.olga.command("memory archival add")
    question = (await t.olga.command("privacy erase")).shown
    await t.service.restart(kill=True)
    kept = await t.olga.submit_modal(form, {"text": "Olga keeps a quagga.", "label": "quagga"})
    assert kept.text == "Carina will remember it as quagga."
    await t.olga.press(question, "Yes, do it")
    await t.server.until(lambda: "was already answered or has expired" in question.text and not question.buttons)
    question = (await t.olga.command("privacy erase")).shown
    await t.olga.press(question, "No")
    await t.server.until(lambda: question.text == "Nothing was done." and not question.buttons)
    assert "Olga keeps a quagga." in (await t.olga.command("memory archival show", {"entry": "quagga"})).text


async def test_a_list_has_pages_and_what_can_be_done_with_one_of_its_things_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with started(tmp_path, scripted=False) as t:
        for number in range(1, 26):
            await t.ana.command("tasks add", {"title": f"buy *zebra* {number}"})
        listed = (await t.ana.command("tasks list")).shown
        assert "Page 1 of 2" in listed.text
        assert listed.components[0]["accent_color"], "a container with a color"
        await t.service.restart(kill=True)
        await t.ana.press(listed, "▶")
        await until(lambda: "Page 2 of 2" in listed.text)
        assert r"buy \*zebra\* 25" in listed.text
        with pytest.raises(Impossible):  # what can be chosen is what the page shows
            await t.ana.select(listed, "Choose one", "buy *zebra* 2")
        chosen = (await t.ana.select(listed, "Choose one", "buy *zebra* 22")).shown
        assert {each["label"]: each["style"] for each in chosen.buttons} == {"Mark as done": 2, "Cancel task": 4}
        earlier = as_seen(chosen)
        await t.ana.press(chosen, "Mark as done")
        assert (await t.final(chosen)).startswith("Done: buy")
        assert "task" in await told_beside(await t.ana.press(earlier, "Mark as done"))
        assert earlier.buttons, "what was not done is offered as before"
        assert (await t.ana.command("facts list")).shown.buttons == []
        await t.ana.command("facts add", {"fact": "I like *zebras*"})
        known = (await t.ana.command("facts list")).shown
        (fact,) = [each["options"][0]["value"] for each in parts(known.components) if each.get("options")]
        chosen = (await t.ana.select(known, "Choose one", fact)).shown
        form = await t.ana.press(chosen, "Correct")
        assert form.modal is not None
        assert form.modal.inputs["text"]["value"] == "I like *zebras*"
        await t.ana.submit_modal(form, {"text": "I like *gnus*"})
        assert "gnus" in await t.final(chosen)
        known = (await t.ana.command("facts list")).shown
        assert "zebras" not in known.text
        assert "Annie" not in known.text, "what she said herself needs no name"
        (fact,) = [each["options"][0]["value"] for each in parts(known.components) if each.get("options")]
        chosen = (await t.ana.select(known, "Choose one", fact)).shown
        await t.ana.press(chosen, "Forget")
        assert (await t.final(chosen)).startswith("Forgotten")
        blocks = (await t.ana.command("memory list")).shown
        assert "memory show" not in blocks.text, "a button shows a block"
        (persona,) = [
            each["value"]
            for part in parts(blocks.components)
            for each in part.get("options", ())
            if each["label"] == "persona"
        ]
        chosen = (await t.ana.select(blocks, "Choose one", persona)).shown
        assert "Who the agent is and how it behaves" in (await t.ana.press(chosen, "Show")).text
        await t.ana.command("tasks add", {"title": "move"})
        for number in range(25):
            await t.ana.command("tasks add", {"title": f"box {number}", "under": "move"})
        await t.ana.command("tasks template save", {"name": "house", "task": "move"})
        used = (await t.ana.command("tasks template use", {"name": "house", "title": "again"})).shown
        assert "box 24" in used.text
        assert used.buttons == [], "turning its pages would add the tasks again"
        for listing, one, offered in (
            ("admin jobs list", "backup", {"Resume", "Run now"}),
            ("admin jobs list", "backup", {"Pause", "Run now"}),
            ("owner source list", "discord", {"Pause"}),
            ("owner source list", "discord", {"Resume"}),
        ):
            chosen = (await t.olga.select((await t.olga.command(listing)).shown, "Choose one", one)).shown
            assert {each["label"] for each in chosen.buttons} == offered
            await t.olga.press(chosen, min(offered - {"Run now"}))
            await t.final(chosen)
