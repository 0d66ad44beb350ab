"""Commands on Discord: where they stand and who sees them, forms, questions and files, and how each answer reads."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import discord
import pytest
from discord import app_commands
from pydantic import SecretStr

from bot.agents.permissions.roles_and_rights import Rank
from bot.errors import UserError
from bot.interfaces.discord import commands, components, confirmations, responses
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.confirmations import OpenQuestion, Questions
from bot.interfaces.discord.help import page
from bot.interfaces.discord.responses import Interaction
from bot.services import services, titles
from bot.services.caller import Via
from bot.services.registry import Registry
from bot.services.slash_names import HIDDEN, operation_words
from sources.discord.cards import CALL, call_id
from sources.discord.command_tree import BROKEN, CatalogTranslator
from sources.discord.settings import DiscordSettings
from tests.bot.services.calling import registry
from tests.captured_logs import capture_logs
from tests.gallery import collect, words_of
from tests.sources.running import NOTHING_DECIDED
from tests.wire.discord import Message
from texts import _, reading, slash_names, speaking


def _bare(service: Any) -> Any:
    fields = getattr(service, "__struct_fields__", None)
    return object.__new__(service) if fields is None else service(*(None for _ in fields))


def every() -> Registry:
    """All operations as declared; what they would be done with is not there."""
    return registry(*map(_bare, services()))


async def told() -> list[dict[str, Any]]:
    tree = app_commands.CommandTree[Any](discord.Client(intents=discord.Intents.none()))
    Commands(every(), titles(), DiscordSettings(SecretStr("none"), NOTHING_DECIDED)).install(tree)
    return [await each.get_translated_payload(tree, CatalogTranslator()) for each in tree.get_commands()]


def size(part: dict[str, Any]) -> int:
    """Characters as Discord counts them: of each text its longest translation."""
    own = sum(
        max(len(text) for text in (part.get(name, ""), *(part.get(f"{name}_localizations") or {}).values()))
        for name in ("name", "description")
    )
    below = [*part.get("options", ()), *part.get("choices", ())]
    return own + len(str(part.get("value", ""))) + sum(map(size, below))


async def test_the_commands_are_within_what_discord_takes() -> None:
    commands = await told()
    assert len(commands) + 3 <= 100, "three are made by hand"
    for each in commands:
        assert size(each) <= 8_000, each["name"]
        for group in [each, *each["options"]]:
            assert len(group.get("options", ())) <= 25, group["name"]
    assert all(len(shown.split()) <= 3 for shown in slash_names().values())


async def test_members_see_a_short_list_and_nothing_that_is_not_theirs() -> None:
    commands = await told()
    seen = {each["name"] for each in commands if each["default_member_permissions"] is None}
    assert {each["name"]: each["default_member_permissions"] for each in commands if each["name"] not in seen} == {
        name: discord.Permissions(manage_guild=True).value for name in HIDDEN
    }
    assert len(seen) <= 12
    for declared in every().operations.values():
        shown = slash_names().get(" ".join(declared.words))
        if shown is not None and shown.split()[0] in seen:
            needed = [declared.needs, *(each.needs for each in declared.parameters if Via.DISCORD in each.via)]
            assert {each.least for each in needed if each is not None} == {Rank.PERSON}, shown


def test_words_name_a_command_as_it_is_called_there() -> None:
    for source in ("discord", "page"):
        with reading(source):
            assert _("`carina pair approve CODE` allows them") == "`/owner pair approve` allows them"
            assert _("`carina privacy resume{of}`", of="") == "`/privacy resume`"


def test_commands_of_a_terminal_are_named_to_the_owner_and_others_are_told_who_has_them() -> None:
    two = "{name} is archived. `carina agent restore {name}` restores it. Then use `carina privacy resume`."
    with reading("discord", to_owner=True):
        assert _(two, name="Vega") == (
            "Vega is archived. `carina agent restore Vega` at a terminal restores it. Then use `/privacy resume`."
        )
    with reading("discord"):
        assert _(two, name="Vega") == (
            "Vega is archived. The person who runs me can take care of that. Then use `/privacy resume`."
        )
        assert _("; `carina agent restore` restores it") == "; the person who runs me can take care of that"
    assert operation_words("memory archival add") == "archival add", "which keeps words"
    assert operation_words("chat agent") == "chat agent"


class Deferred:
    def __init__(self, *, deferred: bool) -> None:
        self.response = self.followup = self
        self.deferred = deferred
        self.said: list[tuple[str, str]] = []
        self.files: list[Any] = []
        self.client = SimpleNamespace(tree=SimpleNamespace(cleaned=str))

    def is_done(self) -> bool:
        return self.deferred

    async def send(self, text: str = "", *, files: Any = (), **_more: Any) -> None:
        self.said.append(("followup", text))
        self.files += files

    async def send_message(self, text: str, **_more: Any) -> None:
        self.said.append(("response", text))


async def _broken() -> None:
    raise TypeError("unhashable type: 'list'")


@pytest.mark.parametrize(("deferred", "way"), [(True, "followup"), (False, "response")])
async def test_who_sent_a_form_that_breaks_is_told_and_the_log_has_why(deferred: bool, way: str) -> None:
    asked = Deferred(deferred=deferred)
    with capture_logs() as logged, speaking("de"):
        await components._stored(cast("Interaction", asked), _broken())
        assert asked.said == [(way, _(BROKEN))] != [(way, BROKEN)]
    assert [(each["event"], each["log_level"], type(each["exc_info"])) for each in logged] == [
        ("interaction_failed", "error", TypeError)
    ]


@pytest.mark.parametrize("name", ["a&b=c+d:e%3A f\n", "引っ越しの前に片付けることの一覧", "Größe: 5 %"])
def test_a_button_under_a_list_carries_a_name_in_any_script(name: str) -> None:
    identifier = call_id("tasks.template.remove", {"name": name})
    found = CALL.fullmatch(identifier)
    assert found is not None
    assert len(identifier) <= components.LONGEST_ID
    assert commands._given(every().operations[found["name"]], found["given"]) == {"name": name}


def test_a_question_is_answered_once_in_time_by_who_asked_for_it_and_the_oldest_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confirmations, "_MOST", 2)
    now = [0.0]
    asked = Questions(lambda: now[0])

    def token(file: str) -> str:
        first, _ = asked.ask(OpenQuestion(1, "files.remove", {"file": file}, "Sure?"))
        return str(first.custom_id).rpartition(":")[2]

    first, second = token("a"), token("b")
    assert asked.take(first, 2) is None
    third = token("c")
    assert asked.take(first, 1) is None
    found = asked.take(second, 1)
    assert found is not None
    assert found.given == {"file": "b"}
    assert asked.take(second, 1) is None
    now[0] = 901.0
    assert asked.take(third, 1) is None


async def test_a_text_too_long_for_a_message_comes_as_a_file_which_is_refused_where_it_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, text = Deferred(deferred=True), "llama " * 1_000
    there = cast("Interaction", asked)
    monkeypatch.setattr(responses, "LARGEST_FILE", 7_000)
    await responses.tell(there, text, file_name="why.md")
    (file,) = asked.files
    assert (file.filename, file.fp.read().decode()) == ("why.md", text)
    monkeypatch.setattr(responses, "LARGEST_FILE", 10)
    with pytest.raises(UserError, match="too large for a file here"):
        responses.text_file(there, text, "why.md")


MENTIONED = re.compile(r"<(?:@[!&]?|#)\d+>|<t:\d+(?::\w)?>")
NOT_FOR_PEOPLE = {
    "a long number": re.compile(r"\d{17,19}"),
    "a time of programs": re.compile(r"\d{4}-\d\d-\d\dT\d\d:"),
    "an internal id": re.compile(r"\b(?:ent|grp|agt|blk|trn)_[0-9a-z]{8,}"),
    "an option of the command line": re.compile(r"(?<![\w-])--[a-z]"),
    "a time where none is shown": re.compile(r"<t:"),
    "a limit that was not met": re.compile(r"expected (a number|one of|\d)"),
    "parentheses in parentheses": re.compile(r"\([^()]*\([^()]*\)\)"),
    "a command of the terminal": re.compile(r"\bcarina (?![^`]*` at a terminal)[a-z]"),
    "a date of programs": re.compile(r"(?<!date, such as )\b\d{4}-\d\d-\d\d\b"),
    "a zone of programs": re.compile(r"\(UTC\)|:\d\d UTC"),
    "an account by number": re.compile(r"\bdiscord:(?:\w+:)?\d"),
    "a list of nothing": re.compile(r"(There are|Choose from): none"),
}
VARIABLE = re.compile(r"\b[A-Z]{3,}(?:_[A-Z]+)+\b")
SLOW = ("owner backup create", "owner doctor", "privacy export")


def _read(message: Message) -> list[str]:
    """Its words without what Discord shows as names and times; on buttons and in menus it shows none."""
    words, *labels = words_of(message)
    return [MENTIONED.sub("", words.replace("\\", "")), *labels]


async def test_no_answer_shows_what_is_not_for_people(tmp_path: Path) -> None:
    gallery = await collect(tmp_path, SLOW)
    found = [
        f"{shown.words}: {what}: {found[0]} in {words[max(0, found.start() - 60) : found.end() + 20]!r}"
        for shown in gallery.shown
        for _after, message, _form in shown.answers
        if message is not None
        for words in _read(message)
        for what, pattern in NOT_FOR_PEOPLE.items()
        if (found := pattern.search(words))
    ]
    found += [
        f"{shown.words}: a setting: {message.text}"
        for shown in gallery.shown
        for _after, message, _form in shown.answers
        if shown.by == "Mika" and message is not None and VARIABLE.search(message.text.replace("\\", ""))
    ]
    assert len(gallery.shown) > 150
    assert found == []


@pytest.mark.parametrize(
    ("code", "menu"),
    [("en", "Why did you say this?"), ("de", "Warum hast du das gesagt?"), ("ja", "なぜこう答えたのですか？")],
)
def test_help_names_the_menu_of_a_message_as_discord_shows_it(code: str, menu: str) -> None:
    with speaking(code):
        assert f"> {menu}*" in page(2)[0]
