"""A finished turn as rows: what was said and done, in order, and what is to be sent."""

from pathlib import Path

from memory.people.audience import Scope
from memory.queue import messages
from memory.store.ids import TurnId
from tests.bot.parts import HALL, HeldReply, Platform, ScriptedModel, call, said, says
from tests.bot.stage import Service, Setting, running, talked

SHOWN = '[[agents]]\nname = "Star"\nsystem_prompt = "Shine."\n[discord]\nshow_names = true\n'


async def batch(service: Service) -> list[tuple[str, str, str | None]]:
    """The rows of the newest turn: role, text, name of the tool."""
    (turn,) = await service.column("SELECT max(id) FROM turns")
    scope = Scope(HALL.audience)
    found = await service.read(lambda rows: messages.of_batch(rows, TurnId(turn), scope))
    return [(row.role, row.text, row.tool_name) for row in found]


async def test_a_turn_becomes_messages_in_the_order_in_which_it_happened(tmp_path: Path) -> None:
    calls = call("recall", "r", operation="insert", content="Ann has a cat"), call("search", "s", query="zebra")
    model = ScriptedModel(says("Let me note that.", *calls), says("Noted."))
    async with talked(tmp_path, Setting(model), "I have a cat") as service:
        rows = await batch(service)
        assert [(role, tool) for role, _text, tool in rows] == [
            ("user", None),
            ("assistant", None),
            ("assistant", "recall"),
            ("assistant", "search"),
            ("tool", "recall"),
            ("tool", "search"),
            ("assistant", None),
        ]
        assert [text for role, text, _tool in rows if role == "assistant"] == ["Let me note that.", "", "", "Noted."]
        positions = await service.column(
            "SELECT sequence_in_batch FROM messages WHERE agent_id IS NOT NULL ORDER BY id"
        )
        assert positions == sorted(set(positions))
        assert await service.column("SELECT count(*) FROM turn_steps") == [0]


async def test_a_very_long_answer_goes_out_as_a_file(tmp_path: Path) -> None:
    setting = Setting(ScriptedModel(says("a" * 60)))
    setting.platform = Platform(setting.clock, max_length=10)
    async with talked(tmp_path, setting, "one"):
        assert [len(delivery.files) for delivery in setting.platform.sends] == [0, 1]
        assert setting.platform.sends[1].files[0].text == "a" * 60


async def test_an_agent_whose_name_is_shown_speaks_under_it_and_has_no_preview(tmp_path: Path) -> None:
    held = HeldReply(says("Hello."))
    async with running(tmp_path, Setting(ScriptedModel(held), toml=SHOWN)) as service:
        service.hear(said("one", 1))
        await held.begun.wait()
        (turn,) = await service.column("SELECT id FROM turns")
        assert await service.runtime.preview(TurnId(turn), HALL.id, "Hel") == ""
        held.free.set()
        await service.settled()
        assert [delivery.speaker for delivery in service.platform.sends] == ["Star"]
