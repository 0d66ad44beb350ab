"""The permission broker: asks people about a call, counts their answers, and turns an approval into a permit.

`calls_needing_approval.py` decides which calls need approval, `who_may_approve.py` whose answers count, and
`approval_card_text.py` renders the question. `memory/permission_requests.py` has the rows. `bot.agents.tool_calls` asks
the broker, and keeps the call waiting until there is an answer.

Every function works inside the transaction of its cause: the request is stored with the call's result, an answer with
the row that restarts the agent, the use of an approval with the effect.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bot.agents.owner_notices import own_place
from bot.agents.permissions import approval_card_text, who_may_approve
from bot.agents.permissions.approval_card_text import ApprovalCall
from bot.agents.permissions.roles_and_rights import Approver, People, role_identity
from bot.config import Config
from bot.errors import ToolError
from bot.models.base import Call
from memory import group_runs, permission_grants, permission_requests
from memory.knowledge.working_memory import PATROL
from memory.people.audience import OWNER, PUBLIC, Audience, Scope
from memory.people.identities import person_called, place_named
from memory.permission_requests import Need, Permit, Request, Status, Verdict, Vote
from memory.queue import inbox, messages, outbox, turns
from memory.queue.inbox import InRow
from memory.queue.outbox import CardDetail, EditDetail
from memory.queue.payloads import DecisionEvent
from memory.queue.steps import CallApproval, ModelAnswer, Note, ToolCall
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId, PlaceId, RequestId, TurnId, place_source
from memory.store.records import replace
from sources.names import place_title
from sources.terminal import PERSON, PLACE
from texts import _, gettext_lazy, language, sentence, speaking

SOURCE = "approval"
"""The source of inbox rows that carry decisions."""
MOST_WAITING = 20
"""Open requests from one place at the same time; more are refused."""
MOST_OF_ONE = 5
"""Limit per person among these, so that nobody can use up the others' share."""


class Terms(Struct, frozen=True):
    """How people are asked.

    `chain` are the places where owner and admins are asked: the first one, then the fallbacks. `private` returns the
    direct messages of a person. `others` are places of those who cannot see the first one; they are used as well if
    more than one approval is needed.
    """

    people: People
    chain: tuple[PlaceId, ...]
    private: Callable[[PersonId], PlaceId]
    expires: timedelta = timedelta(hours=24)
    others: tuple[PlaceId, ...] = ()


def configured_terms(config: Config) -> Terms:
    """The owner, admins and their places, from the configuration."""
    given, discord = config.approvals, config.discord
    owner = [PERSON]
    chain = [PLACE.id]
    if config.discord_token is not None and config.discord_owner:
        owner.append(PersonId(f"discord:{config.discord_owner}"))
        chain.insert(0, PlaceId(f"discord:user:{config.discord_owner}"))
    if config.serves_bluesky and config.bluesky.owner:
        owner.append(PersonId(f"bluesky:{config.bluesky.owner}"))
        if config.bluesky.direct_messages:
            chain.insert(-1, PlaceId(f"bluesky:user:{config.bluesky.owner}"))
    if config.discord_token is not None and given.channel:
        chain.insert(0, PlaceId(f"discord:{given.channel}"))
    admins = [f"discord:{person}" for person in sorted(discord.admins.persons)]
    for guild, roles in sorted(discord.admins.roles.items()):
        admins += [role_identity(int(guild), int(role)) for role in sorted(roles)]
    people = People(tuple(owner), tuple(admins), given.quorum)
    alone = config.discord_token is not None and not given.channel
    others = sorted(discord.admins.persons - {config.discord_owner}) if alone else ()
    return Terms(
        people,
        tuple(chain),
        own_place,
        timedelta(hours=given.expires_hours),
        tuple(PlaceId(f"discord:user:{person}") for person in others),
    )


class Ruling(Struct, frozen=True):
    """The result of a person's answer: a text for them, and the request in its new state."""

    words: str
    counted: bool
    request: Request | None = None


class Broker:
    """Asks, counts answers, and permits calls. `spoken` is a person's language."""

    def __init__(self, terms: Terms, spoken: Callable[[PersonId], str]) -> None:
        self.terms = terms
        self.spoken = spoken

    def ask(self, tx: Tx, asking: ApprovalCall, need: Need, now: datetime) -> Permit | Request:
        """A permit if a grant covers the call; otherwise the request is stored and its cards are queued.

        Raises ToolError, with a text for the model, if nobody could approve it.
        """
        turn, earlier = asking.turn, asking.permit
        covers = frozenset({*(earlier.covers if earlier else ()), need.mark})
        given = approval_card_text.call_arguments(asking.call.arguments, asking.bound)
        found = permission_grants.matching_grant(tx, need, turn.agent, given, turn.scope.audience, now)
        if found is not None and not need.once_only:
            return Permit(covers, earlier.request if earlier else None, found.id)
        request = self._request(tx, asking, need, covers, now)
        permission_requests.ask(tx, request)
        before = earlier.request if earlier else None
        if before is not None:  # its approval is part of this request now
            permission_requests.use(tx, before)
        _note(tx, request, "asked", now, detail=f"after request {before}" if before is not None else "")
        self._queue_cards(tx, request, asking, now)
        return request

    def _request(
        self, tx: Tx, asking: ApprovalCall, need: Need, covers: frozenset[tuple[str, str, str]], now: datetime
    ) -> Request:
        turn = asking.turn
        who, quorum = who_may_approve.approvers(self.terms.people, need, turn)
        if not who or turn.group is None:
            raise ToolError(f"This needs approval ({need.reason}), and there is nobody here to ask.")
        self._check_room(tx, turn)
        return Request(
            id=permission_requests.new_request_id(),
            kind=need.kind,
            subject=need.subject,
            agent=turn.agent,
            group=turn.group,
            turn=turn.id,
            call=asking.call.id,
            tool=asking.call.name,
            arguments=asking.call.arguments,
            digest=permission_requests.digest_of(asking.call.name, asking.call.arguments),
            covers=tuple(sorted(covers)),
            pattern=dict(approval_card_text.call_arguments(asking.call.arguments, asking.bound).bound),
            reason=need.reason,
            place=turn.place,
            person=turn.person,
            hearers=turn.scope,
            trust=turn.trust,
            approvers=who,
            quorum=quorum,
            once_only=who_may_approve.asks_each_time(need, turn, who),
            created_at=now,
            expires_at=now + self.terms.expires,
            shown=asking.shown,
        )

    def _check_room(self, tx: Tx, turn: Turn) -> None:
        """Raises ToolError if too many requests wait; the owner's count only against the owner's."""
        waiting, people = permission_requests.waiting_askers(tx, turn.place), self.terms.people
        selves = people.selves(turn.person) if turn.person is not None else (None,)
        trusted = not {*people.owner, None}.isdisjoint(selves)
        own = sum(each in selves for each in waiting)
        if own >= (MOST_WAITING if trusted else MOST_OF_ONE):
            much = f"{own} requests of this person"
        elif not trusted and len(waiting) >= MOST_WAITING:
            much = f"{MOST_WAITING} requests from here"
        else:
            return
        raise ToolError(f"This needs approval, and {much} are waiting already. Nobody was asked.")

    def spend(self, tx: Tx, permit: Permit, call: Call, turn: Turn, now: datetime) -> None:
        """Use a permit for this call; raises ToolError if it is for another call, or was used before."""
        digest = permission_requests.digest_of(call.name, call.arguments)
        if permit.request is not None:
            request = permission_requests.get(tx, permit.request)
            if request is None or request.digest != digest or request.agent != turn.agent:
                raise ToolError("What was approved is not this call; nothing was done.")
            if not permission_requests.use(tx, permit.request):
                raise ToolError(f"Request {permit.request} was used before; nothing was done again.")
        at, agent, audience = now, turn.agent, turn.scope.audience
        entry = permission_requests.Entry(
            "used", at, audience, None, permit.request, permit.grant, agent, digest=digest
        )
        permission_requests.note(tx, entry)

    # ------------------------------------------------------------------ answers

    def answer(self, tx: Tx, identifier: RequestId, who: Approver, verdict: Verdict, now: datetime) -> Ruling:
        """Count a person's answer. It is recorded in any case."""
        request = permission_requests.get(tx, identifier)
        if request is None:
            return Ruling(_("There is no such request; it may have been erased."), counted=False)
        if request.status is Status.WAITING and request.expires_at <= now:
            self._close(tx, request, "expired", now)
            request = _again(tx, request)
        if words := who_may_approve.refusal(request, who, verdict):
            _note(tx, request, "refused", now, person=who.person, detail=f"{verdict} by {who.interface}")
            if who_may_approve.may_answer(request, who.identities):
                words = f"{words} {self.decision(tx, request, place_source(who.person))}."
            return Ruling(words, counted=False, request=request)
        selves = self.terms.people.selves(who.person)
        if verdict is not Verdict.DENY and any(
            vote.person in selves for vote in permission_requests.votes(tx, request.id)
        ):
            return Ruling(
                _("You have already answered this. More people still need to answer."), counted=False, request=request
            )
        permission_requests.vote(tx, request, who.person, verdict, now, who.account)
        request = _again(tx, request)
        _note(tx, request, "answered", now, person=who.person, detail=f"{verdict} by {who.interface}")
        if request.status is Status.APPROVED:
            self._grant(tx, request, now)
        self._show(tx, request, now)
        if request.status is not Status.WAITING:
            self._go_on(tx, request, self.decision(tx, request), now)
        words = self.decision(tx, request, place_source(who.person))
        return Ruling(sentence(words), counted=True, request=request)

    def _grant(self, tx: Tx, request: Request, now: datetime) -> None:
        said = [vote.verdict for vote in permission_requests.votes(tx, request.id)]
        last = permission_requests.votes(tx, request.id)[-1].person
        shortest = who_may_approve.shortest(said)
        if shortest in (None, Verdict.ONCE):
            return
        grant = permission_grants.add_grant(tx, request, last, shortest, now)
        detail = "until revoked" if grant.expires_at is None else "1 hour"
        _note(tx, request, "granted", now, person=last, grant=grant.id, detail=detail)

    def decision(self, rows: Rows, request: Request, source: str = "") -> str:
        """The decision in one line, with who and when: for a place of that source, or (empty) for an agent."""
        said = permission_requests.votes(rows, request.id)
        refused = request.status is Status.DENIED  # one denial decides, whoever approved before
        counted = [vote for vote in said if (vote.verdict is Verdict.DENY) is refused]
        shortest = who_may_approve.shortest([vote.verdict for vote in said])
        at = request.decided_at or request.created_at
        with speaking(language() if source else "en"):  # agents are told in English
            called = dict.fromkeys(self._named(rows, vote, request, source) for vote in counted)
            who = _(" and ").join(called) or _("nobody")
            return approval_card_text.ruling(request, who, shortest, at, source)

    def _named(self, rows: Rows, vote: Vote, request: Request, source: str) -> str:
        """The name of a person who decided, in a place of that source; for an agent, their role."""
        if source:
            if vote.person == PERSON:
                return person_called(rows, vote.person, request.hearers) or _("the owner")
            return approval_card_text.person_name(vote.person, source, vote.name)
        if vote.person == request.person:
            return "the person you are talking to"
        return "the owner" if vote.person in self.terms.people.owner else "an admin"

    def expire(self, tx: Tx, now: datetime) -> list[Request]:
        """Close requests that nobody answered in time; the agents are told."""
        found = permission_requests.due(tx, now)
        for request in found:
            self._close(tx, request, "expired", now)
        return found

    def _close(self, tx: Tx, request: Request, event: str, now: datetime, words: str = "") -> None:
        permission_requests.expire(tx, request.id, now)
        closed = _again(tx, request)
        _note(tx, closed, event, now)
        self._show(tx, closed, now, words)
        self._go_on(tx, closed, words or self.decision(tx, closed), now)

    def withdraw(self, tx: Tx, turn: TurnId, now: datetime) -> None:
        """A turn restarts or is given up: withdraw its requests."""
        for identifier in permission_requests.withdraw(tx, turn, now):
            request = permission_requests.get(tx, identifier)
            if request is not None:
                _note(tx, request, "withdrawn", now)
                self._show(tx, request, now)

    def _go_on(self, tx: Tx, request: Request, words: str, now: datetime) -> None:
        """Restart the agent in the request's place, for the same audience.

        A public thread is not told about a denial: there is nothing to continue.
        """
        if request.hearers.audience == PUBLIC and request.status is not Status.APPROVED:
            return
        origin = _answered(tx, request)
        reply_to, about = ("", None) if origin is None else (origin.external_id, origin.id)
        event = inbox.Event(
            source=SOURCE,
            external_id=str(request.id),
            place=request.place,
            person=request.person,
            group=request.group,
            text=approval_card_text.agent_notice(request, words),
            hearers=request.hearers,
            trust=request.trust,
            payload=DecisionEvent(request.id, request.status.value, reply_to, about),
        )
        inbox.add_event(tx, event, now)

    # ------------------------------------------------------------------ cards

    def _queue_cards(self, tx: Tx, request: Request, asking: ApprovalCall, now: datetime) -> None:
        if not asking.speaker and request.person:
            asking = replace(asking, speaker=person_called(tx, request.person, request.hearers))
        known = inbox.place(tx, request.place)
        here = known.name if known is not None and known.name else request.place
        in_person = request.person is not None and request.approvers == (request.person,)
        if in_person and request.person is not None:
            alone = request.hearers.audience in (OWNER, Audience(f"person:{request.person}"))
            answered_here = alone and place_source(request.place) != PATROL
            chain: tuple[PlaceId, ...] = (request.place if answered_here else self.terms.private(request.person),)
        else:
            chain = self.terms.chain
        may_read = in_person or Scope(OWNER).may_use(request.hearers.audience)
        with self._asking(request):
            source, target = place_source(chain[0]), target_named(tx, request)
            shown = approval_card_text.card(request, asking, here, may_read=may_read, source=source, target=target)
            outbox.add(tx, approval_card_text.row(request, shown, chain), now)
            if chain is self.terms.chain and request.quorum > 1:
                for place in self.terms.others:
                    outbox.add(tx, approval_card_text.row(request, shown, (place,)), now)

    def _show(
        self, tx: Tx, request: Request, now: datetime, words: str = "", asked: str | None = None, *, away: bool = False
    ) -> None:
        """Update every card of a request; unsent ones are withdrawn.

        `asked` is the text in place of the question. With `away`, or if a file shows it too, the card is deleted.
        """
        final = request.status is not Status.WAITING
        for row in outbox.of_prefix(tx, f"card/{request.id}/"):
            card = row.detail if isinstance(row.detail, CardDetail) else None
            taken = (final if card is not None else asked is not None) and outbox.withdraw(tx, row.id)
            if asked is not None and not taken:
                outbox.empty(tx, row.id)
            if taken or card is None:
                continue
            # Cards are identified by their first rows; each edit begins with that text again.
            gone = asked is not None and (away or bool(card.files))
            detail = EditDetail(row.key, None if final else card.card, gone)
            key = f"card/{request.id}/shown/{row.id}/{words or request.status}/{'end' if final else now.timestamp()}"
            before = row.content if asked is None else asked
            with self._asking(request):
                came = _(words) or self.decision(tx, request, row.source)
                text = approval_card_text.closed(request, came) if final else approval_card_text.outcome(before, came)
            outbox.add(tx, outbox.NewRow(key, row.place, text, row.audience, detail=detail), now)

    def _asking(self, request: Request) -> AbstractContextManager[None]:
        """Within the context, texts are in the language of the approvers."""
        return speaking(self.spoken(PersonId(request.approvers[0])))

    def taken_back(self, tx: Tx, source: str, external_id: str, now: datetime) -> bool:
        """A message was deleted: withdraw its requests; returns whether anything was queued."""
        message = messages.by_external(tx, source, external_id)
        asked = [] if message is None else permission_requests.about(tx, message.id)
        words = gettext_lazy("Withdrawn: the message that prompted this was deleted")
        self._forget(tx, asked, now, words)
        return bool(asked)

    def erased(self, tx: Tx, person: PersonId, now: datetime) -> None:
        """A person is being erased: the requests that they caused are erased, and their cards deleted."""
        self._forget(tx, permission_requests.of_person(tx, person), now, gettext_lazy("Withdrawn"), away=True)

    def _forget(self, tx: Tx, asked: Iterable[Request], now: datetime, words: str, *, away: bool = False) -> None:
        for request in asked:
            if permission_requests.forget(tx, request.id, now):
                _note(tx, request, "withdrawn", now)
            self._show(tx, _again(tx, request), now, words, "", away=away)

    def lost(self, tx: Tx, row: outbox.OutRow, reason: str, now: datetime) -> bool:
        """A card could not be delivered: try the next place, or tell the agent. False if the row is not a card."""
        if not isinstance(row.detail, CardDetail):
            return isinstance(row.detail, EditDetail)
        request = permission_requests.get(tx, row.detail.card.request)
        if request is None or request.status is not Status.WAITING:
            return True
        if rest := row.detail.others:
            _note(tx, request, "passed on", now, detail=f"{place_source(row.place)} took no message")
            arguments = row.detail.files[0].text if row.detail.files else ""
            outbox.add(tx, approval_card_text.row(request, approval_card_text.Card(row.content, arguments), rest), now)
        elif any(each.id != row.id and _may_be_seen(each) for each in outbox.of_prefix(tx, f"card/{request.id}/")):
            _note(tx, request, "not reached", now, detail=f"{place_source(row.place)} took no message")
        else:
            self._close(
                tx, request, "unreachable", now, words=gettext_lazy("nobody could be asked: {reason}", reason=reason)
            )
        return True


def target_named(rows: Rows, request: Request) -> str:
    """The name of a message's destination; empty for other calls."""
    place = request.subject.removeprefix("send_message to ")
    if request.tool != "send_message" or ":" not in place:
        return ""
    return place_title(place_named(rows, PlaceId(place), request.hearers))


def decided(rows: Rows, row: InRow) -> Request | None:
    """The request whose decision an inbox row carries; None for other rows, and if the request was erased."""
    return permission_requests.get(rows, row.payload.request) if isinstance(row.payload, DecisionEvent) else None


def resume(tx: Tx, turn: Turn, request: Request, now: datetime) -> None:
    """Make a turn that a decision started begin with the approved call."""
    if request.status is Status.APPROVED:
        permit = CallApproval(request.id, tuple(request.covers))
        call = ToolCall(f"approved_{request.id}", request.tool, request.arguments, permit)
        turns.add_step(tx, turn, ModelAnswer("", (call,), finish="tools", shown=request.shown), now)
    elif request.status is Status.WITHDRAWN:
        text = "The request has been withdrawn: nothing was done, and there is nothing to do."
        turns.add_step(tx, turn, Note(text), now)
    elif request.status is Status.USED:
        text = "The approved call was begun before, and nobody saw how it ended. Do not repeat it; tell the person."
        turns.add_step(tx, turn, Note(text), now)


def _answered(rows: Rows, request: Request) -> messages.Message | None:
    """The newest message that the requesting turn answered: the reply refers to it."""
    claimed = [
        row.origin for row in inbox.of_turn(rows, group_runs.run_of(rows, request.turn)) if row.origin is not None
    ]
    heard = messages.by_ids(rows, claimed, request.hearers)
    return next((row for row in reversed(heard) if row.role == "user" and row.deleted_at is None), None)


def _may_be_seen(row: outbox.OutRow) -> bool:
    """Whether a row is a card that is visible, or will be."""
    return isinstance(row.detail, CardDetail) and row.status not in (outbox.Status.FAILED, outbox.Status.WITHDRAWN)


def _again(rows: Rows, request: Request) -> Request:
    return permission_requests.get(rows, request.id) or request


def _note(tx: Tx, request: Request, event: str, now: datetime, **more: Any) -> None:
    """Record an event of a request in the log of grants; `more` are fields of `permission_requests.Entry`."""
    entry = permission_requests.Entry(
        event=event,
        at=now,
        audience=request.hearers.audience,
        request=request.id,
        agent=request.agent,
        kind=request.kind,
        digest=request.digest,
        **more,
    )
    permission_requests.note(tx, entry)
