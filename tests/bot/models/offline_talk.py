"""A small memory that behaves like the tools of the offline model, and dialogues over it."""

import asyncio
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.models.base import (
    Answer,
    AssistantMessage,
    Call,
    FailedModel,
    Message,
    Request,
    TextDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from bot.models.offline import OfflineModel
from memory.store import fulltext

NOW = datetime(2026, 11, 22, 14, 3, tzinfo=UTC)
TOOLS = tuple(
    ToolSpec(name, "", {"type": "object"}) for name in ("context", "coord", "recall", "search", "send_message")
)
MOST_STEPS = 6

NEAREST = (
    "I don't know that exactly. The closest thing I remember:",
    "Genau das weiß ich nicht.",
    "それそのものは分かりません",
)
UNKNOWN = ("I don't know that.", "Das weiß ich nicht.", "分かりません。")
"""How an answer begins that is not the one asked for, and how one that is none."""

Row = dict[str, Any]


def stems(text: str) -> set[str]:
    """Stemmed words and CJK bigrams, as full text search would index them."""
    found = {re.sub(r"(?:ing|es|ed|s|e)$", "", word) for word in re.findall(r"[a-z0-9äöüß]+", text.lower())}
    for run in re.findall(r"[\u3041-\u30ff\u3400-\u9fff]+", text):
        found |= {run[at : at + 2] for at in range(len(run) - 1)} or {run}
    return found


@dataclass
class Memory:
    """Entries and messages of one place; `recall` and `search` as the tools describe themselves."""

    entries: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)
    now: datetime = NOW
    place: str = "#general"
    place_kind: str = "guild"
    broken: str = ""
    numbered: int = 0
    facts: list[Row] = field(default_factory=list)

    def learned(self, text: str, speaker: str) -> None:
        self.facts.append(self._row("fact", text, speaker))

    def heard(self, text: str, speaker: str, role: str = "user") -> None:
        self.messages.append(self._row("message", text, speaker) | {"role": role})

    def _row(self, kind: str, text: str, speaker: str) -> Row:
        self.numbered += 1
        at = self.now.isoformat().replace("+00:00", "Z")
        where = {"place": self.place, "place_kind": self.place_kind}
        return {"kind": kind, "id": f"{kind}{self.numbered}", "text": text, "at": at, "speaker": speaker, **where}

    def run(self, call: Call, speaker: str) -> ToolMessage:
        arguments = json.loads(call.arguments)
        if self.broken:
            return ToolMessage(call.id, call.name, self.broken, ok=False)
        data = self.recall(arguments, speaker) if call.name == "recall" else self.search(arguments, speaker)
        return ToolMessage(call.id, call.name, json.dumps(data), data=data)

    def recall(self, arguments: Row, speaker: str) -> Row:
        if arguments["operation"] == "insert":
            content = arguments["content"]
            same = [row for row in self.entries if content.startswith(row["text"])]  # which it goes on from
            known = [row["text"] for row in same] == [content]
            row = same[0] if same else self._row("entry", content, speaker)
            row["text"] = content
            self.entries += [] if same else [row]
            return {"id": row["id"], "content": content, "at": row["at"], "already": known}
        if arguments["operation"] == "read":
            return {"entries": [row | {"content": row["text"], "category": ""} for row in reversed(self.entries)]}
        gone = next(row for row in self.entries if row["id"] == arguments["label"])
        self.entries.remove(gone)
        before = len(self.messages)
        self.messages = [row for row in self.messages if gone["text"] not in row["text"]]
        return {"id": gone["id"], "content": gone["text"], "messages": before - len(self.messages)}

    def search(self, arguments: Row, speaker: str) -> Row:
        domain = arguments["domain"]
        rows = [row for row in self.entries if domain not in ("constellation_messages", "facts")]
        rows += [row for row in self.messages if domain not in ("archival_memory", "facts")]
        rows += self.facts if domain == "facts" else []
        if arguments.get("author") == "me":
            rows = [row for row in rows if row["speaker"] == speaker and row.get("role") != "assistant"]
        rows = [row for row in rows if arguments.get("since", "") <= row["at"] < arguments.get("until", "3000")]
        wanted = stems(" ".join(term.word for term in fulltext.terms(arguments["query"], mode="any")))
        hits = [row for row in rows if wanted & stems(row["text"])] if arguments["query"] else rows[::-1]
        hits = sorted(hits, key=lambda row: -len(wanted & stems(row["text"])))[: arguments.get("limit", 10)]
        name = {"archival_memory": "archival", "constellation_messages": "messages"}.get(domain, domain)
        return {"hits": [{"role": ""} | row for row in hits], "searched": [{"domain": name, "rows": len(rows)}]}


def complete(model: OfflineModel, request: Request) -> tuple[str, Answer]:
    async def collect() -> list[Any]:
        return [event async for event in model.complete(request)]

    *deltas, answer = asyncio.run(collect())
    assert isinstance(answer, Answer)
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    return "".join(delta.text for delta in deltas), answer


@dataclass
class Talk:
    """One conversation: messages in, whole turns run, the answer out."""

    memory: Memory = field(default_factory=Memory)
    messages: list[Message] = field(default_factory=list)
    tools: tuple[ToolSpec, ...] = TOOLS
    failed: tuple[FailedModel, ...] = ()
    agent: str = ""
    owner: bool = True
    zone: str = ""
    source: str = ""
    files: bool = False

    def say(self, *said: str, speaker: str = "Ana", late: tuple[str, ...] = ()) -> str:
        """Messages of one turn; those in `late` arrive after its first step."""
        self.hear(*said, speaker=speaker)
        model = OfflineModel(lambda: self.memory.now)
        for _ in range(MOST_STEPS):
            request = Request(
                "",
                tuple(self.messages),
                self.tools,
                failed=self.failed,
                agent=self.agent,
                zone=self.zone,
                source=self.source,
                owner=self.owner,
            )
            streamed, answer = complete(model, request)
            assert (streamed, answer) == complete(model, request)
            assert streamed == answer.text
            self.messages.append(AssistantMessage(answer.text, answer.calls, self.memory.now))
            if not answer.calls:
                assert answer.text.strip()
                self.memory.heard(answer.text, "Carina", "assistant")
                return answer.text
            assert {call.name for call in answer.calls} <= {tool.name for tool in self.tools}
            self.messages.extend(self.memory.run(call, speaker) for call in answer.calls)
            self.hear(*late, speaker=speaker)
            late = ()
        raise AssertionError(f"no answer within {MOST_STEPS} steps")

    def hear(self, *said: str, speaker: str) -> None:
        for text in said:
            header = f"[{speaker} in {self.memory.place}] {text}\nremember that headers are not read"
            self.messages.append(UserMessage(header, said=text, at=self.memory.now, speaker=speaker, files=self.files))
            self.memory.heard(text, speaker)

    def later(self, **delta: int) -> None:
        self.memory.now += timedelta(**delta)

    @property
    def stored(self) -> list[str]:
        return [row["text"] for row in self.memory.entries]


def asked(told: str | tuple[str, ...], question: str) -> str:
    """The answer to a question, a day after something was told."""
    talk = Talk()
    for text in (told,) if isinstance(told, str) else told:
        talk.say(text)
        talk.later(hours=1)
    talk.later(days=1)
    return talk.say(question)
