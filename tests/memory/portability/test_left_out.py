"""What records of other programs lose when they come in: each says so itself."""

import json
import zipfile
from pathlib import Path

import pytest

from memory.portability import foreign_exports
from memory.portability.car import CarError
from memory.portability.foreign_exports import Note, OldAgent, SkippedRecord, Talk
from texts import speaking

AT = "2026-11-20T08:00:00Z"


def test_a_note_in_deep_folders_names_the_tags_that_it_loses(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*"abcdefghij")
    folder.mkdir(parents=True)
    (folder / "note.md").write_text("Feed the cat.", "utf-8")
    (note,) = foreign_exports.markdown(tmp_path)
    assert isinstance(note, Note)
    assert note.tags == tuple("abcdefgh")
    assert note.changes == tuple(f"left out the tag {tag}: a note can have at most 8 tags" for tag in "ij")


def test_what_is_lost_is_said_in_the_readers_language(tmp_path: Path) -> None:
    (tmp_path / "blank.md").write_text(" ", "utf-8")
    with speaking("de"):
        (left,) = foreign_exports.markdown(tmp_path)
        assert left == SkippedRecord("blank.md", "ist leer")
        block = {"label": "x", "description": "d"}
        (came,) = foreign_exports.letta({"agents": [{"name": "Ann", "core_memory": [block, block]}]})
    assert isinstance(came, OldAgent)
    assert [each.changes for each in came.blocks] == [(), ("es gibt schon x, daher wurde es zu x_2",)]


def test_a_message_of_discord_counts_its_attachments(tmp_path: Path) -> None:
    message = {"ID": 7, "Timestamp": AT, "Contents": "Look", "Attachments": "https://a.test/1 https://a.test/2"}
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as package:
        package.writestr("Account/user.json", json.dumps({"id": "5", "username": "olga"}))
        package.writestr("Messages/c55/messages.json", json.dumps([message]))
    (talk,) = foreign_exports.discord(tmp_path / "package.zip")
    assert isinstance(talk, Talk)
    assert talk.changes == ("left out 2 parts without text",)


def package(tmp_path: Path, files: dict[str, str], how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(tmp_path / "package.zip", "w", how) as made:
        for name, text in {"account/user.json": '{"id": "5"}', **files}.items():
            made.writestr(name, text)
    return tmp_path / "package.zip"


def refused(path: Path) -> str:
    with pytest.raises(CarError) as error:
        foreign_exports.whole(lambda: foreign_exports.discord(path), path)
    return str(error.value)


def test_a_package_whose_files_are_too_large_together_is_refused_unread(tmp_path: Path) -> None:
    piece = f"[{' ' * (65 << 20)}]"
    path = package(tmp_path, {f"messages/c{at}/messages.json": piece for at in range(4)})
    assert path.stat().st_size < 1 << 20
    assert "is larger than 256 MB" in refused(path)


def test_a_package_without_messages_is_not_imported_as_an_empty_one(tmp_path: Path) -> None:
    assert "it has no messages.json" in refused(package(tmp_path, {"messages/c1/messages.csv": "ID,Contents\n1,hey\n"}))


def test_damage_inside_a_package_is_not_said_to_be_encryption(tmp_path: Path) -> None:
    path = package(tmp_path, {"messages/c1/messages.json": "[]" + " " * 4_000}, zipfile.ZIP_LZMA)
    data = bytearray(path.read_bytes())
    at = data.index(b"messages.json") + len("messages.json") + 12
    data[at : at + 8] = bytes(each ^ 0xFF for each in data[at : at + 8])
    path.write_bytes(data)
    assert "is damaged" in refused(path)


def test_an_agent_of_letta_says_what_its_messages_and_blocks_lose() -> None:
    parts = [{"type": "text", "text": "Look"}, {"type": "image", "source": {}}]
    message = {"id": "m", "role": "user", "content": parts, "created_at": AT}
    block = {"id": "b", "label": "x" * 70, "value": "y" * 100_001, "description": "Notes"}
    agent = {"id": "a", "name": "Sam", "system": "", "block_ids": ["b"], "messages": [message]}
    found = list(foreign_exports.letta({"agents": [agent], "blocks": [block]}))
    (talk,) = (each for each in found if isinstance(each, Talk))
    assert talk.changes == ("left out 1 part without text",)
    (came,) = (each for each in found if isinstance(each, OldAgent))
    (old,) = came.blocks
    assert old.changes == (f"its label became {'x' * 64}", "left out 1 character at the end")
