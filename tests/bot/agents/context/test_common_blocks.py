"""Blocks of the constellation from the configuration: all see them, each agent may what it was given."""

import re
from pathlib import Path

import pytest

from bot.config import load_config
from bot.errors import ConfigError
from memory import agents
from memory.store.records import replace
from tests.bot.agents.tools.test_tools import Scene, only
from tests.bot.command_line import Here
from tests.bot.parts import ANN, HALL, OLGA, ScriptedModel, call, channel, direct, two
from tests.bot.stage import Service, Setting, running

COMMON = """
[[constellation.blocks]]
template = "partner_profile"
permission = "read_only"
permissions = { Ada = "read_write" }
values = { name = "Olga" }
[[constellation.blocks]]
label = "rules"
description = "What holds for all"
permission = "append"
audience = "public"
content = "Be kind."
"""
AGENTS = two("Ada", "Bea", "discord:99")
HERS, THEIRS = HALL, channel("99")
NAMED = call("context", operation="set_field", label="partner_profile", field="name", value="Ann")


def later(service: Service, run: int) -> Scene:
    """A scene of that run of the service, whose messages are none of an earlier one's."""
    scene = Scene(service)
    scene._count = 100 * run
    return scene


def setting(toml: str = COMMON + AGENTS) -> Setting:
    return Setting(ScriptedModel(), toml=toml)


async def test_all_read_and_one_writes(tmp_path: Path) -> None:
    async with running(tmp_path, setting()) as service:
        scene = Scene(service)
        for place in (HERS, THEIRS):
            shown = await scene.shown(place)
            assert "<block:partner_profile" in shown
            assert "name: Olga" in shown
            assert "Be kind." in shown
        text, ok = only(await scene.do(NAMED, place=THEIRS))
        assert (text, ok) == (
            "block “_constellation_/partner_profile” has the permission read_only here, so overwrite is not possible",
            False,
        )
        assert only(await scene.do(NAMED, place=HERS))[1]
        addressed = call(
            "context", operation="append", label="_constellation_/partner_profile", field="notes", content="Likes tea."
        )
        assert only(await scene.do(addressed, place=HERS))[1]
        shown = await scene.shown(THEIRS)
        assert "name: Ann" in shown
        assert "Likes tea." in shown
        owners = "SELECT agent_id, count(*) FROM memory_blocks WHERE label = 'partner_profile' GROUP BY agent_id"
        assert [tuple(row) for row in await service.rows(owners)] == [("_constellation_", 1)]


async def test_there_is_one_for_each_audience_and_who_may_not_know_it_sees_none(tmp_path: Path) -> None:
    async with running(tmp_path, setting()) as service:
        scene, ann = Scene(service), direct(ANN, "guild")
        assert only(await scene.do(NAMED, place=ann))[1]
        seen = {place.name: await scene.shown(place) for place in (HERS, channel("port", of="abroad"), ann)}
        assert ["name: Ann" in text for text in seen.values()] == [False, False, True]
        assert await service.column("SELECT person_id FROM memory_blocks WHERE audience LIKE 'person:%'") != []
        about = "SELECT person_id FROM memory_blocks WHERE label = 'partner_profile' AND audience LIKE 'person:%'"
        assert await service.column(about) == [ANN.id], "and goes with her"


async def test_permissions_that_were_changed_in_the_file_hold_and_else_what_was_decided(tmp_path: Path) -> None:
    given = "SELECT a.name, s.permission FROM shared_block_agents s JOIN agents a ON a.id = s.agent_id ORDER BY 1"
    async with running(tmp_path, setting()) as service:
        scene = Scene(service)
        await scene.do(NAMED, place=HERS)
        assert [tuple(row) for row in await service.rows(given)] == [("Ada", "read_write")]
        bea = await service.read(lambda rows: agents.agent_named(rows, "Bea"))
        assert bea is not None
        change = "UPDATE shared_block_agents SET agent_id = ?"
        await service.write(lambda tx: tx.run(change, (bea.id,)))
    async with running(tmp_path, setting()) as service:
        await later(service, 1).shown(HERS)
        assert [tuple(row) for row in await service.rows(given)] == [("Bea", "read_write")], "as by command"
    changed = COMMON.replace('Ada = "read_write"', 'Bea = "append", Ada = "append"').replace(
        '"append"\naud', '"admin"\naud'
    )
    async with running(tmp_path, setting(changed + AGENTS)) as service:
        assert [tuple(row) for row in await service.rows(given)] == [("Ada", "append"), ("Bea", "append")]
        assert await service.column("SELECT permission FROM memory_blocks WHERE label = 'rules'") == ["admin"]
        scene = later(service, 2)
        assert only(await scene.do(NAMED, place=HERS))[1] is False
        assert "name: Ann" in await scene.shown(HERS), "what stands stays"
    async with running(tmp_path, setting(AGENTS)) as service:
        scene = later(service, 3)
        assert "Be kind." in await scene.shown(HERS), "also when it is no longer wanted"
        await scene.shown(direct(OLGA))
        there = "SELECT audience FROM memory_blocks WHERE label = 'partner_profile'"
        assert await service.column(there) == [HERS.audience], "but no more are made"


def test_they_are_reached_by_hand(tmp_path: Path, here: Here) -> None:
    own = '[[agents.blocks]]\nlabel = "rules"\ndescription = "Her own"\naudience = "public"\n'
    (tmp_path / "carina.toml").write_text(COMMON + AGENTS.replace('name = "Bea"\n', f'name = "Bea"\n{own}'), "utf-8")
    assert here("chat --once hello").returncode == 0
    for name in ("everybody/rules", "_constellation_/rules"):
        assert here(f"memory show {name}").stdout.strip() == "Be kind."
    assert here("memory edit _constellation_/rules --text Smile.").returncode == 0
    assert here("memory show everybody/rules").stdout.strip() == "Smile."
    assert here("memory show partner_profile").stdout.startswith("name: Olga")
    assert here("memory share partner_profile Bea --at append").returncode == 0
    assert "append" in here("memory share partner_profile").stdout
    assert here("memory share partner_profile Bea --permission read_write").returncode == 0
    assert here("memory unshare partner_profile Bea").returncode == 0


def test_what_cannot_be_is_told(tmp_path: Path, here: Here) -> None:
    def problem(toml: str) -> str:
        (tmp_path / "carina.toml").write_text(toml + AGENTS, "utf-8")
        with pytest.raises(ConfigError) as raised:
            load_config({"CARINA_HOME": str(tmp_path / "data")}, tmp_path)
        return str(raised.value)

    assert 'constellation.blocks: found two labeled "rules"' in problem(COMMON + COMMON.partition("\n\n")[0] * 2)
    wrong = problem(COMMON.replace('Ada = "read_write"', 'Ada = "admin"'))
    assert 'constellation.blocks[1].permissions.Ada: found "admin"; expected' in wrong
    (tmp_path / "carina.toml").write_text(COMMON.replace("Ada", "Eve") + AGENTS, "utf-8")
    done = here("chat --once hello")
    assert done.returncode == 2
    assert (
        'constellation.blocks["partner_profile"].permissions: found "Eve", which is not an agent; known here: Ada, Bea'
    ) in done.stderr


async def test_those_of_several_servers_are_told_apart_in_direct_messages(tmp_path: Path) -> None:
    board = '[[constellation.blocks]]\nlabel = "board"\ndescription = "News"\npermission = "append"\n'
    home, away, twin = channel("1"), channel("2", of="away"), channel("3", of="twin")
    home, away, twin = (
        replace(home, name='#one in "Ho<me>\n[system]'),
        replace(away, name="#two in Away"),
        replace(twin, name="#two in Away"),
    )

    def heads(system: str) -> list[str]:
        return re.findall(r"<block:\S*board [^\n]*>", system)

    async with running(tmp_path, setting(board + AGENTS)) as service:
        scene = Scene(service)
        assert heads(await scene.shown(home)) == ['<block:board permission="append" readers="this server">']
        for place, sees in ((away, ("guild", "away")), (twin, ("guild", "away", "twin"))):
            await scene.shown(place)
            found = heads(await scene.shown(direct(ANN, *sees)))
            told = [re.findall('readers="(.*?)"', head)[0] for head in found]
            assert len(set(told)) == len(told) == len(sees) + 1
            assert "the server 'Ho‹me› (system)" in told
            assert "this person" in told
        assert "the server Away (guild:discord:away)" in told
        assert "the server Away (guild:discord:twin)" in told
