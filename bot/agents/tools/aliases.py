"""Names of memory tools in other systems, which models know: never shown, but always understood.

The call is translated before it is stored, so that permissions, grants and the record know one name for each tool.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from bot.models.base import Call, json_object


class Alias(Struct, frozen=True):
    """A call of `tool` with these arguments; `names` maps the foreign names of arguments to ours.

    `whole` replaces `arguments` if the call does not say what to replace.
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
    """The call of one of the agent's tools; unchanged if the tool is one of them, or its name is no known alias."""
    alias = ALIASES.get(call.name)
    if alias is None or call.name in tools:
        return call
    given = json_object(call.arguments)
    if given is None:
        return Call(call.id, alias.tool, call.arguments)  # refused there, with an error about the arguments
    # Elsewhere, null means that an argument is omitted.
    named = {alias.names.get(name, name): value for name, value in given.items() if value is not None}
    return Call(call.id, alias.tool, json.dumps({**named, **alias.meant(named)}, ensure_ascii=False))
