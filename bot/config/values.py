"""Types of settings: each value is checked when it is read, and the error says what is expected."""

import difflib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, convert
from msgspec.structs import fields
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from memory.agents import NAME
from memory.search.embedding.choice import EXPECTED, is_choice
from memory.store.errors import StoreError
from scheduler import triggers
from scheduler.zones import zone_of
from texts import _, gettext_noop


class Section(BaseModel):
    """One table of the file: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    def as_fields_of(self, kind: type[Struct]) -> dict[str, Any]:
        """The values whose names are fields of a source's settings, as keyword arguments."""
        there = [each for each in fields(kind) if each.name in type(self).model_fields]
        return {
            each.name: convert(getattr(self, each.name), each.type, strict=False, from_attributes=True)
            for each in there
        }


def pattern(regex: str, expected: str) -> AfterValidator:
    """A validator for texts that match completely; the error says what is expected."""

    def check(text: str) -> str:
        if re.fullmatch(regex, text):
            return text
        raise PydanticCustomError("pattern", "{expected}", {"expected": _(expected)})

    return AfterValidator(check)


OFFLINE = "offline"
KEY_OF_PROVIDER = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
}


def check_model(text: str) -> str:
    provider, name = text.partition(":")[::2]
    if text == OFFLINE or (provider in KEY_OF_PROVIDER and name.strip()):
        return text
    known = ", ".join(sorted(KEY_OF_PROVIDER))
    near = difflib.get_close_matches(provider, [*KEY_OF_PROVIDER, OFFLINE], n=1)
    hint = " ({})".format(_('did you mean "{name}"?', name=near[0])) if near and near[0] != provider else ""
    words = _('"offline" or "provider:model", such as "openai:gpt-5-mini"; providers: {known}', known=known)
    raise ValueError(f"{words}{hint}")


def check_models(models: Mapping[tuple[int | str, ...], str]) -> None:
    """Check models by their keys within a table. Raises ValidationError with the key of each that is wrong."""
    wrong = list[InitErrorDetails]()
    for key, model in models.items():
        try:
            check_model(model)
        except ValueError as error:
            wrong.append(InitErrorDetails(type="value_error", loc=key, input=model, ctx={"error": error}))
    if wrong:
        raise ValidationError.from_exception_data("models", wrong)


def check_merge(seconds: float) -> float:
    if seconds == 0 or 0.5 <= seconds <= 5:
        return seconds
    raise ValueError(_("0 (off) or 0.5 to 5 seconds"))


def check_cron(text: str) -> str:
    try:
        triggers.require(triggers.CronTrigger(text, "UTC"), datetime.now(tz=UTC))
    except StoreError as error:
        raise ValueError(_("a cron expression such as */30 * * * *; {error}", error=error)) from error
    return text


def check_url(text: str, example: str = "https://example.com") -> str:
    with suppress(ValueError):  # unbalanced brackets, or an invalid port
        parts = urlsplit(text)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and text.isprintable():
            return text.rstrip("/")
    raise ValueError(_('a URL with http:// or https:// at the beginning, such as "{example}"', example=example))


ApiUrl: TypeAlias = Annotated[str, AfterValidator(partial(check_url, example="http://127.0.0.1:11434/v1"))]


def check_listen(text: str) -> str:
    host, port = text.rpartition(":")[::2]
    if not text or (host.strip("[]") and port.isdecimal() and int(port) <= 65_535):
        return text
    raise ValueError(_('an address with a port, such as "127.0.0.1:8480", or "" for no dashboard'))


def or_nothing(check: Callable[[str], str]) -> AfterValidator:
    """The same validator, which also accepts an empty text."""
    return AfterValidator(lambda text: check(text) if text else text)


def check_replica(text: str) -> str:
    """Check a replica: a folder, or an address of S3 or SFTP, without secrets, which belong in the environment."""
    scheme, there, rest = text.partition("://")
    if text and not (Path(text).is_absolute() or (scheme in {"s3", "sftp"} and there and rest)):
        raise ValueError(_("an absolute path to a folder, s3://bucket/path or sftp://user@host/path"))
    if there and urlsplit(text).password:
        raise ValueError(_("an address without a password; use ssh_key instead"))
    return text


def check_embedding(text: str) -> str:
    if is_choice(text):
        return text
    raise ValueError(_("{expected}, such as openai:text-embedding-3-small", expected=EXPECTED))


def check_zone(text: str) -> str:
    try:
        zone_of(text or "UTC")
    except StoreError as error:
        raise ValueError(_("a time zone such as Europe/Vienna; {error}", error=error)) from error
    return text


def _check_token(token: SecretStr) -> SecretStr:
    if re.search(r"\s", token.get_secret_value()):
        raise ValueError(_("only the value, without spaces, line breaks or a prefix such as “Bot”"))
    return token


def split_list(text: object) -> object:
    return [part.strip() for part in text.split(",") if part.strip()] if isinstance(text, str) else text


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


TOOLS = (
    "bluesky", "bluesky_read", "calculate", "context", "coord", "emergency_halt", "events", "facts", "projects",
    "recall", "reminders", "search", "send_message", "tasks", "web_fetch", "web_search", "working_memory",
)  # fmt: skip
"""The tools of an agent whose table names none. Bluesky's and the web's exist only if these are configured."""
CHOSEN_TOOLS = ("sources", "source_subscribe")
"""Tools that an agent has only if its table names them."""
FOLDER_TOOLS = frozenset(("file", "file_write"))  # an agent has them by its folders

ModelName: TypeAlias = Annotated[str, AfterValidator(check_model)]
Token: TypeAlias = Annotated[SecretStr, AfterValidator(_check_token)]
Name: TypeAlias = Annotated[str, pattern(NAME, gettext_noop("a name of 1 to 64 characters on one line"))]
Label: TypeAlias = Annotated[str, pattern(r"[A-Za-z0-9_-]{1,64}", gettext_noop("at most 64 letters, digits, - and _"))]
ToolName: TypeAlias = Annotated[
    str,
    pattern(
        r"[A-Za-z0-9_-]{1,64}|mcp:[a-z][a-z0-9-]{0,23}(/[A-Za-z0-9_./-]{1,128})?",
        gettext_noop('the name of a tool, "mcp:<server>" or "mcp:<server>/<tool>"'),
    ),
]
FileName: TypeAlias = Annotated[
    str,
    pattern(
        r"([A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}\.md)?", gettext_noop("the name of a Markdown file, such as heartbeat.md")
    ),
]
DiscordId: TypeAlias = Annotated[
    str, BeforeValidator(_number_as_text), pattern(r"[0-9]{1,20}", gettext_noop("a Discord ID, which has only digits"))
]
OptionalId: TypeAlias = Annotated[
    str,
    BeforeValidator(_number_as_text),
    pattern(r"[0-9]{0,20}", gettext_noop("a Discord ID, which has only digits, or nothing")),
]
PlaceName: TypeAlias = Annotated[
    str,
    pattern(
        r"discord:(guild:|user:)?[0-9]{1,20}|bluesky|terminal:local",
        gettext_noop(
            '"discord:<channel id>", "discord:guild:<id>", "discord:user:<id>", "bluesky" or "terminal:local"'
        ),
    ),
]
Mode: TypeAlias = Literal["open", "mention", "listen", "off"]
BlockTypeName: TypeAlias = Literal["core", "working", "archival", "log"]
Permission: TypeAlias = Literal["read_only", "partner", "human", "append", "read_write", "admin"]
TemplateName: TypeAlias = Literal[
    "persona",
    "human",
    "scratchpad",
    "organization",
    "current_state",
    "active_context",
    "bond_evolution",
    "partner_profile",
    "task_list",
    "observation_log",
    "custom",
]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
