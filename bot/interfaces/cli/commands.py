"""The commands of the command line, and their help, built from `operations.json` without loading any service.

The help texts are part of the declarations, with `@operation` in bot/services.
"""

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from bot.errors import CallError
from bot.interfaces.cli import streams
from bot.interfaces.cli.manifest import Entry, Manifest, ParameterEntry, Tree, constellation_after, place
from bot.interfaces.command_headings import HEADINGS
from bot.interfaces.control.client import View
from bot.interfaces.version import version
from memory.store.records import replace
from texts import _, gettext_noop, language, number_text, sentence

_HANDED = {"privacy.export": "carina-privacy.zip"}
"""Operations whose result is saved to a file for a person, here with the default name: it is not for reading."""
CONSTELLATION = "in_constellation"
"""The option of every command that names the constellation."""

Perform: TypeAlias = Callable[[Entry, Mapping[str, Any], View], None]
"""Runs an operation and prints its result: (its entry, the arguments, the print options)."""

HELP = gettext_noop(
    "Run and talk to agents that remember. Without a command, this starts the service, or a "
    "chat if no front end is configured and this is a terminal."
)
EPILOG = gettext_noop(
    "Exit codes: 0 success; 1 failure; 2 wrong command or configuration; 3 run `carina db migrate` first."
)


class _SuggestingGroup(click.Group):
    """A group that suggests a similar name for an unknown command."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        del ctx
        return [_("[OPTIONS]"), _("COMMAND [ARGS]...")]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = not args[0].startswith("-") and self.get_command(ctx, args[0]) is None
        if unknown and not ctx.resilient_parsing:
            every = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
            offered = [name for name, each in every if each is not None and not each.hidden]
            near = difflib.get_close_matches(args[0], offered, n=1)
            words = _("There is no command “{name}”.", name=args[0])
            if near:
                words += _(" Did you mean {meant}?", meant=near[0])
            elif ctx.parent is not None:
                words += " " + _("Commands: {names}", names=", ".join(offered))
            ctx.fail(words)
        return super().resolve_command(ctx, args)


class Commands(_SuggestingGroup):
    """The commands of the manifest, each created on demand."""

    def __init__(self, found: Manifest, perform: Perform) -> None:
        super().__init__("carina", help=_(HELP), epilog=_(EPILOG))
        self._entries: Tree = {}
        for entry in found.operations:
            place(self._entries, entry.name, entry)
            for name in entry.also:
                place(self._entries, name, replace(entry, renamed=True, default=False))
        self._titles, self._by_hand, self._perform = found.titles, found.by_hand, perform
        self.params.append(_constellation())
        version_told = _("Print the version.")
        self.params.append(
            click.Option(["--version"], is_flag=True, is_eager=True, callback=_print_version, help=version_told)
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] == ["--json"]:
            ctx.fail(_("--json goes after the command, as in `{command}`.", command=f"{_typed('status')} --json"))
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted([*self._entries, *self._by_hand])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(name) for names in HEADINGS.values() for name in names)
        for heading, names in HEADINGS.items():
            found = ((name, self.get_command(ctx, name)) for name in names)
            with formatter.section(_(heading)):
                formatter.write_dl(
                    [(f"{name:<{width}}", each.get_short_help_str(1_000)) for name, each in found if each is not None]
                )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name in self._by_hand:
            return click.Command(cmd_name, short_help=_(self._by_hand[cmd_name]))
        entry = self._entries.get(cmd_name)
        return None if entry is None else self._made(cmd_name, entry, cmd_name)

    def _made(self, name: str, entry: Tree | Entry, path: str) -> click.Command:
        if isinstance(entry, Entry):
            return _command(name, entry, self._perform)
        title = self._titles.get(path, "")  # one with only old names has none
        told = sentence(_(title))
        group = _Group(name, params=[_constellation()], help=told, short_help=told, hidden=not title)
        for word, below in entry.items():
            if isinstance(below, Entry) and below.default:
                group.default = word
            group.add_command(self._made(word, below, f"{path}.{word}"), word)
        return group


class _Group(_SuggestingGroup):
    """A group; without a subcommand, it runs its default if it has one. "list" and "show" mean whichever it has."""

    default = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args = constellation_after(args)
        if args and args[0] in ("list", "show") and args[0] not in self.commands:
            args = [
                next((each for each in ("list", "show", self.default) if each in self.commands), args[0]),
                *args[1:],
            ]
        if self.default and (not args or self._is_for_default(args[0])):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _is_for_default(self, word: str) -> bool:
        """Whether a word is an option or argument of the default instead of a subcommand."""
        takes = any(isinstance(each, click.Argument) for each in self.commands[self.default].params)
        return word != "--help" and (word.startswith("-") or (takes and word not in self.commands))


def _command(name: str, entry: Entry, perform: Perform) -> click.Command:
    def run(as_json: bool, **given: Any) -> None:
        if entry.renamed:
            click.echo(_("This command is now called {command}.", command=f"`{_typed(entry.name)}`"), err=True)
        sure, constellation = bool(given.pop("yes", False)), given.pop(CONSTELLATION) or ""
        arguments = {key: value for key, value in given.items() if value is not None and value != ()}
        arguments = _worded(entry, arguments)
        piped = [each for each in entry.parameters if each.piped and each.name not in arguments]
        arguments |= {each.name: _piped(entry, each.flags[-1]) for each in piped}
        if entry.name in _HANDED and streams.is_interactive() and not as_json:
            arguments.setdefault("output", str(Path.cwd() / _HANDED[entry.name]))
        view = View(
            sure=sure,
            as_json=as_json,
            ascii=not streams.says_everything(),
            locale=language(),
            constellation=constellation,
            attended=streams.is_interactive(),
        )
        perform(entry, arguments, view)

    parameters = _parameters(entry.parameters)
    if entry.asks:
        parameters.append(click.Option(["--yes"], is_flag=True, help=_("Do not ask for confirmation.")))
    parameters.append(_constellation())
    parameters.append(click.Option(["--json", "as_json"], is_flag=True, help=_("Print JSON."), hidden=_in_chat()))
    told = [f"{_(each.metavar)}: {_argument_help(each)}" for each in entry.parameters if each.positional]
    return _Command(
        name, callback=run, params=parameters, help="\n\n".join([sentence(_(entry.summary)), *told]),
        short_help=sentence(_(entry.summary)), hidden=entry.renamed, entry=entry,
    )  # fmt: skip


def _argument_help(told: ParameterEntry) -> str:
    words, typed = _(told.help), told.typed or ", ".join(told.choices)
    return sentence(f"{words}: {typed}" if typed else words)


class _Command(click.Command):
    """An operation. Its errors name options as typed; for a missing argument, they give an example."""

    def __init__(self, *given: Any, entry: Entry, **named: Any) -> None:
        super().__init__(*given, **named)
        self.options_metavar = _("[OPTIONS]")
        self._entry = entry

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        try:
            super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            near = [each for each in error.possibilities or () if each != "--help"]  # it resembles nearly every option
            raise click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx) from None
        except click.MissingParameter as error:
            raise click.UsageError(self._missing(error.param)) from None
        except click.BadParameter as error:
            flag = f"{error.param.opts[-1]}: " if isinstance(error.param, click.Option) else ""
            raise click.UsageError(f"{flag}{error.message}", ctx) from None
        if ctx.args and not ctx.resilient_parsing:
            more = " ".join(ctx.args)
            named = (each for each in self._entry.parameters if each.flags[-1:] in (("--output",), ("--text",)))
            if option := next(named, None):
                option_words = f"{option.flags[-1]} {_(option.metavar)}"
                ctx.fail(_("This command does not take “{words}” here. Use {option}.", words=more, option=option_words))
            ctx.fail(
                _(
                    "This command does not take “{words}”. `--help` shows its arguments and options; an argument of "
                    "several words needs quotes.",
                    words=more,
                )
            )
        return ctx.args

    def _missing(self, missing: click.Parameter | None) -> str:
        told = next((each for each in self._entry.parameters if missing and each.name == missing.name), None)
        shown = _(told.metavar) if told and told.positional else told.flags[-1] if told else ""
        lines = [_("{argument} is missing.", argument=shown)]
        if told:
            lines.append(f"{shown}: {_argument_help(told)}")
        if self._entry.example:
            example = f"{_typed(self._entry.name)} {self._entry.example}"
            lines.append(_("For example: {command}", command=example))
        return "\n".join(lines)


def _typed(name: str) -> str:
    """The command for an operation, on the command line or in a chat."""
    program, words = click.get_current_context().find_root().info_name, name.replace(".", " ")
    return f"{program} {words}" if program else f"/{words}"


def _worded(entry: Entry, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with separate words joined to a text; of two quoted ones, the second is the next argument."""
    told = next((each for each in entry.parameters if each.words), None)
    if told is None or told.name not in given:
        return dict(given)
    name, after = told.name, [each.name for each in entry.parameters if each.positional][1:]
    said = [*given[name], *(given[each] for each in after if each in given)]
    others = {key: value for key, value in given.items() if key not in (name, *after)}
    if after and len(said) == 2 and " " in "".join(said):
        return {**others, name: said[0], after[0]: said[1]}
    return {**others, name: " ".join(said)}


def _print_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"carina {version()}")
        ctx.exit()


def _constellation() -> click.Option:
    """The option of every command; it can also come before the command."""
    return click.Option(
        ["--constellation", CONSTELLATION],
        metavar=_("NAME"),
        help=_("Constellation to use (default: the configured one)."),
        hidden=_in_chat(),
    )


def _in_chat() -> bool:
    """Whether the command is typed in a chat, whose help omits options for scripts."""
    context = click.get_current_context(silent=True)
    return context is not None and not context.find_root().info_name


def _piped(entry: Entry, flag: str) -> str:
    """Read standard input. Raises CallError if it is a terminal, or empty."""
    words = entry.name.replace(".", " ")
    if sys.stdin is None or streams.typed():
        raise CallError(
            "{words}: provide text with {flag} or from a file: carina {words} … < FILE", words=words, flag=flag
        )
    if not (text := sys.stdin.read()):
        raise CallError('{words}: standard input is empty. For empty text, use {flag} "".', words=words, flag=flag)
    return text


def _parameters(told: Sequence[ParameterEntry]) -> list[click.Parameter]:
    """The parameters of a command. A text takes all words of the line; `_worded` finds the argument after it."""
    positional = [each for each in told if each.positional]
    text = next((each for each in positional if each.words), None)
    if text is None or positional == [text]:
        return [_click_parameter(each) for each in told]
    metavar = " ".join([_(text.metavar), *(f"[{_(each.metavar)}]" for each in positional if each is not text)])
    return [
        _click_parameter(replace(each, metavar=metavar) if each is text else each)
        for each in told
        if each is text or not each.positional
    ]


def _click_parameter(told: ParameterEntry) -> click.Parameter:
    kind, name, told_help = _type(told), told.name, _(told.help)
    if told.positional:
        metavar = _(told.metavar) if told.required else f"[{_(told.metavar)}]"
        count = -1 if told.kind == "many" or told.words else 1
        return click.Argument([name], type=kind, required=told.required, metavar=metavar, nargs=count)
    words = [*told.flags, name]
    if told.kind == "many":
        return click.Option(
            words, multiple=True, metavar=_(told.metavar), help=_("{help}; can be repeated.", help=told_help)
        )
    if told.kind == "flag":
        return click.Option(words, is_flag=True, default=None, help=sentence(told_help))
    shown = "" if told.default in (None, "") else " " + _("[default: {value}]", value=told.default)
    named = None if told.choices else _(told.metavar)
    return click.Option(words, type=kind, metavar=named, help=f"{sentence(told_help)}{shown}")


def _type(told: ParameterEntry) -> click.ParamType[Any]:
    if told.choices:
        return _Choice(told.choices)
    if told.kind in ("integer", "number"):
        return _Number(told)
    return _TYPES.get(told.kind, click.STRING)


class _Number(click.ParamType[float]):
    """A number; an integer if the operation takes no other."""

    name = "number"

    def __init__(self, told: ParameterEntry) -> None:
        self._told = told

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        low, high, shown = self._told.low, self._told.high, value
        try:
            number = int(value) if self._told.kind == "integer" else float(value)
        except ValueError:
            self.fail(_("“{value}” is not a number that can be used here.", value=shown), param, ctx)
        if high is not None and not number <= high:
            self.fail(
                _("“{value}” is too large. The maximum is {high}.", value=shown, high=number_text(high, ",.16g")), param
            )
        if low is not None and not number >= low:
            self.fail(
                _("“{value}” is too small. The minimum is {low}.", value=shown, low=number_text(low, ",.16g")), param
            )
        return number


class _Choice(click.Choice[str]):
    """One of several values."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        del ctx
        return _("“{value}” is not available. Choose from: {names}.", value=value, names=", ".join(self.choices))


class _Here(click.ParamType[str]):
    """An absolute path: the service has another current folder. In the chat, no shell expands a `~`."""

    name = "path"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return str(Path(value).expanduser().absolute())
        except RuntimeError as error:
            self.fail(_("{path} cannot be read: {reason}", path=value, reason=error), param, ctx)


class _Content(click.ParamType[str]):
    """The text of a file, or of standard input."""

    name = "content"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "-" and streams.typed():
            self.fail(_("-: nothing was piped in. Name a file."), param, ctx)
        try:
            return sys.stdin.read() if value == "-" else Path(value).expanduser().read_text("utf-8")
        except UnicodeDecodeError:
            self.fail(_("{value}: not UTF-8 text", value=value), param, ctx)
        except (OSError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self.fail(_("{path} cannot be read: {reason}", path=value, reason=why), param, ctx)


_TYPES: Mapping[str, click.ParamType[Any]] = {"text": click.STRING, "path": _Here(), "content": _Content()}
