"""`carina doctor` and `restart`, and both on Discord, and exports: the program as a process, over sockets."""

import asyncio
import itertools
import json
from pathlib import Path

from tests.processes import START_SECONDS
from tests.service.live_service import NO_MERGING, Live, live_service, started
from tests.wire.model import UNAUTHORIZED, Answer

FULL = """
[[agents]]
name = "Carina"
system_prompt = "You are Carina."
[[groups]]
name = "Main"
members = ["Carina"]
default = true
"""


async def examined(t: Live, code: int) -> dict[str, list[dict[str, str]]]:
    """What it finds, by what it looked at; it ends with that code."""
    ended, out, error = await t.service.run("doctor", "--json")
    assert ended == code, error + out
    found: dict[str, list[dict[str, str]]] = {}
    for each in json.loads(out):
        found.setdefault(each["about"], []).append(each)
    return found


def only(found: dict[str, list[dict[str, str]]], about: str) -> tuple[str, str, str]:
    (each,) = found[about]
    return each["state"], each["words"], each["remedy"]


def _at_start(path: str) -> bool:
    """What the service itself does when it starts: its commands, and opening the owner's direct messages."""
    return "commands" in path or path.endswith("/users/@me/channels")


async def test_all_is_well_and_nothing_is_changed(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        t.model.default = lambda _request: Answer("Yes.")
        found = await examined(t, 0)
        assert only(found, "Discord")[:2] == ("good", "the token belongs to carina, a member of 1 server")
        assert only(found, "Discord owner")[:2] == ("good", "olga is the owner")
        assert only(found, "model openai:scripted")[0] == "good"
        assert only(found, "service")[:2] == ("good", "running, with no failed messages")
        assert only(found, "clock")[0] == "good"
        assert only(found, "database")[0] == "good"
        assert only(found, "embedding model")[:2][0] == "not configured"
        assert only(found, "backups")[2] == "create one with `carina backup create`"
        assert [request.last_user for request in t.model.requests] == ["Are you there?"]
        assert all(request.method == "GET" for request in t.server.requests if not _at_start(request.path))
        out = await t.service.said("doctor")
        assert "ok       Discord: the token belongs to carina" in out
        assert out.splitlines()[-1] == "0 problems, 1 to check."
        assert t.server.token not in out


async def test_what_is_wrong_is_named_with_what_to_do(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.server.settings.granted_privileged = set()
        t.guild.set_permissions(t.guild.bot_role, "view_channel", "send_messages")
        t.guild.set_permissions(t.guild.everyone)
        t.model.default = lambda _request: UNAUTHORIZED
        t.service.environment["DISCORD_OWNER_ID"] = "123456789012345678"
        found = await examined(t, 1)
        content, members = found["Discord intents"]
        assert "Message Content is off" in content["words"]
        assert "Privileged Gateway Intents" in content["remedy"]
        assert "Server Members is off" in members["words"]
        state, words, remedy = only(found, "Discord server Home")
        assert (state, words.startswith("the bot lacks")) == ("look at this", True)
        assert "manage webhooks" in words
        assert "view channel" not in words
        assert "https://discord.com/oauth2/authorize?" in remedy
        assert only(found, "Discord owner")[:2] == ("problem", "there is no user 123456789012345678")
        state, words, remedy = only(found, "model openai:scripted")
        assert state == "problem"
        assert "OPENAI_API_KEY" in remedy
        assert only(found, "service") == ("not configured", "not running", "start it with `carina run`")
        t.service.environment["DISCORD_TOKEN"] = "no-such-token"
        state, words, remedy = only(await examined(t, 1), "Discord")
        assert (state, words) == ("problem", "Discord refused the token")
        assert "no-such-token" not in remedy


async def test_a_folder_that_others_read(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.service.home.mkdir(mode=0o755)
        t.service.home.chmod(0o755)
        found = await examined(t, 0)
        assert only(found, "data folder")[2] == f"chmod 700 {t.service.home}"


async def test_the_owner_has_it_examined_in_discord(t: Live) -> None:
    shown = await t.olga.command("owner doctor")
    assert "the token belongs to carina" in shown.shown.text
    assert "`/owner backup create`" in shown.text.replace("\\", "")
    assert "Only the owner may" in (await t.ana.command("owner doctor")).text


async def test_it_starts_again_with_the_configuration_as_it_is_then(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        await t.ask(t.ana, t.general, "<@bot> remember that the key is under the mat")
        assert (await t.service.said("restart")).startswith("The service restarted on ")
        await t.service.logged("ready", front_end="discord", count=2, within=START_SECONDS)
        answer = await t.ask(t.ana, t.general, "<@bot> where is the key?")
        assert "under the mat" in answer.text

        t.configure(NO_MERGING, FULL + "[nonsense]\nx = 1")
        code, _, error = await t.service.run("restart")
        assert code != 0
        assert "nonsense" in error
        refused = await t.olga.command("owner restart")
        assert "the old one stays in use" in refused.text
        assert "under the mat" in (await t.ask(t.ana, t.general, "<@bot> where is the key?")).text

        t.configure(NO_MERGING, FULL.replace('"Carina"', '"Vega"'))
        assert "Only the owner may" in (await t.ana.command("owner restart")).text
        asked = [t.olga.command("owner restart") for _ in range(5)]
        told = await asyncio.gather(*asked, t.ana.command("memory list", None, t.general))
        assert all("I'll finish my current answers" in each.text for each in told[:-1])
        assert "persona" in told[-1].text
        await t.service.logged("ready", front_end="discord", count=3, within=START_SECONDS)
        assert "Vega" in [each["agent"] for each in await t.service.data("agent", "list")]


async def test_before_the_first_start_without_a_network_it_says_what_to_do_and_makes_nothing(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        account = {"BLUESKY_HANDLE": "carina.test", "BLUESKY_APP_PASSWORD": "abcd-efgh-ijkl-mnop"}
        t.service.environment |= {**account, "BLUESKY_SERVICE": "http://127.0.0.1:9"}
        await t.server.faults.refuse_rest()
        code, out, error = await t.service.run("doctor")
        await t.server.faults.accept_rest()
        assert (code, error) == (1, "")
        lines = out.splitlines()
        told = {line.split(": ")[0]: after for line, after in itertools.pairwise(lines)}
        assert told["problem  Discord"].strip().startswith("-> check the network")
        assert told["problem  Bluesky"].strip().startswith("-> check the network")
        assert not t.service.home.exists()


async def test_without_a_service_there_is_nothing_to_start_again(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        assert "`carina run` starts it" in await t.service.refused("restart")


async def test_a_secret_in_the_configuration_is_not_shown_by_a_command(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        block = f'[[agents.blocks]]\nlabel = "keys"\ndescription = "Keys"\ncontent = "The key is {t.server.token}."\n'
        t.configure(
            NO_MERGING, FULL.replace("You are", f"{t.server.token} is").replace("[[groups]]", f"{block}[[groups]]")
        )
        await t.service.start()
        taken = await t.olga.command("admin agent export")
        assert "Secrets are left out" in taken.text
        assert taken.message is not None
        (file,) = taken.message.attachments
        written = file.data.decode()
        assert 'system_prompt = "[secret] is Carina."' in written
        assert t.server.token not in written
        await t.ask(t.olga, t.olga.direct, "hello")
        assert "The key is [secret]." in (await t.olga.command("memory show", {"label": "keys"})).text
        form = await t.olga.command("memory edit", {"label": "keys"})
        assert form.modal is not None
        assert form.modal.inputs["text"]["value"] == "The key is [secret]."
