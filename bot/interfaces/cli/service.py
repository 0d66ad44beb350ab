"""`carina service`: have the system start Carina by itself, for the account that runs the command."""

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bot.agents.permissions.policy import Action
from bot.config import Config
from bot.errors import UserError
from bot.interfaces.cli.service_files import Program, ServiceFile, service_file
from bot.services.caller import Caller, Via
from bot.services.registry import Told, operation
from bot.services.results import Sentence

_HERE = frozenset({Via.TERMINAL})
_SECONDS = 60.0


@dataclass(frozen=True)
class SystemService:
    """The service as the system knows it."""

    titles: ClassVar = {"service": "Start Carina with the system"}

    config: Config

    @operation(
        "service.install", "Start Carina with the system; shows the file first", Action.EXAMINE,
        Told(via=_HERE, changes=True, asks=True, seconds=_SECONDS),
    )  # fmt: skip
    async def install(self, caller: Caller) -> Sentence:
        """For this account. Raises Unconfirmed with the file, UserError."""
        file = self._file()
        caller.confirm(f"{file.path}:\n\n{file.text}\nWrite this file and start the service?")
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.path.write_text(file.text, "utf-8")
        except OSError as error:
            raise UserError(f"{file.path} cannot be written: {error.strerror}") from error
        for command in file.start:
            await _run(command)
        lasting = "\n`loginctl enable-linger` keeps it running while you are logged out." if _linux() else ""
        return Sentence(text=f"Wrote {file.path} and started the service.{lasting}")

    @operation("service.status", "Show how the system runs Carina", Action.EXAMINE, Told(via=_HERE, seconds=_SECONDS))
    async def status(self, _caller: Caller) -> Sentence:
        """As the system says it."""
        file = self._file()
        if not file.path.exists():
            return Sentence(text="Carina does not start with the system; `carina service install` sets it up.")
        code, said = await _output(file.status)
        return Sentence(text=said or f"{' '.join(file.status)}: exit code {code}")

    @operation(
        "service.uninstall", "Stop starting Carina with the system", Action.EXAMINE,
        Told(via=_HERE, changes=True, seconds=_SECONDS, confirm="Stop the service and remove it from the system?"),
    )  # fmt: skip
    async def uninstall(self, _caller: Caller) -> Sentence:
        """The data stays."""
        file = self._file()
        if not file.path.exists():
            raise UserError(f"there is no {file.path}, so nothing was removed")
        for command in file.stop:
            await _run(command)
        file.path.unlink()
        return Sentence(text=f"Stopped the service and removed {file.path}. Your data is still in {self.config.home}.")

    def _file(self) -> ServiceFile:
        command = (sys.executable, "-m", "carina", "run", "--log-json")
        program = Program(command, self.config.file.parent, self.config.home.absolute())
        found = service_file(sys.platform, Path.home(), program)
        if found is None:
            raise UserError(f"{sys.platform}: expected Linux with systemd, macOS or Windows")
        return found


def _linux() -> bool:
    return sys.platform.startswith("linux")


async def _run(command: Sequence[str]) -> None:
    """Raises UserError with what it said, where it failed."""
    code, said = await _output(command)
    if code:
        raise UserError(f"`{' '.join(command)}` failed with exit code {code}: {said}")


async def _output(command: Sequence[str]) -> tuple[int, str]:
    try:
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT)
    except OSError as error:
        raise UserError(f"`{command[0]}` cannot be run: {error.strerror}") from error
    said, _nothing = await process.communicate()
    return process.returncode or 0, said.decode("utf-8", "replace").strip()
