"""What somebody may not know of is refused in the words in which it would be refused if it were not there."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from functools import partial

import pytest
import pytest_asyncio

from bot.agents.permissions.roles_and_rights import Rank
from bot.config import load_config
from bot.errors import CallError, UserError
from bot.services import services
from bot.services.caller import Caller, owner_at_terminal
from bot.services.registry import Operation, Parameter, Registry, operations_of
from bot.services.results import Markdown
from bot.services.served_folder import open_registry
from memory import agent_groups, agents
from memory.knowledge import entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import Scope, Trust, person_audience
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.ids import AgentId, PersonId
from memory.store.records import replace
from tests.bot.parts import ScriptedModel, direct, person, said
from tests.bot.requests import asked
from tests.bot.services.calling import somebody
from tests.bot.stage import Setting, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

VICTIM, ATTACKER = somebody(PersonId("discord:1"), Trust.APPROVED), somebody(PersonId("discord:2"))
KNOWN_TO_ALL = {"agents", "active agents", "hibernated agents", "every agent", "groups", "routes", "states"}
"""Sources of what everybody may know by name."""
NOT_PROBED = {"fields", "writers", "sharers", "nights", "audiences"}
"""Parts of a block that is probed itself, and dates and the place of the call, which anybody can name."""
GIVEN = {"audience": "public", "when": "tomorrow at 9", "fact": "1", "text": "some words"}
"""For the arguments that an operation takes beside the one that is probed."""
HAS = (
    ("remind.me", {"text": "zebra dance", "when": "in 3 hours"}),
    ("tasks.add", {"title": "zebra dance"}),
    ("tasks.template.save", {"name": "zebra steps", "task": "zebra dance"}),
    ("events.add", {"title": "zebra dance", "when": "tomorrow at 9"}),
    ("facts.add", {"fact": "I keep a zebra in the garden"}),
    ("archival.add", {"text": "The zebra dances.", "label": "zebra", "category": "zebra/dance", "tag": ["zebra"]}),
    ("project.prefer", {"text": "zebra pictures"}),
)
"""What the victim has of everything that can be referred to; one message of theirs was given up as well, and a request
asks the owner."""
PROBES = [
    (declared, each)
    for declared in operations_of(services()).values()
    if declared.needs.least is Rank.PERSON
    for each in declared.parameters
    if each.suggests and each.suggests not in KNOWN_TO_ALL | NOT_PROBED
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def registry(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Registry]:
    folder = tmp_path_factory.mktemp("references")
    speaker = replace(person("Vic"), id=VICTIM.person)
    async with running(folder, Setting(ScriptedModel(otherwise=ValueError("boom")))) as service:
        await service.heard(said("where does the zebra dance?", 1, direct(speaker), speaker))
        await service.write(lambda tx: asked(tx, agents.agents(tx)[0].id, agent_groups.groups(tx)[0].id, 1))
        (agent,) = await service.column("SELECT id FROM agents")
        await service.write(partial(_infer, agent))
    config = load_config({"CARINA_HOME": str(folder), "CARINA_CONFIG": str(folder / "home.toml")}, folder)
    async with open_registry(config) as found:
        for name, given in HAS:
            await found.call(name, VICTIM, given)
        yield found


def _infer(agent: AgentId, tx: Tx) -> None:
    """Something about the victim that waits for their yes."""
    origin = Origin(Scope(person_audience(VICTIM.person)), Trust.APPROVED, VICTIM.person)
    kept = entry_changes.insert(tx, agent, NewEntry("Vic is fond of zebras.", origin), utc_now())
    waits = json.dumps({"requires_user_permission": True})
    tx.run("UPDATE archival_entries SET archived_at = created_at, metadata = ? WHERE id = ?", (waits, kept.id))


async def outcome(registry: Registry, name: str, caller: Caller, given: Mapping[str, str]) -> str:
    try:
        result = await registry.call(name, replace(caller, sure=True), given)
    except (UserError, CallError) as error:
        return str(error)
    return "\n".join(result.lines(Markdown()))


@pytest.mark.parametrize(("declared", "probed"), PROBES, ids=[f"{one.name} {each.name}" for one, each in PROBES])
async def test_a_reference_tells_nobody_whether_there_is_such_a_thing(
    registry: Registry, declared: Operation, probed: Parameter
) -> None:
    async def known(caller: Caller) -> list[str]:
        return [value for value, _words in await registry.suggest(declared.name, probed.name, caller, {})]

    before, own = await known(VICTIM), await known(ATTACKER)
    if probed.suggests == "writable blocks":  # they may read more than that
        own += [value for value, _words in await registry.suggest("memory.history", "label", ATTACKER, {})]
    theirs = [value for value in dict.fromkeys([*before, *await known(owner_at_terminal())]) if value not in own]
    assert theirs, "there is something to be found"
    more = {each.name: GIVEN.get(each.name, "1") for each in declared.parameters if each.required}
    for value in (*theirs, "zebra", "dance"):
        told = await outcome(registry, declared.name, ATTACKER, {**more, probed.name: value})
        nowhere = made_up(value)
        expected = await outcome(registry, declared.name, ATTACKER, {**more, probed.name: nowhere})
        assert blurred(told, value) == blurred(expected, nowhere)
    assert await known(VICTIM) == before, "nothing was changed"


def made_up(value: str) -> str:
    """Something of the same form that is not there."""
    if value.isdecimal():
        return str(int(value) + 7_777)
    return re.sub("[a-y]", lambda letter: chr(ord(letter[0]) + 1), value[:-1]) + ("q" if value[-1] != "q" else "p")


def blurred(told: str, value: str) -> str:
    return told.replace(value, "…").replace(value.replace("_", "\\_"), "…")
