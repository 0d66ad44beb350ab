"""Checks of everything that the service depends on."""

import importlib
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from bot.config import Config
from bot.errors import UserError
from bot.interfaces.diagnostics.model_checks import examine_embedder, examine_models
from bot.secrets import Redactor
from bot.services.status_results import ServiceStatus
from memory.store.clock import Clock
from sources.diagnostics import Finding, State
from texts import _, error_text, gettext_lazy

Ask: TypeAlias = Callable[[str], Awaitable[Any]]
"""Asks the running service for an operation. Raises UserError."""
Service: TypeAlias = Mapping[str, Any] | None
"""What `carina status` reports of a running service; None if none runs."""


def examine_outside(
    config: Config, clock: Clock, ask: Ask | None, service: Service, stored: Iterable[tuple[str, str]]
) -> list[Coroutine[Any, Any, list[Finding]]]:
    """Checks over the network, to be run concurrently. `ask` asks the service, if one runs.

    `stored` are models of agents in databases, each with words for who uses it.
    """
    known = [*map(config.model_of, config.agents), *(service or {}).get("agents", {}).values()]
    used = {**{model or config.model.default: who for model, who in stored}, **dict.fromkeys(known, "")}
    redactor = Redactor(config.secrets())
    parts = (
        examine_models(config, clock, used),
        _alone(examine_embedder(config, redactor.text)),
        examine_discord(config),
        examine_bluesky(config, ask),
        _clock(config),
    )
    return [_redacted(part, redactor) for part in parts]


async def _redacted(part: Awaitable[list[Finding]], redactor: Redactor) -> list[Finding]:
    """The findings without secrets, whatever a provider or a platform answered."""
    found = await part
    return [replace(each, words=redactor.text(each.words), remedy=redactor.text(each.remedy)) for each in found]


async def _alone(part: Awaitable[Finding]) -> list[Finding]:
    return [await part]


async def examine_discord(config: Config) -> list[Finding]:
    if config.discord_token is None:
        return [
            Finding(
                "Discord",
                State.UNSET,
                _("the bot is not in Discord"),
                _("set {setting} (README, Discord)", setting=_(config.unset()["discord"])),
            )
        ]
    examining = importlib.import_module("sources.discord.diagnostics")  # loads the library
    found: list[Finding] = await examining.examine(config.discord_token, config.discord_owner)
    return found


async def examine_bluesky(config: Config, ask: Ask | None) -> list[Finding]:
    """Check the account through the service, which has the session; without one, with a session of its own."""
    if not config.serves_bluesky:
        remedy = _("set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD (docs/bluesky.md)")
        return [Finding("Bluesky", State.UNSET, _("there is no account"), remedy)]
    try:
        if ask is not None:
            found = await ask("bluesky.status")
        else:
            found = await _bluesky_alone(config)
    except UserError as error:
        remedy = _("check the network, BLUESKY_HANDLE and BLUESKY_APP_PASSWORD (docs/bluesky.md)")
        return [Finding("Bluesky", State.PROBLEM, error_text(error), remedy)]
    listed = [Finding("Bluesky", State.GOOD, f"{found['handle']} ({found['did']}) on {found['service']}")]
    if not found["labelled"]:
        listed.append(
            Finding("Bluesky", State.DOUBT, _("it is not labeled as a bot"), _("`carina bluesky setup` does that"))
        )
    return listed


async def _bluesky_alone(config: Config) -> Any:
    """Check the account with a session of its own, which is not stored before the first start. Raises UserError."""
    module = importlib.import_module("bot.interfaces.bluesky")  # loads the library
    with tempfile.TemporaryDirectory(prefix="carina-") as elsewhere:
        home = config.home if config.home.exists() else Path(elsewhere)
        return await module.standing_alone(config.model_copy(update={"home": home}), "bluesky.status", {})


async def _clock(config: Config) -> list[Finding]:
    """Compare the clock with a front end's server, if there is one."""
    if config.discord_token is not None:
        url = importlib.import_module("sources.discord.diagnostics").gateway_url()
    elif config.serves_bluesky:
        url = f"{config.bluesky_service.rstrip('/')}/xrpc/_health"
    else:
        return []
    return [await importlib.import_module("sources.clock_skew").examine_clock(url)]  # loads aiohttp


def examine_approvals(config: Config) -> list[Finding]:
    """Check whether enough people get a request to approve it."""
    given, admins = config.approvals, config.discord.admins
    connected = config.discord_token is not None
    if given.quorum == 1 or (connected and given.channel):
        return []
    asked = 1 + (len(admins.persons - {config.discord_owner}) if connected else 0)
    if asked >= given.quorum:
        return []
    words = _("{quorum} people must approve, but only {asked} can get the request", quorum=given.quorum, asked=asked)
    remedy = _("set approvals.channel to a private channel on Discord that they can read, or approvals.quorum = 1")
    return [Finding("approvals", State.DOUBT if connected else State.PROBLEM, words, remedy)]


def examine_service(service: Service) -> list[Finding]:
    """The problems that a running service reports."""
    if service is None:
        return [Finding("service", State.UNSET, _("not running"), _("start it with `carina run`"))]
    status = ServiceStatus.model_validate(service)
    found = list(status.problems())
    found += [
        Finding(gettext_lazy("service on {name}", name=name), State.DOUBT, words, _("check its log"))
        for name, words in status.fronts.items()
        if not status.ready.get(name, True)
    ]
    return found or [Finding("service", State.GOOD, _("running, with no failed messages"))]
