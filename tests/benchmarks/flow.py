"""How many notifications a second go through: 50 people, 20 channels, each person once in each channel.

Nobody speaks twice in a channel, so nothing is merged and every notification must get a turn and an answer of its
own. All of them arrive at once. Checked: none lost, none twice, each channel in order.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bot.agents import turn_events
from tests.benchmarks.options import Options, in_folder
from tests.benchmarks.process import CARINA, FLOOR, begun, cpu_seconds, environment, stopped, until_ready
from tests.benchmarks.report import Measure, Report, at_least
from tests.benchmarks.world import Making, open_world, place, said
from tests.wire.discord import DiscordServer
from tests.wire.model import Answer, ModelServer, Request

PEOPLE, CHANNELS = 50, 20


def check(asked: Mapping[str, Sequence[str]], answered: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with the answers, channel by channel; the text asked is in the answer."""
    wrong = []
    for channel, texts in asked.items():
        got = [text.split("I heard: ", 1)[-1].strip() for text in answered.get(channel, ())]
        if sorted(got) != sorted(texts):
            wrong.append(f"{channel}: {len(set(texts) - set(got))} lost, {len(got) - len(set(got))} twice")
        elif list(got) != list(texts):
            wrong.append(f"{channel}: out of order")
    return wrong


async def _in_process(folder: Path, people: int) -> tuple[float, float, list[str]]:
    ends, asked = [0.0], defaultdict[str, list[str]](list)

    def watch(event: turn_events.TurnEvent) -> None:
        if isinstance(event, turn_events.TurnCompleted):
            ends.append(time.perf_counter())

    async with open_world(Making(folder, watch=watch)) as world:
        heard = []
        for serial, (person, channel) in enumerate((p, c) for p in range(people) for c in range(CHANNELS)):
            text = f"number {serial} by person {person}"
            asked[place(channel).id].append(text)
            heard.append(said(channel, person, text, serial))
        begin = time.perf_counter()
        for each in heard:
            world.router.receive(each)
        await world.endpoint.until(len(heard))
        await world.router.drain(30)
        rate = len(heard) / (ends[-1] - begin)
        sent = len(heard) / (world.endpoint.last - begin)
        return rate, sent, check(asked, {str(where): texts for where, texts in world.endpoint.sent.items()})


@asynccontextmanager
async def bot_process(
    folder: Path, servers: Mapping[str, str], command: Sequence[str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await begun(command, folder, environment(folder, servers))
    try:
        await until_ready(process, "discord")
        yield process
    finally:
        await stopped(process)


def _echo(request: Request) -> Answer:
    header, _, text = request.last_user.rpartition("number ")  # what stands before tells of other answers
    return Answer(f"I heard: number {text.splitlines()[0]}" if header else "I heard nothing")


async def _over_sockets(folder: Path, people: int, command: Sequence[str]) -> tuple[float, float, list[str]]:
    """Answers a second, milliseconds of the bot's processor time for each, and what is wrong with them."""
    async with DiscordServer.start() as server, ModelServer.start() as model:
        model.default = _echo
        guild = server.guild("Bench")
        channels = [guild.text_channel(f"channel-{number}") for number in range(CHANNELS)]
        persons = [server.person(f"person{number}") for number in range(people)]
        for person in persons:
            guild.add(person)
        servers = {**server.environment(), **model.environment(), "DISCORD_TOKEN": server.token}
        async with bot_process(folder, servers, command) as process:
            before = cpu_seconds(process.pid)
            rate, wrong = await _talk(server, channels, persons)
            return rate, 1000 * (cpu_seconds(process.pid) - before) / (people * CHANNELS), wrong


async def _talk(server: DiscordServer, channels: list[Any], persons: list[Any]) -> tuple[float, list[str]]:
    asked = defaultdict[str, list[str]](list)
    begin = time.perf_counter()
    for number, person in enumerate(persons):
        for channel in channels:
            text = f"number {number * len(channels) + channels.index(channel)} by person {number}"
            asked[channel.name].append(text)
            await person.say(channel, f"<@bot> {text}")
    wanted = len(persons) * len(channels)

    def answered() -> bool:
        return sum(message.author is server.bot for channel in channels for message in channel.messages) >= wanted

    await server.until(answered, 600, "all answers")
    seconds = time.perf_counter() - begin
    got = {c.name: [m.content for m in c.messages if m.author is server.bot] for c in channels}
    return wanted / seconds, check(asked, got)


def run(options: Options) -> Report:
    people = options.scaled(PEOPLE)
    rates, sent, wrong = [], [], list[str]()
    wires, busy = defaultdict[Sequence[str], list[float]](list), defaultdict[Sequence[str], list[float]](list)
    for _ in range(options.rounds):
        rate, out, bad = in_folder(partial(_in_process, people=people))
        rates.append(rate)
        sent.append(out)
        wrong += bad
    for command in (FLOOR, CARINA) * options.rounds:
        wire, each, bad = in_folder(partial(_over_sockets, people=people, command=command))
        wires[command].append(wire)
        busy[command].append(each)
        wrong += bad if command is CARINA else []
    shares = tuple(ours / floor for ours, floor in zip(wires[CARINA], wires[FLOOR], strict=True))
    costs = tuple(ours / floor for ours, floor in zip(busy[CARINA], busy[FLOOR], strict=True))
    report = Report(f"{people * CHANNELS:,} notifications, {people} people, {CHANNELS} channels, all at once")
    report.measures += [
        Measure("one process: inbox to outbox", "/s", tuple(rates), at_least(150)),
        Measure("one process: inbox to sent", "/s", tuple(sent)),
        Measure("over sockets: said in Discord to answered there", "/s", tuple(wires[CARINA])),
        Measure("over sockets: the same of a bare discord.py bot", "/s", tuple(wires[FLOOR])),
        Measure("over sockets: beside the bare bot", "x", shares, at_least(0.5)),
        Measure("over sockets: processor time of each", "ms", tuple(busy[CARINA])),
        Measure("over sockets: processor time beside the bare bot's", "x", costs),
    ]
    report.notes += [
        "order: " + ("; ".join(wrong) if wrong else "kept in every channel, nothing lost, nothing twice (checked)"),
        "over sockets: the service as a process; the Discord and model servers share the machine with it.",
    ]
    return report
