"""Counting ballots: a pure function of what voters gave."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.agents.groups.selectors import shuffled
from bot.agents.groups.settings import Voting
from memory.store.ids import AgentId

ABSTAIN = "abstain"


@dataclass(frozen=True)
class Ballot:
    """What one voter gave; `choice` is empty when it gave no valid ballot, with the reason in `problem`."""

    agent: AgentId
    name: str
    choice: str = ""
    reason: str = ""
    weight: float = 1.0
    at: datetime | None = None
    problem: str = ""


@dataclass(frozen=True)
class Tally:
    """What a vote came to: weight by option, and the decision or why there is none."""

    counts: Mapping[str, float]
    decision: str
    why: str


def options_of(question: str, settings: Voting) -> tuple[str, ...]:
    """What is voted on: the last line of the question if it is "options: a, b", else what the group is told."""
    found = re.search(r"(?im)^\s*options\s*:\s*(.+)\s*\Z", question)
    given = [part.strip() for part in re.split(r"[,;|]", found[1])] if found else []
    distinct = {part.casefold(): part for part in given if part and part.casefold() != ABSTAIN}
    return tuple(distinct.values()) if len(distinct) >= 2 else settings.options


def quorum_of(settings: Voting, voters: int) -> int:
    """Ballots that make a decision: as configured, else more than half of the voters."""
    return settings.quorum or voters // 2 + 1


def matching(choice: str, options: Sequence[str]) -> str:
    """The option that is meant, "abstain", or nothing."""
    wanted = choice.strip().casefold()
    known = {option.casefold(): option for option in (*options, ABSTAIN)}
    return known.get(wanted, "")


def tally(settings: Voting, options: Sequence[str], ballots: Sequence[Ballot], seed: int) -> Tally:
    """Count. Abstentions and voters without a ballot count for no option and not for the quorum."""
    valid = [ballot for ballot in ballots if ballot.choice and ballot.choice != ABSTAIN]
    counts = {option: sum(b.weight for b in valid if b.choice == option) for option in options}
    quorum = quorum_of(settings, len(ballots))
    if len(valid) < quorum:
        return Tally(counts, "", f"{len(valid)} of the {quorum} ballots that a decision needs")
    most = max(counts.values())
    leading = [option for option in options if counts[option] == most]
    if len(leading) == 1:
        return Tally(counts, leading[0], "the most votes")
    decision, why = _broken(settings, leading, valid, seed)
    tied = " and ".join(f'"{option}"' for option in leading)
    return Tally(counts, decision, f"{tied} are tied; {why}")


def _broken(settings: Voting, leading: Sequence[str], valid: Sequence[Ballot], seed: int) -> tuple[str, str]:
    """What breaks a tie, and how."""
    match settings.tie_breaker:
        case "random":
            return shuffled(seed, leading)[0], "chance decided"
        case "first_vote":
            first = min(
                (b for b in valid if b.choice in leading), key=lambda b: "" if b.at is None else b.at.isoformat()
            )
            return first.choice, f"the first vote, {first.name}'s, decided"
        case "agent":
            own = next((b for b in valid if b.agent == settings.tie_agent and b.choice in leading), None)
            if own is not None:
                return own.choice, f"{own.name}'s vote decided"
            return "", "the one whose vote would decide chose neither"
        case _:
            return "", "nothing breaks a tie here"


def announced(tally_: Tally, ballots: Sequence[Ballot]) -> str:
    """Decision, tally and every ballot, for people."""
    head = f"Decision: {tally_.decision} ({tally_.why})." if tally_.decision else f"No decision: {tally_.why}."
    counted = ", ".join(f"{option} {count:g}" for option, count in tally_.counts.items())
    lines = [head, f"Votes: {counted}"]
    for ballot in ballots:
        weight = f" ×{ballot.weight:g}" if ballot.weight != 1 else ""
        reason = f": {ballot.reason}" if ballot.reason else ""
        lines.append(f"- {ballot.name}{weight} — {ballot.choice or f'no ballot ({ballot.problem})'}{reason}")
    return "\n".join(lines)
