"""The status of a running service: numbers and states, nobody's text; `status_texts` puts it in words.

`bot.interfaces.cli.idle_status` covers a stopped one.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Action
from bot.config.loader import environment
from bot.errors import UserError
from bot.models.health import ModelHealth
from bot.runtime.replication import Replication
from bot.services.caller import Caller, Via
from bot.services.names import command_to_answer
from bot.services.registry import Options, operation
from bot.services.status_texts import FindingRow, Findings, ModelState, ServiceStatus
from bot.services.transactions import Service
from memory import agents
from memory.blocks.repair import damage_since
from memory.queue import erasure_follow_ups, inbox, missed_messages, outbox
from memory.store.clock import from_text
from memory.store.database import Rows
from sources.base import Front
from texts import _, gettext_noop, language, source

_EXAMINES = Options(via=frozenset({Via.DISCORD, Via.WEB}), seconds=120.0)


class Doctor(Struct, frozen=True):
    """For the owner: it names folders and servers, and calls models, which costs a little."""

    folder: Path
    """The folder of the configuration; a demo's is not where the program was started."""

    @operation("doctor", "Check the installation and suggest fixes", Action.EXAMINE, _EXAMINES)
    async def examine(self, _caller: Caller) -> Findings:
        command = [sys.executable, "-m", "carina", "doctor", "--json"]
        spoken = environment(LANGUAGE=language(), READ_ON=source())  # as the caller, which the service may not do
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=self.folder, env=spoken
        )
        try:
            told, broken = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        try:
            return Findings.of(map(FindingRow.model_validate, json.loads(told)))
        except ValueError:
            why = broken.decode(errors="replace").strip()[-300:]
            raise UserError("The installation could not be checked: {why}", why=why) from None


_DAMAGE_SHOWN = timedelta(days=30)
_REPLICATION = "continuous backup"
_NOT_CONNECTED = gettext_noop("not connected: only a chat is running; `carina run` connects it")


def readiness(fronts: Iterable[Front]) -> dict[str, bool]:
    """Whether messages are received at each front end."""
    return {front.source.name: front.readiness().ready for front in fronts}


class Status(Service, frozen=True):
    """The status of one constellation's service since `started`.

    The functions return the status of a part as text for people; empty if there is nothing to report.
    """

    fronts: tuple[Front, ...]
    sources: tuple[str, ...]
    """The configured sources; those that have no front end here are not connected."""
    replication: Replication
    constellation: str
    default_model: str
    started: datetime
    model_health: Callable[[Iterable[str]], tuple[ModelHealth, ...]]
    """The health of models, given the names of those that agents use."""
    halted: Callable[[], str]
    """When the current halt began."""
    unstored: Callable[[], str]
    """Writes that wait for a database that refuses them."""
    embedding: Callable[[Rows], str]
    """The embedder's health, and the number of texts that wait for it in this constellation."""
    mcp: Callable[[], Mapping[str, str]]
    """The health of each MCP server."""
    unset: Mapping[str, str]
    """Parts that are not configured, each with its setting."""

    @operation("status", "Show the status of front ends, models and queues", Action.STATUS, Options(running=True))
    async def show(self, _caller: Caller) -> ServiceStatus:
        since, ready = self.clock() - _DAMAGE_SHOWN, readiness(self.fronts)
        missing = [each for each in self.sources if each not in ready]
        shown = dict.fromkeys(missing, _(_NOT_CONNECTED))
        shown |= {name: words() for front in self.fronts for name, words in front.words.items()}
        ready |= dict.fromkeys(missing, False)
        if self.replication.replica is not None:
            shown[_REPLICATION], ready[_REPLICATION] = self.replication.words(), not self.replication.failing
        found, counts, damage, embedding, unread = await self.database.read(
            lambda rows: (
                agents.agents(rows),
                _counts(rows),
                damage_since(rows, since),
                self.embedding(rows),
                missed_messages.listing(rows),
            )
        )
        models = {agent.name: agent.model or self.default_model for agent in found}
        halted = self.halted()
        return ServiceStatus(
            constellation=self.constellation, started=self.started, agents=models,
            fronts=shown, ready=ready,
            models=tuple(map(ModelState.of, self.model_health(models.values()))), not_configured=dict(self.unset),
            damage=tuple(each.words for each in damage), halted=from_text(halted) if halted else None,
            unstored=self.unstored(), embedding=embedding, mcp=dict(self.mcp()), gaps=missed_messages.words(unread),
            **counts,
        )  # fmt: skip


def _counts(rows: Rows) -> dict[str, Any]:
    return {
        **inbox.counts(rows),
        "unsent": outbox.count_open(rows),
        **outbox.count_undelivered(rows),
        "unfollowed": erasure_follow_ups.given_up(rows),
        "silent": command_to_answer(rows),
    }
