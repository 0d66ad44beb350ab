"""The names of the tools that agents have unless their configuration lists others, and of those that it may add."""

TOOLS = (
    "bluesky",
    "bluesky_read",
    "calculate",
    "context",
    "coord",
    "emergency_halt",
    "events",
    "facts",
    "projects",
    "recall",
    "reminders",
    "search",
    "send_message",
    "tasks",
    "web_fetch",
    "web_search",
    "working_memory",
)
"""An agent has all of them unless its table names some. Bluesky's and the web's exist only if these are
configured."""
CHOSEN_TOOLS = ("sources", "source_subscribe")
"""Tools that an agent has only if its table names them."""
FOLDER_TOOLS = frozenset(("file", "file_write"))  # an agent has them by its folders
