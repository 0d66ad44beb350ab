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
from bot.services.registry import Options, operation
from bot.services.results import Sentence
from texts import _

_HERE = frozenset({Via.TERMINAL})
_SECONDS = 60.0


@dataclass(frozen=True)
class SystemService:
    """The service as the system knows it."""

    titles: ClassVar = {"service": "Start Carina with the system"}

    config: Config

    @operation(
        "service.install", "Start Carina with the system; shows the file first", Action.EXAMINE,
        Options(via=_HERE, changes=True, asks=True, seconds=_SECONDS),
    )  # fmt: skip
    async def install(self, caller: Caller) -> Sentence:
        """For this account. Raises Unconfirmed with the file, UserError."""
        file = self._file()
        caller.confirm(_("{path}:\n\n{text}\nWrite this file and start the service?", path=file.path, text=file.text))
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.path.write_text(file.text, "utf-8")
        except OSError as error:
            raise UserError(_("{path} cannot be written: {error}.", path=file.path, error=error.strerror)) from error
        for command in file.start:
            await _run(command)
        lasting = _("\n`loginctl enable-linger` keeps it running while you are logged out.") if _linux() else ""
        return Sentence(text=_("Wrote {path} and started the service.{lasting}", path=file.path, lasting=lasting))

    @operation(
        "service.status", "Show how the system runs Carina", Action.EXAMINE, Options(via=_HERE, seconds=_SECONDS)
    )
    async def status(self, _caller: Caller) -> Sentence:
        """As the system says it."""
        file = self._file()
        if not file.path.exists():
            return Sentence(text=_("Carina does not start with the system. `carina service install` sets that up."))
        code, said = await _output(file.status)
        return Sentence(text=said or f"{' '.join(file.status)}: exit code {code}")

    @operation(
        "service.uninstall", "Stop starting Carina with the system", Action.EXAMINE,
        Options(via=_HERE, changes=True, seconds=_SECONDS, confirm="Stop the service and remove it from the system?"),
    )  # fmt: skip
    async def uninstall(self, _caller: Caller) -> Sentence:
        """The data stays."""
        file = self._file()
        if not file.path.exists():
            raise UserError(_("There is no {path}, so nothing was removed.", path=file.path))
        for command in file.stop:
            await _run(command)
        file.path.unlink()
        return Sentence(
            text=_(
                "Stopped the service and removed {path}. Your data is still in {home}.",
                path=file.path,
                home=self.config.home,
            )
        )

    def _file(self) -> ServiceFile:
        command = (sys.executable, "-m", "carina", "run", "--log-json")
        program = Program(command, self.config.file.parent, self.config.home.absolute())
        found = service_file(sys.platform, Path.home(), program)
        if found is None:
            raise UserError(
                _("This needs Linux with systemd, macOS or Windows, not {platform}.", platform=sys.platform)
            )
        return found


def _linux() -> bool:
    return sys.platform.startswith("linux")


async def _run(command: Sequence[str]) -> None:
    """Raises UserError with what it said, where it failed."""
    code, said = await _output(command)
    if code:
        raise UserError(
            _("`{command}` failed with exit code {code}: {said}", code=code, said=said, command=" ".join(command))
        )


async def _output(command: Sequence[str]) -> tuple[int, str]:
    try:
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT)
    except OSError as error:
        raise UserError(_("`{command}` cannot be run: {error}.", command=command[0], error=error.strerror)) from error
    said, _nothing = await process.communicate()
    return process.returncode or 0, said.decode("utf-8", "replace").strip()
