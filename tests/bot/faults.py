"""Exceptions at the awaits of tasks: at each place where a supervised task awaits one is raised, once."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bot.runtime.supervision import Supervisor, Work

ROOT = Path(__file__).parents[2]
Site: TypeAlias = tuple[str, ...]
"""Where a task awaits: its kind, then the functions that wait for each other, with their lines."""


class Injected(Exception):
    """What nobody foresaw."""


def site_of(work: Any) -> Iterator[str]:
    """The functions of ours in which a coroutine awaits, from the outermost to the innermost."""
    while (frame := getattr(work, "cr_frame", None)) is not None:
        if frame.f_code.co_filename.startswith(str(ROOT)):
            yield f"{frame.f_code.co_qualname}:{frame.f_lineno}"
        work = work.cr_await


class Stepped:
    """Runs a coroutine and raises in it wherever it awaits and `wanted` says so of the place."""

    def __init__(self, work: Coroutine[Any, Any, None], wanted: Callable[[Site], bool]) -> None:
        self._work, self._wanted = work, wanted

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            waits_for = self._work.send(None)
            while True:
                if self._wanted(tuple(site_of(self._work))):
                    waits_for = self._work.throw(Injected("injected"))
                    continue
                try:
                    came = yield waits_for
                except BaseException as error:
                    waits_for = self._work.throw(error)
                else:
                    waits_for = self._work.send(came)
        except StopIteration:
            return


def kind_of(name: str) -> str:
    """The name of a task without the ids in it."""
    return re.sub(r"\s+(\S*[:_]\S*|\S*\d+$)|( for .*)$", "", name)


def supervised_names(folder: Path) -> set[str]:
    """The names under which code has work kept by the supervisor, without ids, also where a function passes one on."""
    trees = [ast.parse(path.read_text("utf-8")) for path in folder.rglob("*.py")]
    keeping, before = {"keep": 0}, dict[str, int]()
    """Methods, each with the place of the name among what it is given."""
    while keeping != before:
        before = dict(keeping)
        for function in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            own = [each.arg for each in function.args.args if each.arg != "self"]
            passed = (part for given in _names(function, keeping) for part in ast.walk(given))
            if "name" in own and any(isinstance(part, ast.Name) and part.id == "name" for part in passed):
                keeping[function.name] = own.index("name")
    return {name for tree in trees for given in _names(tree, keeping) for name in _literal(given)}


def _names(tree: ast.AST, methods: dict[str, int]) -> Iterator[ast.expr]:
    """What calls of these methods are given as the name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            at = methods.get(node.func.attr, len(node.args))
            yield from node.args[at : at + 1]


def _literal(given: ast.expr) -> Iterator[str]:
    match given:
        case ast.Constant(value=str(name)) | ast.JoinedStr(values=[ast.Constant(value=str(name)), *_]):
            yield name.strip()


class Injection:
    """Raises once at every place where a supervised task awaits, in tasks of the kinds that are `wanted`.

    In each round it raises at most so often in a kind, as what is about one item is given up in the end.
    """

    def __init__(self, wanted: Callable[[str], bool], most: int = 1) -> None:
        self._wanted, self._most = wanted, most
        self.sites = set[Site]()
        """Where it raised, in all rounds."""
        self.raised = Counter[str]()
        """How often, in this round, by the kinds of tasks."""

    @property
    def kinds(self) -> set[str]:
        """In tasks of which kinds it raised, in all rounds."""
        return {site[0] for site in self.sites}

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        keep, injection = Supervisor.keep, self
        self.raised.clear()

        def injecting(supervisor: Supervisor, name: str, work: Work, *, halts: bool = False) -> Any:
            return keep(supervisor, name, lambda: injection.run(kind_of(name), work), halts=halts)

        monkeypatch.setattr(Supervisor, "keep", injecting)

    async def run(self, kind: str, work: Work) -> None:
        def wanted(place: tuple[str, ...]) -> bool:
            site = kind, *place
            if not self._wanted(kind) or site in self.sites or self.raised[kind] == self._most:
                return False
            self.sites.add(site)
            self.raised[kind] += 1
            return True

        async def coroutine() -> None:
            await work()

        await Stepped(coroutine(), wanted)
