"""Imports from other programs. The files are made here by their descriptions; those of version 1 by the seeds."""

import json
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.agents.permissions.roles_and_rights import People
from bot.errors import CallError, UserError
from bot.interfaces.cli.generate import found
from bot.services.caller import owner_at_terminal
from bot.services.memory.foreign_imports import Imports, OneImport
from bot.services.registry import operations_of
from bot.services.results import Plain
from memory import agents
from memory.blocks.records import usual_limit
from memory.people.audience import OWNER, Trust
from memory.portability.car import CarError, cid_of, encoded, write_block, write_header
from memory.store.constellations import Constellations
from memory.store.database import Database
from memory.store.ids import PersonId
from memory.store.records import replace
from sources.terminal import PERSON
from tests.bot.services.calling import ADA, NOW, SETUP
from tests.processes import ROOT

OLGA = owner_at_terminal()


@pytest.fixture
async def imports(tmp_path: Path) -> AsyncIterator[Imports]:
    async with Constellations.open(tmp_path / "data", lambda: NOW) as constellations:
        found = await constellations.ensure("home", PERSON)
        async with constellations.use(found.id) as opened:
            await opened.write(SETUP, lambda tx: agents.seed_agent(tx, ADA, NOW))
            yield Imports(opened, People((PERSON, PersonId("discord:1"))), lambda: NOW, constellations)


@pytest.fixture
def database(imports: Imports) -> Database:
    return imports.database


def given(file: Path, **more: Any) -> OneImport:
    return OneImport(file=file, **{"audience": "owner", **more})


async def rows(database: Database, sql: str) -> list[tuple[Any, ...]]:
    return await database.read(lambda found: [tuple(row) for row in found.all(sql)])


def test_every_import_has_an_example_of_its_own_kind_of_file() -> None:
    examples = {each.name: each.example for each in operations_of([Imports]).values() if each.example}
    told = (ROOT / "docs" / "moving.md").read_text("utf-8")
    assert len(examples) == 5
    for name, example in examples.items():
        assert f"carina {name.replace('.', ' ')} {example} " in told
    assert {each.name: each.example for each in found().operations if each.name in examples} == examples


def conversations(path: Path) -> Path:
    def message(known: str, role: str, at: float | None, *parts: Any) -> dict[str, Any]:
        said = {"id": known, "author": {"role": role}, "create_time": at, "content": {"parts": list(parts)}}
        return {"id": known, "message": said, "parent": None, "children": []}

    nodes = [
        {"id": "root", "message": None, "parent": None, "children": []},
        message("m2", "assistant", 1_700_000_010.0, "Try the **blue** one."),
        message("m1", "user", 1_700_000_000.5, "Which kettle?", {"asset_pointer": "file"}),
        message("m3", "system", 1_700_000_000.0, "You are helpful."),
        message("m4", "user", 1_700_000_020.0, ""),
        message("m5", "user", None, "No time."),
    ]
    mapping = {each["id"]: each for each in nodes}
    path.write_text(json.dumps([{"id": "c1", "title": "Kettles", "mapping": mapping}]), "utf-8")
    return path


async def test_conversations_become_messages_once(imports: Imports, database: Database, tmp_path: Path) -> None:
    file = conversations(tmp_path / "conversations.json")
    foreseen = await imports.chatgpt(OLGA, given(file, dry_run=True))
    assert (foreseen.carried, foreseen.changed, foreseen.refused) == (1, 1, 3)
    assert await rows(database, "SELECT * FROM messages") == []
    report = await imports.chatgpt(OLGA, given(file))
    assert (report.carried, report.changed, report.refused, report.known) == (1, 1, 3, 0)
    told = {each.record: each.reason for each in report.listed}
    assert told.keys() == {"c1/m1", "c1/m3", "c1/m4", "c1/m5"}
    assert told["c1/m1"] == "left out 1 part without text"
    assert await rows(database, "SELECT content, created_at, audience, trust FROM messages ORDER BY id") == [
        ("Which kettle?", "2023-11-14T22:13:20.500Z", OWNER, 4),
        ("Try the **blue** one.", "2023-11-14T22:13:30.000Z", OWNER, 1),
    ]
    again = await imports.chatgpt(OLGA, given(file))
    assert (again.carried, again.known) == (0, 2)
    assert len(await rows(database, "SELECT id FROM messages")) == 2


async def test_a_message_that_would_fill_memory_is_left_out(imports: Imports, tmp_path: Path) -> None:
    message = {"id": "m", "author": {"role": "user"}, "create_time": 1.7e9, "content": {"parts": ["x" * 1_000_001]}}
    (tmp_path / "huge.json").write_text(json.dumps([{"id": "c", "mapping": {"m": {"message": message}}}]), "utf-8")
    for dry in (True, False):
        report = await imports.chatgpt(OLGA, given(tmp_path / "huge.json", dry_run=dry))
        assert [each.reason for each in report.listed] == ["it is longer than 1,000,000 characters"]


def empty(folder: Path) -> Path:
    """An export in which nothing can be carried."""
    (folder / "empty.json").write_text(json.dumps([{"id": "c2", "mapping": {"m": {"message": {"id": "m"}}}}]), "utf-8")
    return folder / "empty.json"


async def test_an_import_can_be_read_and_taken_back(imports: Imports, database: Database, tmp_path: Path) -> None:
    report = await imports.chatgpt(OLGA, given(conversations(tmp_path / "conversations.json")))
    (past,) = (await imports.report(OLGA)).rows
    assert (past.source, past.carried, past.changed, past.refused) == ("chatgpt", 1, 1, 3)
    shown = await imports.show(OLGA, origin=past.origin)
    assert len(shown.rows) == 5
    assert await imports.undo(replace(OLGA, sure=True), origin=report.origin) == "Removed 2 imported records."
    assert await rows(database, "SELECT * FROM messages") == []
    assert (await imports.chatgpt(OLGA, given(tmp_path / "conversations.json"))).carried == 1
    with pytest.raises(UserError, match="has nothing left to undo"):
        await imports.undo(replace(OLGA, sure=True), (await imports.chatgpt(OLGA, given(empty(tmp_path)))).origin)
    with pytest.raises(UserError, match="There is no import"):
        await imports.undo(replace(OLGA, sure=True), origin="nothing")


async def test_of_folders_with_like_names_each_is_taken_back_alone(
    imports: Imports, database: Database, tmp_path: Path
) -> None:
    origins = []
    for name in ("one/notes", "two/notes", "notes-work"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "gate.md").write_text(f"The gate of {name} is green.")
        origins.append((await imports.markdown(OLGA, given(tmp_path / name))).origin)
    undone = await imports.undo(replace(OLGA, sure=True), origin=origins[0])
    assert undone == "Removed 1 imported record."
    left = {text for (text,) in await rows(database, "SELECT content FROM archival_entries")}
    assert left == {"The gate of two/notes is green.", "The gate of notes-work is green."}
    counts = [row.carried for row in (await imports.report(OLGA)).rows if origins[0].startswith(row.origin)]
    assert counts == [0], "what was taken back is not counted as carried over"


async def test_an_audience_has_to_be_named(imports: Imports, tmp_path: Path) -> None:
    file = conversations(tmp_path / "conversations.json")
    for wrong, words in (("", "--audience"), ("everybody", "everybody"), ("guild:", "“guild:” is not valid")):
        with pytest.raises(CallError, match=words):
            await imports.chatgpt(OLGA, given(file, audience=wrong))


def discord_package(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("Account/user.json", json.dumps({"id": "123", "username": "olga"}))
        said = [
            {"ID": 7, "Timestamp": "2020-02-29 08:00:00", "Contents": "Hello hall", "Attachments": ""},
            {"ID": 8, "Timestamp": "2020-02-29 08:00:01", "Contents": "", "Attachments": "https://example.org/a.png"},
        ]
        package.writestr("Messages/c55/messages.json", json.dumps(said))
        package.writestr("Messages/index.json", json.dumps({"55": "hall"}))
    return path


async def test_notes_become_entries_and_links_that_lead_out_are_left(
    imports: Imports, database: Database, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    (notes / "garden").mkdir(parents=True)
    (notes / "garden" / "roses.md").write_text("# Roses\n\nCut them in March.", "utf-8")
    (notes / "long.md").write_text("\n\n".join(f"Paragraph {at} " + "x" * 900 for at in range(10)), "utf-8")
    (notes / "empty.md").write_text("\n", "utf-8")
    (notes / "bytes.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "secret.md").write_text("secret", "utf-8")
    (notes / "out.md").symlink_to(tmp_path / "secret.md")
    report = await imports.markdown(OLGA, given(notes, agent="ada"))
    assert {each.record: each.reason for each in report.listed} == {
        "out.md": "it is a link to something outside the folder",
        "empty.md": "it is empty",
        "bytes.md": "it cannot be read as text: UnicodeDecodeError",
    }
    found = await rows(database, "SELECT content, tags FROM archival_entries WHERE parent_entry_id IS NULL ORDER BY n")
    assert found[0] == ("# Roses\n\nCut them in March.", '["garden"]')
    assert len(found) == 4
    assert all("secret" not in text for text, _ in found)
    (notes / "garden" / "roses.md").write_text("# Roses\n\nCut them in April.", "utf-8")
    again = await imports.markdown(OLGA, given(notes))
    assert (again.carried, again.known) == (1, 3)


def letta_file(path: Path) -> Path:
    found = {
        "agents": [
            {
                "id": "agent-0", "name": "Sam", "system": "You are Sam.", "block_ids": ["block-0", "block-1"],
                "messages": [
                    {"id": "m0", "role": "system", "content": [{"type": "text", "text": "You are Sam."}]},
                    {
                        "id": "m1", "role": "user", "content": [{"type": "text", "text": "Hi Sam"}],
                        "created_at": "2025-05-01T10:00:00+02:00",
                    },
                ],
            }
        ],
        "blocks": [
            {"id": "block-0", "label": "human", "value": "Olga likes tea.", "limit": 5000, "description": "Her"},
            {"id": "block-1", "label": "My persona", "value": "I am Sam.", "read_only": True},
        ],
        "tools": [{"name": "send_message"}],
    }  # fmt: skip
    path.write_text(json.dumps(found), "utf-8")
    return path


async def test_a_letta_agent_comes_with_its_blocks(imports: Imports, database: Database, tmp_path: Path) -> None:
    report = await imports.letta(OLGA, given(letta_file(tmp_path / "sam.af")))
    assert (report.carried, report.changed, report.refused) == (3, 1, 2)
    assert ("agent-0/My persona", "its label became my_persona; its description was made from its label") in [
        (each.record, each.reason) for each in report.listed
    ]
    assert await rows(database, "SELECT name, system_prompt FROM agents ORDER BY name") == [
        ("Ada", "x"), ("Sam", "You are Sam."),
    ]  # fmt: skip
    blocks = await rows(
        database, "SELECT label, content, permission, audience FROM memory_blocks WHERE label LIKE '%persona'"
    )
    assert blocks == [("my_persona", "I am Sam.", "read_only", OWNER)]
    assert await rows(database, "SELECT content, created_at FROM messages") == [("Hi Sam", "2025-05-01T08:00:00.000Z")]
    assert (await imports.letta(OLGA, given(tmp_path / "sam.af"))).known == 2


@pytest.mark.parametrize("limit", ["lots", [1], float("inf")])
async def test_a_limit_that_is_no_number_leaves_the_rest_of_the_file(
    imports: Imports, database: Database, tmp_path: Path, limit: object
) -> None:
    block = {"label": "persona", "value": "I am Sam.", "description": "Who I am", "limit": limit}
    (tmp_path / "sam.af").write_text(json.dumps({"name": "Sam", "core_memory": [block]}), "utf-8")
    report = await imports.letta(OLGA, given(tmp_path / "sam.af"))
    assert [each.reason for each in report.listed] == ["its limit became the default, because it is not a number"]
    sql = "SELECT content, char_limit FROM memory_blocks WHERE label = 'persona' AND content LIKE '%Sam%'"
    assert await rows(database, sql) == [("I am Sam.", usual_limit("core"))]


async def test_an_agent_whose_name_a_terminal_would_obey_is_left_out_with_the_reason(
    imports: Imports, database: Database, tmp_path: Path
) -> None:
    (tmp_path / "sam.af").write_text(json.dumps({"name": "Sam\n\x1b[2J", "core_memory": []}), "utf-8")
    reason = "name: expected a name of 1 to 64 characters on one line"
    for dry_run in (True, False):
        report = await imports.letta(OLGA, given(tmp_path / "sam.af", dry_run=dry_run))
        assert (report.carried, report.refused) == (0, 1)
        assert [(each.outcome, each.reason) for each in report.listed] == [("refused", reason)]
    assert await rows(database, "SELECT name FROM agents") == [("Ada",)]


def version_1(path: Path, version: int = 3) -> Path:
    """Made from the seeds' description: memories with a label, content, type, pinned and permission."""
    memories = [
        {
            "label": "human",
            "content": "Olga likes tea.",
            "memory_type": "core",
            "pinned": True,
            "permission": "read_write",
        },
        {"label": "rules", "content": "Be kind.", "memory_type": "working", "pinned": True, "permission": "read_only"},
        {"label": "Rules", "content": "Be quick.", "description": "More of them", "permission": "admin"},
        {"label": "trips", "content": "Rome in 2023.", "memory_type": "archival", "pinned": False},
    ]
    messages = [{"role": "user", "content": "Hello", "created_at": "2024-06-01T00:00:00Z"}]
    blocks = [encoded(each) for each in memories]
    chunk = encoded({"messages": messages})
    agent = encoded({
        "name": "Iris", "base_instructions": "You are Iris.", "memories": [cid_of(each) for each in blocks],
        "message_chunks": [cid_of(chunk)], "model": "a-model", "tool_rules": [{"tool": "recall"}],
    })  # fmt: skip
    stray, group = encoded({"relation": "owns"}), encoded({"name": "Team", "members": [cid_of(agent)]})
    links = {"agents": [cid_of(agent)], "groups": [cid_of(group)]}
    root = encoded({"version": version, "export_type": "constellation", **links})
    with path.open("wb") as file:
        write_header(file, cid_of(root))
        for each in (*blocks, chunk, agent, group, stray, root):
            write_block(file, cid_of(each), each)
    return path


async def test_version_1_comes_in_as_the_seeds_say(imports: Imports, database: Database, tmp_path: Path) -> None:
    report = await imports.version_1(OLGA, given(version_1(tmp_path / "old.car")))
    assert (report.carried, report.changed, report.refused) == (2, 4, 2)
    described = "its description was made from its label"
    assert {each.record.partition(" #")[0]: each.reason for each in report.listed} == {
        "agent Iris": "left out model, tool_rules, which Carina does not import",
        "memory human of Iris": described,
        "memory rules of Iris": f"{described}; working became core, because it was pinned",
        "memory Rules of Iris": "its label became rules; there is another rules, so it became rules_2",
        "Team": "it is not an agent, a memory or a message",
        "record": "it is not an agent, a memory or a message",
    }
    sql = """SELECT label, block_type, content, permission FROM memory_blocks
             WHERE agent_id = (SELECT id FROM agents WHERE name = 'Iris') AND label > 'h' AND label < 's' ORDER BY 1"""
    assert await rows(database, sql) == [
        ("human", "core", "Olga likes tea.", "read_write"),
        ("rules", "core", "Be kind.", "read_only"),
        ("rules_2", "core", "Be quick.", "admin"),
    ]
    assert await rows(database, "SELECT content FROM archival_entries WHERE parent_entry_id IS NULL") == [
        ("trips: Rome in 2023.",)
    ]
    assert await rows(database, "SELECT content FROM messages") == [("Hello",)]
    assert (await imports.version_1(OLGA, given(tmp_path / "old.car"))).refused == 2
    audit = await rows(database, "SELECT outcome, count(*) FROM import_audit WHERE source = 'v1' GROUP BY 1")
    assert dict(audit) == {"carried": 2, "changed": 4, "refused": 2}, "what is left out again is not told twice"


@pytest.mark.parametrize(
    ("operation", "content"),
    [
        *(("chatgpt", content) for content in (b"{}", b"not json")),
        *(("letta", b"[1]"), ("discord", b"PK no"), ("version_1", b"no car")),
        ("chatgpt", b'[{"mapping": []}]'),
        ("chatgpt", b'[{"id": "c", "mapping": {"m": {"message": 7}}}]'),
        ("chatgpt", b'[{"id": "c", "mapping": {"m": {"message": {"author": "me"}}}}]'),
        (
            "chatgpt",
            b'[{"id": "c", "mapping": {"a": {"message": {"create_time": "x"}}, "b": {"message": {"create_time": 1}}}}]',
        ),
    ],
)
async def test_files_of_other_kinds_and_damaged_ones_are_refused(
    imports: Imports, database: Database, tmp_path: Path, operation: str, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    words = "damaged|no list of conversations|not JSON" if operation == "chatgpt" else None
    with pytest.raises(CarError, match=words):
        await getattr(imports, operation)(OLGA, given(tmp_path / "file"))
    assert await rows(database, "SELECT * FROM import_audit") == []


async def test_a_file_of_a_newer_version_is_refused(imports: Imports, tmp_path: Path) -> None:
    with pytest.raises(CarError):
        await imports.version_1(OLGA, given(version_1(tmp_path / "newer.car", 4)))


@pytest.mark.parametrize(
    ("as_owner", "linked", "trusted"), [("", False, False), ("Olga", False, True), ("", True, True)]
)
async def test_messages_are_the_owners_when_their_author_is(
    imports: Imports, database: Database, tmp_path: Path, as_owner: str, linked: bool, trusted: bool
) -> None:
    people = People(
        (PERSON, PersonId("discord:1")), links={PERSON: frozenset({PersonId("discord:123")})} if linked else {}
    )
    file = given(discord_package(tmp_path / "package.zip"), as_owner=as_owner)
    report = await replace(imports, people=people).discord(OLGA, file)
    assert report.strangers == (() if trusted else ("olga",))
    assert await rows(database, "SELECT trust FROM messages") == [(Trust.OWNER if trusted else Trust.STRANGER,)]


async def test_an_owner_of_whom_the_file_knows_nothing_is_refused(
    imports: Imports, database: Database, tmp_path: Path
) -> None:
    file = given(discord_package(tmp_path / "package.zip"), as_owner="Tim")
    with pytest.raises(UserError, match="Nobody in this file is named “Tim”"):
        await imports.discord(OLGA, file)
    assert await rows(database, "SELECT trust FROM messages") == []


async def test_users_of_agent_files_are_strangers_unless_they_are_named(
    imports: Imports, database: Database, tmp_path: Path
) -> None:
    report = await imports.letta(OLGA, given(letta_file(tmp_path / "sam.af")))
    assert report.strangers == ("user",)
    assert "Messages from user are treated as messages from strangers" in "\n".join(report.lines(Plain("UTC", NOW)))
    await imports.version_1(OLGA, given(version_1(tmp_path / "old.car"), as_owner="user"))
    assert await rows(database, "SELECT content, trust, person_id FROM messages ORDER BY id") == [
        ("Hi Sam", Trust.STRANGER, None),
        ("Hello", Trust.OWNER, PERSON),
    ]


async def test_an_encrypted_package_is_refused_in_words(imports: Imports, tmp_path: Path) -> None:
    package = bytearray(discord_package(tmp_path / "package.zip").read_bytes())
    for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := package.find(head, at + 1)) >= 0:
            package[at + flags] |= 1
    (tmp_path / "package.zip").write_bytes(package)
    with pytest.raises(CarError, match="is encrypted"):
        await imports.discord(OLGA, given(tmp_path / "package.zip"))
