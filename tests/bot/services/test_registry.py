"""Every operation that is registered, and the registry: who may call, what is refused, how results read."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import discord
import pytest
from discord import app_commands
from pydantic import Field, SecretStr

from bot.agents.permissions.roles_and_rights import Action, Rank
from bot.errors import CallError, UserError
from bot.interfaces.cli import generate
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.row_actions import one_taken, steps_of
from bot.services import services, titles
from bot.services.caller import Caller, Unconfirmed, Via, owner_at_terminal
from bot.services.registry import Arguments, Options, Param, _suggesting, operation, operations_of
from bot.services.results import Listing, Markdown, Plain, Row, Sentence, relative, report
from bot.services.slash_names import BUTTONS, CARD_TITLES, names_of
from memory.store.errors import Refused
from memory.store.ids import PersonId
from memory.store.records import replace
from sources.discord.settings import DiscordSettings
from tests.bot.services.calling import NOW, registry, somebody
from tests.service.discord.test_rights import EVERYBODY, RIGHTS, commands_of
from tests.sources.running import NOTHING_DECIDED

ANN = PersonId("discord:1")
OPERATIONS = operations_of(services())


def ann() -> Caller:
    return somebody(ANN)


# ------------------------------------------------------------------------------------- every registered operation


def test_headings_and_buttons_are_of_operations_on_discord_and_a_button_needs_nothing_else() -> None:
    offered = {name: each for name, each in OPERATIONS.items() if Via.DISCORD in each.via}
    assert not (CARD_TITLES.keys() | BUTTONS.keys()) - offered.keys()
    assert [name for name in BUTTONS if one_taken(offered[name]) is None] == []
    assert [name for name in offered if name.endswith(".list") and name not in CARD_TITLES] == ["permits.list"]
    lists = (each for each in offered.values() if each.offered)
    reached = {step.name for each in lists for step in steps_of(OPERATIONS, each)}
    assert reached == BUTTONS.keys(), "what a list offers"


def test_every_command_is_in_the_list_of_rights() -> None:
    listed = {name for words in (*RIGHTS.values(), EVERYBODY) for name in commands_of(words)}
    missing = [shown for shown in names_of(OPERATIONS.values()).values() if shown not in listed]
    where = "in tests/service/discord/test_rights.py to EVERYBODY, or to RIGHTS and docs/permissions.md"
    assert not missing, f"add {missing} {where}"


def test_a_model_of_arguments_is_made_when_somebody_asks_for_it() -> None:
    class Greeter:
        @operation("greet", "Greet", Action.STATUS)
        async def greet(self, _caller: Caller, name: Annotated[str, Param("Who is greeted")]) -> Sentence:
            return Sentence(text=name)

    declared = operations_of([Greeter])["greet"]
    assert "arguments" not in vars(declared)
    assert [each.name for each in declared.parameters] == ["name"]


def test_an_operation_says_what_it_does_as_a_sentence_without_its_stop() -> None:
    for name, declared in OPERATIONS.items():
        assert declared.summary[0].isupper(), name
        assert not declared.summary.endswith("."), name
        assert len(declared.summary) <= 100, f"{name}: Discord takes no more"
        assert declared.changes or not declared.keeps, name


def test_every_argument_can_be_offered_by_every_interface() -> None:
    suggested = {source for source, _within in _suggesting.values()}
    for name, declared in OPERATIONS.items():
        for each in declared.parameters:
            assert 0 < len(each.help) <= 100, (name, each.name)
            assert not each.help.endswith("."), (name, each.name)
            assert each.kind != "path" or each.via == {Via.TERMINAL}, (name, each.name)
            assert set(each.via) >= {via.value for via in declared.via} or not each.required, (name, each.name)
            assert each.suggests == "" or each.suggests in suggested, (name, each.name)


async def test_discord_takes_the_commands() -> None:
    """One option over a limit, and Discord takes none of the commands."""
    async with discord.Client(intents=discord.Intents.none()) as client:
        tree = app_commands.CommandTree(client)
        made = Commands(registry(), titles(), DiscordSettings(SecretStr("token"), NOTHING_DECIDED))
        offered = [each for each in OPERATIONS.values() if Via.DISCORD in each.via]
        shown = [made.command(declared.words[-1], declared).to_dict(tree) for declared in offered]
    for command in shown:
        assert len(command["name"]) <= 32
        assert len(command["options"]) <= 25, command["name"]
        for each in command["options"]:
            assert len(each["name"]) <= 32, command["name"]
            assert len(each.get("choices") or ()) <= 25, (command["name"], each["name"])
            assert (each.get("max_length") or 1) <= 6_000, (command["name"], each["name"])
            assert (each.get("min_length") or 0) <= 6_000, (command["name"], each["name"])


def test_every_group_says_what_it_is_for() -> None:
    for declared in OPERATIONS.values():
        for depth in range(1, len(declared.words) if declared.offered else 0):
            assert ".".join(declared.words[:depth]) in titles()


async def test_nobody_calls_what_they_may_not() -> None:
    stands = registry()
    for name, declared in OPERATIONS.items():
        stands.operations = {name: declared}
        if declared.needs.least is not Rank.PERSON and Via.DISCORD in declared.via:
            with pytest.raises(UserError, match="Only"):
                await stands.call(name, ann(), {})
        stands.operations = {name: replace(declared, via=frozenset({Via.WEB}))}
        with pytest.raises(CallError, match="There is no operation"):
            await stands.call(name, ann(), {})


def test_what_is_generated_is_up_to_date() -> None:
    assert generate.MANIFEST.read_text("utf-8") == generate.manifest_text(), "run `make generate`"
    assert generate.SLASH_COMMANDS.read_text("utf-8") == generate.slash_commands_text(), "run `make generate`"
    assert generate.REFERENCE.read_text("utf-8") == generate.reference_text(), "run `make generate`"


# ---------------------------------------------------------------------------------------------------- the registry


class Say(Arguments):
    words: Annotated[str, Field(min_length=1, max_length=20), Param("What to say", suggests="words")]
    times: Annotated[int, Field(ge=1, le=3), Param("How often", short="-t")] = 1


class Echo:
    @operation("echo.say", "Say something", Action.KEEP, Options(changes=True, keeps=True))
    async def say(self, _caller: Caller, arguments: Say) -> Sentence:
        return Sentence(text=" ".join([arguments.words] * arguments.times))

    @operation("echo.refuse", "Refuse", Action.HELP)
    async def refuse(self, _caller: Caller, arguments: Say) -> Sentence:
        raise Refused(f"{arguments.words} is refused.")

    @operation("echo.halt", "Halt", Action.HALT)
    async def halt(self, _caller: Caller, arguments: Say) -> Sentence:
        return Sentence(text=arguments.words)

    @operation("echo.count", "Count", Action.HELP, Options(via=frozenset({Via.TERMINAL})))
    async def count(self, _caller: Caller, arguments: Say) -> AsyncIterator[Sentence]:
        for number in range(arguments.times):
            yield Sentence(text=str(number))


async def test_a_call_gives_the_result_of_the_method_without_secrets() -> None:
    result = await registry(Echo()).call("echo.say", ann(), {"words": "use key-123", "times": 2})
    assert result.lines(Markdown()) == ["use \\*\\*\\* use \\*\\*\\*"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "words: field required"),
        ({"words": "x" * 21}, "words: expected 20 or fewer characters"),
        ({"words": "x", "times": 4}, "times: expected a number of at most 3"),
        ({"words": "x", "other": 1}, "other: extra inputs are not permitted"),
        ({"words": "x\ud800"}, "words contains a NUL character or half of a surrogate pair"),
        ({"words": "x\0"}, "words contains a NUL character or half of a surrogate pair"),
    ],
)
async def test_a_wrong_argument_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(CallError, match=words):
        await registry(Echo()).call("echo.say", ann(), given)


@pytest.mark.parametrize(
    ("path", "words"),
    [("a\0b", "NUL"), ("\ud800", "surrogate"), ("x" * 300, "name too long"), ("a/" * 5000, "too long")],
)
async def test_a_path_that_no_system_has_is_refused(path: str, words: str) -> None:
    with pytest.raises(CallError, match=f"(?i)PATH.*{words}"):
        await registry(Files()).call("files.read", owner_at_terminal(), {"words": "x", "path": path})


async def test_a_path_is_taken_whatever_its_bytes_are() -> None:
    read = await registry(Files()).call("files.read", owner_at_terminal(), {"words": "x", "path": "caf\udce9"})
    assert read.lines(Markdown())


async def test_what_a_service_refuses_is_said_to_the_caller() -> None:
    with pytest.raises(UserError, match=r"X is refused\."):
        await registry(Echo()).call("echo.refuse", ann(), {"words": "x"})


async def test_what_an_interface_does_not_offer_cannot_be_given_through_it() -> None:
    given = {"words": "x", "path": "/etc/passwd"}
    for caller in (ann(), replace(owner_at_terminal(), via=Via.WEB)):
        with pytest.raises(CallError, match="path: not available here"):
            await registry(Files()).call("files.read", caller, given)
    assert await registry(Files()).call("files.read", owner_at_terminal(), given) == Sentence(text="Read /etc/passwd")


async def test_of_whom_nothing_is_kept_nothing_is_written_down_but_they_may_look() -> None:
    stands = registry(Echo(), Files(), ignored=True)
    for name, given in (("echo.say", {"words": "x"}), ("files.name", {"name": "x"})):
        with pytest.raises(UserError, match="You chose to have me neither keep nor answer what you say"):
            await stands.call(name, ann(), given)
    with pytest.raises(UserError, match="is refused"):
        await stands.call("echo.refuse", ann(), {"words": "x"})
    assert await stands.call("files.name", ann(), {}) == Sentence(text="It has no name")


class ReadFile(Arguments):
    words: Annotated[str, Param("What to read")]
    path: Annotated[Path | None, Param("Where it is", via=frozenset({Via.TERMINAL}))] = None


class NameFile(Arguments):
    name: Annotated[str, Param("Name of the agent or group")] = ""


class Files:
    """Asks before it removes."""

    @operation("files.read", "Read a file", Action.HELP)
    async def read(self, _caller: Caller, arguments: ReadFile) -> Sentence:
        return Sentence(text=f"Read {arguments.path}")

    @operation("files.name", "Show or set the name of a file", Action.KEEP, Options(changes=True, keeps=True))
    async def name(self, _caller: Caller, arguments: NameFile) -> Sentence:
        return Sentence(text=f"It is called {arguments.name}" if arguments.name else "It has no name")

    @operation("files.send", "Send a file", Action.HELP, Options(changes=True, asks=True))
    async def send(self, caller: Caller, arguments: Say) -> Sentence:
        if arguments.times > 1:
            caller.confirm(f"{arguments.words} may arrive twice.")
        return Sentence(text=f"Sent {arguments.words}")


async def test_nothing_is_done_before_the_caller_is_sure_of_the_question_that_was_asked() -> None:
    stands, given, sent = registry(Files()), {"words": "x", "times": 2}, Sentence(text="Sent x")
    for unsure in (ann(), replace(ann(), sure=True, shown="y may arrive twice.")):
        with pytest.raises(Unconfirmed, match=r"^x may arrive twice\.$"):
            await stands.call("files.send", unsure, given)
    for shown in ("", "x may arrive twice."):
        assert await stands.call("files.send", replace(ann(), sure=True, shown=shown), given) == sent
    assert await stands.call("files.send", ann(), {"words": "x"}) == sent


def service_with(*names: str, told: Options) -> type:
    """A service with operations of these names."""
    made = type("Made", (), {})
    for name in names:

        async def show(_self: object, _caller: Caller) -> str:
            return ""

        setattr(made, name.replace(".", "_"), operation(name, "Show something", Action.HELP, told)(show))
    return made


def test_two_operations_do_not_share_a_name() -> None:
    with pytest.raises(ValueError, match="two operations are called echo"):
        operations_of([Echo, service_with("echo.say", told=Options())])


@pytest.mark.parametrize("names", [["show"], ["cards.show", "cards.list"]])
def test_a_default_belongs_to_a_group_that_has_no_other(names: list[str]) -> None:
    with pytest.raises(ValueError, match="a default belongs to a group, which has one"):
        operations_of([service_with(*names, told=Options(default=True))])


def test_an_argument_without_words_cannot_be_declared() -> None:
    class Wordless:
        @operation("show", "Show something", Action.HELP)
        async def show(self, _caller: Caller, words: str) -> str:
            return words

    with pytest.raises(TypeError, match="has no Param"):
        _ = operations_of([Wordless])["show"].parameters


# ------------------------------------------------------------------------------------------------------- renderings


class Shown(Row):
    id: str
    text: str
    at: datetime

    def line(self, markup: Any) -> str:
        return f"{markup.text(self.text)} {markup.time(self.at)}{markup.number(self.id)}"


def test_a_list_reads_on_each_interface_as_is_usual_there() -> None:
    row = Shown(id="123456789012345678", text="*stars* <@1> <@&1> https://a.b/c_d_e", at=NOW + timedelta(hours=2))
    found = Listing(rows=(row,), empty="Nothing.")
    stamp = int(row.at.timestamp())
    assert found.lines(Markdown()) == [f"- \\*stars\\* <@1> \\<@&1\\> https://a.b/c_d_e <t:{stamp}:f>, <t:{stamp}:R>"]
    plain = Plain("Europe/Vienna", NOW)
    assert found.terminal(plain) == f"- {row.text} Mon, Mar 2, 2026, 3:00 PM (in 2 hours){plain.number(row.id)}"
    assert Listing[Shown](rows=(), empty="Nothing.").terminal(plain) == "Nothing."
    assert found.data() == [{"id": row.id, "text": row.text, "at": "2026-03-02T14:00:00.000Z"}]


def test_people_read_as_each_interface_shows_them() -> None:
    told = report("{who} may use `/help`: {said}", who="discord:7", said="*stars* {who}")
    assert told.lines(Markdown()) == ["<@7> may use `/help`: \\*stars\\* {who}"]
    assert told.lines(Plain("UTC", NOW)) == ["discord:7 may use `/help`: *stars* {who}"]
    assert told.data() == {"who": "discord:7", "said": "*stars* {who}"}
    profile = "[somebody on Bluesky](<https://bsky.app/profile/did:plc:x>)"
    named = {"discord:role:3": "<@&3>", "discord:guild:4": "the server `4`", "bluesky:did:plc:x": profile}
    named["bluesky:did:plc:x)[y]"] = "`bluesky:did:plc:x)[y]`"
    assert {subject: Markdown().person(subject) for subject in named} == named


def test_code_stays_code_on_discord_and_what_only_looks_like_it_does_not() -> None:
    shown = {"use `/x_y` *now*": "use `/x_y` \\*now\\*", "``<b>`": "\\`\\`\\<b\\>\\`", "a ` b": "a \\` b"}
    assert {text: Markdown().text(text) for text in shown} == shown


_DAY = 86_400


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((50, "in less than a minute"), (1, "just now"), (-20, "just now")),
        *((729 * _DAY, "in 729 days"), (-800 * _DAY, "2 years ago"), (26_332 * _DAY, "in 72 years")),
    ],
)
def test_a_time_is_now_only_if_it_has_come_and_in_years_only_from_two_on(seconds: int, said: str) -> None:
    assert relative(NOW + timedelta(seconds=seconds), NOW) == said
