"""The table [bluesky]."""

import re
from typing import Annotated, TypeAlias

from pydantic import Field

from bot.config.section import Section, pattern

_DID = r"did:[a-z]+:[A-Za-z0-9._:%-]{1,200}"

Did: TypeAlias = Annotated[str, pattern(_DID, 'a DID such as "did:plc:ewvi7nxzyoun6zhxrhs64oiz", not a handle')]
OptionalDid: TypeAlias = Annotated[str, pattern(f"({_DID})?", "a DID, not a handle, or nothing")]
Language: TypeAlias = Annotated[
    str, pattern(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", 'a language such as "en" or "pt-BR"')
]


class BlueskySettings(Section):
    """Who and what is heard on Bluesky, and how it is answered; people by DID."""

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
    direct_dids: frozenset[Did] = frozenset()
    batch_seconds: float = Field(default=20, ge=0, le=300)
    max_posts: int = Field(default=4, ge=1, le=20)
    numbered: bool = False
    post_languages: tuple[Language, ...] = ("en",)
    person_per_hour: int = Field(default=20, ge=0)
    thread_per_hour: int = Field(default=10, ge=0)
    bot_answers_per_day: int = Field(default=0, ge=0)
    read_back_days: float = Field(default=7, gt=0, le=90)


def check_handle(text: str) -> str:
    bare = text.strip().removeprefix("@")
    if re.fullmatch(rf"(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+|{_DID}", bare):
        return bare
    raise ValueError('a handle such as "me.bsky.social", or a DID')
