"""Checks a sleeptime group: if a trigger holds, the intervention agent gets a turn.

What fired, when, and the turn's inbox row are stored in one transaction: after a crash before it, the check repeats;
after a crash later, the row is answered. No model is asked unless a trigger holds.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time, timedelta
from importlib.metadata import entry_points

from msgspec import Struct, field

from bot.agents.context.quotes import display_name
from bot.agents.groups.settings import Sleeptime, Trigger
from bot.agents.groups.team import Team, team
from bot.agents.groups.who_answers import mentioned_words
from memory import agent_groups, blocks, group_runs, jobs
from memory.agent_groups import Group
from memory.blocks import BlockType
from memory.group_runs import LastCheck
from memory.jobs import NewJob
from memory.people.audience import OWNER, PUBLIC, Scope, Trust, person_audience
from memory.queue import inbox, messages
from memory.queue.messages import Utterance
from memory.queue.payloads import TriggerEvent
from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.ids import GroupId, PlaceId, place_person, place_source
from memory.store.logs import Log
from memory.store.records import asdict, replace
from scheduler.triggers import CronTrigger, dump, require
from scheduler.zones import Quiet
from texts import many

KIND = "sleeptime"
PAUSE = timedelta(minutes=15)
"""A longer silence ends a stretch of conversation."""
PRIORITIES = ("critical", "high", "medium", "low")


class Facts(Struct, frozen=True):
    """The data of a check. `since` is the last run, or the group's first check."""

    now: datetime
    since: datetime
    spoken: Sequence[Utterance] = ()
    """Recent messages of people, oldest first, including those before `since` in the current stretch of conversation.
    """
    of_hearers: Sequence[Utterance] = ()
    """Messages by the only listener, in a place with just one; elsewhere all."""
    metrics: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Numbers by their source (`of_metric`) and field."""
    above: frozenset[str] = frozenset()
    """Names of triggers whose number was above its threshold at the last check."""
    fired: Mapping[str, datetime] = field(default_factory=dict)
    """When each trigger last fired, by name."""

    @property
    def new(self) -> list[Utterance]:
        """Messages since the last run."""
        return [each for each in self.spoken if each.at > self.since]


Predicate = Callable[[Facts], bool]
"""What an installed package provides for a trigger `custom`."""


class FiredTrigger(Struct, frozen=True):
    """A trigger that holds, and why, in words for the agent."""

    trigger: Trigger
    why: str


def active(triggers: Sequence[Trigger], facts: Facts, custom: Mapping[str, Predicate]) -> list[FiredTrigger]:
    """The triggers that hold now, most urgent first."""
    rested = [each for each in triggers if not _cools(each, facts)]
    found = [FiredTrigger(each, why) for each in rested if (why := _why(each, facts, custom))]
    return sorted(found, key=lambda each: PRIORITIES.index(each.trigger.priority))


def _cools(trigger: Trigger, facts: Facts) -> bool:
    """Whether it fired too recently to fire again."""
    fired = facts.fired.get(trigger.name)
    return fired is not None and facts.now - fired < timedelta(minutes=trigger.cooldown)


def exceeding(triggers: Sequence[Trigger], facts: Facts) -> tuple[str, ...]:
    """The triggers above their threshold: they fire again only after they were below it."""
    return tuple(each.name for each in triggers if each.on == "threshold_exceeded" and _above(each, facts))


def _why(trigger: Trigger, facts: Facts, custom: Mapping[str, Predicate]) -> str:
    match trigger.on:
        case "time_elapsed":
            return _elapsed(trigger, facts)
        case "constellation_activity":
            return _activity(trigger, facts)
        case "threshold_exceeded":
            number = facts.metrics.get((of_metric(trigger), trigger.field))
            rose = _above(trigger, facts) and trigger.name not in facts.above
            where = trigger.block or f"the newest result of {trigger.tool}"
            return f"{trigger.field} in {where} is {number:g}, above {trigger.threshold:g}" if rose else ""
        case "pattern_detected":
            texts = "\n".join(each.text for each in facts.new)
            words = mentioned_words(texts, trigger.words)
            return f"somebody said {', '.join(repr(word) for word in words)}" if words else ""
        case "custom":
            predicate = custom.get(trigger.predicate)
            return f"{trigger.predicate} holds" if predicate is not None and predicate(facts) else ""


def _elapsed(trigger: Trigger, facts: Facts) -> str:
    wanted = timedelta(minutes=trigger.minutes)
    if trigger.of == "last_run":
        passed = many(trigger.minutes, "minute has", "minutes have")
        return f"{passed} passed since the last run" if facts.now - facts.since >= wanted else ""
    fired = facts.fired.get(trigger.name)
    if trigger.of == "person":
        return _of_one(wanted, fired, facts)
    begun = talk_begun(facts.spoken, facts.now)
    if begun is None:
        return ""
    counted, long = begun if fired is None else max(begun, fired), many(trigger.minutes, "minute")
    return f"there has been talk without a pause for {long}" if facts.now - counted >= wanted else ""


def _of_one(wanted: timedelta, fired: datetime | None, facts: Facts) -> str:
    """The person who has talked longest without a pause, unless this stretch was reported already."""
    people = dict.fromkeys(each.person for each in facts.of_hearers if each.person is not None)
    stretches = []
    for person in people:
        theirs = [each for each in facts.of_hearers if each.person == person]
        begun = talk_begun(theirs, facts.now)
        if begun is not None and facts.now - begun >= wanted and (fired is None or fired < begun):
            stretches.append((begun, display_name(theirs[-1].speaker, 40) or "somebody"))
    if not stretches:
        return ""
    begun, name = min(stretches)
    minutes = int((facts.now - begun).total_seconds()) // 60
    return f"{name} has been here for {minutes} minutes without a pause, since {begun:%H:%M} UTC"


def talk_begun(spoken: Sequence[Utterance], now: datetime) -> datetime | None:
    """The start of the current stretch of conversation; None if nobody spoke within the last pause."""
    after = now
    begun: datetime | None = None
    for each in reversed(spoken):
        if after - each.at > PAUSE:
            break
        begun = after = each.at
    return begun


def _activity(trigger: Trigger, facts: Facts) -> str:
    count = len(facts.new)
    new = f"{many(count, 'message')} since the last run"
    if count >= trigger.messages:
        return new
    late = trigger.minutes > 0 and facts.now - facts.since >= timedelta(minutes=trigger.minutes)
    return f"{many(trigger.minutes, 'minute')} with {new}" if late and count else ""


def of_metric(trigger: Trigger) -> str:
    """Where a trigger's number is: a block's label, or "tool:" and a tool's name."""
    return trigger.block or f"tool:{trigger.tool}"


def _above(trigger: Trigger, facts: Facts) -> bool:
    number = facts.metrics.get((of_metric(trigger), trigger.field))
    return number is not None and number > trigger.threshold


_READ = 2_000
"""Messages that one check reads at most; more than any sensible threshold."""
_EARLY = timedelta(seconds=40)
"""A job that comes this much before its time is not too early."""
_TALK = timedelta(hours=24)
"""How far back a stretch of conversation is followed."""
_FRESH = timedelta(hours=24)
_SAID = "Your final text is said here; an empty one stays silent, which is right unless somebody has to know now."
_UNSAID = "Nobody is told anything here: leave your final text empty."
_log = Log("bot.agents.groups.sleeptime_triggers")


def plan(tx: Tx, zone: str, now: datetime) -> None:
    """Keep the job that checks the groups, as long as there is one: without it, idle constellations can close."""
    if not _groups(tx):
        jobs.drop(tx, KIND)
        return
    trigger = CronTrigger("*/5 * * * *", zone)  # each group has its own `check_minutes`
    jobs.ensure(tx, NewJob(KIND, KIND, dump(trigger), require(trigger, now)), now)


def check_all(tx: Tx, now: datetime, zone: str = "UTC") -> list[str]:
    """Check every sleeptime group that is due; returns what fired, as "group (trigger)".

    `zone` is the service's, for the groups' quiet hours. The resulting turns wait in the inbox: the caller must call
    `Router.resume`.
    """
    predicates = installed()
    fired = [f"{group.name} ({name})" for group in _groups(tx) for name in _look(tx, group.id, now, predicates, zone)]
    return list(dict.fromkeys(fired))  # a trigger may fire in several places


def _groups(rows: Rows) -> list[Group]:
    return [group for group in agent_groups.groups(rows) if group.pattern == "sleeptime"]


def installed() -> dict[str, Predicate]:
    """The predicates of installed packages, by name; one that fails to load is skipped and logged."""
    found: dict[str, Predicate] = {}
    for point in entry_points(group="carina.triggers"):
        try:
            found[point.name] = point.load()
        except (ImportError, AttributeError):
            _log.warning("trigger_not_loaded", name=point.name, value=point.value)
    return found


def _look(tx: Tx, group_id: GroupId, now: datetime, predicates: Mapping[str, Predicate], zone: str) -> list[str]:
    """Check one group if it is due; returns the names of the triggers that held."""
    found = team(tx, group_id)
    settings, state = found.settings, group_runs.state(tx, group_id)
    if not isinstance(settings, Sleeptime):
        raise ValueError(f'the group "{found.group.name}" has the pattern {found.group.pattern}, not sleeptime')
    if not found.candidates:  # hibernated or archived, all of them: nobody would take the turn
        return []
    before, names = state, list[str]()
    for name in (settings.place, *settings.also):
        own = state if name == settings.place else state.places.get(name, LastCheck())
        if own.checked is not None and now - own.checked < timedelta(minutes=settings.check_minutes) - _EARLY:
            continue
        place = inbox.conversation_place(tx, PlaceId(name))
        facts = _facts(tx, found, settings, own, (now, _scope(tx, place)))
        fired = [] if own.checked is None else active(settings.triggers, facts, predicates)
        if fired and _is_quiet(settings, fired, zone, now):
            continue  # nothing is recorded: triggers that still hold are found after the quiet hours
        since, times = now if fired else facts.since, {**own.fired, **{each.trigger.name: now for each in fired}}
        check = LastCheck(now, since, exceeding(settings.triggers, facts), times)
        if fired:
            _give_turn(tx, found, place, fired, now)
            names += [each.trigger.name for each in fired]
        if name == settings.place:
            state = replace(state, **asdict(check))
        else:
            state = replace(state, places={**state.places, name: check})
    if state != before:
        group_runs.set_state(tx, group_id, state, now)
    return names


def _is_quiet(settings: Sleeptime, fired: Sequence[FiredTrigger], zone: str, now: datetime) -> bool:
    """Whether the group waits for the end of its quiet hours despite the triggers."""
    if not settings.quiet or any(each.trigger.priority == "critical" for each in fired):
        return False
    begin, end = map(time.fromisoformat, settings.quiet.split("-"))
    return Quiet(begin, end, zone).until(now) is not None


def _scope(rows: Rows, place: PlaceId) -> Scope:
    """Who hears messages in the place where the group acts."""
    known, person = inbox.place(rows, place), place_person(place)
    if known is not None:
        return Scope(known.audience, frozenset(known.within))
    if person is not None:
        return Scope(person_audience(person))  # they never wrote there
    return Scope(OWNER if place_source(place) == "terminal" else PUBLIC)  # its readers are not known yet


def _facts(rows: Rows, found: Team, settings: Sleeptime, own: LastCheck, here: tuple[datetime, Scope]) -> Facts:
    now, scope = here
    since = own.since or now
    spoken = messages.spoken_since(rows, min(since, now - _TALK), scope, _READ)
    heard = [each for each in spoken if _hears(scope, each)]
    metrics = _metrics(rows, found, settings, here)
    return Facts(now, since, spoken, heard, metrics, frozenset(own.above), own.fired)


def _hears(scope: Scope, said: Utterance) -> bool:
    """Whether the speaker is the only listener of the place, if it has just one."""
    if scope.audience == OWNER:
        return said.trust is Trust.OWNER
    if scope.audience.startswith("person:"):
        return said.person is not None and person_audience(said.person) in {scope.audience, *scope.within}
    return True


def _metrics(
    rows: Rows, found: Team, settings: Sleeptime, here: tuple[datetime, Scope]
) -> dict[tuple[str, str], float]:
    """The numbers of triggers, from blocks and newest tool results of members, within the scope."""
    now, scope = here
    triggers = [each for each in settings.triggers if each.on == "threshold_exceeded"]
    members = found.speakers if any(each.block for each in triggers) else ()
    shown = [block for agent in members for block in blocks.visible_blocks(rows, agent, scope, tuple(BlockType))]
    numbers = {}
    for each in triggers:
        texts = [block.content for block in shown if block.label == each.block]
        if each.tool:  # a result from yesterday says nothing about now
            texts = [messages.newest_result(rows, each.tool, found.speakers, now - _FRESH, scope) or ""]
        known = [number for text in texts if (number := number_of(text, each.field)) is not None]
        if known:
            numbers[of_metric(each), each.field] = max(known)
    return numbers


def number_of(text: str, name: str) -> float | None:
    """The number of a field in a block or a tool's result: from JSON, or from a line such as "name: value"."""
    key = rf'(?:"{re.escape(name)}"|(?m:^[ \t]*(?:- )?){re.escape(name)})'
    found = re.search(rf"{key}[ \t]*:[ \t]*(-?\d+(?:\.\d+)?)(?![\w.:])", text)
    return None if found is None else float(found[1])


def _give_turn(tx: Tx, found: Team, place: PlaceId, fired: Sequence[FiredTrigger], now: datetime) -> None:
    lines = [f"- {each.trigger.name} ({each.trigger.priority} priority): {each.why}" for each in fired]
    text = (
        f'You look after "{found.group.name}" in the background, and this is true now:\n' + "\n".join(lines) + "\n"
        "Do what that calls for: look into memory, write down what you find. " + (_SAID if ":" in place else _UNSAID)
    )
    scope = _scope(tx, place)
    event = inbox.Event(
        source="sleeptime",
        external_id=f"{found.group.id}/{place}/{to_text(now)}",
        place=place,
        person=None,
        group=found.group.id,
        text=text,
        hearers=scope,
        trust=Trust.AGENT,  # nobody watches: calls that need the owner's approval are requested
        payload=TriggerEvent(found.leader, fired[0].trigger.priority),
    )
    inbox.add_event(tx, event, now)
