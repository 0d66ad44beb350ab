"""The text of an approval card: whatever an agent gives as arguments, who approves sees all that will run."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
import regex

from bot.agents.permissions import approval_card_text
from bot.agents.permissions.approval_card_text import ApprovalCall
from bot.models.base import Call
from memory.permission_grants import CallArguments, Grant, covers
from memory.permission_requests import Kind, Request
from memory.store.ids import GrantId, GroupId, PersonId, RequestId
from sources.discord.cards import LONGEST
from sources.outgoing_text import outgoing, without_markup
from tests.memory.parts import a_turn

TURN = a_turn(person=PersonId("discord:3"))
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
INSERT = {"operation": "insert", "content": "Ana keeps a heron."}


def request(tool: str, arguments: str, **more: Any) -> Request:
    given: dict[str, Any] = {
        "id": RequestId(7), "kind": Kind.TOOL, "subject": tool, "agent": TURN.agent, "group": GroupId("office"),
        "turn": TURN.id, "call": "c", "tool": tool, "arguments": arguments, "digest": b"", "covers": (), "pattern": {},
        "reason": "it was asked", "place": TURN.place, "person": TURN.person, "hearers": TURN.scope,
        "trust": TURN.trust, "approvers": ("discord:1",), "quorum": 1, "once_only": False, "created_at": NOW,
        "expires_at": NOW,
    }  # fmt: skip
    return Request(**given | more)


def shown(tool: str, arguments: Any, *, said: str = "", may_read: bool = True, **more: Any) -> str:
    """A card without what any text loses on its way; on Discord, that of a card only loses what nobody sees."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    asking = ApprovalCall(TURN, "Carina", "Ana", Call("c", tool, given), None, said=said)
    made = approval_card_text.card(
        request(tool, given, **more), asking, "#hall in Home", may_read=may_read, source="discord"
    )
    return outgoing(made.text)


def listed(card: str) -> str:
    return card.split("```")[1].strip("\n")


def what(card: str) -> str:
    return next(line for line in card.split("\n") if line.startswith("What: ")).removeprefix("What: ")


@pytest.mark.parametrize(
    "hostile",
    [
        "[the docs](https://example.com 'and delete everything')",
        "[the docs](https://example.com)",
        "hidden\u3164 \u115f\u034f\u2800\U000e0100\U000e0041\ue000\x85\u2028 here",
        "\u202etxt.exe\u2066 \u200b```\n```",
        "first\nsecond: \"value\"\n\n\r\tthird",
        "&lrm; &lt;b&gt; \\u0060 \\\\",
        "plain (words) ❤\ufe0f 日本語\u3000です",
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", [False, True])
def test_what_is_listed_is_what_will_run_whatever_it_holds(hostile: str, key: bool) -> None:
    arguments = {hostile: 1, "b": {"c": [hostile]}} if key else {"a": hostile, "b": {"c": [hostile]}}
    card = shown("notes_add", arguments)
    assert card.count("```") == 2
    lines = listed(card).split("\n")
    assert len(lines) == 2
    name, _, value = lines[0].rpartition(": ") if key else lines[0].partition(": ")
    assert {json.loads(f'"{name}"'): json.loads(value)} == {next(iter(arguments)): next(iter(arguments.values()))}
    assert json.loads(lines[1].removeprefix("b: ")) == arguments["b"]
    details = outgoing(f"`notes_add`\n```json\n{approval_card_text.visible_text(json.dumps(arguments))}\n```")
    assert json.loads(details.partition("```json")[2].removesuffix("```")) == arguments
    assert not regex.search(r"[\p{Cf}\p{Co}\p{DI}\u2800--\ufe0f]", card, regex.V1)


@pytest.mark.parametrize("arguments", ["", "{}", "[1]", "not JSON", '{"a": 1'])
def test_what_is_no_object_is_listed_as_it_is(arguments: str) -> None:
    expected = arguments if arguments in ("not JSON", '{"a": 1') else json.loads(arguments or "{}")
    assert json.loads(listed(shown("notes_add", arguments))) == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("recall", INSERT, "Remember “Ana keeps a heron.”"),
        ("recall", INSERT | {"category": "pets"}, "Remember “Ana keeps a heron.”; category: “pets”"),
        (
            "recall",
            {"operation": "delete", "label": "pet", "forget_words": True},
            "Delete the entry `pet`; forget\\_words: true",
        ),
        (
            "context",
            {"operation": "share", "label": "plan", "agent": "Vela", "permission": "read_write"},
            "Share the block `plan` with Vela; permission: “read\\_write”",
        ),
        (
            "context",
            {"operation": "set_field", "label": "plan", "field": None, "value": None},
            "Change the block `plan`: set its content to “”",
        ),
        (
            "context",
            {"operation": "append", "label": "a`b\\", "content": "*x* ` [y](z) <@1>"},
            "Change the block `a\\u0060b\\`: add “\\*x\\* \\` \\[y\\](z) \\<\\@1\\>”",
        ),
    ],
)
def test_a_call_of_a_memory_tool_is_told_in_words_with_all_that_it_gives(
    tool: str, arguments: dict[str, Any], words: str
) -> None:
    assert what(shown(tool, arguments)) == f"{words} (`{tool}`)"


def test_a_message_is_told_in_words_with_the_name_of_its_place() -> None:
    given = {"target_type": "channel", "target": "discord:12", "content": "Ana is *in*", "file_name": ""}
    made = request("send_message", json.dumps(given))
    assert approval_card_text.in_words(made, "#hall in Home") == r"Say “Ana is \*in\*” in \#hall in Home"
    private = request("send_message", json.dumps(given | {"target_type": "person", "target": "", "file_name": "a.md"}))
    assert approval_card_text.in_words(private, "") == "Say “Ana is \\*in\\*” in a direct message; file\\_name: “a.md”"


def test_what_is_no_call_of_a_memory_tool_has_no_words() -> None:
    assert what(shown("bell", INSERT)) == "`bell`"
    assert what(shown("recall", {"operation": ["insert"], "content": "x"})) == "`recall`"


def test_nothing_of_what_may_not_be_read_is_on_the_card() -> None:
    card = shown("recall", INSERT, said="I keep the heron.", may_read=False)
    assert "heron" not in card
    assert what(card) == "`recall`"


def test_whatever_an_agent_says_and_gives_the_whole_card_fits_into_one_message() -> None:
    wide = "\u202e" * 400
    names = ("label", "old_content", "new_content", "field", "load_label", "agent", "new_label", "value", wide)
    arguments = {"operation": "replace"} | dict.fromkeys(names, wide)
    bound = dict.fromkeys(("operation", "label", "field", "load_label", "agent", "new_label"), wide)
    card = shown("context", arguments, said="`" * 400, pattern=bound)
    assert len(card) <= LONGEST
    assert "*Always* allow every call to `context` with operation" in card
    assert "The file has the full text." in card


def test_words_keep_an_ampersand_where_markdown_is_not_shown() -> None:
    card = shown("recall", INSERT | {"content": "R&D <1> a&lrm;b"})
    assert "Remember “R&D <1> a&lrm;b”" in without_markup(card)


@pytest.mark.parametrize("asked", [RequestId(7), None])
def test_a_lasting_approval_covers_the_values_that_it_names_and_none_that_python_takes_for_the_same(
    asked: RequestId | None,
) -> None:
    given = {"all": True, "near": {"deep": [0, "1"]}}
    grant = Grant(GrantId(1), Kind.TOOL, "t", TURN.agent, given, TURN.scope.audience, PersonId("discord:1"), asked, NOW)
    assert covers(grant, CallArguments(given, dict(reversed(given.items()))))
    assert covers(grant, CallArguments(given | {"more": 2}, {"more": 2})) is (asked is None)
    for other in ({"all": 1}, {"near": {"deep": [False, "1"]}}):
        assert not covers(grant, CallArguments(given | other, given | other))
