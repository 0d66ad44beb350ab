"""The operations of `context` beyond editing a text, called by a model in real turns."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.agents.context.quotes import say
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.permissions.roles_and_rights import Approver
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.models.base import Answer, Call, Request
from memory import blocks
from memory.blocks import Author, BlockType, NewBlock, Permission, create_block
from memory.blocks.changes import SYSTEM, person_writer
from memory.blocks.lifecycle import remove_block
from memory.people.audience import Scope, Trust
from memory.permission_requests import Verdict
from memory.store.database import Tx
from memory.store.records import replace
from tests.bot.agents.tools.test_tools import Scene, append, only
from tests.bot.parts import ANN, BOB, HALL, OLGA, ScriptedModel, call, results, said, says, two, whole
from tests.bot.stage import Service, Setting, running, talked

HEARD = Scope(HALL.audience)
NOTES = two(
    "Ada",
    "Bea",
    "discord:99",
    Ada="""[[agents.blocks]]
label = "notes"
description = "What matters"
type = "working"
pinned = true
permission = "admin"
""",
)


class Revoke(StoreTool[Arguments]):
    """Somebody else takes back every share in the middle of a turn."""

    name = "revoke"
    description = "Take every share back."
    arguments: type[Arguments] = Arguments
    caution = Caution()

    def work(self, tx: Tx, _context: ToolContext, _arguments: Arguments) -> Outcome:
        tx.run("DELETE FROM shared_block_agents")
        return Outcome(say("taken back"))


async def test_a_shared_block_is_read_edited_and_lost_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    model = ScriptedModel()
    async with running(tmp_path, Setting(model, toml=NOTES, tools=(Revoke(),))) as service:
        scene = Scene(service)
        assert only(await scene.do(append("notes", "The bridge is closed.")))[1]
        share = call("context", operation="share", label="notes", agent="Bea", permission="append")
        assert only(await scene.do(share)) == ("Bea sees block notes now, at append", True)
        info = only(await scene.do(call("context", operation="info", label="notes")))[0]
        assert "block notes: working, pinned; you may: admin; read by this server" in info
        assert info.endswith("shared with: Bea (append)")
        bea = (await service.column("SELECT id FROM agents WHERE name = 'Bea'"))[0]
        ada = (await service.column("SELECT id FROM agents WHERE name = 'Ada'"))[0]
        await service.write(lambda tx: tx.run("UPDATE group_members SET agent_id = ? WHERE agent_id = ?", (bea, ada)))
        model.replies.extend(
            [
                says("", append("notes", "And the ferry too.")),
                says("", call("context", operation="replace", label="notes", old_content="The", new_content="A")),
                says("", call("revoke")),
                says("", append("notes", "late")),
                says("Done."),
            ]
        )
        begun = len(model.requests)
        await service.heard(said("go on", 50, HALL, ANN))
        shown = [whole(request) for request in model.requests[begun:]]
        texts = [str(request.messages[-1]) for request in model.requests[begun:]]
        content = await service.column("SELECT content FROM memory_blocks WHERE label = 'notes'")
    head = '<block:Ada/notes permission="append" readers="this server" shared_from="Ada">'
    assert [head in prompt for prompt in shown] == [True, True, True, False, False]
    assert "overwrite is not possible" in texts[2]
    assert "no block “notes” here" in texts[4]
    assert content == ["The bridge is closed.\nAnd the ferry too.\n"]


async def test_an_agent_takes_its_last_change_back_and_makes_it_again(service: Service) -> None:
    scene = Scene(service)
    found = await scene.do(
        call("context", "1", operation="append", label="scratchpad", content="One."),
        call("context", "2", operation="append", label="scratchpad", content="Two."),
        call("context", "3", operation="undo", label="scratchpad"),
    )
    assert [ok for _text, ok in found] == [True] * 3
    stored = "SELECT content FROM memory_blocks WHERE label = 'scratchpad'"
    assert await service.column(stored) == ["One.\n"]
    ((text, ok),) = await scene.do(call("context", "4", operation="redo", label="scratchpad"))
    assert ok, text
    assert await service.column(stored) == ["One.\nTwo.\n"]
    ((text, ok),) = await scene.do(call("context", "5", operation="redo", label="scratchpad"))
    assert not ok
    assert text == "there is nothing to redo here"


async def test_lines_blocks_and_rights_are_refused_in_words_that_help(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        scene = Scene(service)
        found = await scene.do(
            call("context", "1", operation="swap", label="scratchpad"),
            call("context", "2", operation="edit_range", label="human", first_line=3, last_line=4, content="x"),
            call("context", "3", operation="archive", label="human"),
            call("context", "4", operation="share", label="human", agent="Carina"),
            call("context", "5", operation="load", label="nowhere"),
            call("context", "6", operation="share", label="human", agent="Carina", permission="admin"),
        )
        assert [ok for _text, ok in found] == [False] * 6
        texts = [text for text, _ok in found]
    assert "swap needs load_label" in texts[0]
    assert texts[1] == "there are no lines 3 to 4: the block has 0 lines, counted from 1"
    assert texts[2] == "block “human” is always in context and stays there; choose a working block"
    assert texts[3] == "block “human” already belongs to that agent"
    assert texts[4] == "there is no block “nowhere” here; available: human, persona, scratchpad"
    assert "permission: Input should be 'read_only', 'append' or 'read_write'" in texts[5]


async def test_an_agent_makes_changes_deletes_and_restores_a_block_of_its_own(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        scene = Scene(service)
        found = await scene.do(
            call("context", "1", operation="create", label="garden", description="The garden", content="Roses."),
            call("context", "2", operation="append", label="garden", content="Tulips."),
            call("context", "3", operation="change", label="garden", new_label="plants", limit=40),
            call("context", "4", operation="delete", label="plants"),
            call("context", "5", operation="append", label="plants", content="Lilies."),
            call("context", "6", operation="restore", label="plants"),
            call("context", "7", operation="delete", label="human"),
            call("context", "8", operation="create", label="weeds"),
            call("context", "9", operation="change", label="plants", made_of="fields", field="roses, tulips"),
            call("context", "10", operation="create", label="tools", description="Tools"),
            call("context", "11", operation="change", label="tools", made_of="list"),
            call("context", "12", operation="add_item", label="tools", value="rake"),
        )
        assert [ok for _text, ok in found] == [True, True, True, True, False, True, False, False, False, *[True] * 3]
        texts = [text for text, _ok in found]
        rows = "SELECT content FROM memory_blocks WHERE label = 'plants' AND permission = 'admin' AND char_limit = 40"
        assert await service.column(rows) == ["Roses.\nTulips.\n"]
        assert await service.column("SELECT content FROM memory_blocks WHERE label = 'tools'") == ["1. rake\n"]
    assert texts[6] == "block “human” has the permission read_write here, so delete is not possible"
    assert "create needs description" in texts[7]
    assert "block “plants” is not empty: only an empty block can get another type of content" in texts[8]


@pytest.mark.parametrize(
    ("permission", "words"),
    [
        (Permission.READ_ONLY, "has the permission read_only here, so delete is not possible"),
        (Permission.ADMIN, "waits"),
    ],
)
async def test_a_deleted_block_comes_back_by_whoever_may_delete_it(
    service: Service, permission: Permission, words: str
) -> None:
    (agent,) = await service.rows("SELECT id FROM agents LIMIT 1")
    new = NewBlock(agent["id"], "rules", "Rules", HALL.audience, Trust.SYSTEM, BlockType.CORE, permission)

    def work(tx: Tx) -> None:
        remove_block(tx, create_block(tx, new, SYSTEM, service.clock()), service.clock())

    await service.write(work)
    text, ok = only(
        await Scene(service).do(
            call("context", operation="restore", label="rules"), speaker=replace(BOB, trust=Trust.STRANGER)
        )
    )
    assert (ok, words in text) == (False, True), text
    assert await service.column("SELECT 1 FROM memory_blocks WHERE label = 'rules' AND deleted_at IS NULL") == []


async def test_what_an_operation_does_not_use_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        found = await Scene(service).do(
            call("context", "1", operation="create", label="garden", description="The garden"),
            call("context", "2", operation="change", label="garden"),
            call("context", "3", operation="change", label="garden", content="Roses.", new_label="plants"),
            call(
                "context", "4", operation="create", label="weeds", description="Weeds", new_label="herbs", agent="Bea"
            ),
            call("context", "5", operation="delete", label="garden", description="Gone"),
            call("context", "6", operation="delete", label="garden", content=""),
            call("context", "7", operation="restore", label="garden", limit=40),
            call("context", "8", operation="restore", label="garden"),
            call("context", "9", operation="change", label="garden", field="name"),
        )
        assert [ok for _text, ok in found] == [True, False, False, False, False, True, False, True, False]
        texts = [text for text, _ok in found]
        told = await service.column(
            "SELECT words ->> 0 FROM activity_events WHERE words LIKE '%block “garden”%' ORDER BY id"
        )
    assert "change needs one of new_label, description, limit, block_type" in texts[1]
    assert "change takes no content" in texts[2]
    assert "create takes no agent and no new_label" in texts[3]
    assert "delete takes no description" in texts[4]
    assert "restore takes no limit" in texts[6]
    assert "field names the fields of a block that is made_of fields" in texts[8]
    assert told == [f"{each} the block “garden”" for each in ("created", "deleted", "restored")]


GROCERIES = """
[[agents]]
name = "Ada"
[[agents.blocks]]
label = "list"
description = "What to buy"
content = "- milk\\n- eggs\\n- salt\\n"
[[agents.blocks]]
label = "days"
description = "What the days were like"
schema = { type = "composite", sections = [
    { name = "diary" }, { name = "todo", schema = { type = "list" } },
] }
values = { diary = "Rain.", todo = ["a", "b", "c"] }
[[agents.blocks]]
label = "attic"
description = "What lies away"
type = "archival"
content = "one\\ntwo\\nthree\\n"
"""


async def by_owner(service: Service, change: Callable[[Tx, Author], object]) -> None:
    """The owner writes by hand, while the agent thinks."""

    def work(tx: Tx) -> None:
        row = tx.all("SELECT id FROM agents WHERE name IN ('Ada', 'Carina')")[0]
        change(tx, Author(row["id"], HEARD, person_writer(OLGA.id), Trust.OWNER, service.clock()))

    await service.write(work)


async def contents(service: Service) -> dict[str, str]:
    rows = await service.rows("SELECT label, content FROM memory_blocks")
    return {row["label"]: row["content"] for row in rows}


async def at_once(
    folder: Path, write: Callable[[Tx, Author], object], *calls: Call, then: Call | None = None
) -> tuple[list[tuple[str, bool]], dict[str, str]]:
    """What comes of calls that the model makes while the owner writes, and of one after them; the blocks then."""
    later = () if then is None else (then,)
    async with talked(folder, Setting(toml=GROCERIES), said("hello", 1, HALL, ANN)) as service:

        async def thinks(_request: Request) -> Answer:
            await by_owner(service, write)
            return says("", *calls)

        service.model.replies.extend([thinks, *(says("", each) for each in later), says("Done.")])
        await service.heard(said("go on", 2, HALL, ANN))
        return results(service.model.requests[-1])[-len(calls) - len(later) :], await contents(service)


async def test_numbers_and_values_are_about_what_the_model_was_shown(tmp_path: Path) -> None:
    """The owner writes while the model thinks: the lines and items that it means are changed, nothing is wiped."""

    def write(tx: Tx, owner: Author) -> None:
        blocks.write_block(tx, owner, "list", "- ham\n- milk\n- eggs\n- salt\n")
        blocks.set_field(tx, owner, "days", "diary", "Rain. The dentist called.")
        blocks.remove_item(tx, owner, "days", "todo", 1)

    found, now = await at_once(
        tmp_path,
        write,
        call("context", "1", operation="edit_range", label="list", first_line=2, last_line=2, content="- 6 eggs"),
        call("context", "2", operation="edit_range", label="list", first_line=3, last_line=3),
        call("context", "3", operation="set_field", label="days", field="diary", value="Sun, then rain."),
        call("context", "4", operation="remove_item", label="days", field="todo", item=2),
        call("context", "5", operation="remove_item", label="days", field="todo", item=1),
    )
    assert now["list"] == "- ham\n- milk\n- 6 eggs\n"
    assert "The dentist called." in now["days"]
    assert "## todo\n1. c\n" in now["days"]
    assert [ok for _text, ok in found] == [True, True, True, True, False]
    assert (
        found[-1][0] == "block days: the block has changed since you read it, so nothing was done. It is now:\n1. c\n"
    )


async def test_a_whole_new_text_leaves_what_others_wrote_meanwhile(tmp_path: Path) -> None:
    again = {"label": "list", "content": "- oat milk\n- eggs\n- salt\n"}
    found, now = await at_once(
        tmp_path,
        lambda tx, owner: blocks.append_block(tx, owner, "list", "- the owner's salt\n"),
        call("core_memory_update", "1", **again),
        call("core_memory_update", "2", **again),
    )
    assert [ok for _text, ok in found] == [True, True]
    assert now["list"] == "- oat milk\n- eggs\n- salt\n- the owner's salt\n"


async def test_a_whole_new_text_is_for_blocks_that_are_one_text_and_seen_as_a_whole(tmp_path: Path) -> None:
    async with talked(tmp_path, Setting(toml=GROCERIES), said("hello", 1, HALL, ANN)) as service:
        before = await contents(service)
        service.model.replies.extend(
            [
                says("", call("context", "1", operation="viewport", label="list", first_line=1, last_line=1)),
                says(
                    "",
                    call("core_memory_update", "2", label="list", content="- ham"),
                    call("core_memory_update", "3", label="days", content="Rain."),
                    call("context", "5", operation="write", label="days", field="diary", content="Rain."),
                    call("context", "6", operation="write", label="list"),
                ),
                says("Done."),
            ]
        )
        await service.heard(said("go on", 2, HALL, ANN))
        found, now = results(service.model.requests[-1])[-4:], await contents(service)
    assert [ok for _text, ok in found] == [False, False, True, False]
    assert "edit_range writes those anew; viewport with first_line 1 shows all of it" in found[0][0]
    assert "name the field or section, or use set_field and add_item" in found[1][0]
    assert "write needs content; to empty a text, use edit_range" in found[3][0]
    assert (now["list"], "Rain." in now["days"]) == (before["list"], True)


async def test_a_line_that_changed_is_told_and_can_then_be_changed_by_its_new_number(tmp_path: Path) -> None:
    (first, second), now = await at_once(
        tmp_path,
        lambda tx, owner: blocks.write_block(tx, owner, "list", "- ham\n- milk\n- 12 <block:x> eggs\n"),
        call("context", operation="edit_range", label="list", first_line=2, last_line=2),
        then=call("context", operation="edit_range", label="list", first_line=3, last_line=3, content="- 6 eggs"),
    )
    assert first[0] == (
        "block list: those lines have changed since you read them, so nothing was done. They are now:\n"
        "1: - ham\n2: - milk\n3: - 12 \\<block:x> eggs"
    )
    assert (first[1], second[1]) == (False, True)
    assert now["list"] == "- ham\n- milk\n- 6 eggs\n"


async def test_an_approved_edit_is_about_what_was_shown_when_it_was_asked_for(tmp_path: Path) -> None:
    rules = '[[agents.rules]]\nrule = "requires_consent"\ntool = "context"\n'
    toml = GROCERIES.replace('name = "Ada"\n', f'name = "Ada"\n{rules}', 1)
    async with running(tmp_path, Setting(toml=toml)) as service:
        edit = call("context", operation="edit_range", label="list", first_line=2, last_line=2)
        service.model.replies.extend([says("", edit), says("I asked.")])
        await service.heard(said("go on", 1, HALL, ANN))
        await by_owner(
            service, lambda tx, owner: blocks.write_block(tx, owner, "list", "- ham\n- milk\n- eggs\n- salt\n")
        )
        (asked,) = await service.column("SELECT id FROM permission_requests")
        await service.approvals.answer(asked, Approver(OLGA.id), Verdict.ONCE)
        await service.settled()
        now = await contents(service)
    assert now["list"] == "- ham\n- milk\n- salt\n"


async def test_who_is_asked_again_is_told_that_the_block_changed_meanwhile(tmp_path: Path) -> None:
    toml = GROCERIES.replace('label = "list"\n', 'label = "list"\npermission = "partner"\n', 1)
    async with running(tmp_path, Setting(toml=toml)) as service:
        edit = call("context", operation="edit_range", label="list", first_line=2, last_line=2)
        service.model.replies.extend([says("", edit), says("I asked."), says("I asked again."), says("Done.")])
        await service.heard(said("go on", 1, HALL, ANN))

        def meanwhile(tx: Tx, owner: Author) -> None:
            blocks.write_block(tx, replace(owner, writer=SYSTEM), "list", "- ham\n- milk\n- eggs\n- salt\n")

        await by_owner(service, meanwhile)
        (asked,) = await service.column("SELECT id FROM permission_requests WHERE status = 'waiting'")
        await service.approvals.answer(asked, Approver(OLGA.id), Verdict.ONCE)
        await service.settled()
        (again,) = await service.column("SELECT id FROM permission_requests WHERE status = 'waiting'")
        (second,) = (post.text for post in service.platform.posts if "is asking for your approval" in post.text)
        (first,) = await service.column("SELECT reason ->> 0 FROM permission_requests WHERE status <> 'waiting'")
        why = (
            "block “list” has the permission partner, so overwrite needs approval "
            "(again, because the block has changed: version 1 then, 2 now)"
        )
        assert "again" not in first
        assert why in second
        assert "What: Change the block `list`: replace lines 2 to 2 with “” (`context`)" in second
        assert why in results(service.model.requests[-1])[-1][0]
        assert why in await service.column("SELECT reason ->> 0 FROM permission_requests WHERE status = 'waiting'")
        await service.approvals.answer(again, Approver(OLGA.id), Verdict.ONCE)
        await service.settled()
        now = await contents(service)
    assert now["list"] == "- ham\n- milk\n- salt\n"


async def test_a_viewport_without_its_last_line_goes_to_the_end_and_load_takes_none(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(toml=NOTES)) as service:
        scene = Scene(service)
        await scene.do(append("notes", "one\ntwo\nthree\nfour"))

        async def use(operation: str, **lines: int) -> tuple[str, bool]:
            return only(
                await scene.do(Call("1", "context", json.dumps({"operation": operation, "label": "notes", **lines})))
            )

        seen = "what you now see of block notes:\n"
        assert await use("viewport", first_line=3) == (f"{seen}(lines 3 to 4 of 4)\nthree\nfour\n", True)
        assert await use("viewport", first_line=2, last_line=3) == (f"{seen}(lines 2 to 3 of 4)\ntwo\nthree\n", True)
        assert await use("viewport", first_line=1) == (f"{seen}one\ntwo\nthree\nfour\n", True)
        for operation, lines, words in (
            ("viewport", {"first_line": 9}, "there is no line 9: the block has 4 lines"),
            ("viewport", {"first_line": 0}, "there is no line 0"),
            ("viewport", {"first_line": 3, "last_line": 2}, "line 2 is before line 3"),
            ("load", {"first_line": 3}, "load brings the whole block back; viewport, after it"),
        ):
            text, ok = await use(operation, **lines)
            assert (ok, words in text) == (False, True), text
