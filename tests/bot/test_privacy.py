"""Seeing, exporting, pausing and erasing what is kept about a person, in the running service."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.desks.erasing import Eraser
from bot.desks.privacy import WORDS, Choices, named, receipt_lines, seen_lines
from bot.errors import UserError
from bot.lane import Patience
from bot.policy import Approver
from bot.turns.reins import Reins
from bot.turns.turn import TurnRunner
from memory import inbox, outbox
from memory.constellation import Constellations
from memory.database import Tx
from memory.ids import ConstellationId, ErasureId, PersonId
from memory.people import persons, privacy
from memory.people.privacy import Choice
from memory.turns import TurnMoved
from sources.base import BlockSpec, Kind, Notification, Quoted
from tests.bot.parts import ANN, BOB, HALL, OLGA, Held, call, channel, deleted, direct, edited, said, says, texts
from tests.bot.stage import SETUP, Service, Setting, running
from tests.bot.test_cli import carina

WORD = "quetzalcoatl"
ANN_HERSELF, BOB_HIMSELF, OWNER = (Approver(each.id, door="test") for each in (ANN, BOB, OLGA))
DIRECT = direct(ANN)


def bytes_with(folder: Path, word: str) -> list[str]:
    """The files under the folder that hold a word."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if word.encode().lower() in path.read_bytes().lower()]


async def lived(service: Service) -> None:
    """Ann talks in the hall and in her direct messages, and something is remembered of her; Bob is there too."""
    service.model.replies.extend(
        [
            says("", call("recall", operation="insert", content=f"Ann's llama is {WORD}")),
            says(f"I keep that: {WORD}."),
            says(f"A secret {WORD}."),
            says("Hello tortoise."),
        ]
    )
    await service.heard(said(f"my llama is called {WORD}", 1))
    await service.heard(said(f"a secret about {WORD}", 2, DIRECT))
    await service.heard(said("the tortoise sleeps", 3, speaker=BOB))


async def messages_of(service: Service, house: ConstellationId | None = None) -> list[str]:
    rows = await service.rows("SELECT content FROM messages ORDER BY id", house=house)
    return [row["content"] for row in rows if row["content"]]


# ------------------------------------------------------------------------------------------------- seeing and export


async def test_see_counts_each_store_in_words(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        seen = await service.privacy.see(ANN.id, ANN_HERSELF)
        counted = await service.read(lambda rows: persons.count_all(rows, ANN.id))
        assert seen["stores"] == {"home": counted}
        lines = seen_lines(seen)
        for store, count in counted.items():
            assert (f"- {WORDS[store].counted(count)}: {WORDS[store].what}" in lines) is (count > 0)
        assert WORD not in "\n".join(lines)


def test_every_store_has_words() -> None:
    assert set(WORDS) == {store.name for store in (*persons.STORES, *persons.GLOBAL_STORES)}


def test_one_of_something_is_told_as_one() -> None:
    names = list(WORDS)
    file = {"name": "home", "answers": 1, "before": dict.fromkeys(names, 1), "after": dict.fromkeys(names, 2)}
    receipt = {"id": "1", "done_at": "2026-11-22T12:00", "stores": [file], "words": 1, "files": 1, "left": []}
    _, line, searched = receipt_lines({**receipt, "copies": []})
    gone, answers, left = line.removeprefix("- home: ").split("; ")
    assert gone == ", ".join(f"1 {words.one}" for words in WORDS.values())
    assert {"1 message", "1 archival entry", "1 delivery"} <= set(gone.split(", "))
    assert answers == "1 message of agents emptied"
    assert left == f"LEFT: {', '.join(f'2 {words.more}' for words in WORDS.values())}"
    assert searched == "One of your words was looked for in 1 file and found in none of them."
    seen = {"person": ANN.id, "persons": [ANN.id], "choice": "", "erasures": [], "identities": 1}
    lines = seen_lines({**seen, "stores": {"home": {"messages": 1}}}, you=False)
    assert "- 1 message: what they said, what was said to them alone, their direct messages" in lines


async def test_an_export_is_everything_of_every_constellation_and_plain_json(tmp_path: Path) -> None:
    far = channel("far", of="elsewhere")
    async with running(tmp_path, Setting(more={"away": far.bindings})) as service:
        await lived(service)
        await service.heard(said("and my axolotl", 4, far), said("a walrus", 5, far, BOB))
        exported = json.loads(json.dumps(await service.privacy.export(ANN.id, ANN_HERSELF)))
        home, away = exported["constellations"]["home"], exported["constellations"]["away"]
        assert set(home) == {store.name for store in persons.STORES}
        held = await service.read(lambda rows: {store.name: store.export(rows, ANN.id) for store in persons.STORES})
        assert home == json.loads(json.dumps(held))
        assert "axolotl" in json.dumps(away)
        assert not [word for word in ("tortoise", "walrus") if word in json.dumps(exported)]


# --------------------------------------------------------------------------------------------------------- who may


async def test_everybody_is_for_themselves_and_the_owner_for_anybody(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        doors: tuple[Callable[[PersonId, Approver], Any], ...] = (
            service.privacy.see,
            service.privacy.export,
            lambda person, who: service.privacy.choose(person, who, Choice.PAUSED),
            service.privacy.erase,
        )
        for door in doors:
            with pytest.raises(UserError, match="Only the owner may see, export, pause and erase"):
                await door(ANN.id, BOB_HIMSELF)
        assert service.privacy.choices.of(ANN.id) is None
        assert f"my llama is called {WORD}" in await messages_of(service)
        for door in doors:
            await door(ANN.id, OWNER)
        assert f"my llama is called {WORD}" not in await messages_of(service)


@pytest.mark.parametrize("name", ["", "ann", "discord:", ":7", "discord:1 2", "dis cord:1", "Discord:1", "nobody:1"])
def test_a_name_that_names_nobody_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="names nobody"):
        named(name)


# ----------------------------------------------------------------------------------------------- pausing, opting out


@pytest.mark.parametrize("choice", list(Choice))
async def test_nothing_of_who_paused_is_stored_or_answered_and_the_place_is_read_on(
    tmp_path: Path, choice: Choice
) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("before", 1))
        await service.privacy.choose(ANN.id, ANN_HERSELF, choice)
        asked = len(service.model.requests)
        reaction: Notification = said("+1", 9, kind=Kind.REACTION, external_id="post-1/ann/+1/1", subject="post-1")
        await service.heard(said(f"about {WORD}", 2), reaction, said(f"{WORD}!", 3, DIRECT))
        assert len(service.model.requests) == asked
        assert await messages_of(service) == ["before", "Yes."]
        assert await service.read(lambda rows: inbox.cursors(rows, "discord")) == {HALL.id: "9", DIRECT.id: "3"}
        assert bytes_with(tmp_path, WORD) == []
        await service.heard(said("Bob speaks", 10, speaker=BOB))
        assert texts(service.model.requests[-1]) == ["before", "Bob speaks"]


async def test_who_resumes_is_heard_again(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.privacy.choose(ANN.id, ANN_HERSELF, Choice.OPTED_OUT)
        assert "Resumed" in await service.privacy.choose(ANN.id, ANN_HERSELF, None)
        await service.heard(said("here I am", 1))
        assert await messages_of(service) == ["here I am", "Yes."]
        assert "Nothing was paused" in await service.privacy.choose(ANN.id, ANN_HERSELF, None)


async def test_edits_and_deletions_of_older_messages_follow_through_while_paused(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said(f"one {WORD}", 1), said("two", 2))
        await service.privacy.choose(ANN.id, ANN_HERSELF, Choice.PAUSED)
        await service.heard(said("unheard", 3))
        await service.heard(deleted(1), edited("two, mended", 2), edited("still unheard", 3))
        kept = await messages_of(service)
        assert "two, mended" in kept
        assert not [text for text in kept if WORD in text or "unheard" in text]


async def test_an_opt_out_outlives_a_restart_and_an_erasure(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("before", 1))
        await service.privacy.choose(ANN.id, ANN_HERSELF, Choice.OPTED_OUT)
        await service.privacy.erase(ANN.id, ANN_HERSELF)
        await service.heard(said(WORD, 2))
        assert not [text for text in await messages_of(service) if WORD in text]
        service.crash()
    async with running(tmp_path) as service:
        await service.heard(said(WORD, 3))
        assert await messages_of(service) == []
        assert "opted out" in "\n".join(seen_lines(await service.privacy.see(ANN.id, ANN_HERSELF)))
        assert bytes_with(tmp_path, WORD) == []


async def test_a_choice_holds_in_every_constellation(tmp_path: Path) -> None:
    far = channel("far", of="elsewhere")
    async with running(tmp_path, Setting(more={"away": far.bindings})) as service:
        await service.privacy.choose(ANN.id, ANN_HERSELF, Choice.PAUSED)
        await service.heard(said("here", 1), said("there", 2, far))
        assert [await messages_of(service, house) for house in service.houses] == [[], []]


def test_the_owner_at_the_terminal_is_told_why_nothing_is_answered(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0
    assert "Paused" in carina(tmp_path, "privacy", "pause", "terminal:owner").stdout
    done = carina(tmp_path, "chat", "--once", f"my llama is called {WORD}")
    assert "nothing you say is kept or answered" in done.stdout
    assert bytes_with(tmp_path, WORD) == []


# ---------------------------------------------------------------------------------------------------------- erasing


async def test_erasing_takes_every_byte_of_every_constellation_and_says_so(tmp_path: Path) -> None:
    far = channel("far", of="elsewhere")
    async with running(tmp_path, Setting(more={"away": far.bindings})) as service:
        await lived(service)
        await service.heard(said(f"my {WORD} is away", 4, far))
        assert bytes_with(tmp_path, WORD)
        receipt = await service.privacy.erase(ANN.id, ANN_HERSELF)
        assert bytes_with(tmp_path, WORD) == []
        assert bytes_with(tmp_path, WORD[:7]) == []
        counts = {each["name"]: each for each in receipt["stores"]}
        assert set(counts) == {"home", "away", "accounts"}
        assert counts["home"]["before"]["messages"] > counts["away"]["before"]["messages"] > 0
        assert counts["home"]["before"]["archival"] == 1
        assert not [value for each in receipt["stores"] for value in each["after"].values() if value]
        assert (receipt["left"], receipt["copies"]) == ([], [])
        assert receipt["words"] > 0
        assert receipt["files"] >= 3
        text = "\n".join(receipt_lines(receipt))
        assert "found in none of them" in text
        assert WORD not in json.dumps(receipt)
        assert "the tortoise sleeps" in await messages_of(service)
        assert (await service.privacy.see(ANN.id, ANN_HERSELF))["erasures"] == [receipt]


async def test_what_is_left_in_words_of_others_and_in_copies_is_named(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        service.model.replies.append(says("I see."))
        house = service.constellations.all()[0]
        copy = house.path.with_name("carina.db.before-9-2026")
        async with service.constellations.use(house.id) as database:
            await database.maintain(lambda raw: raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
        copy.write_bytes(house.path.read_bytes())

        def shared_note(tx: Tx) -> None:
            tx.run("UPDATE agents SET description = ?", (f"who once said: my llama is called {WORD}",))

        await service.write(shared_note)
        receipt = await service.privacy.erase(ANN.id, ANN_HERSELF)
        left = {each["file"].rpartition("/")[2]: each for each in receipt["left"]}
        assert set(left) == {"carina.db", copy.name}
        assert (left[copy.name]["copy"], left["carina.db"]["tables"]) == (True, {"agents": 1})
        assert [each["file"].rpartition("/")[2] for each in receipt["copies"]] == [copy.name]
        text = "\n".join(receipt_lines(receipt))
        assert "1 row of agents" in text
        assert f"{copy.name} (" in text
        assert "found in 2 of them" in text


async def test_words_that_stand_in_texts_of_ours_are_not_told_as_left_of_somebody(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("an attentive companion", 1))
        await service.heard(said(f"conversing llama {WORD}", 2))
        found = await service.column("SELECT content FROM memory_blocks WHERE label = 'persona'")
        assert "attentive" in str(found[0])
        receipt = await service.privacy.erase(ANN.id, ANN_HERSELF)
        assert receipt["left"] == []
        assert receipt["words"] > 0, "the others were looked for"


async def test_an_answer_that_is_being_made_is_not_given_and_not_written_back(tmp_path: Path) -> None:
    held = Held(says(f"so it is {WORD}"))
    async with running(tmp_path) as service:
        service.model.replies.append(held)
        service.hear(said(f"my llama is called {WORD}", 1))
        await held.begun.wait()
        receipt = await service.privacy.erase(ANN.id, ANN_HERSELF)
        assert receipt["stores"][0]["before"]["turns"] > 0
        async with asyncio.timeout(5):  # though the model never answers
            while service.router._work[service.house].lanes:
                await asyncio.sleep(0.001)
        assert service.platform.texts() == []
        assert bytes_with(tmp_path, WORD) == []
        assert await service.column("SELECT status FROM turns") == ["cancelled"]
        await service.heard(said("and now?", 2))
        assert service.platform.texts() == ["Yes."]
        assert [entry for entry in service.logs if entry["log_level"] == "error"] == []


async def test_a_turn_that_spoke_elsewhere_before_its_person_was_erased_ends(tmp_path: Path) -> None:
    held = Held(says("Never."))
    async with running(tmp_path) as service:
        service.model.replies.append(held)
        service.hear(said(f"my llama is called {WORD}", 1))
        await held.begun.wait()
        (turn,) = await service.column("SELECT id FROM turns")
        row = outbox.NewRow("k", HALL.id, "discord", "elsewhere", HALL.audience, turn=turn)
        await service.write(lambda tx: outbox.add(tx, row, service.clock()))
        await service.write(lambda tx: tx.run("UPDATE outbox SET status = 'sent'"))
        await service.privacy.erase(ANN.id, ANN_HERSELF)
        async with asyncio.timeout(5):
            while service.router._work[service.house].lanes:
                await asyncio.sleep(0.001)
        assert len(service.model.requests) == 1


async def test_an_answer_that_was_ready_when_it_was_to_begin_again_is_not_given(tmp_path: Path) -> None:
    held = Held(says(f"Ann said {WORD}"))
    async with running(tmp_path) as service:
        service.model.replies.append(held)
        service.hear(said("what did she say?", 2, speaker=BOB))
        await held.begun.wait()
        (turn,) = await service.column("SELECT id FROM turns")
        async with service.constellations.use(service.house) as database:
            runner = TurnRunner(database, service.router._houses[service.house].kit, turn, Reins())
            material, _move, _more = await database.read(runner._look)
            await service.privacy.erase(ANN.id, ANN_HERSELF)
            with pytest.raises(TurnMoved):
                await runner._finish(f"Ann said {WORD}", material)
        await service.settled()
        assert service.platform.texts() == ["Yes."]


async def test_an_answer_to_somebody_else_is_made_anew_without_the_words(tmp_path: Path) -> None:
    held = Held(says(f"Ann said {WORD}"))
    async with running(tmp_path) as service:
        await service.heard(said(f"my llama is called {WORD}", 1))
        service.model.replies.append(held)
        quoted = Quoted("1", "Ann", f"my llama is called {WORD}")
        service.hear(said("what did she say?", 2, speaker=BOB, quoted=quoted))
        await held.begun.wait()
        await service.privacy.erase(ANN.id, ANN_HERSELF)
        held.free.set()
        await service.settled()
        assert service.platform.texts()[1:] == ["Yes."]
        assert WORD not in str(service.model.requests[-1].messages)
        assert texts(service.model.requests[-1]) == ["what did she say?"]
        assert bytes_with(tmp_path, WORD) == []


async def test_a_message_whose_burst_is_awaited_begins_no_turn_once_it_is_erased(tmp_path: Path) -> None:
    setting = Setting(patience=Patience(waits=(0.0,), merge=0.02))
    async with running(tmp_path, setting) as service:
        block = BlockSpec("discord_user:ann", "Notes", f"Name here: {WORD}", ANN.id)
        service.hear(said(f"my llama is called {WORD}", 1, blocks=(block,)))
        while not await service.rows("SELECT 1 FROM inbox WHERE status = 'received'"):
            await asyncio.sleep(0.001)
        await service.privacy.erase(ANN.id, ANN_HERSELF)
        service.hear(said("hello", 2, speaker=BOB))
        while not service.platform.texts():  # the burst ends by the clock
            service.clock.forward(1)
            await asyncio.sleep(0.01)
        await service.settled()
        assert len(await service.rows("SELECT 1 FROM turns")) == 1
        assert bytes_with(tmp_path, WORD) == []


async def test_what_was_heard_just_before_is_erased_too(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        service.hear(*(said(f"{WORD} {number}", number) for number in range(1, 100)))
        await service.privacy.erase(ANN.id, ANN_HERSELF)
        await service.settled()
        assert bytes_with(tmp_path, WORD) == []


async def test_somebody_of_whom_nothing_is_kept_gets_a_receipt_that_says_so(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        receipt = await service.privacy.erase(ANN.id, ANN_HERSELF)
        assert receipt["words"] == 0
        assert "no words of your own" in "\n".join(receipt_lines(receipt))


async def test_of_who_owns_a_constellation_a_bare_id_stays_and_the_receipt_says_why(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        owned = "SELECT owner_id FROM constellations"
        (row,) = await service.constellations.registry.read(lambda rows: rows.all(owned))
        receipt = await service.privacy.erase(PersonId(row["owner_id"]), OWNER)
        text = "\n".join(receipt_lines(receipt))
        assert (
            "LEFT: 1 account or place (a bare id: it owns a constellation, or other accounts are linked to it)" in text
        )


# ---------------------------------------------------------------------------------------- interruptions and failures


async def test_an_erasure_that_was_begun_is_ended_at_the_next_start(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        registry = service.constellations.registry
        await registry.write(SETUP, lambda tx: privacy.begin_erasure(tx, ANN.id, ANN.id, service.clock()))
        service.crash()
    assert bytes_with(tmp_path, WORD)
    async with running(tmp_path) as service:
        seen = await service.privacy.see(ANN.id, ANN_HERSELF)
        assert [bool(each["done_at"]) for each in seen["erasures"]] == [True]
        assert seen["erasures"][0]["words"] > 0
        assert bytes_with(tmp_path, WORD) == []


async def test_a_failure_half_way_leaves_it_begun_and_the_next_start_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        broken = OSError("the disk is away")

        async def fails(*_: object) -> None:
            raise broken

        with monkeypatch.context() as patched:
            patched.setattr(Eraser, "_erase_identities", fails)
            with pytest.raises(UserError, match=r"not done yet .OSError: the disk is away"):
                await service.privacy.erase(ANN.id, ANN_HERSELF)
        assert [entry["event"] for entry in service.logs if entry["log_level"] == "error"] == ["not_erased"]
        assert not (await service.privacy.see(ANN.id, ANN_HERSELF))["erasures"][0]["done_at"]
        await service.heard(said("still here", 7))
        service.crash()
    async with running(tmp_path) as service:
        (receipt,) = (await service.privacy.see(ANN.id, ANN_HERSELF))["erasures"]
        assert receipt["done_at"]
        assert receipt["stores"][0]["before"]["archival"] == 1  # of before the failure
        assert "still here" not in await messages_of(service)


async def test_who_goes_away_while_it_runs_does_not_stop_it(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        worker = asyncio.create_task(service.privacy.eraser.run())
        await asyncio.sleep(0)
        asking = asyncio.create_task(service.privacy.erase(ANN.id, ANN_HERSELF))
        while not await service.constellations.registry.read(privacy.open_erasures):
            await asyncio.sleep(0.001)
        asking.cancel()
        async with asyncio.timeout(10):
            while await service.constellations.registry.read(privacy.open_erasures):
                await asyncio.sleep(0.01)
        assert bytes_with(tmp_path, WORD) == []
        worker.cancel()


async def test_the_same_person_twice_at_once_is_one_erasure(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        worker = asyncio.create_task(service.privacy.eraser.run())
        await asyncio.sleep(0)
        first, second = await asyncio.gather(*(service.privacy.erase(ANN.id, ANN_HERSELF) for _ in range(2)))
        assert first == second
        worker.cancel()


async def test_who_waits_when_the_service_stops_is_told(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        eraser = service.privacy.eraser
        worker = asyncio.create_task(eraser.run())
        await asyncio.sleep(0)
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        eraser._waiting[ErasureId(1)] = [waiting]
        worker.cancel()
        with pytest.raises(UserError, match="goes on when it starts again"):
            await waiting


async def test_choices_are_durable_before_they_are_answered(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.privacy.choose(ANN.id, ANN_HERSELF, Choice.PAUSED)
        other = Choices(service.constellations, service.clock)
        await other.load()
        assert other.withheld(ANN.id)
        assert not other.withheld(BOB.id)
        assert not other.withheld(None)


async def test_a_folder_without_a_service_is_erased_as_well(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        clock = service.clock
    async with Constellations.open(tmp_path, clock) as constellations:
        erasure = await Eraser(constellations, tmp_path, clock).erase(ANN.id, OLGA.id)
        assert (erasure.asked_by, erasure.receipt["left"]) == (OLGA.id, [])
    assert bytes_with(tmp_path, WORD) == []
