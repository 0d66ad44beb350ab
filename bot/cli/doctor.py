"""`carina doctor`: everything looked at that the service stands on; `carina restart`: beginning anew in order."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import typer

from bot.cli.files import File, examine
from bot.cli.holder import Holder, holder_of
from bot.cli.people import Administer, Json
from bot.cli.printing import print_data, print_lines
from bot.config import Config
from bot.errors import UserError
from bot.examining.ground import examine_backups, examine_databases, examine_directives, examine_folder
from bot.examining.service import examine_approvals, examine_outside, examine_service
from memory.agents import models_named
from memory.clock import utc_now
from memory.errors import StoreError
from memory.folder import DataFolder
from memory.migrations import Kind
from sources.finding import Finding, State

_MARKS = {State.GOOD: "ok", State.UNSET: "unset", State.DOUBT: "look", State.PROBLEM: "PROBLEM"}
_WIDTH = 9
_LOOKS, _LOOK_SECONDS = 300, 0.2  # at least a minute until it answers again


def add_doctor(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""

    @app.command("doctor")
    def doctor(as_json: Json = False) -> None:
        """Examine what the service stands on, from disk to models, and say what to do; each model is asked a word."""
        administer(_examine, as_json)

    @app.command("restart")
    def restart(as_json: Json = False) -> None:
        """Have the running service end in order and start again, with the configuration as it is now."""
        administer(_restart, as_json)


async def _examine(config: Config, *, as_json: bool) -> None:
    """Tell each part as it is known; exit code 1 where there is a problem."""
    found: list[Finding] = []

    def tell(findings: list[Finding]) -> None:
        found.extend(findings)
        if findings and not as_json:
            print_lines([line for each in findings for line in finding_lines(each)])

    folder = DataFolder(config.home)
    files = examine(folder)
    tell(list(examine_folder(folder)))
    tell(list(examine_databases(len(files), [file.problem for file in files if file.problem])))
    if files:
        tell([examine_backups(folder, utc_now())])
    tell(list(examine_directives(folder)))
    tell(examine_approvals(config))
    holder = holder_of(folder)
    status = await _status(holder, tell)
    async with asyncio.TaskGroup() as tasks:
        ask = holder.ask if holder is not None and status is not None else None
        parts = examine_outside(config, utc_now, ask, status, _stored_models(files, tell))
        for part in [tasks.create_task(part) for part in parts]:
            if findings := await part:
                tell(findings)
    counts = Counter(each.state for each in found)
    if as_json:
        print_data([asdict(each) for each in found])
    else:
        problems = "1 problem" if counts[State.PROBLEM] == 1 else f"{counts[State.PROBLEM]} problems"
        print_lines([f"{problems}, {counts[State.DOUBT]} to look at."])
    if counts[State.PROBLEM]:
        raise typer.Exit(1)


def _stored_models(files: Iterable[File], tell: Callable[[list[Finding]], None]) -> list[tuple[str, str]]:
    """What models the agents name that stand in files, be they served or not; what cannot be read is told."""
    found = []
    for file in files:
        if file.kind is Kind.CONSTELLATION and not file.problem:
            try:
                named = models_named(file.path)
            except StoreError as error:
                tell([Finding("database", State.PROBLEM, str(error))])
                continue
            found += [(model, f"the agent {agent} in {file.path.parent.name}") for model, agent in named]
    return found


async def _status(holder: Holder | None, tell: Any) -> dict[str, Any] | None:
    """What a running service says of itself."""
    if holder is None:
        tell(examine_service(None))
        return None
    try:
        status: dict[str, Any] = await holder.ask("status")
    except UserError as error:
        tell([Finding("service", State.PROBLEM, str(error))])
        return None
    tell(examine_service(status))
    return status


def finding_lines(finding: Finding) -> list[str]:
    """For a person: what was seen, and below it what to do."""
    line = f"{_MARKS[finding.state]:<{_WIDTH}}{finding.about}: {finding.words}"
    return [line, *([f"{'':<{_WIDTH}}-> {finding.remedy}"] if finding.remedy else [])]


async def _restart(config: Config, *, as_json: bool) -> None:
    """Have it start again, and wait until it answers. Raises UserError."""
    holder = holder_of(DataFolder(config.home))
    if holder is None:
        raise UserError(f"no service runs on the data folder {config.home}; `carina run` starts one")
    before = (await holder.ask("status"))["started"]
    await holder.ask("restart")
    for _look in range(_LOOKS):
        await asyncio.sleep(_LOOK_SECONDS)
        if (started := await _started(config)) not in ("", before):
            break
    else:
        raise UserError(f"it did not answer again within {_LOOKS * _LOOK_SECONDS:.0f} seconds; see its log")
    if as_json:
        print_data({"started": started})
    else:
        print_lines([f"The service started again at {started}."])


async def _started(config: Config) -> str:
    """Since when the service runs; empty while it does not answer."""
    holder = holder_of(DataFolder(config.home))
    if holder is None:
        return ""
    try:
        return str((await holder.ask("status"))["started"])
    except UserError:
        return ""
