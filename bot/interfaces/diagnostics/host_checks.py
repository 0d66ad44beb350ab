"""The machine and the files: folder, room on the disk, databases, driver, backups, directives."""

import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from bot.upkeep.prompts import DIRECTIVES, FOLDER, LONGEST, read_directive
from memory.store import backups
from memory.store.clock import from_text
from memory.store.folder import DataFolder
from memory.store.plurals import many
from memory.store.sqlite import distances, driver
from sources.diagnostics import Finding, State
from texts import _

_FULL, _FILLING = 100_000_000, 1_000_000_000  # bytes that are left
_OLD = timedelta(days=3)


def examine_folder(folder: DataFolder) -> Iterator[Finding]:
    if not folder.path.is_dir():
        words = f"{folder.path} does not exist yet: the first start makes it"
        yield Finding("data folder", State.GOOD, words)
    elif folder.open_to_others():
        words = f"other users of this machine can look into {folder.path}"
        yield Finding("data folder", State.DOUBT, words, f"chmod 700 {folder.path}")
    else:
        yield Finding("data folder", State.GOOD, f"{folder.path}, for its owner only")
    free = shutil.disk_usage(_standing(folder.path)).free
    state = State.PROBLEM if free < _FULL else State.DOUBT if free < _FILLING else State.GOOD
    remedy = "" if state is State.GOOD else "make room: what cannot be written down is not answered"
    yield Finding("disk", state, f"{free / 1e9:,.1f} GB are free", remedy)


def _standing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())


def examine_databases(count: int, problems: Sequence[str]) -> Iterator[Finding]:
    """`problems` says of each file that cannot be opened why, and what to do."""
    for problem in problems:
        yield Finding("database", State.PROBLEM, problem)
    if not problems:
        words = f"{many(count, 'file')}, all of this version" if count else "nothing was stored yet"
        yield Finding("database", State.GOOD, words)
    version = f"SQLite {driver.sqlite_version}"
    if distances.reason:
        words = f"{version}; distances between vectors are computed in Python, ten times slower: {distances.reason}"
        yield Finding("sqlite-vec", State.DOUBT, words, "`make embedding` installs it where there is one")
    else:
        yield Finding("sqlite-vec", State.GOOD, f"{version} with the extension")


def examine_backups(folder: DataFolder, now: datetime) -> Finding:
    damaged = backups.damaged(folder.path) if folder.path.is_dir() else {}
    if damaged:
        name, reason = next(iter(damaged.items()))
        return Finding("backups", State.DOUBT, f"{name}: {reason}", "make another one: `carina backup create`")
    newest = max((from_text(each.at) for each in backups.listing(folder.path)), default=None)
    if newest is None:
        return Finding("backups", State.DOUBT, "there is none yet", "`carina backup create` makes one")
    words = _("the newest is from {at}", at=newest)
    if now - newest > _OLD:
        return Finding("backups", State.DOUBT, words, "see `carina jobs list` for why none was made since")
    return Finding("backups", State.GOOD, words)


def examine_directives(folder: DataFolder) -> Iterator[Finding]:
    """Which texts for upkeep stand in files, and which are the built-in ones; files that are not used as they stand."""
    where = folder.path / FOLDER
    files = {path.name for path in where.iterdir()} if where.is_dir() else set[str]()
    known = {f"{of}.md": of for of in DIRECTIVES}
    doubts = {name: _doubt(where, of) for name, of in known.items() if name in files}
    used = [name for name, of in known.items() if name in files and read_directive(where, of)[0]]
    built_in = ", ".join(name for name in known if name not in used)
    if used:
        rest = f"; built in: {built_in}" if built_in else ""
        yield Finding("directives", State.GOOD, f"of {where}: {', '.join(used)}{rest}")
    else:
        words = f"built in: {built_in}; none is replaced"
        yield Finding("directives", State.UNSET, words, f"a file of such a name in {where} replaces it")
    for name, doubt in doubts.items():
        if doubt:
            yield Finding("directives", State.DOUBT, f"{name} {doubt}", "see docs/dreams.md, Directives")
    if strange := sorted(name for name in files - known.keys() if not name.startswith(".")):
        remedy = f"only these are: {', '.join(known)}"
        yield Finding("directives", State.DOUBT, f"{', '.join(strange)} in {where}: not read", remedy)


def _doubt(where: Path, of: str) -> str:
    """Why a file is not used as it stands; empty when it is."""
    text, problem = read_directive(where, of)
    if problem:
        return f"cannot be read, so the built-in text is used: {problem}"
    if not text:
        return "is empty, so the built-in text is used"
    return f"has {len(text):,} characters, of which the first {LONGEST:,} are used" if len(text) > LONGEST else ""
