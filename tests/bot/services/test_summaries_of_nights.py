"""What sleeptime agents did by themselves is told, and taken back as one but for what was changed since."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.agents.permissions.roles_and_rights import Approver
from bot.errors import UserError
from bot.models.base import Answer, Request
from bot.services.caller import Caller, PlaceScope, Via
from bot.services.memory.blocks import Blocks
from bot.services.memory.summaries_of_nights import NightSummaries
from bot.services.results import Listing
from memory import agents, coordination
from memory.agenda import tasks
from memory.agenda.tasks import Status
from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.knowledge.items import By
from memory.people.audience import OWNER, Scope, Trust
from memory.store.database import Tx
from memory.store.errors import DatabaseFull
from memory.store.ids import AgentId, PersonId, PlaceId
from memory.store.records import replace
from tests.bot import parts
from tests.bot.agents.groups.parts import agents as agents_of
from tests.bot.agents.groups.parts import sleeptime
from tests.bot.parts import ANN, BOB, NOON, call, channel, deleted, direct, says
from tests.bot.scheduled_service import ScheduledService, SummaryModel, scheduled_service, setting
from tests.bot.services.calling import registry, somebody
from tests.captured_logs import capture_logs

BEE = """
[[agents]]
name = "Bee"
system_prompt = "You are Bee."
[[agents.blocks]]
label = "notes"
description = "Notes"
type = "working"
pinned = true
audience = "owner"
content = "Monday: calm."
[[agents.blocks]]
label = "state"
description = "How they are"
audience = "owner"
schema = { type = "map", fields = [{ name = "mood" }] }
"""
SYNC = {"name": "sync", "on": "pattern_detected", "priority": "high", "words": ["lost track"]}
OLGA = replace(parts.OLGA, id=PersonId("discord:901"))
"""With an id, as a file can name her direct messages."""
TOML = agents_of("Ant") + BEE + sleeptime("Night", '"Bee"', "discord:user:901", 20, SYNC)
EVENING = NOON.replace(hour=20)
DEN = channel("den")
SCOPE = Scope(OWNER)
ANN_IN_DEN = replace(somebody(ANN.id), scope=Scope(DEN.audience))
THAT = "2026-11-22"
BY_OLGA = Caller(
    Approver(parts.OLGA.id), Via.DISCORD, SCOPE, PlaceScope(PlaceId("discord:user:901"), SCOPE), Trust.OWNER
)


class Dark:
    """A service at night, and who asks about it, with results as data."""

    def __init__(self, live: ScheduledService, calls: list[Answer]) -> None:
        self.live, self.service, self._calls = live, live.service, calls
        people = self.service.approvals.people
        store = self.service.database, people, self.service.clock
        self.registry = registry(NightSummaries(*store, "UTC"), Blocks(*store, "UTC"), people=people)

    async def acts(self, *calls: Any) -> None:
        """Somebody says what wakes the agent of the night, which then does that."""
        self._calls += [says("", each) for each in calls]
        await self.live.say("I lost track of it", DEN, ANN)
        await self.live.pass_by(minutes=25)
        assert not self._calls, "the agent did what it was to do"

    async def bee(self) -> AgentId:
        return AgentId((await self.service.column("SELECT id FROM agents WHERE name = 'Bee'"))[0])

    async def keep(self, content: str, label: str | None = None) -> str:
        """An entry from before the night."""
        bee, now = await self.bee(), self.service.clock()
        new = NewEntry(content, Origin(SCOPE, Trust.OWNER), label)
        return (await self.service.write(lambda tx: entry_changes.insert(tx, bee, new, now))).id

    async def entries(self) -> list[str]:
        return await self.service.column("SELECT content FROM archival_entries ORDER BY n")

    async def block(self, label: str) -> str:
        (text,) = await self.service.column("SELECT content FROM memory_blocks WHERE label = ?", label)
        return str(text)

    async def report(self, caller: Caller = BY_OLGA, night: str = THAT) -> Any:
        return (await self.registry.call("summary.night", caller, {"night": night})).data()

    async def undo(self, caller: Caller = BY_OLGA, **only: Any) -> Any:
        return (await self.registry.call("summary.undo-night", caller, {"night": THAT, **only})).data()

    async def known(self, caller: Caller) -> list[str]:
        return [name for name, _ in await self.registry.suggest("summary.night", "night", caller, {})]


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Dark]:
    calls: list[Answer] = []

    def talk(request: Request) -> Answer:
        if "You are Bee." not in request.system:
            return says("yes")
        return calls.pop(0) if calls else says("")

    made = setting(SummaryModel(talk), EVENING, toml=TOML)
    async with scheduled_service(tmp_path, made, jobs=()) as live:
        await live.say("good evening", direct(OLGA), OLGA)
        await live.pass_by(minutes=6)  # the first look only notes the time
        yield Dark(live, calls)


NOTE = call("context", "n", operation="append", label="notes", content="Tuesday: lost track twice.")
LEARNED = call("recall", "l", operation="insert", content="Ann loses track in the evening.")


async def test_what_was_done_at_night_is_told_with_why(at: Dark) -> None:
    await at.acts(NOTE, LEARNED)
    (turn,) = await at.report()
    assert (turn["agent"], turn["group"], turn["place"]) == ("Bee", "Night", "Olga's messages")
    assert turn["why"] == ["sync (high priority): somebody said 'lost track'"]
    assert turn["wrote"][0] == "wrote to the block “notes” (1 change): “Tuesday: lost track twice.”"
    assert turn["wrote"][1].endswith(": “Ann loses track in the evening.”")
    at.service.clock.now = NOON.replace(day=23, hour=9)
    assert await at.report(night="") == [turn], "last night"
    at.service.clock.now = NOON.replace(day=24, hour=13)
    assert await at.report(night="") == []
    assert await at.known(BY_OLGA) == ["2026-11-22"]
    assert await at.known(ANN_IN_DEN) == [], "she may not know of it"
    assert await at.report(ANN_IN_DEN) == [], "not even that there is a turn"
    (hidden,) = await at.report(replace(BY_OLGA, scope=Scope(DEN.audience)))
    assert hidden["text"] == "1 turn that you cannot see here"
    for wrong in ("yesterday", "9999-12-31"):
        with pytest.raises(UserError, match="is not a night"):
            await at.report(night=wrong)
    await at.service.write(lambda tx: tx.run("UPDATE memory_blocks SET sealed_seq = next_seq - 1"))
    (told,) = await at.report()
    assert told["wrote"] == turn["wrote"][1:], "words that were withdrawn since are not told"


async def test_a_night_is_undone_as_one(at: Dark) -> None:
    await at.keep("Ann has a boat called Ada.", "boat")
    await at.keep("Ann has a dog.", "dog")
    before = await at.block("notes"), await at.block("state"), await at.entries()
    await at.acts(
        NOTE,
        LEARNED,
        call("context", "s", operation="set_field", label="state", field="mood", value="tired"),
        call("recall", "a", operation="append", label="dog", content="It is called Ben."),
        call("recall", "d", operation="delete", label="boat"),
    )
    assert "lost track twice." in await at.block("notes")
    assert sorted(await at.entries()) == ["Ann has a dog.\nIt is called Ben.", "Ann loses track in the evening."]
    terminal = replace(BY_OLGA, via=Via.TERMINAL)
    assert await at.undo(terminal, turn=1) == []
    with pytest.raises(UserError, match="There is no agent “Ann”"):
        await at.undo(terminal, agent="Ann")
    (turn,) = await at.report()
    done = await at.undo(terminal, agent="bee", turn=turn["turn"])
    assert [item["state"] for item in done] == ["undone"] * 5
    after = await at.block("notes"), await at.block("state"), await at.entries()
    assert (after[:2], sorted(after[2])) == (before[:2], sorted(before[2]))
    bee = await at.bee()
    boat = await at.service.read(lambda rows: entries.read(rows, bee, "boat", SCOPE))
    assert boat.content == "Ann has a boat called Ada."
    events = await at.service.column("SELECT words ->> 0 FROM activity_events WHERE event_type = 'notable'")
    assert events == ["undid 5 of 5 changes from the night that began 2026-11-22 12:00 UTC"]
    told = [row["text"] for row in await at.report()]
    assert told[0] == events[0], "who looks at a night sees that it does not stand any more"
    again = await at.undo()
    assert {item["state"] for item in again} == {"left"}
    await at.registry.call("memory.undo", BY_OLGA, {"label": "notes"})
    assert "lost track twice." in await at.block("notes"), "an undo is a change like any other"


async def test_one_line_of_a_night_is_undone_alone(at: Dark) -> None:
    await at.keep("Ann has a dog.", "dog")
    before = await at.block("notes")
    tired = call("context", "s", operation="set_field", label="state", field="mood", value="tired")
    await at.acts(NOTE, LEARNED, tired, call("recall", "a", operation="append", label="dog", content="It is Ben."))
    terminal = replace(BY_OLGA, via=Via.TERMINAL)
    found = await at.registry.call("summary.night", BY_OLGA, {"night": THAT})
    assert isinstance(found, Listing)
    (turn,) = found.rows
    by_line = dict(zip(turn.wrote, turn.parts, strict=True))
    (line,) = (line for line in by_line if "block “notes”" in line)
    for part, state in ((by_line[line], ["undone"]), ("block elsewhere", []), (by_line[line], ["left"])):
        done = await at.undo(terminal, turn=turn.turn, part=part)
        assert [item["state"] for item in done] == state
    assert await at.block("notes") == before
    assert "tired" in await at.block("state")
    (line,) = (line for line in by_line if "loses track" in line)
    await at.undo(terminal, turn=turn.turn, part=by_line[line])
    assert await at.entries() == ["Ann has a dog.\nIt is Ben."]


async def test_what_somebody_changed_since_stays_and_is_named(at: Dark) -> None:
    await at.keep("Ann has a dog.", "dog")
    await at.keep("Ann has a boat.", "boat")
    await at.acts(
        call("context", "n", operation="replace", label="notes", old_content="calm", new_content="busy and late"),
        call("context", "s", operation="set_field", label="state", field="mood", value="tired"),
        call("recall", "a", operation="append", label="dog", content="It is called Ben."),
        call("recall", "d", operation="delete", label="boat"),
    )
    edit = {"label": "notes", "text": "Monday: busy and very late."}
    await at.registry.call("memory.edit", replace(BY_OLGA, via=Via.TERMINAL), edit)
    bee, now = await at.bee(), at.service.clock()
    await at.service.write(
        lambda tx: entry_changes.append(tx, bee, "dog", "It barks.", Origin(SCOPE, Trust.OWNER), now)
    )
    await at.keep("Another boat.", "boat")
    done = await at.undo()
    by_what = {item["what"]: item for item in done}
    assert by_what["block “notes”"]["state"] == "partly"
    assert "very" in await at.block("notes"), "what somebody wrote since stays"
    assert "busy" not in await at.block("notes")
    assert by_what["block “state”"]["state"] == "undone"
    assert sorted(item["text"] for item in done if item["state"] == "left") == [
        "somebody has changed it since", "there is now another entry “boat”"
    ]  # fmt: skip
    assert "Ann has a dog.\nIt is called Ben.\nIt barks." in await at.entries()


ARRANGED = (
    call("coord", "a", operation="assign", content="Ask Ann about the evening", agent="Ant"),
    call("coord", "h", operation="handoff", content="Ann was late twice", agent="Ant"),
    call("coord", "n", operation="note", content="Evenings are hard", importance="high"),
    call("facts", "f", operation="add", fact="Ann loses track in the evening", category="workflow_habit"),
)
TOLD = (
    "SELECT title FROM tasks UNION ALL SELECT text FROM items WHERE kind IN ('handoff', 'note')"
    " UNION ALL SELECT fact FROM facts"
    " UNION ALL SELECT words ->> 0 FROM activity_events WHERE event_type IN"
    " ('task_assigned', 'handoff_initiated', 'notable') AND words ->> 0 NOT LIKE 'undid %'"
)


async def test_what_agents_arranged_at_night_is_taken_back_too(at: Dark) -> None:
    service = at.service

    def assign(tx: Tx) -> str:
        by = By(SCOPE, Trust.OWNER, service.clock())
        return str(coordination.assign(tx, by, "water the plants", agents.agent_named(tx, "Ant")).id)

    task = await service.write(assign)
    before = sorted(await service.column(TOLD))
    await at.acts(*ARRANGED, call("coord", "c", operation="complete", task=task))
    assert len(await service.column(TOLD)) == len(before) + 4 + 3 + 1
    done = await at.undo()
    assert [(item["what"].rpartition(" ")[0], item["state"]) for item in done] == [
        ("change to task", "undone"),
        ("task", "undone"),
        ("handoff note", "undone"),
        ("note", "undone"),
        ("fact", "undone"),
    ]
    assert sorted(await service.column(TOLD)) == before
    assert await service.column("SELECT status FROM tasks") == ["open"]
    again = await at.undo()
    assert again == []


async def test_what_was_arranged_at_night_and_done_since_stays_done(at: Dark) -> None:
    service = at.service
    await at.acts(ARRANGED[0])
    (task,) = await service.read(lambda rows: tasks.shared(rows, SCOPE))
    by = By(SCOPE, Trust.OWNER, service.clock())
    await service.write(lambda tx: coordination.change(tx, by, task, {"status": Status.DONE}))
    (item,) = await at.undo()
    assert (item["state"], item["text"]) == ("left", "it is done")
    assert await service.column("SELECT status FROM tasks") == ["done"]
    assert await at.report(ANN_IN_DEN) == []


async def test_a_change_of_a_task_whose_earlier_state_was_not_kept_stays(at: Dark) -> None:
    by = By(SCOPE, Trust.OWNER, at.service.clock())
    made = await at.service.write(
        lambda tx: coordination.assign(tx, by, "water the plants", agents.agent_named(tx, "Ant"))
    )
    await at.acts(call("coord", "c", operation="complete", task=str(made.id)))
    forgotten = "UPDATE activity_events SET details = json_remove(details, '$.before')"
    await at.service.write(lambda tx: tx.run(forgotten))
    (item,) = await at.undo()
    assert (item["state"], item["text"]) == ("left", "its earlier state is not known")


async def test_only_who_is_in_charge_undoes_a_night_and_not_while_somebody_is_at_work(at: Dark) -> None:
    await at.acts(NOTE)
    with pytest.raises(UserError, match="Only an admin may undo what agents wrote on their own overnight"):
        await at.undo(somebody(BOB.id))
    await at.service.write(lambda tx: tx.run("UPDATE turns SET status = 'running' WHERE person_id IS NULL"))
    with pytest.raises(UserError, match="still working"):
        await at.undo()
    assert "lost track twice." in await at.block("notes")


async def test_it_is_logged_only_when_it_is_stored(at: Dark, monkeypatch: pytest.MonkeyPatch) -> None:
    await at.acts(NOTE)

    def full(tx: Tx, work: Callable[[Tx], object]) -> None:
        work(tx)
        raise DatabaseFull("the disk is full")

    write = at.service.database.write
    monkeypatch.setattr(
        at.service.database, "write", lambda point, work, **more: write(point, lambda tx: full(tx, work), **more)
    )
    with capture_logs() as logged, pytest.raises(DatabaseFull):
        await at.undo()
    assert "night_undone" not in [each["event"] for each in logged]


async def test_turns_of_people_leave_no_journal_and_what_is_forgotten_by_day_is_not_kept(at: Dark) -> None:
    entry = await at.keep("Ann has a dog.", "dog")
    await at.acts(call("recall", "a", operation="append", label="dog", content="It is called Ben."))
    kept = "SELECT before FROM archival_journal"
    assert len(await at.service.column(kept)) == 1, "not what the owner kept by day"
    bee = await at.bee()
    await at.service.write(lambda tx: entry_changes.delete(tx, bee, entry, SCOPE))
    assert await at.service.column(kept) == []


async def test_words_that_are_taken_back_are_not_kept_for_an_undo_either(at: Dark) -> None:
    number = await at.live.say("my dog is called Ben", DEN, BOB)
    (message,) = await at.service.column("SELECT id FROM messages WHERE content LIKE '%Ben%'")
    bee, now = await at.bee(), at.service.clock()
    origin = Origin(Scope(OWNER), Trust.APPROVED, BOB.id, message)
    new = NewEntry("Bob's dog is called Ben.", origin, "dog")
    await at.service.write(lambda tx: entry_changes.insert(tx, bee, new, now))
    await at.acts(call("recall", "d", operation="delete", label="dog"))
    assert len(await at.service.column("SELECT 1 FROM archival_journal WHERE before LIKE '%Ben%'")) == 1
    await at.service.heard(deleted(number, DEN))
    assert await at.service.column("SELECT before FROM archival_journal") == []
