"""How a dynamic group compares its members for a message: pure functions of members, words and the group's state.

`bot.agents.groups.who_answers` decides with them, for groups of every pattern.

Randomness is seeded with the run's number, so that a run repeated after a crash chooses the same.
"""

import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bot.agents.groups.settings import Dynamic
from memory.agent_groups import Member
from memory.group_runs import GroupState
from memory.store.fulltext import content_words
from memory.store.ids import AgentId


def shuffled(seed: int, keys: Sequence[str]) -> list[str]:
    """The keys in a pseudorandom order that depends only on them and the seed."""
    return sorted(keys, key=lambda key: hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=8).digest())


_DOMAIN = 2.0  # a word of the domain counts more than one of a capability
_PREFERRED = 1.0
_MEANING = 2.0  # a cosine of 1 counts as much as a word of the domain
_ENDINGS, _SHORTEST_STEM = ("ing", "es", "ed", "en", "er", "s", "e", "n"), 4  # of English and German words
_NEAR = 0.3  # lower cosines mean nothing: even unrelated texts reach them


class Candidate(Struct, frozen=True):
    """A member that could be chosen. `description` is the agent's own."""

    member: Member
    name: str
    description: str = ""

    @property
    def agent(self) -> AgentId:
        return self.member.agent

    @property
    def profile(self) -> str:
        """Its knowledge as one text, whose meaning is compared with questions."""
        return ". ".join(filter(None, (self.member.domain, *self.member.capabilities, self.description)))


def fit(question: str, candidate: Candidate, near: Mapping[str, float] | None = None) -> float:
    """How well a member fits a question: by words of its domain and capabilities, and by meaning if known.

    `near` are the cosines of the question to members' profiles, by profile.
    """
    asked = _stems(question)
    score = _DOMAIN * len(asked & _stems(candidate.member.domain))
    score += sum(bool(asked & _stems(each)) for each in candidate.member.capabilities)
    cosine = (near or {}).get(candidate.profile, 0.0)
    return score + (_MEANING * cosine if cosine >= _NEAR else 0.0)


def _stems(text: str) -> set[str]:
    """The words of a text without endings, so that "plants" equals "plant"."""
    return {_stem(word) for word in content_words(text)}


def _stem(word: str) -> str:
    while ending := next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= _SHORTEST_STEM), ""):
        word = word.removesuffix(ending)
    return word


def choose(
    settings: Dynamic,
    candidates: Sequence[Candidate],
    question: str,
    state: GroupState,
    seed: int,
    near: Mapping[str, float],
) -> list[Candidate]:
    """At most `settings.count` members, by the selector; a model runs the selector supervisor, not this."""
    match settings.selector:
        case "random":
            order = shuffled(seed, [each.agent for each in candidates])
            return sorted(candidates, key=lambda each: order.index(each.agent))[: settings.count]
        case "load_balancing":
            return sorted(candidates, key=lambda each: state.last_used(each.agent))[: settings.count]
        case _:
            return _capable(settings, candidates, question, state, near)


def _capable(
    settings: Dynamic, candidates: Sequence[Candidate], question: str, state: GroupState, near: Mapping[str, float]
) -> list[Candidate]:
    """The members that fit best; if none fits, the one that was asked longest ago."""
    preferred = settings.preferred_domain.casefold()
    scores = {}
    for each in candidates:
        prefers = _PREFERRED if preferred and each.member.domain.casefold() == preferred else 0.0
        scores[each.agent] = fit(question, each, near) + prefers
    ordered = sorted(candidates, key=lambda each: (-scores[each.agent], state.last_used(each.agent)))
    fitting = [each for each in ordered if scores[each.agent] > 0]
    return fitting[: settings.count] or ordered[:1]


def delegate_to(
    strategy: str,
    candidates: Sequence[Candidate],
    task: str,
    given: Mapping[AgentId, int],
    state: GroupState,
    seed: int,
) -> Candidate | None:
    """Who gets an unaddressed task; None if nobody may. `given`: tasks that each has had in this run."""
    if not candidates:
        return None
    match strategy:
        case "random":
            first = shuffled(seed + sum(given.values()), [each.agent for each in candidates])[0]
            return next(each for each in candidates if each.agent == first)
        case "least_busy":
            return min(candidates, key=lambda each: (given.get(each.agent, 0), state.last_used(each.agent)))
        case "round_robin":
            return min(candidates, key=lambda each: state.last_used(each.agent))
        case _:
            return max(candidates, key=lambda each: (fit(task, each), -given.get(each.agent, 0)))
