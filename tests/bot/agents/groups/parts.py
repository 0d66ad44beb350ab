"""Groups for tests: agents that are known by their system prompts, and a model that answers as each of them."""

import json
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping
from typing import TypeAlias

from bot.models.base import Answer, Request, UserMessage
from tests.bot.parts import Reply, ScriptedModel, call, says

Line: TypeAlias = str | Reply


def agents(*names: str) -> str:
    """Their tables; each says who it is in its prompt, and has no blocks and no tools but those of its part."""
    return "".join(
        f'[[agents]]\nname = "{name}"\nsystem_prompt = "You are {name}."\nblocks = []\ntools = []\n' for name in names
    )


def who(request: Request) -> str:
    return request.system.partition("You are ")[2].partition(".")[0]


class Cast(ScriptedModel):
    """Answers as whoever is asked: each agent's lines in order, then its own name."""

    def __init__(self, **lines: Iterable[Line]) -> None:
        super().__init__(otherwise=self._answer)
        self.lines: dict[str, list[Line]] = defaultdict(list, {name: list(said) for name, said in lines.items()})

    def _answer(self, request: Request) -> Answer | Awaitable[Answer]:
        name = who(request)
        line: Line = self.lines[name].pop(0) if self.lines[name] else f"{name} here."
        if isinstance(line, Exception):
            raise line
        if isinstance(line, str):
            return says(line)
        return line if isinstance(line, Answer) else line(request)

    def asked(self) -> list[str]:
        """Who was asked, in order."""
        return [who(request) for request in self.requests]

    def of(self, name: str) -> list[Request]:
        return [request for request in self.requests if who(request) == name]


def told(request: Request) -> str:
    """Everything in a request beside the system prompt, as one text."""
    return "\n".join(m.text for m in request.messages if isinstance(m, UserMessage))


FOUR = agents("Ant", "Bee", "Cat", "Dog")


def group(pattern: str, table: str, members: str = '"Ant", "Bee", "Cat", "Dog"') -> str:
    return f'{FOUR}[[groups]]\nname = "Team"\npattern = "{pattern}"\nmembers = [{members}]\n{table}'


def stages(*given: tuple[str, str, str]) -> str:
    """(name, agents, more settings)"""
    tables = (
        f'[[groups.pipeline.stages]]\nname = "{n}"\nagents = [{", ".join(map(json.dumps, a.split()))}]\n{more}\n'
        for n, a, more in given
    )
    return group("pipeline", "".join(tables))


def watching(trigger: Mapping[str, object]) -> str:
    return "[[groups.sleeptime.triggers]]\n" + "".join(f"{key} = {json.dumps(each)}\n" for key, each in trigger.items())


def sleeptime(group: str, members: str, place: str, every: int, trigger: Mapping[str, object]) -> str:
    """A group that looks at a trigger every so many minutes, beside the one of Ant that answers people."""
    return (
        '[[groups]]\nname = "Main"\nmembers = ["Ant"]\ndefault = true\n'
        f'[[groups]]\nname = "{group}"\npattern = "sleeptime"\nmembers = [{members}]\nmention = false\n'
        f'[groups.sleeptime]\ncheck_minutes = {every}\nplace = "{place}"\n{watching(trigger)}'
    )


def delegates(agent: str, task: str, ident: str = "") -> Answer:
    return says("", call("delegate", ident, agent=agent, task=task))


LED = group("supervisor", '[groups.supervisor]\nleader = "Ant"\nmax_delegations = 2\n')
