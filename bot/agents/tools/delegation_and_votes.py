"""Tools of group members: delegate a task, cast a ballot, choose who answers."""

from pydantic import Field

from bot.agents.context.quotes import passage, say
from bot.agents.groups.dynamic_selectors import Candidate, delegate_to
from bot.agents.groups.loop_guard import TURN_BUDGET, budget_left, pair_rests, root_of
from bot.agents.groups.member_turns import begin_part
from bot.agents.groups.settings import Supervisor
from bot.agents.groups.team import Team, team
from bot.agents.groups.votes_and_pipelines import MemberRequest, matching
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Assignment, DirectReply, MemberTool, Outcome, StoreTool, ToolContext
from bot.errors import ToolError
from bot.models.base import Call
from memory import group_runs
from memory.agents import plain_name
from memory.group_runs import PartDetail
from memory.queue import agent_messages, inbox, turns
from memory.queue.agent_messages import SentMessage
from memory.queue.payloads import TaskEvent
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, TurnId
from texts import gettext_noop


class DelegateArguments(Arguments):
    task: str = Field(min_length=1, description="what to do, with everything the member needs to know")
    agent: str = Field(default="", description="the member's name; empty: whoever fits the task best")


def _settings(found: Team) -> Supervisor:
    return found.settings if isinstance(found.settings, Supervisor) else Supervisor()


def _named(found: Team, name: str, turn: Turn, waiting: list[AgentId]) -> Candidate:
    wanted = plain_name(name)
    member = next((agent for agent, known in found.names.items() if known.casefold() == wanted), None)
    others = [each.name for each in found.candidates if each.agent not in waiting]
    listed = f"You can give tasks to: {', '.join(others) or 'nobody at the moment'}."
    if member is None:
        raise ToolError(f"{name!r} is not in this group. {listed}")
    if member == turn.agent:
        raise ToolError(f"You cannot give a task to yourself: do it, or give it to somebody else. {listed}")
    if member in waiting:
        raise ToolError(f"{found.names[member]} is waiting for you, so that would be circular. {listed}")
    candidate = next((each for each in found.candidates if each.agent == member), None)
    if candidate is None:
        raise ToolError(f"{found.names[member]} cannot be asked: archived, hibernated or only listening. {listed}")
    return candidate


def _chain(rows: Rows, turn: Turn) -> list[AgentId]:
    found, at = [turn.agent], turn
    while at.parent is not None and (above := turns.get(rows, at.parent)) is not None:
        found.append(above.agent)
        at = above
    return found


def _given(rows: Rows, run: TurnId) -> dict[AgentId, int]:
    given: dict[AgentId, int] = {}
    for part in group_runs.parts(rows, run):
        if part.kind == "task":
            given[part.agent] = given.get(part.agent, 0) + 1
    return given


def _fall_back(
    tx: Tx, found: Team, member: Candidate | None, asked: ToolContext, call: Call, arguments: DelegateArguments
) -> DirectReply:
    """The reply if everybody who could do the task has reached the limit."""
    settings, turn = _settings(found), asked.turn
    full = f"has had {settings.max_delegations} tasks for this message, which is as many as one may have"
    who = member.name if member is not None and arguments.agent else "Everybody"
    if settings.fallback == "fail":
        return DirectReply(f"{who} {full}. The task is not done: say so in your answer.", ok=False)
    if settings.fallback == "handle_self" or member is None:
        return DirectReply(f"{who} {full}. Do it yourself.", ok=False)
    event = inbox.Event(
        source="task",
        external_id=f"{turn.id}/{call.id}",
        place=turn.place,
        person=turn.person,
        group=found.group.id,
        text=f"A task was left for you while a message here was answered: {arguments.task}",
        hearers=turn.scope,
        trust=turn.trust,
        payload=TaskEvent(member.agent, 0),
    )
    row = inbox.add_event(tx, event, asked.now)
    if row is not None:
        sent = SentMessage(row, root_of(tx, turn), turn.id, turn.agent, member.agent, found.group.id)
        agent_messages.add(tx, sent, asked.now)
    return DirectReply(f"{who} {full}. {member.name} does it after this answer and says here what came of it.", ok=True)


class DelegateTool(MemberTool[DelegateArguments]):
    name = "delegate"
    shown = gettext_noop("help from other agents")
    caution = Caution()
    description = (
        "Give part of the work to another member of your group and get the result back. The member sees the message "
        "you are answering, but not your thoughts: say in the task what you need. People do not see its answer; you "
        "do, and your own final text is what they read."
    )

    def hand(self, tx: Tx, context: ToolContext, call: Call, arguments: DelegateArguments) -> Assignment | DirectReply:
        """Begin the member's turn, or find the one that the same call began. Raises ToolError for the model."""
        turn, now = context.turn, context.now
        if turn.group is None:
            raise ToolError("There is nobody here to give a task to.")
        found = team(tx, turn.group)
        settings = _settings(found)
        begun = group_runs.part_of_call(tx, turn.id, call.id)
        if begun is not None:
            return Assignment(begun.turn, settings.timeout)
        run = group_runs.run_of(tx, turn.id)
        if not budget_left(tx, turn, now):
            told = f"This message has caused {TURN_BUDGET} turns of agents: answer now with what you have."
            return DirectReply(told, ok=False)
        state, given = group_runs.state(tx, found.group.id), _given(tx, run)
        waiting = _chain(tx, turn)
        free = [each for each in found.candidates if each.agent not in waiting]
        able = [each for each in free if given.get(each.agent, 0) < settings.max_delegations]
        named = _named(found, arguments.agent, turn, waiting) if arguments.agent else None
        if named is not None:
            able = [each for each in able if each.agent == named.agent]
        chosen = delegate_to(settings.strategy, able, arguments.task, given, state, run)
        if chosen is None:
            return _fall_back(tx, found, named or next(iter(free), None), context, call, arguments)
        if pair_rests(tx, turn, chosen.agent, now):
            told = f"{chosen.name} and you have passed each other too many tasks: answer with what you have."
            return DirectReply(told, ok=False)
        task = say(
            "{name}, who leads here, gives you this task in answering the message above:\n{task}\n"
            "Your final text goes back to {name}, not to people.",
            name=found.names[turn.agent],
            task=passage(arguments.task),
        )
        member = begin_part(tx, turn, run, MemberRequest(chosen.agent, "task", task=task), now, call=call.id)
        group_runs.set_state(tx, found.group.id, state.using([chosen.agent], now), now)
        return Assignment(member, settings.timeout)


class BallotArguments(Arguments):
    choice: str = Field(min_length=1, description='one of the options, word for word, or "abstain"')
    reason: str = Field(default="", max_length=500, description="why, in one sentence that the others will read")


class BallotTool(StoreTool[BallotArguments]):
    name = "cast_ballot"
    shown = gettext_noop("voting")
    caution = Caution()
    description = "Cast your ballot in the vote you are asked for. The last one you cast counts."

    def work(self, tx: Tx, context: ToolContext, arguments: BallotArguments) -> Outcome:
        part = group_runs.part(tx, context.turn.id)
        run = None if part is None else group_runs.run(tx, part.run)
        if part is None or run is None or part.kind != "ballot":
            raise ToolError("There is no vote at the moment.")
        options = run.plan.options
        choice = matching(arguments.choice, options)
        if not choice:
            raise ToolError(f'{arguments.choice!r} is none of the options: {", ".join(options)}, or "abstain".')
        group_runs.note(tx, part.turn, PartDetail(choice, arguments.reason.strip()))
        return Outcome(say("Your ballot is cast: {choice}.", choice=choice))


class ChooseArguments(Arguments):
    names: tuple[str, ...] = Field(min_length=1, description="the names of the members who should answer")


class ChooseTool(StoreTool[ChooseArguments]):
    name = "choose_members"
    shown = gettext_noop("agent selection")
    caution = Caution()
    description = "Say who in the group answers the message. Choose as few as the message needs; you may name yourself."

    def work(self, tx: Tx, context: ToolContext, arguments: ChooseArguments) -> Outcome:
        part, group = group_runs.part(tx, context.turn.id), context.turn.group
        if part is None or group is None or part.kind != "choice":
            raise ToolError("There is nobody to choose at the moment.")
        candidates = {each.name.casefold(): each for each in team(tx, group).candidates}
        wanted = [plain_name(name) for name in arguments.names]
        if unknown := [name for name in wanted if name not in candidates]:
            known = ", ".join(each.name for each in candidates.values())
            raise ToolError(f"{', '.join(map(repr, unknown))}: nobody by that name can answer. Choose from: {known}.")
        chosen = dict.fromkeys(candidates[name].agent for name in wanted)
        group_runs.note(tx, part.turn, PartDetail(agents=tuple(chosen)))
        return Outcome(say("Chosen."))
