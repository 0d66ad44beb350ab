"""Builds the Bluesky front end from configuration and services."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from msgspec import Struct

from bot import logs
from bot.agents.owner_notices import owner_notices
from bot.agents.permissions.roles_and_rights import Approver
from bot.config import Config
from bot.errors import UserError
from bot.services.served_constellations import ServedConstellations, Services
from memory import activity
from memory.people.admission_and_pairing import Rule
from memory.people.audience import PUBLIC, Trust
from memory.people.privacy_choices import PrivacyChoice
from memory.permission_requests import Verdict
from memory.queue import messages, outbox, skipped_messages, turns
from memory.store.clock import Clock
from memory.store.data_folder import DataFolder
from memory.store.database import Rows, Tx
from memory.store.faults import Point, commit_point
from memory.store.ids import PersonId, PlaceId
from sources.base import Front, SourceRefused
from sources.bluesky import account_label
from sources.bluesky.answer_rules import SKIPPED
from sources.bluesky.failures import CallFailed
from sources.bluesky.identifiers import NAME
from sources.bluesky.session import BlueskySession
from sources.bluesky.settings import Act, BlueskySettings, Filters, RememberedPost, Wiring
from sources.bluesky.source import BlueskySource
from texts import _, gettext_noop, reason_of

T = TypeVar("T")

_PASS_OVER = commit_point("bluesky.pass_over")
_ACTS = commit_point("bluesky.acts")
_WITHDRAW = commit_point("bluesky.withdraw")
_SUSPECT = commit_point("bluesky.suspect")

_ASLEEP = gettext_noop("direct messages: `carina run` reads them if the server supports them")
_DAY = timedelta(days=1)
_MOST_COUNTED = 1_000


def connect(served: ServedConstellations) -> Front:
    """The Bluesky front end; it connects when its source runs."""
    config, accounts = served.shared.config, served.shared.accounts
    here = _Here(config, served)
    source = BlueskySource(settings_of(config), _wiring(here))

    def more() -> tuple[str, ...]:
        return source.direct.words, source.subscription.words

    account = Account(config, source.session, lambda: _words(source), more, here.counts)
    return Front(
        source,
        source.endpoint,
        source.pause,
        None,
        readiness=lambda: source.readiness,
        words={NAME: lambda: "; ".join(filter(None, (_words(source), accounts.state(NAME))))},
        handlers=account.handlers(),
    )


class _Here(Struct, frozen=True):
    """The constellation to which Bluesky currently belongs, as its source uses it."""

    config: Config
    served: ServedConstellations

    @property
    def clock(self) -> Clock:
        return self.served.shared.clock

    def open(self) -> AbstractAsyncContextManager[Services]:
        return self.served.at((NAME,))

    async def read(self, work: Callable[[Rows], T]) -> T:
        async with self.open() as services:
            return await services.database.read(work)

    async def write(self, point: Point, work: Callable[[Tx], T]) -> T:
        async with self.open() as services:
            return await services.database.write(point, work)

    async def resume(self) -> None:
        async with self.open() as services:
            services.runtime.resume()

    async def counts(self) -> Mapping[str, int]:
        since = self.clock() - _DAY
        return await self.read(lambda rows: skipped_messages.counts(rows, NAME, since))

    async def seen(self, ids: Sequence[str]) -> set[str]:
        """The posts that were already skipped or accepted."""
        return await self.read(lambda rows: skipped_messages.seen(rows, NAME, ids))

    async def pass_over(self, found: Mapping[str, str]) -> None:
        await self.write(_PASS_OVER, lambda tx: skipped_messages.note(tx, NAME, found, self.clock()))

    async def held(self, limit: int) -> Sequence[RememberedPost]:
        found = await self.read(lambda rows: messages.held_of(rows, NAME, limit))
        return [RememberedPost(*each) for each in found]

    async def withdraw(self, message: str) -> None:
        """Delete the answers to a deleted post."""

        def work(tx: Tx) -> bool:
            said = outbox.answers_to(tx, NAME, message)
            for row in said:
                outbox.add_edit(tx, row, "withdrawn", "", self.clock())
            return bool(said)

        if await self.write(_WITHDRAW, work):
            await self.resume()

    async def suspect(self, root: str, name: str) -> None:
        """Tell the owner that somebody writes like a machine, once per thread."""
        text = _(
            "{name} answers like a bot in the thread {root}: quickly, many times in a row. I won't answer them "
            "there anymore. If I'm wrong, add them to `friends` in [bluesky]; if I'm right, to `exclude_dids`.",
            name=name,
            root=root,
        )
        notices = owner_notices(self.config)
        await self.write(_SUSPECT, lambda tx: notices.tell_owner(tx, f"machine/{root}", text, self.clock()))
        await self.resume()

    async def answered(self, person: PersonId) -> int:
        """The number of a person's turns in the last day, up to a maximum."""
        since = self.clock() - _DAY
        return await self.read(lambda rows: turns.count_of(rows, person, since, _MOST_COUNTED))

    async def opt(self, person: PersonId, out: bool) -> None:
        """Opt a person out, or in again; another choice of theirs stays."""
        choices = self.served.shared.choices
        if out or choices.opted_out(person):
            await choices.choose(person, PrivacyChoice.OPTED_OUT if out else None)

    async def decide(self, person: PersonId, handle: str, code: str, verdict: Verdict) -> str:
        """Answer a request for approval by its code; returns why it did not count, or an empty text."""
        who = Approver(person, handle, interface=NAME, account=f"@{handle}" if handle else "")
        async with self.open() as services:
            ruling = await services.approvals.answer_by_code(code, who, verdict)
        return "" if ruling.counted else ruling.words

    async def heard(self, uri: str) -> tuple[str, PlaceId] | None:
        """The message of a post, and its place."""
        found = await self.read(lambda rows: messages.by_external_prefix(rows, NAME, f"{uri}#"))
        return None if found is None or found.external_id is None else (found.external_id, found.place)

    async def conversation_posts(self, ids: Sequence[str]) -> set[str]:
        """The posts that belong to a conversation: received ones that were not deleted, and our own."""

        def stands(rows: Rows, post: str) -> bool:
            heard = messages.by_external(rows, NAME, post)
            return heard.deleted_at is None if heard is not None else outbox.said_by_us(rows, NAME, post) is not None

        return await self.read(lambda rows: {each for each in ids if stands(rows, each)})

    async def noted(self, acts: Sequence[Act]) -> None:
        """Record likes, reposts and follows as activity."""

        def work(tx: Tx) -> None:
            for each in acts:
                event = activity.NewEvent(
                    activity.Details(), each.words, PUBLIC, Trust.STRANGER, person=each.person, importance="low"
                )
                activity.note(tx, event, each.at)

        await self.write(_ACTS, work)


def _wiring(here: _Here) -> Wiring:
    rules, accounts = here.served.access.rules, here.served.shared.accounts
    return Wiring(
        seen=here.seen, pass_over=here.pass_over, held=here.held, withdraw=here.withdraw, suspect=here.suspect,
        mark=here.served.shared.constellations.position, set_mark=here.served.shared.constellations.note_position,
        settled=here.served.settle, opt=here.opt, answered=here.answered,
        ignored=here.served.shared.choices.ignored, denied=lambda person: rules.get(person) is Rule.DENY,
        allowed=lambda person: rules.get(person) is Rule.ALLOW, decide=here.decide, noted=here.noted,
        heard=here.heard, conversation_posts=here.conversation_posts,
        paused=lambda: accounts.is_paused(NAME),
        on_ready=lambda name: logs.ready(NAME, name=name), clock=here.clock,
    )  # fmt: skip


class Account(Struct, frozen=True):
    """The owner's commands for the account."""

    config: Config
    session: BlueskySession
    words: Callable[[], str]
    more: Callable[[], tuple[str, ...]]
    """The state of direct messages and the subscription."""
    counts: Callable[[], Awaitable[Mapping[str, int]]]

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """The handlers by their names on the control socket, which only the owner can reach."""
        return {"bluesky.setup": self.setup, "bluesky.status": self.status}

    async def setup(self, line: str = "") -> dict[str, Any]:
        """Label the account as a bot. Raises UserError."""
        with _explained():
            words = line or await account_label.owner_line(self.session, self.config.bluesky.owner)
            changed = await account_label.set_up(self.session, words)
        done = [f"{self.session.handle}: {_(each)}" for each in changed]
        return {
            "changed": changed,
            "lines": done or [_("{handle} is already set up. There is nothing to change.", handle=self.session.handle)],
        }

    async def status(self) -> dict[str, Any]:
        """The state of the account. Raises UserError."""
        with _explained():
            labelled = await account_label.is_labelled(self.session)
        found = {"handle": self.session.handle, "did": self.session.did, "service": self.config.bluesky_service}
        skipped = dict(await self.counts())
        lines = [
            _("{handle} ({did}) on {service}: {words}", **found, words=self.words()),
            _("labeled as a bot") if labelled else _("not labeled as a bot; `carina bluesky setup` fixes that"),
            *(
                _("skipped in the past day: {count} ({why})", why=_(SKIPPED.get(why, why)), count=count)
                for why, count in skipped.items()
            ),
            *self.more(),
        ]
        return {**found, "labelled": labelled, "skipped": skipped, "lines": lines}


async def run_without_service(config: Config, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call a handler without a running service. Raises UserError."""

    async def none() -> Mapping[str, int]:
        return {}

    folder = DataFolder(config.home)
    folder.prepare()
    with folder.lock():  # a service that starts meanwhile would use the same session
        session = BlueskySession(settings_of(config))
        try:
            account = Account(
                config, session, lambda: _("not connected: Carina is not running"), lambda: (_(_ASLEEP),), none
            )
            found: dict[str, Any] = await account.handlers()[operation](**arguments)
            return found
        finally:
            await session.close()


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (CallFailed, SourceRefused) as why:
        raise UserError(reason_of(why)) from why


def settings_of(config: Config) -> BlueskySettings:
    """The settings of the source, from the configuration. Raises ValueError without an account."""
    if config.bluesky_password is None:
        raise ValueError("BLUESKY_APP_PASSWORD is not set")
    return BlueskySettings(
        handle=config.bluesky_handle,
        password=config.bluesky_password,
        session_file=DataFolder(config.home).bluesky_session,
        service=config.bluesky_service,
        poll_seconds=config.bluesky_poll_seconds,
        filters=Filters(**config.bluesky.as_fields_of(Filters)),
        **config.bluesky.as_fields_of(BlueskySettings),
    )


def _words(source: BlueskySource) -> str:
    if source.trouble:
        return _("not connected: {reason}", reason=_(source.trouble))
    return _("connected as {handle}", handle=source.session.handle) if source.connected else _("not connected")
