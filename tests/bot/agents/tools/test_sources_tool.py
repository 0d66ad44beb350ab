"""`sources` and `source_subscribe`: an agent sees its sources where the owner hears it; subscribing asks first."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.agents.permissions.policy import call_needs
from bot.agents.tools.base import ToolContext, Toolset
from bot.agents.tools.sources import NoSourceArguments, SourcesTool, SourceSubscribeTool, SubscribeArguments
from bot.errors import ToolError
from bot.models.base import Call
from memory import agents, data_sources
from memory.people.audience import OWNER, PUBLIC, Scope, Trust
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.migrations import Kind, prepare
from memory.store.records import replace
from tests.bot.agents.test_steps import AGENT, GUILD, TURN
from tests.bot.parts import NOON

_CHANGE = commit_point("test_sources_tool.change")
HERE = replace(TURN, scope=Scope(OWNER), trust=Trust.OWNER)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    prepare(tmp_path / "carina.db", Kind.CONSTELLATION)

    def seed(tx: Tx) -> None:
        agents.seed_agent(tx, AGENT, NOON)
        data_sources.add(tx, data_sources.new("news", "feed", "https://example.org/secret-token", 30, OWNER), NOON)

    async with Database.open(tmp_path / "carina.db") as opened:
        await opened.write(_CHANGE, seed)
        yield opened


def subscribe(tx: Tx, context: ToolContext, operation: str, source: str = "NEWS") -> str:
    given = SubscribeArguments.model_validate({"operation": operation, "source": source})
    return str(SourceSubscribeTool().work(tx, context, given).text)


async def test_an_agent_sees_its_sources_and_subscribes(database: Database) -> None:
    context = ToolContext(HERE, AGENT, None, NOON, database)

    def work(tx: Tx) -> list[str]:
        seen = [str(SourcesTool().read(tx, context, NoSourceArguments()).text)]
        seen.append(subscribe(tx, context, "subscribe"))
        seen.append(str(SourcesTool().read(tx, context, NoSourceArguments()).text))
        seen.append(subscribe(tx, context, "unsubscribe"))
        with pytest.raises(ToolError, match="not told"):
            subscribe(tx, context, "unsubscribe")
        with pytest.raises(ToolError, match="no source of that name"):
            subscribe(tx, context, "subscribe", "other")
        return seen

    before, told, after, ended = await database.write(_CHANGE, work)
    assert before == "news: feed, on, you are not told of it"
    assert told == "you are told what is new in news"
    assert after == "news: feed, on, you are told of it"
    assert ended == "you are not told of news any more"
    assert "secret-token" not in before + told + after + ended


@pytest.mark.parametrize("audience", [GUILD, PUBLIC])
async def test_where_others_hear_it_there_are_no_sources(database: Database, audience: str) -> None:
    context = ToolContext(
        replace(HERE, scope=Scope(GUILD if audience == GUILD else PUBLIC)), AGENT, None, NOON, database
    )

    def work(tx: Tx) -> str:
        with pytest.raises(ToolError, match="no source of that name"):
            subscribe(tx, context, "subscribe")
        return str(SourcesTool().read(tx, context, NoSourceArguments()).text)

    assert await database.write(_CHANGE, work) == "There are no sources that may be spoken of here."


def test_subscribing_asks_the_owner_whoever_talks() -> None:
    assert call_needs(HERE, "source_subscribe", (), SourceSubscribeTool.caution) is not None
    assert call_needs(HERE, "sources", (), SourcesTool.caution) is None


def test_a_tool_that_takes_no_arguments_says_so() -> None:
    with pytest.raises(ToolError, match=r"operation: there is no such argument; there are none\. Call it again"):
        Toolset({"sources": SourcesTool()}).resolve(Call("x", "sources", '{"operation": "list"}'))
