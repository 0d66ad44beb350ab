"""Results of tools that are too long to show: kept in parts with the result, read on by the model, gone in time."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agents import turn_log
from bot.agents.context.quotes import passage
from bot.agents.context.working_memory import LONGEST, PAST
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Outcome, ReadTool, ToolContext
from bot.errors import ToolError
from memory.knowledge import working_memory
from memory.knowledge.entries import cut
from memory.knowledge.working_memory import MOST_LIVE, By, NewEntry
from memory.people.audience import Scope, Trust
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from tests.bot.parts import ANN, BOB, HALL, call, channel, deleted, edited, results, said, says
from tests.bot.stage import Service, Setting, running

SECRET = "sk-123456"


def lines(count: int) -> str:
    return "\n".join(f"line {number} of the ledger, with what was paid and to whom" for number in range(count))


LEDGER = lines(700)
"""About 37,000 characters."""


class Nothing(Arguments):
    pass


@dataclass
class Ledger(ReadTool[Arguments]):
    text: str = LEDGER
    trust: Trust = Trust.SYSTEM
    name: str = "ledger"
    description: str = "Shows the ledger."
    arguments: type[Arguments] = Nothing
    caution: Caution = field(default_factory=Caution)

    def read(self, _rows: Rows, _context: ToolContext, _arguments: Arguments) -> Outcome:
        if not self.text:
            raise ToolError("no")
        return Outcome(passage(self.text), trust=self.trust)


def setting(ledger: Ledger, **more: Any) -> Setting:
    return Setting(tools=(ledger,), **more)


async def read(service: Service, number: int = 1) -> str:
    """What a model is shown of the ledger in a turn of its own."""
    service.model.replies.extend([says("", call("ledger")), says("I see.")])
    await service.heard(said("what was paid?", number))
    return results(service.model.requests[-1])[-1][0]


async def kept(service: Service) -> dict[str, str]:
    found = await service.rows("SELECT key, text AS content FROM items WHERE kind = 'working' ORDER BY id")
    return {row["key"].removeprefix("session/discord:hall/"): row["content"] for row in found}


async def filled(service: Service, count: int) -> None:
    """The hall's namespace with so many entries that agents keep."""
    by = By(Scope(HALL.audience), Trust.AGENT, service.clock(), namespace="session/discord:hall")

    def fill(tx: Tx) -> None:
        for number in range(count):
            working_memory.save(tx, by, NewEntry(f"own/{number}", "x", timedelta(hours=1)))

    await service.write(fill)


async def test_a_longer_one_is_kept_in_parts_that_the_model_reads_on(tmp_path: Path) -> None:
    async with running(tmp_path, setting(Ledger())) as service:
        get = call("working_memory", "2", operation="get", key="ledger-120000/3")
        find = call("working_memory", "3", operation="search", key="ledger-120000", query="699")
        service.model.replies.extend([says("", call("ledger", "1")), says("", get), says("", find), says("done")])
        await service.heard(said("what was paid?", 1))
        shown, third, found = [text for text, _ok in results(service.model.requests[-1])]
        assert len(shown) < PAST, "all of it is still there in later turns"
        assert f"(ledger gave {len(LEDGER):,} characters" in shown
        assert "in 4 parts, ledger-120000/1 to ledger-120000/4; ledger-120000-index says how each begins" in shown
        assert '<quoted from="ledger">\nline 0 of the ledger' in shown
        parts = await kept(service)
        assert list(parts) == ["ledger-120000-index", *(f"ledger-120000/{number}" for number in (1, 2, 3, 4))]
        assert "".join(parts[f"ledger-120000/{number}"] for number in (1, 2, 3, 4)) == LEDGER
        assert parts["ledger-120000/3"] in third
        assert "expires in 20 min" in third
        assert found.startswith('<quoted from="working memory, session/discord:hall/ledger-120000">\n- session')
        assert "ledger-120000/4" in found
        assert parts["ledger-120000-index"].splitlines()[0].startswith("ledger-120000/1 (9,9")


async def test_two_results_of_one_tool_do_not_take_each_others_keys(tmp_path: Path) -> None:
    async with running(tmp_path, setting(Ledger())) as service:
        await read(service, 1)
        assert "ledger-120000-2/1 to ledger-120000-2/4" in await read(service, 2)
        assert len(await kept(service)) == 10


async def test_room_is_made_by_dropping_the_oldest_result_and_never_what_the_agent_keeps(tmp_path: Path) -> None:
    async with running(tmp_path, setting(Ledger())) as service:
        await read(service, 1)
        await filled(service, 42)
        service.clock.forward(60)
        assert "ledger-120100/1 to ledger-120100/4" in await read(service, 2)
        there = await kept(service)
        assert sum(key.startswith("own/") for key in there) == 42
        assert sorted(key for key in there if "ledger" in key)[0] == "ledger-120100-index"
        assert len(there) <= MOST_LIVE


async def test_with_no_room_at_all_as_much_is_shown_as_may_be_and_what_to_do(tmp_path: Path) -> None:
    async with running(tmp_path, setting(Ledger())) as service:
        await filled(service, MOST_LIVE)
        shown = await read(service, 1)
        assert "are left out below, since session/discord:hall is full: delete entries" in shown
        assert shown.endswith(f'<quoted from="ledger">\n{LEDGER[:LONGEST]}\n</quoted>')
        assert len(await kept(service)) == MOST_LIVE


async def test_an_agent_without_working_memory_is_told_what_is_left_out(tmp_path: Path) -> None:
    toml = '[[agents]]\nname = "Carina"\ntools = ["search"]\n'
    async with running(tmp_path, setting(Ledger(), toml=toml)) as service:
        shown = await read(service)
        assert shown.startswith(f"({len(LEDGER) - LONGEST:,} of {len(LEDGER):,} characters are left out below")
        assert shown.endswith(f'<quoted from="ledger">\n{LEDGER[:LONGEST]}\n</quoted>')
        assert await kept(service) == {}


async def test_parts_have_the_audience_and_the_trust_of_what_was_read_and_hold_no_secret(tmp_path: Path) -> None:
    ledger = Ledger(f"{SECRET}\n{LEDGER}", Trust.WEB)
    async with running(tmp_path, setting(ledger, redact=lambda text: text.replace(SECRET, "[secret]"))) as service:
        shown = await read(service)
        assert "[secret]" in shown
        assert set(await service.column("SELECT trust FROM items WHERE kind = 'working'")) == {Trust.WEB}
        assert set(await service.column("SELECT audience FROM items WHERE kind = 'working'")) == {HALL.audience}
        assert SECRET not in "".join((await kept(service)).values())
        other = channel("port", of="abroad")
        get = call("working_memory", operation="get", key="session/discord:hall/ledger-120000/1")
        service.model.replies.extend([says("", get), says("done")])
        await service.heard(said("what was paid there?", 2, other, BOB))
        assert not results(service.model.requests[-1])[-1][1]


class LockedLedger(Ledger):
    def read(self, _rows: Rows, _context: ToolContext, _arguments: Arguments) -> Outcome:
        raise Refused("the ledger {name} is locked", name=SECRET)


async def test_a_refusal_holds_no_secret_in_its_reason_for_the_offline_model_either(tmp_path: Path) -> None:
    given_to = setting(LockedLedger(), redact=lambda text: text.replace(SECRET, "[secret]"))
    async with running(tmp_path, given_to) as service:
        await read(service)
        result = str(service.model.requests[-1].messages[-1])
    assert "the ledger [secret] is locked" in result
    assert '"name": "[secret]"' in result
    assert SECRET not in result


@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_a_turn_that_begins_again_or_is_not_wanted_leaves_no_parts(tmp_path: Path, change: str) -> None:
    async with running(tmp_path, setting(Ledger())) as service:

        async def changed(_request: object) -> Any:
            assert await kept(service)
            happening = edited("something else", 1) if change == "edit" else deleted(1)
            service.hear(happening)
            await service.router.taken_in(30)
            return says("too late")

        service.model.replies.extend([says("", call("ledger")), changed, says("as you say now")])
        await service.heard(said("what was paid?", 1, HALL, ANN))
        assert await kept(service) == {}
        assert len(service.platform.texts()) == (1 if change == "edit" else 0)


async def test_parts_and_result_are_stored_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, seen = turn_log.note_tool, list[int]()

    def fails_once(tx: Tx, *given: Any, **more: Any) -> None:
        seen.extend(row["n"] for row in tx.all("SELECT count(*) AS n FROM items WHERE kind = 'working'"))
        if len(seen) == 1:
            raise RuntimeError("the disk is gone")
        note(tx, *given, **more)

    monkeypatch.setattr(turn_log, "note_tool", fails_once)
    async with running(tmp_path, setting(Ledger())) as service:
        shown = await read(service)
        assert seen == [5, 5], "what the try that failed had kept went with it"
        assert "ledger-120000/1 to ledger-120000/4" in shown
        assert len(await kept(service)) == 5


@given(st.text("ab \n", max_size=200), st.integers(4, 40))
def test_parts_are_together_the_text_and_none_is_too_long(text: str, most: int) -> None:
    parts = list(cut(text, most))
    assert "".join(parts) == text
    assert all(0 < len(part) <= most for part in parts)
