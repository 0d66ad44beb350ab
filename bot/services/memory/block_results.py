"""Results of operations on blocks: contents, history, and changes."""

import difflib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.config.block_templates import TEMPLATES
from bot.services.names import is_shared, shown_block
from bot.services.results import Listing, Markup, Result, Row
from memory.blocks import Block
from memory.blocks.changes import Change, ChangeKind, Writer, differing
from memory.blocks.edits import LOG_DESCRIPTIONS
from memory.blocks.history import Piece, Step
from memory.blocks.revert import RevertResult
from memory.blocks.schemas import outline
from memory.erasure.blocks import NO_DESCRIPTION
from sources.discord.markup import BLOCKS_ARE_FOR as DISCORD
from sources.text import one_line
from texts import _, gettext_noop, ngettext, ngettext_noop, number_text, sentence

_EXCERPT = 40
_NOW_AT = gettext_noop("Block “{block}” is now at version {version}.")
_STATES = {"sound": gettext_noop("intact"), "repaired": gettext_noop("repaired"), "damaged": gettext_noop("damaged")}
_PURPOSES = {
    TEMPLATES["persona"].description: gettext_noop("Who the agent is and how it behaves"),
    TEMPLATES["human"].description: gettext_noop("What the agent knows about the person it talks with"),
    TEMPLATES["scratchpad"].description: gettext_noop("The agent's notes on what it is doing"),
    TEMPLATES["organization"].description: gettext_noop("What applies to everyone in the organization"),
    TEMPLATES["current_state"].description: gettext_noop("How the person is doing: energy, attention, mood"),
    TEMPLATES["active_context"].description: gettext_noop("The current task and recent events"),
    TEMPLATES["bond_evolution"].description: gettext_noop("How the relationship with the person has grown"),
    TEMPLATES["partner_profile"].description: gettext_noop("What all agents should know about the owner"),
    TEMPLATES["task_list"].description: gettext_noop("What the agent has to do, in order"),
    TEMPLATES["observation_log"].description: gettext_noop("What the agent noticed"),
    LOG_DESCRIPTIONS[0]: gettext_noop("Which tools the agent used, and whether they worked"),
    LOG_DESCRIPTIONS[1]: gettext_noop("What happened besides messages"),
    LOG_DESCRIPTIONS[2]: gettext_noop("When earlier messages were summarized"),
    DISCORD[0]: gettext_noop("What is known about this channel"),
    DISCORD[1]: gettext_noop("What is known about this thread"),
    DISCORD[2]: gettext_noop("What is known about this person, from this place"),
    NO_DESCRIPTION: gettext_noop("Its description was deleted"),
}
"""Descriptions of blocks for people, instead of those for models."""
Names = Mapping[Writer, str]


class BlockRow(Row):
    suggested = "shown"
    block: str
    id: str
    agent: str
    type: str
    readers: str
    audience: str = Field(exclude=True)
    size: int
    limit: int = Field(validation_alias="char_limit")
    permission: str
    description: str
    purpose: str = Field(exclude=True)
    """Descriptions of a block's fields for people, instead of those for models."""
    changed_at: datetime = Field(validation_alias="updated_at")

    @property
    def shown(self) -> str:
        return shown_block(self.block)

    def line(self, markup: Markup) -> str:
        whose = f"{self.agent}, {self.readers}" if is_shared(self.audience) else self.agent
        return f"`{self.shown}` ({markup.text(whose)}): {markup.text(self.purpose)}"


def purpose_of(block: Block) -> str:
    told = block.description.removesuffix(outline(block.schema)).removesuffix("; ")
    return _(_PURPOSES[told]) if told in _PURPOSES else told


def state_of(block: str, version: int) -> str:
    return f"{block}.{version}"


class ShownBlock(Result):
    """A block at a version; `text` is its content in that version."""

    row: BlockRow
    version: int
    newest: int
    text: str
    profile: str

    @property
    def state(self) -> str:
        """The state of the displayed version."""
        return state_of(self.row.id, self.version)

    def lines(self, markup: Markup) -> list[str]:
        row = self.row
        text = gettext_noop("{length} of {limit} characters, version {version}")
        size = row.told(markup, text, length=number_text(row.size), version=str(self.version))
        head = f"**{markup.text(row.shown)}** ({markup.text(row.agent)}, {size})"
        content = "\n".join(part for part in (self.profile, self.text) if part) or _("(empty)")
        return [head, markup.text(row.purpose), "", content]

    def terminal(self, _markup: Markup) -> str:
        """The text alone, so that it can be written to a file and read back."""
        return self.text.rstrip("\n")

    def aside(self, _markup: Markup) -> str:
        empty = "" if self.text.strip() else _(", empty")
        version = _("({block}, version {version}{empty})", block=self.row.block, version=self.version, empty=empty)
        return f"{self.profile}\n{version}" if self.profile else version


class FormContents(Result):
    """The initial content of a form for a block or one of its fields, which is identified by a digest of its path."""

    id: str
    field: str
    version: int
    text: str
    limit: int = Field(validation_alias="char_limit")
    phrase = "{text}"


class ChangeRow(Row):
    """A change of a block: its writer, turn and reason, and a short description."""

    version: int = Field(validation_alias="seq")
    writer: str
    writer_id: str = Field(validation_alias="writer")
    at: datetime
    turn: str | None
    deed: str = Field(validation_alias="note.kind")
    of: int | None = Field(validation_alias="note.of")
    length: int
    did: str

    @classmethod
    def of_step(cls, step: Step, names: Names) -> "ChangeRow":
        writer = names.get(step.change.writer, step.change.writer)
        return cls.from_record(step.change, writer=writer, length=len(step.after), did=_did(step, names))

    def line(self, markup: Markup) -> str:
        return f"{self.version}. {markup.time(self.at)}, {markup.text(f'{self.writer}: {self.did}')}"


class History(Result):
    """Changes of a block, newest first; `versions` lists all of them, and is empty if it was never changed."""

    block: str
    versions: str
    changes: tuple[ChangeRow, ...]

    def lines(self, markup: Markup) -> list[str]:
        unchanged = gettext_noop("Block “{block}” has not been changed yet.")
        text = gettext_noop("Block “{block}” has {versions}.") if self.versions else unchanged
        head = self.told(markup, text, block=markup.text(shown_block(self.block)))
        return [head, *(each.line(markup) for each in self.changes)]


class Diff(Result):
    """The difference between two versions: changed lines for people, and a unified diff for programs."""

    block: str
    older: int
    newer: int
    before: str
    after: str

    def lines(self, markup: Markup) -> list[str]:
        found = [line for line in self._unified()[2:] if line[0] in "+-"]
        same = self.told(markup, gettext_noop("Versions {older} and {newer} are the same."))
        return [markup.code("\n".join(found), "diff") if found else same]

    def data(self) -> dict[str, Any]:
        one, other = self.before.splitlines(), self.after.splitlines()
        parts = [
            {"line": start + 1, "removed": one[start:end], "added": other[first:last]}
            for start, end, first, last in reversed(differing(one, other))
        ]
        about = {"block": self.block, "from": self.older, "to": self.newer}
        return {**about, "lines": self._unified(), "parts": parts}

    def _unified(self) -> list[str]:
        names = _("version {number}", number=self.older), _("version {number}", number=self.newer)
        return list(difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), *names, lineterm="", n=2))


class PartRow(Row):
    """A part of a text with its writer; the writer is unknown if it is older than the history."""

    text: str
    writer: str
    version: int | None = Field(default=None, validation_alias="change.seq")
    at: datetime | None = Field(default=None, validation_alias="change.at")

    @classmethod
    def of(cls, piece: Piece, names: Names) -> "PartRow":
        writer = "" if piece.change is None else names.get(piece.change.writer, piece.change.writer)
        return cls.from_record(piece, writer=writer)

    def line(self, markup: Markup) -> str:
        when = "" if self.at is None else markup.time(self.at)
        who = f"[{self.version}, {markup.text(self.writer)}, {when}]" if self.writer else _("[older]")
        return "\n".join(f"{who} {markup.text(line)}" for line in self.text.splitlines() if line.strip())


class Blame(Result):
    block: str
    versions: str
    parts: tuple[PartRow, ...]

    def lines(self, markup: Markup) -> list[str]:
        return [line for each in self.parts if (line := each.line(markup))] or [_("(empty)")]


class EditResult(Result):
    """A block was written; `merged` if other writers' changes were kept."""

    block: str
    field: str
    version: int
    merged: bool
    text: str

    def lines(self, markup: Markup) -> list[str]:
        said = [
            self.told(markup, gettext_noop("Updated {field}.")) if self.field else "",
            self.told(markup, _NOW_AT, block=markup.text(shown_block(self.block))),
            _("It keeps what others wrote in the meantime.") if self.merged else "",
        ]
        return [" ".join(filter(None, said))]


class UndoResult(Result):
    block: str
    version: int = Field(validation_alias="block.version")
    text: str = Field(validation_alias="block.content")
    changes: tuple[int, ...]
    removed: int = Field(validation_alias="plan.removed")
    restored: int = Field(validation_alias="plan.restored")
    not_restored: tuple[str, ...]
    kept: tuple[str, ...]
    redone: bool = Field(default=False, exclude=True)

    @classmethod
    def of(cls, block: str, done: RevertResult, *, redone: bool = False) -> "UndoResult":
        plan = done.plan
        left = {"not_restored": tuple(map(_, plan.lost)), "kept": tuple(map(_, plan.kept))}
        changes = tuple(change.seq for change in done.changes)
        return cls.from_record(done, block=block, changes=changes, redone=redone, **left)

    def lines(self, markup: Markup) -> list[str]:
        lines = [_(_NOW_AT, block=shown_block(self.block), version=self.version)]
        if self.changes:
            removed = ngettext("{count} character removed", "{count} characters removed", self.removed)
            restored = ngettext("{count} restored", "{count} restored", self.restored)
            one, more = ngettext_noop("Change {numbers} was undone", "Changes {numbers} were undone")
            if self.redone:
                one, more = ngettext_noop("Change {numbers} was redone", "Changes {numbers} were redone")
            undone = ngettext(one, more, len(self.changes), numbers=_numbers(self.changes))
            lines[0] += " " + sentence(f"{undone} ({removed}, {restored})")
        if self.not_restored:
            parts = "; ".join(_("“{text}”", text=_excerpt([each])) for each in self.not_restored)
            lines.append(_("Not restored, because of later changes by others: {parts}", parts=parts))
        if self.kept:
            lines.append(_("Left unchanged: {parts}", parts="; ".join(self.kept)))
        return [markup.text(line) for line in lines]


class ShareRow(Row):
    """An agent that a block is shared with: the right it was given, and the right in effect."""

    agent: str
    permission: str = Field(validation_alias="given")
    effective: str = Field(validation_alias="access")
    phrase = "{agent} ({permission})"


class Shares(Result):
    block: str
    agent: str
    shares: tuple[ShareRow, ...]

    def lines(self, markup: Markup) -> list[str]:
        if not self.shares:
            return [self.told(markup, gettext_noop("Block “{block}” is not shared with anyone."))]
        text = gettext_noop("{agent}'s block “{block}” is shared with {others}, in the places where it may be read.")
        line = self.told(markup, text, others=", ".join(each.line(markup) for each in self.shares))
        less = gettext_noop("{agent}'s effective permission is {effective}.")
        return [line, *(each.told(markup, less) for each in self.shares if each.effective != each.permission)]


class SharedBlock(Result):
    before: str
    after: str
    audience: str
    text: str

    named: str = Field(exclude=True)
    """Its kind, as it begins a sentence."""
    phrase = gettext_noop(
        "{named} was visible in {before}. Its current version is now also visible in {after}; earlier versions are not."
    )

    @property
    def question(self) -> str:
        text = gettext_noop(
            "{named} is visible in {before} and would also be visible in {after}. This is what would "
            "be shared:\n\n{text}\n\nShare it?"
        )
        return _(text).format_map(dict(self))


class WidenedBlock(SharedBlock):
    block: str


class CheckRow(Row):
    """Whether the stored document of a block is intact, and the damage if not."""

    block: str
    state: str
    found: tuple[str, ...]

    def line(self, markup: Markup) -> str:
        return markup.text(": ".join(filter(None, (f"{self.block}: {_(_STATES[self.state])}", "; ".join(self.found)))))


class Checks(Listing[CheckRow]):
    """The checked blocks; the command's exit code is nonzero if one remains damaged."""

    @property
    def code(self) -> int:
        return int(any(row.state == "damaged" for row in self.rows))


def _did(step: Step, names: Names) -> str:
    cuts = step.splices[::-1]
    added = [each.insert for each in cuts if each.insert]
    removed = [step.before[each.place : each.place + each.delete] for each in cuts if each.delete]
    parts = [_purpose(step.change, names)] if step.change.note.kind is not ChangeKind.EDIT else []
    for sign, words in (("+", added), ("-", removed)):
        parts += [f"{sign}{sum(map(len, words))} {_('“{text}”', text=_excerpt(words))}"] if words else []
    return ", ".join(parts) or _("no change")


def _purpose(change: Change, names: Names) -> str:
    match change.note.kind:
        case ChangeKind.ROLLBACK:
            return _("rollback to version {of}", of=change.note.of)
        case ChangeKind.REVERT:
            whose = change.note.whose
            name = names.get(whose, whose) if whose else _("somebody")
            return _("revert of what {name} wrote after version {of}", name=name, of=change.note.of)
        case ChangeKind.RETYPE:
            return _("change of type")
        case ChangeKind.KEPT:
            return _("contents after an erasure")
        case ChangeKind.REDO:
            return _("redo of change {of}", of=change.note.of)
        case _:
            return _("undo of change {of}", of=change.note.of)


def _excerpt(texts: Sequence[str]) -> str:
    return one_line(" … ".join(texts), _EXCERPT)


def _numbers(numbers: Sequence[int]) -> str:
    shown, more = ", ".join(map(str, numbers[:10])), len(numbers) - 10
    return shown if more <= 0 else _("{shown} and {count} more", shown=shown, count=more)
