"""Agents that know of each other: activity, roster, catch-up, tasks, handoffs and notes, as a model is shown them."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.agents.context.situation import ROSTER_CHARACTERS, Situation, roster_lines, situation_parts
from bot.agents.owner_notices import Notices
from bot.services.agents.coordination import Coordination
from bot.services.registry import Registry
from bot.services.results import Markdown, Plain
from bot.upkeep.housekeeping import Monitor
from memory import activity, agents, coordination
from memory.activity import Event, EventFilter, Kind, Neighbor, NoteAdded, ToolUsed
from memory.agenda import tasks
from memory.agenda.tasks import Status
from memory.agents import Agent
from memory.knowledge import summaries
from memory.knowledge.items import By
from memory.knowledge.summaries import AgentSummary, ConstellationSummary
from memory.people.audience import PUBLIC, Scope, Trust
from memory.queue import messages
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, MessageId
from memory.store.records import replace
from tests.bot.agents.context.test_context import newest
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    NOON,
    OLGA,
    ScriptedModel,
    call,
    channel,
    deleted,
    direct,
    results,
    said,
    says,
    two,
)
from tests.bot.scheduled_service import tidied
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running, talked
from texts import _, speaking

PORT, YARD = channel("42"), channel("yard")
ANNS, OLGAS = direct(ANN, "guild"), direct(OLGA)
TWO = two(
    "Flux",
    "Anchor",
    "discord:42",
    Flux='description = "keeps an eye on time"\n',
    Anchor='description = "habits and promises"\n',
)


def coordination_of(service: Service) -> Registry:
    people = service.approvals.people
    return registry(Coordination(service.database, people, service.clock, "UTC"), people=people)


async def events(service: Service, scope: Scope) -> list[tuple[Kind, str]]:
    def read(rows: Rows) -> list[tuple[Kind, str]]:
        return [(event.kind, f"{event.agent_name} {event.words}") for event in reversed(recent(rows, scope))]

    return await service.read(read)


def recent(rows: Rows, scope: Scope) -> list[Event]:
    return activity.recent(rows, scope, 200, EventFilter(NOON - timedelta(days=9)))


async def test_every_thing_a_turn_does_is_in_the_activity(tmp_path: Path) -> None:
    model = ScriptedModel(
        says(
            "",
            call("context", "1", operation="append", label="human", content="likes tea"),
            call("coord", "2", operation="assign", content="buy tea", agent="@anchor"),
            call("coord", "3", operation="handoff", content="tea is out", agent=""),
            call("coord", "4", operation="note", content="tea, not coffee", importance="high"),
            call("coord", "5", operation="complete", task="task_none"),
        ),
        says("done"),
    )
    async with talked(tmp_path, Setting(model, toml=TWO), "tea please") as service:
        found = await events(service, Scope(HALL.audience))
        with speaking("de"):
            german = await service.read(lambda rows: [_(each.words) for each in recent(rows, Scope(HALL.audience))])
    assert "hat den Block „human“ ergänzt" in german
    assert found == [
        (Kind.ACTIVATED, "Flux became active"),
        (Kind.RECEIVED, "Flux received a message"),
        (Kind.BLOCK, "Flux added to the block “human”"),
        (Kind.TOOL, "Flux used the memory blocks"),
        (Kind.TASK, "Flux assigned a task to Anchor: buy tea"),
        (Kind.HANDOFF, "Flux left a handoff note for anyone: tea is out"),
        (Kind.NOTABLE, "Flux noted: tea, not coffee"),
        (Kind.TOOL, "Flux used the coordination tools, which failed"),
        (Kind.SENT, "Flux replied"),
    ]


async def test_nobody_is_in_a_list_of_activity_under_two_names(tmp_path: Path) -> None:
    async with talked(tmp_path, Setting(), "tea please") as service:
        await service.heard(said("and milk", 2, speaker=replace(ANN, name="Annie")))
        listed = coordination_of(service)
        caller = replace(somebody(OLGA.id), scope=Scope(HALL.audience))
        found = (await listed.call("activity", caller, {"kind": "message_received"})).data()
    assert [row["text"].count("Annie") for row in found] == [1, 1]


async def test_what_tools_were_told_and_gave_is_read_from_the_conversation_and_goes_with_it(tmp_path: Path) -> None:
    calls = call("recall", "1", operation="insert", content="Ann likes tea"), call("coord", "2", operation="sing")
    model = ScriptedModel(says("", *calls), says("done"))
    async with running(tmp_path, Setting(model)) as service:
        coordinated = coordination_of(service)

        async def used(scope: Scope) -> list[tuple[str, str, str]]:
            caller = replace(somebody(OLGA.id), scope=scope)
            found = await coordinated.call("activity", caller, {"kind": "tool_executed"})
            listed = found.data()
            assert [row["details"]["seconds"] for row in listed] == [0] * len(listed)
            shown = ["".join(found.lines(each)) for each in (Markdown(), Plain("UTC", service.clock()))]
            assert not any("content" in each for each in shown), "arguments are for programs"
            return [(row["text"], row["arguments"], row["result"]) for row in reversed(listed)]

        await service.heard(said("tea please", 1, speaker=OLGA))
        (_, told, gave), (failed, sang, why) = await used(Scope(HALL.audience))
        with speaking("de"):
            german = [text for text, *_ in await used(Scope(HALL.audience))]
        assert german == [
            "Carina hat das Langzeitgedächtnis benutzt",
            "Carina hat die Werkzeuge zur Absprache benutzt, das schlug fehl",
        ]
        assert '"content":"Ann likes tea"' in told.replace(": ", ":")
        assert gave
        assert ("sing" in failed, "sing" in sang, bool(why)) == (False, True, True)
        assert await used(Scope(direct(BOB).audience)) == []
        narrow = "UPDATE messages SET audience = ? WHERE tool_call_id IS NOT NULL"
        await service.write(lambda tx: tx.run(narrow, (direct(BOB).audience,)))
        assert [each[1:] for each in await used(Scope(HALL.audience))] == [("", "")] * 2, "now only Bob may read them"
        await service.write(lambda tx: tx.run(narrow, (HALL.audience,)))
        await service.heard(deleted(1))
        assert [each[1:] for each in await used(Scope(HALL.audience))] == [("", "")] * 2
        slow = "UPDATE activity_events SET details = json_set(details, '$.seconds', 1.5) WHERE words GLOB '*long-term*'"
        await service.write(lambda tx: tx.run(slow, ()))
        found = await coordinated.call("activity", replace(somebody(OLGA.id), scope=Scope(HALL.audience)), {})
        assert [line.endswith("used long-term memory (1.5 s)") for line in found.lines(Markdown())].count(True) == 1


async def test_another_agent_is_shown_what_happened_the_task_and_the_handoff_once(tmp_path: Path) -> None:
    model = ScriptedModel(
        says(
            "",
            call("coord", "1", operation="assign", content="buy tea", agent="Anchor", importance="high"),
            call("coord", "2", operation="handoff", content="the kettle is broken", agent="anchor"),
        ),
        says("done"),
        says("", call("search", query="kettle")),
        says("I see"),
        says("again"),
    )
    async with talked(tmp_path, Setting(model, toml=TWO), "tea please") as service:
        service.clock.forward(600)
        await service.heard(said("hello", 2, PORT))
        await service.heard(said("hello again", 3, PORT))
        (open_task,) = await service.read(lambda rows: tasks.shared(rows, Scope(HALL.audience)))
    first, second, again = (newest(request) for request in model.requests[2:5])
    assert '<quoted from="who else is here">\n- Flux: keeps an eye on time (active now)\n</quoted>' in first
    assert '- [10 minutes ago] Flux received a message from Ann in hall: "tea please"' in first
    assert '- [10 minutes ago] Flux replied in hall: "done"' in first
    assert f"- buy tea (high; for Anchor, from Flux) `{open_task.id}`" in first
    assert "- Flux to Anchor: the kettle is broken" in first
    assert second == first, "all steps of a turn see the same"
    assert "the kettle is broken" not in again.partition("handoff notes")[2]
    assert "buy tea" in again


async def test_a_task_of_the_guild_is_not_completed_in_a_direct_message(tmp_path: Path) -> None:
    model = ScriptedModel(says("", call("coord", operation="assign", content="water the plants")), says("done"))
    async with talked(tmp_path, Setting(model), "plants!") as service:
        (task,) = await service.read(lambda rows: tasks.shared(rows, Scope(HALL.audience)))
        model.replies.extend([says("", call("coord", operation="complete", task=str(task.id))), says("hm")])
        await service.heard(said("I did it", 2, ANNS))
        assert await service.column("SELECT status FROM tasks") == ["open"]
        model.replies.extend([says("", call("coord", operation="complete", task=str(task.id))), says("good")])
        await service.heard(said("I did it", 3))
        assert await service.column("SELECT status FROM tasks") == ["done"]
    ((refused, ok),) = results(model.requests[3])
    assert not ok
    assert "people who are not here can see" in refused


async def test_what_is_said_of_a_task_is_shown_to_whom_it_is_given_and_what_waits_says_for_what(tmp_path: Path) -> None:
    more = {"due": "tomorrow at 9", "after": "buy tea", "fields": {"shop": "the corner"}, "importance": "critical"}
    model = ScriptedModel(
        says(
            "",
            call("coord", "1", operation="assign", content="buy tea", agent="Anchor"),
            call("coord", "2", operation="assign", content="make tea", agent="Flux", **more),
            call("coord", "3", operation="change", task="make tea", agent="Anchor", state="in_progress"),
            call("coord", "4", operation="change", task="buy tea", after="make tea"),
            call("coord", "5", operation="change", task="buy tea"),
        ),
        says("done"),
        says("hello"),
    )
    async with talked(tmp_path, Setting(model, toml=TWO), "tea please") as service:
        await service.heard(said("hello", 2, PORT))
        found = await service.read(lambda rows: tasks.shared(rows, Scope(HALL.audience)))
        noted = [words for kind, words in await events(service, Scope(HALL.audience)) if kind is Kind.NOTABLE]
        listed = coordination_of(service)
        caller = replace(somebody(OLGA.id), scope=Scope(HALL.audience))
        (row,) = (await listed.call("activity", caller, {"kind": "notable"})).data()
        assert sorted(row["details"]) == ["task", "tool", "type"]
    told = results(model.requests[1])
    assert "it waits for buy tea" in told[1][0]
    assert told[2][0] == "make tea is in progress now, but it waits for buy tea"
    assert [ok for _text, ok in told] == [True, True, True, False, False]
    assert "“make tea” would have to be done before itself" in told[3][0]
    assert (
        "- make tea (in progress; urgent; until 2026-11-23 09:00 UTC; for Anchor, from Flux; waits for 'buy tea'; "
        f"shop: the corner) `{found[0].id}`"
    ) in newest(model.requests[2])
    assert noted == ["Flux began the task “make tea”"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"operation": "assign", "content": "x", "agent": "nobody"}, "The agents are: Carina"),
        ({"operation": "assign", "content": "  "}, "needs some text"),
        ({"operation": "note", "content": "x" * 2001}, "at most 2,000 characters; this has 2,001"),
        ({"operation": "handoff", "content": "x", "agent": "carina"}, "for another agent"),
        ({"operation": "complete", "task": "task_1"}, "There is no task “task_1” here"),
        ({"operation": "note", "content": "x", "importance": "huge"}, "importance"),
    ],
)
async def test_what_cannot_be_arranged_is_told_to_the_model(
    tmp_path: Path, arguments: dict[str, str], words: str
) -> None:
    model = ScriptedModel(says("", call("coord", **arguments)), says("hm"))
    async with talked(tmp_path, Setting(model), "go") as service:
        assert await service.rows("SELECT 1 FROM items WHERE kind IN ('handoff', 'note')") == []
    ((text, ok),) = results(model.requests[1])
    assert not ok
    assert words in text


async def test_a_note_goes_with_the_message_that_it_came_from(tmp_path: Path) -> None:
    calls = [
        call("coord", str(n), operation=operation, content=f"{operation} the ring")
        for n, operation in enumerate(("assign", "handoff", "note"))
    ]
    async with talked(tmp_path, Setting(ScriptedModel(says("", *calls), says("done"))), "a ring") as service:
        assert len(await service.rows("SELECT 1 FROM activity_events WHERE words LIKE '%ring%'")) == 3
        await service.heard(deleted(1))
        left = "SELECT id FROM tasks UNION SELECT id FROM items WHERE kind IN ('handoff', 'note')"
        assert await service.rows(left) == []
        assert await service.rows("SELECT 1 FROM activity_events WHERE words LIKE '%ring%'") == []
        assert await service.rows("SELECT 1 FROM activity_fts WHERE activity_fts MATCH 'ring'") == []


@pytest.mark.parametrize("taken_back", [1, 2])
async def test_a_task_goes_with_each_message_that_gave_it_words(tmp_path: Path, taken_back: int) -> None:
    given = call("coord", operation="assign", content="polish the ring")
    changed = call("coord", operation="change", task="polish", content="sell the crown")
    replies = [says("", given), says("done"), says("", changed), says("changed")]
    async with talked(tmp_path, Setting(ScriptedModel(*replies)), "the ring") as service:
        await service.heard(said("the crown", 2, speaker=BOB))
        assert await service.column("SELECT title FROM tasks") == ["sell the crown"]
        await service.heard(deleted(taken_back))
        assert await service.rows("SELECT 1 FROM tasks") == []
        told = "SELECT 1 FROM activity_events WHERE words || details LIKE '%ring%' OR words LIKE '%crown%'"
        assert await service.rows(told) == []


# ---------------------------------------------------------------------------------------------- coming and going


async def test_what_is_idle_is_noted_by_itself_and_what_is_old_is_deleted_at_night(service: Service) -> None:
    watch = Monitor(service.database, Notices(OWNERS_PLACE.id), service.clock, service.resume, lambda: None)
    note = call("coord", operation="note", content="we moved")
    service.model.replies.extend([says("", note), says("noted")])
    await service.heard(said("we moved", 1))
    await watch.check()
    before = await events(service, Scope(HALL.audience))
    service.clock.forward(1800)
    await watch.check()
    assert await events(service, Scope(HALL.audience)) == [*before, (Kind.DEACTIVATED, "Carina became inactive")]
    service.clock.forward(31 * 24 * 3600)
    await tidied(service, timedelta(days=30))
    assert await service.column("SELECT count(*) FROM activity_events") == [0]
    assert await service.column("SELECT count(*) FROM activity_fts WHERE activity_fts MATCH 'moved'") == [0]
    assert len(await service.read(lambda rows: coordination.notes(rows, Scope(HALL.audience), 9))) == 1


async def _lived(service: Service) -> None:
    """A week in which Flux worked and Anchor did not."""
    await service.heard(said("hello", 1, PORT))
    await service.heard(said("plan my week", 2), said("and the next", 3))
    flux = await service.read(lambda rows: agents.agent_named(rows, "Flux"))
    assert flux is not None
    await service.write(lambda tx: _decided(tx, flux))
    service.clock.forward(7 * 24 * 3600)


def _decided(tx: Tx, flux: Agent) -> None:
    scope = Scope(HALL.audience)
    by = By(scope, Trust.OWNER, NOON + timedelta(hours=1), flux.id)
    coordination.add_note(tx, by, "pause the garden", "medium")
    coordination.add_note(tx, by, "the kettle whistled", "low")
    coordination.change(tx, by, coordination.assign(tx, by, "sow", None), {"status": Status.DONE})
    coordination.assign(tx, by, "harvest", None)
    row = tx.one("SELECT id FROM messages WHERE role = 'user' ORDER BY id DESC")
    assert row is not None
    sources = messages.by_ids(tx, [MessageId(row["id"])], scope)
    did = AgentSummary("Planned two weeks.", scope.audience, Trust.OWNER, 2, "", NOON, agent=flux.id, agent_name="Flux")
    summaries.put_agent_summary(tx, did, sources)
    week = ConstellationSummary(
        "A week of plans.", scope.audience, Trust.OWNER, 0, "", NOON,
        start=NOON, end=NOON, decisions=("x",), threads=("who waters?",),
    )  # fmt: skip
    summaries.add_constellation_summary(tx, week, sources)


async def test_an_agent_that_was_away_is_told_what_it_missed_in_the_form_of_the_design(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(toml=TWO)) as service:
        await _lived(service)
        await service.heard(said("hello again", 9, PORT))
        await service.heard(said("and again", 10, PORT))
    first, second = newest(service.model.requests[-2]), newest(service.model.requests[-1])
    assert (
        """<quoted from="what happened while you were away">
## Constellation Update (you were last active 7 days ago)

### What's Happened
- 2 messages processed across the constellation
- 1 task completed, 2 new tasks created
- Flux gave 1 answer

### Key Decisions
- pause the garden (medium, noted by Flux)

### Open Threads
- who waters?
"""
        in first
    )
    assert "harvest" in first
    assert "### Agent Activity\n**Flux** (last active: 7 days ago)\nPlanned two weeks.\n</quoted>" in first
    assert "Constellation Update" not in second


async def test_a_catch_up_tells_nothing_of_other_peoples_direct_messages(tmp_path: Path) -> None:
    async with talked(tmp_path, Setting(toml=TWO), said("hello", 1, PORT)) as service:
        service.clock.forward(60)
        await service.heard(said("psst", 2, ANNS))
        service.clock.forward(7200)
        await service.heard(said("hello", 3, PORT, BOB))
    assert "Constellation Update" not in newest(service.model.requests[-1])


def test_repeated_calls_of_a_tool_are_one_line_in_the_prompt() -> None:
    used = ToolUsed("voting", None, worked=True)
    event = Event(
        1, Kind.TOOL, "Flux", None, "", None, "used voting", "", "", None, PUBLIC, Trust.OWNER, NOON, used, None
    )
    asked = event._replace(kind=Kind.NOTABLE, words="asked for a vote", details=NoteAdded("n1"))
    found = Situation(
        NOON + timedelta(minutes=5),
        events=(event, event, event._replace(at=NOON - timedelta(hours=1)), asked, asked._replace(id=2), event, asked),
    )
    ((_source, lines),) = situation_parts(found)
    assert lines.splitlines() == [
        "- [5 minutes ago] Flux used voting (3 times)",
        "- [5 minutes ago] Flux asked for a vote",
        "- [5 minutes ago] Flux asked for a vote",
        "- [5 minutes ago] Flux used voting",
        "- [5 minutes ago] Flux asked for a vote",
    ]


def test_the_roster_is_small_however_many_there_are() -> None:
    many = [Neighbor(AgentId(f"a{n}"), f"Agent number {n}", "does many things " * 20, NOON) for n in range(40)]
    lines = roster_lines(many, NOON + timedelta(days=3))
    assert sum(map(len, lines)) + len(lines) <= ROSTER_CHARACTERS + 20
    assert lines[-1] == f"- and {40 - len(lines) + 1} more"
