"""What the owner configures about Bluesky, as plain values; composition fills it from file and environment."""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr


@dataclass(frozen=True)
class Filters:
    """What of the posts that address the account is heard; `sources.bluesky.filters` has the order.

    `dids` is an allow list: an empty one limits nothing. Lists of people are of DIDs, which nobody can take over, never
    of handles. Keywords are looked for in any case, as parts of the text.
    """

    exclude_dids: frozenset[str] = frozenset()
    exclude_keywords: tuple[str, ...] = ()
    friends: frozenset[str] = frozenset()
    dids: frozenset[str] = frozenset()
    allow_any_mentions: bool = False
    mentions: frozenset[str] = frozenset()
    keywords: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()
    require_agent_participation: bool = True


@dataclass(frozen=True)
class BlueskySettings:
    """Everything the Bluesky source and its endpoint are told. `session_file` is where the session is kept (0600)."""

    handle: str
    password: SecretStr
    session_file: Path
    service: str = "https://bsky.social"
    poll_seconds: float = 2
    owner: str = ""
    """The owner's own DID."""
    filters: Filters = field(default_factory=Filters)
    direct: bool = True
    """Whether direct messages are read and written, where the server has them."""
    direct_dids: frozenset[str] = frozenset()
    """Whose direct messages are answered beside the owner's."""
    jetstream: str = ""
    """Address of a Jetstream server, as wss://…/xrpc; empty for no subscription."""
    follow_dids: frozenset[str] = frozenset()
    follow_lists: tuple[str, ...] = ()
    follow_keywords: tuple[str, ...] = ()
    most_posts: int = 4
    numbered: bool = False
    languages: tuple[str, ...] = ("en",)
    """Of posts that answer nobody; an answer has the languages of what it answers."""
    batch_seconds: float = 20
    bot_answers_per_day: int = 0
    read_back_days: float = 7
    points_per_hour: int = 5_000
    points_per_day: int = 35_000
