"""Libraries that are loaded when something of them is first used, which in a service may be days after its start."""

import importlib
from types import ModuleType
from typing import Any


class LateLibrary(ModuleType):
    """Stands for a library, whose parts it takes over one by one as they are used."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found
