"""What members of groups do by tools: give a task to another one, cast a ballot, choose who answers."""

from pydantic import Field

from bot.agents.context.quotes import say
from bot.agents.groups.delegation import Task, hand_over
from bot.agents.groups.team import team
from bot.agents.groups.voting import matching
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Assignment, DirectReply, MemberTool, Outcome, StoreTool, ToolContext
from bot.errors import ToolError
from bot.models.base import Call
from memory import groups
from memory.store.database import Tx


class DelegateArguments(Arguments):
    task: str = Field(min_length=1, description="what is to be done, with everything that has to be known for it")
    agent: str = Field(default="", description="the member's name; empty: whoever fits the task best")


class DelegateTool(MemberTool[DelegateArguments]):
    name = "delegate"
    description = (
        "Give a part of the work to another member of your group and get back what comes of it. The member sees the "
        "message that you answer, but not your thoughts: say in the task what you need. People do not see its answer; "
        "you do, and your own final text is what they read."
    )
    arguments: type[Arguments] = DelegateArguments
    caution = Caution()

    def hand(self, tx: Tx, context: ToolContext, call: Call, arguments: DelegateArguments) -> Assignment | DirectReply:
        return hand_over(tx, Task(context.turn, call.id, arguments.agent, arguments.task), context.now)


class BallotArguments(Arguments):
    choice: str = Field(min_length=1, description='one of the options, word for word, or "abstain"')
    reason: str = Field(default="", max_length=500, description="why, in one sentence that the others will read")


class BallotTool(StoreTool[BallotArguments]):
    name = "cast_ballot"
    description = "Cast your ballot in the vote that you are asked for. The last one that you cast counts."
    arguments: type[Arguments] = BallotArguments
    caution = Caution()

    def work(self, tx: Tx, context: ToolContext, arguments: BallotArguments) -> Outcome:
        part = groups.part(tx, context.turn.id)
        run = None if part is None else groups.run(tx, part.run)
        if part is None or run is None or part.kind != "ballot":
            raise ToolError("There is no vote at the moment.")
        options = [str(option) for option in run.plan.get("options", ())]
        choice = matching(arguments.choice, options)
        if not choice:
            raise ToolError(f'{arguments.choice!r} is none of the options: {", ".join(options)}, or "abstain".')
        groups.note(tx, part.turn, {"choice": choice, "reason": arguments.reason.strip()})
        return Outcome(say("Your ballot is cast: {choice}.", choice=choice))


class ChooseArguments(Arguments):
    names: tuple[str, ...] = Field(min_length=1, description="the names of the members who should answer")


class ChooseTool(StoreTool[ChooseArguments]):
    name = "choose_members"
    description = "Say who of the group answers the message. Choose as few as the message needs; you may name yourself."
    arguments: type[Arguments] = ChooseArguments
    caution = Caution()

    def work(self, tx: Tx, context: ToolContext, arguments: ChooseArguments) -> Outcome:
        part, group = groups.part(tx, context.turn.id), context.turn.group
        if part is None or group is None or part.kind != "choice":
            raise ToolError("There is nobody to be chosen at the moment.")
        candidates = {each.name.casefold(): each for each in team(tx, group).candidates}
        wanted = [name.strip().removeprefix("@").casefold() for name in arguments.names]
        if unknown := [name for name in wanted if name not in candidates]:
            known = ", ".join(each.name for each in candidates.values())
            raise ToolError(f"{', '.join(map(repr, unknown))}: nobody of that name can answer. There are: {known}.")
        chosen = list(dict.fromkeys(candidates[name].agent for name in wanted))
        groups.note(tx, part.turn, {"agents": chosen})
        return Outcome(say("Chosen."))
