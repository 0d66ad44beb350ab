"""Checks of the machine and the files: folder, disk space, databases, driver, backups, directives."""

import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from bot.upkeep.prompts import DIRECTIVES, FOLDER, LONGEST, read_directive
from memory.store import backups
from memory.store.clock import from_text
from memory.store.folder import DataFolder
from memory.store.sqlite import distances, driver
from sources.diagnostics import Finding, State
from texts import _, ngettext

_FULL, _FILLING = 100_000_000, 1_000_000_000  # bytes that are left
_OLD = timedelta(days=3)


def examine_folder(folder: DataFolder) -> Iterator[Finding]:
    if not folder.path.is_dir():
        words = _("{path} does not exist yet: the first start creates it", path=folder.path)
        yield Finding("data folder", State.GOOD, words)
    elif folder.open_to_others():
        words = _("other users of this machine can access {path}", path=folder.path)
        yield Finding("data folder", State.DOUBT, words, f"chmod 700 {folder.path}")
    else:
        yield Finding("data folder", State.GOOD, _("{path}, accessible only to its owner", path=folder.path))
    free = shutil.disk_usage(_standing(folder.path)).free
    state = State.PROBLEM if free < _FULL else State.DOUBT if free < _FILLING else State.GOOD
    remedy = "" if state is State.GOOD else _("free up disk space: messages that cannot be stored are not answered")
    yield Finding("disk", state, _("{free:,.1f} GB are free", free=free / 1e9), remedy)


def _standing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())


def examine_databases(count: int, problems: Sequence[str]) -> Iterator[Finding]:
    """`problems` has the reason and the remedy for each file that cannot be opened."""
    for problem in problems:
        yield Finding("database", State.PROBLEM, problem)
    if not problems:
        words = (
            ngettext("{count} file, of this version", "{count} files, all of this version", count)
            if count
            else _("nothing was stored yet")
        )
        yield Finding("database", State.GOOD, words)
    version = f"SQLite {driver.sqlite_version}"
    if distances.reason:
        words = _(
            "{version}; distances between vectors are computed in Python, ten times slower: {reason}",
            version=version,
            reason=distances.reason,
        )
        yield Finding("sqlite-vec", State.DOUBT, words, _("`make embedding` installs it where it is available"))
    else:
        yield Finding("sqlite-vec", State.GOOD, _("{version} with the extension", version=version))


def examine_backups(folder: DataFolder, now: datetime) -> Finding:
    damaged = backups.damaged(folder.path) if folder.path.is_dir() else {}
    if damaged:
        name, reason = next(iter(damaged.items()))
        return Finding("backups", State.DOUBT, f"{name}: {reason}", _("create a new one with `carina backup create`"))
    newest = max((from_text(each.at) for each in backups.listing(folder.path)), default=None)
    if newest is None:
        return Finding("backups", State.DOUBT, _("there is none yet"), _("create one with `carina backup create`"))
    words = _("the newest is from {at}", at=newest)
    if now - newest > _OLD:
        return Finding("backups", State.DOUBT, words, _("see `carina jobs list` for why there is no newer one"))
    return Finding("backups", State.GOOD, words)


def examine_directives(folder: DataFolder) -> Iterator[Finding]:
    """The files that replace built-in texts of upkeep, and those that cannot be used."""
    where = folder.path / FOLDER
    files = {path.name for path in where.iterdir()} if where.is_dir() else set[str]()
    known = {f"{of}.md": of for of in DIRECTIVES}
    doubts = {name: _doubt(where, of) for name, of in known.items() if name in files}
    used = [name for name, of in known.items() if name in files and read_directive(where, of)[0]]
    built_in = ", ".join(name for name in known if name not in used)
    if used:
        rest = _("; built in: {built_in}", built_in=built_in) if built_in else ""
        yield Finding("directives", State.GOOD, f"of {where}: {', '.join(used)}{rest}")
    for name, doubt in doubts.items():
        if doubt:
            yield Finding("directives", State.DOUBT, f"{name} {doubt}", _("see docs/dreams.md, Directives"))
    if strange := sorted(name for name in files - known.keys() if not name.startswith(".")):
        remedy = _("only these are used: {known}", known=", ".join(known))
        yield Finding(
            "directives",
            State.DOUBT,
            _("{strange} in {where}: not used", strange=", ".join(strange), where=where),
            remedy,
        )


def _doubt(where: Path, of: str) -> str:
    """Why a file cannot be used; empty if it can."""
    text, problem = read_directive(where, of)
    if problem:
        return _("cannot be read, so the built-in text is used: {problem}", problem=problem)
    if not text:
        return _("is empty, so the built-in text is used")
    return (
        _("has {count:,} characters, of which the first {longest:,} are used", count=len(text), longest=LONGEST)
        if len(text) > LONGEST
        else ""
    )
