"""What a model is shown: stable parts first, the conversation as it was, and everything else quoted as such."""

import itertools
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agents.context.quotes import estimate_tokens
from bot.models.base import ContextTooLong, Request, UserMessage
from memory import blocks
from memory.queue.payloads import BlockNote, Extras, Quotation
from memory.store.ids import snowflakes
from tests.bot.agents.tools.test_block_tools import by_owner
from tests.bot.agents.tools.test_tools import append
from tests.bot.parts import ANN, BOB, ScriptedModel, call, said, says
from tests.bot.stage import OFFERED, Setting, offered, running, talked

SHORT = '[[agents]]\nname = "Carina"\nsystem_prompt = "You are Carina."\ncontext_budget = 1000\nblocks = []\n'


def kinds(request: Request) -> str:
    """The messages of a request by their first letters: U A T."""
    return "".join(type(message).__name__[0] for message in request.messages)


def newest(request: Request) -> str:
    return next(message.text for message in reversed(request.messages) if isinstance(message, UserMessage))


async def test_the_first_request_word_for_word(tmp_path: Path) -> None:
    toml = '[[agents]]\nname = "Carina"\nsystem_prompt = "You are Carina."\n'
    toml += (
        '[[agents.blocks]]\nlabel = "persona"\ndescription = "Who you are"\ncontent = "Kind."\naudience = "public"\n'
    )
    async with talked(tmp_path, Setting(toml=toml), "Hello, what is new?") as service:
        (request,) = service.model.requests
    assert request.system.startswith("You are Carina.\n\n## How this works\n")
    assert request.system.endswith(
        '## Memory\n<block:persona permission="read_write" readers="everybody">\n(Who you are)\nKind.\n</block:persona>'
    )
    assert [message.text for message in request.messages] == [
        "[now in hall; your answer is heard by: this server]\n\n"
        "[Ann (discord:ann) · 2026-11-22 12:00 UTC]\nHello, what is new?"
    ]
    assert offered(request) == list(OFFERED)


async def test_the_beginning_of_the_prompt_stays_the_same_from_turn_to_turn(tmp_path: Path) -> None:
    """So that a provider's cache of the prompt hits: the old conversation is only added to."""
    async with running(tmp_path) as service:
        for number in range(1, 6):
            others = [said(f"between us {n}", n, speaker=BOB, answer=False) for n in (10 * number, 10 * number + 1)]
            who = ANN if number % 2 else BOB
            notes = (
                BlockNote("user", "About them.", f"Called {who.name}", who.id),
                BlockNote("room", "The room.", "Big."),
            )
            await service.heard(*others, said(f"line {number}", number, speaker=who, extras=Extras(notes)))
        requests = service.model.requests
    assert "Big." in requests[-1].system
    assert f"Called {ANN.name}" in newest(requests[-1])
    assert len(requests[-1].messages) == 19  # of 10 lines, 5 that are answered and 4 answers
    for before, after in itertools.pairwise(requests):
        assert after.system == before.system
        assert after.tools == before.tools
        assert after.messages[: len(before.messages) - 1] == before.messages[:-1]


BELOW = "(empty, or as you wrote it last in the conversation below)\n</block:human>"
LACKS = "[block human above lacks your last {} in view]"


async def test_no_block_relies_on_a_conversation_that_may_be_cut(tmp_path: Path) -> None:
    noting = (says("", append("human", "Line 0.")), says("Noted."))
    model = ScriptedModel(says("Hello."), *noting, ContextTooLong("at most so much"), says("It fits."))
    async with running(tmp_path, Setting(model)) as service:
        for number in range(3):
            await service.heard(said(f"line {number}", number))
        *_, too_long, asked_again = model.requests
    assert "Line 0." not in too_long.system
    assert "lacks" in newest(too_long)
    assert "Line 0." in asked_again.system
    assert "lacks" not in newest(asked_again)


async def test_no_block_relies_on_a_call_of_its_turn_that_a_later_message_may_cut_off(tmp_path: Path) -> None:
    written = says("", call("context", operation="write", label="human", content="Line 0."))
    model = ScriptedModel(says("Hello."), written, ContextTooLong("at most so much"), says("It fits."))
    async with running(tmp_path, Setting(model)) as service:
        for number in range(2):
            await service.heard(said(f"line {number}", number))
            service.clock.forward(1)
        *_, too_long, asked_again = model.requests
    assert BELOW in too_long.system.partition("<block:human ")[2]
    assert "<block:human " not in asked_again.system
    assert "Line 0." in asked_again.messages[-3].text, "below, with the newest message"


async def test_what_an_agent_appends_stands_in_the_conversation_and_not_above_it(tmp_path: Path) -> None:
    """So that a provider's cache keeps the conversation, although an agent writes down what it learns."""
    note = [says("", append("human", f"Line {n}.")) for n in range(2)]
    model = ScriptedModel(says("Hello."), *(reply for each in note for reply in (each, says("Noted."))))
    async with running(tmp_path, Setting(model)) as service:
        for number in range(4):
            await service.heard(said(f"line {number}", number))
            service.clock.forward(3_601)
        first, (_, noted, _, again, last) = model.requests[0], model.requests[1:]
        assert [each.system for each in (noted, again, last)] == [first.system] * 3
        assert "Line 0." not in first.system
        assert again.messages[:2] == noted.messages[:2]
        assert "lacks" not in newest(noted)
        assert LACKS.format("append") in newest(again)
        assert LACKS.format("2 appends") in newest(last)
        assert str(last.messages).count("Line 0.") == str(last.messages).count("Line 1.") == 1

        await by_owner(service, lambda tx, owner: blocks.replace_in_block(tx, owner, "human", "Line 0", "Row 0"))
        await service.heard(said("what do you know?", 8))
        changed = model.requests[-1]
        assert LACKS.format("append") in newest(changed), "Line 1 alone"
        assert "Row 0." in changed.system


async def test_what_an_agent_writes_anew_stands_in_its_call_alone_for_an_hour(tmp_path: Path) -> None:
    written = [says("", call("context", operation="write", label="human", content=f"Line {n}.")) for n in range(2)]
    model = ScriptedModel(says("Hello."), *(reply for each in written for reply in (each, says("Noted."))))
    async with running(tmp_path, Setting(model)) as service:
        for number in range(4):
            await service.heard(said(f"line {number}", number))
            service.clock.forward(1)
        assert len({request.system for request in model.requests}) == 1, "as when the block was empty"
        last = model.requests[-1]
        assert BELOW in last.system
        assert str(last).count("Line 0.") == str(last).count("Line 1.") == 1

        await by_owner(service, lambda tx, owner: blocks.replace_in_block(tx, owner, "human", "Line 1", "Row 1"))
        await service.heard(said("what do you know?", 8))
        changed = model.requests[-1]
        assert BELOW not in changed.system
        assert "Row 1." in newest(changed)

        service.clock.forward(3_601)
        await service.heard(said("later", 9))
        assert "Row 1." in model.requests[-1].system

        await by_owner(service, lambda tx, owner: blocks.write_block(tx, owner, "human", ""))
        service.clock.forward(3_601)
        await service.heard(said("and then?", 10))
        cleared = model.requests[-1].system
        assert "<block:human " in cleared
        assert BELOW not in cleared, "it was written in the conversation, but is empty again"


@pytest.mark.parametrize("way", ["create", "replace", "by its address", "append later", "cut"])
async def test_an_emptied_block_never_seems_to_be_as_it_was_written(tmp_path: Path, way: str) -> None:
    """The conversation still shows what the agent wrote, in whatever way."""
    model = ScriptedModel(says("Hello."))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("line 0", 0))
        (row,) = await service.rows("SELECT agent_id FROM memory_blocks WHERE label = 'human'")
        asked = {"operation": "write", "label": "human", "content": "Line 0."}
        if way == "create":
            asked |= {"operation": "create", "label": "plans", "description": "Plans.", "block_type": "core"}
        elif way == "replace":
            await by_owner(service, partial(blocks.write_block, label="human", text="Old."))
            asked = {"operation": "replace", "label": "human", "old_content": "Old.", "new_content": "Line 0."}
        label = asked["label"]
        if way == "by its address":
            asked["label"] = f"{row['agent_id']}/human"
        model.replies.extend([says("", call("context", **asked)), says("Noted.")])
        await service.heard(said("line 1", 1))
        service.clock.forward(1)
        await by_owner(service, partial(blocks.write_block, label=label, text=""))
        service.clock.forward(3_601)
        if way == "append later":
            model.replies.extend([says("", append("human", "Line 2.")), says("Noted.")])
            await service.heard(said("line 2", 2))
        elif way == "cut":
            model.replies.extend([ContextTooLong("at most so much"), says("It fits.")])
        await service.heard(said("later", 9))
    last = model.requests[-1]
    assert "Line 0." in str(last.messages)
    assert f"<block:{label} " in last.system
    assert BELOW.replace("human", label) not in last.system


async def test_a_block_that_changes_in_other_ways_stands_below_the_conversation_until_it_was_left_alone_for_an_hour(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as service:
        for number in range(3):
            await service.heard(said(f"line {number}", number))
            service.clock.forward(1)
            await by_owner(service, partial(blocks.write_block, label="human", text=f"Line {number}."))
        await service.heard(said("line", 8))
        second, third, fourth = service.model.requests[1:]
        service.clock.forward(3_601)
        await service.heard(said("later", 9))
        later = service.model.requests[-1]
    assert second.system == third.system == fourth.system
    assert "Line 0." in newest(second)
    assert fourth.messages[: len(third.messages) - 1] == third.messages[:-1]
    assert "Line 2." in newest(fourth)
    assert "Line 2." not in fourth.system
    assert "Line 2." in later.system


async def test_what_is_answered_is_quoted_only_where_it_is_not_in_view(tmp_path: Path) -> None:
    async with running(
        tmp_path, Setting(ScriptedModel(says("It is the moss."), otherwise=says("So it is.")))
    ) as service:
        await service.heard(
            said("the shed", 1, speaker=BOB, answer=False), said("and the fence", 2, speaker=BOB, answer=False)
        )
        await service.heard(said("why?", 3))
        mine = service.platform.posts[-1].external_id
        for number, quoted in enumerate(
            (
                Quotation("Bob", "and the fence", external_id="2"),
                Quotation("Carina", "It is the moss.", by_us=True, external_id=mine),
                Quotation("Bob", "elsewhere", external_id="x"),
            ),
            4,
        ):
            await service.heard(said("sure?", number, extras=Extras(quoted=quoted)))
        shown = [newest(request) for request in service.model.requests[1:]]
    assert [each.splitlines()[2] for each in shown] == [
        "[the message below answers that of Bob, 2026-11-22 12:00 UTC, number 2 of 2 then]",
        '[the message below answers what you said: "It is the moss."]',
        '<quoted from="Bob" reason="the message below answers this">',
    ]


@pytest.mark.parametrize(("toml", "rows"), [(SHORT, 240), ("", 30)])
async def test_old_rows_leave_in_chunks_so_that_the_beginning_seldom_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toml: str, rows: int
) -> None:
    """Whether the budget or the number of rows is what cuts; and no message of the last few is ever left out."""
    monkeypatch.setattr("bot.agents.context.prompt.HISTORY_ROWS", rows)
    monkeypatch.setattr(snowflakes, "next", itertools.count(1 << 58, 9_001).__next__)  # ids decide what is a landmark
    async with running(tmp_path, Setting(toml=toml)) as service:
        for number in range(1, 41):
            await service.heard(said(f"{number} " + "word " * 20, number))
        first = [request.messages[0].text for request in service.model.requests]
    changes = sum(before != after for before, after in itertools.pairwise(first))
    assert 1 <= changes <= 20  # of 39
    assert min(len(request.messages) for request in service.model.requests[15:]) > 10


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_longer_text_never_has_fewer_tokens(one: str, more: str) -> None:
    assert 0 < estimate_tokens(one) <= estimate_tokens(one + more)


async def test_blocks_out_of_context_are_named_and_come_and_go_in_the_same_turn(tmp_path: Path) -> None:
    toml = '[[agents]]\nname = "Carina"\nsystem_prompt = "You are Carina."\n'
    for label in ("plan", "ideas"):
        toml += f'[[agents.blocks]]\nlabel = "{label}"\ndescription = "About {label}"\ntype = "working"\n'
        toml += f'content = "All of {label}."\naudience = "each"\npinned = {str(label == "plan").lower()}\n'
    model = ScriptedModel(
        says("", call("context", operation="pin", label="ideas")),
        says("", call("context", operation="archive", label="plan")),
        says("", call("context", operation="swap", label="ideas", load_label="plan")),
        says("Done."),
    )
    async with talked(tmp_path, Setting(model, toml=toml), "tidy up"):
        seen = [request.system for request in model.requests]
    away = "Blocks of yours that are not shown (info says more of each): "
    assert [(f"All of {label}." in system) for system in seen for label in ("plan", "ideas")] == [
        *(True, False),
        *(True, True),
        *(False, True),
        *(True, False),
    ]
    assert [away + names in system for system, names in zip(seen, ["ideas", "none", "plan", "ideas"], strict=True)] == [
        *(True, False, True, True)
    ]
