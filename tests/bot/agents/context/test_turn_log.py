"""The system's logs: written when a turn ends, shown in the next, read-only, found when old, and without any words."""

from bot.agents import turn_log
from memory.blocks.edits import EVENTS, append_log, log_author
from memory.search.all_domains import search
from memory.search.query import Query
from tests.bot.agents.tools.test_tools import Scene, append, insert, only
from tests.bot.parts import ANN, call, channel, direct, said, whole
from tests.bot.stage import Service
from tests.memory.blocks.block_parts import ADA, GUILD, IN_GUILD, NOW, blocks_store

LOG = "SELECT content FROM memory_blocks WHERE label = 'tool_execution_log' ORDER BY n"


async def test_the_tools_of_a_turn_are_logged_at_its_end_and_shown_where_they_are_not_in_view(service: Service) -> None:
    scene = Scene(service)
    await scene.do(append("human", "Ann likes tea."), append("nowhere", "x"), call("the secret is tuba", "2"))
    expected = (
        "- [2026-11-22 12:00] tool: context; operation: append; worked: yes\n"
        "- [2026-11-22 12:00] tool: context; worked: no\n"
        "- [2026-11-22 12:00] tool: unknown tool; worked: no\n"
    )
    assert await service.column(LOG) == [expected]
    await service.heard(said("and here?", 50))
    assert "- [2026-11-22 12:00] tool: context" not in whole(service.model.requests[-1])
    await service.heard(said("and now?", 51, channel("elsewhere")))
    (newest,) = [m.text for m in service.model.requests[-1].messages if "and now?" in m.text]
    assert '<block:tool_execution_log permission="read_only" readers="this server">' in newest
    assert expected in newest
    assert "\n(Which tools its agent used here, and whether each worked" in newest, "others may see it too"
    assert "tool_execution_log" not in service.model.requests[-1].system
    text, ok = only(await scene.do(append("tool_execution_log", "I did more")))
    assert (text, ok) == (
        "block “tool_execution_log” has the permission read_only here, so append is not possible",
        False,
    )


async def test_each_audience_has_its_own_log_and_turns_without_tools_none(service: Service) -> None:
    scene = Scene(service)
    await service.heard(said("hello", 90))
    assert await service.column(LOG) == []
    await scene.do(insert("a secret"), call("none"), place=direct(ANN, "guild"))
    await scene.do(insert("no secret"))
    assert len(await service.column(LOG)) == 2
    await service.heard(said("what did you do?", 91, direct(ANN, "guild")))
    assert str(service.model.requests[-1].messages).count("<block:tool_execution_log") == 1


async def test_no_words_of_anybody_stand_in_a_log(service: Service) -> None:
    scene = Scene(service)
    await scene.do(insert("tuba", label="tuba"), call("context", operation="tuba", label="tuba"))
    assert "tuba" not in "".join(await service.column(LOG))


def test_what_another_tool_calls_its_operation_is_left_out_unless_it_is_a_text() -> None:
    assert [turn_log._operation(each) for each in ('{"operation": [3]}', '{"operation": "x"}')] == [None, "x"]


def test_a_log_keeps_two_hundred_entries_shows_ten_and_the_older_are_found() -> None:
    with blocks_store() as tx:
        logged = log_author(ADA, GUILD, NOW)
        for number in range(21):
            block = append_log(tx, EVENTS, logged, [{"event": f"thing{10 * number + n}"} for n in range(10)])
        assert block is not None
        assert len(block.content.splitlines()) == 200
        assert block.shown.splitlines()[0] == "(190 older entries: search finds them)"
        assert [line.rpartition(" ")[2] for line in block.shown.splitlines()[1:]] == [
            f"thing{n}" for n in range(200, 210)
        ]
        found = search(tx, Query("thing10", ADA, frozenset({"blocks"})), IN_GUILD)
        assert [hit.label for hit in found.hits] == [EVENTS]
        assert search(tx, Query("thing9", ADA, frozenset({"blocks"})), IN_GUILD).hits == []
