"""A chat at the terminal: what the control socket offers, and what the command in the same process uses too.

`chat` shows: first the last lines of the conversation, then whatever is said, as it is said. `say` passes a line
on. Both are plain JSON data, so that one chat can be in another process than the service.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from typing import Any

from bot.errors import UserError
from bot.events import Complete, Failed, TextChunk, TurnEvent
from bot.fronts import Desks
from bot.policy import Approver
from bot.router import Router
from bot.watchers import Broadcast
from bot.why import AT_TERMINAL
from bot.why_text import account_text
from memory import messages
from memory.audience import OWNER, Scope
from memory.constellation import Constellations
from memory.ids import ConstellationId
from memory.requests import Status, Verdict
from sources.terminal import PERSON, PLACE, TerminalEndpoint, TerminalSource, to_data

_ANSWER = re.compile(
    r"/(?:approve|(?P<deny>deny)) +(?P<request>[0-9]{1,20})(?(deny)|(?: +(?P<length>once|hour|always))?)"
)


class Chat:
    """Chat sessions with one constellation."""

    def __init__(
        self,
        constellations: Constellations,
        house: ConstellationId,
        router: Router,
        terminal: tuple[TerminalSource, TerminalEndpoint],
        events: Broadcast,
        desks: Desks,
    ) -> None:
        self._constellations = constellations
        self._house = house
        self._router = router
        self._source, self._endpoint = terminal
        self._events = events
        self._approvals, self._halt, self._why = desks.approvals, desks.halt, desks.why
        self._privacy = desks.community.privacy

    async def chat(self, history: int = 0) -> AsyncGenerator[dict[str, Any], None]:
        """Everything that is shown at the terminal from now on, after the last `history` lines of the conversation.

        {"kind": "History", "speaker", "text"} a line from before; {"kind": "Listening"} from here on it is live;
        {"kind": "Stream", "text"} an answer as far as it is written; {"kind": "Idle"} nothing more is on its way;
        and what `sources.terminal.to_data` gives.
        """
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for line in await self._history(history):
            yield line
        with ExitStack() as stack:
            stack.enter_context(self._endpoint.attach(lambda shown: queue.put_nowait(to_data(shown))))
            stack.enter_context(self._events.listen(lambda event: _watch(event, queue)))
            yield {"kind": "Listening"}
            await self._router.reachable(PLACE.id)
            while True:
                shown = await queue.get()
                if shown["kind"] == "Ended":
                    await self._router.delivered(PLACE.id)
                    queue.put_nowait({"kind": "Idle"})
                    continue
                yield shown

    async def say(self, text: str, external_id: str) -> dict[str, Any]:
        """Pass a line on; the same `external_id` again is the same line.

        `/approve <request> [once|hour|always]` and `/deny <request>` answer a request instead: "answer" is what came
        of it, "goes_on" whether an agent says something about it here. `/why` asks about the last answer.
        """
        if text.rstrip() == "/why":
            return {"id": external_id, "answer": await self._last_explained(), "goes_on": False}
        if re.match(r"/(approve|deny)\b", text.strip()) and not _ANSWER.fullmatch(text.strip()):
            words = "That is /approve <request> [once|hour|always] or /deny <request>, with the number on the card."
            return {"id": external_id, "answer": words, "goes_on": False}
        if answer := _ANSWER.fullmatch(text.strip()):
            verdict = Verdict.DENY if answer["deny"] else Verdict(answer["length"] or "once")
            ruling = await self._approvals.answer(int(answer["request"]), Approver(PERSON, door="terminal"), verdict)
            request = ruling.request if ruling.counted else None
            goes_on = request is not None and request.place == PLACE.id and request.status is not Status.WAITING
            return {"id": external_id, "answer": ruling.words, "goes_on": goes_on}
        if words := self._privacy.words_withheld(PERSON):
            return {"id": external_id, "answer": words, "goes_on": False}
        self._router.receive(self._source.hear(text, external_id))
        if since := self._halt.since:
            words = f"Everything is halted since {since}. This is kept, and answered after `carina release`."
            return {"id": external_id, "answer": words, "goes_on": False}
        return {"id": external_id}

    async def _last_explained(self) -> str:
        try:
            explained = await self._why.newest(AT_TERMINAL)
        except UserError as error:
            return str(error)
        return account_text(explained.account, PERSON)

    async def _history(self, limit: int) -> list[dict[str, Any]]:
        if limit <= 0:
            return []
        async with self._constellations.use(self._house) as database:
            found = await database.read(lambda rows: messages.conversation(rows, PLACE.id, Scope(OWNER), 4 * limit))
        spoken = [row for row in found if row.text and row.role in ("user", "assistant")]
        return [{"kind": "History", "speaker": row.speaker, "text": row.text} for row in spoken[-2 * limit :]]


def _watch(event: TurnEvent, queue: asyncio.Queue[dict[str, Any]]) -> None:
    if event.place != PLACE.id:
        return
    match event:
        case TextChunk():
            queue.put_nowait({"kind": "Stream", "text": event.text})
        case Complete():
            queue.put_nowait({"kind": "Ended"})
        case Failed(again=False):
            queue.put_nowait({"kind": "Ended"})
        case _:
            pass
