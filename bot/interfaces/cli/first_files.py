"""The files that a first start needs, from answers: `carina.toml` and `.env`, written both or neither."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from bot.errors import UserError
from texts import _

_PRIVATE, _USUAL = 0o600, 0o644


@dataclass(frozen=True)
class Answers:
    """What somebody wants; empty: as it is without."""

    name: str = ""
    owner: str = ""
    model: str = ""
    api_key: str = ""
    base_url: str = ""
    discord_token: str = ""
    discord_owner: str = ""
    bluesky_handle: str = ""
    bluesky_password: str = ""
    embedder: str = ""

    def environment(self) -> dict[str, str]:
        """The lines of `.env`."""
        provider = self.model.partition(":")[0].upper()
        said = {
            f"{provider}_API_KEY": self.api_key if provider else "",
            "OPENAI_BASE_URL": self.base_url,
            "DISCORD_TOKEN": self.discord_token,
            "DISCORD_OWNER_ID": self.discord_owner,
            "BLUESKY_HANDLE": self.bluesky_handle,
            "BLUESKY_APP_PASSWORD": self.bluesky_password,
            "EMBEDDING_MODEL": self.embedder,
        }
        return {name: value for name, value in said.items() if value}

    def toml(self, starter: str) -> str:
        """A starter's file with these settings in it; its comments stay."""
        document = tomlkit.parse(starter)
        for table, key, value in (
            ("constellation", "name", self.name),
            ("constellation", "owner", self.owner),
            ("model", "default", self.model),
        ):
            if value:
                document.setdefault(table, tomlkit.table())[key] = value
        return tomlkit.dumps(document)


def dotenv_text(before: str, wanted: Mapping[str, str]) -> str:
    """A `.env` with these lines in place of those that set the same. Raises UserError for what cannot be on a line."""
    for name, value in wanted.items():
        if re.search(r"[\s'\"\\#$]", value):
            raise UserError(_("{name}: give the value alone, without spaces or quotation marks.", name=name))
    kept = [line for line in before.splitlines() if line.partition("=")[0].strip() not in wanted]
    return "\n".join([*kept, *(f"{name}={value}" for name, value in wanted.items())]) + "\n"


def require_new(file: Path) -> None:
    """Raise UserError where the file is there: it is somebody's."""
    if file.exists():
        raise UserError(
            _(
                "{file} already exists and was not changed. Move it away, or set CARINA_CONFIG to another file.",
                file=file,
            )
        )


def write_both(file: Path, toml: str, dotenv: Path, wanted: Mapping[str, str]) -> None:
    """Write them; a `.env` keeps its other lines and is for its owner only. Raises UserError: then neither is new."""
    require_new(file)
    made: list[Path] = []
    try:
        if wanted:
            before = dotenv.read_text("utf-8") if dotenv.exists() else ""
            made.append(_beside(dotenv, dotenv_text(before, wanted), _PRIVATE))
        made.append(_beside(file, toml, _USUAL))
        if wanted:
            made[0].replace(dotenv)
        made[-1].replace(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            _("{file} and {dotenv} cannot be written: {error}.", file=file, dotenv=dotenv, error=error)
        ) from error
    finally:
        for path in made:
            with suppress(FileNotFoundError):
                path.unlink()


def _beside(path: Path, text: str, mode: int) -> Path:
    """A new file beside it, whole and on disk."""
    part = path.with_name(f".{path.name}.new")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    return part
