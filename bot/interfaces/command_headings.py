"""The headings under which the commands are listed, by `carina --help` and in the dashboard."""

from texts import gettext_noop

HEADINGS = {
    gettext_noop("Everyday use"): ("chat", "remind", "tasks", "events", "search", "why", "summary", "status"),
    gettext_noop("What agents know"): (
        *("memory", "facts", "archival", "graph", "context", "folder", "project", "dream"),
    ),
    gettext_noop("You"): ("privacy", "language", "quiet", "state", "link", "retry"),
    gettext_noop("Agents"): ("agent", "group", "model", "coord", "source", "activity", "cost", "budget"),
    gettext_noop("Who may do what"): ("people", "pair", "mode", "permits", "approve", "deny", "token"),
    gettext_noop("Running Carina"): (
        *("init", "run", "demo", "dashboard", "doctor", "settings", "config", "constellation", "jobs", "inbox"),
        *("outbox", "halt", "restart", "service", "bluesky", "invite-url", "mcp", "uninstall"),
    ),
    gettext_noop("Files"): ("backup", "export", "import", "car", "db"),
}
