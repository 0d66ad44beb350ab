"""When a sleeptime group acts: pure functions of what was measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.agents.groups.mentions import mentioned_words
from bot.agents.groups.settings import Trigger
from memory.queue.messages import Spoken
from memory.store.plurals import many
from sources.text import one_line

PAUSE = timedelta(minutes=15)
"""Talk with a longer silence in it is not one stretch of talk."""
PRIORITIES = ("critical", "high", "medium", "low")


@dataclass(frozen=True)
class Facts:
    """What is known at a check. `since` is the last run, or when the group was looked at first."""

    now: datetime
    since: datetime
    spoken: Sequence[Spoken] = ()
    """What people said lately, oldest first; also before `since`, as far as talk goes on without a pause."""
    of_hearers: Sequence[Spoken] = ()
    """Of these, in a place that one person alone hears, what that person said; elsewhere all."""
    metrics: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Numbers by where they stand (`of_metric`) and field."""
    above: frozenset[str] = frozenset()
    """Names of triggers whose number was above its threshold at the last check."""
    fired: Mapping[str, datetime] = field(default_factory=dict)
    """When triggers fired last, by name."""

    @property
    def new(self) -> list[Spoken]:
        """What was said since the last run."""
        return [each for each in self.spoken if each.at > self.since]


Predicate = Callable[[Facts], bool]
"""What an installed package offers for a trigger `custom`."""


@dataclass(frozen=True)
class Fired:
    """A trigger that holds, and why, in words for the agent."""

    trigger: Trigger
    why: str


def holding(triggers: Sequence[Trigger], facts: Facts, custom: Mapping[str, Predicate]) -> list[Fired]:
    """The triggers that hold now, the most urgent first."""
    rested = [each for each in triggers if not _cools(each, facts)]
    found = [Fired(each, why) for each in rested if (why := _why(each, facts, custom))]
    return sorted(found, key=lambda each: PRIORITIES.index(each.trigger.priority))


def _cools(trigger: Trigger, facts: Facts) -> bool:
    """Whether it fired so lately that it is not to fire again."""
    fired = facts.fired.get(trigger.name)
    return fired is not None and facts.now - fired < timedelta(minutes=trigger.cooldown)


def exceeding(triggers: Sequence[Trigger], facts: Facts) -> list[str]:
    """The triggers whose number is above its threshold: they fire again only after it was below."""
    return [each.name for each in triggers if each.on == "threshold_exceeded" and _above(each, facts)]


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
    """Who has been talking for so long without a pause, the longest first, unless it was said in that stretch."""
    people = dict.fromkeys(each.person for each in facts.of_hearers if each.person is not None)
    stretches = []
    for person in people:
        theirs = [each for each in facts.of_hearers if each.person == person]
        begun = talk_begun(theirs, facts.now)
        if begun is not None and facts.now - begun >= wanted and (fired is None or fired < begun):
            stretches.append((begun, one_line(theirs[-1].speaker, 40) or "somebody"))
    if not stretches:
        return ""
    begun, name = min(stretches)
    minutes = int((facts.now - begun).total_seconds()) // 60
    return f"{name} has been here for {minutes} minutes without a pause, since {begun:%H:%M} UTC"


def talk_begun(spoken: Sequence[Spoken], now: datetime) -> datetime | None:
    """When the talk that goes on now began; None when nobody has said anything for longer than a pause."""
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
    """Where the number of a trigger stands: the label of a block, or "tool:" and the name of a tool."""
    return trigger.block or f"tool:{trigger.tool}"


def _above(trigger: Trigger, facts: Facts) -> bool:
    number = facts.metrics.get((of_metric(trigger), trigger.field))
    return number is not None and number > trigger.threshold
