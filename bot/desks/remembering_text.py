"""The past of blocks in words and as plain data; the same for every front end."""

import difflib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.amounts import many
from memory.blocks.history import Done
from memory.clock import to_text
from memory.documents.changes import Change, Deed, Step, Writer, played
from memory.documents.weave import Piece, Weave

_EXCERPT = 40
Names = Mapping[Writer, str]


def change_data(step: Step, before: str, names: Names) -> dict[str, Any]:
    """One change, made on that text: its number, who, when, in which turn, what for, and what it did in short."""
    change = step.change
    return {
        "version": change.seq,
        "writer": names.get(change.writer, change.writer),
        "writer_id": change.writer,
        "at": to_text(change.at),
        "turn": None if change.turn is None else str(change.turn),
        "deed": str(change.note.deed),
        "of": change.note.of,
        "length": len(played(before, [step])),
        "did": _did(step, before, names),
    }


def _did(step: Step, before: str, names: Names) -> str:
    runs = Weave(0, before, [Step(_numbered(step.change), step.splices)]).runs
    added = [run.text for run in runs if run.born and run.stands]
    removed = [run.text for run in runs if not run.born and not run.stands]
    parts = [_purpose(step.change, names)] if step.change.note.deed is not Deed.EDIT else []
    parts += [f"+{sum(map(len, added))} “{_excerpt(added)}”"] if added else []
    parts += [f"-{sum(map(len, removed))} “{_excerpt(removed)}”"] if removed else []
    return ", ".join(parts) or "nothing in the end"


def _numbered(change: Change) -> Change:
    return Change(change.writer, change.turn, 1, change.at, change.length, change.note)


def _purpose(change: Change, names: Names) -> str:
    match change.note.deed:
        case Deed.ROLLBACK:
            return f"back to version {change.note.of}"
        case Deed.REVERT:
            whose = change.note.whose
            return f"took back what {names.get(whose, whose) if whose else 'somebody'} wrote after {change.note.of}"
        case Deed.REDO:
            return f"redo of change {change.note.of}"
        case _:
            return f"undo of change {change.note.of}"


def _excerpt(texts: Sequence[str]) -> str:
    text = " ".join(" … ".join(texts).split())
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1]}…"


def piece_data(piece: Piece, names: Names) -> dict[str, Any]:
    """A part of a text with who wrote it; nobody is known for what is older than the history."""
    change = piece.change
    if change is None:
        return {"text": piece.text, "writer": "", "version": None, "at": ""}
    writer = names.get(change.writer, change.writer)
    return {"text": piece.text, "writer": writer, "version": change.seq, "at": to_text(change.at)}


def diff_lines(before: str, after: str, older: int, newer: int) -> list[str]:
    """A unified diff."""
    names = f"version {older}", f"version {newer}"
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="", n=2))


def changed_lines(before: str, after: str) -> list[dict[str, Any]]:
    """The same as data: the lines that went and came, where."""
    one, other = before.splitlines(), after.splitlines()
    blocks = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return [
        {"line": start + 1, "removed": one[start:end], "added": other[first:last]}
        for kind, start, end, first, last in blocks
        if kind != "equal"
    ]


def done_data(done: Done) -> dict[str, Any]:
    """What was taken back, and what could not be."""
    return {
        "changes": [change.seq for change in done.changes],
        "removed": done.plan.removed,
        "restored": done.plan.restored,
        "not_restored": list(done.plan.lost),
        "gone_already": list(done.plan.gone),
        "kept": list(done.plan.kept),
    }


def done_text(name: str, done: Mapping[str, Any]) -> str:
    """The same in words."""
    changes = done["changes"]
    what = f" Taken back: {'change' if len(changes) == 1 else 'changes'} {_numbers(changes)}." if changes else ""
    counts = f" {many(done['removed'], 'character')} went, {done['restored']:,} came back."
    lines = [f"Block {name} is at version {done['version']} now.{what}{counts if changes else ''}"]
    lost, gone = done["not_restored"], done["gone_already"]
    if lost:
        lines.append(
            "Not brought back, since others have changed the place: " + "; ".join(f"“{_excerpt([x])}”" for x in lost)
        )
    if gone:
        lines.append("Others had removed already: " + "; ".join(f"“{_excerpt([x])}”" for x in gone))
    if done["kept"]:
        lines.append("Left as it is: " + "; ".join(done["kept"]))
    return "\n".join(lines)


def _numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return shown if len(numbers) <= 10 else f"{shown} and {len(numbers) - 10} more"


def when(stamp: str) -> str:
    """A stored moment, for a person."""
    return f"{datetime.fromisoformat(stamp):%Y-%m-%d %H:%M} UTC"


def history_text(data: Mapping[str, Any]) -> str:
    """Changes, one a line."""
    lines = [f"{each['version']}. {when(each['at'])}, {each['writer']}: {each['did']}" for each in data["changes"]]
    return "\n".join([f"Block {data['block']}: there are {data['versions']}.", *lines])


def shares_text(found: Mapping[str, Any]) -> str:
    """Whom a block is shared with, for a person."""
    shares = ", ".join(f"{each['agent']} ({each['permission']})" for each in found["shares"])
    if not shares:
        return f"Block {found['block']} of {found['agent']} is shared with nobody."
    less = [
        f"In effect {each['agent']} has {each['effective']}: {each['why']}." for each in found["shares"] if each["why"]
    ]
    return "\n".join(
        [f"Block {found['block']} of {found['agent']} is shared with {shares}, where its readers allow.", *less]
    )


def widened_text(found: Mapping[str, Any]) -> str:
    """What was made known to whom, or would be."""
    what = f"Entry {found['entry']}" if "entry" in found else f"Block {found['block']}"
    head = f"{what}, known in {found['from']} until now,"
    if found["done"]:
        return f"{head} is known in {found['to']} now, as it stands; its past is not."
    would = f"{head} would be known in {found['to']}. This is what would be told; say it again with a yes:"
    return f"{would}\n\n{found['text']}"


def blame_text(data: Mapping[str, Any]) -> str:
    """The text in parts, each behind who wrote it."""
    lines = []
    for part in data["parts"]:
        who = f"[{part['version']}, {part['writer']}, {when(part['at'])}]" if part["writer"] else "[older]"
        lines += [f"{who} {line}" for line in part["text"].splitlines()]
    return "\n".join(lines) or "(empty)"


def diff_text(data: Mapping[str, Any]) -> str:
    """The unified diff, or that there is no difference."""
    return "\n".join(data["lines"]) or f"Versions {data['from']} and {data['to']} read the same."
