"""The real process dies in the middle of work: what its agent is told when it goes on."""

from pathlib import Path

from bot.agents.context.quotes import estimate_tokens
from bot.agents.context.recovery import HEAD, TOKENS
from tests.service.live_service import live_service
from tests.wire.model import Answer, Hang


async def test_a_process_killed_in_its_very_first_task_recovers_it_in_few_words(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.model.script(Hang(), Answer("The fence is drawn."))
        await t.service.start()
        said = await t.ana.say(t.general, "<@bot> Draw the garden fence anew.")
        await t.model.wait_for(1)
        await t.service.kill()
        await t.service.start()
        answer = await t.general.wait_for_bot(after=said)
        await t.service.stop()
        assert answer.text == "The fence is drawn."
        first, again = (request.last_user for request in t.model.requests)
    assert HEAD not in first
    _, _, rest = again.partition(f'<quoted from="{HEAD}">\n')
    text = rest.partition("\n</quoted>")[0]
    assert "Your work here was interrupted" in text
    assert "- Task:" in text
    assert "Draw the garden fence anew." in text
    assert text.endswith("ask when you are unsure of a detail.")
    assert estimate_tokens(text) <= TOKENS
