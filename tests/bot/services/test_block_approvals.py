"""What takes somebody's yes besides a rule: a block's permission, too little trust."""

from pathlib import Path
from typing import Any

import pytest

from bot.services.people.approvals import GrantRow, RequestRow, open_requests
from memory import agents, blocks, permission_grants
from memory.blocks import BlockType, NewBlock, Permission
from memory.blocks.changes import SYSTEM
from memory.blocks.shares import share_block
from memory.people.audience import Trust
from memory.permission_requests import Verdict
from memory.queue.notifications import Speaker
from memory.store.database import Tx
from memory.store.records import replace
from tests.bot.parts import ANN, HALL, ScriptedModel, call, channel, person, said, says
from tests.bot.requests import OWNER, answer, waiting
from tests.bot.stage import Service, Setting, running, talked

BLOCKS = """
[[agents]]
name = "Carina"
[[agents.blocks]]
label = "pact"
description = "What was agreed"
type = "working"
pinned = true
permission = "partner"
[[agents.blocks]]
label = "human"
description = "About the person"
"""


def writes(label: str, content: str, identifier: str = "") -> Any:
    return call("context", identifier, operation="append", label=label, content=content)


async def content(service: Service, label: str) -> list[str]:
    return await service.column("SELECT content FROM memory_blocks WHERE label = ? AND content <> ''", label)


CONSENT = '[[agents.rules]]\nrule = "requires_consent"\ntool = "context"\n'


@pytest.mark.parametrize(
    ("label", "who", "rules", "verdicts", "written"),
    [
        ("pact", ANN, "", [Verdict.ONCE], ["No calls.\n"]),
        ("human", person("Zed", Trust.STRANGER), "", [Verdict.DENY], []),
        ("pact", ANN, CONSENT, [Verdict.ONCE, Verdict.ONCE], ["No calls.\n"]),
    ],
    ids=["a partner block", "a core block for a stranger", "a yes to the tool is none to what it would write"],
)
async def test_a_block_is_written_with_each_yes_that_it_takes(
    tmp_path: Path, label: str, who: Speaker, rules: str, verdicts: list[Verdict], written: list[str]
) -> None:
    model = ScriptedModel(says("", writes(label, "No calls.")), says("Asked."), otherwise=says("Well."))
    async with talked(tmp_path, Setting(model=model, toml=BLOCKS + rules), said("no calls", 1, speaker=who)) as service:
        for verdict in verdicts:
            assert await content(service, label) == []
            await answer(service, await waiting(service), verdict)
        assert await content(service, label) == written


async def test_a_stranger_makes_nobody_speak_elsewhere_without_a_yes(tmp_path: Path) -> None:
    stranger = person("Zed", Trust.STRANGER)
    send = call("send_message", target_type="channel", target="hall", content="Free cake.")
    model = ScriptedModel(says("Hello."), says("", send), says("Asked."), says("Said."))
    async with talked(tmp_path, Setting(model=model), "hello") as service:
        await service.heard(said("tell the hall about cake", 2, channel("attic"), stranger))
        assert service.platform.texts() == ["Hello."]
        await answer(service, await waiting(service))
        assert service.platform.texts() == ["Hello.", "Free cake."]


async def test_a_shared_block_is_named_by_whose_it_is_in_what_waits_and_in_what_was_allowed(tmp_path: Path) -> None:
    toml = '[[agents]]\nname = "Carina"\n[[agents]]\nname = "Vega"\n[[groups]]\nname = "one"\ndefault = true\n'
    toml += 'members = ["Carina"]\n[[groups]]\nname = "two"\nmembers = ["Vega"]\n'
    model = ScriptedModel(says("", writes("Vega/treaty", "No calls.")), says("Asked."), says("Written."))
    async with running(tmp_path, Setting(model=model, toml=toml)) as service:

        def setup(tx: Tx) -> None:
            vega = next(each.id for each in agents.agents(tx) if each.name == "Vega")
            new = NewBlock(vega, "treaty", "What was agreed", HALL.audience, Trust.AGENT, permission=Permission.PARTNER)
            made = blocks.create_block(tx, replace(new, type=BlockType.WORKING), SYSTEM, service.clock())
            share_block(tx, made, "Carina", Permission.READ_WRITE, service.clock())

        await service.write(setup)
        await service.heard(said("no calls", 1))
        (request,) = await service.read(lambda rows: open_requests(rows, OWNER))
        assert (await service.read(lambda rows: RequestRow.of(rows, request, ""))).subject == "Vega/treaty"
        of_all = replace(request, subject=f"{blocks.CONSTELLATION_OWNER}/board")
        assert (await service.read(lambda rows: RequestRow.of(rows, of_all, ""))).subject == "everybody/board"
        await answer(service, request.id, Verdict.HOUR)
        assert await content(service, "treaty") == ["No calls.\n"]
        (given,) = await service.read(lambda rows: permission_grants.active_grants(rows, service.clock()))
        assert (await service.read(lambda rows: GrantRow.of(rows, given, ""))).subject == "Vega/treaty"
