"""Agents under their own names and pictures, and talking to one of them or a group by name."""

from pathlib import Path

from tests.service.live_service import Live, files_holding, refused, started, until
from tests.wire.model import Answer, Request

FILE = """
[[agents]]
name = "Star"
system_prompt = "You are Star."
[[agents]]
name = "Moon"
system_prompt = "You are Moon."
avatar = "https://pictures.example/moon.png"
[[agents]]
name = "Comet"
[[groups]]
name = "Main"
members = ["Star"]
default = true
[[groups]]
name = "Night"
members = ["Moon"]
"""


def who(request: Request) -> str:
    """As whom the model is to answer."""
    return next(name for name in ("Star", "Moon") if f"You are {name}." in str(request.messages[0]))


def bodies(t: Live) -> list[dict[str, object]]:
    """What was said through webhooks, as it was sent."""
    return [
        request.body
        for request in t.server.requests
        if request.method == "POST" and "/webhooks/" in request.path and isinstance(request.body, dict)
        and "username" in request.body
    ]  # fmt: skip


async def test_one_is_talked_to_by_name_and_answers_under_its_own_name_and_picture(tmp_path: Path) -> None:
    async with started(tmp_path, "show_names = true\nmerge_seconds = 0", FILE) as t:
        t.model.default = lambda request: Answer(f"I am {who(request)}.")
        answer = await t.ask(t.ana, t.general, "<@bot> who are you?")
        assert (answer.text, answer.author_name) == ("I am Star.", "Star")
        done = await t.ana.command("chat agent", {"name": "moon", "text": "and who are *you*?"}, t.general)
        assert (done.ephemeral, done.text) == (False, "**To Moon:** and who are *you*?")
        request = await t.asked(lambda each: who(each) == "Moon")
        assert "Moon: and who are *you*?" in request.last_user
        assert "Annie" in request.last_user
        await until(lambda: len(bodies(t)) == 2, what="two answers")  # else what follows joins the turn that runs
        await t.ana.command("chat group", {"name": "Night", "text": "good night"}, t.general)
        await t.asked(lambda each: "Night: good night" in each.last_user)
        assert who(t.model.requests[-1]) == "Moon"
        await until(lambda: len(bodies(t)) == 3, what="three answers")
        await t.service.stop()
        said = [(body["username"], body.get("avatar_url")) for body in bodies(t)]
        assert said == [("Star", None), *[("Moon", "https://pictures.example/moon.png")] * 2]
        assert t.rows("SELECT count(*) FROM inbox WHERE status = 'done'") == [(3,)]
        (hook,) = t.server.world.webhooks.values()
        assert files_holding(tmp_path, hook.token) == []


async def test_a_webhook_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    async with started(tmp_path, "show_names = true\nmerge_seconds = 0", FILE) as t:
        t.model.default = lambda request: Answer(f"I am {who(request)}.")
        assert (await t.ask(t.ana, t.general, "<@bot> one")).author_name == "Star"
        (gone,) = t.server.world.webhooks
        del t.server.world.webhooks[gone]
        assert (await t.ask(t.ana, t.general, "<@bot> two")).author_name == "Star"
        (made,) = t.server.world.webhooks
        assert made != gone
        await t.service.restart()
        assert (await t.ask(t.ana, t.general, "<@bot> three")).author_name == "Star"
        assert list(t.server.world.webhooks) == [made]


async def test_who_there_is_and_who_cannot_be_talked_to(tmp_path: Path) -> None:
    async with started(tmp_path, toml=FILE) as t:
        text = "hello"
        refused(await t.ana.command("chat agent", {"name": "Sun", "text": text}, t.general), "There is no agent “Sun”")
        refused(await t.ana.command("chat agent", {"name": "Comet", "text": text}, t.general), "is in no group")
        refused(await t.ana.command("chat group", {"name": "Sun", "text": text}, t.general), "There is no group “Sun”")
        assert [each.value for each in await t.ana.autocomplete("chat agent", "name", "mo", t.general)] == ["Moon"]
        listed = (await t.olga.command("admin group list", None, t.general)).text
        assert listed == "### Groups\n- Main (taking turns): Star\n- Night (taking turns): Moon"
        refused(await t.ana.command("admin group show", {"group": "Main"}), "Only an admin may")
        shown = (await t.olga.command("admin group show", {"group": "main"})).shown
        (file,) = shown.attachments
        assert 'members = ["Star"]' in file.data.decode()
        assert "Moon: active, regular" in (await t.olga.command("admin group status", {"group": "Night"})).text
        archived = await t.service.data("agent", "archive", "Moon")
        assert (archived["status"], archived["groups"]) == ("archived", "Night")
        assert archived["command"] == "carina agent restore Moon"
        refused(await t.ana.command("chat agent", {"name": "Moon", "text": text}, t.general), "is archived")
        refused(
            await t.ana.command("chat group", {"name": "Night", "text": text}, t.general),
            "Every agent in Night is archived",
        )
        assert t.model.requests == []
