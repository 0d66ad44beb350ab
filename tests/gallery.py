"""`make gallery`: what Discord shows for every slash command of the demo, on one page.

The demo runs in this process, against the tests' Discord. Its owner gives each command once, with what the command
itself suggests, then presses what stands under the answer; a member gives those that members are offered.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bot.app import build
from bot.config import load_config
from bot.services.caller import owner_at_terminal
from bot.services.system import demo
from memory.people.audience import guild_audience
from memory.store.clock import utc_now
from memory.store.faults import commit_point
from memory.store.ids import GuildId, PersonId, PlaceId
from memory.store.records import replace
from tests.wire.conftest import find_openapi
from tests.wire.discord import Channel, DiscordServer, Message, Person
from tests.wire.discord.interactions import Answered
from tests.wire.discord.messages import Json, parts
from tests.wire.discord.using import Impossible

_WRITE = commit_point("gallery.write")
_SECONDS = 120.0  # a busy machine is slow, and nobody waits for this page
SAMPLES: dict[str, Any] = {
    "text": "The reading group meets in the small hall",
    "title": "Water the plants",
    "description": "What the reading group has read",
    "when": "tomorrow at 9",
    "task": "Compare the night trains",
    "note": "Robin is away on Friday",
    "audience": "public",
    "name": "reading",
    "of": "agent:Anchor",
    "code": "ABCD-EFGH",
    "older": 0,
    "version": 0,
    "limit": 500,
}
"""What is given where a command suggests nothing, by the option's name."""
MORE: dict[str, dict[str, Any]] = {
    "remind me": {"when": "tomorrow at 9"},
    "my quiet": {"zone": "Europe/Lisbon", "from": "22:00", "until": "7:00"},
    "facts add": {"fact": "Robin reads The Living Mountain"},
    "search": {"text": "river"},
    "memory archival search": {"text": "Porto"},
    "memory show": {"label": "Carina/persona"},
    "memory project rate": {"creativity": 4},
    "tasks change": {"priority": "high"},
    "admin memory create": {"label": "books"},
    "admin memory change": {"limit": 500},
    "admin budget set": {"usd": 2.5},
    "admin mode channel": {"mode": "mention"},
    "owner source add": {"feed": "https://example.org/feed.xml", "agent": "Anchor"},
}
"""What else is given, by the command."""
_LAST = ("erase", "delete", "forget", "remove", "restart", "optout", "halt")
"""What takes away what others would show comes after them."""


@dataclass
class Shown:
    """A command, what came of it, and what came of what was pressed under that."""

    words: str
    by: str
    answers: list[tuple[str, Message | None, Json | None]] = field(default_factory=list)
    """What led to it, and a message or a form."""


@dataclass
class Gallery:
    """Gives commands, and keeps the answers."""

    server: DiscordServer
    shown: list[Shown] = field(default_factory=list)

    async def give(self, person: Person, channel: Channel, path: str, declared: Json) -> None:
        given: dict[str, Any] = {}
        known = {option["name"] for option in declared.get("options", [])}
        for option in declared.get("options", []):
            if option.get("required"):
                given[option["name"]] = await self._value(person, channel, path, option, given)
        given |= {name: value for name, value in MORE.get(path, {}).items() if name in known}
        words = " ".join([f"/{path}", *(f"{name}: {_named(value)}" for name, value in given.items())])
        shown = Shown(words, person.global_name or person.username)
        self.shown.append(shown)
        try:
            answered = await person.command(path, given, channel, timeout=_SECONDS)
        except Impossible as why:
            shown.words += f" ({why})"
            return
        found = _note(shown, "", answered)
        if found is not None:
            await self._press(shown, person, found)

    async def _value(self, person: Person, channel: Channel, path: str, option: Json, given: dict[str, Any]) -> Any:
        if option.get("choices"):
            return option["choices"][0]["value"]
        if option["type"] in (6, 9):
            return self.server.owner
        if option["type"] == 7:
            return channel
        name = option["name"]
        if option.get("autocomplete"):
            found = await person.autocomplete(path, name, "", channel, options=given)
            if found:
                return found[0].value
        sample = SAMPLES.get(name)
        if option["type"] == 3:
            return str(sample or name)
        return {4: 1, 5: True, 10: 1.5}[option["type"]] if sample is None or isinstance(sample, str) else sample

    async def _press(self, shown: Shown, person: Person, message: Message) -> None:
        """The first thing of a menu, and one page further."""
        for part in parts(message.components):
            identifier = str(part.get("custom_id", ""))
            if part["type"] == 3 and part.get("options"):
                answered = await person.select(message, identifier, str(part["options"][0]["value"]))
                _note(shown, f"chose {part['options'][0]['label']}", answered)
                return


def words_of(message: Message) -> Iterator[str]:
    """What is read on it: words, and labels of buttons and choices."""
    yield message.text
    for part in parts(message.components):
        yield str(part.get("label") or part.get("placeholder") or "")
        yield from (str(each["label"]) for each in part.get("options", []))


def _named(value: Any) -> str:
    return str(getattr(value, "name", getattr(value, "username", value)))


def _note(shown: Shown, after: str, answered: Answered) -> Message | None:
    if answered.modal is not None:
        modal = {"title": answered.modal.title, "components": answered.modal.components}
        shown.answers.append((after, None, modal))
        return None
    found = [each for each in (answered.message, *answered.followups) if each is not None]
    shown.answers += [(after, each, None) for each in found] or [(after, None, None)]
    return found[-1] if found else None


def leaves(commands: list[Json], above: str = "") -> Iterator[tuple[str, Json]]:
    """Every command that can be given, by its words."""
    for each in commands:
        path = f"{above} {each['name']}".strip()
        below = [option for option in each.get("options", []) if option["type"] in (1, 2)]
        if below:
            yield from leaves(below, path)
        elif each.get("type", 1) == 1:
            yield path, each


@asynccontextmanager
async def running(folder: Path, locale: str) -> AsyncIterator[tuple[Gallery, Person, Person, Channel]]:
    """The demo, connected: with its owner, a member and a channel."""
    async with DiscordServer.start(find_openapi(), bot_name="Carina") as server:
        server.settings.answer_seconds, server.settings.locale = _SECONDS, locale
        guild = server.guild("Harbor School")
        channel = guild.text_channel("general")
        robin, mika = (server.person(name.lower(), global_name=name) for name in ("Robin", "Mika"))
        jonas = server.person("jonas", global_name="Jonas")
        for each in (robin, mika, jonas):
            guild.add(each)
        guild.change(robin, roles=[guild.role("Staff", "manage_guild")])
        people = {"Mika": mika.id, "Jonas": jonas.id}
        place = replace(
            demo._CHANNEL, id=PlaceId(f"discord:{channel.id}"), audience=guild_audience(GuildId(f"discord:{guild.id}"))
        )
        (folder / "carina.toml").write_text(f'{demo.CONFIGURATION}\n[discord]\ndm = "shared"\n', "utf-8")
        given = {
            "CARINA_HOME": str(folder / "data"),
            "EMBEDDING_MODEL": "none",
            "DISCORD_TOKEN": server.token,
            "DISCORD_OWNER_ID": str(robin.id),
        }
        with (
            server.patched(),
            patch.object(demo, "_CHANNEL", place),
            patch.dict(demo._PEOPLE, {name: PersonId(f"discord:{number}") for name, number in people.items()}),
        ):
            async with build(load_config(given, folder)) as app:
                await app.services.database.write(_WRITE, lambda tx: demo.write_demo(tx, utc_now()))
                ready, done = asyncio.Event(), asyncio.Event()

                async def until() -> None:
                    await server.wait_for_commands()
                    for operation, values in demo.demo_agenda():
                        await app.services.registry.call(operation, owner_at_terminal(), values)
                    ready.set()
                    await done.wait()

                task = asyncio.create_task(app.run(until))
                waiting = asyncio.create_task(ready.wait())
                await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                try:
                    yield Gallery(server), robin, mika, channel
                finally:
                    done.set()
                    await task


async def collect(folder: Path, without: Collection[str] = (), locale: str = "en-US") -> Gallery:
    """Every command, given by the owner in the channel, and by a member where it is offered to members."""
    async with running(folder, locale) as (gallery, robin, mika, channel):
        found = sorted(leaves(gallery.server.commands), key=lambda each: any(word in each[0] for word in _LAST))
        for person in (mika, robin):
            for path, declared in found:
                ours = path.split()[0] in ("admin", "owner")
                if path not in without and (person is robin or not ours):
                    place = robin.direct if person is robin and not ours else channel
                    await gallery.give(person, place, path, declared)
        for place in (robin.direct, channel):
            for message in place.messages:
                gallery.shown.append(Shown(f"in {getattr(place, 'name', 'direct')}", "", [("", message, None)]))
        return gallery


def page(gallery: Gallery) -> str:
    """All answers, in the Markdown that Discord is given."""
    return "\n\n".join(filter(None, (line for shown in gallery.shown for line in _lines(shown)))) + "\n"


def _lines(shown: Shown) -> Iterator[str]:
    yield f"## {shown.words} ({shown.by})"
    for after, message, form in shown.answers:
        yield after and f"*{after}*"
        if message is not None:
            words, *labels = words_of(message)
            yield words
            yield " ".join(f"[{label}]" for label in labels if label)
            yield from (f"File {each.filename} ({each.size} bytes)" for each in message.attachments)
        elif form is not None:
            yield f"**{form['title']}**"
            yield " ".join(f"[{each['label']}]" for each in parts(form["components"]) if each.get("label"))
        else:
            yield "*no answer*"


async def _make(target: Path) -> None:
    """In every language: gallery.md, gallery.de.md, gallery.ja.md."""
    for locale, suffix in (("en-US", ".md"), ("de", ".de.md"), ("ja", ".ja.md")):
        with tempfile.TemporaryDirectory(prefix="carina-gallery-", ignore_cleanup_errors=True) as name:
            gallery = await collect(Path(name), locale=locale)
        target.with_suffix(suffix).write_text(page(gallery), "utf-8")


if __name__ == "__main__":
    asyncio.run(_make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(".venv/gallery.md")))
