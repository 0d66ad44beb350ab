"""Regular expressions and libraries that are made ready when they are first used: a command that reads no text pays for
none, and a service may need a library only days after its start."""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from types import ModuleType
from typing import Any, TypeAlias, cast

Match: TypeAlias = re.Match[str]
_METHODS = "search", "match", "fullmatch", "finditer", "findall", "split", "sub"


class Pattern:
    """A pattern of `re`, used like a compiled one."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern, whose methods take the place of these from then on."""
        found = self._compile()
        self.__dict__.update((name, getattr(found, name)) for name in _METHODS)
        return found

    def _compile(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    def search(self, text: str, pos: int = 0) -> Match | None:
        return self.compiled.search(text, pos)

    def match(self, text: str, pos: int = 0) -> Match | None:
        return self.compiled.match(text, pos)

    def fullmatch(self, text: str) -> Match | None:
        return self.compiled.fullmatch(text)

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[Match]:
        return self.compiled.finditer(text, pos, endpos)

    def findall(self, text: str) -> list[Any]:
        return self.compiled.findall(text)

    def split(self, text: str, maxsplit: int = 0) -> list[Any]:
        return self.compiled.split(text, maxsplit)

    def sub(self, by: str | Callable[[Match], str], text: str, count: int = 0) -> str:
        return self.compiled.sub(by, text, count)


class UnicodePattern(Pattern):
    """A pattern of `regex`, which supports Unicode classes."""

    def _compile(self) -> re.Pattern[str]:
        return cast("re.Pattern[str]", importlib.import_module("regex").compile(self.pattern, self.flags))


class LazyLibrary(ModuleType):
    """Stands for a library, whose parts it takes over one by one as they are used."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found
