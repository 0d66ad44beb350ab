"""Direct messages on Bluesky, through the separate service chat.bsky.convo, where it exists.

Only the owner and people whom the owner let in are heard there; from all others, only an opt-out, and an answer to a
question that was put to them: `bot.agents.permissions.approval_codes` finds the request that it decides. As with
notifications, the inbox and the skipped ids show what was read, and a mark shows up to when everything is decided.
"""

import re
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from memory.people.audience import OWNER, Trust, person_audience
from memory.permission_requests import Verdict
from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.store.clock import from_text, to_text
from memory.store.faults import call_point
from memory.store.ids import OutboxId, code
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from sources.base import Deliver, Delivery, DeliveryFailed, PlaceKind
from sources.bluesky import post_splitting_and_facets
from sources.bluesky.already_read import AlreadyRead
from sources.bluesky.answer_rules import SkipReason, opting
from sources.bluesky.conversion import speaker_of
from sources.bluesky.failures import CallFailed, RateLimited, ServerUnreachable
from sources.bluesky.identifiers import LONG_AGO, NAME, direct_place, moment, person_id
from sources.bluesky.server_responses import Account, account, items, mapping
from sources.bluesky.session import SharedState
from sources.names import flatten
from sources.outgoing_text import outgoing, without_markup
from sources.text import sendable, visible
from texts import _, gettext_lazy, speaking

log = Log(__name__)

_SAY = call_point("bluesky.direct")
CHAT = "did:web:api.bsky.chat#bsky_chat"
_PAGE, _MOST_PAGES = 50, 10
_MARGIN = timedelta(minutes=5)
_SKEW = timedelta(seconds=30)
"""The maximum difference between the clocks of this machine and the service."""
_AGAIN, _SOON = 900.0, 30.0
"""Seconds until the next try: if there is no such service, and if it was unreachable."""
_MARK = "bluesky.direct"
_SELDOM = 4
"""How many checks for posts there are for each look at these."""
_VERDICTS = {"yes": Verdict.ONCE, "hour": Verdict.HOUR, "always": Verdict.ALWAYS, "no": Verdict.DENY}
_ANSWER = re.compile(r"\s*(yes|hour|always|no)(?:\s+#?(\d{1,19}))?\s*[.!]?\s*", re.IGNORECASE | re.ASCII)


class DirectMessage(Struct, frozen=True):
    """One direct message in a conversation of two."""

    convo: str
    key: str
    sender: str
    other: Account
    """The other person."""
    text: str
    at: datetime

    @property
    def id(self) -> str:
        return message_id(self.convo, self.key)


def message_id(convo: str, key: str) -> str:
    """The name of a direct message in inbox and outbox."""
    return f"chat:{convo}:{key}"


class DirectMessages:
    """Receives and sends direct messages; without such a service, `trouble` says so."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._settings, self._session, self._wiring = state.settings, state.session, state.wiring
        self._low: str | None = None
        self._next = 0.0
        self._known = AlreadyRead(state.wiring)
        self._convos: RecentValues[str, str] = RecentValues(1_000)
        self._claimed: RecentValues[str, OutboxId] = RecentValues(1_000)
        self.served = False
        self.trouble = ""
        """Why there are none at the moment."""

    @property
    def words(self) -> str:
        if not self._settings.direct_messages:
            return _("direct messages are turned off (`direct_messages` in [bluesky])")
        if self.served:
            return _("direct messages are available")
        if not self.trouble:
            return _("direct messages: not checked yet")
        return _(
            "direct messages are not available: {reason} (the server has none, or the app password has no access "
            "to them)",
            reason=_(self.trouble),
        )

    @property
    def known_to_be_missing(self) -> bool:
        """Whether the service was looked for and never found."""
        return bool(self.trouble) and self._low is None

    # ------------------------------------------------------------------ hearing

    async def poll(self, deliver: Deliver) -> None:
        """Read new messages. Errors are kept in `trouble` and affect nothing else."""
        now = time.monotonic()
        if not self._settings.direct_messages or now < self._next:
            return
        try:
            await self._read(deliver)
        except CallFailed as why:
            soon = isinstance(why, ServerUnreachable) or self._low is not None
            if self.served or not self.trouble:
                log.info("bluesky_direct_not_served", reason=why.reason)
            self.served, self.trouble = False, why.reason
            self._next = now + (why.seconds if isinstance(why, RateLimited) else _SOON if soon else _AGAIN)
        else:
            self.served, self.trouble = True, ""
            self._next = now + self._settings.poll_seconds * _SELDOM

    async def _read(self, deliver: Deliver) -> None:
        self._low = low = self._low or await self._wiring.mark(_MARK)
        page = await self._ask("chat.bsky.convo.listConvos", {"limit": _PAGE})
        convos = [last for each in items(page.get("convos")) if (last := _convo(each, self._session.did))]
        newest = max([from_text(low or LONG_AGO), *(last.at for last in convos)])  # never back: old ones are not news
        back = (newest if low is None else from_text(low)) - _MARGIN
        found = [
            each
            for last in convos
            if last.at > back and last.id not in self._known
            for each in await self._messages(last, back)
        ]
        fresh = await self._fresh(found)
        if low is None:
            await self._known.pass_over({each.id: SkipReason.BEFORE for each in fresh})
            self._low = to_text(newest)
        else:
            self._low = to_text(await self._hear(fresh, deliver, newest))
        if self._low != low:
            await self._wiring.set_mark(_MARK, self._low)

    async def _messages(self, last: DirectMessage, back: datetime) -> list[DirectMessage]:
        """The messages of a conversation since then, oldest first."""
        found: list[DirectMessage] = []
        cursor = ""
        for _page in range(_MOST_PAGES):
            asked = {"convoId": last.convo, "limit": _PAGE, "cursor": cursor}
            page = await self._ask("chat.bsky.convo.getMessages", asked)
            views = items(page.get("messages"))
            found += [each for view in views if (each := _said(last.convo, view, last.other)) is not None]
            cursor = str(page.get("cursor") or "")
            if not cursor or not views or moment(str(views[-1].get("sentAt"))) <= back:
                break
        return sorted((each for each in found if each.at > back), key=lambda each: (each.at, each.key))

    async def _fresh(self, found: Sequence[DirectMessage]) -> list[DirectMessage]:
        self._known.add([each.id for each in found if each.sender == self._session.did])
        return await self._known.open(found)

    async def _hear(self, fresh: Sequence[DirectMessage], deliver: Deliver, newest: datetime) -> datetime:
        """Deliver the messages to be heard; returns up to when everything is decided and stored."""
        passed: dict[str, SkipReason] = {}
        heard: list[DirectMessage] = []
        for each in fresh:
            why = await self._why_not(each)
            if why is None:
                heard.append(each)
            else:
                passed[each.id] = why
        await self._known.pass_over(passed)
        last = {each.convo: each.id for each in heard}
        for each in heard:
            deliver(self._notification(each, answer=last[each.convo] == each.id))
        await self._tell_waiting([each for each in fresh if passed.get(each.id) is SkipReason.NOT_LET_IN])
        if not heard:
            return newest
        missing = await self._known.unstored(heard)
        await self._tell_waiting([each for each in heard if each not in missing])
        return min([newest, *(each.at for each in missing)])

    async def _tell_waiting(self, said: Sequence[DirectMessage]) -> None:
        """Tell a person who wrote a bare "yes" what waits for them; once, after the message is stored."""
        for each in said:
            if (answer := _ANSWER.fullmatch(each.text)) is not None:
                await self._decide(each, "", _VERDICTS[answer[1].lower()])

    async def _why_not(self, each: DirectMessage) -> SkipReason | None:
        """Why a message is not heard; messages to the service itself are handled here."""
        if (wants_out := opting(each.text)) is not None:
            await self._wiring.opt(person_id(each.other.did), wants_out)
            return SkipReason.OPTING
        if (why := self._state.us.shut_out(each.other)) is not None:
            return why
        if (answer := _ANSWER.fullmatch(each.text)) is not None and answer[2]:
            await self._decide(each, answer[2], _VERDICTS[answer[1].lower()])
            return SkipReason.DECIDED
        if self._wiring.paused():
            return SkipReason.PAUSED
        if each.at < self._wiring.clock() - timedelta(days=self._settings.read_back_days):
            return SkipReason.TOO_OLD
        return None if self._lets_in(each.other.did) else SkipReason.NOT_LET_IN

    def _lets_in(self, did: str) -> bool:
        return did == self._settings.owner or self._wiring.allowed(person_id(did))

    async def _decide(self, each: DirectMessage, code: str, verdict: Verdict) -> None:
        words = await self._wiring.decide(person_id(each.other.did), flatten(each.other.handle), code, verdict)
        if words:
            await self._send(each.convo, words)

    def _notification(self, each: DirectMessage, *, answer: bool) -> Notification:
        place, speaker = direct_place(each.other.did), self._speaker(each.other)
        audience = OWNER if speaker.trust is Trust.OWNER else person_audience(speaker.id)
        name = f"direct messages with {speaker.name} on Bluesky"
        return Notification(
            source=NAME,
            external_id=each.id,
            kind=Kind.MESSAGE,
            place=Place(place, PlaceKind.DIRECT, audience, name=name, bindings=(place, NAME)),
            speaker=speaker,
            at=each.at,
            text=sendable(each.text),
            answer=answer,
        )

    def _speaker(self, who: Account) -> Speaker:
        speaker = speaker_of(who, self._settings)
        trust = max(speaker.trust, Trust.APPROVED)  # nobody else is heard there
        return Speaker(speaker.id, speaker.name, speaker.username, trust=trust)

    # ------------------------------------------------------------------ saying

    async def send(self, delivery: Delivery, did: str) -> str:
        """Send it, unless it was sent before. Raises CallFailed, DeliveryFailed."""
        text = _fitting(delivery)
        if not visible(text):
            raise DeliveryFailed(gettext_lazy("there is nothing to say"))
        convo = await self._convo_with(did)
        if delivery.again and (there := await self._there(convo, delivery.id, text, delivery.created_at)):
            return there
        return self._claim(message_id(convo, await self._send(convo, text)), delivery.id)

    async def find(self, deliveries: Sequence[Delivery], did: str, taken: Collection[str]) -> dict[OutboxId, str]:
        """Which of these were sent. Raises CallFailed."""
        convo, found = await self._convo_with(did), dict[OutboxId, str]()
        for each in deliveries:
            text = _fitting(each)
            there = await self._there(convo, each.id, text, each.created_at)
            if there is not None and there not in taken:
                found[each.id] = there
        return found

    async def _there(self, convo: str, row: OutboxId, text: str, since: datetime) -> str | None:
        """Our own message with this text since then that does not belong to another row."""
        us = Account(self._session.did)
        for each in await self._messages(DirectMessage(convo, "", us.did, us, "", since), since - _SKEW):
            if each.sender == us.did and each.text == text and self._claimed.get(each.id) in (None, row):
                return self._claim(each.id, row)
        return None

    def _claim(self, message: str, row: OutboxId) -> str:
        self._claimed.put(message, row)
        return message

    async def _convo_with(self, did: str) -> str:
        if (known := self._convos.get(did)) is not None:
            return known
        found = await self._ask("chat.bsky.convo.getConvoForMembers", {"members": [did]})
        return self._convos.put(did, str(mapping(found.get("convo")).get("id", "")))

    async def _send(self, convo: str, text: str) -> str:
        message: dict[str, Any] = {"text": text}
        if facets := post_splitting_and_facets.facets(text, {}):
            message["facets"] = facets
        data = {"convoId": convo, "message": message}
        answer = await self._session.procedure("chat.bsky.convo.sendMessage", data, _SAY, proxy=CHAT)
        return str(answer.get("id", ""))

    async def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return await self._session.query(method, params, proxy=CHAT)


def _fitting(delivery: Delivery) -> str:
    """The text of one message, without markup; a question explains how to answer, since there are no buttons."""
    text, how, cut = without_markup(outgoing(delivery.text)).strip(), "", "…"
    if delivery.buttons is not None and delivery.buttons.kind == "permit":
        names = {verdict.value: word for word, verdict in _VERDICTS.items()}
        number = code(int(delivery.buttons.request))
        offers = ", ".join(f"{names[each]} {number}" for each in delivery.buttons.offers)
        with speaking(delivery.buttons.language):
            how = "\n\n" + _("Answer with one of: {offers}", offers=offers)
            cut = "… " + _("(cut off; `carina permits show` shows all of it)")
    room = post_splitting_and_facets.MOST_DIRECT - post_splitting_and_facets.graphemes(how)
    if post_splitting_and_facets.graphemes(text) > room:
        text = post_splitting_and_facets.shortened(text, room - len(cut)) + cut
    return text + how


def _convo(view: Any, us: str) -> DirectMessage | None:
    """The last message of a conversation of two, without its text: it may be deleted."""
    view = mapping(view)
    members = [account(each) for each in items(view.get("members"))]
    others = [each for each in members if each.did != us]
    last = mapping(view.get("lastMessage"))
    if len(others) != 1 or len(members) > 2 or not last.get("id"):
        return None
    return DirectMessage(
        str(view.get("id", "")), str(last["id"]), "", others[0], "", moment(str(last.get("sentAt", "")))
    )


def _said(convo: str, view: Any, other: Account) -> DirectMessage | None:
    """A message; None for a deleted one, or one by the service itself."""
    view = mapping(view)
    sender = str(mapping(view.get("sender")).get("did", ""))
    text, key = view.get("text"), view.get("id")
    if not sender or not isinstance(text, str) or not isinstance(key, str):
        return None
    return DirectMessage(convo, key, sender, other, text, moment(str(view.get("sentAt", ""))))
