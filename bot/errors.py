"""Errors by who acts next: the model reads `ToolError`, the person `UserError`, the operator everything else."""

from texts import TextError


class ToolError(Exception):
    """A tool call that failed; the text tells the model what happened and what it can do instead."""


class UserError(TextError):
    """A person's request that cannot be fulfilled; the text says why and what to do."""


class ConfigError(TextError):
    """The configuration is wrong; the text names the key and what is expected. Exit code 2."""


class CallError(TextError):
    """A command was called with invalid arguments; the text says which are valid. Exit code 2."""
