"""What has the system start Carina by itself: a systemd user unit, a launchd agent, a scheduled task of Windows.

Pure: a platform, the program and its folders go in; the file and the commands that use it come out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from xml.sax.saxutils import escape

NAME = "carina"
LABEL = "org.carina.service"


@dataclass(frozen=True)
class Program:
    """What is started, where, and what it writes to."""

    command: tuple[str, ...]
    folder: PurePath
    home: PurePath


@dataclass(frozen=True)
class ServiceFile:
    """A file, and the commands after it was written, before it is removed, and to ask how it is."""

    path: Path
    text: str
    start: Sequence[Sequence[str]]
    stop: Sequence[Sequence[str]]
    status: Sequence[str]


def service_file(platform: str, user_home: Path, program: Program) -> ServiceFile | None:
    """Of this platform; None where there is none."""
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
ExecStart={command}
WorkingDirectory={_escaped(str(program.folder))}
Environment={_quoted(f"CARINA_HOME={program.home}")}
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
    words = "".join(f"\n    <string>{escape(each)}</string>" for each in program.command)
    log = escape(str(program.home / "service.log"))
    text = f"""\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>{words}
  </array>
  <key>WorkingDirectory</key>
  <string>{escape(str(program.folder))}</string>
  <key>EnvironmentVariables</key>
  <dict>
    <key>CARINA_HOME</key>
    <string>{escape(str(program.home))}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardErrorPath</key>
  <string>{log}</string>
</dict>
</plist>
"""
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
    """As systemd reads it: whatever is in it is taken as it is."""
    text = _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{text}"' if " " in text or '"' in text else text


def _escaped(text: str) -> str:
    """Without what systemd puts in: % begins a specifier."""
    return text.replace("%", "%%")
