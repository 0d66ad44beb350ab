"""The control socket over real sockets in real folders."""

import asyncio
import json
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import msgspec
import pytest
from mcp.server.mcpserver.exceptions import ToolError as MCPToolError

from bot.agents.permissions.roles_and_rights import People
from bot.config import load_config
from bot.errors import ToolError, UserError
from bot.interfaces.cli.chat.connection import Connection
from bot.interfaces.control import async_client, client
from bot.interfaces.control.async_client import Holder
from bot.interfaces.control.client import NoService, ServiceFailed
from bot.interfaces.control.operations import reply
from bot.interfaces.control.server import replies_of, serve
from bot.interfaces.mcp_server import Tools, over_the_socket
from bot.services.registry import Clocks, Guard, Registry
from memory.store.clock import utc_now
from memory.store.data_folder import DataFolder
from memory.store.errors import BlockNotFound, FolderLocked, StoreError


@pytest.fixture
def folder() -> Iterator[DataFolder]:
    """A folder whose path is short enough for a socket, whatever pytest's own is."""
    with tempfile.TemporaryDirectory(prefix="carina-test-") as path:
        made = DataFolder(Path(path) / "data")
        made.prepare()
        yield made


async def add(a: int, b: int = 0) -> int:
    return a + b


async def count(to: int) -> AsyncIterator[dict[str, int]]:
    for n in range(to):
        yield {"n": n}


async def collected(folder: DataFolder, op: str, **arguments: Any) -> list[Any]:
    async with aclosing(Holder(folder).call(op, **arguments)) as replies:
        return [each async for each in replies]


async def raw(folder: DataFolder, request: bytes) -> dict[str, Any]:
    """What the service answers to these bytes."""
    reader, writer = await asyncio.open_unix_connection(str(folder.control_socket))
    writer.write(request)
    reply: dict[str, Any] = json.loads(await reader.readline())
    with suppress(ConnectionError):  # it closed before it had read all
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    return reply


async def test_one_reply_and_many(folder: DataFolder) -> None:
    async with serve(folder, {"add": add, "count": count}):
        assert await Holder(folder).ask("add", a=2, b=3) == 5
        assert await collected(folder, "count", to=3) == [{"n": 0}, {"n": 1}, {"n": 2}]
        assert await Holder(folder).ask("count", to=0) is None


async def test_the_socket_is_for_its_owner_and_goes_with_the_service(folder: DataFolder) -> None:
    async with serve(folder, {}):
        assert stat.S_IMODE(folder.control_socket.stat().st_mode) == 0o600
    assert list(folder.path.iterdir()) == [folder.path / "constellations"]
    with pytest.raises(NoService, match="is not accepting commands"):
        await Holder(folder).ask("add", a=1)


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        (b"hello\n", "not one line of JSON"),
        (b"\xff\xfe\n", "not one line of JSON"),
        (b"[1]\n", "not one line of JSON"),
        (b'{"op": 3}\n', "(unknown: '3')"),
        (b"{}\n", 'with an "op"'),
        (
            b'{"op": "ad", "a": 1}\n',
            "The running service and this command have different versions; restart the service with `carina restart` "
            "(unknown: 'ad').",
        ),
        (b'{"op": "add"}\n', "'add': missing a required argument: 'a'"),
        (b'{"op": "add", "a": 1, "c": 1}\n', "'add': got an unexpected keyword argument 'c'"),
        (b'{"op": "add", "a": ' + b"1" * (1 << 21) + b"}\n", "of at most 1048576 bytes"),
    ],
)
async def test_what_is_no_request_is_answered_with_what_is_wrong(
    folder: DataFolder, request_line: bytes, expected: str
) -> None:
    async with serve(folder, {"add": add}):
        reply = await raw(folder, request_line)
        assert expected in reply["error"]
        assert await Holder(folder).ask("add", a=1) == 1


async def test_a_reply_in_the_form_of_another_version_says_so_and_what_to_do(folder: DataFolder) -> None:
    async def other(**_given: Any) -> dict[str, Any]:
        return {"kind": "Said", "text": 3, "stopped": 1, "id": 2}

    holder = Holder(folder)
    chat = Connection(load_config({}, folder.path), holder.call, "", own=False)
    tools = Tools(over_the_socket(folder))
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: chat.say("hi", "1"),
        chat.stop,
        lambda: chat.data("status"),
        lambda: anext(chat.shown(1, 1)),
        lambda: anext(chat.once("hi", "1")),
        lambda: holder.data("status"),
        lambda: asyncio.to_thread(client.ask, folder, "status", 5),
        lambda: tools.route_to_group("home", "hi"),
        lambda: tools.search_memory("hi"),
    ]
    names = ("chat", "once", "say", "chat.stop", "status", "group.ask", "search")
    with folder.lock():
        async with serve(folder, dict.fromkeys(names, other)):
            for call in calls:
                with pytest.raises((UserError, MCPToolError), match=r"different versions; restart .* `carina restart`"):
                    await call()


async def test_an_error_inside_of_an_operation_is_not_taken_for_another_version(folder: DataFolder) -> None:
    async def broken(**_given: Any) -> None:
        raise msgspec.ValidationError("a stored row")

    chat = Connection(load_config({}, folder.path), lambda _name, **given: replies_of(broken(**given)), "", own=True)
    with pytest.raises(msgspec.ValidationError, match="a stored row"):
        await chat.data("status")


async def test_a_view_in_the_form_of_another_version_says_so_and_what_to_do(folder: DataFolder) -> None:
    registry = Registry([], Guard(People(()), lambda _person: False, str), Clocks(utc_now, AsyncMock(), str))
    async with serve(folder, {"status": partial(reply, registry, "status")}):
        with pytest.raises(ServiceFailed, match=r"different versions; restart .* `carina restart`"):
            await Holder(folder).ask("status", arguments={}, view={"sure": "perhaps"})


@pytest.mark.parametrize("error", [UserError("not yours"), ToolError("not yours"), BlockNotFound("not yours")])
async def test_an_operation_fails_with_words_for_the_caller(folder: DataFolder, error: Exception) -> None:
    async def fail() -> AsyncIterator[int]:
        yield 1
        raise error

    async with serve(folder, {"fail": fail}):
        replies = Holder(folder).call("fail")
        assert await anext(replies) == 1
        with pytest.raises(ServiceFailed, match="not yours"):
            await anext(replies)


@pytest.mark.parametrize("broken", [lambda: 1 / 0, object])
async def test_what_went_wrong_inside_stays_inside(folder: DataFolder, broken: Any) -> None:
    async def fail() -> Any:
        return broken()

    async with serve(folder, {"fail": fail, "add": add}):
        with pytest.raises(ServiceFailed, match="an internal error; the service's log says more"):
            await Holder(folder).ask("fail")
        assert await Holder(folder).ask("add", a=1) == 1


async def test_a_caller_that_leaves_cancels_the_operation(folder: DataFolder) -> None:
    ended = asyncio.Event()

    async def forever() -> AsyncIterator[str]:
        try:
            yield "begun"
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serve(folder, {"forever": forever}):
        async with aclosing(Holder(folder).call("forever")) as replies:
            assert await anext(replies) == "begun"
        async with asyncio.timeout(5):
            await ended.wait()


async def test_a_service_that_stops_says_so_to_those_who_wait(folder: DataFolder) -> None:
    begun = asyncio.Event()

    async def slow() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def asking() -> None:
        with pytest.raises(ServiceFailed, match="The service stopped"):
            await Holder(folder).ask("slow")

    async with asyncio.TaskGroup() as group, serve(folder, {"slow": slow}):
        group.create_task(asking())
        await begun.wait()


async def test_a_service_that_ends_in_the_middle_of_a_reply_says_so_too(folder: DataFolder) -> None:
    async def dies(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"data": 1')
        writer.close()

    async with await asyncio.start_unix_server(dies, folder.control_socket):
        with pytest.raises(ServiceFailed, match="The service stopped"):
            await Holder(folder).ask("add")
        with pytest.raises(UserError, match="The service stopped before it answered"):
            await asyncio.to_thread(client.ask, folder, "add", 5)


async def test_only_the_first_reply_of_many_has_to_come_soon(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slower(first: float) -> AsyncIterator[int]:
        for number, wait in enumerate((first, 0.6)):
            await asyncio.sleep(wait)
            yield number

    monkeypatch.setattr(async_client, "ANSWER_SECONDS", 0.3)
    async with serve(folder, {"slower": slower}):
        assert await collected(folder, "slower", first=0) == [0, 1]
        with pytest.raises(UserError, match=r"did not answer within 0\.3 seconds"):
            await collected(folder, "slower", first=0.6)


async def test_a_long_reply_arrives_whole(folder: DataFolder) -> None:
    async def long() -> str:
        return "ä" * 3_000_000

    async with serve(folder, {"long": long, "add": add}):
        assert await Holder(folder).ask("long") == "ä" * 3_000_000
        with pytest.raises(ServiceFailed, match="that is too long"):
            await Holder(folder).ask("add", a="x" * (1 << 20))


async def test_a_socket_left_by_a_killed_service_is_replaced(folder: DataFolder) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(folder.control_socket))
    left.close()
    with pytest.raises(NoService):
        await Holder(folder).ask("add", a=1)
    async with serve(folder, {"add": add}):
        assert await Holder(folder).ask("add", a=1) == 1


async def test_a_second_service_leaves_the_first_ones_socket_alone(folder: DataFolder) -> None:
    async with serve(folder, {"add": add}):
        with pytest.raises(FolderLocked, match="Another service is already listening"):
            await serve(folder, {}).__aenter__()
        assert await Holder(folder).ask("add", a=1) == 1


@pytest.fixture
def deep(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    """A folder whose path is too long for a socket; temporary folders are made in a short one."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder.path))
    made = DataFolder(folder.path / ("d" * 80) / ("e" * 80))
    made.prepare()
    return made


async def test_a_path_too_long_for_a_socket_is_no_obstacle(folder: DataFolder, deep: DataFolder) -> None:
    async with serve(deep, {"add": add}):
        path = Path(deep.control_path.read_text())
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(deep.control_path.stat().st_mode) == 0o600
        assert await Holder(deep).ask("add", a=4) == 4
    assert not deep.control_path.exists()
    assert not path.parent.exists()
    with pytest.raises(NoService):
        await Holder(deep).ask("add", a=1)


async def test_where_temporary_files_go_may_be_too_long_as_well(
    deep: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(deep.path))
    async with serve(deep, {"add": add}):
        assert await Holder(deep).ask("add", a=4) == 4
    monkeypatch.setattr("bot.interfaces.control.server._SHORT", str(deep.path / "gone"))
    with pytest.raises(StoreError, match="too long for a socket; set CARINA_HOME to a shorter one"):
        await serve(deep, {}).__aenter__()
