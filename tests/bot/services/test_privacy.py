"""Seeing, exporting, pausing and erasing what is kept about a person, in the running service."""

import asyncio
import contextvars
import json
import random
import resource
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bot.agents.model_call import TurnControl
from bot.agents.turn import TurnRunner
from bot.errors import CallError, UserError
from bot.runtime.turn_retries import RetryPolicy
from bot.services.caller import Unconfirmed, Via
from bot.services.people import person_erasure
from bot.services.people.opted_out_people import Choices
from bot.services.people.person_erasure import Eraser
from bot.services.people.personal_copy import readable
from bot.services.people.privacy import WORDS, Export, FileCounts, FoundWords, OldCopy, Receipt, named
from bot.services.results import Markdown, Plain, Result
from memory.erasure import personal_tables
from memory.folders import rows as folders
from memory.folders.rows import Folder
from memory.people import person_settings
from memory.people.audience import OWNER, Scope
from memory.people.person_settings import Times
from memory.people.privacy_choices import PrivacyChoice
from memory.queue import inbox, outbox
from memory.queue.notifications import Kind, Notification
from memory.queue.payloads import BlockNote, Extras, Quotation
from memory.search.all_domains import search
from memory.search.query import Query
from memory.store import erasure_records
from memory.store.constellations import Constellations
from memory.store.database import Tx
from memory.store.errors import DatabaseBusy
from memory.store.ids import ConstellationId, ErasureId, PersonId
from memory.store.records import replace
from memory.store.sqlite import connect
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    OLGA,
    HeldReply,
    call,
    channel,
    deleted,
    direct,
    edited,
    results,
    said,
    says,
    texts,
    whole,
)
from tests.bot.services.calling import NOW, registry, somebody
from tests.bot.stage import SETUP, Service, Setting, running, talked, until
from tests.bot.terminals import Begin, carina
from tests.captured_logs import capture_logs
from tests.personal_copies import files_in
from texts import read_on, speaking

WORD = "quetzalcoatl"
DIRECT, FAR = direct(ANN), channel("far", of="elsewhere")


PLAIN = Plain("UTC", NOW)


async def result(service: Service, what: str, who: PersonId = ANN.id, **more: Any) -> Result:
    """What somebody has done by command, of themselves if nobody is named."""
    caller = replace(somebody(who), sure=more.pop("sure", True), via=more.pop("via", Via.TERMINAL))
    return await registry(service.privacy, people=service.approvals.people).call(f"privacy.{what}", caller, more)


async def asked(service: Service, what: str, who: PersonId = ANN.id, **more: Any) -> Any:
    return (await result(service, what, who, **more)).data()


async def told(service: Service, what: str) -> str:
    return "\n".join((await result(service, what)).lines(PLAIN))


def written(receipt: dict[str, Any]) -> str:
    return "\n".join(Receipt(**receipt).lines(PLAIN))


def bytes_with(folder: Path, word: str) -> list[str]:
    """The files under the folder that hold a word."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if word.encode().lower() in path.read_bytes().lower()]


async def lived(service: Service) -> None:
    """Ann talks in the hall and in her direct messages, and something is remembered of her; Bob is there too."""
    keep = call("recall", operation="insert", content=f"Ann's llama is {WORD}")
    answers = says(f"I keep that: {WORD}."), says(f"A secret {WORD}."), says("Hello tortoise.")
    service.model.replies.extend([says("", keep), *answers])
    await service.heard(said(f"my llama is called {WORD}", 1))
    await service.heard(said(f"a secret about {WORD}", 2, DIRECT))
    await service.heard(said("the tortoise sleeps", 3, speaker=BOB))


async def begun(service: Service, answer: str, heard: Notification) -> HeldReply:
    """Somebody is heard, and the model was asked; the reply is held."""
    held = HeldReply(says(answer))
    service.model.replies.append(held)
    service.hear(heard)
    await held.begun.wait()
    return held


async def ended(service: Service) -> None:
    """Nothing is worked on any more, though the model never answers."""

    async def idle() -> bool:
        return not service.runtime.conversations

    await until(idle, 5)


@pytest.fixture
async def working(service: Service) -> AsyncIterator[asyncio.Task[None]]:
    """The task that carries out erasures, as in the program."""
    worker = asyncio.create_task(service.privacy.eraser.run())
    await asyncio.sleep(0)
    yield worker
    worker.cancel()


async def messages_of(service: Service, constellation: ConstellationId | None = None) -> list[str]:
    rows = await service.rows("SELECT content FROM messages ORDER BY id", of=constellation)
    return [row["content"] for row in rows if row["content"]]


# ------------------------------------------------------------------------------------------------- seeing and export


async def test_see_counts_each_store_in_words(service: Service) -> None:
    await lived(service)
    seen = await asked(service, "see")
    counted = await service.read(lambda rows: personal_tables.count_all(rows, ANN.id))
    assert seen["stores"] == {"home": counted}
    lines = (await told(service, "see")).split("\n")
    for store, count in counted.items():
        assert (f"- {WORDS[store][0]}: {count} ({WORDS[store][1]})" in lines) is (count > 0)
    assert WORD not in "\n".join(lines)


def test_somebody_who_was_erased_is_named_in_the_reader_s_language() -> None:
    for markup in (PLAIN, Markdown()):
        assert markup.person(personal_tables.ERASED) == "somebody who was erased"
        with speaking("de"):
            assert markup.person(personal_tables.ERASED) == "jemand, dessen Daten gelöscht sind"


def test_every_store_has_words() -> None:
    assert set(WORDS) == {store.name for store in (*personal_tables.STORES, *personal_tables.GLOBAL_STORES)}


async def test_a_copy_is_everything_of_every_constellation_can_be_read_and_has_a_schema(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(more={"away": FAR.bindings})) as service:
        await lived(service)
        await service.heard(said("my axolotl <b>\n# swims", 4, FAR), said("a walrus", 5, FAR, BOB))
        times = Times(zone="Asia/Tokyo")
        await service.write(lambda tx: person_settings.put(tx, (ANN.id,), times, service.clock()))
        copy = files_in((await result(service, "export")).attachment(lambda text: text.replace("swims", "…")))
        held = await service.read(
            lambda rows: {store.name: store.export(rows, ANN.id) for store in personal_tables.STORES}
        )
    data = json.loads(copy["data.json"])
    assert data["constellations"]["home"] == json.loads(json.dumps(held)), "everything"
    checked = Draft202012Validator(json.loads(copy["schema.json"]))
    checked.validate(data)
    assert not checked.is_valid({**data, "persons": "all"})
    text = copy["README.md"]
    assert "\n## away: messages (1)\n\n- Sun, Nov 22, 2026, 9:00 PM JST, Ann\n  my axolotl \\<b\\>\n  \\# …\n" in text
    assert data["constellations"]["away"]["messages"][0]["at"].startswith("2026-11-22T12:00")
    assert not [word for word in ("swims", "walrus", "tortoise") if word in json.dumps(copy)]


# --------------------------------------------------------------------------------------------------------- who may


async def test_everybody_is_for_themselves_and_the_owner_for_anybody(service: Service) -> None:
    await lived(service)
    for what in ("see", "export", "pause", "erase"):
        with pytest.raises(UserError, match="Only the owner may see, export and erase"):
            await asked(service, what, BOB.id, via=Via.TERMINAL, person=ANN.id)
        with pytest.raises(CallError, match="person: not available here"):
            await asked(service, what, OLGA.id, via=Via.DISCORD, person=ANN.id)
        with pytest.raises(CallError, match="must not be empty"):  # such as a variable of a script that is not set
            await asked(service, what, OLGA.id, via=Via.TERMINAL, person="")
    assert service.privacy.choices.of(ANN.id) is None
    assert f"my llama is called {WORD}" in await messages_of(service)
    for what in ("see", "export", "pause", "erase"):
        await asked(service, what, OLGA.id, via=Via.TERMINAL, person=ANN.id)
    assert f"my llama is called {WORD}" not in await messages_of(service)


async def test_nothing_is_erased_before_it_is_confirmed(service: Service) -> None:
    await lived(service)
    with pytest.raises(
        Unconfirmed, match=r"- messages: 3 \(including direct messages and private answers\)(.|\n)*cannot be undone"
    ):
        await asked(service, "erase", sure=False)
    assert f"my llama is called {WORD}" in await messages_of(service)


@pytest.mark.parametrize(
    "name", ["", "ann", "discord:", ":7", "discord:1 2", "dis cord:1", "Discord:1", "nobody:1", "bluesky:ann.test"]
)
def test_a_name_that_names_nobody_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="is not a person"):
        named(name)


# ----------------------------------------------------------------------------------------------- pausing, opting out


@pytest.mark.parametrize("choice", list(PrivacyChoice))
async def test_nothing_of_who_paused_is_stored_or_answered_and_the_place_is_read_on(
    service: Service, tmp_path: Path, choice: PrivacyChoice
) -> None:
    await service.heard(said("before", 1))
    await told(service, {PrivacyChoice.PAUSED: "pause", PrivacyChoice.OPTED_OUT: "optout"}[choice])
    asked = len(service.model.requests)
    reaction: Notification = said("+1", 9, kind=Kind.REACTION, external_id="post-1/ann/+1/1", subject="post-1")
    await service.heard(said(f"about {WORD}", 2), reaction, said(f"{WORD}!", 3, DIRECT))
    assert len(service.model.requests) == asked
    assert await messages_of(service) == ["before", "Yes."]
    assert await service.read(lambda rows: inbox.cursors(rows, "discord")) == {HALL.id: "9", DIRECT.id: "3"}
    assert bytes_with(tmp_path, WORD) == []
    await service.heard(said("Bob speaks", 10, speaker=BOB))
    assert texts(service.model.requests[-1]) == ["Bob speaks"]


async def test_who_resumes_is_heard_again(service: Service) -> None:
    await told(service, "optout")
    assert "Resumed" in await told(service, "resume")
    await service.heard(said("here I am", 1))
    assert await messages_of(service) == ["here I am", "Yes."]
    assert "Nothing was paused" in await told(service, "resume")


async def test_edits_and_deletions_of_older_messages_follow_through_while_paused(service: Service) -> None:
    await service.heard(said(f"one {WORD}", 1), said("two", 2))
    await told(service, "pause")
    await service.heard(said("unheard", 3))
    await service.heard(deleted(1), edited("two, mended", 2), edited("still unheard", 3))
    kept = await messages_of(service)
    assert "two, mended" in kept
    assert not [text for text in kept if WORD in text or "unheard" in text]


async def test_what_who_paused_writes_into_an_older_message_is_learned_by_nobody(service: Service) -> None:
    keep = call("recall", operation="insert", content=f"the {WORD} is 17")
    service.model.replies.extend([says("", keep), says("Kept.")])
    await service.heard(said(f"the {WORD} is 17", 1))
    await told(service, "pause")
    asked_before = len(service.model.requests)
    await service.heard(edited("the bus is 18", 1))
    assert len(service.model.requests) == asked_before
    assert await service.column("SELECT content FROM archival_entries WHERE archived_at IS NULL") == []


async def test_an_opt_out_outlives_a_restart_and_an_erasure(tmp_path: Path) -> None:
    async with talked(tmp_path, Setting(), "before") as service:
        await told(service, "optout")
        await asked(service, "erase")
        await service.heard(said(WORD, 2))
        assert not [text for text in await messages_of(service) if WORD in text]
        service.crash()
    async with talked(tmp_path, Setting(), said(WORD, 3)) as service:
        assert await messages_of(service) == []
        assert "Opted out" in await told(service, "see")
        assert bytes_with(tmp_path, WORD) == []


async def test_a_choice_holds_in_every_constellation(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(more={"away": FAR.bindings})) as service:
        await told(service, "pause")
        await service.heard(said("here", 1), said("there", 2, FAR))
        assert [await messages_of(service, constellation) for constellation in service.ids] == [[], []]


def test_the_owner_at_the_terminal_is_told_why_nothing_is_answered(tmp_path: Path, begin: Begin) -> None:
    begin(tmp_path)
    assert "Paused" in carina(tmp_path, "privacy", "pause", "terminal:owner").stdout
    done = carina(tmp_path, "chat", "--once", f"my llama is called {WORD}")
    assert "You chose to have me neither keep nor answer what you say" in done.stdout
    assert bytes_with(tmp_path, WORD) == []


# ---------------------------------------------------------------------------------------------------------- erasing


async def test_erasing_takes_every_byte_of_every_constellation_and_says_so(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(more={"away": FAR.bindings})) as service:
        await lived(service)
        await service.heard(said(f"my {WORD} is away", 4, FAR))
        assert bytes_with(tmp_path, WORD)
        receipt = await asked(service, "erase")
        assert bytes_with(tmp_path, WORD) == []
        assert bytes_with(tmp_path, WORD[:7]) == []
        counts = {each["name"]: each for each in receipt["stores"]}
        assert set(counts) == {"home", "away", "accounts"}
        assert counts["home"]["before"]["messages"] > counts["away"]["before"]["messages"] > 0
        assert counts["home"]["before"]["archival"] == 1
        assert not [value for each in receipt["stores"] for value in each["after"].values() if value]
        assert (receipt["left"], receipt["copies"]) == ([], [])
        listed = [each.person for each in erasure_records.entries(tmp_path)]
        assert listed == [ANN.id], "for backups from before, which bring nobody back"
        assert receipt["words"] > 0
        assert receipt["files"] >= 3
        text = written(receipt)
        assert "and found none" in text
        assert WORD not in json.dumps(receipt)
        assert "the tortoise sleeps" in await messages_of(service)
        assert (await asked(service, "see"))["erasures"] == [receipt]


async def test_what_tools_told_others_of_tasks_notes_and_blocks_is_emptied_and_the_answers_stay(
    service: Service,
) -> None:
    block, path = {"label": "scratchpad"}, {"key": "shared/pets/all"}
    kept = [
        call("tasks", operation="add", title=f"feed {WORD}"),
        call("coord", operation="note", content=f"so: {WORD}"),
    ]
    kept += [call("working_memory", operation="save", content=WORD, **path)]
    service.model.replies.extend(
        [says("", *kept, call("context", operation="append", content=f"about {WORD}", **block)), says("Done.")]
    )
    await service.heard(said("I have a llama", 1))
    asks = [call("search", query=WORD, domain=each) for each in ("tasks", "blocks", "activity")]
    asks += [call("coord", operation="status"), call("context", operation="viewport", first_line=1, **block)]
    asks += [call("working_memory", operation="get", **path)]
    asks += [call("working_memory", operation="search", key="shared/pets", query=WORD)]
    for number, each in enumerate(asks, 2):
        service.model.replies.extend([says("", each), says("So it is.")])
        await service.heard(said("tell me", number, channel("annex"), BOB))
        assert WORD in results(service.model.requests[-1])[-1][0]
    await service.erase(ANN.id)
    left = await messages_of(service)
    assert [text for text in left if WORD in text] == []
    assert left.count("So it is.") == len(asks)


async def test_what_is_left_in_words_of_others_and_in_copies_is_named(service: Service) -> None:
    await lived(service)
    service.model.replies.append(says("I see."))
    constellation = service.constellations.all()[0]
    copy = constellation.path.with_name("carina.db.before-9-2026")
    async with service.constellations.use(constellation.id) as database:
        await database.maintain(lambda raw: raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    copy.write_bytes(constellation.path.read_bytes())

    def shared_note(tx: Tx) -> None:
        tx.run("UPDATE agents SET description = ?", (f"who once said: my llama is called {WORD}",))

    await service.write(shared_note)
    receipt = await asked(service, "erase")
    left = {each["file"].rpartition("/")[2]: each for each in receipt["left"]}
    assert set(left) == {"carina.db", copy.name}
    assert (left[copy.name]["copy"], left["carina.db"]["copy"]) == (True, False)
    assert [each["file"].rpartition("/")[2] for each in receipt["copies"]] == [copy.name]
    text = written(receipt)
    assert f"{copy.name} (" in text
    assert "is a copy that still has some of the words" in text
    assert "is an older copy" not in text, "which would be told of the same copy again"
    assert "This remains:" in text
    assert "carina.db (" in text
    assert "None of it is left in memory." not in text, "which the file in use would belie"


def test_a_backup_of_several_files_is_one_line_of_a_receipt() -> None:
    day, later = "2026-03-01T12:36:00.000Z", "2026-03-01T12:36:02.000Z"
    copies = tuple(
        OldCopy(f"backups/{name}", at)
        for name, at in (("one/carina.db", day), ("one/global.db", later), ("two/carina.db", day), ("two/a", later))
    )
    left = (FoundWords("backups/one/carina.db", copy=True, changed_at=day, samples=1),)
    receipt = Receipt(
        id="1", person="discord:5", asked_by="discord:5", begun_at=day, done_at=day, left=left, copies=copies
    )
    said = [line for line in receipt.lines(PLAIN) if line.startswith("- ")]
    assert [line.partition(" (")[0] for line in said] == ["- backups/one", "- backups/two"]
    used = FoundWords("constellations/con_1/carina.db", copy=False, changed_at=day, samples=1)
    internal = Receipt(id="1", person="discord:5", asked_by="discord:5", begun_at=day, done_at=day, left=(used,))
    assert "con_1" in "".join(internal.lines(PLAIN))
    contextvars.Context().run(_read_on_discord, internal)


def _read_on_discord(receipt: Receipt) -> None:
    read_on("discord", to_owner=True)
    (line,) = (each for each in receipt.lines(PLAIN) if each.startswith("- "))
    assert line.startswith("- One of my files (")


def test_what_remains_is_not_told_as_deleted() -> None:
    counts = FileCounts("home", "carina.db", {"messages": 3, "identities": 1}, {"messages": 0, "identities": 1})
    at = "2026-03-02T12:00:00.000Z"
    left = (FoundWords("carina.db", copy=False, changed_at=at, samples=1),)
    receipt = Receipt(id="1", person=ANN.id, asked_by=ANN.id, begun_at="", done_at=at, stores=(counts,), left=left)
    deleted, remains = receipt.own_lines(PLAIN)[1:3], receipt.own_lines(PLAIN)[3:]
    assert "still has some of the words, perhaps because others said them" in remains.pop()
    assert [each.partition(" (")[0] for each in deleted] == ["This was deleted:", "- messages: 3"]
    assert [each.partition(" (")[0] for each in remains] == ["This remains:", "- account records: 1"]


async def test_the_name_that_a_person_went_by_is_looked_for(service: Service) -> None:
    await service.heard(said("hi", 1, speaker=replace(ANN, name="Quetzalann")))
    await service.write(lambda tx: tx.run("UPDATE agents SET description = 'for quetzalann'"))
    receipt = await asked(service, "erase")
    assert [each["copy"] for each in receipt["left"]] == [False]


async def test_words_that_stand_in_texts_of_ours_are_not_told_as_left_of_somebody(service: Service) -> None:
    await service.heard(said("an attentive companion", 1))
    await service.heard(said(f"conversing llama {WORD}", 2))
    found = await service.column("SELECT content FROM memory_blocks WHERE label = 'persona'")
    assert "attentive" in str(found[0])
    receipt = await asked(service, "erase")
    assert receipt["left"] == []
    assert receipt["words"] > 0, "the others were looked for"


async def test_an_answer_that_is_being_made_is_not_given_and_not_written_back(service: Service, tmp_path: Path) -> None:
    await begun(service, f"so it is {WORD}", said(f"my llama is called {WORD}", 1))
    receipt = await asked(service, "erase")
    assert receipt["stores"][0]["before"]["turns"] > 0
    await ended(service)
    assert service.platform.texts() == []
    assert bytes_with(tmp_path, WORD) == []
    assert await service.column("SELECT status FROM turns") == ["cancelled"]
    await service.heard(said("and now?", 2))
    assert service.platform.texts() == ["Yes."]
    assert [entry for entry in service.logs if entry["log_level"] == "error"] == []


async def test_a_turn_that_spoke_elsewhere_before_its_person_was_erased_ends(service: Service) -> None:
    await begun(service, "Never.", said(f"my llama is called {WORD}", 1))
    (turn,) = await service.column("SELECT id FROM turns")
    row = outbox.NewRow("k", HALL.id, "elsewhere", HALL.audience, turn=turn)
    await service.write(lambda tx: outbox.add(tx, row, service.clock()))
    await service.write(lambda tx: tx.run("UPDATE outbox SET status = 'sent'"))
    await asked(service, "erase")
    await ended(service)
    assert len(service.model.requests) == 1


async def test_an_answer_that_was_ready_when_it_was_to_begin_again_is_not_given(service: Service) -> None:
    await begun(service, f"Ann said {WORD}", said("what did she say?", 2, speaker=BOB))
    (turn,) = await service.column("SELECT id FROM turns")
    control = TurnControl(asyncio.Event(), lambda: None, lambda _rows: None)
    runner = TurnRunner(service.database, service.runtime.turn_deps, turn, control)
    material, _move, _more = await service.database.read(runner._look)
    await asked(service, "erase")
    assert not await runner._finish(f"Ann said {WORD}", material)
    await service.settled()
    assert service.platform.texts() == ["Yes."]


async def test_an_answer_to_somebody_else_is_made_anew_without_the_words(service: Service, tmp_path: Path) -> None:
    await service.heard(said(f"my llama is called {WORD}", 1))
    extras = Extras(quoted=Quotation("Ann", f"my llama is called {WORD}", external_id="1"))
    held = await begun(service, f"Ann said {WORD}", said("what did she say?", 2, speaker=BOB, extras=extras))
    await asked(service, "erase")
    held.free.set()
    await service.settled()
    assert service.platform.texts()[1:] == ["Yes."]
    assert WORD not in str(service.model.requests[-1].messages)
    assert texts(service.model.requests[-1]) == ["what did she say?"]
    assert bytes_with(tmp_path, WORD) == []


async def test_a_message_whose_burst_is_awaited_begins_no_turn_once_it_is_erased(tmp_path: Path) -> None:
    setting = Setting(retry_policy=RetryPolicy(attempts=5, waits=(0.0,), merge=0.02))
    async with running(tmp_path, setting) as service:
        block = BlockNote("discord_user:ann", "Notes", f"Name here: {WORD}", ANN.id)
        service.hear(said(f"my llama is called {WORD}", 1, extras=Extras((block,))))
        while not await service.rows("SELECT 1 FROM inbox WHERE status = 'received'"):
            await asyncio.sleep(0.001)
        await asked(service, "erase")
        service.hear(said("hello", 2, speaker=BOB))
        while not service.platform.texts():  # the burst ends by the clock
            service.clock.forward(1)
            await asyncio.sleep(0.01)
        await service.settled()
        assert len(await service.rows("SELECT 1 FROM turns")) == 1
        assert bytes_with(tmp_path, WORD) == []


async def test_what_was_heard_just_before_is_erased_too(service: Service, tmp_path: Path) -> None:
    service.hear(*(said(f"{WORD} {number}", number) for number in range(1, 100)))
    await asked(service, "erase")
    await service.settled()
    assert bytes_with(tmp_path, WORD) == []


async def test_of_who_owns_a_constellation_a_bare_id_stays_and_the_receipt_says_why(service: Service) -> None:
    owned = "SELECT owner_id FROM constellations"
    (row,) = await service.constellations.registry.read(lambda rows: rows.all(owned))
    receipt = await asked(service, "erase", OLGA.id, person=row["owner_id"])
    text = written(receipt)
    assert "- account records: 1 (only the ID: it owns a constellation, or other accounts are linked to it)" in text


# ---------------------------------------------------------------------------------------- interruptions and failures


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
            with pytest.raises(UserError, match=r"not finished yet .OSError: the disk is away"):
                await asked(service, "erase")
        assert [entry["event"] for entry in service.logs if entry["log_level"] == "error"] == ["erasure_failed"]
        assert not (await asked(service, "see"))["erasures"][0]["done_at"]
        await service.heard(said("still here", 7))
        service.crash()
    async with running(tmp_path) as service:
        (receipt,) = (await asked(service, "see"))["erasures"]
        assert receipt["done_at"]
        assert receipt["words"] > 0
        assert receipt["stores"][0]["before"]["archival"] == 1  # of before the failure
        assert "still here" not in await messages_of(service)
        assert bytes_with(tmp_path, WORD) == []


@pytest.mark.usefixtures("working")
async def test_who_goes_away_while_it_runs_does_not_stop_it(service: Service, tmp_path: Path) -> None:
    await lived(service)
    asking = asyncio.create_task(asked(service, "erase"))
    while not await service.constellations.registry.read(erasure_records.open_erasures):
        await asyncio.sleep(0.001)
    asking.cancel()
    async with asyncio.timeout(10):
        while await service.constellations.registry.read(erasure_records.open_erasures):
            await asyncio.sleep(0.01)
    assert bytes_with(tmp_path, WORD) == []


@pytest.mark.usefixtures("working")
async def test_the_same_person_twice_at_once_is_one_erasure(service: Service) -> None:
    await lived(service)
    first, second = await asyncio.gather(*(asked(service, "erase") for _ in range(2)))
    assert first == second


async def test_who_waits_when_the_service_stops_is_told(service: Service, working: asyncio.Task[None]) -> None:
    waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    service.privacy.eraser._waiting[ErasureId(1)] = [waiting]
    working.cancel()
    with pytest.raises(UserError, match="will continue when it starts again"):
        await waiting


async def test_a_choice_applies_although_nothing_can_be_read_after_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(_work: Any) -> None:
        raise DatabaseBusy("another program is locking the database")

    monkeypatch.setattr(service.constellations.registry, "read", busy)
    await service.privacy.choices.choose(ANN.id, PrivacyChoice.PAUSED)
    assert service.privacy.choices.ignored(ANN.id)


async def test_what_they_said_while_paused_is_not_taken_from_a_history_later(service: Service, tmp_path: Path) -> None:
    await told(service, "pause")
    during = service.clock() + timedelta(minutes=1)
    service.clock.forward(120)
    await told(service, "resume")
    again = Choices(service.constellations, service.clock, service.approvals.people.selves)
    await again.load()
    assert [again.ignored_at(each, during) for each in (ANN.id, BOB.id)] == [True, False]
    assert not again.ignored_at(ANN.id, service.clock())
    await service.heard(
        said(WORD, 1, at=during, answer=False), said("tortoise", 2, speaker=BOB, at=during, answer=False)
    )
    await service.heard(said("well?", 3, at=service.clock()))
    assert texts(service.model.requests[-1]) == ["tortoise", "well?"]
    assert bytes_with(tmp_path, WORD) == []


async def test_who_opts_out_later_leaves_the_view_of_others(service: Service) -> None:
    await service.heard(said(WORD, 1, answer=False), said("tortoise", 2, speaker=BOB, answer=False))
    await service.heard(said(f"answered: {WORD}", 3))
    await told(service, "optout")
    service.model.replies.extend([says("", call("search", query="tortoise")), says("It sleeps.")])
    await service.heard(said("well?", 4, speaker=BOB))
    (found, _ok) = results(service.model.requests[-1])[-1]
    assert "Bob in hall): tortoise" in found
    assert texts(service.model.requests[-1]) == ["tortoise", "well?"]
    assert WORD not in whole(service.model.requests[-1])
    found_by_people = await service.read(lambda rows: search(rows, Query(WORD, None), Scope(HALL.audience)))
    assert found_by_people.hits == []


async def test_somebody_of_whom_nothing_is_kept_gets_a_receipt_that_says_so(service: Service) -> None:
    with pytest.raises(Unconfirmed, match=r"^Nothing about you is kept\.\nRecord an erasure anyway\?"):
        await asked(service, "erase", sure=False)
    receipt = await asked(service, "erase")
    assert receipt["words"] == 0
    assert (await asked(service, "see"))["erasures"] == [receipt]
    assert written(receipt).endswith("None of it is left in memory.")


async def test_a_folder_without_a_service_is_erased_as_well(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await lived(service)
        clock = service.clock
    async with Constellations.open(tmp_path, clock) as constellations:
        (erasure,) = await Eraser.at_rest(constellations, tmp_path, clock).erase_all((ANN.id,), OLGA.id)
        assert (erasure.asked_by, erasure.receipt["left"]) == (OLGA.id, [])
    assert bytes_with(tmp_path, WORD) == []


async def test_a_log_that_a_reader_keeps_is_given_up_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_erasure, "_LOG_SECONDS", 0.2)
    async with Constellations.open(tmp_path, lambda: NOW) as constellations:
        home = await constellations.ensure("home", PersonId("owner"))
        async with constellations.use(home.id) as file:
            await file.hurry()
            with closing(connect(file.path)) as raw, capture_logs() as logs:
                raw.execute("BEGIN")
                raw.execute("SELECT count(*) FROM agents").fetchone()
                await file.write(SETUP, lambda tx: folders.create(tx, Folder("a", "virtual", OWNER), NOW))
                async with asyncio.timeout(10):
                    await person_erasure._emptied(file)
            assert [entry["event"] for entry in logs] == ["wal_not_truncated"]


def test_what_tools_returned_is_not_for_reading() -> None:
    said = [{"role": role, "at": "2026-11-27T10:00:00Z", "text": f"by a {role}"} for role in ("user", "tool")]
    everything = {"exported_at": "2026-11-27T10:00:00Z", "constellations": {"home": {"messages": said}}}
    shown = list(readable(everything, {}, "UTC"))
    assert shown[-2:] == ["\n## home: messages (1)\n", "- Fri, Nov 27, 2026, 10:00 AM UTC\n  by a user"]


def test_an_export_that_does_not_fit_leaves_no_file_and_none_follows_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "export.json", tmp_path / "link.json"
    link.symlink_to(tmp_path / "elsewhere.json")
    everything = {
        "exported_at": NOW.isoformat(),
        "constellations": {},
        "said": random.Random(1).randbytes(30_000).hex(),
    }
    exported = Export(everything=everything, zone="UTC")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(UserError, match="could not be written: File too large"):
            exported.written(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with pytest.raises(UserError, match="already exists"):
        exported.written(link)
    assert [each.name for each in tmp_path.iterdir()] == ["link.json"]
    assert exported.written(file).file == str(file)
