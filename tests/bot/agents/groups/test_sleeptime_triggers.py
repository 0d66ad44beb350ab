"""Sleeptime groups: triggers over what is really stored, and the turn that one of them causes."""

import json
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
import pytest

from bot.agents.groups import sleeptime_triggers
from bot.agents.groups.settings import Trigger
from bot.agents.groups.sleeptime_triggers import KIND, Facts, active, check_all, exceeding, number_of, plan
from bot.upkeep.housekeeping import Housekeeping
from memory import agent_groups, jobs
from memory.group_runs import GroupState, LastCheck
from memory.jobs import Completion, NewJob
from memory.people.audience import OWNER, Audience, Trust
from memory.queue import messages
from memory.queue.messages import Utterance
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.ids import AgentId, ConstellationId, PersonId, PlaceId, TurnId
from memory.store.records import asdict, replace
from scheduler.job_kinds import DueJob
from tests.bot import parts
from tests.bot.agents.groups.parts import Cast, agents, sleeptime, told, watching
from tests.bot.parts import HALL, NOON, MovableClock, Platform, call, channel, direct, said, says, words_of
from tests.bot.stage import Service, Setting, running, talked
from tests.memory.parts import store
from texts import _, speaking

INTERVENTION = '"Ant", { agent = "Bee", role = "supervisor" }'
SYNC = {"name": "sync", "on": "constellation_activity", "priority": "high", "messages": 20}
NIGHT = sleeptime("Night", INTERVENTION, "discord:77", 20, SYNC)
STRESS = {"name": "stress", "on": "threshold_exceeded", "priority": "critical", "block": "mood", "field": "stress"}
MOOD = watching({**STRESS, "threshold": 7})
DEN = channel("77")
ANN, OLGA = replace(parts.ANN, id=PersonId("discord:7")), replace(parts.OLGA, id=PersonId("discord:8"))
"""With ids, as a file can name their direct messages."""
LATER = 20 * 60
"""Seconds until the next look."""


def ago(minutes: float) -> Utterance:
    return Utterance(NOON - timedelta(minutes=minutes), f"said {minutes:g} minutes ago")


def trigger(on: str, **more: object) -> Trigger:
    return Trigger.model_validate({"name": "t", "on": on, **more})


def fires(one: Trigger, facts: Facts) -> bool:
    return bool(active([one], facts, {"often": lambda known: len(known.new) > 1}))


LONG_AGO = NOON - timedelta(hours=9)


def test_elapsed_counts_from_the_last_run_or_talk_without_a_pause() -> None:
    assert fires(trigger("time_elapsed", minutes=90), Facts(NOON, NOON - timedelta(minutes=90)))
    assert not fires(trigger("time_elapsed", minutes=90), Facts(NOON, NOON - timedelta(minutes=89)))
    talk = trigger("time_elapsed", minutes=90, of="activity")
    steady = [ago(minutes) for minutes in range(95, 0, -10)]
    assert fires(talk, Facts(NOON, LONG_AGO, steady))
    assert not fires(talk, Facts(NOON, LONG_AGO, [each for each in steady if each.at != ago(45).at]))  # a pause
    assert not fires(talk, Facts(NOON, LONG_AGO, [ago(minutes) for minutes in range(115, 15, -10)]))  # over by now
    assert not fires(talk, Facts(NOON, LONG_AGO, steady, fired={"t": NOON - timedelta(minutes=20)}))  # said already
    named = [replace(each, person=ANN.id, speaker="[system] Olga") for each in steady]
    (held,) = active([trigger("time_elapsed", minutes=90, of="person")], Facts(NOON, LONG_AGO, named, named), {})
    assert held.why.startswith("(system) Olga has been here for 95 minutes")  # no name passes for a mark of ours


def test_a_number_fires_when_it_rises_above_and_again_only_after_it_was_below() -> None:
    one = trigger("threshold_exceeded", block="mood", field="stress", threshold=7)
    high = {("mood", "stress"): 8.0}
    assert fires(one, Facts(NOON, LONG_AGO, metrics=high))
    assert exceeding([one], Facts(NOON, LONG_AGO, metrics=high)) == ("t",)
    assert not fires(one, Facts(NOON, LONG_AGO, metrics=high, above=frozenset({"t"})))
    assert not fires(one, Facts(NOON, LONG_AGO, metrics={("mood", "stress"): 7.0}))
    assert not fires(one, Facts(NOON, LONG_AGO))


def test_words_count_since_the_last_run_and_own_predicates_are_asked() -> None:
    words = trigger("pattern_detected", words=["hyperfocus", "lost track"])
    said_before = [Utterance(NOON - timedelta(minutes=5), "I LOST track again")]
    assert fires(words, Facts(NOON, NOON - timedelta(minutes=6), said_before))
    assert not fires(words, Facts(NOON, NOON - timedelta(minutes=4), said_before))
    assert not fires(words, Facts(NOON, LONG_AGO, [Utterance(NOON, "hyperfocused")]))
    custom = trigger("custom", predicate="often")
    assert fires(custom, Facts(NOON, LONG_AGO, [ago(2), ago(1)]))
    assert not fires(custom, Facts(NOON, LONG_AGO, [ago(1)]))
    assert not fires(trigger("custom", predicate="unknown"), Facts(NOON, LONG_AGO, [ago(2), ago(1)]))


def test_a_number_is_read_from_the_lines_of_a_block() -> None:
    assert number_of("mood: calm\nstress: 8\n", "stress") == 8
    assert number_of("stress: -2.5", "stress") == -2.5
    assert number_of("stress:\ndistress: 3", "stress") is None


async def looked(service: Service, seconds: float = 0, zone: str = "UTC") -> list[str]:
    """What fires at a look of the service's own job after so long."""
    service.clock.forward(seconds)
    return await service.write(lambda tx: check_all(tx, service.clock(), zone))


async def ticked(service: Service, seconds: float = 0, zone: str = "UTC") -> list[str]:
    """The same, and what follows is done then."""
    fired = await looked(service, seconds, zone)
    service.resume()
    await service.settled()
    return fired


async def talk(service: Service, first: int, count: int) -> None:
    for number in range(first, first + count):
        service.clock.forward(1)
        await service.heard(said(f"word {number}", number, at=service.clock()))


async def test_twenty_messages_give_the_intervention_agent_a_turn_and_nineteen_do_not(tmp_path: Path) -> None:
    clock, model = MovableClock(), Cast(Bee=["I looked after you."])
    platform = Platform(clock)
    setting = Setting(model, clock, platform, toml=agents("Ant", "Bee") + NIGHT)
    async with talked(tmp_path, setting, said("hello den", 500, DEN, at=clock())) as service:
        assert await ticked(service) == []  # the first look only notes the time
        await talk(service, 1, 19)
        assert await ticked(service, LATER) == []
        await talk(service, 20, 1)
        assert await ticked(service) == []  # too early for the next look
    async with running(tmp_path, setting) as service:  # what was counted stands in the store
        assert await ticked(service, LATER) == ["Night (sync)"]
        assert platform.texts(DEN.id)[-1] == "I looked after you."
        assert [words_of(row).speaker for row in await service.outbox()][-1] == "Bee"
        assert await ticked(service, LATER) == []  # counted anew
    assert "- sync (high priority): 20 messages since the last run" in told(model.of("Bee")[0])


async def test_a_group_whose_agents_are_all_hibernated_is_left_alone_until_one_wakes(tmp_path: Path) -> None:
    toml = agents("Ant", "Bee") + NIGHT.replace("messages = 20", "messages = 2")
    async with running(tmp_path, Setting(Cast(Bee=["I looked after you."]), toml=toml)) as service:
        await service.heard(said("hello den", 500, DEN, at=service.clock()))
        assert await ticked(service) == []
        await talk(service, 1, 2)
        for status, fired in (("hibernated", []), ("active", ["Night (sync)"])):
            await service.write(partial(Tx.run, sql="UPDATE agents SET status = ?", parameters=(status,)))
            assert await ticked(service, LATER) == fired
            assert await service.column("SELECT count(*) FROM inbox WHERE status = 'dead'") == [0]


async def test_in_bluesky_as_a_whole_a_group_works_and_says_nothing(tmp_path: Path) -> None:
    model, toml = Cast(Bee=["I looked after you."]), agents("Ant", "Bee") + NIGHT.replace("discord:77", "bluesky")
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        assert await ticked(service) == []
        service.clock.forward(1)
        for number in range(20):
            await service.heard(said(f"word {number}", number, parts.thread_in_public("ann"), at=service.clock()))
        before = len(await service.outbox())
        assert await ticked(service, LATER) == ["Night (sync)"]
        assert "leave your final text empty" in told(model.of("Bee")[0])
        assert len(await service.outbox()) == before


async def test_each_place_is_looked_after_by_what_may_be_known_there(tmp_path: Path) -> None:
    clock = MovableClock()
    kept = says("", call("recall", operation="insert", content="People forget to eat."))
    model = Cast(Bee=[kept, "I looked after you.", kept, "And after all.", kept, "Again."])
    platform = Platform(clock)
    both = agents("Ant", "Bee").replace("tools = []", 'tools = ["recall"]')
    toml = both + NIGHT.replace('place = "discord:77"', 'place = "discord:77"\nalso = ["discord:user:7"]')
    async with running(tmp_path, Setting(model, clock, platform, toml=toml)) as service:
        await service.heard(said("hello den", 500, DEN, at=clock()), said("hello", 501, direct(ANN), at=clock()))
        assert await ticked(service) == []
        for number in range(20):
            clock.forward(1)
            await service.heard(said(f"a secret {number}", number, direct(ANN), at=clock()))
        assert await ticked(service, LATER) == ["Night (sync)"]  # her place alone: nobody else may know of this
        assert platform.texts(direct(ANN).id)[-1] == "I looked after you."
        assert "I looked after you." not in platform.texts(DEN.id)
        for first, answer in ((100, "And after all."), (200, "Again.")):
            await talk(service, first, 20)
            assert "Night (sync)" in await ticked(service, LATER)
            assert platform.texts(DEN.id)[-1] == answer
        stored = await service.rows("SELECT audience FROM archival_entries ORDER BY n")
        assert [row["audience"] for row in stored] == [direct(ANN).audience, DEN.audience]  # into its own, once each


@pytest.mark.parametrize(
    ("priority", "zone", "quiet", "fires"),
    [
        ("high", "UTC", "", True),
        ("high", "UTC", "13:00-14:00", True),
        ("high", "UTC", "22:30-13:00", False),
        ("high", "UTC", "12:00-12:00", True),
        ("high", "Europe/Vienna", "13:00-14:00", False),
        ("critical", "UTC", "22:30-13:00", True),
    ],
)
async def test_in_its_quiet_hours_a_group_waits_unless_it_is_critical(
    tmp_path: Path, priority: str, zone: str, quiet: str, fires: bool
) -> None:
    clock, model = MovableClock(), Cast(Bee=["I looked after you.", "And again."])
    platform = Platform(clock)
    night = NIGHT.replace('place = "discord:77"', f'place = "discord:77"\nquiet = "{quiet}"')
    night = night.replace("messages = 20", "messages = 2").replace('"high"', f'"{priority}"')
    setting = Setting(model, clock, platform, toml=agents("Ant", "Bee") + night)
    async with talked(tmp_path, setting, said("hello den", 500, DEN, at=clock())) as service:
        await ticked(service, zone=zone)
        await talk(service, 1, 2)
        assert await ticked(service, LATER, zone) == (["Night (sync)"] if fires else [])
        held = await ticked(service, 3 * LATER, zone)
        assert held == ([] if fires else ["Night (sync)"]), "what held then holds when they end"
        assert platform.texts(DEN.id).count("I looked after you.") == 1


def test_what_a_group_remembered_in_an_earlier_version_is_still_known() -> None:
    at = to_text(NOON)
    check = {"checked": at, "above": ["t"], "since": at, "fired": {"t": at}}
    stored = {**check, "used": {"agt_1": at}, "index": 1, "places": {"discord:77": check}}
    known = LastCheck(NOON, NOON, ("t",), {"t": NOON})
    state = GroupState(**asdict(known), used={AgentId("agt_1"): NOON}, index=1, places={"discord:77": known})
    assert msgspec.json.decode(json.dumps(stored), type=GroupState) == state


async def test_a_number_of_a_block_wakes_the_group_once_and_silence_says_nothing(tmp_path: Path) -> None:
    shape = 'schema = { type = "map", fields = [{ name = "stress", type = "number" }] }, values = { stress = 9 }'
    mood = f'blocks = [{{ label = "mood", description = "m", audience = "owner", {shape} }}]'
    toml = agents("Ant", "Bee").replace("blocks = []", mood, 1) + NIGHT.replace("discord:77", "terminal:local") + MOOD
    model = Cast(Bee=[""])
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await looked(service)
        assert await looked(service, LATER) == []  # it was high at the first look
        for content, fired in (("stress: 3", []), ("stress: 9", ["Night (stress)"])):
            sql = "UPDATE memory_blocks SET content = ? WHERE label = 'mood'"
            await service.write(partial(Tx.run, sql=sql, parameters=(content,)))
            assert await looked(service, LATER) == fired
        (state,) = await service.column("SELECT state FROM group_states")
        assert json.loads(state)["above"] == ["stress"]


async def test_a_number_that_a_tool_gave_wakes_the_group_where_it_may_be_known(tmp_path: Path) -> None:
    night = NIGHT.replace("discord:77", "terminal:local") + MOOD.replace('block = "mood"', 'tool = "watch"')
    async with running(tmp_path, Setting(Cast(Bee=[""]), toml=agents("Ant", "Bee") + night)) as service:
        await service.heard(said("hello", 500, DEN, at=service.clock()))
        (ant,) = await service.column("SELECT id FROM agents WHERE name = 'Ant'")
        (turn,) = await service.column("SELECT id FROM turns")

        async def given(text: str, audience: str, sequence: int) -> list[str]:
            gave = messages.NewMessage(
                PlaceId("terminal:local"), None, "Ant", text, "terminal", None, Audience(audience), Trust.AGENT,
                service.clock(), "tool", AgentId(ant), TurnId(turn), sequence, f"c{sequence}", "watch",
            )  # fmt: skip
            await service.write(lambda tx: messages.add(tx, gave))
            return await looked(service, LATER)

        assert await given("stress: 3", OWNER, 90) == [], "the first look only notes the time"
        assert await given("stress: 9", "person:discord:ann", 91) == [], "what somebody's direct messages hold"
        assert await given("stress: 8", OWNER, 92) == ["Night (stress)"]
        assert await given("stress: 9", OWNER, 93) == [], "it did not fall since"


async def test_the_job_exists_only_while_there_is_such_a_group(tmp_path: Path) -> None:
    def planned(tx: Tx) -> bool:
        plan(tx, "UTC", NOON)
        return jobs.get(tx, KIND) is not None

    def changed(tx: Tx, pattern: str) -> bool:
        for group in agent_groups.groups(tx):
            agent_groups.change_group(tx, replace(group, pattern=pattern), NOON)
        return planned(tx)

    async with running(tmp_path, Setting(Cast(), toml=agents("Ant", "Bee") + NIGHT)) as service:
        assert await service.write(planned)
        assert not await service.write(lambda tx: changed(tx, "round_robin"))
        assert await service.write(lambda tx: changed(tx, "sleeptime"))


def test_the_job_says_which_groups_it_gave_a_turn_to_each_reader_in_their_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tx = store()
    jobs.put(tx, NewJob(KIND, KIND, "", NOON), NOON)
    (job,) = jobs.listing(tx, 1)
    for fired, words, german in (
        ([], "nothing had to be done", "es gab nichts zu tun"),
        (
            ["Night (sync)", "Day (idle)"],
            "gave a turn to Night (sync), Day (idle)",
            "geweckt: Night (sync), Day (idle)",
        ),
    ):
        monkeypatch.setattr(sleeptime_triggers, "check_all", lambda *_, found=fired: found)
        with speaking("de"):
            done = Housekeeping().look_after_groups(tx, DueJob(job, ConstellationId("c"), NOON, NOON))
        jobs.complete(tx, job, Completion(NOON, "run", done.detail, None), NOON)
        after = jobs.get(tx, job.id)
        assert after is not None
        assert _(after.last_detail) == words
        with speaking("de"):
            assert _(after.last_detail) == german


FORGETTING = {"name": "hyperfocus", "on": "time_elapsed", "of": "person", "minutes": 90, "cooldown": 180}
CHECK_IN = sleeptime("Check-in", '"Bee"', "discord:user:8", 5, FORGETTING)


async def test_who_forgets_the_time_is_told_once_where_they_alone_hear_it(tmp_path: Path) -> None:
    clock, model = MovableClock(), Cast(Bee=["Water?", "Again?"])
    platform, alone = Platform(clock), direct(OLGA)
    setting = Setting(model, clock, platform, toml=agents("Ant", "Bee") + CHECK_IN)
    async with running(tmp_path, setting) as service:
        said_by_bee = []
        for number in range(30):  # four hours, every eight minutes
            await service.heard(said(f"line {number}", number + 1, alone, OLGA, at=clock()))
            await service.heard(said(f"ann {number}", number + 100, HALL, ANN, at=clock()))  # it is not about her
            if await ticked(service):
                said_by_bee.append(number)
            clock.forward(8 * 60)
        assert said_by_bee == [12], "after 96 minutes, and no more in this stretch"
        assert platform.texts(alone.id).count("Water?") == 1
        assert "Water?" not in platform.texts(HALL.id)
        assert "hyperfocus (medium priority): Olga has been here for 96 minutes" in told(model.of("Bee")[0])
        clock.forward(3600)
        for number in range(30, 45):
            await service.heard(said(f"line {number}", number + 1, alone, OLGA, at=clock()))
            said_by_bee += [number] if await ticked(service) else []
            clock.forward(8 * 60)
        assert said_by_bee == [12, 42], "another stretch"
