"""The settings of the Bluesky account: the table [bluesky] of carina.toml."""

import re
from typing import Annotated, TypeAlias

from pydantic import Field, model_validator

from bot.config.values import Section, pattern
from sources.bluesky.identifiers import DID
from texts import _, gettext_noop

Did: TypeAlias = Annotated[
    str, pattern(DID, gettext_noop('a DID such as "did:plc:ewvi7nxzyoun6zhxrhs64oiz", not a handle'))
]
OptionalDid: TypeAlias = Annotated[str, pattern(f"({DID})?", gettext_noop("a DID, not a handle, or nothing"))]
Language: TypeAlias = Annotated[
    str, pattern(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", gettext_noop('a language such as "en" or "pt-BR"'))
]

StreamAddress: TypeAlias = Annotated[
    str,
    pattern(r"(wss?://[^\s/?#]+(/[^\s?#]*)?)?", gettext_noop('an address such as "wss://jetstream.example.org/xrpc"')),
]
ListAddress: TypeAlias = Annotated[
    str,
    pattern(
        rf"at://{DID}/app\.bsky\.graph\.list/[A-Za-z0-9._:~-]+",
        gettext_noop('a list such as "at://did:plc:…/app.bsky.graph.list/…"'),
    ),
]
Keyword: TypeAlias = Annotated[str, pattern(r"\S.{1,98}\S", gettext_noop("a word or phrase of 3 to 100 characters"))]


class BlueskySection(Section):
    """Whom and what Carina hears on Bluesky, and how it answers; people by DID."""

    owner: OptionalDid = ""
    friends: frozenset[Did] = frozenset()
    dids: frozenset[Did] = frozenset()
    exclude_dids: frozenset[Did] = frozenset()
    allow_any_mentions: bool = False
    mentions: frozenset[Did] = frozenset()
    keywords: tuple[str, ...] = ()
    exclude_keywords: tuple[str, ...] = ()
    languages: frozenset[Language] = frozenset()
    require_agent_participation: bool = True
    direct_messages: bool = True
    jetstream: StreamAddress = ""
    follow_dids: frozenset[Did] = frozenset()
    follow_lists: tuple[ListAddress, ...] = ()
    follow_keywords: tuple[Keyword, ...] = ()
    batch_seconds: float = Field(default=20, ge=0, le=300)
    max_posts: int = Field(default=4, ge=1, le=20)
    numbered: bool = False
    post_languages: tuple[Language, ...] = ("en",)
    person_per_hour: int = Field(default=20, ge=0)
    thread_per_hour: int = Field(default=10, ge=0)
    bot_answers_per_day: int = Field(default=0, ge=0)
    read_back_days: float = Field(default=7, gt=0, le=90)

    @model_validator(mode="after")
    def _subscribed(self) -> "BlueskySection":
        followed = bool(self.follow_dids or self.follow_lists or self.follow_keywords)
        if followed and not self.jetstream:
            raise ValueError(
                _("jetstream, the address of a server, together with follow_dids, follow_lists and follow_keywords")
            )
        if self.jetstream and not followed:
            raise ValueError(_("follow_dids, follow_lists or follow_keywords together with jetstream"))
        return self


def check_handle(text: str) -> str:
    bare = text.strip().removeprefix("@")
    if re.fullmatch(rf"(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+|{DID}", bare):
        return bare
    raise ValueError(_('a handle such as "me.bsky.social", or a DID'))
