"""A chat at the terminal, for the control socket and for a command in the same process.

`chat` yields the last lines of the conversation, then new ones live. `say` accepts a line.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, aclosing, asynccontextmanager
from typing import Any

from msgspec import Struct

from bot.agents.turn_end import abandon
from bot.agents.turn_events import ModelAsked, TextChunk, TurnCompleted, TurnEvent, TurnFailed
from bot.errors import UserError
from bot.interfaces.answers import GroupAnswer, answers_of, ask_group, follow, take_in
from bot.interfaces.control.chat_events import ChatEvent, History, Idle, LineResult, Listening, PersonLine, Stream
from bot.interfaces.control.server import Handler
from bot.runtime.outbox_delivery import to_delivery
from bot.runtime.router import Router
from bot.services.agents.constellations import named
from bot.services.caller import owner_at_terminal
from bot.services.served_constellations import ServedConstellations, Services
from bot.services.transactions import reads
from memory import group_runs
from memory.people.audience import OWNER, Scope
from memory.queue import inbox, messages, outbox, turns
from memory.queue.inbox import InRow
from memory.store.clock import from_text
from memory.store.database import Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import TurnId
from memory.store.records import replace
from sources.terminal import ONCE, PERSON, PLACE, SOURCE, Busy, Message, Shown, Typed, row_of, shown_as
from texts import _

_STOP = commit_point("chat.stop")


class Chat:
    """Chat sessions with one constellation, which stays open during them."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services, self._runtime, self.database = services, services.runtime, services.database
        self._router = router
        self._source, self._endpoint = services.terminal
        self._events = services.events
        self._approvals, self._halt, self._registry = services.approvals, services.halt, services.registry
        self._privacy = services.privacy

    async def chat(self, history: int = 0, typed: int = 0) -> AsyncGenerator[ChatEvent, None]:
        """Yield everything that the terminal shows from now on, after the last `typed` messages of the person and the
        last `history` lines of the conversation, oldest first."""
        queue: asyncio.Queue[ChatEvent | _Ended] = asyncio.Queue()
        for line in await self._before(history, typed):
            yield line
        with ExitStack() as stack:
            stack.enter_context(self._endpoint.attach(queue.put_nowait))
            stack.enter_context(self._events.listen(lambda event: _watch(event, queue)))
            yield Listening()
            await self._runtime.reachable(PLACE.id)
            while True:
                shown = await queue.get()
                if isinstance(shown, _Ended):
                    await self._runtime.delivered(PLACE.id)
                    queue.put_nowait(Idle())
                else:
                    yield shown

    async def once(self, text: str, external_id: str) -> AsyncGenerator[Message | Idle, None]:
        """Send a message and yield its answers, then `Idle`.

        The same `external_id`, which begins with `ONCE`, again waits for the same answer, even after a restart.
        Answers to other calls of `once` are left to those. Raises UserError if no answer will come.
        """
        shown: asyncio.Queue[Shown | TurnEvent] = asyncio.Queue()
        seen = set[str]()
        with self._endpoint.attach(shown.put_nowait):
            await self._runtime.reachable(PLACE.id)
            said = await self.say(text, external_id)
            if said.refused:
                raise UserError(said.answer)
            if said.answer:
                yield Message("", said.answer)
                yield Idle()
                return
            async for each in follow(self._services, PLACE.id, external_id, shown):
                if isinstance(each, Message) and await self._is_for(each, external_id):
                    seen.add(each.id)
                    yield each
                elif isinstance(each, InRow):
                    for answer in await self._answers_to(each):
                        if answer.id not in seen:
                            yield answer
            yield Idle()

    @reads
    def _is_for(self, rows: Rows, shown: Message, waited: str) -> bool:
        """Whether an event answers this message, or at least no other call of `once`."""
        row = outbox.get(rows, row_of(shown.id))  # its external id is only known after this
        claimed = () if row is None or row.turn is None else inbox.of_turn(rows, group_runs.run_of(rows, row.turn))
        found = {(each.source, each.external_id) for each in claimed}
        return (SOURCE, waited) in found or not any(external_id.startswith(ONCE) for _, external_id in found)

    @reads
    def _answers_to(self, rows: Rows, row: InRow) -> list[Message]:
        """The answers to a row, whoever saw them. Raises UserError if it was given up."""
        if row.status is inbox.Status.DEAD:
            raise UserError(
                "I couldn't answer your message: {last_error}; `carina inbox list --dead` shows it",
                last_error=row.last_error,
            )
        return [shown_as(to_delivery(each)) for each in answers_of(rows, row)]

    async def say(self, text: str, external_id: str) -> LineResult:
        """Accept a line; the same `external_id` again is the same line."""
        if words := self._privacy.words_ignored(PERSON):
            return LineResult(external_id, words)
        heard = self._source.hear(text, external_id)
        if heard.speaker is not None:
            self._endpoint.tell(Typed(external_id, heard.speaker.name, heard.text))
        heard = replace(heard, alone=external_id.startswith(ONCE))
        refused = await take_in(self._services, self._router, heard)
        if since := self._halt.since:
            words = _(
                "Everything has been halted since {since}. I'll keep your message and answer it after `carina "
                "halt release`.",
                since=from_text(since),
            )
            return LineResult(external_id, words)
        if refused:
            words = _(
                "I'll answer this later. {refused} Check the disk, and whether another program is locking the "
                "database.",
                refused=refused,
            )
            return LineResult(external_id, words, refused=True)
        return LineResult(external_id)

    async def stop(self) -> int:
        """Stop the answers that are in progress here; returns their number. Messages that were sent stay."""
        broker, clock = self._approvals.broker, self._approvals.clock

        def work(tx: Tx) -> tuple[TurnId, ...]:
            ended = turns.unfinished(tx, PLACE.id)
            for turn in ended:
                abandon(tx, broker, turn, clock())
            return ended

        ended = await self.database.write(_STOP, work, durable=True)
        self._runtime.moved(ended)
        return len(ended)

    async def suggest(self, name: str, argument: str, given: Mapping[str, str]) -> list[tuple[str, str]]:
        """Suggestions for an argument of an operation: pairs of a value and its display text."""
        return list(await self._registry.suggest(name, argument, owner_at_terminal(), given))

    async def language(self) -> str:
        """The language that the person chose; empty without a choice."""
        return self._registry.language(PERSON)

    async def ask(self, group: str, text: str, seconds: float = 120) -> GroupAnswer:
        return await ask_group(self._services, self._router, group, text, seconds)

    @reads
    def _before(self, rows: Rows, history: int, typed: int) -> list[PersonLine | History]:
        """Earlier lines from the database, so that no other file has forgotten or erased text."""
        found = messages.conversation(rows, PLACE.id, Scope(OWNER), 4 * max(history, typed))
        unsent, _shown = outbox.for_delivery(rows, PLACE.id)
        waiting = {row.turn for row in unsent if row.turn}  # their answers are shown next
        said = [row for row in found if row.text and not (row.role == "assistant" and row.batch in waiting)]
        spoken = [row for row in said if row.role in ("user", "assistant")]
        entered = [PersonLine(row.text) for row in spoken if row.role == "user"]
        shown = [History(row.speaker, row.text) for row in spoken]
        return [*entered[max(len(entered) - typed, 0) :], *shown[max(len(shown) - 2 * history, 0) :]]


def chat_handlers(served: ServedConstellations) -> dict[str, Handler]:
    """The handlers of the control socket besides operations: chats, and questions to groups.

    Each takes the name of a constellation, which stays open during the call, and raises UserError for an unknown name.
    """

    @asynccontextmanager
    async def opened(constellation: str) -> AsyncIterator[Chat]:
        shared = served.shared
        which = named(shared.constellations, constellation) if constellation else shared.configured
        async with served.use(which) as services:
            yield Chat(services, served.router)

    def streamed(method: Callable[..., AsyncGenerator[Any, None]]) -> Handler:
        async def stream(constellation: str = "", **given: Any) -> AsyncGenerator[Any, None]:
            async with opened(constellation) as chat, aclosing(method(chat, **given)) as shown:
                async for each in shown:
                    yield each

        return stream

    def answered(method: Callable[..., Awaitable[Any]]) -> Handler:
        async def answer(constellation: str = "", **given: Any) -> Any:
            async with opened(constellation) as chat:
                return await method(chat, **given)

        return answer

    return {
        "chat": streamed(Chat.chat),
        "once": streamed(Chat.once),
        "say": answered(Chat.say),
        "chat.stop": answered(Chat.stop),
        "chat.suggest": answered(Chat.suggest),
        "chat.language": answered(Chat.language),
        "group.ask": answered(Chat.ask),
    }


class _Ended(Struct, frozen=True):
    """A turn has ended; its answer may not have been shown yet."""


def _watch(event: TurnEvent, queue: asyncio.Queue[ChatEvent | _Ended]) -> None:
    if event.place != PLACE.id:
        return
    match event:
        case TextChunk():
            queue.put_nowait(Stream(event.text))
        case ModelAsked():
            queue.put_nowait(Busy(True, event.model))
        case TurnCompleted() | TurnFailed(again=False):
            queue.put_nowait(_Ended())
        case _:
            pass
