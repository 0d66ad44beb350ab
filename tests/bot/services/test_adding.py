"""CONTRIBUTING.md, "How to add a command", followed: one method is a command everywhere."""

import io
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import click
import discord
import msgspec
import pytest
from discord import app_commands
from pydantic import SecretStr

from bot.agents.permissions.roles_and_rights import Action
from bot.errors import UserError
from bot.interfaces.cli import generate, main, streams
from bot.interfaces.cli.commands import Commands
from bot.interfaces.cli.manifest import manifest
from bot.interfaces.command_headings import HEADINGS
from bot.interfaces.control import operations
from bot.interfaces.control.client import Reply, View
from bot.interfaces.discord import commands as slash
from bot.services import services
from bot.services.caller import Caller, Location, Via
from bot.services.registry import Arguments, Options, Param, Registry, Role, operation, operations_of
from bot.services.results import Sentence
from memory.store.ids import PersonId
from sources.discord.settings import DiscordSettings
from tests.bot.services.calling import registry, somebody
from tests.sources.running import NOTHING_DECIDED

ROOT = Path(__file__).parents[3]


class Greet(Arguments):
    name: Annotated[str, Param("Whom to greet")]
    twice: Annotated[bool, Param("Greet twice")] = False


class Clean(Arguments):
    folder: Annotated[Path, Param("Where", via=frozenset({Via.TERMINAL}))] = Path()
    tags: Annotated[tuple[str, ...], Param("A word", flag="--tag")] = ()


class Give(Arguments):
    to: Annotated[PersonId, Param("Whom")]
    color: Annotated[Literal["red", "dark_blue"], Param("Which", labels={"red": "Red, the best"})] = "red"
    role: Annotated[Role | None, Param("All of these too")] = None
    channel: Annotated[Location | None, Param("Where")] = None
    secretly: Annotated[bool, Param("Tell nobody", needs=Action.HALT)] = False


class Cards:
    """A noun whose group itself shows something."""

    titles: ClassVar = {"cards": "Manage cards"}

    @operation("cards.show", "Show cards", Action.HELP, Options(default=True))
    async def show(self, _caller: Caller, arguments: Clean) -> Sentence:
        return Sentence(text=",".join(arguments.tags))

    @operation("cards.greet", "Greet somebody", Action.HELP, Options(formerly=("cards.hail", "hail")))
    async def greet(self, _caller: Caller, arguments: Greet) -> Sentence:
        return Sentence(text=f"Hello {arguments.name}!" * (2 if arguments.twice else 1))


class Folders:
    titles: ClassVar = {"cards": "Manage cards"}

    @operation("cards.give", "Give a card", Action.HELP, Options(via=frozenset({Via.DISCORD})))
    async def give(self, caller: Caller, arguments: Give) -> Sentence:
        at = "" if caller.location is None else caller.location.place
        return Sentence(text=f"{arguments.color} for {arguments.to} {arguments.role} in {arguments.channel} ({at})")

    @operation("cards.clean", "Remove cards", Action.HELP, Options(changes=True, asks=True))
    async def clean(self, caller: Caller, arguments: Clean) -> Sentence:
        caller.confirm(f"Remove {arguments.tags}?")
        return Sentence(text=f"{arguments.folder.name}: {','.join(arguments.tags)}")


def offer(monkeypatch: pytest.MonkeyPatch, service: Any) -> None:
    """The service alone is there, and what is generated was written anew."""
    monkeypatch.setattr(generate, "LOCAL", ())
    monkeypatch.setattr(generate, "services", lambda: (service,))
    monkeypatch.setattr(generate, "titles", lambda: service.titles)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Registry:
    offer(monkeypatch, Cards)
    return registry(Cards())


def test_the_command_line_and_the_reference_have_it(added: Registry) -> None:
    entry = next(each for each in generate.found().operations if each.name == "cards.greet")
    assert [each.name for each in entry.parameters] == ["name", "twice"]
    assert (
        "| `carina cards greet NAME` | Greet somebody | terminal, `/cards greet` | anybody |"
        in generate.reference_text()
    )
    asked: list[Any] = []
    made = Commands(generate.found(), lambda told, given, view: asked.append((told.name, given, view)))
    made.main(["cards", "greet", "Ann", "--twice", "--json"], "carina", standalone_mode=False)
    ((name, given, view),) = asked
    assert (name, given, view.as_json) == ("cards.greet", {"name": "Ann", "twice": True}, True)
    with pytest.raises(click.UsageError, match=r"^NAME is missing\.\nNAME: Whom to greet\.$"):
        made.main(["cards", "greet"], "carina", standalone_mode=False)


async def test_the_socket_does_it_and_says_what_is_wrong(added: Registry) -> None:
    handler = operations.handlers(added)["cards.greet"]

    async def sent(arguments: Mapping[str, str], **view: bool) -> Any:
        return msgspec.to_builtins(await handler(arguments=arguments, view=view))

    assert await sent({"name": "Ann"}) == {"text": "Hello Ann!"}
    assert await sent({"name": "Ann"}, as_json=True) == {"text": '{\n  "text": "Hello Ann!"\n}'}
    assert await sent({}) == {"error": "NAME: field required", "code": 2}


@pytest.mark.parametrize(
    ("words", "done"),
    [
        (["cards"], ("cards.show", {})),
        (["cards", "show"], ("cards.show", {})),
        (["cards", "--tag", "x"], ("cards.show", {"tags": ("x",)})),
        (["cards", "greet", "Ann"], ("cards.greet", {"name": "Ann"})),
        (["cards", "hail", "Ann"], ("cards.greet", {"name": "Ann"})),
        (["hail", "Ann"], ("cards.greet", {"name": "Ann"})),
        (["cards", "list"], ("cards.show", {})),
    ],
)
def test_a_group_does_its_default_and_old_names_work(
    monkeypatch: pytest.MonkeyPatch, words: list[str], done: tuple[str, dict[str, Any]]
) -> None:
    offer(monkeypatch, Cards)
    asked: list[Any] = []
    made = Commands(generate.found(), lambda told, given, _view: asked.append((told.name, given)))
    made.main(words, "carina", standalone_mode=False)
    assert asked == [done]
    with pytest.raises(click.UsageError, match="There is no command “lift”"):
        made.main(["cards", "lift"], "carina", standalone_mode=False)
    assert "| `carina cards [show]` | Show cards |" in generate.reference_text()


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[str, dict[str, Any]]]:
    """Parses a line of the real command line; gives the operation that it calls and its arguments."""

    def parsed(line: str) -> tuple[str, dict[str, Any]]:
        found: list[tuple[str, dict[str, Any]]] = []
        monkeypatch.setattr("sys.stdin", io.StringIO("piped"))
        made = Commands(manifest(), lambda told, given, _view: found.append((told.name, dict(given))))
        made.main(shlex.split(line), "carina", standalone_mode=False)
        (operation,) = found
        return operation

    return parsed


def test_every_example_is_a_call_that_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: Callable[[str], tuple[str, dict[str, Any]]]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents.toml").write_text("", "utf-8")
    found = operations_of(services()) | operations_of(generate.LOCAL)
    shown = 0
    for entry in manifest().operations:
        if entry.example:
            name, given = called(f"{entry.name.replace('.', ' ')} {entry.example}")
            if name != "agent.import" and name != "group.import":  # an empty file
                found[name].validated(given, lambda each: each.name)
            shown += 1
    assert shown > 80
    with pytest.raises(click.UsageError, match=r"For example: carina remind me call mom in 20 minutes$"):
        called("remind me")


def test_help_groups_every_command_once_and_the_everyday_ones_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for each in HEADINGS.values() for name in each]
    offered = {entry.name.partition(".")[0] for entry in manifest().operations} | set(manifest().by_hand)
    assert (missing := offered - {*names}) == set(), f"add {missing} to HEADINGS in bot/interfaces/command_headings.py"
    assert sorted(names) == sorted(offered)
    assert main.run(["--help"]) == 0
    said = capsys.readouterr().out
    assert (
        said.index("Everyday use:") < said.index("  remind ") < said.index("Running Carina:") < said.index("  doctor ")
    )
    assert main.run(["help", "remind", "me"]) == 0
    assert "Usage: carina remind me" in capsys.readouterr().out


def asking(folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], *, attended: bool) -> list[dict[str, Any]]:
    """What is sent when the service asks, and somebody at the terminal says yes."""
    sent: list[dict[str, Any]] = []

    def reply(_entry: Any, given: dict[str, Any], view: View) -> Reply:
        sent.append({**given, "sure": view.sure})
        return Reply("done") if view.sure else Reply(confirm="Remove them?")

    monkeypatch.chdir(folder)
    offer(monkeypatch, Folders)
    monkeypatch.setattr(main, "manifest", generate.found)
    monkeypatch.setattr(main, "_reply", reply)
    monkeypatch.setattr(streams, "is_interactive", lambda: attended)
    said = iter(("perhaps", "j"))
    monkeypatch.setattr(click, "prompt", lambda *_question, **_given: next(said))
    sent.append({"code": main.run(["cards", "clean", *words])})
    return sent


def test_the_command_line_asks_whether_it_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"folder": str(tmp_path / "a"), "tags": ("x", "y")}
    words = ["--folder", "a", "--tag", "x", "--tag", "y"]
    told = asking(tmp_path, monkeypatch, words, attended=True)
    assert told == [{**given, "sure": False}, {**given, "sure": True}, {"code": 0}]
    assert asking(tmp_path, monkeypatch, ["--yes"], attended=False) == [{"sure": True}, {"code": 0}]
    assert asking(tmp_path, monkeypatch, [], attended=False) == [{"sure": False}, {"code": 2}]


async def test_discord_has_it_with_its_own_lists_and_labels_of_choices() -> None:
    async with discord.Client(intents=discord.Intents.none()) as client:
        tree = app_commands.CommandTree(client)
        slash.Commands(
            registry(Folders()), Folders.titles, DiscordSettings(SecretStr("token"), NOTHING_DECIDED)
        ).install(tree)
        above = tree.get_command("admin")
        assert isinstance(above, app_commands.Group), "who gives something secretly is an admin"
        (group,) = above.to_dict(tree)["options"]
        (give,) = group["options"]
    assert (group["name"], group["description"], give["name"]) == ("cards", "Manage cards", "give")
    kinds = discord.AppCommandOptionType
    wanted = [("to", kinds.user), ("color", kinds.string), ("role", kinds.role), ("channel", kinds.channel)]
    assert [(each["name"], each["type"], each["required"]) for each in give["options"][:4]] == [
        (name, of.value, name == "to") for name, of in wanted
    ]
    choices = [(each["name"], each["value"]) for each in give["options"][1]["choices"]]
    assert choices == [("Red, the best", "red"), ("Dark blue", "dark_blue")]


async def test_an_argument_can_take_a_right() -> None:
    stands, given = registry(Folders()), {"to": "discord:2"}
    assert (await stands.call("cards.give", somebody(PersonId("discord:1")), given)).data()["text"].startswith("red")
    with pytest.raises(UserError, match="Only an admin may halt"):
        await stands.call("cards.give", somebody(PersonId("discord:1")), {**given, "secretly": True})


GUIDES = re.findall(r"(?ms)^## How to add a (\w+)\n(.*?)(?=^## |\Z)", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))


@pytest.mark.parametrize(("_what", "guide"), GUIDES, ids=[what for what, _guide in GUIDES])
def test_the_guide_is_short_and_names_what_there_is(_what: str, guide: str) -> None:
    assert 1 < len(guide.strip().splitlines()) <= 10
    named = [each for each in re.findall(r"`([^`]+)`", guide) if not each.startswith(".venv/") and "NNNN" not in each]
    assert [each for each in named if "/" in each and not list(ROOT.glob(each.rstrip("/")))] == []
    code = "\n".join(
        path.read_text("utf-8") for top in ("bot", "sources", "tests") for path in (ROOT / top).rglob("*.py")
    )
    words = {each.rpartition(".")[2] for each in re.findall(r"`([A-Z][\w.]+)[\[`]", guide)} - {"Annotated"}
    assert [each for each in words if not re.search(rf"(?m)\b(class|def) {each}\b|^ *{each}\b.* = ", code)] == []
