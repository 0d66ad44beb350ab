"""`sources` and `source_subscribe`: lists feeds, calendars, folders and webhooks, and subscribes the agent to them."""

from typing import Literal

from pydantic import Field

from bot.agents.context.quotes import joined, line, say
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Outcome, ReadTool, StoreTool, ToolContext
from bot.errors import ToolError
from memory import data_sources
from memory.data_sources import DataSource, Subscription
from memory.store.database import Rows, Tx
from texts import gettext_noop


class NoSourceArguments(Arguments):
    """It takes nothing."""


class SubscribeArguments(Arguments):
    operation: Literal["subscribe", "unsubscribe"]
    source: str = Field(min_length=1, max_length=40, description="its name, as `sources` gives it")


class SourcesTool(ReadTool[NoSourceArguments]):
    name = "sources"
    shown = gettext_noop("the list of sources")
    caution = Caution()
    description = (
        "List the feeds, calendars, folders and webhooks the owner has set up, when each was last read, and which ones "
        "you are told about. `source_subscribe` changes that."
    )

    def read(self, rows: Rows, context: ToolContext, _arguments: NoSourceArguments) -> Outcome:
        found = _usable(rows, context)
        told = [each.id for each in found if _hears(rows, context, each)]
        lines = [
            say(
                "{name}: {kind}, {state}, {told}",
                name=line(each.name),
                kind=each.type,
                state="paused" if not each.enabled else "could not be read recently" if each.error else "on",
                told="you are told about it" if each.id in told else "you are not told about it",
            )
            for each in found
        ]
        return Outcome(joined(lines) if lines else say("There are no sources that may be mentioned here."))


class SourceSubscribeTool(StoreTool[SubscribeArguments]):
    name = "source_subscribe"
    shown = gettext_noop("source subscriptions")
    description = "Be told what is new in a source from now on (subscribe), or no longer (unsubscribe)."
    caution = Caution(asks="always", bound=("operation", "source"))

    def work(self, tx: Tx, context: ToolContext, arguments: SubscribeArguments) -> Outcome:
        source = next(
            (each for each in _usable(tx, context) if each.name.casefold() == arguments.source.casefold()), None
        )
        if source is None:
            raise ToolError("There is no source by that name here; `sources` lists them.")
        agent = context.agent.id
        if arguments.operation == "subscribe":
            if not _hears(tx, context, source):
                data_sources.subscribe(tx, Subscription(agent, source.id, ""), context.now)
            return Outcome(say("you are told what is new in {name}", name=line(source.name)))
        if not data_sources.unsubscribe(tx, agent, source.id):
            raise ToolError("You are not told about that source.")
        return Outcome(say("you are no longer told about {name}", name=line(source.name)))


def _usable(rows: Rows, context: ToolContext) -> list[DataSource]:
    """The sources that may be mentioned to the turn's audience."""
    return [each for each in data_sources.listing(rows) if context.turn.scope.may_use(each.audience)]


def _hears(rows: Rows, context: ToolContext, source: DataSource) -> bool:
    return any(each.agent == context.agent.id for each in data_sources.subscriptions(rows, source.id))
