"""Tasks in steps: under each other, moved, and made again from templates; everybody has their own."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.errors import UserError
from bot.services.caller import Caller, owner_at_terminal
from bot.services.people.tasks import TaskLists, typed_due
from bot.services.results import Markdown, Plain, Result
from memory.agenda import tasks
from memory.agenda.tasks import Task
from memory.erasure import personal_tables
from memory.people import person_settings
from memory.people.audience import PUBLIC, Audience, Scope, Trust, person_audience
from memory.store.database import Database, Tx
from memory.store.ids import PersonId
from memory.store.records import replace
from tests.bot.services.calling import NOW, PEOPLE, SETUP, registry, somebody

OLGA, ANN = owner_at_terminal(), somebody(PersonId("discord:ann"))
INK = Plain("UTC", NOW)


class Harness:
    """Calls operations as an interface does."""

    def __init__(self, database: Database) -> None:
        self._registry = registry(TaskLists(database, PEOPLE, lambda: NOW, "UTC"))

    async def __call__(self, operation: str, caller: Caller = OLGA, /, **given: Any) -> Result:
        return await self._registry.call(operation, caller, given)

    async def tree(self, caller: Caller = OLGA) -> list[str]:
        listed = (await self("tasks.list", caller)).terminal(INK)
        return [line.partition(" #")[0] for line in listed.splitlines()]


@pytest.fixture
async def todo(database: Database) -> Harness:
    found = Harness(database)
    await found("tasks.add", title="move house")
    await found("tasks.add", title="pack books", under="move house")
    await found("tasks.add", title="buy boxes", under="pack books", priority="high")
    await found("tasks.add", title="call the landlord")
    return found


@pytest.mark.parametrize(
    ("title", "kept", "due"),
    [
        ("pay rent, by friday", "pay rent", True),
        ("buy tickets for Friday", "buy tickets for Friday", True),
        ("Miete zahlen am Freitag", "Miete zahlen", True),
        ("buy the Sunday Times", "buy the Sunday Times", False),
        ("water plants every monday", "water plants every monday", False),
        ("friday", "friday", False),
        ("finish the book by tomorrow", "finish the book", True),
        ("write memo, due Friday", "write memo", True),
        ("pay rent until Dec 1", "pay rent", True),
        ("Bericht schreiben, fällig am Freitag", "Bericht schreiben", True),
        ("Auto waschen bis spätestens Montag", "Auto waschen", True),
        ("Steuer bis zum 5. Dezember", "Steuer", True),
        ("reply to the mail from Monday", "reply to the mail from Monday", False),
        ("talk about tomorrow", "talk about tomorrow", False),
        ("write the minutes of last Monday", "write the minutes of last Monday", False),
        ("set the alarm to 7:30", "set the alarm to 7:30", False),
        ("auf die Mail von Montag antworten", "auf die Mail von Montag antworten", False),
        ("Notizen vom Montag", "Notizen vom Montag", False),
    ],
)
async def test_a_title_that_ends_with_a_date_is_due_then(todo: Harness, title: str, kept: str, *, due: bool) -> None:
    made = (await todo("tasks.add", title=title)).data()
    assert (made["text"], made["due"] is not None) == (kept, due)
    exact = (await todo("tasks.add", title=title, due="none")).data()
    assert (exact["text"], exact["due"]) == (title, None)


@pytest.mark.parametrize("past", [timedelta(days=2), timedelta(minutes=30, seconds=20)])
async def test_a_task_that_is_overdue_is_changed_by_a_form_that_shows_when_it_was_due(
    todo: Harness, database: Database, past: timedelta
) -> None:
    sql = "UPDATE tasks SET due_at = ? WHERE title = 'buy boxes'"
    await database.write(SETUP, lambda tx: tx.run(sql, (NOW - past,)))
    row = next(each for each in (await todo("tasks.list")).data() if each["text"] == "buy boxes")
    shown = typed_due(datetime.fromisoformat(row["due"]))
    changed = (await todo("tasks.change", task="buy boxes", due=shown, notes="at the market")).data()
    assert (changed["notes"], changed["due"]) == ("at the market", row["due"])
    emptied = (await todo("tasks.change", task="buy boxes", due="", notes="")).data()
    assert (emptied["notes"], emptied["due"], emptied["text"]) == ("", None, "buy boxes")


@pytest.mark.parametrize("under", ["move house", "pack books", "buy boxes"])
async def test_a_task_cannot_stand_under_itself(todo: Harness, under: str) -> None:
    before = await todo.tree()
    with pytest.raises(UserError, match="circular"):
        await todo("tasks.change", task="move house", under=under)
    assert await todo.tree() == before


async def test_a_template_makes_the_same_tasks_again(todo: Harness) -> None:
    await todo("tasks.done", task="buy boxes")  # a step that is done belongs to it nevertheless
    saved = await todo("tasks.template.save", name="Moving", task="move house")
    assert saved.lines(INK) == ["Saved “move house” as the template “Moving”."]
    await todo("tasks.done", task="move house")
    assert (await todo("tasks.template.list")).lines(INK) == ["- Moving: move house (2 steps)"]
    await todo("tasks.template.use", name="moving", title="move the office", under="call the landlord")
    assert await todo.tree() == [
        "- call the landlord", "  - move the office", "    - pack books", "      - buy boxes – high priority",
    ]  # fmt: skip
    await todo("tasks.template.save", name="moving", task="call the landlord")
    assert (await todo("tasks.template.list")).lines(INK) == ["- moving: call the landlord (3 steps)"]
    await todo("tasks.template.remove", name="Moving")
    assert (await todo("tasks.template.list")).data() == []
    with pytest.raises(UserError, match="no task template"):
        await todo("tasks.template.use", name="Moving")


async def test_nobody_sees_or_uses_what_is_somebody_elses(todo: Harness, database: Database) -> None:
    await todo("tasks.template.save", name="Moving", task="move house")
    await todo("tasks.add", ANN, title="dance")
    assert [row["text"] for row in (await todo("tasks.list", ANN)).data()] == ["dance"]
    assert (await todo("tasks.template.list", ANN)).data() == []
    for name, given in (
        ("tasks.change", {"task": "dance", "under": "move house"}),
        ("tasks.change", {"task": "move house", "under": "none"}),
    ):
        with pytest.raises(UserError):
            await todo(name, ANN, **given)
    with pytest.raises(UserError):
        await todo("tasks.template.use", ANN, name="Moving")
    await todo("tasks.template.save", ANN, name="Dancing", task="dance")
    assert [row["name"] for row in (await todo("tasks.template.list", ANN)).data()] == ["Dancing"]
    held = await database.read(lambda rows: personal_tables.count_all(rows, ANN.person))
    assert (held["tasks"], held["knowledge"]) == (1, 1)  # what erases somebody erases both


async def test_times_are_read_and_shown_on_the_clock_of_whoever_asks(todo: Harness, database: Database) -> None:
    tokyo = person_settings.Times(zone="Asia/Tokyo")
    await database.write(SETUP, lambda tx: person_settings.put(tx, (ANN.person,), tokyo, NOW))
    for caller in (OLGA, ANN):
        await todo("tasks.add", caller, title="dance", due="tomorrow at 18:00")
    listed = [row for caller in (OLGA, ANN) for row in (await todo("tasks.list", caller)).data()]
    assert [row["due"][10:] for row in listed if row["due"]] == ["T18:00:00.000Z", "T18:00:00+09:00"]


@pytest.mark.parametrize(
    ("due", "clock"),
    [
        ("today", "T23:59"),
        ("by Friday", "T23:59"),
        ("bis Freitag", "T23:59"),
        ("金曜日まで", "T23:59"),
        ("2030-12-31", "T23:59"),
        ("by Friday at 9", "T09:00"),
        ("tomorrow morning", "T09:00"),
    ],
)
async def test_a_due_day_without_a_time_is_due_when_it_ends(todo: Harness, due: str, clock: str) -> None:
    await todo("tasks.add", title="dance", due=due)
    (listed,) = [row["due"] for row in (await todo("tasks.list")).data() if row["due"]]
    assert listed[10:16] == clock
    (line,) = [each for each in (await todo("tasks.list")).lines(INK) if each.startswith("- dance")]
    assert (":59" in line, ":00" in line) == (False, clock == "T09:00"), "of a day alone no time is shown"
    (stamped,) = [each for each in (await todo("tasks.list")).lines(Markdown()) if each.startswith("- dance")]
    assert (":D>" in stamped) is (clock == "T23:59")


async def test_what_somebody_writes_alone_into_a_task_that_others_see_is_seen_by_nobody_else(
    todo: Harness, database: Database
) -> None:
    guild = Audience("guild:home")
    scope = Scope(person_audience(ANN.person), frozenset({guild}))
    ann = replace(ANN, scope=scope, alone=replace(ANN.alone, scope=scope))
    new = Task("see somebody", ANN.person, guild, Trust.STRANGER, NOW)
    task = await database.write(SETUP, lambda tx: tasks.add(tx, new))

    async def seen_there() -> list[str]:
        return [
            each.title for each in await database.read(lambda rows: tasks.listing(rows, Scope(guild), (ANN.person,)))
        ]

    await todo("tasks.change", ann, task=str(task.id), priority="high")
    assert await seen_there() == ["see somebody"]
    await todo("tasks.change", ann, task=str(task.id), title="see the therapist")
    assert await seen_there() == []
    assert await todo.tree(ann) == ["- see the therapist – high priority"]


async def test_a_task_says_how_far_it_is_when_it_is_due_and_what_it_waits_for(todo: Harness) -> None:
    field = ("room=kitchen", "cost = 20")
    await todo("tasks.add", title="paint", after="buy boxes", due="tomorrow at 9", field=field)
    changed = await todo(
        "tasks.change", task="call the landlord", state="in_progress", priority="low", notes="ring twice"
    )
    assert changed.lines(INK)[0].startswith("Changed: call the landlord – in progress; low priority")
    due = f"due {INK.time(NOW.replace(hour=9, minute=0) + timedelta(days=1))}"
    shown = await todo.tree()
    assert [shown[0], shown[-1]] == [
        f"- paint – {due}; waits for buy boxes; room: kitchen; cost: 20",
        "- call the landlord – in progress; low priority",
    ]
    await todo("tasks.done", task="buy boxes")
    await todo("tasks.change", task="paint", due="none", field=("room=",), title="paint the hall")
    assert "- paint the hall – cost: 20" in await todo.tree()
    await todo("tasks.change", task="buy boxes", state="open")
    assert "- paint the hall – waits for buy boxes; cost: 20" in await todo.tree()
    await todo("tasks.change", task="paint the hall", after="none")
    assert "- paint the hall – cost: 20" in await todo.tree()


@pytest.mark.parametrize(
    "given",
    [
        {"task": "call the landlord", "after": "call the landlord"},
        {"task": "buy boxes", "after": "call the landlord"},
        {"task": "buy boxes", "after": "move house"},
    ],
)
async def test_nothing_waits_for_itself_however_far_around(todo: Harness, given: dict[str, str]) -> None:
    await todo("tasks.change", task="call the landlord", after="move house")
    before = await todo.tree()
    with pytest.raises(UserError, match="circular"):
        await todo("tasks.change", **given)
    with pytest.raises(UserError, match="circular"):
        await todo("tasks.change", task="call the landlord", under="buy boxes")
    with pytest.raises(UserError, match="circular"):
        await todo("tasks.add", title="label boxes", under="pack books", after="move house")
    assert await todo.tree() == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "Say what to change"),
        ({"agent": "Ada"}, "is a personal task: agents can be given only shared tasks"),
        ({"field": ("room",)}, "Write it as NAME=VALUE"),
        ({"field": ("x" * 41 + "=1",)}, "at most 20 fields"),
        ({"due": "every day at 9"}, "cannot repeat"),
    ],
)
async def test_what_cannot_be_changed_is_refused(todo: Harness, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        await todo("tasks.change", task="pack books", **given)


async def test_which_of_several_is_meant_is_asked_by_their_titles_and_by_numbers_only_where_those_are_the_same(
    todo: Harness,
) -> None:
    with pytest.raises(UserError, match=r"^Several tasks match “b”\. Choose one: buy boxes; pack books\.$"):
        await todo("tasks.done", task="b")
    await todo("tasks.add", title="buy boxes")
    with pytest.raises(UserError, match=r"^Several tasks match “buy”\. Choose one: \d{6}: buy boxes; \d{6}: buy boxes"):
        await todo("tasks.done", task="buy")


async def test_a_title_that_an_error_lists_breaks_no_line(todo: Harness) -> None:
    for number in "12":
        await todo("tasks.add", title=f"wash\r\n\u202eand\x1b[31m dry {number}")
    for which in ("wash", "nothing"):
        with pytest.raises(UserError, match=r"wash and dry 1; wash and dry 2"):
            await todo("tasks.done", task=which)


async def test_a_step_of_a_task_that_agents_share_is_shared_too_by_those_in_charge(
    todo: Harness, database: Database
) -> None:
    def share(tx: Tx) -> None:
        new = Task("open the garden", None, PUBLIC, Trust.OWNER, NOW, shared=True)
        tasks.add(tx, new)

    await database.write(SETUP, share)
    added = await todo("tasks.add", title="mow", under="open the garden", priority="high", due="tomorrow at 9")
    due = f"due {INK.time(NOW.replace(hour=9, minute=0) + timedelta(days=1))}"
    assert added.lines(INK) == [f"Added: mow – high priority; {due}; for anyone"]
    assert added.data()["agent"] == "", "data has no words for anyone"
    assert "- mow" not in " ".join(await todo.tree())
    (mow, garden) = await database.read(lambda rows: tasks.shared(rows, Scope(PUBLIC)))
    assert (mow.title, mow.parent, mow.audience) == ("mow", garden.id, PUBLIC)
    with pytest.raises(UserError, match=r"There is no task “open the garden” here\.$"):
        await todo("tasks.add", ANN, title="weed", under="open the garden")


async def test_a_long_list_hides_neither_a_new_task_nor_the_last_that_was_done(
    todo: Harness, database: Database
) -> None:
    def fill(tx: Tx) -> None:
        for number in range(300):
            added = tasks.add(tx, Task(f"old {number}", OLGA.person, OLGA.scope.audience, Trust.OWNER, NOW))
            if number % 2:
                tasks.change(tx, added, {"status": "done"}, OLGA.scope, NOW - timedelta(days=1))

    await database.write(SETUP, fill)
    await todo("tasks.add", title="water the fern")
    assert "- water the fern" in await todo.tree()
    await todo("tasks.template.save", name="fern", task="water the fern")
    await todo("tasks.done", task="water the fern")
    listed = (await todo("tasks.list", done=True)).data()
    assert next(each["text"] for each in listed if each["status"] == "done") == "water the fern"
    await todo("tasks.change", task="water the fern", state="open")
    assert "- water the fern" in await todo.tree()
