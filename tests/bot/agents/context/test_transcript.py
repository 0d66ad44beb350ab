"""A finished turn as rows: what was said and done, in order, and what is to be sent."""

from pathlib import Path

from memory.store.ids import TurnId
from tests.bot.parts import HALL, HeldReply, Platform, ScriptedModel, said, says
from tests.bot.stage import Setting, running

SHOWN = '[[agents]]\nname = "Star"\nsystem_prompt = "Shine."\n[discord]\nshow_names = true\n'


async def test_a_very_long_answer_goes_out_as_a_file(tmp_path: Path) -> None:
    setting = Setting(ScriptedModel(says("a" * 60)))
    setting.platform = Platform(setting.clock, max_length=10)
    async with running(tmp_path, setting) as service:
        await service.heard(said("one", 1))
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
