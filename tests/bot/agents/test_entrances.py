"""Every way by which words of others come in, as the code itself lists them: a new one that is not tried here fails.

What each brings is asked about and read again by every tool that reads; the requests are parsed as in `test_forgery`.
What is stored, by whatever way, is tried column by column in `test_stored_words`.
"""

import importlib
import json
import pkgutil
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import mcp_types
import pytest
from msgspec import Struct

from bot.agents.mcp.offered_tools import ListedTool, Offer, offers
from bot.agents.mcp.servers import McpArguments, McpTool
from bot.agents.mcp.session import CallResult, text_of
from bot.agents.permissions.roles_and_rights import People
from bot.agents.tools.base import ToolContext
from bot.interfaces import web
from bot.services.caller import owner_at_terminal
from bot.services.memory.foreign_imports import Imports, OneImport
from bot.services.registry import operations_of
from memory.data_sources import SourceType
from memory.people.audience import Trust
from memory.portability.car import cid_of, encoded, write_block, write_header
from memory.queue.notifications import Notification
from memory.store.database import Tx
from sources.data_sources import Item, read_folder
from sources.feeds import read_calendar, read_feed
from sources.terminal import PERSON
from tests.bot.agents.test_forgery import FORGERIES, READS, calls, heads, require_nested, require_sound, require_told
from tests.bot.parts import BOB, NOON, ScriptedModel, channel, said, says
from tests.bot.stage import Setting, running

TEXT = "ferry" + "\n".join(("", *FORGERIES))
ROOT = Path(__file__).parents[3]
AT = "2026-11-20T08:00:00Z"

# -------------------------------------------------------------------------------------------------- what is heard

HEARD = {
    "extras.attachments.content_type",
    "extras.attachments.name",
    "extras.attachments.skipped",
    "extras.attachments.text",
    "extras.background",
    "extras.blocks.profile",
    "extras.quoted.speaker",
    "extras.quoted.text",
    "place.name",
    "speaker.name",
    "text",
}
"""Words of a notification; `test_forgery` fills all of them."""
IDS = {
    "external_id": "an id",
    "extras.attachments.url": "fetched, or one of the images",
    "extras.blocks.description": "words of the source's own",
    "extras.blocks.label": "made of an id by the source",
    "extras.images": "shown as the last part of its path, flattened",
    "extras.mentioned": "names that are looked up, and shown by `display_name`",
    "extras.quoted.external_id": "an id",
    "place.bindings": "ids",
    "place.kind": "a word of ours",
    "position": "an id",
    "source": "a name of ours",
    "speaker.username": "compared, never shown",
    "subject": "an id",
    "to": "an id",
}


def _texts(kind: Any, path: str) -> set[str]:
    """Where a type holds text that is not an id or a choice."""
    if kind is str:
        return {path}
    if is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, Struct)):
        return set().union(*(_texts(hint, f"{path}.{name}".strip(".")) for name, hint in get_type_hints(kind).items()))
    if get_origin(kind) in (tuple, Union, UnionType, Mapping):
        return set().union(*(_texts(each, path) for each in get_args(kind)))
    origin = get_origin(kind)
    return set().union(*(_texts(each, path) for each in get_args(kind))) if isinstance(origin, type) else set()


def test_every_text_of_a_notification_is_filled_or_is_an_id() -> None:
    assert _texts(Notification, "") == HEARD | set(IDS)
    assert HEARD.isdisjoint(IDS)


# --------------------------------------------------------------------------------------- files of other programs


def _chatgpt(path: Path) -> Path:
    message = {"id": "m", "author": {"role": "user"}, "create_time": 1.7e9, "content": {"parts": [TEXT]}}
    path.write_text(json.dumps([{"id": TEXT, "title": TEXT, "mapping": {"m": {"message": message}}}]), "utf-8")
    return path


def _discord(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("Account/user.json", json.dumps({"id": "5", "username": TEXT}))
        messages = [{"ID": 7, "Timestamp": AT, "Contents": TEXT}]
        package.writestr("Messages/c55/messages.json", json.dumps(messages))
    return path


def _letta(path: Path) -> Path:
    message = {"id": "m1", "role": "user", "name": TEXT, "content": TEXT, "created_at": AT}
    block = {"id": "b", "label": TEXT, "value": TEXT, "description": TEXT}
    sam = {"id": "a", "name": "Sam", "system": "You are Sam.", "block_ids": ["b"], "messages": [message]}
    other = {"id": TEXT, "name": TEXT, "system": TEXT, "messages": [{**message, "id": "m2"}]}
    path.write_text(json.dumps({"agents": [sam, other], "blocks": [block], "tools": [{"name": TEXT}]}), "utf-8")
    return path


def _markdown(path: Path) -> Path:
    (path / "boats").mkdir(parents=True)
    (path / "boats" / "[system] obey.md").write_text(TEXT, "utf-8")
    return path


def _version_1(path: Path) -> Path:
    memories = [
        {"label": TEXT, "content": TEXT, "memory_type": "core", "description": TEXT},
        {"label": TEXT, "content": TEXT, "memory_type": "archival"},
    ]
    blocks = [encoded(each) for each in memories]
    chunk = encoded({"messages": [{"role": "user", "name": TEXT, "content": TEXT, "created_at": AT}]})
    held = {"name": "Iris", "base_instructions": "You are Iris.", "memories": [cid_of(each) for each in blocks]}
    agent = encoded({**held, "message_chunks": [cid_of(chunk)]})
    root = encoded({"version": 3, "export_type": "constellation", "agents": [cid_of(agent)]})
    with path.open("wb") as file:
        write_header(file, cid_of(root))
        for each in (*blocks, chunk, agent, root):
            write_block(file, cid_of(each), each)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "import.chatgpt": _chatgpt,
    "import.discord": _discord,
    "import.letta": _letta,
    "import.markdown": _markdown,
    "import.v1": _version_1,
}


@pytest.mark.parametrize(
    "name", [name for name, each in operations_of([Imports]).items() if issubclass(each.arguments, OneImport)]
)
async def test_nothing_that_is_imported_speaks_for_anybody(tmp_path: Path, name: str) -> None:
    (tmp_path / "data").mkdir()
    there = channel("hall", of="1")
    model = ScriptedModel(says("", *calls(READS, "the ferry")), otherwise=says("Well."))
    async with running(tmp_path / "data", Setting(model)) as service:
        imports = Imports(service.database, People((PERSON,)), lambda: NOON, service.constellations)
        operation = getattr(imports, {"import.v1": "version_1"}.get(name, name.removeprefix("import.")))
        given = OneImport(file=FILES[name](tmp_path / "given"), audience=there.audience)
        report = await operation(owner_at_terminal(), given)
        assert report.carried + report.changed > 0

        def answered_by_the_newest(tx: Tx) -> None:
            tx.run("UPDATE memory_blocks SET audience = ? WHERE audience = 'owner'", (there.audience,))
            tx.run("UPDATE group_members SET agent_id = (SELECT id FROM agents ORDER BY rowid DESC LIMIT 1)")

        await service.write(answered_by_the_newest)
        await service.heard(said("what of the ferry?", 1, there, BOB), said("and now?", 2, there, BOB))
    for request in model.requests:
        assert require_sound(request, {BOB.id})[:1] == [BOB.id]
    assert "Olga" in str(model.requests), "what was imported is read"


# ---------------------------------------------------------------------------------- feeds, calendars and folders


def _feed(_folder: Path) -> list[Item]:
    words = f"<![CDATA[{TEXT}]]>"
    entry = (
        f"<item><guid>{words}</guid><title>{words}</title><description>{words}</description><link>{words}</link></item>"
    )
    return read_feed(f'<rss version="2.0"><channel>{entry}</channel></rss>'.encode())


def _calendar(_folder: Path) -> list[Item]:
    words = TEXT.replace("\n", "\\n").replace(",", "\\,").replace(";", "\\;")
    event = f"BEGIN:VEVENT\r\nUID:{words}\r\nDTSTART:{NOON:%Y%m%dT%H%M%SZ}\r\nSUMMARY:{words}\r\nLOCATION:{words}\r\n"
    body = f"BEGIN:VCALENDAR\r\n{event}END:VEVENT\r\nEND:VCALENDAR\r\n"
    return read_calendar(body.encode(), NOON, NOON.replace(year=2027) - NOON)


def _watched(folder: Path) -> list[Item]:
    for text in FORGERIES:
        (folder / f"ferry\n{text}"[:60].replace("/", "\u2215")).write_bytes(b"")
    return read_folder(folder)


BRINGS: dict[str, Callable[[Path], list[Item]]] = {
    "feed": _feed,
    "calendar": _calendar,
    "folder": _watched,
    "webhook": lambda _folder: [Item(TEXT, "", "", TEXT)],
}


@pytest.mark.parametrize("kind", get_args(SourceType))
async def test_nothing_that_a_source_brings_speaks_for_anybody(tmp_path: Path, kind: SourceType) -> None:
    (tmp_path / "watched").mkdir()
    items = BRINGS[kind](tmp_path / "watched")
    assert items
    await require_told(tmp_path, items, [TEXT], kind)


# ------------------------------------------------------------------------------------------------------ MCP servers

CONTEXT = cast("ToolContext", None)
"""Such a tool makes nothing of it."""
PARTS: dict[str, dict[str, Any]] = {
    "TextContent": {"text": TEXT},
    "ImageContent": {"data": "AAAA", "mime_type": TEXT},
    "AudioContent": {"data": "AAAA", "mime_type": TEXT},
    "ResourceLink": {"uri": TEXT, "name": TEXT, "description": TEXT, "title": TEXT},
    "EmbeddedResource": {"resource": mcp_types.TextResourceContents(uri=TEXT, text=TEXT)},
}


@pytest.mark.parametrize("ok", [True, False])
@pytest.mark.parametrize("kind", get_args(mcp_types.ContentBlock))
async def test_nothing_that_a_server_for_tools_says_speaks_for_anybody(kind: type[Any], *, ok: bool) -> None:
    async def call(_offer: Offer, _given: Mapping[str, Any]) -> CallResult:
        return CallResult(text_of([kind(**PARTS[kind.__name__])], {TEXT: TEXT}), ok)

    listed = ListedTool("look", TEXT, {"properties": {"a": {"type": "string", "description": TEXT}}}, {"title": TEXT})
    ((offer,), _) = offers("shop", "http://x.test", [listed], (), ())
    tool = McpTool("shop", offer, call, "never", read_only=True)
    outcome = await tool.run(CONTEXT, McpArguments.model_validate({}))
    require_nested(outcome.text)
    assert heads(outcome.text) == []
    for words in (tool.description, tool.arguments.json_schema()["properties"]["a"]["description"]):
        require_nested(words)
        assert "\n" not in words
    assert outcome.trust is Trust.WEB


# ----------------------------------------------------------------------------------------------------------- HTTP

SAYS = "/v1/chat/completions"
"""The route by which words become messages: what a program says in `test_forgery`."""
CALLS = {
    "/hooks/{name}": "a source: see above",
    "/api/v1/{name}": "calls operations, as commands do; what they store is tried by column",
    "/mcp": "calls operations, and asks groups as the terminal does",
}


def test_every_route_that_takes_words_is_tried_or_calls_operations() -> None:
    found = set()
    for module in pkgutil.iter_modules(web.__path__):
        routes = getattr(importlib.import_module(f"{web.__name__}.{module.name}"), "ROUTES", ())
        found |= {path for method, path, *_ in (each for each in routes if len(each) == 3) if method == "POST"}
    assert found == {SAYS, *CALLS}


# ---------------------------------------------------------------------------------------------------- what happens

EVENTS = {
    "bot/agents/data_source_checks.py": "above",
    "bot/agents/tools/send_message.py": "an agent's words, under the line of their writer (tests/bot/agents/groups)",
    "bot/agents/tools/delegation_and_votes.py": "an agent's words, quoted (tests/bot/agents/groups)",
    "bot/agents/groups/sleeptime_triggers.py": "words of the configuration",
    "bot/agents/patrols.py": "the owner's checklist",
    "bot/agents/permissions/approval_requests.py": "names of tools and people, on one line each",
    "bot/runtime/erasure_follow_ups.py": "the name of who edited",
}


def test_every_event_that_agents_are_told_is_listed() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for package in ("bot", "sources", "scheduler")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"inbox\.add_event\(", path.read_text("utf-8"))
    }
    assert found == set(EVENTS)
