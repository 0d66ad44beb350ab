"""`carina service`: lets the system start Carina automatically, for the account that runs the command."""

import asyncio
import plistlib
import shutil
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import ClassVar
from xml.sax.saxutils import escape

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config
from bot.config.systemd_notifications import runs_for_account
from bot.errors import UserError
from bot.interfaces.control.client import hold
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import AT_TERMINAL, Options, operation
from memory.store.data_folder import DataFolder
from texts import _

NAME = "carina"
LABEL = "org.carina.service"


class Program(Struct, frozen=True):
    command: tuple[str, ...]
    file: PurePath
    """The settings; the service starts in its folder."""
    home: PurePath

    @property
    def folder(self) -> PurePath:
        return self.file.parent

    @property
    def variables(self) -> dict[str, str]:
        named = {} if self.file.name == "carina.toml" else {"CARINA_CONFIG": str(self.file)}
        return {"CARINA_HOME": str(self.home), **named}


class ServiceFile(Struct, frozen=True):
    """A service file, with the commands that start it, stop it and show its status."""

    path: Path
    text: str
    start: Sequence[Sequence[str]]
    stop: Sequence[Sequence[str]]
    status: Sequence[str]


def service_file(platform: str, user_home: Path, program: Program) -> ServiceFile | None:
    """The service file for a platform; None if the platform is not supported."""
    if platform == "darwin":
        return _launchd(user_home, program)
    if platform == "win32":
        return _task(user_home, program)
    return _systemd(user_home, program) if platform.startswith("linux") else None


def _systemd(user_home: Path, program: Program) -> ServiceFile:
    path = user_home / ".config" / "systemd" / "user" / f"{NAME}.service"
    command = " ".join(_quoted(each) for each in program.command)
    writable = " ".join(_quoted(str(each)) for each in dict.fromkeys((program.home, program.folder)))
    text = f"""\
[Unit]
Description=Carina, agents that remember
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=notify
TimeoutStartSec=600
WatchdogSec=120
ExecStart={command}
WorkingDirectory={_escaped(str(program.folder))}
Environment={" ".join(_quoted(f"{name}={value}") for name, value in program.variables.items())}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 3
TimeoutStopSec=20
MemoryMax=1G
UMask=0077
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ReadWritePaths={writable}
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

[Install]
WantedBy=default.target
"""
    control = ("systemctl", "--user")
    return ServiceFile(
        path,
        text,
        ((*control, "daemon-reload"), (*control, "enable", "--now", NAME)),
        ((*control, "disable", "--now", NAME),),
        (*control, "status", "--no-pager", NAME),
    )


def _launchd(user_home: Path, program: Program) -> ServiceFile:
    path = user_home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    settings = {
        "Label": LABEL,
        "ProgramArguments": list(program.command),
        "WorkingDirectory": str(program.folder),
        "EnvironmentVariables": program.variables,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "Umask": 0o077,
        "StandardErrorPath": str(program.home / "service.log"),
    }
    text = plistlib.dumps(settings, sort_keys=False).decode()
    load = ("launchctl", "load", "-w", str(path))
    return ServiceFile(path, text, (load,), (("launchctl", "unload", "-w", str(path)),), ("launchctl", "list", LABEL))


def _task(user_home: Path, program: Program) -> ServiceFile:
    path = user_home / "AppData" / "Local" / "Carina" / f"{NAME}.xml"
    first, *others = program.command
    arguments = escape(" ".join(f'"{each}"' if " " in each else each for each in others))
    text = f"""\
<?xml version="1.0"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
    </LogonTrigger>
  </Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>5</Count>
    </RestartOnFailure>
  </Settings>
  <Actions>
    <Exec>
      <Command>{escape(first)}</Command>
      <Arguments>{arguments}</Arguments>
      <WorkingDirectory>{escape(str(program.folder))}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
"""
    create = ("schtasks", "/Create", "/TN", NAME, "/XML", str(path), "/F")
    return ServiceFile(
        path,
        text,
        (create, ("schtasks", "/Run", "/TN", NAME)),
        (("schtasks", "/End", "/TN", NAME), ("schtasks", "/Delete", "/TN", NAME, "/F")),
        ("schtasks", "/Query", "/TN", NAME),
    )


def _quoted(word: str) -> str:
    """A word quoted for systemd, which then takes it literally."""
    text = _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{text}"' if " " in text or '"' in text else text


def _escaped(text: str) -> str:
    """A text that systemd does not expand: % begins a specifier."""
    return text.replace("%", "%%")


_ASKS = Options(via=TERMINAL_ONLY, changes=True, asks=True, seconds=600.0)


class SystemService(Struct, frozen=True):
    titles: ClassVar = {"service": "Start Carina automatically"}

    config: Config

    @operation("service.install", "Start Carina automatically; show the file first", Action.EXAMINE, _ASKS)
    async def install(self, caller: Caller) -> str:
        """Install the service for this account. Raises UserError, or Unconfirmed with the file."""
        file = self._file()
        caller.confirm(_("{path}:\n\n{text}\nWrite this file and start the service?", path=file.path, text=file.text))
        there = file.path.exists()
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.path.write_text(file.text, "utf-8")
        except OSError as error:
            raise UserError("{path} could not be written: {error}.", path=file.path, error=error.strerror) from error
        try:
            for command in file.start:
                await _run(command)
        except UserError:
            if not there:  # a service that was not started is not started at the next login either
                file.path.unlink()
            raise
        lasting = _("\n`loginctl enable-linger` keeps it running while you are logged out.") if _linux() else ""
        return _("Wrote {path} and started the service.{lasting}", path=file.path, lasting=lasting)

    @operation("service.status", "Show whether Carina starts automatically", Action.EXAMINE, AT_TERMINAL)
    async def status(self, _caller: Caller) -> str:
        file = self._file()
        if not file.path.exists():
            return _("Carina does not start automatically. `carina service install` sets that up.")
        code, said = await _output(file.status)
        return said or f"{' '.join(file.status)}: exit code {code}"

    @operation("service.uninstall", "Stop Carina from starting automatically", Action.EXAMINE, _ASKS)
    async def uninstall(self, caller: Caller) -> str:
        file = self._file()
        if not file.path.exists():
            raise UserError("There is no {path}, so nothing was removed.", path=file.path)
        caller.confirm(_("Stop the service and remove it from the system?"))
        for command in file.stop:
            await _run(command)
        file.path.unlink()
        return _(
            "Stopped the service and removed {path}. Your data is still in {home}.",
            path=file.path,
            home=self.config.home,
        )

    def _file(self) -> ServiceFile:
        if why := no_manager():
            raise UserError(why)
        command = (sys.executable, "-m", "carina", "run", "--log-json")
        program = Program(command, self.config.file.absolute(), self.config.home.absolute())
        found = service_file(sys.platform, Path.home(), program)
        if found is None:
            raise UserError("This needs Linux with systemd, macOS or Windows, not {platform}.", platform=sys.platform)
        return found


def _linux() -> bool:
    return sys.platform.startswith("linux")


def no_manager() -> str:
    """Why nothing here can start Carina automatically; empty if something can."""
    if not _linux() or runs_for_account():
        return ""
    return _(
        "systemd is not running for your account, so `carina service install` cannot make "
        "Carina start automatically. In a container, the container engine does that "
        "(`restart: unless-stopped` in compose.yaml). Elsewhere, have your system run "
        "`carina run`."
    )


async def _run(command: Sequence[str]) -> None:
    """Run a command. Raises UserError with its output if it fails."""
    code, said = await _output(command)
    if code:
        raise UserError(
            "`{command}` failed with exit code {code}: {said}", code=code, said=said, command=" ".join(command)
        )


async def _output(command: Sequence[str]) -> tuple[int, str]:
    try:
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT)
    except OSError as error:
        raise UserError("`{command}` could not be run: {error}.", command=command[0], error=error.strerror) from error
    said, _nothing = await process.communicate()
    return process.returncode or 0, said.decode("utf-8", "replace").strip()


class Removal(Struct, frozen=True):
    """Removes all of Carina's data; the program itself is removed with the tool that installed it."""

    config: Config

    @operation("uninstall", "Show where everything is, and delete the data", Action.BACKUP, _ASKS)
    async def remove(self, caller: Caller) -> str:
        """Delete the data, unless a service runs. Raises UserError, or Unconfirmed with the locations."""
        folder = DataFolder(self.config.home)
        if not folder.global_db.exists():
            raise UserError("There is no Carina data in {path}.", path=folder.path)
        caller.confirm(
            "\n".join(
                [
                    *self._where(folder),
                    "",
                    _("To keep a copy, answer no and run `carina backup create --to PATH`."),
                    _("Delete all data in the data folder? This cannot be undone."),
                ]
            )
        )
        with hold(folder, _("Stop it, then uninstall.")):
            for path in folder.own_files():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        left = sorted(path.name for path in folder.path.iterdir())
        if not left:
            folder.path.rmdir()
        kept = _(" Files that Carina did not create were kept: {names}.", names=", ".join(left)) if left else ""
        files = _(" and ").join(str(path) for path in self._files() if path.exists())
        more = _("\nDelete {files} yourself if you no longer need them.", files=files) if files else ""
        return _(
            "Deleted the data in {path}.{kept}{more}\n{program}",
            path=folder.path,
            kept=kept,
            more=more,
            program=_(
                "`carina service uninstall` stops Carina from starting automatically; `uv tool uninstall "
                "carina` or `pipx uninstall carina` removes the program. If it runs from a clone, delete the clone."
            ),
        )

    def _where(self, folder: DataFolder) -> Iterator[str]:
        size = sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())
        yield _("data folder: {path} ({size:,.1f} MB)", path=folder.path, size=size / 1000000.0)
        yield from (_("settings: {path}", path=path) for path in self._files() if path.exists())
        yield _("program: {path}", path=Path(sys.prefix))

    def _files(self) -> tuple[Path, ...]:
        return self.config.file, self.config.file.with_name(".env")
