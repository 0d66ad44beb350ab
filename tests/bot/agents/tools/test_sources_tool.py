"""`sources` and `source_subscribe`: an agent sees its sources where the owner hears it; subscribing asks first."""

from typing import Any

import pytest

from bot.agents.permissions.calls_needing_approval import call_needs
from bot.agents.tools.base import ToolContext, Toolset
from bot.agents.tools.sources import NoSourceArguments, SourcesTool, SourceSubscribeTool, SubscribeArguments
from bot.errors import ToolError
from bot.models.base import Call
from memory import data_sources
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.store.database import Tx
from memory.store.records import replace
from tests.bot.agents.test_next_step import AGENT, GUILD, TURN
from tests.bot.parts import NOON
from tests.memory.parts import store

HERE = replace(TURN, scope=Scope(OWNER), trust=Trust.OWNER)
NO_DATABASE: Any = None
CONTEXT = ToolContext(HERE, AGENT, None, NOON, NO_DATABASE)


@pytest.fixture
def tx() -> Tx:
    made = store(**{AGENT.id: AGENT.name})
    data_sources.add(made, data_sources.DataSource("news", "feed", "https://example.org/secret-token", 30, OWNER), NOON)
    return made


def subscribe(tx: Tx, operation: str, source: str = "NEWS", context: ToolContext = CONTEXT) -> str:
    given = SubscribeArguments.model_validate({"operation": operation, "source": source})
    return SourceSubscribeTool().work(tx, context, given).text


def listed(tx: Tx, context: ToolContext = CONTEXT) -> str:
    return SourcesTool().read(tx, context, NoSourceArguments()).text


def test_an_agent_sees_its_sources_and_subscribes(tx: Tx) -> None:
    assert listed(tx) == "news: feed, on, you are not told about it"
    assert subscribe(tx, "subscribe") == "you are told what is new in news"
    assert listed(tx) == "news: feed, on, you are told about it"
    assert subscribe(tx, "unsubscribe") == "you are no longer told about news"
    with pytest.raises(ToolError, match="not told"):
        subscribe(tx, "unsubscribe")
    with pytest.raises(ToolError, match="no source by that name"):
        subscribe(tx, "subscribe", "other")


@pytest.mark.parametrize("audience", [GUILD, PUBLIC])
def test_where_others_hear_it_there_are_no_sources(tx: Tx, audience: Audience) -> None:
    there = replace(CONTEXT, turn=replace(HERE, scope=Scope(audience)))
    with pytest.raises(ToolError, match="no source by that name"):
        subscribe(tx, "subscribe", context=there)
    assert listed(tx, there) == "There are no sources that may be mentioned here."


def test_subscribing_asks_the_owner_whoever_talks() -> None:
    assert call_needs(HERE, "source_subscribe", (), SourceSubscribeTool.caution) is not None
    assert call_needs(HERE, "sources", (), SourcesTool.caution) is None


def test_a_tool_that_takes_no_arguments_says_so() -> None:
    with pytest.raises(ToolError, match=r"operation: there is no such argument; there are none\. Call it again"):
        Toolset({"sources": SourcesTool()}).resolve(Call("x", "sources", '{"operation": "list"}'))
