"""Errors by who acts next: the model reads `ToolError`, the person `UserError`, the operator everything else."""

from texts import TextError


class ToolError(Exception):
    """A tool call that failed; the text tells the model what happened and what it can do instead."""


class UserError(TextError):
    """Something a person asked for that cannot be done; the text says why and what to do."""


class ConfigError(TextError):
    """The configuration is wrong; the text names the key and what is expected. Exit code 2."""


class CallError(TextError):
    """A command was called with something it cannot take; the text says what it takes. Exit code 2."""
