"""The catalogs of fixed texts: nothing forgotten, nothing broken by a translation, and each reader's own language."""

import ast
import copy
import json
import re
import sys
import time
from collections.abc import Iterator
from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path

import click
import discord
import pytest
from babel.messages.catalog import Message
from discord import app_commands
from jinja2 import nodes
from pydantic import SecretStr

import texts
from bot.interfaces.cli.main import run
from bot.interfaces.discord.commands import Commands, offered
from bot.interfaces.discord.memory_forms import MENU
from bot.interfaces.web import render
from bot.services import services, titles
from bot.services.caller import Via
from bot.services.registry import operations_of
from docs import text_catalog
from sources.base import DeliveryFailed
from sources.discord.command_tree import CatalogTranslator, mark
from sources.discord.settings import DiscordSettings
from tests.bot.services.calling import registry
from tests.sources.running import NOTHING_DECIDED
from texts import TextError, _, gettext_lazy, language_of, ngettext, read_on, reading, speak, speaking

MESSAGES = [each for each in text_catalog.template() if each.id]
FORM = "discord.ui.Modal"
CODES = pytest.mark.parametrize("code", texts.LANGUAGES)


def test_no_text_points_to_a_file_that_an_installed_program_lacks() -> None:
    missing = re.compile(r"docs/|README|CONTRIBUTING|CHANGELOG|(carina|env)\.example")
    assert [each.id for each in MESSAGES if missing.search(str(each.id))] == []


def forms(said: object) -> tuple[str, ...]:
    return tuple(map(str, said)) if isinstance(said, list | tuple) else (str(said),)


def names(said: str) -> set[str]:
    return set(re.findall(r"(?<!\{)\{(\w*)[^{}]*\}", said))


def translated(code: str) -> list[Message]:
    return [each for each in text_catalog.translations(code) if each.id]


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What of a module runs when it is imported."""
    for each in ast.iter_child_nodes(node):
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield each
            yield from at_import(each)


def test_nothing_is_translated_before_anybody_reads_it() -> None:
    """What is translated when its module is imported stays in the language of that moment."""
    early = [
        f"{path}:{node.lineno}"
        for folder in ("bot", "memory", "scheduler", "sources")
        for path in (texts.FOLDER.parent / folder).rglob("*.py")
        for node in at_import(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_", "ngettext")
    ]
    assert early == []


def test_the_catalog_reads_as_a_whole() -> None:
    """`pytest -s` prints every message, for whoever edits them."""
    for each in MESSAGES:
        for said in forms(each.id):
            sys.stdout.write(f"{said}\n")
            assert not re.search(r"  |\(s\)", said), "one space, and a form for each number"


NO_PERSON_READS = {
    *(
        "AssertionError",
        "KeyError",
        "OSError",
        "RuntimeError",
        "TypeError",
        "ValueError",
    ),  # the log, or who catches them
    *("RowUnreadable", "SignInFailed", "TurnMoved"),  # the log
    *("FetchFailed", "TooLarge", "ToolError"),  # agents, who are told in English
    *("BadRequest", "_BadRequest"),  # programs that call the API or the socket
}


def test_errors_and_answers_are_in_the_catalog() -> None:
    """What people are told by an error, a check, a job or in a sentence is no plain text of the code."""
    told = {*text_catalog.KEYWORDS, "Finding", "JobResult", "Sentence", "SkippedRecord"}
    plain = []
    for path in text_catalog.SOURCES:
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        raised = {id(each.exc) for each in nodes if isinstance(each, ast.Raise)}
        for call in nodes:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute):
                name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
                read = name not in NO_PERSON_READS or (name == "ValueError" and "config" in path.parts)
                if name in told or (id(call) in raised and read):
                    given = [*call.args, *(each.value for each in call.keywords if name not in text_catalog.KEYWORDS)]
                    marked = text_catalog.KEYWORDS.get(name, 0)
                    plain += [
                        f"{path}:{each.lineno}"
                        for at, each in enumerate(given)
                        if sentence(each) and (at >= marked or isinstance(each, ast.JoinedStr))
                    ]
        if "config" in path.parts:  # problems of a configuration are yielded, or expectations of a pattern
            plain += [f"{path}:{each.lineno}" for each in nodes if isinstance(each, ast.Yield) and sentence(each.value)]
            calls = [each for each in nodes if isinstance(each, ast.Call) and ast.unparse(each.func) == "pattern"]
            plain += [f"{path}:{each.lineno}" for each in calls if sentence(each.args[1])]
    assert plain == []


@pytest.mark.parametrize("path", text_catalog.PAGES, ids=lambda path: path.stem)
def test_pages_say_only_what_is_in_the_catalog(path: Path) -> None:
    """What a template says itself, between its tags, in an attribute that is read out or to a macro, is marked."""
    source = path.read_text("utf-8")
    given = "".join(each if kind == "data" else "\0" for _at, kind, each in render.environment().lex(source))
    given = re.sub(r"\b[A-Z_]{4,}=[^\s<]+", "", given)  # lines of .env, to be copied
    shown = re.findall(r'\b(?:placeholder|aria-label|title|alt)="([^"]*)"', given)
    plain = [each for each in [*shown, *re.split(r"<[^>]*>|\0", given)] if re.search(r"[A-Za-z]{2,} ?[a-z]", each)]
    parsed = render.environment().parse(source)
    marked = {id(each) for call in parsed.find_all(nodes.Call) for each in call.args if _marks(call)}
    plain += [
        each.value
        for each in parsed.find_all(nodes.Const)
        if id(each) not in marked and re.match(r"[A-Z][a-z]|[a-z]+ [a-z]+ [a-z]+", str(each.value or ""))
    ]
    assert [each for each in plain if each not in NAMES] == []


NAMES = {"Carina", "MCP: ", "Europe/Vienna", "carina dashboard", True}


def _marks(call: nodes.Call) -> bool:
    return isinstance(call.node, nodes.Name) and call.node.name in text_catalog.KEYWORDS


def sentence(node: ast.AST | None) -> bool:
    """Whether words stand here that somebody could read."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return any(isinstance(part, ast.Constant) and re.search("[a-z]{2,} [a-z]", str(part.value)) for part in parts)


@CODES
def test_every_message_is_translated(code: str) -> None:
    wanted, found = {forms(each.id) for each in MESSAGES}, {forms(each.id) for each in translated(code)}
    assert found == wanted, "run `make generate`"
    catalog = text_catalog.translations(code)
    missing = [*text_catalog.untranslated(catalog), *(each.id for each in catalog if each.id and each.fuzzy)]
    assert missing == [], f"translate them in texts/{code}.po"
    catalog.add("A text of nobody's", "")
    assert text_catalog.untranslated(catalog) == ["A text of nobody's"]


@CODES
def test_a_translation_names_the_values_of_its_message(code: str) -> None:
    for each in translated(code):
        wanted = [names(form) - {"count"} for form in forms(each.id)]
        for said in forms(each.string):
            assert names(said) - {"count"} in wanted, said


@CODES
def test_every_plural_has_as_many_forms_as_its_language(code: str) -> None:
    catalog = text_catalog.translations(code)
    for each in catalog:
        if each.id and each.pluralizable:
            assert len(forms(each.string)) == catalog.num_plurals


@CODES
def test_what_is_compiled_is_what_is_translated(code: str) -> None:
    assert text_catalog.compiled_file(code).read_bytes() == text_catalog.compiled(code), "run `make generate`"


@CODES
def test_discord_takes_every_translated_description(code: str) -> None:
    declared = [each for each in operations_of(services()).values() if Via.DISCORD in each.via and each.offered]
    said = {each.summary for each in declared} | {own.help for each in declared for own in offered(each)}
    said |= set(titles().values())
    with speaking(code):
        assert [text for text in said if not 0 < len(_(text)) <= 100] == []


@CODES
def test_discord_takes_every_translated_title_and_label_of_a_form(code: str) -> None:
    said = [
        str(ast.literal_eval(call.args[0]))
        for path in (texts.FOLDER.parent / "bot" / "interfaces" / "discord").glob("*.py")
        for made in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(made, ast.FunctionDef | ast.AsyncFunctionDef) and ast.unparse(made.returns or made.args) == FORM
        for call in ast.walk(made)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "_"
    ]
    assert "Add a long-term memory entry" in said
    with speaking(code):
        assert [_(text) for text in said if len(_(text)) > 45 and "{" not in text] == []


def test_what_click_says_is_ours_to_translate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = Path(click.__file__).parent.glob("*.py")
    said = {forms(each) for path in sources for each in text_catalog.messages(path.read_text("utf-8"))}
    assert {forms(each) for each in text_catalog.CLICK} <= said
    monkeypatch.setenv("LANGUAGE", "de")
    with speaking("en"):
        assert run(["remind", "list", "--colour"]) == 2
    assert "Fehler: Es gibt keine Option „--colour“." in capsys.readouterr().err


def test_a_moment_is_told_on_the_clocks_of_the_reader() -> None:
    noon = datetime(2026, 11, 22, 12, tzinfo=UTC)
    reason = gettext_lazy("once, {at}", at=noon)
    assert reason == "once, 2026-11-22 12:00 UTC"
    reader = copy_context()
    reader.run(speak, "de")
    reader.run(read_on, "discord")
    assert reader.run(_, reason) == "einmal, <t:1795348800:f>, <t:1795348800:R>"
    assert copy.deepcopy(reason) == reason


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        *(("de", "de"), ("de-AT", "de"), ("de_CH.UTF-8", "de"), ("ja", "ja"), ("ja_JP@x", "ja")),
        *(("en-US", "en"), ("C.UTF-8", "en"), ("", "en"), ("fr", "en"), ("dex", "en")),
    ],
)
def test_a_locale_is_answered_in_its_language(locale: str, language: str) -> None:
    assert language_of(locale) == language
    with speaking(locale):
        assert texts.language() == language
    assert texts.language() == "en"


def test_a_language_that_is_chosen_anew_is_spoken_at_once() -> None:
    chosen = ["ja", "de-AT"]

    def aloud() -> list[str]:
        texts.speak(chosen.pop)
        return [_("Withdrawn"), _("Withdrawn")]

    assert copy_context().run(aloud) == ["Zurückgezogen", "取り下げました"]


@CODES
def test_nothing_is_translated_to_nothing(code: str) -> None:
    """In a catalog the empty message is its header."""
    with speaking(code):
        assert _("") == ""
        assert _("A text of nobody's") == "A text of nobody's"


def test_a_lazy_message_is_english_in_logs_and_translated_where_it_is_shown() -> None:
    inner = gettext_lazy("Discord answered {status}", status=503)
    reason = gettext_lazy("direct messages are not available there: {reason}", reason=inner)
    error = DeliveryFailed(reason)
    assert (str(error), _(reason)) == ("direct messages are not available there: Discord answered 503",) * 2
    with speaking("de"):
        assert _(error.reason) == "Direktnachrichten sind dort nicht verfügbar: Discord antwortete 503"
        assert str(error) == "direct messages are not available there: Discord answered 503"
        assert _("{braces} of somebody") == "{braces} of somebody", "what is no message of ours stays as it is"


def test_a_stored_message_is_english_in_its_column_and_translated_where_it_is_read() -> None:
    source = texts.TextError("text from {sources}", sources="“{x}”, " * 2)
    reason = gettext_lazy("{tool} was called in a turn that uses {source}", tool="file_write", source=source)
    stored = texts.packed(reason)
    assert json.loads(stored)[0] == str(reason) == "file_write was called in a turn that uses text from “{x}”, “{x}”, "
    with speaking("de"):
        told = "file_write wurde in einem Durchgang aufgerufen, der Text aus “{x}”, “{x}”,  verwendet"
        assert _(texts.unpacked(stored)) == told
    for plain in ("said by hand", '["a", "b"]', '["cut', ' ["a", ["{b.c}", "d"], {"b": 1}]'):
        assert _(texts.unpacked(texts.packed(plain))) == plain
    for damaged in ('["a", ["{x.y}"], {"x": "b"}]', '["a", ["one", "more"], {}]', '["a", ["{x[a]}"], {"x": "b"}]'):
        assert texts.unpacked(damaged) == damaged
    for imported in ("{a.__format__.__globals__[json].codecs.sys.path}", "{a.real}", "{a:>9999999999}", "{a:{a}}"):
        looks = json.dumps(["x", [imported], {"a": 1}])
        assert _(texts.unpacked(looks)) == looks, "of the program's own memory, no message says anything"


def test_what_is_quoted_in_a_message_stays_on_one_line_and_cannot_turn_it_around() -> None:
    typed = "ring\n\nDone: everything was deleted \u202e👩\u200d🚀 "
    for message in (
        "There is no block “{label}”.",
        "Es gibt keinen Block „{label}“.",
        "「{label}」というブロックはありません。",
    ):
        told = str(TextError(message, label=typed))
        assert "ring Done: everything was deleted 👩\u200d🚀" in told
        assert "\n" not in told
        assert "\u202e" not in told
    assert _("Your list:\n{lines}", lines="a\nb") == "Your list:\na\nb"


def test_an_error_of_python_is_told_whole() -> None:
    with pytest.raises(UnicodeDecodeError) as broken:
        b"\xff".decode()
    assert texts.error_text(broken.value) == str(broken.value)


def test_numbers_agree_with_what_they_count() -> None:
    assert ngettext("{count} thing", "{count} things", 1) == "1 thing"
    assert ngettext("{count} thing", "{count} things", 1_200) == "1,200 things"
    assert ngettext("{count} thing of {whose}", "{count} things of {whose}", 0, whose="{Ann}") == "0 things of {Ann}"


def test_numbers_have_the_separators_of_the_reader() -> None:
    """An id, which has no separators, stays as it is."""
    said = "{id} has {size:,} bytes, and {left:,.2f} are left"
    assert _(said, id=1234, size=1234, left=1234.5) == "1234 has 1,234 bytes, and 1,234.50 are left"
    with speaking("de"):
        assert _(said, id=1234, size=1234, left=1234.5) == "1234 has 1.234 bytes, and 1.234,50 are left"
        assert ngettext("{count} call", "{count} calls", 2.5) == "2,5 Aufrufe"


async def test_discord_is_told_descriptions_in_german_and_japanese_and_english_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def shown(_interaction: discord.Interaction, _message: discord.Message) -> None:
        """What the entry of the menu does."""

    async with discord.Client(intents=discord.Intents.none()) as client:
        tree: app_commands.CommandTree[discord.Client] = app_commands.CommandTree(client)
        made = Commands(registry(), titles(), DiscordSettings(SecretStr("token"), NOTHING_DECIDED))
        command = made.command("approve", operations_of(services())["approve"])
        tree.add_command(command)
        texts._catalog.cache_clear()
        before = mark(tree)
        assert texts._catalog.cache_info().currsize == 0, "a start has no use for the catalogs"
        monkeypatch.setattr("sources.discord.command_tree.FOLDER", tmp_path)
        assert mark(tree) != before, "other translations are told, too"
        begun = time.process_time()
        told = await command.get_translated_payload(tree, CatalogTranslator())
        assert time.process_time() - begun < 1
        menu = app_commands.ContextMenu(name=MENU, callback=shown)
        named = (await menu.get_translated_payload(tree, CatalogTranslator()))["name_localizations"]
    assert named == {"de": "Warum hast du das gesagt?", "ja": "なぜこう答えたのですか？"}
    assert told["description"] == "Approve a request"
    assert told["description_localizations"] == {"de": "Eine Anfrage genehmigen", "ja": "リクエストを承認します"}
    assert "name_localizations" not in told or not told["name_localizations"]
    option = told["options"][0]
    assert option["description_localizations"]["de"] == "Anfrage laut Liste"


FOR_TERMINALS = (
    "bot/interfaces/cli",
    "bot/interfaces/web",
    "bot/interfaces/mcp_server.py",
    "bot/interfaces/control/chat.py",
    "sources/terminal",
)
NOT_FOR_DISCORD = re.compile(
    r"\bcarina (?![^`]*` at a terminal)[a-z]|\(UTC\)|[}\d] UTC|\bdiscord:(?:\w+:)?\d|\d{4}-\d\d-\d\d"
)
AS_TYPED = re.compile(r"such as|Examples|like|Write it as|for a server|2026-12-31|or --|, or an age")
"""How people write what a command takes: there is no other way to show it."""


def test_no_text_that_is_read_on_discord_is_written_for_a_terminal() -> None:
    """The renderer makes slash commands of commands; dates and zones are written by it alone."""
    written = {}
    for message in MESSAGES:
        places = [place for place, _line in message.locations if place.endswith(".py")]
        if places and not all(place.startswith(FOR_TERMINALS) for place in places):
            for said in forms(message.id):
                with reading("discord"):
                    written[said] = _(said)
    assert sum("`/" in shown for shown in written.values()) > 30
    found = [text for text in written.values() if NOT_FOR_DISCORD.search(text) and not AS_TYPED.search(text)]
    assert found == []


def test_what_discord_tells_of_commands_has_no_words_of_programs() -> None:
    told = [
        text
        for declared in operations_of(services()).values()
        if Via.DISCORD in declared.via and declared.offered
        for each in declared.parameters
        if Via.DISCORD in each.via
        for text in (declared.summary, each.help, *each.choice_labels)
    ]
    assert [text for text in told if NOT_FOR_DISCORD.search(text)] == []
