"""The tables [mcp.<name>]: servers of the Model Context Protocol with tools for agents."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field, SecretStr
from pydantic import model_validator as validate_model

from bot.agents.permissions.calls_needing_approval import Asks
from bot.config.problems import nearest, shown, unmet
from bot.config.values import Seconds, Section, check_url, pattern
from texts import _, gettext_noop

PREFIX = "mcp:"

ServerName: TypeAlias = Annotated[
    str,
    pattern(
        r"[a-z][a-z0-9-]{0,23}",
        gettext_noop("a name of at most 24 lowercase letters, digits and -, starting with a letter"),
    ),
]
"""Names have no underscore: a tool's name up to its first one is the server, so names are unambiguous."""
Variable: TypeAlias = Annotated[
    str, pattern(r"[A-Za-z_][A-Za-z0-9_]{0,127}", gettext_noop("the name of an environment variable, not its value"))
]
HeaderName: TypeAlias = Annotated[str, pattern(r"[A-Za-z0-9-]{1,64}", gettext_noop("the name of an HTTP header"))]


class McpServer(Section):
    """One server: a command to run (stdio), or a URL (streamable HTTP)."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[Variable, Variable] = {}
    """Variables of the process, each with the name of the variable here that has its value."""
    cwd: str = ""
    url: str = ""
    headers: Mapping[HeaderName, Variable] = {}
    """HTTP headers, each with the name of the variable here that has its value."""
    tools: tuple[str, ...] = ()
    """The tools that are offered; empty: all."""
    ask: Asks = "always"
    read_only: tuple[str, ...] = ()
    """Tools that change nothing, according to the owner."""
    seconds: Seconds = 30
    connect_seconds: Annotated[float, Field(gt=0, le=120)] = 10

    @validate_model(mode="after")
    def _one_way(self) -> "McpServer":
        if bool(self.command) == bool(self.url):
            raise ValueError(_("either a command to run or the url of a server"))
        if self.url:
            check_url(self.url)
        if wrong := [key for key in ("args", "env", "cwd") if self.url and getattr(self, key)]:
            raise ValueError(_("no {key} together with a url", key=wrong[0]))
        if self.command and self.headers:
            raise ValueError(_("no headers together with a command"))
        return self

    @validate_model(mode="after")
    def _named_tools_are_offered(self) -> "McpServer":
        if self.tools and (unknown := [tool for tool in self.read_only if tool not in self.tools]):
            raise ValueError(_('read_only with names that are also in tools, not "{name}"', name=unknown[0]))
        return self


def variables(servers: Mapping[str, McpServer]) -> frozenset[str]:
    """The variables that these servers name, whose values are secrets."""
    return frozenset(name for each in servers.values() for name in (*each.env.values(), *each.headers.values()))


def missing_programs(servers: Mapping[str, McpServer]) -> list[str]:
    """The servers whose program is missing, one line each."""
    return [
        _(
            "MCP server “{name}”: there is no program “{program}”; correct mcp.{name}.command, or install it",
            name=name,
            program=server.command,
        )
        for name, server in servers.items()
        if server.command and shutil.which(server.command, path=None) is None and not _stands(server)
    ]


def _stands(server: McpServer) -> bool:
    """Whether the command is the path of a file, relative to the folder in which it runs."""
    return os.sep in server.command and Path(server.cwd or ".", server.command).expanduser().is_file()


def is_foreign(name: str, tools: Sequence[str]) -> bool:
    """Whether a tool of that name belongs to a server among an agent's tools."""
    server, _, rest = name.partition("_")
    return bool(rest) and any(tool.startswith(PREFIX) and tool[len(PREFIX) :].split("/")[0] == server for tool in tools)


def server_problems(
    file: str, servers: Mapping[str, McpServer], secrets: Mapping[str, SecretStr], most_seconds: float
) -> Iterator[str]:
    """The problems of a file's servers, one line each; `secrets` are the variables that are set."""
    for name, server in servers.items():
        for key, given in (("env", server.env), ("headers", server.headers)):
            for target, variable in given.items():
                if variable not in secrets:
                    where = f"{file}: mcp.{name}.{key}.{target}"
                    yield unmet(where, shown(variable), _("a variable that is set in the environment or in .env"))
        if server.seconds > most_seconds:
            wanted = _("at most limits.tool_seconds, which is {seconds:g}", seconds=most_seconds)
            yield unmet(f"{file}: mcp.{name}.seconds", f"{server.seconds:g}", wanted)


def agent_problems(file: str, servers: Mapping[str, McpServer], agents: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The problems of agents' tools that belong to no configured server; `agents` has the tools by agent."""
    for agent, tools in agents.items():
        for tool in tools:
            server = tool[len(PREFIX) :].split("/")[0]
            if tool.startswith(PREFIX) and server not in servers:
                yield _(
                    '{key}: found "{tool}", which is not a server; {hint}',
                    key=f'{file}: agents["{agent}"].tools',
                    tool=tool,
                    hint=nearest(server, servers)
                    if servers
                    else _("{file} has no table {table}", file=file, table=f"[mcp.{server}]"),
                )
