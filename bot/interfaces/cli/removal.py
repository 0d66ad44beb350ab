"""`carina uninstall`: say what is where, and remove the data."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.agents.permissions.policy import Action
from bot.config import Config
from bot.errors import UserError
from bot.services.caller import Caller, Via
from bot.services.registry import Options, operation
from bot.services.results import Sentence
from memory.store.folder import DataFolder
from texts import _

_OURS = (
    *("global.db*", "constellations", "backups", "erasures.jsonl", "control.sock", "control.path", "carina.lock"),
    *("terminal.journal", "bluesky.session", ".restoring-*"),
)
"""What Carina makes in a data folder; what else is there is somebody's own."""


@dataclass(frozen=True)
class Removal:
    """Of everything that Carina keeps; the program itself is removed by what installed it."""

    config: Config

    @operation(
        "uninstall", "Show where everything is, and delete the data", Action.BACKUP,
        Options(via=frozenset({Via.TERMINAL}), changes=True, asks=True, seconds=600.0),
    )  # fmt: skip
    async def remove(self, caller: Caller) -> Sentence:
        """Not while a service runs. Raises UserError, Unconfirmed with what is where."""
        folder = DataFolder(self.config.home)
        if not folder.global_db.exists():
            raise UserError(_("There is no data of Carina in {path}.", path=folder.path))
        caller.confirm(
            "\n".join(
                [
                    *self._where(folder),
                    "",
                    _("To keep a copy, answer no and run `carina backup create --to PATH` or `carina privacy export`."),
                    _("Delete all data in the data folder? This cannot be undone."),
                ]
            )
        )
        with folder.lock():
            for path in _ours(folder.path):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        left = sorted(path.name for path in folder.path.iterdir())
        if not left:
            folder.path.rmdir()
        kept = _(" Carina left what it did not create: {names}.", names=", ".join(left)) if left else ""
        files = ", ".join(str(path) for path in self._files() if path.exists())
        more = _("\nDelete {files} yourself if you no longer need them.", files=files) if files else ""
        return Sentence(
            text=_(
                "Deleted the data in {path}.{kept}{more}\n{program}",
                path=folder.path,
                kept=kept,
                more=more,
                program=_program(),
            )
        )

    def _where(self, folder: DataFolder) -> Iterator[str]:
        size = sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())
        yield _("data folder: {path} ({size:,.1f} MB)", path=folder.path, size=size / 1000000.0)
        yield from (_("settings: {path}", path=path) for path in self._files() if path.exists())
        yield _("program: {path}", path=Path(sys.prefix))

    def _files(self) -> tuple[Path, ...]:
        return self.config.file, self.config.file.with_name(".env")


def _ours(folder: Path) -> list[Path]:
    return sorted({path for pattern in _OURS for path in folder.glob(pattern)})


def _program() -> str:
    return _(
        "`carina service uninstall` stops starting Carina with the system; `uv tool uninstall carina` or `pipx "
        "uninstall carina` removes the program."
    )
