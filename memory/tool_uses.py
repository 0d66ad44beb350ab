"""When an agent called its tools last, as far as a turn may know it."""

import json
from collections.abc import Collection
from datetime import datetime

from memory.audience import Scope
from memory.clock import from_text, to_text
from memory.database import Rows
from memory.ids import AgentId


def last_used(rows: Rows, agent: AgentId, tools: Collection[str], since: datetime, scope: Scope) -> dict[str, datetime]:
    """The newest call of each of the tools since then, in finished turns whose words the scope may use.

    A call in somebody's direct messages is not counted elsewhere: that it is refused would tell of it.
    """
    condition, parameters = scope.sql("audience")
    found = rows.all(
        f"""SELECT tool_name, max(created_at) AS at FROM messages WHERE created_at >= ? AND agent_id = ?
            AND role = 'tool' AND tool_name IN (SELECT value FROM json_each(?)) AND {condition} GROUP BY tool_name""",
        (to_text(since), agent, json.dumps(sorted(tools)), *parameters),
    )
    return {row["tool_name"]: from_text(row["at"]) for row in found}
