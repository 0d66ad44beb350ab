"""Blocks as wholes, by their commands: made, changed, deleted and brought back."""

import dataclasses
from datetime import timedelta
from functools import partial

import pytest

from bot.config.block_templates import TEMPLATES
from bot.errors import UserError
from bot.services.caller import Location, PlaceScope, Unconfirmed, owner_at_terminal
from bot.services.memory import block_results
from bot.services.memory.block_settings import BlockSettings, ChangeBlock, CreateBlock
from bot.services.memory.blocks import Blocks, EditBlock
from bot.services.results import Plain
from memory.agents import AgentConfig, InitialBlock, change_agent
from memory.blocks import BlockType, NewBlock, Permission, create_block
from memory.blocks.document import SYSTEM
from memory.blocks.schemas import Field, LogSchema
from memory.blocks.visibility import block_by_id
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust, channel_audience, guild_audience
from memory.store.database import Database
from memory.store.errors import BlockExists, BlockRefused, BlockTooLong, Refused
from memory.store.ids import GuildId, PersonId, PlaceId
from memory.store.records import replace
from tests.bot.services.calling import ADA, NOW, PEOPLE, SETUP, somebody
from texts import TextError, error_text, speaking

GUILD = guild_audience(GuildId("discord:1"))
OLGA = owner_at_terminal()


@pytest.fixture
def settings(database: Database) -> BlockSettings:
    return BlockSettings(database, PEOPLE, lambda: NOW)


@pytest.fixture
def blocks(database: Database) -> Blocks:
    return Blocks(database, PEOPLE, lambda: NOW + timedelta(minutes=1), "UTC")


async def test_who_could_see_it_is_offered_by_name_where_it_is_asked(settings: BlockSettings) -> None:
    place = PlaceId("discord:7")
    here = Location(place, channel_audience(place), (), (), guild="discord:1")
    everybody, there = ("public", "everyone"), (GUILD, "everyone on this server")
    assert await settings.audiences(OLGA) == [everybody]
    assert await settings.audiences(replace(OLGA, location=here)) == [
        everybody,
        there,
        (here.audience, "everyone in this channel"),
    ]
    narrower = replace(OLGA, location=dataclasses.replace(here, audience=GUILD))
    assert await settings.audiences(narrower) == [everybody, there]


async def text_of(blocks: Blocks, label: str) -> str:
    shown = await blocks.show_block(OLGA, label=label)
    return "\n".join(part for part in (getattr(shown, "text", ""),) if part)


async def test_a_block_is_made_changed_deleted_and_brought_back(settings: BlockSettings, blocks: Blocks) -> None:
    await settings.create(OLGA, CreateBlock(label="plans", description="What is planned", type="core", limit=60))
    await blocks.append(OLGA, label="plans", text="Paint the shed.")
    with pytest.raises(BlockTooLong, match="would hold 16 characters, 6 more than its limit of 10"):
        await settings.change(OLGA, ChangeBlock(label="plans", limit=10))
    await settings.change(OLGA, ChangeBlock(label="plans", rename="garden", description="The garden", type="working"))
    (row,) = (await blocks.list_blocks(OLGA)).rows
    assert (row.block, row.type, row.limit, row.description) == ("garden", "working", 60, "The garden")
    with pytest.raises(UserError, match="There is no block"):  # nobody is asked about what is not there
        await settings.delete(OLGA, label="shed")
    with pytest.raises(Unconfirmed, match="Delete the block “garden”"):
        await settings.delete(OLGA, label="garden")
    assert [each.block for each in (await blocks.list_blocks(OLGA)).rows] == ["garden"]
    await settings.delete(replace(OLGA, sure=True), label="garden")
    assert (await blocks.list_blocks(OLGA)).rows == ()
    with pytest.raises(UserError, match="There is no deleted block “plans”"):
        await settings.restore(OLGA, label="plans")
    await settings.restore(OLGA, label="garden")
    assert await text_of(blocks, "garden") == "Paint the shed.\n"
    assert (await blocks.show_history(OLGA, label="garden")).versions


async def test_what_blocks_are_for_is_told_to_people_in_their_language(settings: BlockSettings, blocks: Blocks) -> None:
    told = {name: each.description for name, each in TEMPLATES.items() if each.description}
    for name, description in told.items():
        await settings.create(OLGA, CreateBlock(agent="Ada", label=f"my_{name}", description=description))
    with speaking("de"):
        rows = [each for each in (await blocks.list_blocks(OLGA)).rows if each.block.startswith("my_")]
    assert {each.block: each.description for each in rows} == {f"my_{name}": each for name, each in told.items()}
    english = {*told.values(), *map(str, block_results._PURPOSES.values())}
    assert [each.purpose for each in rows if each.purpose in english] == []


async def test_an_empty_block_is_given_another_form(settings: BlockSettings, blocks: Blocks) -> None:
    await settings.create(OLGA, CreateBlock(label="plans", description="What is planned"))
    await settings.change(OLGA, ChangeBlock(label="plans", content="list"))
    await settings.change(OLGA, ChangeBlock(label="plans", content="fields", fields="mood, plan"))
    assert await text_of(blocks, "plans") == "mood:\nplan:\n"
    with pytest.raises(Refused, match="if the content is “fields”"):
        await settings.change(OLGA, ChangeBlock(label="plans", content="fields"))
    with pytest.raises(Refused, match="not a block schema"):
        await settings.change(OLGA, ChangeBlock(label="plans", content="fields", fields="two words"))
    shown = await blocks.show_history(OLGA, label="plans")
    assert [each.did.startswith("change of type") for each in shown.changes] == [True, True]
    await blocks.append(OLGA, label="plans", text="Paint the shed.")
    with pytest.raises(Refused, match="block “plans” is not empty: plan would be lost; create another"):
        await settings.change(OLGA, ChangeBlock(label="plans", content="list"))


async def test_a_form_of_a_field_that_is_gone_says_so_and_saves_nothing(
    settings: BlockSettings, blocks: Blocks
) -> None:
    await settings.create(OLGA, CreateBlock(label="plans", description="What is planned"))
    await settings.change(OLGA, ChangeBlock(label="plans", content="fields", fields="mood, plan"))
    form = await blocks.open_form(OLGA, label="plans", field="mood")
    edited = EditBlock(label="plans", field=form.field, text="calm", seen=form.version)
    await settings.change(OLGA, ChangeBlock(label="plans", content="list"))
    for fields in ("", "plan, place"):
        if fields:
            await settings.change(OLGA, ChangeBlock(label="plans", content="fields", fields=fields))
        with pytest.raises(
            Refused, match="the fields of block “plans” have changed since you opened the form"
        ) as refused:
            await blocks.edit(OLGA, edited)
        assert form.field not in str(refused.value)
    with pytest.raises(Refused, match="deadbeef"):
        await blocks.edit(OLGA, EditBlock(label="plans", field="deadbeef", text="calm"))
    plan = await blocks.open_form(OLGA, label="plans", field="plan")
    await blocks.edit(OLGA, EditBlock(label="plans", field=plan.field, text="calm", seen=plan.version))
    assert await text_of(blocks, "plans") == "plan: calm\nplace:\n"


async def test_what_was_written_while_the_question_stood_is_not_shared(settings: BlockSettings, blocks: Blocks) -> None:
    await settings.create(OLGA, CreateBlock(label="plans", description="What is planned"))
    await blocks.append(OLGA, label="plans", text="Paint the shed.")
    with pytest.raises(Unconfirmed, match=r"would also be visible in all places(.|\n)*\n\nPaint the shed\.") as asked:
        await settings.widen(OLGA, label="plans")
    await blocks.append(OLGA, label="plans", text="The key is under the mat.")
    with pytest.raises(Unconfirmed, match=r"The key is under the mat\.") as again:
        await settings.widen(replace(OLGA, sure=True, shown=str(asked.value)), label="plans")
    (row,) = (await blocks.list_blocks(OLGA)).rows
    assert row.audience == OWNER
    told = await settings.widen(replace(OLGA, sure=True, shown=str(again.value)), label="plans")
    assert (told.audience, told.text) == (PUBLIC, "Paint the shed.\nThe key is under the mat.\n")
    assert [each.readers for each in (await blocks.list_blocks(OLGA)).rows] == ["all places"]
    with pytest.raises(BlockRefused, match="may contain several people's words"):
        await settings.widen(OLGA, label="plans")


async def test_a_block_is_shared_with_another_agent_and_taken_back(settings: BlockSettings) -> None:
    ink = Plain("UTC", NOW)
    for label, permission in (("plans", "read_write"), ("charter", "read_only")):
        new = {"label": label, "description": "Words", "permission": permission}
        await settings.create(OLGA, CreateBlock.model_validate(new))
    assert (await settings.share(OLGA, label="plans")).data()["shares"] == []
    shared = await settings.share(OLGA, label="plans", agent="bea", permission="append")
    assert shared.lines(ink) == ["Ada's block “plans” is shared with Bea (append), in the places where it may be read."]
    assert shared.data()["shares"] == [{"agent": "Bea", "permission": "append", "effective": "append"}]
    bounded = await settings.share(OLGA, label="charter", agent="Bea", permission="read_write")
    assert bounded.lines(ink)[-1] == "Bea's effective permission is read_only."
    for label, agent, words in (
        ("plans", "Ada", "already belongs to that agent"),
        ("plans", "Sun", "There is no agent “Sun”. Choose from: Ada, Bea"),
        ("nothing", "Bea", "There is no block “nothing”"),
    ):
        with pytest.raises(TextError, match=words):
            await settings.share(OLGA, label=label, agent=agent)
    assert (await settings.unshare(OLGA, label="plans", agent="Bea")).data()["shares"] == []
    with pytest.raises(TextError, match="is not shared with “Bea”; it is shared with nobody"):
        await settings.unshare(OLGA, label="plans", agent="Bea")


async def test_names_are_given_once(settings: BlockSettings) -> None:
    for label in ("one", "two"):
        await settings.create(OLGA, CreateBlock(label=label, description="Words"))
    with pytest.raises(BlockExists):
        await settings.create(OLGA, CreateBlock(label="one", description="Words"))
    with pytest.raises(BlockExists):
        await settings.change(OLGA, ChangeBlock(label="one", rename="two"))
    await settings.delete(replace(OLGA, sure=True), label="one")
    await settings.create(OLGA, CreateBlock(label="one", description="Words"))
    with pytest.raises(BlockExists, match="there is a new block “one”"):
        await settings.restore(OLGA, label="one")
    with pytest.raises(UserError, match="no agent “Cleo”"):
        await settings.create(OLGA, CreateBlock(label="three", description="Words", agent="Cleo"))


@pytest.mark.parametrize("label", ["tool_execution_log", "event_log", "Ada/notes", "_constellation_"])
async def test_a_name_that_means_something_else_is_refused(settings: BlockSettings, label: str) -> None:
    await settings.create(OLGA, CreateBlock(label="garden", description="What grows"))
    with pytest.raises(Refused, match="choose"):
        await settings.create(OLGA, CreateBlock(label=label, description="What grows"))
    with pytest.raises(Refused, match="choose"):
        await settings.change(OLGA, ChangeBlock(label="garden", rename=label))


async def test_what_still_needs_a_block_keeps_it(settings: BlockSettings, database: Database) -> None:
    await settings.create(OLGA, CreateBlock(label="plans", description="Words"))
    await BlockSettings(database, PEOPLE, lambda: NOW).share(OLGA, label="plans", agent="Bea")
    await database.write(SETUP, lambda tx: tx.run(
        """INSERT INTO agent_groups (id, name, pattern_type, pattern_config, created_at, updated_at)
           VALUES ('grp_1', 'Night', 'sleeptime', '{"block": "plans"}', 'x', 'x')"""
    ))  # fmt: skip
    await database.write(SETUP, lambda tx: tx.run(
        """INSERT INTO permission_requests (id, scope, subject, agent_id, group_id, turn_id, call_id, tool, arguments,
             digest, covers, pattern, reason, place_id, audience, trust, approvers, status, created_at, expires_at)
           SELECT value + 1, 'memory_edit', 'agt_1/plans', 'agt_1', 'grp_1', value, 'c', 'context', '{}', x'00', '[]',
             '{}', 'why', 'terminal:local', iif(value, 'person:discord:2', 'owner'), 4, '[]', 'waiting', 'x', 'x'
           FROM json_each('[0, 1]')"""  # the second means a block of the person's own direct messages
    ))  # fmt: skip
    with pytest.raises(Refused, match=r"shared with Bea.*1 waiting request to change it.*configuration of Night"):
        await settings.delete(replace(OLGA, sure=True), label="plans")
    renaming = r"cannot be renamed: 1 waiting request to change it.*configuration of Night names it$"
    with pytest.raises(Refused, match=renaming):
        await settings.change(OLGA, ChangeBlock(label="plans", rename="garden"))
    await database.write(SETUP, lambda tx: tx.run("DELETE FROM agent_groups"))
    await database.write(SETUP, lambda tx: tx.run("DELETE FROM permission_requests"))
    await database.write(SETUP, lambda tx: tx.run(
        """INSERT INTO permission_grants (id, scope, subject, agent_id, pattern, audience, person_id, created_at)
           VALUES (1, 'memory_edit', 'agt_1/plans', 'agt_1', '{}', 'owner', 'p', 'x')"""
    ))  # fmt: skip
    with pytest.raises(Refused, match="a lasting permission to change it"):
        await settings.change(OLGA, ChangeBlock(label="plans", rename="garden"))
    await database.write(SETUP, lambda tx: tx.run("UPDATE permission_grants SET revoked_at = 'x'"))
    await settings.change(OLGA, ChangeBlock(label="plans", rename="garden"))
    with pytest.raises(Refused, match=r"cannot be deleted: shared with Bea: unshare it first$"):
        await settings.delete(replace(OLGA, sure=True), label="garden")


@pytest.mark.parametrize(("audience", "again"), [("each", True), ("owner", False)])
async def test_a_block_that_every_turn_makes_again_is_neither_deleted_nor_renamed(
    settings: BlockSettings, database: Database, audience: str, again: bool
) -> None:
    seed = InitialBlock("human", "Who speaks", "core", "", 90, "read_write", audience, pinned=False)
    ada = replace(ADA, config=AgentConfig(blocks=(seed,)))
    await database.write(SETUP, lambda tx: change_agent(tx, ada, NOW))
    await settings.create(OLGA, CreateBlock(label="human", description="Who speaks"))
    if again:
        with pytest.raises(Refused, match="cannot be deleted: the configuration of Ada creates it again") as refused:
            await settings.delete(replace(OLGA, sure=True), label="human")
        with speaking("de"):
            assert "die Konfiguration von Ada legt ihn wieder an" in error_text(refused.value)
        with pytest.raises(Refused, match="cannot be renamed: the configuration of Ada creates it again"):
            await settings.change(OLGA, ChangeBlock(label="human", rename="people"))
        await settings.change(OLGA, ChangeBlock(label="human", description="Whoever speaks", limit=90))
        await database.write(SETUP, lambda tx: tx.run("UPDATE agents SET status = 'archived' WHERE id = ?", (ADA.id,)))
    await settings.delete(replace(OLGA, sure=True), label="human")


async def test_a_log_of_ones_own_is_appended_by_people(database: Database, blocks: Blocks) -> None:
    schema = LogSchema(fields=(Field(name="event"),))
    for label, permission in (("days", Permission.READ_WRITE), ("tool_log", Permission.READ_ONLY)):
        new = NewBlock(ADA.id, label, "Days", OWNER, Trust.SYSTEM, BlockType.LOG, permission, schema=schema)
        await database.write(SETUP, partial(create_block, new=new, writer=SYSTEM, now=NOW))
    await blocks.append(OLGA, label="days", text="It rained.")
    assert "It rained." in await text_of(blocks, "days")
    with pytest.raises(BlockRefused, match="its entries cannot be changed"):
        await blocks.append(OLGA, label="tool_log", text="x")


@pytest.mark.parametrize(
    ("audience", "kind", "trust", "words"),
    [
        (PUBLIC, BlockType.CORE, Trust.APPROVED, "also visible elsewhere"),
        (PUBLIC, BlockType.WORKING, Trust.APPROVED, "also visible elsewhere"),
        (GUILD, BlockType.CORE, Trust.STRANGER, "always in context"),
        (GUILD, BlockType.CORE, Trust.APPROVED, ""),
        (GUILD, BlockType.WORKING, Trust.STRANGER, ""),
    ],
)
async def test_an_admin_of_one_server_settles_only_what_is_of_that_server(
    settings: BlockSettings, database: Database, audience: Audience, kind: BlockType, trust: Trust, words: str
) -> None:
    admin = somebody(PersonId("discord:9"), trust)
    scope = replace(admin.scope, within=frozenset({GUILD}))
    admin = replace(admin, scope=scope, here=PlaceScope(PlaceId("discord:11"), Scope(GUILD)))
    new = NewBlock(ADA.id, "rules", "The rules", audience, Trust.SYSTEM, kind)
    made = await database.write(SETUP, partial(create_block, new=new, writer=SYSTEM, now=NOW))
    if not words:
        await settings.change(admin, ChangeBlock(label="rules", description="Ours"))
        await settings.delete(replace(admin, sure=True), label="rules")
        await settings.restore(admin, label="rules")
        return
    with pytest.raises(UserError, match=words):
        await settings.change(admin, ChangeBlock(label="rules", description="Ours"))
    with pytest.raises(UserError, match=words):
        await settings.delete(replace(admin, sure=True), label="rules")
    assert await database.read(lambda rows: block_by_id(rows, ADA.id, made.id)) == made
    await settings.delete(replace(OLGA, sure=True), label="rules")
    with pytest.raises(UserError, match=words):
        await settings.restore(admin, label="rules")
    await settings.restore(OLGA, label="rules")


async def test_only_who_may_change_a_core_block_makes_one(settings: BlockSettings) -> None:
    admin = somebody(PersonId("discord:9"), Trust.STRANGER)
    admin = replace(admin, scope=Scope(GUILD), here=PlaceScope(PlaceId("discord:11"), Scope(GUILD)))
    with pytest.raises(UserError, match="Only the owner"):
        await settings.create(admin, CreateBlock(label="rules", description="Obey", type="core"))
    await settings.create(admin, CreateBlock(label="notes", description="Ours"))
    with pytest.raises(UserError, match="Only the owner"):
        await settings.change(admin, ChangeBlock(label="notes", type="core"))


@pytest.mark.parametrize(("states", "named"), [('[{"name": "a", "block": "rounds"}]', True), ("[]", False)])
async def test_a_group_needs_the_blocks_that_its_configuration_names_and_no_others(
    settings: BlockSettings, database: Database, states: str, named: bool
) -> None:
    await settings.create(OLGA, CreateBlock(label="rounds", description="Words"))
    await database.write(SETUP, lambda tx: tx.run(
        """INSERT INTO agent_groups (id, name, pattern_type, pattern_config, states, created_at, updated_at)
           VALUES ('grp_1', 'Night', 'round_robin', '{"rounds": 2}', ?, 'x', 'x')""", (states,),
    ))  # fmt: skip
    if named:
        with pytest.raises(Refused, match="configuration of Night"):
            await settings.delete(replace(OLGA, sure=True), label="rounds")
    else:
        await settings.delete(replace(OLGA, sure=True), label="rounds")
