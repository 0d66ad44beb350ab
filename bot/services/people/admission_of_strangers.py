"""Decides who may talk to the agents: strangers by pairing code; people, roles and guilds by rules.

A stranger who writes directly gets a code, once; the message is neither read nor stored, and no model is called. The
owner gets a card that says who asks and from where, and decides with a button; or the owner gets the code from the
stranger through another channel and enters it, which proves whose account it is. A decision lasts until it is
withdrawn, also across restarts.
"""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bot.agents.owner_notices import Notices
from bot.agents.permissions.approval_card_text import person_name
from bot.agents.permissions.approval_requests import Terms
from bot.agents.permissions.roles_and_rights import Action, Approver
from bot.config import Config
from bot.errors import UserError
from bot.services.caller import DISCORD_ONLY, TERMINAL_ONLY, Caller, Via
from bot.services.names import unnamed
from bot.services.registry import CHANGES, Arguments, Options, Param, Role, Suggestions, operation, suggestions
from bot.services.results import ActionReport, Listing, Markdown, Markup, Row, report
from bot.services.transactions import commit
from memory.people import admission_and_pairing
from memory.people.admission_and_pairing import PairingRequest, Rule
from memory.people.audience import OWNER, Audience, Scope, person_audience
from memory.people.identities import audience_called, person_called
from memory.queue import inbox, messages, outbox
from memory.store.clock import Clock, to_text
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused, StoreError
from memory.store.faults import commit_point
from memory.store.ids import PersonId, PlaceId, place_source
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from sources.base import UnknownPerson
from sources.bluesky.identifiers import DID
from texts import _, gettext_noop, language, ngettext

_PAIRING = commit_point("admission.pairing")

_SIGNS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The alphabet of codes: digits and capital letters that cannot be confused."""
_LENGTH = 8  # 30**8 codes; only admins and the owner can try one
_QUEUE = 100  # strangers with an open code; others get none
_REMEMBERED = 1_000
_SERVERS = 5  # on a card
PAIRING = "pairing"
_OFFERS = ("let", "block", "ignore")
_SUBJECT = re.compile(rf"discord:(?:(?:role|guild):)?[0-9]{{1,20}}|bluesky:{DID}")

_LET_IN = gettext_noop("You can talk to me now. Write whenever you like.")
_NOT_LET_IN = gettext_noop("The person who runs me doesn't want me to talk to you, so I won't answer here.")
_NOT_OPEN = gettext_noop(
    "This was already decided, or the request has expired. `carina people allow` allows somebody by name."
)
_SPEAKERS = 500  # most people listed because they wrote
_FORGETS = Options(changes=True, formerly=("pair.revoke",))
_LISTS = Options(formerly=("pair.list", "people.known"))
_BUTTON = Options(changes=True, via=DISCORD_ONLY, offered=False)
_log = Log("bot.services.people.admission_of_strangers")


def new_code() -> str:
    return "".join(secrets.choice(_SIGNS) for _ in range(_LENGTH))


def shown_code(code: str) -> str:
    return f"{code[: _LENGTH // 2]}-{code[_LENGTH // 2 :]}"


def read_code(typed: str) -> str:
    """A typed code in canonical form: case, spaces and dashes do not matter."""
    return re.sub(r"[\s-]", "", typed).upper()


def configured_rules(config: Config) -> dict[str, Rule]:
    """The configured rules, by the subjects that commands use; a denial takes precedence."""
    found: dict[str, Rule] = {}
    for rule, people in ((Rule.ALLOW, config.discord.allow), (Rule.DENY, config.discord.deny)):
        found |= {f"discord:{person}": rule for person in people.persons}
        found |= {f"discord:role:{role}": rule for role in people.roles}
        found |= {f"discord:guild:{guild}": rule for guild in people.guilds}
    return found


_Code = Annotated[str, Param("Pairing code, such as ABCD-2345", example="ABCD-2345")]
_Person = Annotated[PersonId, Param("Person, such as discord:1234")]
_Who = Annotated[str, Param("Person, role or server", example="discord:1234", suggests="decided")]
_WHO = "Such as discord:1234, @ana.bsky.social, bluesky:did:…, discord:role:1234 or discord:guild:1234"


class SubjectArguments(Arguments):
    who: Annotated[str, Param(_WHO, positional=True, via=TERMINAL_ONLY)] = ""
    person: Annotated[PersonId | None, Param("A person", via=DISCORD_ONLY)] = None
    role: Annotated[Role | None, Param("A role in its own server", via=DISCORD_ONLY)] = None
    server: Annotated[str, Param("A server", via=DISCORD_ONLY, suggests="servers")] = ""

    @property
    def named(self) -> str:
        """A subject as typed, in its stored form. Raises UserError."""
        if self.server and not self.server.strip().isdecimal():
            raise UserError(
                "Choose a server that I know, or give its ID: in Discord's developer mode, *Copy Server ID* copies it."
            )
        server = f"discord:guild:{self.server.strip()}" if self.server else ""
        named = [each for each in (self.who, self.person, self.role, server) if each]
        if len(named) != 1:
            raise UserError("Choose one: a person, a role or a server.")
        return named[0]


_State = Literal["waiting", "allowed", "blocked", "known"]
_STATES: Mapping[Rule, _State] = {Rule.ALLOW: "allowed", Rule.DENY: "blocked"}  # translated as on badges


class PersonRow(Row):
    """Somebody who wrote, waits to be let in, or is ruled on by name; a rule without a time is from the configuration.

    The code of somebody who waits is not shown, because it must come from them.
    """

    subject: str
    name: str = ""
    state: _State
    until: datetime | None = Field(None, validation_alias="expires_at")
    via: str = ""
    by: str = ""
    at: datetime | None = None
    messages: int = 0
    last: datetime | None = None

    def line(self, markup: Markup) -> str:
        who = markup.person(self.subject)
        who = f"{markup.text(self.name)} ({who})" if self.name else who
        return f"{who}: {'; '.join(filter(None, (self._decision(markup), self._messages(markup))))}"

    def _decision(self, markup: Markup) -> str:
        if self.state == "known":
            return ""
        if self.until is not None:
            said = gettext_noop("until {until}")
        elif self.at is not None:
            code = gettext_noop("with a code by {by}, {at}")
            said = code if self.via == "code" else gettext_noop("with a command by {by}, {at}")
        else:
            said = gettext_noop("in the configuration")
        return f"{_(self.state)} {self.told(markup, said, by=markup.person(self.by))}"

    def _messages(self, markup: Markup) -> str:
        if self.last is None:
            return ""
        last = markup.time(self.last)
        if not self.messages:
            return _("wrote only in private, last {last}", last=last)
        return ngettext("{count} message, last {last}", "{count} messages, last {last}", self.messages, last=last)


@dataclass
class Access:
    """Admits and blocks people in one constellation. `resume` delivers queued messages."""

    titles: ClassVar = {
        "pair": "Manage pairing requests from new people",
        "people": "Decide who may talk to your agents",
    }

    database: Database
    terms: Terms
    clock: Clock
    resume: Callable[[], None]
    configured: Mapping[str, Rule]
    """The configured rules by subject, shown next to later decisions."""
    notices: Notices
    looked_up: Callable[[str], Awaitable[str]]
    """Replaces a handle by its lasting ID. Raises UserError."""
    rules: dict[str, Rule] = field(default_factory=dict, init=False)
    """The decisions by subject, as in the store; the same object for the life of the service."""
    _unknown: asyncio.Queue[UnknownPerson] = field(default_factory=lambda: asyncio.Queue(_QUEUE), init=False)
    _told: RecentValues[PersonId, datetime] = field(default_factory=lambda: RecentValues(_REMEMBERED), init=False)

    async def load(self) -> None:
        """Read the stored decisions, also after an erasure."""
        found = await self.database.read(admission_and_pairing.rules)
        self.rules.clear()
        self.rules |= {each.subject: each.rule for each in found}

    # ------------------------------------------------------------------ strangers

    def unknown_wrote(self, unknown: UnknownPerson) -> None:
        """Send an unknown person who wrote a code, unless they have one already."""
        if self._told.get(unknown.speaker.id, self.clock()) > self.clock() or self._unknown.full():
            return
        self._unknown.put_nowait(unknown)

    async def run(self) -> None:
        """Send strangers their codes until canceled."""
        while True:
            unknown = await self._unknown.get()
            try:
                await self._tell_code(unknown)
            except StoreError as error:
                _log.error("pairing_answer_not_sent", person=unknown.speaker.id, reason=str(error))

    async def _tell_code(self, unknown: UnknownPerson) -> None:
        now, stranger = self.clock(), unknown.speaker

        def work(tx: Tx) -> PairingRequest | None:
            found = admission_and_pairing.request_pairing(tx, stranger.id, stranger.name, new_code(), now)
            if found is not None:
                _say(tx, f"pair/{found.person}/{to_text(now)}", unknown.place, found.person, _asked_in(found), now)
                self._show_owner(tx, unknown, now)
            return found

        request = await self.database.write(_PAIRING, work)
        self._told.put(stranger.id, now + admission_and_pairing.CODE_LIFE)
        if request is not None:
            _log.info("pairing_requested", person=stranger.id, until=to_text(request.expires_at))
            self.resume()

    def _show_owner(self, tx: Tx, unknown: UnknownPerson, now: datetime) -> None:
        """Show the owner a card for each stranger, once a day."""
        stranger, place = unknown.speaker, self.notices.place
        key = f"{PAIRING}/{stranger.id}/{now:%Y-%m-%d}"
        press = outbox.PressButtons(PAIRING, stranger.id, _OFFERS, language())
        text, detail = _card(unknown, place_source(place)), outbox.TextDetail(press=press)
        outbox.add(tx, outbox.NewRow(key, place, text, OWNER, person=stranger.id, detail=detail), now)

    def _close_card(self, tx: Tx, person: str, words: str, now: datetime) -> None:
        """Put the last decision on the card, as one line; an unsent card is withdrawn."""
        for row in outbox.of_prefix(tx, f"{PAIRING}/{person}/"):
            if isinstance(row.detail, outbox.EditDetail) or outbox.withdraw(tx, row.id) or not row.content:
                continue
            text = words.format(person=person_name(PersonId(person), row.source))
            outbox.add_edit(tx, row, to_text(now), text, now)

    # ------------------------------------------------------------------ admins and owner

    @operation("pair.approve", "Approve a pairing request by its code", Action.PEOPLE, CHANGES)
    async def approve(self, caller: Caller, code: _Code) -> ActionReport:
        now, wanted = self.clock(), read_code(code)

        def work(tx: Tx) -> PairingRequest | None:
            found = admission_and_pairing.redeem(tx, wanted, caller.person, now)
            if found is not None:
                key = f"paired/{found.person}/{to_text(now)}"
                _say(tx, key, self.terms.private(found.person), found.person, _(_LET_IN), now)
                self._close_card(tx, found.person, _("✅ {person} may talk to me."), now)
            return found

        found = await commit(self.database, work)
        if found is None:
            raise UserError(
                "There is no open request with this code. It was used, has expired, or was mistyped. "
                "`carina people list` shows who is waiting. Anyone whose code has expired can write to me again "
                "to get a new one."
            )
        self._hold(found.person, Rule.ALLOW, caller.approver)
        self.resume()
        text = _("{name} ({person}) is now allowed and has been notified.")
        return report(text, person=found.person, name=found.name)

    @operation("pair.let-in", "Allow somebody who asked", Action.PEOPLE, _BUTTON)
    async def let_in(self, caller: Caller, person: _Person) -> ActionReport:
        await self._decide(caller, person, Rule.ALLOW, _("✅ {person} may talk to me."), _LET_IN)
        return report(_("{person} is now allowed and has been notified."), person=person)

    @operation("pair.block", "Block somebody who asked", Action.PEOPLE, _BUTTON)
    async def block(self, caller: Caller, person: _Person) -> ActionReport:
        await self._decide(caller, person, Rule.DENY, _("⛔ {person} is blocked."), _NOT_LET_IN)
        return report(
            _("{person} is blocked and has been notified. `carina people forget` undoes this."), person=person
        )

    @operation("pair.ignore", "Ignore somebody who asked", Action.PEOPLE, _BUTTON)
    async def ignore(self, caller: Caller, person: _Person) -> ActionReport:
        await self._decide(caller, person, None, _("The request from {person} is ignored."), "")
        text = _("I won't answer {person}. They can ask again tomorrow.")
        return report(text, person=person)

    async def _decide(
        self, caller: Caller, subject: str, rule: Rule | None, shown: str, told: str | None = None
    ) -> None:
        """Store a decision, and show it on the card. With `told`, it answers an open request. Raises Refused."""
        now, person = self.clock(), PersonId(subject)

        def work(tx: Tx) -> None:
            if told is not None and admission_and_pairing.open_request(tx, person) is None:  # the first answer counts
                raise Refused(_(_NOT_OPEN))
            if rule is None:
                admission_and_pairing.ignore(tx, person)
            else:
                admission_and_pairing.set_rule(tx, subject, rule, caller.person, now)
            if told:
                _say(tx, f"paired/{person}/{to_text(now)}", self.terms.private(person), person, _(told), now)
            self._close_card(tx, subject, shown, now)

        await commit(self.database, work)
        if rule is not None:
            self._hold(subject, rule, caller.approver)
        self.resume()

    @operation(
        "people.list",
        "List who has talked to agents, is waiting for approval, or is allowed or blocked",
        Action.PEOPLE,
        _LISTS,
    )
    def list_people(self, rows: Rows, caller: Caller) -> Listing[PersonRow]:
        waiting, ruled = admission_and_pairing.waiting(rows, self.clock()), admission_and_pairing.rules(rows)
        private = messages.private_speakers(rows, _SPEAKERS) if caller.scope.audience == OWNER else []
        spoke = {row["person_id"]: {"name": row["speaker"] or "", "last": row["last"]} for row in private} | {
            row["person_id"]: {"name": row["speaker"] or "", "messages": row["n"], "last": row["last"]}
            for row in messages.speakers(rows, caller.scope, _SPEAKERS)
        }

        def said(subject: str) -> dict[str, Any]:
            return spoke.get(subject) or {"name": _server(rows, subject)}

        found = [
            PersonRow.from_record(each, subject=each.person, state="waiting", **said(each.person) | {"name": each.name})
            for each in waiting
        ]
        found += [PersonRow.from_record(each, state=_STATES[each.rule], **said(each.subject)) for each in ruled]
        found += [
            PersonRow(subject=subject, state=_STATES[rule], via="configuration", **said(subject))
            for subject, rule in sorted(self.configured.items())
        ]
        listed = {each.subject for each in found}
        found += [PersonRow(subject=each, state="known", **spoke[each]) for each in spoke if each not in listed]
        most = admission_and_pairing.MOST_OPEN
        full = _("{MOST_OPEN} people are waiting. Others get no code until there is room.", MOST_OPEN=most)
        more = full if len(waiting) >= most else ""
        return Listing.of(found, _("Nobody has talked to your agents yet."), more)

    @operation("people.allow", "Allow a person, role or server", Action.PEOPLE, CHANGES)
    async def allow(self, caller: Caller, arguments: SubjectArguments) -> ActionReport:
        subject = _required(await self.looked_up(arguments.named))
        if self.configured.get(subject) is Rule.DENY:
            raise UserError(
                "The configuration blocks them in [discord.deny], which takes precedence. Remove the entry there."
            )
        return await self._rule(caller, subject, Rule.ALLOW, _("{who} is allowed"))

    @operation("people.deny", "Block a person, role or server", Action.PEOPLE, CHANGES)
    async def deny(self, caller: Caller, arguments: SubjectArguments) -> ActionReport:
        subject = _required(await self.looked_up(arguments.named))
        if subject in self.terms.people.owner:
            raise UserError("That is the owner, who cannot be blocked.")
        done = _("{who} is blocked: I neither read nor answer what they say")
        return await self._rule(caller, subject, Rule.DENY, done)

    @operation(
        "people.forget",
        "Undo allowing or blocking somebody, or cancel a pairing request; no data is erased",
        Action.PEOPLE,
        _FORGETS,
    )
    async def forget(self, caller: Caller, who: _Who) -> ActionReport:
        now, who = self.clock(), await self.looked_up(who)

        def work(tx: Tx) -> tuple[bool, bool]:
            ruled = admission_and_pairing.drop_rule(tx, who)
            waited = admission_and_pairing.withdraw(tx, PersonId(who), now)
            if ruled:
                self._close_card(tx, who, _("{who} is no longer allowed or blocked by name.", who="{person}"), now)
            elif waited:
                self._close_card(tx, who, _("The request from {person} is ignored."), now)
            return ruled, waited

        ruled, waited = await commit(self.database, work)
        self.rules.pop(who, None)
        self.resume()
        if not ruled and not waited:
            if caller.via is not Via.DISCORD:  # where IDs are not typed
                _required(who)
            hint = _(" It is in the configuration; change it there.") if who in self.configured else ""
            words = _("No command has allowed or blocked them, and they have no open request.{hint}", hint=hint)
            raise UserError(words)
        _log.info("admission_forgotten", subject=who, by=caller.person, interface=caller.approver.interface)
        text = _("{who} is no longer allowed or blocked by name.") if ruled else _("Canceled the code for {who}.")
        return report(text, who=who)

    @suggestions("decided")
    def suggest(self, rows: Rows, _caller: Caller) -> Suggestions:
        ruled = {each: f"{_called(rows, each)} ({_(_STATES[rule])})" for each, rule in self.rules.items()}
        waiting = admission_and_pairing.waiting(rows, self.clock())
        return (ruled | {str(each.person): _("{name} (waiting)", name=each.name) for each in waiting}).items()

    @suggestions("servers")
    def suggest_servers(self, rows: Rows, _caller: Caller) -> Suggestions:
        found = {each.audience for each in inbox.known_places(rows, Scope(OWNER))}
        servers = (each.removeprefix("guild:discord:") for each in sorted(found) if each.startswith("guild:discord:"))
        return [(each, _server(rows, f"discord:guild:{each}") or each) for each in servers]

    async def _rule(self, caller: Caller, subject: str, rule: Rule, done: str) -> ActionReport:
        shown = _("✅ {person} may talk to me.") if rule is Rule.ALLOW else _("⛔ {person} is blocked.")
        await self._decide(caller, subject, rule, shown)
        server = await self.database.read(lambda rows: _server(rows, subject))
        done = done.replace("{who}", "{server}") if server else done
        return report(_("{done}. `carina people forget` undoes this.", done=done), who=subject, server=server)

    def _hold(self, subject: str, rule: Rule, who: Approver) -> None:
        self.rules[subject] = rule
        self._told.pop(PersonId(subject), None)
        _log.info("admission_decided", subject=subject, rule=rule.value, by=who.person, interface=who.interface)


def _called(rows: Rows, subject: str) -> str:
    """A person or server by name, if one is known."""
    return _server(rows, subject) or person_called(rows, PersonId(subject), Scope(OWNER)) or unnamed(subject)


def _server(rows: Rows, subject: str) -> str:
    """The name of a server; empty if none is known, and for anything else."""
    source, _colon, server = subject.partition(":guild:")
    return audience_called(rows, Audience(f"guild:{source}:{server}"), Scope(OWNER)) if server else ""


def _required(subject: str) -> str:
    if not _SUBJECT.fullmatch(subject):
        raise UserError(
            "“{subject}” is not a person, role or server. Examples: discord:1234, @ana.bsky.social or "
            "bluesky:did:plc:… for a person, discord:role:1234, discord:guild:1234",
            subject=subject,
        )
    return subject


def _asked_in(request: PairingRequest) -> str:
    return _(
        "I don't know you yet, so I haven't read your message. I asked the person who runs me whether you may "
        "talk to me, and I'll let you know. If you know them, send them this code within an hour, so that they "
        "know it is you: `{shown_code}`\nThey can enter it with `/owner pair approve`. I didn't keep your "
        "message, so please send it again then.",
        shown_code=shown_code(request.code),
    )


def _card(unknown: UnknownPerson, source: str) -> str:
    """The card: who asks, and from where. Names are foreign text: on one line, without markup."""
    stranger, markup = unknown.speaker, Markdown()
    wants = _("**{who}** wants to talk to me.", who=markup.text(stranger.name))
    account = _("Account: {account}", account=person_name(stranger.id, source))
    account += f" (`{stranger.username.replace('`', '')}`)" if stranger.username else ""
    shared = ", ".join(map(markup.text, unknown.servers[:_SERVERS])) or _("none")
    where = _("Where: a direct message; servers in common: {servers}", servers=shared)
    note = _("-# I neither read nor kept what they wrote. Anyone can use this name; only the code proves who they are.")
    return "\n".join((wants, account, where, note))


def _say(tx: Tx, key: str, place: PlaceId, person: PersonId, text: str, now: datetime) -> None:
    row = outbox.NewRow(key, place, text, person_audience(person), person=person)
    outbox.add(tx, row, now)
