"""The next step of a conducted run: a pure function of stored data, so that it continues after a restart.

A run is *conducted* if its answer is made from the results of several members. This module decides which member is
asked what, in which order, and what the result is; `bot.agents.groups.orchestrator` carries it out.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from bot.agents.context.quotes import NOTHING, PromptText, joined, quotation, say
from bot.agents.groups.dynamic_selectors import Candidate, fit, shuffled
from bot.agents.groups.settings import Pipeline, Stage, Table, Voting, stored
from bot.agents.groups.team import Team
from memory.group_runs import BallotOutcome, Kind, Part, Run, RunOutcome, StageOutcome
from memory.store.ids import AgentId
from texts import _, gettext_noop, number_text

ABSTAIN = "abstain"


class Ballot(Struct, frozen=True):
    """The vote of one member; `choice` is empty without a valid ballot, and `problem` says why."""

    agent: AgentId
    name: str
    choice: str = ""
    reason: str = ""
    weight: float = 1.0
    at: datetime | None = None
    problem: str = ""


class Tally(Struct, frozen=True):
    """The result of a vote: the weight of each option, and the decision or why there is none."""

    counts: Mapping[str, float]
    decision: str
    why: str


def options_of(question: str, settings: Voting) -> tuple[str, ...]:
    """The options of a vote: the question's last line if it is "options: a, b", else the group's settings."""
    found = re.search(r"(?im)^\s*options\s*:\s*(.+)\s*\Z", question)
    given = [part.strip() for part in re.split(r"[,;|]", found[1])] if found else []
    distinct = {part.casefold(): part for part in given if part and part.casefold() != ABSTAIN}
    return tuple(distinct.values()) if len(distinct) >= 2 else settings.options


def quorum_of(settings: Voting, voters: int) -> int:
    """The number of ballots that make a decision: as configured, else more than half of the voters."""
    return settings.quorum or voters // 2 + 1


def matching(choice: str, options: Sequence[str]) -> str:
    """The option that a choice means, "abstain", or empty."""
    wanted = choice.strip().casefold()
    known = {option.casefold(): option for option in (*options, ABSTAIN)}
    return known.get(wanted, "")


def tally(settings: Voting, options: Sequence[str], ballots: Sequence[Ballot], seed: int) -> Tally:
    """Count the votes. Abstentions and missing ballots count for no option and not for the quorum."""
    valid = [ballot for ballot in ballots if ballot.choice and ballot.choice != ABSTAIN]
    counts = {option: sum(b.weight for b in valid if b.choice == option) for option in options}
    quorum = quorum_of(settings, len(ballots))
    if len(valid) < quorum:
        few = _("too few ballots ({cast} of the {count} needed)", cast=len(valid), count=quorum)
        return Tally(counts, "", few)
    most = max(counts.values())
    leading = [option for option in options if counts[option] == most]
    if len(leading) == 1:
        return Tally(counts, leading[0], _("the most votes"))
    decision, why = _broken(settings, leading, valid, seed)
    return Tally(counts, decision, _("tied: {options}; {why}", options=", ".join(leading), why=why))


def _broken(settings: Voting, leading: Sequence[str], valid: Sequence[Ballot], seed: int) -> tuple[str, str]:
    match settings.tie_breaker:
        case "random":
            return shuffled(seed, leading)[0], _("decided at random")
        case "first_vote":
            first = min(
                (b for b in valid if b.choice in leading), key=lambda b: "" if b.at is None else b.at.isoformat()
            )
            return first.choice, _("decided by the first vote, cast by {name}", name=first.name)
        case "agent":
            own = next((b for b in valid if b.agent == settings.tie_agent and b.choice in leading), None)
            if own is not None:
                return own.choice, _("decided by {name}'s vote", name=own.name)
            return "", _("the tie-breaking agent chose none of them")
        case _:
            return "", _("no tie-breaker is set")


def announced(tally_: Tally, ballots: Sequence[Ballot]) -> str:
    head = gettext_noop("Decision: {decision} ({why}).") if tally_.decision else gettext_noop("No decision: {why}.")
    counted = ", ".join(f"{option} {number_text(count, 'g')}" for option, count in tally_.counts.items())
    lines = [_(head, decision=tally_.decision, why=tally_.why), _("Votes: {counted}", counted=counted)]
    for ballot in ballots:
        weight = f" ×{number_text(ballot.weight, 'g')}" if ballot.weight != 1 else ""
        reason = f": {ballot.reason}" if ballot.reason else ""
        choice = ballot.choice or _("no ballot ({problem})", problem=ballot.problem)
        lines.append(f"- {ballot.name}{weight} — {choice}{reason}")
    return "\n".join(lines)


class RunState(Struct, frozen=True):
    """The input of a step. `parts` are those that the run itself asked for, in that order."""

    run: Run
    team: Team
    question: str
    parts: tuple[Part, ...] = ()

    @property
    def settings(self) -> Table:
        """The group's settings at the run's start."""
        return stored(self.run.pattern, self.run.settings)

    def candidate(self, agent: str) -> Candidate | None:
        return next((each for each in self.team.candidates if each.agent == agent), None)

    def name(self, agent: AgentId) -> str:
        return self.team.names.get(agent, _("somebody"))


class MemberRequest(Struct, frozen=True):
    """A request to a member. `task` is its instruction in addition to the message."""

    agent: AgentId
    kind: Kind
    stage: int = 0
    attempt: int = 1
    task: PromptText = NOTHING


class RunAnswer(Struct, frozen=True):
    """The run is over. `words` by agent in the order of sending; None stands for the group itself."""

    words: tuple[tuple[AgentId | None, str], ...]
    outcome: RunOutcome = RunOutcome()


class NoMemberAnswer(Exception):
    """No member gave a result: the run is tried again later. The text says why."""


Step: TypeAlias = Sequence[MemberRequest] | RunAnswer
"""The members to ask, or the end."""


def next_step(now: RunState) -> Step:
    """The next step when no part is running. Raises NoMemberAnswer."""
    match now.settings:
        case Pipeline() as settings:
            return _pipeline(now, settings)
        case Voting() as settings if not now.run.plan.everybody:
            return _vote(now, settings)
        case _:
            return _answers(now)


# ---------------------------------------------------------------------------------------------------- several answers


def _answers(now: RunState) -> Step:
    """Every chosen member answers; if the plan wants a choice, a member chooses first."""
    chosen, chooser = now.run.plan.agents, now.run.plan.chooser
    if chooser and not chosen:
        made = next((part for part in now.parts if part.kind == "choice"), None)
        if made is None:
            return [MemberRequest(chooser, "choice", task=_choice_task(now))]
        picked = tuple(each.agent for each in now.team.candidates if each.agent in made.detail.agents)
        chosen = picked or (chooser,)  # if it chose nobody, it answers itself
    asked = [part for part in now.parts if part.kind == "answer"]
    if not asked:
        return [MemberRequest(agent, "answer", task=_answer_task(now, chosen)) for agent in chosen]
    given = [part for part in asked if part.status == "done"]
    if not given:
        raise NoMemberAnswer("; ".join(f"{now.name(part.agent)}: {part.output or part.status}" for part in asked))
    return RunAnswer(
        tuple((part.agent, part.output) for part in given), RunOutcome(tuple(part.agent for part in given))
    )


def _choice_task(now: RunState) -> PromptText:
    lines = [say("- {name}: {what}", name=c.name, what=c.profile or "no special field") for c in now.team.candidates]
    return joined([say("Use `choose_members` to choose who answers the message above. The members are:"), *lines])


def _answer_task(now: RunState, chosen: Sequence[AgentId]) -> PromptText:
    others = [now.name(agent) for agent in chosen]
    if len(others) < 2:
        return NOTHING
    words = "{names} answer this side by side, each on its own. Give your own answer."
    return say(words, names=", ".join(others))


# ------------------------------------------------------------------------------------------------------------ pipeline


def _pipeline(now: RunState, settings: Pipeline) -> Step:
    """Stage after stage, each with the results of the one before; or all in parallel, and all are sent."""
    heard = NOTHING
    spoken: list[Part] = []
    wanted: list[MemberRequest] = []
    outcome: tuple[StageOutcome, ...] = ()
    failed: tuple[int, Stage] | None = None
    for number, stage in enumerate(settings.stages):
        asking, given = _stage(now, number, stage)
        if asking is not None:
            last = settings.parallel_stages or number == len(settings.stages) - 1
            agents, attempt = asking
            task = joined([_stage_task(stage, last=last), heard], "\n\n")
            wanted += [MemberRequest(AgentId(each), "stage", number, attempt, task) for each in agents]
        else:
            outcome += (StageOutcome(stage.name, tuple(part.agent for part in given), bool(given)),)
            failed = failed or (None if given or stage.on_failure == "skip" else (number, stage))
            spoken = [*spoken, *given] if settings.parallel_stages else given or spoken
        if not settings.parallel_stages:
            said = [quotation(now.name(part.agent), part.output) for part in spoken]
            heard = joined([say("The result of the stage before yours:"), *said], "\n\n") if said else NOTHING
            if wanted or failed:
                break
    if failed is not None:
        return _aborted(now, *failed, outcome)
    if wanted:
        return wanted
    if not spoken:
        return RunAnswer(((None, _("None of the stages gave an answer.")),), RunOutcome(stages=outcome))
    return RunAnswer(tuple((part.agent, part.output) for part in spoken), RunOutcome(stages=outcome))


def _stage(now: RunState, number: int, stage: Stage) -> tuple[tuple[list[str], int] | None, list[Part]]:
    """Whom to ask next for a stage, in which attempt; else (None) its results, empty if it failed for good."""
    parts = [part for part in now.parts if part.kind == "stage" and part.stage == number]
    given = [part for part in parts if part.status == "done"]
    attempt = max((part.attempt for part in parts), default=0)
    able = [agent for agent in stage.agents if now.candidate(agent) is not None]
    first, again = attempt == 0, stage.on_failure == "retry" and attempt < stage.attempts
    if able and (first or (again and not given)):
        return (able, attempt + 1), []
    if given:
        return None, given
    if stage.on_failure == "fallback" and attempt < 2 and now.candidate(stage.fallback_agent) is not None:
        return ([stage.fallback_agent], 2), []
    return None, []


def _stage_task(stage: Stage, *, last: bool) -> PromptText:
    goes = "is what people read" if last else "goes to the next stage, not to people"
    of = say('You are the stage "{name}" of a pipeline that answers the message above.', name=stage.name)
    return say("{of} Your final text {goes}.", of=of, goes=goes)


def _aborted(now: RunState, number: int, stage: Stage, outcome: tuple[StageOutcome, ...]) -> RunAnswer:
    parts = [part for part in now.parts if part.kind == "stage" and part.stage == number]
    late, failed = gettext_noop("{name} took too long"), gettext_noop("{name} gave no answer")
    ended = [_(late if part.status == "late" else failed, name=now.name(part.agent)) for part in parts]
    why = "; ".join(dict.fromkeys(ended)) or _("none of its agents can be asked at the moment")
    text = _("I stopped at the stage “{stage}”: {why}.", stage=stage.name, why=why)
    return RunAnswer(((None, text),), RunOutcome(stages=outcome, aborted=stage.name))


# -------------------------------------------------------------------------------------------------------------- voting


def _vote(now: RunState, settings: Voting) -> Step:
    options = now.run.plan.options
    asked = [part for part in now.parts if part.kind == "ballot"]
    if not asked:
        return [MemberRequest(each.agent, "ballot", task=_ballot_task(options)) for each in now.team.candidates]
    ballots = [_ballot(now, settings, part) for part in asked]
    # The quorum counts those who were asked: members that are unavailable now do not lower it.
    counted = tally(settings, options, ballots, now.run.id)
    outcome = RunOutcome(
        decision=counted.decision,
        tally=counted.counts,
        quorum=quorum_of(settings, len(ballots)),
        ballots=tuple(BallotOutcome(b.agent, b.choice, b.weight, b.problem) for b in ballots),
    )
    return RunAnswer(((None, announced(counted, ballots)),), outcome)


def _ballot_task(options: Sequence[str]) -> PromptText:
    listed = ", ".join(f'"{option}"' for option in options)
    return say(
        "Your group is voting on the message above. Cast your own ballot with `cast_ballot`: one of {listed}, or "
        '"abstain". You do not see what the others choose.',
        listed=listed,
    )


def _ballot(now: RunState, settings: Voting, part: Part) -> Ballot:
    found = now.candidate(part.agent)
    fits = fit(now.question, found) if settings.weight_by_expertise and found is not None else 0.0
    choice = part.detail.choice
    problem = "" if choice else _("too late") if part.status == "late" else part.output or _("cast no valid ballot")
    return Ballot(
        agent=part.agent,
        name=now.name(part.agent),
        choice=choice,
        reason=part.detail.reason,
        weight=1.0 + min(fits, 3.0),
        at=part.ended_at,
        problem=problem,
    )
