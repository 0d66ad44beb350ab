"""What an edit or a deletion takes along once the answer was given: entries, our words, requests and their cards."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory.erasure import blocks as block_erasure
from memory.erasure.blocks import remove_derived
from memory.queue.erasure_follow_ups import TRIES
from memory.store.database import Tx
from memory.store.records import replace
from tests.bot.parts import ScriptedModel, call, channel, deleted, edited, said, says
from tests.bot.requests import Bell, answer, ring, strokes, waiting
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running, until


def keeps(content: str) -> ScriptedModel:
    model = ScriptedModel(says("", call("recall", operation="insert", content=content)), says(f"Kept: {content}."))
    model.otherwise = says("")
    return model


async def entries(service: Service) -> list[str]:
    return await service.column("SELECT content FROM archival_entries WHERE archived_at IS NULL ORDER BY n")


async def everywhere(service: Service, word: str) -> list[str]:
    sql = """SELECT 'messages' FROM messages WHERE content || coalesce(tool_args, '') LIKE :word
        UNION SELECT 'archival_entries' FROM archival_entries WHERE content LIKE :word
        UNION SELECT 'outbox' FROM outbox WHERE content || detail LIKE :word
        UNION SELECT 'requests' FROM permission_requests WHERE arguments || reason || pattern LIKE :word
        UNION SELECT 'inbox' FROM inbox WHERE payload LIKE :word
        UNION SELECT 'blocks' FROM memory_blocks WHERE content LIKE :word"""
    return [row[0] for row in await service.read(lambda rows: rows.all(sql, {"word": f"%{word}%"}))]


async def test_the_agent_is_asked_to_store_anew_what_the_edit_took_away(tmp_path: Path) -> None:
    model = keeps("the bus is 17")
    async with running(tmp_path, Setting(model=model)) as service:
        await service.heard(said("remember that the bus is 17", 1))
        model.replies.append(says("", call("recall", "again", operation="insert", content="the bus is 18")))
        await service.heard(edited("remember that the bus is 18", 1))
        assert await entries(service) == ["the bus is 18"]
        assert "was removed" in model.requests[2].messages[-1].text
        assert "remember that the bus is 18" in model.requests[2].messages[-1].text
        assert len(service.platform.texts()) == 1  # it stayed silent
        await service.heard(edited("remember that the bus is 18", 1))  # heard twice, stored once
        assert len(await service.rows("SELECT 1 FROM inbox WHERE source = 'edit'")) == 1


async def test_what_was_stored_anew_follows_the_next_edit_and_the_deletion(tmp_path: Path) -> None:
    model = keeps("the bus is 17")
    async with running(tmp_path, Setting(model=model)) as service:
        await service.heard(said("remember that the bus is 17", 1))
        for number in (18, 19):
            content = f"the bus is {number}"
            model.replies += [says("", call("recall", f"c{number}", operation="insert", content=content)), says("")]
            await service.heard(edited(f"remember that {content}", 1, after=number))
            assert await entries(service) == [content]
        await service.heard(deleted(1))
        assert await entries(service) == []
        assert await everywhere(service, "bus is") == []


async def test_what_was_stored_with_a_yes_goes_with_the_message_that_it_came_from(tmp_path: Path) -> None:
    toml = '[[agents]]\nname = "Carina"\n[[agents.rules]]\nrule = "requires_consent"\ntool = "recall"\n'
    async with running(tmp_path, Setting(model=keeps("the bus is 17"), toml=toml)) as service:
        await service.heard(said("remember that the bus is 17", 1))
        assert await entries(service) == []
        await answer(service, await waiting(service))
        assert await entries(service) == ["the bus is 17"]
        await service.heard(deleted(1))
        assert await entries(service) == []
        assert await everywhere(service, "bus is") == []


def writes(*contents: str) -> ScriptedModel:
    """Each turn writes one of these into the agent's notes."""
    replies = [
        says("", call("context", f"c{n}", operation="append", label="notes", content=content))
        for n, content in enumerate(contents)
    ]
    model = ScriptedModel(*(reply for each in replies for reply in (each, says("Noted."))))
    model.otherwise = says("")
    return model


async def test_what_was_written_into_a_block_follows_the_edit_and_the_deletion(tmp_path: Path) -> None:
    toml = '[[agents]]\nname = "Carina"\n[[agents.blocks]]\nlabel = "notes"\ndescription = "Notes."\n'
    model = writes("The bus is 17.", "The bus is 18.")
    async with running(tmp_path, Setting(model=model, toml=toml)) as service:
        await service.heard(said("note that the bus is 17", 1))
        assert await everywhere(service, "bus is 17") == ["blocks", "messages"]
        await service.heard(edited("note that the bus is 18", 1))  # the agent is asked to note it anew
        assert await everywhere(service, "bus is 17") == []
        assert "blocks" in await everywhere(service, "bus is 18")
        await service.heard(deleted(1))
        assert await everywhere(service, "bus is") == []


async def test_who_is_answered_with_a_deletion_reads_nothing_of_what_was_deleted(tmp_path: Path) -> None:
    toml = '[[agents]]\nname = "Carina"\n[[agents.blocks]]\nlabel = "notes"\ndescription = "Notes."\n'
    model = writes("The bus is 17.")
    async with running(tmp_path, Setting(model=model, toml=toml)) as service:
        await service.heard(said("note that the bus is 17", 1))
        await service.heard(deleted(1), said("which bus?", 2))
        assert "which bus?" in str(model.requests[-1])
        assert "bus is 17" not in str(model.requests[-1])


async def test_a_deleted_message_takes_its_question_along(tmp_path: Path) -> None:
    model = ScriptedModel(says("", ring(times=1, note="zeta")), says("It waits."))
    async with running(tmp_path, Setting(model=model, tools=[Bell()])) as service:
        await service.heard(said("ring, zeta", 1))
        request = await waiting(service)
        await service.heard(deleted(1))
        (card,) = service.platform.texts(OWNERS_PLACE.id)
        assert card == "⌛ **Withdrawn: the message that prompted this was deleted** · `bell`"
        assert "withdrawn" in (await answer(service, request)).words
        assert await strokes(service) == 0
        assert await everywhere(service, "zeta") == []


async def test_a_name_that_two_places_have_names_both(service: Service) -> None:
    for number, identifier in enumerate(("one", "two"), 1):
        place = replace(channel(identifier), name=f"#general in {identifier}")
        await service.heard(said("hello", number, place))
    send = call("send_message", target_type="channel", target="general", content="Hi.")
    service.model.replies.extend([says("", send), says("Which?")])
    await service.heard(said("tell them", 3, channel("attic")))
    last = str(service.model.requests[-1].messages[-1])
    assert "Several places" in last
    assert "#general in one" in last


async def test_the_words_of_a_deleted_message_go_although_what_follows_fails_and_that_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect in what takes words out of blocks keeps back neither the message nor the entries that were learned."""
    broken = True

    def take_back(tx: Tx, *given: Any, **more: Any) -> int:
        if broken:
            raise KeyError("a defect of ours")
        return remove_derived(tx, *given, **more)

    monkeypatch.setattr(block_erasure, "remove_derived", take_back)
    model = ScriptedModel(
        says("", call("recall", operation="insert", content="Ann's code word is Xylophone")),
        says("", call("context", operation="append", label="scratchpad", content="The code word is Xylophone.")),
        otherwise=says("Kept."),
    )
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("my code word is Xylophone", 1))
        await service.heard(deleted(1))
        await until(lambda: service.column("SELECT 1 FROM follow_ups WHERE attempts = 1"))
        assert await service.column("SELECT content FROM messages WHERE external_id = '1'") == [""]
        assert await entries(service) == []
        assert await service.column("SELECT part FROM follow_ups") == ["blocks"], "only that is left"
        assert "Xylophone" in str(await service.column("SELECT content FROM memory_blocks WHERE label = 'scratchpad'"))
        for tries in range(2, TRIES + 1):
            service.clock.forward(3600)
            await until(partial(service.column, "SELECT 1 FROM follow_ups WHERE attempts = ?", tries))
        (told,) = [row.content for row in await service.outbox() if row.key.startswith("notice/follow_up")]
        assert "I couldn't remove everything" in told
        assert "Xylophone" not in told
    broken = False
    async with running(tmp_path, Setting(ScriptedModel(otherwise=says("Well.")))) as service:
        await service.settled()
        assert await service.column("SELECT count(*) FROM follow_ups") == [0]
        kept = await service.column("SELECT content FROM memory_blocks WHERE label = 'scratchpad'")
        assert "Xylophone" not in str(kept)
