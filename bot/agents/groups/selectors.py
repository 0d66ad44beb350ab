"""Which member does something: pure functions of members, words and what is remembered.

Chance is drawn from the run's own number, so that a run that is begun again after a crash chooses the same.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.agents.groups.settings import Dynamic
from memory.agents import Member
from memory.store.fulltext import content_words
from memory.store.ids import AgentId


def shuffled(seed: int, keys: Sequence[str]) -> list[str]:
    """The keys in an order that depends on nothing but them and the seed, and is as good as random."""
    return sorted(keys, key=lambda key: hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=8).digest())


_DOMAIN = 2.0  # a word of the domain says more than one of a capability
_PREFERRED = 1.0
_MEANING = 2.0  # of like meaning as far as a cosine of 1 counts as much as the domain's word
_ENDINGS, _SHORTEST_STEM = ("ing", "es", "ed", "en", "er", "s", "e", "n"), 4  # of English and German words
_NEAR = 0.3  # cosines below this say nothing: unrelated texts have as much


@dataclass(frozen=True)
class Candidate:
    """A member that could do it. `description` is the agent's own."""

    member: Member
    name: str
    description: str = ""

    @property
    def agent(self) -> AgentId:
        return self.member.agent

    @property
    def profile(self) -> str:
        """What it knows, as one text: what is compared with a question by meaning."""
        return ". ".join(filter(None, (self.member.domain, *self.member.capabilities, self.description)))


def fit(question: str, candidate: Candidate, near: Mapping[str, float] | None = None) -> float:
    """How well a member fits a question: words of its domain and capabilities, and likeness of meaning where known.

    `near` are cosines of the question to members' profiles, by profile.
    """
    asked = _stems(question)
    score = _DOMAIN * len(asked & _stems(candidate.member.domain))
    score += sum(bool(asked & _stems(each)) for each in candidate.member.capabilities)
    cosine = (near or {}).get(candidate.profile, 0.0)
    return score + (_MEANING * cosine if cosine >= _NEAR else 0.0)


def _stems(text: str) -> set[str]:
    """The words of a text without their endings, so that "plants" and "plant" are the same."""
    return {_stem(word) for word in content_words(text)}


def _stem(word: str) -> str:
    while ending := next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= _SHORTEST_STEM), ""):
        word = word.removesuffix(ending)
    return word


def choose(
    settings: Dynamic,
    candidates: Sequence[Candidate],
    question: str,
    state: Mapping[str, Any],
    seed: int,
    near: Mapping[str, float],
) -> list[Candidate]:
    """At most `settings.count` members, by the selector; the selector supervisor is a model's and not made here."""
    match settings.selector:
        case "random":
            order = shuffled(seed, [each.agent for each in candidates])
            return sorted(candidates, key=lambda each: order.index(each.agent))[: settings.count]
        case "load_balancing":
            return sorted(candidates, key=lambda each: last_used(state, each.agent))[: settings.count]
        case _:
            return _capable(settings, candidates, question, state, near)


def _capable(
    settings: Dynamic,
    candidates: Sequence[Candidate],
    question: str,
    state: Mapping[str, Any],
    near: Mapping[str, float],
) -> list[Candidate]:
    """Those who fit best; when nobody fits, the one who was asked longest ago."""
    preferred = settings.preferred_domain.casefold()
    scores = {}
    for each in candidates:
        prefers = _PREFERRED if preferred and each.member.domain.casefold() == preferred else 0.0
        scores[each.agent] = fit(question, each, near) + prefers
    ordered = sorted(candidates, key=lambda each: (-scores[each.agent], last_used(state, each.agent)))
    fitting = [each for each in ordered if scores[each.agent] > 0]
    return fitting[: settings.count] or ordered[:1]


def last_used(state: Mapping[str, Any], agent: AgentId) -> str:
    """When the group asked an agent last, as stored; empty when it never did."""
    return str(state.get("used", {}).get(agent, ""))


def delegate_to(
    strategy: str,
    candidates: Sequence[Candidate],
    task: str,
    given: Mapping[AgentId, int],
    state: Mapping[str, Any],
    seed: int,
) -> Candidate | None:
    """Who gets a task that names nobody; None when nobody may have it. `given`: tasks each has had in this run."""
    if not candidates:
        return None
    match strategy:
        case "random":
            first = shuffled(seed + sum(given.values()), [each.agent for each in candidates])[0]
            return next(each for each in candidates if each.agent == first)
        case "least_busy":
            return min(candidates, key=lambda each: (given.get(each.agent, 0), last_used(state, each.agent)))
        case "round_robin":
            return min(candidates, key=lambda each: last_used(state, each.agent))
        case _:
            return max(candidates, key=lambda each: (fit(task, each), -given.get(each.agent, 0)))
