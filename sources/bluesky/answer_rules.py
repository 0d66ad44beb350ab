"""Which posts are heard, which of them are answered, and which opt their author out. Pure, in a fixed order."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from memory.store.ids import PersonId
from sources.bluesky.identifiers import author_of, person_id
from sources.bluesky.server_responses import Account, Post
from sources.bluesky.settings import Filters
from sources.bluesky.threads import Thread
from texts import gettext_noop


class SkipReason(StrEnum):
    """Why a post is skipped; only this is stored of it."""

    BEFORE = "before"
    OWN = "own"
    OPTED_OUT = "opted_out"
    OPTING = "opting"
    EXCLUDED_PERSON = "excluded_person"
    EXCLUDED_WORD = "excluded_word"
    NOT_LISTED = "not_listed"
    NO_MENTION = "no_mention"
    NO_KEYWORD = "no_keyword"
    LANGUAGE = "language"
    BOT = "bot"
    MACHINE = "machine"
    BLOCKED = "blocked"
    CLOSED = "closed"
    VACATED = "vacated"
    NOT_INVOLVED = "not_involved"
    GONE = "gone"
    PAUSED = "paused"
    TOO_OLD = "too_old"
    NOT_LET_IN = "not_let_in"
    DECIDED = "decided"
    UNFIT = "unfit"


SKIPPED: Mapping[str, str] = {
    SkipReason.BEFORE: gettext_noop("they are older than the first start with this account"),
    SkipReason.OWN: gettext_noop("the account itself wrote them"),
    SkipReason.OPTED_OUT: gettext_noop("their author opted out"),
    SkipReason.OPTING: gettext_noop("they opt their author out or back in"),
    SkipReason.EXCLUDED_PERSON: gettext_noop("their author is in `exclude_dids` or blocked by `carina people deny`"),
    SkipReason.EXCLUDED_WORD: gettext_noop("they contain one of `exclude_keywords`"),
    SkipReason.NOT_LISTED: gettext_noop("their author is not in `dids`"),
    SkipReason.NO_MENTION: gettext_noop("they mention none of `mentions`"),
    SkipReason.NO_KEYWORD: gettext_noop("they contain none of `keywords`"),
    SkipReason.LANGUAGE: gettext_noop("they are in none of `languages`"),
    SkipReason.BOT: gettext_noop("their author is a bot that has had its answers for the day (`bot_answers_per_day`)"),
    SkipReason.MACHINE: gettext_noop("their author behaves like a bot, without the label"),
    SkipReason.BLOCKED: gettext_noop(
        "their author blocks the account, is blocked or muted by it, or wants only readers who are logged in"
    ),
    SkipReason.CLOSED: gettext_noop("the author of the thread lets only others reply"),
    SkipReason.VACATED: gettext_noop("an excluded person or word is in the thread"),
    SkipReason.NOT_INVOLVED: gettext_noop("nobody in the thread addresses the account"),
    SkipReason.GONE: gettext_noop("they were deleted, or the account cannot see them"),
    SkipReason.PAUSED: gettext_noop("Bluesky was paused"),
    SkipReason.TOO_OLD: gettext_noop("they are older than `read_back_days`"),
    SkipReason.NOT_LET_IN: gettext_noop("direct messages from people not allowed with `carina people allow`"),
    SkipReason.DECIDED: gettext_noop("direct messages that answer a request for approval"),
    SkipReason.UNFIT: gettext_noop("they could not be stored, or their thread could not be read for hours"),
}
"""The reasons for people, by what is stored."""


class OwnAccount(Struct, frozen=True):
    """Our account, and whom it does not hear."""

    did: str
    ignored: Callable[[PersonId], bool]
    denied: Callable[[PersonId], bool]
    """Who was shut out by command."""
    filters: Filters = field(default_factory=Filters)

    def shut_out(self, who: Account) -> SkipReason | None:
        """Why nothing of a person is heard, shown or touched, by their choice or by ours; None if they may be."""
        person = person_id(who.did)
        if self.ignored(person):
            return SkipReason.OPTED_OUT
        if who.did in self.filters.exclude_dids or self.denied(person):
            return SkipReason.EXCLUDED_PERSON
        return SkipReason.BLOCKED if who.blocked or who.muted else None


def skip_reason(post: Post, us: OwnAccount) -> SkipReason | None:
    """Why a post in our notifications is not heard; None if it is."""
    author, filters = post.author, us.filters
    if author.did == us.did:
        return SkipReason.OWN
    if (why := us.shut_out(author)) is not None:
        return why
    if excluded_word(post, filters):
        return SkipReason.EXCLUDED_WORD
    if author.did in filters.friends:
        return None
    mentions_us = us.did in post.mentions
    if filters.dids and author.did not in filters.dids and not (filters.allow_any_mentions and mentions_us):
        return SkipReason.NOT_LISTED
    if filters.mentions and filters.mentions.isdisjoint(post.mentions):
        return SkipReason.NO_MENTION
    if filters.keywords and not contains(post.words, filters.keywords):
        return SkipReason.NO_KEYWORD
    if filters.languages and post.languages and not _speaks(post.languages, filters.languages):
        return SkipReason.LANGUAGE
    return None


def vacates(thread: Thread, us: OwnAccount) -> bool:
    """Whether a whole thread is not heard: for an excluded person anywhere, or a word in the posts above ours."""
    if not us.filters.exclude_dids.isdisjoint({*thread.others, *(post.author.did for post in thread.posts)}):
        return True
    return any(excluded_word(post, us.filters) for post in (*thread.parents, thread.post) if post.author.did != us.did)


def involved(post: Post, thread: Thread, us: OwnAccount) -> bool:
    """Whether the thread concerns us, so that a post in it is heard at all."""
    if not us.filters.require_agent_participation or answers(post, us):
        return True
    if post.author.did in us.filters.friends or author_of(post.root.uri) == us.did:
        return True
    if any(us.did in each.mentions for each in thread.below):
        return True
    return any(each.author.did in us.filters.friends for each in thread.parents)


def answers(post: Post, us: OwnAccount) -> bool:
    """Whether it addresses us, so that it may be answered: it mentions us, replies to us, or quotes us."""
    if us.did in post.mentions:
        return True
    return (post.parent is not None and author_of(post.parent.uri) == us.did) or author_of(post.quotes) == us.did


def excluded_word(post: Post, filters: Filters) -> bool:
    return contains(post.words, filters.exclude_keywords)


_WANTS_OUT = (
    "stop|stop it|stop this|opt out|optout|opt me out|privacy optout|privacy opt out|privacy pause|unsubscribe|"
    "leave me alone|go away|stop replying|stop replying to me|stop talking to me|stop answering|stop answering me|"
    "do not reply to me|don t reply to me|dont reply to me|stop tagging me|stop mentioning me|"
    "stopp|hör auf|aufhören|abmelden|lass mich in ruhe|やめて|やめてください|停止"
)
_OUT = frozenset(_WANTS_OUT.split("|"))
_IN = frozenset({"opt in", "optin", "opt me in", "privacy resume"})
_POLITE = frozenset({"please", "pls", "bitte", "now", "thanks"})


def opting(text: str) -> bool | None:
    """True if a text is only an opt-out, False if it is only an opt-in, else None."""
    raw = re.sub(r"(?<!\S)@[\w.-]+", " ", text)
    said = re.sub(r"[^\w\s]", " ", re.sub(r"\bopt-(?=in|out)", "opt ", raw.casefold()))
    words = " ".join(word for word in said.split() if word not in _POLITE)
    return True if words in _OUT else False if words in _IN else None


def contains(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of these words occurs in a text, in any case."""
    folded = text.casefold()
    return any(word.casefold() in folded for word in words)


def _speaks(languages: tuple[str, ...], wanted: frozenset[str]) -> bool:
    """Whether one of a post's languages is wanted; "pt" includes "pt-BR"."""
    return any(each in wanted or each.partition("-")[0] in wanted for each in languages)


ROUNDS = 8
"""Consecutive answers of a person, each within seconds, from which on they count as a machine's."""
_QUICK = 20.0
"""Seconds within which a machine answers."""


def machine(post: Post, parents: Sequence[Post], us: str) -> bool:
    """Whether the author of a post that answers us behaves like a machine; `parents` lead to it, oldest first.

    Two bots that answer each other alternate without a gap, within seconds. People pause.
    """
    waits = _waits([*parents, post], post.author.did, us)
    return len(waits) >= ROUNDS and max(waits[-ROUNDS:]) <= _QUICK


def _waits(thread: Sequence[Post], them: str, us: str) -> list[float]:
    """How many seconds each of their answers took at the end of a thread, as long as only the two of us alternate."""
    found: list[float] = []
    for earlier, later in zip(reversed(thread[:-1]), reversed(thread[1:]), strict=True):
        if {earlier.author.did, later.author.did} != {them, us}:
            break
        if later.author.did == them:
            found.append(max((later.at - earlier.at).total_seconds(), 0.0))
    return list(reversed(found))
