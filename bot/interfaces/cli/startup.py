"""What every command sets up first: its configuration, and where its log goes."""

from bot.config import Config, load_here
from bot.errors import ConfigError
from bot.interfaces.cli.loading import loaded
from bot.secrets import Redactor
from memory.store.faults import faults
from texts import error_text, gettext_noop

NOT_RUNNING = gettext_noop(
    "No service is running. This will be sent only while Carina runs: start it with `carina run`."
)
"""Beside what is promised for later."""


def configured(*, beginning: bool = False) -> Config:
    """The configuration of this process, with its fault point armed. Raises ConfigError."""
    config = load_here(beginning=beginning)
    if config.fault:
        try:
            faults.arm(config.fault)
        except ValueError as error:
            raise ConfigError(
                "CARINA_FAULT: {error}; expected such as outbox.sending:after", error=error_text(error)
            ) from None
    return config


def log_to(config: Config, *, as_json: bool = False, level: str = "info") -> None:
    redactor = Redactor(config.secrets())
    loaded("bot.logs").setup_logs(redactor, as_json=as_json, level=level, no_color=config.no_color)


def in_constellation(config: Config, name: str) -> Config:
    """The configuration as if that constellation were the configured one, for commands that only use files."""
    section = config.constellation.model_copy(update={"name": name})
    return config.model_copy(update={"constellation": section})
