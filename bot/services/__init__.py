"""Operations for people: one module per noun, one method per operation.

docs/services.md describes the path of a call.
"""

import importlib
import pkgutil
from functools import cache

from bot.services.registry import operations_of


@cache
def services() -> tuple[type, ...]:
    """The classes of this package that declare operations, which every interface offers."""
    found = sorted(pkgutil.walk_packages(__path__, f"{__name__}."), key=lambda each: each.name.rpartition(".")[2])
    modules = [importlib.import_module(each.name) for each in found]
    own = (each for module in modules for each in vars(module).values() if _is_of(each, module.__name__))
    return tuple(each for each in own if operations_of([each]))


def titles() -> dict[str, str]:
    return {name: title for service in services() for name, title in vars(service).get("titles", {}).items()}


def _is_of(value: object, module: str) -> bool:
    return isinstance(value, type) and value.__module__ == module
