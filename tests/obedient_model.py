"""A model of the tests' worlds: it does what it is told, and repeats all that it is shown."""

import json
from collections.abc import Sequence
from typing import Any

from bot.models.base import Answer, Call, Request, ToolMessage, UserMessage
from bot.upkeep.compaction import PROMPT
from tests.bot.parts import call, says

WORDS = ["dentist", "tortois", "gardens", "mondays", "recipes", "piratic", "harbour", "lantern"]
ORDERS = ["remember", "label", "note", "find", "list", "read", "add", "forget", "tell", "whisper", "show", "fail"]
ORDERS += ["set", "move", "query", "arrange", "keep", "I love", "ask", "plan", "make", "write", "learn"]
QUESTIONS = ["who cures teeth?", "what is cooked?"]
"""Not one of the words is in them."""


def obey(request: Request, targets: Sequence[str], most: int = 4000) -> Answer:
    """Do what the newest message orders, then repeat all that is shown, also where a summary is asked for.

    `targets` is where it can send things; an answer has `most` characters.
    """
    if request.system.startswith(("Tell other agents", "Summarize what happened")):
        everything = " | ".join(str(getattr(message, "text", "")) for message in request.messages)
        return says(json.dumps({"summary": everything[-790:]}))
    if request.system == PROMPT:
        return says(" | ".join(str(getattr(message, "text", "")) for message in request.messages)[-most:])
    last = max(n for n, message in enumerate(request.messages) if isinstance(message, UserMessage) and message.said)
    newest, results = request.messages[last], request.messages[last + 1 :]
    assert isinstance(newest, UserMessage)
    order, _, words = newest.said.partition(" ")
    if order == "fail":
        raise RuntimeError(f"cannot: {words}")
    done = sum(isinstance(message, ToolMessage) for message in results)
    calls = _calls(order, words, targets)
    if done < len(calls):
        return says("", calls[done])
    shown = [str(getattr(message, "text", "")) for message in request.messages]
    return says(" | ".join([order, request.system[-1500:], *shown])[-most:])


def _calls(order: str, words: str, targets: Sequence[str]) -> list[Call]:
    first = words.split()[0]
    match order:
        case "remember":
            return [call("recall", operation="insert", content=words)]
        case "label":
            return [call("recall", operation="insert", content=words, label=first, tags=[first], category="a/b")]
        case "note":
            return [
                call("context", "1", operation="append", label=label, content=words)
                for label in ("human", "scratchpad", "persona")
            ][:2]
        case "set" | "move" | "query" | "arrange" | "keep" | "I" | "ask" | "plan" | "make" | "write" | "learn":
            return _block_calls(order, words)
        case "find":
            return [
                call("search", "1", query=words),
                call("search", "2", query=" ".join(WORDS)),
                call("search", "3", query="", limit=50),
            ]
        case "list":
            return [
                call("recall", operation="read"),
                call("search", query="", author="me"),
                call("search", "3", query=QUESTIONS[0]),
            ]
        case "read":
            return [call("recall", operation="read", label=first)]
        case "add":
            return [call("recall", operation="append", label=first, content=words)]
        case "forget":
            return [call("recall", operation="delete", label=first, forget_words=True)]
        case "tell":
            return [
                call("send_message", str(n), target_type="channel", target=target, content=words)
                for n, target in enumerate(targets)
            ]
        case "whisper":
            return [call("send_message", target_type="person", content=words)]
        case _:
            return [call("context", operation="replace", label="human", old_content=first, new_content="it")]


def _block_calls(order: str, words: str) -> list[Call]:
    """What is done to fields, to blocks as wholes, and asked about both; and what agents arrange with each other."""
    if order in ("plan", "make", "write", "learn"):
        return _steps(order, words)
    if order == "keep":
        return _keeping(words)
    if order == "I":
        return []  # something is learned of whoever says so
    if order == "ask":
        return [call("weather_forecast", town=words)]
    if order == "arrange":
        return [
            call("coord", "1", operation="assign", content=words, agent="Other"),
            call("coord", "2", operation="handoff", content=words),
            call("coord", "3", operation="note", content=words, importance="high"),
            call("coord", "4", operation="status"),
            call("search", "5", query=words, domain="activity"),
        ]
    if order == "set":
        changes: list[dict[str, Any]] = [
            {"operation": "add_item", "field": "events", "value": words},
            {"operation": "set_field", "field": "mood", "value": words},
            {"operation": "append", "field": "mood", "content": words},
        ]
        return [call("context", str(n), label="state", **change) for n, change in enumerate(changes)]
    if order == "move":
        steps: list[dict[str, Any]] = [
            {"operation": "archive"},
            {"operation": "load"},
            {"operation": "unpin"},
            {"operation": "viewport", "first_line": 1, "last_line": len(words)},
            {"operation": "share", "agent": words.split()[0]},
            {"operation": "edit_range", "first_line": 1, "last_line": 1},
        ]
        return [call("context", str(n), label="scratchpad", content=words, **step) for n, step in enumerate(steps)]
    return [
        call("recall", "1", operation="query", query=words),
        call("recall", "2", operation="categories"),
        call("context", "3", operation="info", label="state"),
    ]


def _keeping(words: str) -> list[Call]:
    """What is kept for a while, here and for all, and looked for everywhere."""
    first = words.split()[0]
    steps: list[dict[str, Any]] = [
        {"operation": "save", "key": first, "content": words, "category": first, "tags": [words], "ttl_minutes": 600},
        {"operation": "save", "key": f"shared/all/{first}", "content": words, "ttl_minutes": 600},
        {"operation": "get", "key": f"shared/all/{first}"},
        {"operation": "list", "key": "session"},
        {"operation": "search", "key": "shared", "query": " ".join(WORDS)},
    ]
    return [call("working_memory", str(number), **step) for number, step in enumerate(steps)]


def _steps(order: str, words: str) -> list[Call]:
    steps = _made(order, words, words.split()[0])
    return [call(tool, f"{order}{number}", **given) for number, (tool, given) in enumerate(steps)]


def _made(order: str, words: str, first: str) -> list[tuple[str, dict[str, Any]]]:
    """What is planned, made, written to other agents, and learned; each is listed and taken back again."""
    made = {"label": first, "description": words}
    match order:
        case "plan":
            timed = {"when": "tomorrow at 9:00"}
            return [
                ("tasks", {"operation": "add", "title": words, "notes": words}),
                ("tasks", {"operation": "list"}),
                ("tasks", {"operation": "done", "which": first}),
                ("events", {"operation": "add", "title": words, **timed}),
                ("events", {"operation": "list"}),
                ("reminders", {"operation": "set", "text": words, **timed}),
                ("reminders", {"operation": "set", "text": words, "privately": True, **timed}),
                ("reminders", {"operation": "list"}),
                ("reminders", {"operation": "cancel", "which": first}),
            ]
        case "make":
            return [
                ("context", {"operation": "create", "block_type": "working", "content": words, **made}),
                ("context", {"operation": "info", "label": first}),
                ("context", {"operation": "change", **made}),
                ("context", {"operation": "swap", "label": "scratchpad", "load_label": first}),
                ("context", {"operation": "undo", "label": "scratchpad"}),
                ("context", {"operation": "redo", "label": "scratchpad"}),
                ("context", {"operation": "share", "label": first, "agent": "Other"}),
                ("context", {"operation": "delete", "label": first}),
                ("context", {"operation": "restore", "label": first}),
            ]
        case "write":
            return [
                ("send_message", {"target_type": "agent", "target": "Other", "content": f"find {words}"}),
                ("send_message", {"target_type": "group", "target": "Main", "content": f"find {words}"}),
                ("send_message", {"target_type": "here", "file_name": f"{first}.md", "content": words}),
                ("coord", {"operation": "complete", "content": words}),
            ]
        case _:
            return [
                ("facts", {"operation": "add", "fact": f"We all like {words} most"}),
                ("facts", {"operation": "list"}),
                ("facts", {"operation": "confirm", "which": "100200000000000001"}),
                ("projects", {"operation": "prefer", "text": words}),
                ("projects", {"operation": "done", "text": words}),
                ("projects", {"operation": "list"}),
                ("search", {"query": words, "domain": "facts"}),
                ("search", {"query": words, "domain": "tasks"}),
            ]
