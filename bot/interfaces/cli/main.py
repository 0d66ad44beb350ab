"""`carina`: parses a command, runs it and prints the result.

A command that a running service answers loads the parser, the manifest and a socket, nothing else. If no service runs,
`bot.interfaces.cli.local_operations` does the work in this process.
"""

import functools
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import click

from bot.errors import CallError, UserError
from bot.interfaces.cli import streams
from bot.interfaces.cli.data_folder import data_folder, loaded, locale, source
from bot.interfaces.cli.manifest import Entry, constellation_after, manifest, operation_entry
from bot.interfaces.control import client
from bot.interfaces.control.client import View
from bot.interfaces.problem import problem_details
from memory.store.data_folder import DataFolder
from memory.store.errors import FolderLocked, StoreError
from memory.store.records import replace
from texts import _, error_text, read_on, speak, speak_click

_MARGIN = 5.0  # grace period for the service's own timeout error


class CommandFailed(Exception):
    """A command failed: the text for people, and the exit code."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


def main() -> None:
    streams.be_lenient()
    code = run(sys.argv[1:])
    if "bot.interfaces.cli.long_running_commands" in sys.modules:
        sys.exit(code)
    # Everything is closed by now, and freeing hundreds of modules would be a tenth of the work of a command.
    with suppress(OSError, ValueError):
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    speak(locale())
    read_on(source(), to_owner=True)
    speak_click()
    arguments = constellation_after(arguments)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        if not arguments or arguments[0] in manifest().by_hand:  # without a command: a chat, or the service
            manifest.cache_clear()  # a service needs none of it: it takes a MiB
            with streams.without_echo() if arguments[:1] in ([], ["chat"]) else nullcontext():
                code = loaded("bot.interfaces.cli.long_running_commands").main(list(arguments))
        else:
            commands = loaded("bot.interfaces.cli.commands").Commands(manifest(), perform)
            code = commands.main(list(arguments), "carina", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        if "--json" in arguments:
            _print_problem(error.format_message(), 400)
        else:
            error.show()
        return error.exit_code
    except click.Abort:
        click.echo(_("Aborted!"), err=True)
        return 1
    except BrokenPipeError:  # the reader has read enough, as `head` does
        streams.drop_output()
        return 1
    except (CallError, UserError, StoreError, CommandFailed) as error:
        code = error.code if isinstance(error, CommandFailed) else 2 if isinstance(error, CallError) else 1
        if "--json" in arguments:
            _print_problem(error_text(error), 409 if isinstance(error, _NobodyToAsk) else 422 if code == 1 else 400)
        else:
            click.echo(streams.wrapped(f"carina: {error_text(error)}"), err=True)
        return code


class _NobodyToAsk(CallError):
    """A command that has to be confirmed runs where nobody can be asked."""


def _print_problem(words: str, status: int) -> None:
    """Print an error in the form of the HTTP API, for a program that reads standard error."""
    told = problem_details(status, words, "" if status == 409 else "Not done")
    click.echo(json.dumps(told, ensure_ascii=not streams.says_everything()), err=True)


_OPENED = {"dashboard.open"}
"""Operations whose result is a URL for the browser."""


def _set_up(entry: Entry, arguments: Mapping[str, Any], view: View) -> None:
    """Ask for settings, write them, and check the result."""
    wizard = loaded("bot.interfaces.cli.wizard.setup_questions")  # loads the line editor
    given, starts = wizard.ask_settings(arguments)
    if given is None:
        return
    perform(entry, given, view)
    if starts:
        try:
            perform(operation_entry("service.install"), {}, view)
        except (CallError, UserError, StoreError, CommandFailed) as error:
            click.echo(error_text(error), err=True)
    perform(operation_entry("doctor"), {}, view)


def perform(entry: Entry, arguments: Mapping[str, Any], view: View) -> None:
    """Run an operation and print the result. Raises CommandFailed, UserError, Exit (with a code)."""
    if entry.name == "init" and streams.is_interactive() and not {*arguments} - {"starter"}:
        _set_up(entry, arguments, view)
        return
    if entry.name == "group.create":
        questions = loaded("bot.interfaces.cli.wizard.group_questions")
        arguments = questions.ask_missing(arguments, functools.partial(_look, view))
    reply = _reply(entry, arguments, view)
    if reply.confirm is not None:
        _ask(reply.confirm)
        perform(entry, arguments, replace(view, sure=True, shown=reply.confirm))
        return
    if reply.error is not None:
        raise CommandFailed(reply.error, reply.code)
    if reply.aside:
        click.echo(reply.aside, err=True)
    if reply.text:
        _print(reply.text if view.as_json else streams.wrapped(reply.text))
    ours = entry.name in _OPENED and not arguments.get("person")  # a link for somebody else is not used up here
    if ours and streams.is_interactive() and not view.as_json:
        loaded("webbrowser").open(reply.text)  # fails if there is no browser
    if reply.code:
        raise click.exceptions.Exit(reply.code)


def _look(view: View, name: str, **arguments: Any) -> Any:
    """The result of an operation as data. Raises CommandFailed, UserError."""
    reply = _reply(operation_entry(name), arguments, replace(view, as_json=True))
    if reply.error is not None:
        raise CommandFailed(reply.error, reply.code)
    return reply.data()


def _ask(question: str) -> None:
    """Ask for confirmation. Raises CallError if nobody can be asked, UserError on a no."""
    if not streams.is_interactive():
        raise _NobodyToAsk(
            _(
                "{question}\nYou cannot answer here, because this is not a terminal. Add --yes to confirm.",
                question=question,
            )
        )
    sure, question = None, streams.wrapped(_("{question} [y/N]", question=question))
    while sure is None:
        sure = streams.parse_yes(click.prompt(question, default="n", show_default=False))
        question = _("Answer y or n.")
    if not sure:
        raise UserError("Nothing was done.")


def _reply(entry: Entry, arguments: Mapping[str, Any], view: View) -> client.Reply:
    """The reply of the service, or of this process; waits for a service that is just starting or stopping."""
    folder, patience = DataFolder(data_folder(Path.cwd())), time.monotonic() + client.STARTING_SECONDS
    if entry.where == "alone":
        return _here(entry, arguments, view)
    while True:
        try:
            if client.is_used(folder):
                seconds = None if entry.seconds is None else entry.seconds + _MARGIN
                return client.ask(folder, entry.name, seconds, arguments=arguments, view=view)
            if entry.where == "service":
                raise client.not_running(folder)
            return _here(entry, arguments, view)
        except (client.NoService, FolderLocked):  # otherwise it was a command, and has ended by now
            if time.monotonic() > patience:
                raise
        time.sleep(0.1)


def _here(entry: Entry, arguments: Mapping[str, Any], view: View) -> client.Reply:
    found: client.Reply = loaded("bot.interfaces.cli.local_operations").reply(entry.name, arguments, view, entry.by)
    return found


def _print(text: str) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        streams.drop_output()
        raise UserError("Writing to standard output failed: {error}.", error=error.strerror) from error
