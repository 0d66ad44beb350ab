"""Which member of a group answers a message, and what the group remembers; `bot.runtime.group_routing` chose the group.

The transaction that begins the turn decides and stores the changes: after a crash before it, it decides again; after a
later crash, the decision stands.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from bot.agents.context.quotes import say
from bot.agents.groups.dynamic_selectors import choose
from bot.agents.groups.member_turns import begin_part
from bot.agents.groups.settings import Dynamic, Pipeline, RoundRobin, Voting
from bot.agents.groups.team import Team, team
from bot.agents.groups.votes_and_pipelines import MemberRequest, options_of
from bot.agents.patrols import is_patrol
from memory import group_runs
from memory.group_runs import GroupState, Run, RunPlan
from memory.people.audience import Scope
from memory.queue import messages
from memory.queue.inbox import InRow
from memory.queue.payloads import LetterEvent, addressee
from memory.queue.turns import Turn
from memory.search.vector_similarity import Meaning
from memory.store.database import Database, Rows, Tx
from memory.store.ids import AgentId, GroupId, TurnId
from memory.store.records import replace

_GREETINGS = r"(?:(?:hey|hi|hello|ok|okay|hallo)\s+)?"
_BEFORE = r"^\s*(?:@\S+\s+)?"
"""The account itself may be mentioned before the name."""


def addressed(text: str, names: Collection[str], *, everybody: bool = True) -> list[str]:
    """The names that a message addresses, in the order of `names`; all of them for "@all" if `everybody` may be
    addressed."""
    if everybody and re.match(r"^\s*(?:@\S+\s+)?@all\b", text, re.IGNORECASE):
        return list(names)
    return _longest([name for name in names if _speaks_to(text, name)])


def signed(text: str, names: Collection[str]) -> list[str]:
    """The names that a message addresses as "@name", which is unambiguous."""
    return _longest([name for name in names if re.match(_signed(name), text, re.IGNORECASE)])


def _longest(spoken: list[str]) -> list[str]:
    """Of "Ann" and "Ann Lee", the longer one that was written."""
    longest = max(map(len, spoken), default=0)
    return [name for name in spoken if len(name) == longest]


def _signed(name: str) -> str:
    return rf"^\s*(?:@\S+\s+)?@{re.escape(name)}(?!\w)"


def mentioned_words(text: str, words: Iterable[str]) -> list[str]:
    """The words or phrases that occur in a text as whole words, in any case."""
    return [word for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]


def _speaks_to(text: str, name: str) -> bool:
    own = re.escape(name)
    forms = (
        _signed(name),
        rf"{_BEFORE}{_GREETINGS}{own}\s*[:,]",
        rf"{_BEFORE}(?:hey|hi|hello|ok|okay|hallo)\s+{own}(?!\w)",
    )
    return any(re.match(form, text, re.IGNORECASE) for form in forms)


_LISTEN = say(
    "You only listen here. Others in your group have answered the message above; what they said comes before it. Write "
    "down what you will want to know later. Nothing you say is sent to anybody."
)


class Plan(Struct, frozen=True):
    """Who answers. `conducted`: the answer is made from several members' parts, as `details` say."""

    agent: AgentId
    conducted: bool = False
    details: RunPlan = RunPlan()
    state: GroupState | None = None
    """The group's new state; None if it does not change."""

    def keep(self, tx: Tx, found: Team, turn: Turn, now: datetime) -> None:
        """Store the run and the group's state, in the transaction that begins the turn; nothing for a single member."""
        if len(found.group.members) == 1:
            return
        group = found.group
        run = Run(turn.id, group.id, group.pattern, group.config, self.conducted, self.details)
        group_runs.begin(tx, run, turn, now)
        if self.state is not None:
            group_runs.set_state(tx, group.id, self.state, now)
        for agent in () if is_patrol(turn.place) else found.observers:
            begin_part(tx, turn, turn.id, MemberRequest(agent, "observe", task=_LISTEN), now)


def plan_turn(
    rows: Rows, waiting: Sequence[InRow], found: Team, turn: TurnId, now: datetime, near: Mapping[str, float]
) -> Plan:
    """The plan for the rows that a turn of the team will answer. Raises ValueError when nobody can be asked."""
    head = waiting[0]
    if len(found.group.members) == 1:
        return Plan(found.speakers[0])
    heard = messages.by_ids(rows, [row.message for row in waiting if row.message is not None], Scope(head.audience))
    to_group = isinstance(head.payload, LetterEvent) and head.payload.agent is None
    if is_patrol(head.place) or (not to_group and any(message.role == "system" for message in heard)):
        return Plan(_told(found, head))
    words = "\n".join(message.text for message in heard)
    return plan_of(found, words, group_runs.state(rows, found.group.id), (turn, near), now)


def _told(found: Team, head: InRow) -> AgentId:
    """The recipient of a service event: the agent it is for, else the group's leader."""
    named = addressee(head.payload) or AgentId("")
    return named if found.able(named) or named in found.observers else found.leader


def plan_of(found: Team, words: str, state: GroupState, drawn: tuple[int, Mapping[str, float]], now: datetime) -> Plan:
    """The plan. Pure: `drawn` are the seed of random choices, and similarities by profile.

    Raises ValueError when nobody can be asked.
    """
    seed, near = drawn
    if not found.candidates:
        raise ValueError(f'no member of the group "{found.group.name}" is active')
    whole = isinstance(found.settings, Pipeline | Voting)
    names = {each.name: each.agent for each in found.candidates}
    called = [names[name] for name in addressed(words, list(names))]
    if len(called) == 1:
        return Plan(called[0], state=state.using(called, now))
    if called and not whole:
        return Plan(found.leader, True, RunPlan(tuple(called), everybody=True), state.using(called, now))
    match found.settings:
        case RoundRobin():
            return _next_in_turn(found, found.settings, state, now)
        case Dynamic(selector="supervisor"):
            return Plan(found.leader, True, RunPlan(chooser=found.leader), state.using([found.leader], now))
        case Dynamic():
            chosen = [each.agent for each in choose(found.settings, found.candidates, words, state, seed, near)]
            details = RunPlan(tuple(chosen) if len(chosen) > 1 else ())
            return Plan(chosen[0], len(chosen) > 1, details, state.using(chosen, now))
        case Voting():
            return Plan(found.leader, True, RunPlan(options=options_of(words, found.settings)))
        case Pipeline():
            return Plan(found.leader, True)
        case _:
            return Plan(found.leader, state=state.using([found.leader], now))


def _next_in_turn(found: Team, settings: RoundRobin, state: GroupState, now: datetime) -> Plan:
    """The member whose turn it is; `index` is the position of the one after it."""
    order, start = found.speakers, (state.index or 0) % len(found.speakers)
    for step in range(len(order)):
        position = (start + step) % len(order)
        agent = order[position]
        if found.able(agent):
            kept = replace(state.using([agent], now), index=(position + 1) % len(order))
            return Plan(agent, state=kept)
        if not settings.skip_unavailable:
            raise ValueError(
                f"it is the turn of {found.names[agent]}, who is not active, and the group "
                f'"{found.group.name}" skips nobody (skip_unavailable = false)'
            )
    raise ValueError(f'no member of the group "{found.group.name}" is active')


async def member_similarity(
    database: Database, head: InRow, meaning: Callable[[str], Awaitable[Meaning | None]]
) -> Mapping[str, float]:
    """The cosines of the waiting messages to members' profiles, by profile; empty without an embedder.

    Only for groups that choose by capability. Profiles do not change, so their vectors stay cached.
    """
    question, profiles = await database.read(lambda rows: _compared(rows, head))
    if not profiles:
        return {}
    asked = await meaning(question)
    if not isinstance(asked, Meaning):
        return {}
    found: dict[str, float] = {}
    for profile in profiles:
        known = await meaning(profile)
        near = asked.like(known) if isinstance(known, Meaning) else None
        if near is not None:
            found[profile] = near
    return found


def _compared(rows: Rows, head: InRow) -> tuple[str, list[str]]:
    """The waiting messages, and the profiles to compare them with."""
    found = team(rows, GroupId(head.group or ""))
    settings = found.settings
    if not isinstance(settings, Dynamic) or settings.selector != "capability" or len(found.candidates) < 2:
        return "", []
    heard = messages.by_ids(rows, [head.message] if head.message is not None else [], Scope(head.audience))
    text = "\n".join(message.text for message in heard if message.role == "user")
    return text, [each.profile for each in found.candidates if each.profile] if text.strip() else []
