"""The gateway: sessions that outlive their connections, and the connections themselves."""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import secrets
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from aiohttp import WSCloseCode, WSMsgType, web

from tests.wire.discord import payloads
from tests.wire.discord.messages import Json
from tests.wire.discord.world import Event, World

Handshake = Literal["good", "502", "silent"]
"""How a new connection is met: as it should be; refused over HTTP; without a HELLO."""

Compressor: TypeAlias = Callable[[bytes], bytes]
"""A stream that turns each message into one flushed piece."""

INTENT_MEMBERS, INTENT_PRESENCES, INTENT_CONTENT = 1 << 1, 1 << 8, 1 << 15
_PRIVILEGED = {"members": INTENT_MEMBERS, "presences": INTENT_PRESENCES, "message_content": INTENT_CONTENT}
_GATES: dict[str, tuple[int, int]] = {
    "MESSAGE_REACTION": (1 << 10, 1 << 13),
    "MESSAGE_": (1 << 9, 1 << 12),
    "TYPING_START": (1 << 11, 1 << 14),
    "GUILD_MEMBER_": (INTENT_MEMBERS, 0),
    "WEBHOOKS_UPDATE": (1 << 5, 0),
    "INTERACTION_": (0, 0),
}


def gate(name: str, *, in_guild: bool) -> int:
    """The intent that lets an event through (0: none needed)."""
    for prefix, (guild, direct) in _GATES.items():
        if name.startswith(prefix):
            return guild if in_guild else direct
    return 1 if in_guild else 0


def compressor() -> Compressor:
    """For zstd-stream, which discord.py asks for."""
    zstandard: Any = importlib.import_module("zstandard")
    zstd = zstandard.ZstdCompressor().compressobj()
    return lambda data: zstd.compress(data) + zstd.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


class Connection:
    """One websocket, written to by one task in order."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request, compress: Compressor | None) -> None:
        self.socket = socket
        self._request = request
        self._compress = compress
        self._outgoing: asyncio.Queue[Json | int] = asyncio.Queue()
        self.closed_here = False

    def send(self, packet: Json) -> None:
        self._outgoing.put_nowait(packet)

    def close(self, code: int) -> None:
        """Close after everything already sent."""
        self.closed_here = True
        self._outgoing.put_nowait(code)

    def cut(self) -> None:
        """Break the TCP connection at once."""
        if self._request.transport is not None:
            self._request.transport.abort()

    async def write(self) -> None:
        """Send until closed."""
        try:
            while not isinstance(packet := await self._outgoing.get(), int):
                await self._send(json.dumps(packet, separators=(",", ":")))
            await self.socket.close(code=packet)
        except ConnectionError:
            return

    async def _send(self, text: str) -> None:
        if self._compress is None:
            await self.socket.send_str(text)
        else:
            await self.socket.send_bytes(self._compress(text.encode()))


class Session:
    """What a client has been told and will be told again if it resumes."""

    def __init__(self, intents: int) -> None:
        self.id = secrets.token_hex(16)
        self.intents = intents
        self.history: list[Json] = []
        self.connection: Connection | None = None
        self.held = False
        self._sent = 0

    @property
    def seq(self) -> int:
        return len(self.history)

    def dispatch(self, name: str, data: Json) -> None:
        self.history.append({"op": 0, "t": name, "s": self.seq + 1, "d": data})
        self.flush()

    def flush(self) -> None:
        """Send what the present connection has not got yet, unless events are held back."""
        while self.connection is not None and not self.held and self._sent < self.seq:
            self.connection.send(self.history[self._sent])
            self._sent += 1

    def resume(self, connection: Connection, seq: int) -> None:
        self.connection = connection
        self._sent = seq
        self.flush()
        connection.send({"op": 0, "t": "RESUMED", "s": self.seq, "d": {}})

    def takes(self, event: Event) -> bool:
        """Whether the event passes the intents."""
        needed = gate(event.name, in_guild=event.guild is not None)
        return self.intents & needed == needed


class Gateway:
    def __init__(self, world: World, token: str) -> None:
        self.world = world
        self.token = token
        self.url = ""
        self.sessions: dict[str, Session] = {}
        self.connections: set[Connection] = set()
        self.identifies = 0
        self.presences: list[tuple[str, list[str]]] = []
        """The status and the custom statuses that the bot set, in order."""
        self.resumes = 0
        self.refuse_resume = False
        self.handshake: Handshake = "good"
        self.handshakes = 0
        world.publish = self.publish

    @property
    def live(self) -> list[Session]:
        return [session for session in self.sessions.values() if session.connection is not None]

    def publish(self, event: Event) -> None:
        for session in list(self.sessions.values()):
            if session.takes(event):
                session.dispatch(event.name, self._seen(event, session))

    def _seen(self, event: Event, session: Session) -> Json:
        if event.name == "GUILD_CREATE" and event.guild is not None:
            everyone = INTENT_MEMBERS | INTENT_PRESENCES  # with members alone they are asked for, by op 8
            return payloads.guild_create(event.guild, all_members=session.intents & everyone == everyone)
        if event.message is None or session.intents & INTENT_CONTENT:
            return event.data
        return payloads.blanked(event.data, self.world.own_ids(), direct=event.guild is None)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One websocket from HELLO to its end."""
        self.handshakes += 1
        self.world.changes.notify()
        if self.handshake == "502":
            return web.Response(status=502, text="bad gateway")
        socket = web.WebSocketResponse(autoping=True, timeout=0.5)
        await socket.prepare(request)
        kind = request.query.get("compress")
        connection = Connection(socket, request, compressor() if kind else None)
        self.connections.add(connection)
        writer = asyncio.create_task(connection.write())
        if self.handshake != "silent":
            connection.send({"op": 10, "d": {"heartbeat_interval": 41250}})
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._receive(connection, json.loads(message.data))
        finally:
            self._gone(connection, socket.close_code)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
        return socket

    def _gone(self, connection: Connection, code: int | None) -> None:
        self.connections.discard(connection)
        for session in self.live:
            if session.connection is connection:
                session.connection = None
                if code in (WSCloseCode.OK, WSCloseCode.GOING_AWAY) and not connection.closed_here:
                    del self.sessions[session.id]
        self.world.changes.notify()

    def _receive(self, connection: Connection, packet: Json) -> None:
        handlers: dict[int, Callable[[Connection, Json], None]] = {
            1: self._beat,
            2: self._identify,
            3: self._show,
            6: self._resume,
            8: self._members,
        }
        if handler := handlers.get(packet["op"]):
            handler(connection, packet)
        elif packet["op"] != 4:  # voice state is nobody's concern
            connection.close(4001)
        self.world.changes.notify()

    def _beat(self, connection: Connection, packet: Json) -> None:
        connection.send({"op": 11})

    def _show(self, connection: Connection, packet: Json) -> None:
        self.presences.append((packet["d"]["status"], [each.get("state", "") for each in packet["d"]["activities"]]))

    def _identify(self, connection: Connection, packet: Json) -> None:
        data = packet["d"]
        if code := self._refusal(connection, data):
            connection.close(code)
            return
        self.identifies += 1
        session = Session(data.get("intents", 0))
        session.connection = connection
        self.sessions[session.id] = session
        mine = [g for g in self.world.guilds.values() if g.has_bot]
        session.dispatch("READY", self._ready(session, [str(guild.id) for guild in mine]))
        for guild in mine:
            event = Event("GUILD_CREATE", {}, guild)
            if session.takes(event):
                session.dispatch("GUILD_CREATE", self._seen(event, session))

    def _refusal(self, connection: Connection, data: Json) -> int:
        """The close code for an IDENTIFY that is not acceptable, 0 when it is."""
        if data["token"] != self.token:
            return 4004
        if any(session.connection is connection for session in self.live):
            return 4005
        asked = data.get("intents", 0)
        granted = self.world.settings.granted_privileged
        if any(asked & bit and name not in granted for name, bit in _PRIVILEGED.items()):
            return 4014
        return 0

    def _ready(self, session: Session, guilds: list[str]) -> Json:
        from_world = payloads.user(self.world.bot) | {"verified": True, "mfa_enabled": False, "email": None}
        return {
            "v": 10,
            "user": from_world,
            "guilds": [{"id": guild, "unavailable": True} for guild in guilds],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "application": {"id": str(self.world.application_id), "flags": application_flags(self.world)},
        }

    def _resume(self, connection: Connection, packet: Json) -> None:
        data = packet["d"]
        if data["token"] != self.token:
            connection.close(4004)
            return
        session = self.sessions.get(data["session_id"] or "")
        if session is None or self.refuse_resume:
            self.sessions.pop(data["session_id"] or "", None)
            connection.send({"op": 9, "d": False})
            return
        if data["seq"] is None or data["seq"] > session.seq:
            connection.close(4007)
            return
        self.resumes += 1
        session.resume(connection, data["seq"])

    def _members(self, connection: Connection, packet: Json) -> None:
        """Tell everybody who is in a guild; nobody asks for some of them."""
        guild = self.world.find_guild(int(packet["d"]["guild_id"]))
        members = [payloads.member(each) for each in guild.members.values()]
        chunk = {"guild_id": str(guild.id), "members": members, "chunk_index": 0, "chunk_count": 1, "not_found": []}
        session = next(each for each in self.live if each.connection is connection)
        session.dispatch("GUILD_MEMBERS_CHUNK", chunk | {"nonce": packet["d"]["nonce"]})


def application_flags(world: World) -> int:
    """The application's flags: the limited form of each granted privileged intent."""
    bit = {"presences": 1 << 13, "members": 1 << 15, "message_content": 1 << 19}
    return sum(bit[name] for name in world.settings.granted_privileged)


def make_token(bot_id: int) -> str:
    return base64.b64encode(str(bot_id).encode()).decode().rstrip("=") + ".Gtest0." + secrets.token_hex(19)
