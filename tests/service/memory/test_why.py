"""Why an answer was given, over real sockets: the command, the menu, what is pressed, chosen and filled in."""

from pathlib import Path

import pytest

from tests.service.live_service import ANSWER_SECONDS, Live, answered_within, as_seen, forge, started, told_beside
from tests.wire.discord import Channel, Message, Person
from tests.wire.discord.messages import parts
from tests.wire.model import Answer, Call, Calls

UPDATES = 6
"""How an answer begins that is to change the message under which something was pressed."""
MENU, PICK = "Why did you say this?", "Choose a memory to change"
pytestmark = pytest.mark.asyncio(loop_scope="module")


def entry_with(t: Live, content: str) -> str:
    return str(t.rows("SELECT id FROM archival_entries WHERE content = ?", content)[0][0])


async def answered(t: Live, person: Person, channel: Channel, content: str, word: str) -> tuple[Message, Message]:
    """Something is kept, and an answer made from it; gives what the person had said, and the answer."""
    t.model.script(
        Calls(Call("recall", {"operation": "insert", "content": content})),
        Answer("Kept."),
        Calls(Call("search", {"query": word, "domain": "archival_memory"})),
        Answer(f"About the {word}."),
    )
    told = await person.say(channel, f"<@bot> do keep that of the {word}")
    await channel.wait_for_bot(after=told)
    return told, await t.ask(person, channel, f"<@bot> what of the {word}?")


async def test_the_menu_shows_what_an_answer_was_made_from_and_what_can_be_done(scripted: Live) -> None:
    t, content = scripted, "Ana keeps a quagga in the barn."
    channel = t.guild.text_channel("quagga")
    told, answer = await answered(t, t.ana, channel, content, "quagga")
    shown = (await t.ana.menu(MENU, answer)).shown
    assert f"> {content}" in shown.text
    assert f"https://discord.com/channels/{t.guild.id}/{channel.id}/{told.id}" in shown.text
    assert "by you in \\#quagga in Home; everyone on that server can read it" in shown.text
    assert "Tools used: search." in shown.text
    assert [button["label"] for button in shown.buttons] == ["Forget", "Correct", "Only in direct messages"]
    assert (await t.ana.command("why", channel=channel)).text == shown.text
    link = f"https://discord.com/channels/{t.guild.id}/{channel.id}/{answer.id}"
    assert (await t.ana.command("why", {"message": link}, channel)).text == shown.text

    form = await t.ana.press(shown, "Correct")
    assert form.modal is not None
    assert form.modal.inputs["text"]["value"] == content
    await t.ana.submit_modal(form, {"What it should say": "Ana keeps a quagga in the shed."})
    assert (await t.final(shown)).startswith("Corrected.")
    late = await told_beside(await t.ana.submit_modal(form, {"text": "Ana keeps nothing."}))
    assert "It was changed after you opened the form, so your text was not saved." in late
    assert "Ana keeps nothing." in late, "what was written is not lost"
    assert shown.text.startswith("Corrected.")
    entry = entry_with(t, "Ana keeps a quagga in the shed.")
    shown = (await t.ana.menu(MENU, answer)).shown
    earlier = as_seen(shown)
    await t.ana.press(shown, "Only in direct messages")
    assert "only in our direct messages" in await t.final(shown)
    assert t.rows("SELECT audience FROM archival_entries WHERE id = ?", entry) == [(f"person:discord:{t.ana.id}",)]
    for_olga = await t.olga.menu(MENU, answer)
    assert "Ana keeps" not in for_olga.text
    assert "Tools used: search." in for_olga.text
    assert "1 memory that you cannot see here." in for_olga.text

    shown = as_seen(earlier)
    await t.ana.press(shown, "Forget")
    assert (await t.final(shown)).startswith("Forgotten.")
    assert "It may already be forgotten." in await told_beside(await t.ana.press(earlier, "Forget"))
    assert "1 memory since forgotten." in (await t.ana.menu(MENU, answer)).text
    assert t.rows("SELECT id FROM archival_entries WHERE id = ?", entry) == []


async def test_one_of_several_is_chosen_and_what_is_too_long_for_a_form_is_said(scripted: Live) -> None:
    t, channel = scripted, scripted.guild.text_channel("okapi")
    kept = ("Ana keeps an okapi.", "okapi " * 650)
    t.model.script(
        Calls(*(Call("recall", {"operation": "insert", "content": content}) for content in kept)),
        Answer("Kept."),
        Calls(Call("search", {"query": "okapi", "domain": "archival_memory"})),
        Answer("Two."),
    )
    await t.ask(t.ana, channel, "<@bot> do keep that")
    answer = await t.ask(t.ana, channel, "<@bot> what of it?")
    shown = (await t.ana.menu(MENU, answer)).shown
    long = entry_with(t, kept[1].strip())
    t.change("UPDATE archival_entries SET content = ? WHERE id = ?", "okapi " * 700, long)
    refused = await t.ana.press((await t.ana.select(shown, PICK, f"kind=entry&id={long}")).shown, "Correct")
    assert (refused.modal, "a form holds at most 4,000" in refused.text) == (None, True)
    chosen = (await t.ana.select(shown, PICK, f"kind=entry&id={entry_with(t, kept[0])}")).shown
    await t.ana.press(chosen, "Only in direct messages")
    assert "only in our direct messages" in await t.final(chosen)
    assert kept[0] not in (await t.olga.menu(MENU, answer)).text


@pytest.mark.parametrize(
    ("custom_id", "said"),
    [
        ("carina:call:why.forget:kind=entry&id=ent_nothing", "You cannot see this memory here."),
        ("carina:call:why.forget:kind=entry&id={theirs}", "You cannot see this memory here."),
        ("carina:call:why.erase:kind=entry&id={entry}", "This button no longer works."),
        ("carina:call:why.forget:kind=entry&id={entry}:; --", None),
    ],
)
async def test_a_made_up_button_does_nothing(scripted: Live, custom_id: str, said: str | None) -> None:
    t, content = scripted, f"Ana keeps a lynx ({custom_id})."
    channel, bea = t.guild.text_channel("lynx"), t.member("Bea")
    secret = f"Bea keeps a stoat ({custom_id})."
    t.model.script(Calls(Call("recall", {"operation": "insert", "content": secret})), Answer("Kept."))
    await t.ask(bea, bea.direct, "keep that to yourself")
    _told, answer = await answered(t, t.ana, channel, content, "lynx")
    shown = (await t.ana.menu(MENU, answer)).shown
    picked = [part for part in parts(shown.components) if part.get("placeholder") == PICK]
    if picked:  # earlier lynxes were found as well
        chosen = await t.ana.select(shown, PICK, f"kind=entry&id={entry_with(t, content)}")
        shown = chosen.shown
    named = custom_id.format(entry=entry_with(t, content), theirs=entry_with(t, secret))
    with answered_within(t, 1.0 if said is None else ANSWER_SECONDS):
        made = as_seen(shown)
        pressed = await t.ana.press(made, forge(made, "Forget", named))
    assert pressed.failed == (said is None)
    assert said is None or said in (pressed.text if pressed.kind != UPDATES else await told_beside(pressed))
    assert entry_with(t, content)
    assert entry_with(t, secret)


@pytest.mark.asyncio(loop_scope="function")
async def test_buttons_and_forms_from_before_a_kill_work_after_it(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        _told, answer = await answered(t, t.ana, t.general, "Ana keeps a dodo.", "dodo")
        shown = (await t.ana.menu(MENU, answer)).shown
        form = await t.ana.press(shown, "Correct")
        await t.service.restart(kill=True)
        earlier = as_seen(shown)
        await t.ana.submit_modal(form, {"text": "Ana keeps an auk."})
        assert (await t.final(shown)).startswith("Corrected.")
        entry_with(t, "Ana keeps an auk.")
        assert "Ana keeps an auk." in (await t.ana.command("why", channel=t.general)).text
        await t.ana.press(earlier, "Forget")
        assert (await t.final(earlier)).startswith("Forgotten.")
        assert t.rows("SELECT id FROM archival_entries") == []
