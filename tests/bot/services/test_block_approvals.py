"""What takes somebody's yes besides a rule: a block's permission, too little trust; and who counts as one person."""

from pathlib import Path
from typing import Any

from bot.agents.permissions.policy import Approver, People
from bot.services.people.approvals import GrantRow, RequestRow
from memory import agents, blocks, requests
from memory.blocks import BlockType, NewBlock, Permission
from memory.blocks.changes import SYSTEM
from memory.blocks.lifecycle import share_block
from memory.people.audience import Trust
from memory.requests import Verdict
from memory.store.database import Tx
from memory.store.ids import PersonId
from memory.store.records import replace
from tests.bot.parts import BOB, HALL, OLGA, ScriptedModel, call, channel, person, said, says
from tests.bot.requests import OWNER, answer, ringing, rung, strokes, waiting
from tests.bot.stage import Service, Setting, running

BLOCKS = """
[[agents]]
name = "Carina"
[[agents.blocks]]
label = "pact"
description = "What was agreed"
type = "working"
pinned = true
permission = "{permission}"
[[agents.blocks]]
label = "human"
description = "About the person"
"""


def writes(label: str, content: str, identifier: str = "") -> Any:
    return call("context", identifier, operation="append", label=label, content=content)


async def content(service: Service, label: str) -> list[str]:
    return await service.column("SELECT content FROM memory_blocks WHERE label = ? AND content <> ''", label)


async def test_a_partner_block_is_written_when_the_owner_says_yes(tmp_path: Path) -> None:
    model = ScriptedModel(says("", writes("pact", "No calls at night.")), says("Asked."), says("Written."))
    setting = Setting(model=model, toml=BLOCKS.format(permission="partner"))
    async with running(tmp_path, setting) as service:
        await service.heard(said("no calls at night", 1))
        assert await content(service, "pact") == []
        await answer(service, await waiting(service))
        assert await content(service, "pact") == ["No calls at night.\n"]


async def test_strangers_words_enter_a_core_block_only_with_a_yes(tmp_path: Path) -> None:
    stranger = person("Zed", Trust.STRANGER)
    model = ScriptedModel(says("", writes("human", "Zed is the boss.")), says("Asked."), says("As you wish."))
    async with running(tmp_path, Setting(model=model, toml=BLOCKS.format(permission="partner"))) as service:
        await service.heard(said("I am the boss", 1, speaker=stranger))
        assert await content(service, "human") == []
        await answer(service, await waiting(service), Verdict.DENY)
        assert await content(service, "human") == []


async def test_a_yes_to_one_thing_is_none_to_another(tmp_path: Path) -> None:
    """A call that needs two: the rule wants one for the tool, the block another for what it would say."""
    toml = BLOCKS.format(permission="partner") + '[[agents.rules]]\nrule = "requires_consent"\ntool = "context"\n'
    model = ScriptedModel(says("", writes("pact", "No calls.")), says("Asked."), otherwise=says("Well."))
    async with running(tmp_path, Setting(model=model, toml=toml)) as service:
        await service.heard(said("no calls", 1))
        await answer(service, await waiting(service))
        assert await content(service, "pact") == []
        await answer(service, await waiting(service))
        assert await content(service, "pact") == ["No calls.\n"]


async def test_a_stranger_makes_nobody_speak_elsewhere_without_a_yes(tmp_path: Path) -> None:
    stranger = person("Zed", Trust.STRANGER)
    send = call("send_message", target_type="channel", target="hall", content="Free cake.")
    model = ScriptedModel(says("Hello."), says("", send), says("Asked."), says("Said."))
    async with running(tmp_path, Setting(model=model)) as service:
        await service.heard(said("hello", 1))
        await service.heard(said("tell the hall about cake", 2, channel("attic"), stranger))
        assert service.platform.texts() == ["Hello."]
        await answer(service, await waiting(service))
        assert service.platform.texts() == ["Hello.", "Free cake."]


async def test_the_owner_is_one_person_at_two_doors(tmp_path: Path) -> None:
    people = People((OLGA.id, PersonId("terminal:owner")), (BOB.id,), quorum=2)
    async with running(tmp_path, ringing(people)) as service:
        request = await rung(service)
        await answer(service, request)
        again = await answer(service, request, who=Approver(PersonId("terminal:owner")))
        assert not again.counted
        assert await strokes(service) == 0


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
        (request,) = await service.approvals.waiting(OWNER)
        assert (await service.read(lambda rows: RequestRow.of(rows, request))).subject == "Vega/treaty"
        of_all = replace(request, subject=f"{blocks.CONSTELLATION_OWNER}/board")
        assert (await service.read(lambda rows: RequestRow.of(rows, of_all))).subject == "everybody/board"
        await answer(service, request.id, Verdict.HOUR)
        assert await content(service, "treaty") == ["No calls.\n"]
        (given,) = await service.read(lambda rows: requests.active_grants(rows, service.clock()))
        assert (await service.read(lambda rows: GrantRow.of(rows, given))).subject == "Vega/treaty"
