"""`make gallery`: what Discord shows for every slash command of the demo, on one page.

The demo runs in this process, against the tests' Discord. Its owner gives each command once, with what the command
itself suggests, then presses what stands under the answer; a member gives those that members are offered.
"""

import asyncio
import html
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
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
from tests.wire.conftest import find_openapi
from tests.wire.discord import Channel, DiscordServer, Message, Person
from tests.wire.discord.interactions import Answered
from tests.wire.discord.messages import Json, parts
from tests.wire.discord.using import Impossible

_WRITE = commit_point("gallery.write")
_SECONDS = 20.0
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
    "my quiet": {"zone": "Europe/Lisbon", "quiet": "22:00-07:00"},
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
    names: dict[int, str]
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
            demo._CHANNEL,
            id=PlaceId(f"discord:{channel.id}"),
            audience=guild_audience(GuildId(f"discord:{guild.id}")),
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
                names = {each.id: each.global_name or each.username for each in (robin, mika, jonas, server.owner)}
                names |= {server.bot.id: "Carina", channel.id: "general"}
                waiting = asyncio.create_task(ready.wait())
                await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                try:
                    yield Gallery(server, names), robin, mika, channel
                finally:
                    done.set()
                    await task


async def collect(folder: Path, without: Collection[str] = (), locale: str = "en-US") -> Gallery:
    """Every command, given by the owner in the channel, and by a member where it is offered to members."""
    async with running(folder, locale) as (gallery, robin, mika, channel):
        found = sorted(leaves(gallery.server.commands), key=lambda each: any(word in each[0] for word in _LAST))
        for person in (mika, robin):
            for path, declared in found:
                if path not in without and (person is robin or path.split()[0] not in ("admin", "owner")):
                    await gallery.give(person, channel, path, declared)
        for place in (robin.direct, channel):
            for message in place.messages:
                gallery.shown.append(Shown(f"in {getattr(place, 'name', 'direct')}", "", [("", message, None)]))
        return gallery


_CSS = """
body{background:#313338;color:#dbdee1;font:15px/1.4 "Noto Sans",sans-serif;margin:0 auto;max-width:900px;padding:16px}
h2{color:#fff;font-size:15px;margin:26px 0 4px;border-top:1px solid #444;padding-top:10px}
h3{color:#fff;margin:4px 0;font-size:18px} .by{color:#949ba4;font-size:12px;font-weight:normal}
.box{background:#2b2d31;border-left:4px solid #5865f2;border-radius:4px;padding:10px 14px;margin:6px 0;max-width:640px}
.plain{padding:2px 0}.small{color:#949ba4;font-size:12px}.row{display:flex;flex-wrap:wrap;gap:8px;margin-top:8px}
.b{background:#4e5058;color:#fff;border-radius:4px;padding:4px 14px;font-size:14px}.b1{background:#5865f2}
.b3{background:#248046}.b4{background:#da373c}.off{opacity:.5}
.menu{background:#1e1f22;border-radius:4px;padding:6px 10px}
.menu div{color:#949ba4;font-size:13px}code{background:#1e1f22;padding:1px 3px;border-radius:3px;font-size:13px}
pre{background:#1e1f22;border:1px solid #1a1b1e;border-radius:4px;padding:8px;font-size:13px;white-space:pre-wrap}
pre code{padding:0}.at{background:#3c4270;color:#c9cdfb;border-radius:3px;padding:0 2px}
.t{background:#404249;border-radius:3px;padding:0 2px}.q{border-left:4px solid #4e5058;padding-left:10px}
.none{color:#f23f43}.file{border:1px solid #444;padding:8px;border-radius:4px;margin:6px 0;color:#00a8fc}
"""


def page(gallery: Gallery) -> str:
    body = "".join(_shown(gallery, each) for each in gallery.shown)
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Gallery</title><style>{_CSS}</style>{body}'


def _shown(gallery: Gallery, shown: Shown) -> str:
    found = f'<h2>{html.escape(shown.words)} <span class="by">{html.escape(shown.by)}</span></h2>'
    for after, message, form in shown.answers:
        found += f'<div class="small">{html.escape(after)}</div>' if after else ""
        if message is not None:
            found += _message(gallery, message)
        elif form is not None:
            found += f'<div class="box"><h3>{html.escape(form["title"])}</h3>'
            found += "".join(_part(gallery, each) for each in form["components"]) + "</div>"
        else:
            found += '<div class="none">no answer</div>'
    return found


def _message(gallery: Gallery, message: Message) -> str:
    found = '<div class="small">Only you can see this</div>' if message.ephemeral else ""
    found += f'<div class="plain">{marked(gallery.names, message.content)}</div>' if message.content else ""
    for each in message.embeds:
        words = [each.get("title", ""), each.get("description", "")]
        words += [f"**{field['name']}**\n{field['value']}" for field in each.get("fields", [])]
        found += f'<div class="box">{marked(gallery.names, chr(10).join(filter(None, words)))}</div>'
    found += "".join(_part(gallery, each) for each in message.components)
    for file in message.attachments:
        text = html.escape(file.data[:1_500].decode("utf-8", "replace"))
        found += f'<div class="file">{html.escape(file.filename)} ({file.size} bytes)<pre>{text}</pre></div>'
    return found


def _part(gallery: Gallery, part: Json) -> str:
    inside = "".join(_part(gallery, each) for each in part.get("components", []))
    label = html.escape(str(part.get("label") or part.get("placeholder") or ""))
    match part["type"]:
        case 1:
            return f'<div class="row">{inside}</div>'
        case 2:
            off = " off" if part.get("disabled") else ""
            return f'<span class="b b{part.get("style", 2)}{off}">{label}</span>'
        case 3 | 5 | 6 | 7 | 8:
            options = "".join(
                f"<div>{html.escape(each['label'])} <i>{html.escape(each.get('description') or '')}</i></div>"
                for each in part.get("options", [])
            )
            return f'<div class="menu">{label or "Make a selection"} ▾{options}</div>'
        case 4:
            value = html.escape(str(part.get("value") or ""))
            return f'<div>{label}</div><div class="menu">{value or "…"}</div>'
        case 9:
            return f'<div class="row">{inside}{_part(gallery, part["accessory"])}</div>'
        case 10:
            return f"<div>{marked(gallery.names, part['content'])}</div>"
        case 13:
            return f'<div class="file">{html.escape(part["file"]["url"])}</div>'
        case 14:
            return "<hr>"
        case 17:
            color = f"#{part.get('accent_color') or 0x4E5058:06x}"
            return f'<div class="box" style="border-color:{color}">{inside}</div>'
        case 18:
            return f"<div>{label}</div>{_part(gallery, part['component'])}"
        case kind:
            return f'<div class="none">part of type {kind}{inside}</div>'


def marked(names: dict[int, str], text: str) -> str:
    """Discord's markup as HTML, as far as answers use it."""
    pieces = re.split(r"(```(?:\w*\n)?.*?```|`[^`\n]+`)", text, flags=re.DOTALL)
    found = ""
    for number, piece in enumerate(pieces):
        if number % 2 and piece.startswith("```"):
            code = re.sub(r"^(\w+)?\n", "", piece[3:-3])
            found += f"<pre>{html.escape(code)}</pre>"
        elif number % 2:
            found += f"<code>{html.escape(piece[1:-1])}</code>"
        else:
            found += _inline(names, piece)
    return found


def _inline(names: dict[int, str], text: str) -> str:
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(html.escape(match[1]))
        return f"\0{len(held) - 1}\0"

    text = html.escape(re.sub(r"\\([*_~`>#\-\[\]()|\\<:.@])", hold, text), quote=False)
    text = re.sub(r"&lt;(?:@[!&amp;]*|#)(\d+)&gt;", lambda got: f'<span class="at">{_at(names, got)}</span>', text)
    text = re.sub(r"&lt;t:(\d+)(?::(\w))?&gt;", lambda got: f'<span class="t">{_time(got)}</span>', text)
    text = re.sub(r"^### (.*)$", r"<h3>\1</h3>", text, flags=re.MULTILINE)
    text = re.sub(r"^##? (.*)$", r"<h3>\1</h3>", text, flags=re.MULTILINE)
    text = re.sub(r"^-# (.*)$", r'<div class="small">\1</div>', text, flags=re.MULTILINE)
    text = re.sub(r"^&gt; ?(.*)$", r'<div class="q">\1</div>', text, flags=re.MULTILINE)
    text = re.sub(r"^( *)[-*] ", r"\1• ", text, flags=re.MULTILINE)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"(?<!\w)([*_])(.+?)\1(?!\w)", r"<i>\2</i>", text)
    text = re.sub(r"\[([^\]]+)\]\((\S+?)\)", r"<u>\1</u>", text)
    text = re.sub(r"(</h3>|</div>)\n", r"\1", text).replace("\n", "<br>")
    return re.sub("\0(\\d+)\0", lambda got: held[int(got[1])], text)


def _at(names: dict[int, str], found: re.Match[str]) -> str:
    sign = "#" if "#" in found[0] else "@"
    return sign + html.escape(names.get(int(found[1]), "unknown"))


def _time(found: re.Match[str]) -> str:
    at = datetime.fromtimestamp(int(found[1]), UTC)
    if found[2] == "R":
        hours = (at - datetime.now(UTC)).total_seconds() / 3600
        count, unit = (abs(hours) / 24, "days") if abs(hours) > 24 else (abs(hours), "hours")
        return f"in {count:.0f} {unit}" if hours > 0 else f"{count:.0f} {unit} ago"
    return at.strftime(
        {"d": "%m/%d/%Y", "D": "%B %-d, %Y", "t": "%H:%M", "F": "%A, %B %-d, %Y %H:%M"}.get(
            found[2] or "f", "%B %-d, %Y %H:%M"
        )
    )


async def _make(target: Path) -> None:
    """In every language: gallery.html, gallery.de.html, gallery.ja.html."""
    for locale, suffix in (("en-US", ".html"), ("de", ".de.html"), ("ja", ".ja.html")):
        with tempfile.TemporaryDirectory(prefix="carina-gallery-", ignore_cleanup_errors=True) as name:
            gallery = await collect(Path(name), locale=locale)
        target.with_suffix(suffix).write_text(page(gallery), "utf-8")


if __name__ == "__main__":
    asyncio.run(_make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(".venv/gallery.html")))
