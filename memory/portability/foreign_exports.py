"""Exports of other programs, read as records: messages, notes, and agents with their blocks. Pure except for reading.

Each record has a key that is unique in its file, so that a second import adds nothing. What cannot be imported is a
record, too, with the reason, for the report.
"""

import hashlib
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from memory.blocks.records import MOST_CHARACTERS, Permission, usual_limit
from memory.knowledge.entries import cut
from memory.portability.car import CarError, cid_of, encoded, read_blocks, shown
from memory.store.records import replace
from texts import _, gettext_noop, ngettext

_MOST_BYTES = 256 << 20
"""The most bytes of a file that is read whole."""
_DAMAGE = (
    *(AttributeError, EOFError, LookupError, NotImplementedError, OSError, RecursionError, TypeError, ValueError),
    *(lzma.LZMAError, zlib.error),
)
_PIECE = 4_000
"""Characters of a note; longer texts are split, between paragraphs if possible."""
MOST_TAGS = 8
"""The most tags of one note."""
Role: TypeAlias = Literal["user", "assistant", "system"]


class Talk(Struct, frozen=True):
    key: str
    conversation: str
    role: Role
    speaker: str
    """Empty for the owner of the export."""
    text: str
    at: datetime
    person: str = ""
    """The author's id if the platform is one of ours: "discord:123"."""
    changes: tuple[str, ...] = ()
    """What was left out of it, and why."""


class Note(Struct, frozen=True):
    """Something for long-term memory."""

    key: str
    text: str
    tags: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


class OldBlock(Struct, frozen=True):
    """A memory block of another program. `table` holds its settings as the configuration names them."""

    key: str
    table: Mapping[str, Any]
    changes: tuple[str, ...] = ()
    """What was changed, and why."""


class OldAgent(Struct, frozen=True):
    """An agent of another program, with its blocks."""

    key: str
    name: str
    prompt: str
    blocks: tuple[OldBlock, ...]
    changes: tuple[str, ...] = ()


class SkippedRecord(Struct, frozen=True):
    key: str
    why: str


Record: TypeAlias = Talk | Note | OldAgent | SkippedRecord


def whole(reader: Callable[[], Iterable[Record]], path: Path) -> list[Record]:
    """All records of a file, read before any is imported, so that none of a damaged file is. Raises CarError."""
    try:
        return list(reader())
    except CarError:
        raise
    except _DAMAGE as error:
        raise CarError("{path} is damaged, or does not have the expected format", path=path) from error
    except RuntimeError as error:  # of zipfile
        raise CarError("{path} is encrypted: decrypt it, then import it", path=path) from error


def digest(path: Path) -> str:
    """The digest of a file or, for a folder, of its path, which identifies an import."""
    if path.is_dir():
        return hashlib.sha256(str(path.resolve()).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """Parse a JSON file. Raises CarError if it is invalid or too large."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise CarError("{path} is larger than {size} MB", path=path, size=_MOST_BYTES >> 20)
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CarError("{path} is not JSON: {error}", path=path, error=error) from error
    except OSError as error:
        raise CarError("{path} cannot be read: {reason}", path=path, reason=error.strerror) from error


def chatgpt(found: Any) -> Iterator[Record]:
    """The conversations of a ChatGPT export (`conversations.json`). Raises CarError for any other file."""
    if not isinstance(found, list) or not all(
        isinstance(each, dict) and isinstance(each.get("mapping"), dict) for each in found
    ):
        raise CarError("this is not a conversations.json from ChatGPT: it has no list of conversations")
    for conversation in found:
        name = str(conversation.get("conversation_id") or conversation.get("id") or conversation.get("create_time"))
        nodes = conversation["mapping"]
        said = [each["message"] for each in nodes.values() if isinstance(each, dict) and each.get("message")]
        for message in sorted(said, key=lambda each: each.get("create_time") or 0):
            yield _of_chatgpt(name, message)


def _of_chatgpt(conversation: str, message: Mapping[str, Any]) -> Record:
    key = f"{conversation}/{message.get('id')}"
    role: Any = (message.get("author") or {}).get("role")
    parts = (message.get("content") or {}).get("parts") or ()
    words = [each for each in parts if isinstance(each, str)]
    text, changes = "\n".join(words), _not_text(len(parts) - len(words))
    speaker = "ChatGPT" if role == "assistant" else ""
    return _said(Talk(key, conversation, role, speaker, text, _moment(message.get("create_time")), changes=changes))


def _said(found: Talk) -> Record:
    """The message, or why it is not imported."""
    if found.role not in ("user", "assistant"):
        return SkippedRecord(
            found.key, _("a message with the role {role!s:.20} is not part of what was said", role=found.role)
        )
    if not found.text.strip():
        return SkippedRecord(found.key, _("it holds no text"))
    return (
        SkippedRecord(found.key, _("it has no time")) if found.at is _NEVER else replace(found, text=found.text.strip())
    )


def _not_text(count: int) -> tuple[str, ...]:
    """A note that this many pictures, files or the like were left out."""
    said = ngettext("left out {count} part without text", "left out {count} parts without text", count)
    return (said,) if count else ()


def discord(path: Path) -> Iterator[Record]:
    """A person's own messages in Discord's data package. Raises CarError for any other file."""
    try:
        with zipfile.ZipFile(path) as package:
            names = {each.filename.lower(): each for each in package.infolist()}
            account = _ending(names, "account/user.json")
            said = [file for file in names if file.endswith("/messages.json") and "messages/" in file]
            if not said:
                raise CarError("{path} contains no messages: it has no messages.json", path=path)
            size = account.file_size + sum(names[file].file_size for file in said)
            if size > _MOST_BYTES:  # a small package can hold any size
                raise CarError("{path} is larger than {size} MB", path=path, size=_MOST_BYTES >> 20)
            user = _in_zip(package, account)
            person, name = f"discord:{user['id']}", str(user.get("global_name") or user.get("username") or "")
            for file in said:
                yield from _of_discord(_in_zip(package, names[file]), file.split("/")[-2].lstrip("c"), person, name)
    except (zipfile.BadZipFile, KeyError) as error:
        raise CarError("{path} is not a Discord data package", path=path) from error


def _ending(names: Mapping[str, zipfile.ZipInfo], end: str) -> zipfile.ZipInfo:
    return next((info for name, info in names.items() if name.endswith(end)), None) or names[end]


def _in_zip(package: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    with package.open(info) as file:
        try:
            return json.loads(file.read(_MOST_BYTES))
        except (ValueError, RecursionError) as error:
            raise CarError("{path} is not JSON: {error}", path=info.filename, error=error) from error


def _of_discord(messages: Any, channel: str, person: str, name: str) -> Iterator[Record]:
    for each in messages if isinstance(messages, list) else ():
        files, text = len(str(each.get("Attachments") or "").split()), str(each.get("Contents") or "")
        key, at = f"{channel}/{each.get('ID')}", _moment(each.get("Timestamp"))
        yield _said(Talk(key, channel, "user", name, text, at, person, _not_text(files)))


def letta(found: Any) -> Iterator[Record]:
    """A Letta agent file (`.af`) with one or more agents. Raises CarError for any other file."""
    every = found.get("agents") if isinstance(found, dict) else None
    if every is None and isinstance(found, dict) and "core_memory" in found:
        every = [found]
    if not isinstance(every, list):
        raise CarError("this is not a Letta agent file: it has no agents")
    shared = {str(each.get("id")): each for each in found.get("blocks") or () if isinstance(each, dict)}
    for number, agent in enumerate(each for each in every if isinstance(each, dict)):
        key = str(agent.get("id") or f"agent-{number}")
        name = str(agent.get("name") or key)
        own = agent.get("core_memory") or [shared[each] for each in agent.get("block_ids") or () if each in shared]
        blocks = tuple(_old_blocks((f"{key}/{each.get('label')!s:.60}", each) for each in own))
        yield OldAgent(key, name, str(agent.get("system") or ""), blocks)
        for at, message in enumerate(agent.get("messages") or ()):
            yield _of_letta(f"{key}/{message.get('id') or at}", key, name, message)
    for kind in ("tools", "mcp_servers", "files", "sources"):
        for at, each in enumerate(found.get(kind) or ()):
            yield SkippedRecord(
                f"{kind}/{each.get('name') or at}", _("tools, servers and files are set up in Carina itself")
            )


def _of_letta(key: str, conversation: str, name: str, message: Mapping[str, Any]) -> Record:
    role: Any = message.get("role")
    content = message.get("content") or message.get("text") or ""
    parts = content if isinstance(content, list) else [{"text": content}]
    text = "\n".join(str(each.get("text") or "") for each in parts if isinstance(each, dict))
    author = str(message.get("name") or message.get("author") or "user")
    left = _not_text(sum(not (isinstance(each, dict) and each.get("text")) for each in parts))
    speaker = name if role == "assistant" else author
    return _said(Talk(key, conversation, role, speaker, text, _moment(message.get("created_at")), changes=left))


def _old_blocks(found: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[OldBlock]:
    """Memory blocks of Letta, or of version 1 of the reference system, by their keys; no two get the same label."""
    taken: set[str] = set()
    for key, each in found:
        block = _old_block(key, each)
        label, number = str(block.table["label"]), 1
        while (free := label if number == 1 else f"{label[:60]}_{number}") in taken:
            number += 1
        taken.add(free)
        renamed = _("there is another {label}, so it became {free}", label=label, free=free)
        changes = (*block.changes, renamed) if free != label else block.changes
        yield OldBlock(key, {**block.table, "label": free}, changes)


def _old_block(key: str, found: Mapping[str, Any]) -> OldBlock:
    """A block in our form: a pinned one becomes core; a missing description is made from the label."""
    said = str(found.get("label") or "").lower()
    label = "".join(each if each.isascii() and (each.isalnum() or each in "_-") else "_" for each in said)
    label = label[:64] if label.strip("_-") else "memory"
    content = str(found.get("value") or found.get("content") or "")
    kind = str(found.get("memory_type") or found.get("block_type") or "core").lower()
    block_type = "core" if found.get("pinned") or kind not in ("working", "archival") else kind
    wanted = "read_only" if found.get("read_only") else str(found.get("permission") or "read_write").lower()
    permission = {"readonly": "read_only", "readwrite": "read_write"}.get(wanted, wanted)
    changes = []
    if label != found.get("label"):
        changes.append(_("its label became {label}", label=label))
    if not found.get("description"):
        changes.append(_("its description was made from its label"))
    if block_type != kind:
        told = gettext_noop("{kind} became core, because it was pinned")
        changes.append(_(told if found.get("pinned") else gettext_noop("{kind} became core"), kind=kind[:20]))
    if permission not in set(Permission):
        changes.append(_("its permission {permission} became read_only", permission=permission[:20]))
        permission = "read_only"
    if len(content) > MOST_CHARACTERS:
        left = len(content) - MOST_CHARACTERS
        told = ngettext("left out {count} character at the end", "left out {count} characters at the end", left)
        changes.append(told)
    try:
        wanted_limit = int(found.get("limit") or 0)
    except (TypeError, ValueError, OverflowError):
        wanted_limit = 0
        changes.append(_("its limit became the default, because it is not a number"))
    limit = max(wanted_limit, len(content), usual_limit("core"))
    table = {
        "label": label,
        "description": str(found.get("description") or f"What is known as {label.replace('_', ' ')}"),
        "type": block_type,
        "content": content[:MOST_CHARACTERS],
        "char_limit": min(limit, MOST_CHARACTERS),
        "permission": permission,
    }
    return OldBlock(key, table, tuple(changes))


def version_1(path: Path) -> Iterator[Record]:
    """A CAR file (v3) of version 1 of the reference system. Raises CarError for any other file.

    Agents are maps with a name and a prompt, memories have a label and a value, messages a role and a text; whatever a
    map links to belongs to it.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise CarError("{path} is larger than {size} MB", path=path, size=_MOST_BYTES >> 20)
    with path.open("rb") as file:
        root, blocks = read_blocks(file)
        found = {block.cid: block.content() for block in blocks}
    manifest = found.get(root)
    if not isinstance(manifest, dict) or manifest.get("version") != 3:
        raise CarError("this is not an export of Pattern in format 3, the only one that can be imported")
    seen: set[bytes] = {root}
    for cid, agent in _linked(manifest, found, seen, _is_agent):
        name = str(agent.get("name") or "Agent")
        of = f"of {name:.60}"
        prompt = str(agent.get("system_prompt") or agent.get("base_instructions") or "")
        found_here = _linked(agent, found, seen, _is_memory)
        memories = [(_key(f"memory {each['label']!s:.60} {of}", own), each) for own, each in found_here]
        made = tuple(_old_blocks(memories))
        own_blocks = tuple(each for each in made if not _is_entry(each))
        yield OldAgent(_key(f"agent {name:.60}", cid), name, prompt, own_blocks, _not_imported(agent, found))
        for old, (_known, memory) in zip(made, memories, strict=True):
            if _is_entry(old):
                left = [each for each in ("description", "permission", "read_only") if memory.get(each)]
                changes = (
                    (_("left out {settings}: entries have no such settings", settings=", ".join(left)),) if left else ()
                )
                yield Note(old.key, f"{memory['label']}: {old.table['content']}", changes=changes)
        for own_cid, message in _linked(agent, found, seen, _is_message):
            said = f"message {of} at {message.get('created_at') or 'no time'!s:.30}"
            yield _of_letta(_key(said, own_cid), shown(cid), name, message)
    for cid, each in found.items():
        named = str(each.get("name") or each.get("label") or "") if isinstance(each, dict) else ""
        if cid not in seen or (named and cid != root and not any(known(each) for known in _KNOWN)):
            yield SkippedRecord(_key(f"{named:.60}" or "record", cid), _("it is not an agent, a memory or a message"))


def _not_imported(agent: Mapping[str, Any], found: Mapping[bytes, Any]) -> tuple[str, ...]:
    """What an agent of version 1 has besides its name, prompt, memories and messages."""
    taken = ("id", "name", "system_prompt", "base_instructions")
    left = [
        str(name)[:60]
        for name, value in agent.items()
        if value and name not in taken and not any(any(_linked({"": value}, found, set(), each)) for each in _KNOWN)
    ]
    return (_("left out {settings}, which Carina does not import", settings=", ".join(left)),) if left else ()


def _key(said: str, cid: bytes) -> str:
    """A record's key: a person recognizes it, and a second import finds it again."""
    return f"{' '.join(said.split())} #{shown(cid)[-12:]}"


def _is_entry(old: OldBlock) -> bool:
    return bool(old.table["type"] == "archival")


def _is_agent(each: Mapping[str, Any]) -> bool:
    return "name" in each and ("system_prompt" in each or "base_instructions" in each)


def _is_memory(each: Mapping[str, Any]) -> bool:
    return "label" in each and ("value" in each or "content" in each)


def _is_message(each: Mapping[str, Any]) -> bool:
    return "role" in each and ("content" in each or "text" in each)


_KNOWN = _is_agent, _is_memory, _is_message


def _linked(
    given: Any, found: Mapping[bytes, Any], seen: set[bytes], wanted: Callable[[Mapping[str, Any]], bool]
) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
    """The maps of one kind that a value contains or links to, each once."""
    waiting: list[Any] = [*_inside(given)]
    visited: set[bytes] = set()
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, bytes):
            if each in found and each not in visited:
                visited.add(each)
                if isinstance(found[each], dict) and wanted(found[each]):
                    seen.add(each)
                    yield each, found[each]
                elif not (isinstance(found[each], dict) and _is_agent(found[each])):
                    seen.add(each)
                    waiting.extend(_inside(found[each]))
        elif isinstance(each, dict) and wanted(each):
            yield cid_of(encoded(dict(each))), each
        else:
            waiting.extend(_inside(each))


def _inside(each: Any) -> Iterable[Any]:
    match each:
        case dict():
            return each.values()
        case list():
            return each
        case _:
            return ()


def markdown(folder: Path) -> Iterator[Record]:
    """The notes of a folder, split if they are long. Links that lead out of the folder are skipped."""
    root = folder.resolve()
    for path in sorted(root.rglob("*.md")):
        name = path.relative_to(root).as_posix()
        if not path.resolve().is_relative_to(root):
            yield SkippedRecord(name, _("it is a link to something outside the folder"))
            continue
        if not path.is_file():
            continue
        try:
            text = path.read_text("utf-8") if path.stat().st_size <= _MOST_BYTES else None
        except (OSError, UnicodeDecodeError) as error:
            yield SkippedRecord(name, _("it cannot be read as text: {kind}", kind=type(error).__name__))
            continue
        if text is None or not text.strip():
            yield SkippedRecord(name, _("it is empty") if text is not None else _("it is too large"))
            continue
        tags = tuple(part.lower() for part in Path(name).parent.parts)
        for piece in filter(None, map(str.strip, cut(text.strip(), _PIECE))):
            known = hashlib.sha256(piece.encode()).hexdigest()[:16]
            told = gettext_noop("left out the tag {tag}: a note can have at most {most} tags")
            left = tuple(_(told, tag=tag, most=MOST_TAGS) for tag in tags[MOST_TAGS:])
            yield Note(f"{name}#{known}", piece, tags[:MOST_TAGS], left)


_NEVER = datetime.min.replace(tzinfo=UTC)


def _moment(given: Any) -> datetime:
    """A time in these programs' formats: seconds since 1970, or ISO 8601; without a zone it is UTC. Else `_NEVER`."""
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(given, UTC)
        found = datetime.fromisoformat(str(given).strip().replace(" ", "T", 1))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return _NEVER
