"""Names of memory tools that models know from elsewhere: never shown, but always understood.

The call is translated before it is stored, so that permissions, grants and the record know one name for each thing.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from bot.models.base import Call


class Alias(Struct, frozen=True):
    """A call of `tool` with these arguments; `names` says what the other's arguments are called here.

    `whole` takes the place of `arguments` where the call says nothing of what is to be replaced.
    """

    tool: str
    arguments: Mapping[str, Any]
    names: Mapping[str, str]
    whole: Mapping[str, Any] | None = None

    def meant(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.arguments if self.whole is None or given.keys() & _OF_A_PART else self.whole


_OF_A_PART = {"old_content", "new_content"}
_CONTENT = {"name": "label", "block": "label"}
ALIASES: Mapping[str, Alias] = {
    "core_memory_append": Alias("context", {"operation": "append"}, _CONTENT),
    "core_memory_update": Alias("context", {"operation": "replace"}, _CONTENT, whole={"operation": "write"}),
    "core_memory_replace": Alias("context", {"operation": "replace"}, _CONTENT),
    "archival_insert": Alias("recall", {"operation": "insert"}, {}),
    "archival_search": Alias("recall", {"operation": "query"}, {"content": "query"}),
    "save_memory": Alias("recall", {"operation": "save"}, {}),
    "search_memory": Alias("recall", {"operation": "query"}, {}),
    "delete_memory": Alias("recall", {"operation": "delete"}, {"id": "label"}),
    "list_memory_categories": Alias("recall", {"operation": "categories"}, {}),
}


def unaliased(call: Call, tools: Collection[str]) -> Call:
    """The call as one of the agent's tools; as it is when its name is one of theirs, or no known other name."""
    alias = ALIASES.get(call.name)
    if alias is None or call.name in tools:
        return call
    try:
        given = json.loads(call.arguments or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return Call(call.id, alias.tool, call.arguments)  # refused there, in words about the arguments
    # Elsewhere null stands for what is not given.
    named = {alias.names.get(name, name): value for name, value in given.items() if value is not None}
    return Call(call.id, alias.tool, json.dumps({**named, **alias.meant(named)}, ensure_ascii=False))
