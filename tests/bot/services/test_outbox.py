"""What was given up, sent again at the owner's word: once, with the pieces behind it."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.agents.permissions.roles_and_rights import People
from bot.errors import UserError
from bot.services.caller import Unconfirmed
from bot.services.registry import Registry
from bot.services.system.outbox import Outbox
from memory.people.audience import Scope, Trust
from memory.queue import messages, outbox
from memory.queue.outbox import Status
from memory.store.constellations import Constellations
from memory.store.database import Database
from memory.store.ids import OutboxId, PersonId
from memory.store.records import replace
from sources.base import DeliveryFailed
from sources.terminal import PERSON
from tests.bot.parts import ANN, NOON, OLGA, MovableClock, ScriptedModel, direct, said, says
from tests.bot.runtime.test_outbox_delivery import GUILD, Post
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service, Setting, running
from tests.memory.parts import spoken

OWNER = somebody(OLGA.id, Trust.OWNER)


class Counter(Post):
    """A post office at which the owner asks for what was given up."""

    def __init__(self, database: Database, registry: Registry) -> None:
        super().__init__(database)
        self.registry = registry

    async def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.registry.call("outbox.list", OWNER, {})).data()
        return found

    async def retry(self, row: int, *, sure: bool = False) -> None:
        await self.registry.call("outbox.retry", replace(OWNER, sure=sure), {"row": str(row)})

    async def drop(self, row: int) -> None:
        await self.registry.call("outbox.drop", OWNER, {"row": str(row)})


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Counter]:
    async with Constellations.open(tmp_path, MovableClock()) as constellations:
        home = await constellations.ensure("home", OLGA.id)
        async with constellations.use(home.id) as database:
            yield Counter(database, registry(Outbox(database, lambda: None), people=People((OLGA.id,))))


async def given_up(post: Counter, count: int = 3) -> list[OutboxId]:
    turn = await post.turn()
    rows = [await post.put(f"turn/{turn.id}/{n}", f"piece {n}", turn=turn.id) for n in range(count)]
    post.platform.fates.append(DeliveryFailed("forbidden"))
    await post.run()
    assert post.platform.texts() == []
    return rows


async def unknown(post: Counter, *, arrived: bool) -> OutboxId:
    row = await post.put("a")
    await post.begun(row, arrived=[row] if arrived else [])
    post.platform.readable = False
    post.clock.forward(61)
    await post.run()
    assert await post.states(row) == [Status.UNKNOWN]
    return row


async def test_a_whole_answer_is_sent_again_in_order_and_once(post: Counter) -> None:
    rows = await given_up(post)
    (line,) = await post.listed()
    assert (line["id"], line["status"], line["what"], line["pieces"]) == (str(rows[0]), "failed", "answer", 3)
    assert (line["reason"], line["text"]) == ("forbidden", "piece 0")
    assert [value for value, _ in await post.registry.suggest("outbox.retry", "row", OWNER, {})] == [str(rows[0])]
    await post.retry(rows[0])
    with pytest.raises(UserError, match="There is no undelivered message"):
        await post.retry(rows[0])
    await post.run()
    await post.run()
    assert post.platform.texts() == ["piece 0", "piece 1", "piece 2"]
    assert await post.listed() == []


async def test_what_may_have_been_said_is_confirmed_first_and_sent_once_where_nobody_can_look(post: Counter) -> None:
    row = await unknown(post, arrived=True)
    with pytest.raises(Unconfirmed, match="may appear twice"):
        await post.retry(row)
    await post.run()
    assert (post.sent(), await post.states(row)) == ([], [Status.UNKNOWN])
    await post.retry(row, sure=True)
    await post.run()
    assert (post.platform.texts(), await post.states(row)) == (["hello", "hello"], [Status.SENT])


async def test_a_death_while_it_is_sent_again_does_not_send_it_a_third_time(post: Counter) -> None:
    row = await unknown(post, arrived=True)
    await post.retry(row, sure=True)
    await post.write(lambda tx: outbox.restart_sending(tx, row, post.clock()))  # the last thing that process did
    post.clock.forward(61)
    await post.run()
    assert (post.sent(), await post.states(row)) == ([], [Status.UNKNOWN])


async def test_what_is_tried_again_by_itself_is_listed_and_can_be_tried_at_once(post: Counter) -> None:
    row, again = await post.put("a"), NOON + timedelta(hours=2)
    assert await post.listed() == []
    await post.begun(row)
    await post.write(lambda tx: outbox.mark_retry(tx, row, "not connected to Discord", again))
    (line,) = await post.listed()
    assert (line["status"], line["reason"]) == ("pending", "not connected to Discord")
    assert datetime.fromisoformat(line["next"]) == again
    assert await post.write(outbox.count_undelivered) == {"failed": 0, "unknown": 0}
    await post.retry(row)
    await post.run()
    assert post.sent() == [row]


async def test_what_is_tried_again_by_itself_is_dropped_with_all_its_pieces(post: Counter) -> None:
    turn = await post.turn()
    answer = await post.write(lambda tx: messages.add(tx, spoken(turn)))
    rows = [await post.put(f"turn/{turn.id}/{n}", f"piece {n}", turn=turn.id, message=answer) for n in range(3)]
    await post.begun(rows[0])
    again = NOON + timedelta(hours=2)
    await post.write(lambda tx: outbox.mark_retry(tx, rows[0], "not connected to Discord", again))
    await post.drop(rows[0])
    await post.run()
    assert (post.platform.texts(), await post.listed()) == ([], [])
    assert [(await post.row(row)).content for row in rows] == ["", "", ""]
    (kept,) = await post.database.read(lambda rows: messages.by_ids(rows, [answer], Scope(GUILD)))
    assert kept.delivery == "failed: not connected to Discord", "for the agent to see"


async def test_only_the_owner_may(post: Counter) -> None:
    (row,) = await given_up(post, 1)
    for name, given in (("list", {}), ("retry", {"row": str(row)}), ("drop", {"row": str(row)})):
        with pytest.raises(UserError, match="Only the owner may see, resend and discard undelivered messages"):
            await post.registry.call(f"outbox.{name}", somebody(ANN.id), given)


def door(service: Service) -> Registry:
    deliver = service.resume
    return registry(Outbox(service.database, deliver), people=People((OLGA.id, PersonId(PERSON))))


async def test_words_of_direct_messages_are_not_shown_but_can_be_sent_again(tmp_path: Path) -> None:
    model = ScriptedModel(says("the secret of Ann"))
    async with running(tmp_path, Setting(model)) as service:
        place = direct(ANN)
        service.platform.refuses[place.id] = DeliveryFailed("closed")
        await service.heard(said("hello", 1, place))
        (line,) = (await door(service).call("outbox.list", OWNER, {})).data()
        assert "secret" not in str(line)
        del service.platform.refuses[place.id]
        await door(service).call("outbox.retry", OWNER, {"row": line["id"]})
        await service.settled()
        assert service.platform.texts(place.id) == ["the secret of Ann"]
