"""Many rows fetched as one.

Python's lock changes hands for each row that SQLite fetches, and between two cores that costs more than reading JSON:
a prompt reads a hundred rows, and twenty places are answered at once.
"""

import json
from typing import Any

from memory.database import Parameters, Rows


def many(rows: Rows, columns: str, source: str, parameters: Parameters = ()) -> list[list[Any]]:
    """The columns, numbers and texts, of all rows that the statement `source` gives, in no certain order."""
    found = rows.one(f"SELECT json_group_array(json_array({columns})) AS found FROM ({source})", parameters)
    return [] if found is None else json.loads(found["found"])
