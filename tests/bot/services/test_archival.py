"""Long-term entries of several agents, as people see them: all of them, also those of agents that are archived."""

from pathlib import Path
from typing import Any

import pytest

from bot.errors import UserError
from bot.services.caller import Caller, Unconfirmed, owner_at_terminal
from bot.services.memory.archival import Archive
from bot.services.memory.facts import Facts
from bot.services.results import Plain
from memory.agents import Agent, set_status
from memory.people.audience import OWNER, Scope, Trust
from memory.queue import turns
from memory.queue.turns import Turn
from memory.store.database import Database
from memory.store.ids import PlaceId, TurnId
from memory.store.records import replace
from sources.terminal import PERSON
from tests.bot.parts import ANN, NOON, MovableClock, ScriptedModel, call, direct, said, says
from tests.bot.plain import search
from tests.bot.services.calling import ADA, BEA, PEOPLE, SETUP, registry, somebody
from tests.bot.stage import Setting, running
from texts import TextError, reading


class Entries:
    """Calls of the owner, with their results as data."""

    def __init__(self, database: Database) -> None:
        self.database, store = database, (database, PEOPLE, MovableClock())
        self._registry = registry(Archive(*store), search(*store))

    async def call(self, name: str, *, sure: bool = False, shown: str = "", **given: Any) -> Any:
        caller = replace(owner_at_terminal(sure=sure), shown=shown)
        return (await self._registry.call(name, caller, given)).data()

    async def as_(self, caller: Caller, name: str, **given: Any) -> Any:
        return (await self._registry.call(name, caller, given)).data()

    async def add(self, text: str, **more: Any) -> Any:
        return await self.call("archival.add", text=text, **more)

    async def told(self, name: str, **given: Any) -> str:
        return (await self._registry.call(name, owner_at_terminal(), given)).terminal(Plain("UTC", NOON))


@pytest.fixture
def of(database: Database) -> Entries:
    return Entries(database)


async def put_away(of: Entries, agent: Agent) -> None:
    await of.database.write(SETUP, lambda tx: set_status(tx, agent.id, "archived", NOON))


async def test_words_that_are_kept_already_say_what_was_not_taken_on(of: Entries) -> None:
    told = {"label": "stork", "agent": "Ada", "category": "birds/storks", "tag": ["bird"]}
    first = await of.add("The stork is back.", **told)
    assert (first["already"], first["not_taken"]) == (False, [])
    anew = {"label": "heron", "agent": "Ada", "category": "pond", "tag": ["white"]}
    again = await of.add("The stork is back!", **anew)
    assert (again["id"], again["already"], again["tags"]) == (first["id"], True, ["bird", "white"])
    left = ["the label: it is “stork”", "the category: it is birds/storks"]
    assert again["not_taken"] == left
    said = "Ada will remember it as stork. I already knew that; now I'm more certain of it. Not saved: "
    words = await of.told("archival.add", text="The stork is back!", **anew)
    assert words == f"{said}{left[0]}; {left[1]}."


async def test_words_that_go_on_are_not_said_to_be_known(of: Entries) -> None:
    first = await of.add("I like green tea", agent="Ada")
    longer = await of.add("I like green tea and coffee", agent="Ada")
    assert (longer["id"], longer["text"], longer["already"]) == (first["id"], "I like green tea and coffee", False)
    assert "already knew" not in await of.told("archival.add", text="I like green tea and coffee and cake", agent="Ada")
    assert (await of.add("I like green tea and coffee and cake.", agent="Ada"))["already"]


async def test_the_end_of_an_id_reaches_only_what_may_be_used(of: Entries) -> None:
    kept = (await of.add("The owner's key is under the stone.", agent="Ada"))["id"]
    stranger = somebody(ANN.id)
    for which in (kept, kept[-6:]):
        for ask in ("archival.show", "archival.delete"):
            with pytest.raises(UserError, match=f"There is no entry “{which}” here"):
                await of.as_(stranger, ask, entry=which)
    assert (await of.call("archival.show", entry=kept[-6:]))["text"] == "The owner's key is under the stone."


async def test_a_part_of_its_text_names_an_entry_if_no_other_has_it(of: Entries) -> None:
    for text in ("The stork is back.", "The heron is back."):
        await of.add(text, agent="Ada")
    assert (await of.call("archival.show", entry="stork back"))["text"] == "The stork is back."
    with pytest.raises(UserError, match=r"Several entries match “back”. Choose one: The heron is back.; The stork"):
        await of.call("archival.delete", entry="back")
    with pytest.raises(UserError, match="There is no entry “stork” here"):
        await of.as_(somebody(ANN.id), "archival.show", entry="stork")


async def test_an_entry_found_by_words_is_shown_before_it_is_deleted(of: Entries) -> None:
    kept = [(await of.add(f"The {bird} is back.", agent="Ada"))["id"] for bird in ("stork", "heron", "owl")]
    with pytest.raises(Unconfirmed, match=r"^Delete this entry\? The stork is back\.$"):
        await of.call("archival.delete", entry="stork")
    assert len(await of.call("archival.list")) == 3
    await of.call("archival.delete", entry="stork", sure=True)
    for number in (f"#{kept[1][-6:]}", kept[2]):  # a number was read where the entry stands
        await of.call("archival.delete", entry=number)
    assert await of.call("archival.list") == []


async def test_a_label_that_two_agents_use_is_not_guessed(of: Entries) -> None:
    kept = [(await of.add(f"{name} has a key.", label="key", agent=name))["id"] for name in ("Ada", "Bea")]
    for ask in ("archival.show", "archival.delete"):
        with pytest.raises(UserError, match=rf"one by ID: #{kept[0][-6:]} \(Ada\), #{kept[1][-6:]} \(Bea\)"):
            await of.call(ask, entry="key")
    assert (await of.call("archival.show", entry=f"#{kept[1][-6:]}"))["agent"] == "Bea"
    await of.call("archival.delete", entry="key", agent="Bea", sure=True)
    assert (await of.call("archival.show", entry="key"))["id"] == kept[0]


async def test_what_is_added_is_kept_by_the_agent_that_answered_last(of: Entries) -> None:
    turn = Turn(TurnId(1), BEA.id, None, PlaceId("terminal:local"), PERSON, Scope(OWNER), Trust.OWNER, (), 0, NOON)
    assert (await of.add("The stork is back."))["agent"] == "Ada"
    await of.database.write(SETUP, lambda tx: turns.begin(tx, turn))
    await of.database.write(
        SETUP, lambda tx: turns.begin(tx, replace(turn, id=TurnId(2), parent=turn.id, agent=ADA.id))
    )
    assert (await of.add("The crane is back."))["agent"] == "Bea"
    await put_away(of, BEA)
    assert (await of.add("The heron is back."))["agent"] == "Ada"
    with pytest.raises(UserError, match=r"Bea” is archived. `carina agent restore` restores it"):
        await of.add("The owl is back.", agent="Bea")
    await put_away(of, ADA)
    with pytest.raises(UserError, match="Every agent is archived"):
        await of.add("The owl is back.")
    assert len(await of.call("archival.list")) == 3


async def test_only_what_was_shown_is_made_known_more_widely(of: Entries) -> None:
    await of.add("The stork is back.", label="stork")
    wider: Any = {"entry": "stork", "audience": "public"}
    with pytest.raises(Unconfirmed) as asked:
        await of.call("archival.widen", **wider)
    assert str(asked.value).startswith(
        "Entry stork is visible in the owner's places and would also be visible in all places."
    )
    assert str(asked.value).endswith("\n\nThe stork is back.\n\nShare it?")
    sql = "UPDATE archival_entries SET content = 'The stork has the key under the mat.'"
    await of.database.write(SETUP, lambda tx: tx.run(sql))
    with pytest.raises(Unconfirmed, match="under the mat") as again:
        await of.call("archival.widen", sure=True, shown=str(asked.value), **wider)
    assert (await of.call("archival.show", entry="stork"))["audience"] == "owner"
    assert (await of.call("archival.widen", sure=True, shown=str(again.value), **wider))["audience"] == "public"
    for entry, audience, words in (
        ("stork", "public", "may contain several people's words"),
        ("nothing", "public", "There is no entry “nothing” here"),
        ("stork", "everybody", "is not an audience"),
    ):
        with pytest.raises(TextError, match=words):
            await of.call("archival.widen", entry=entry, audience=audience)


async def test_what_else_was_kept_of_a_fact_that_does_not_hold_is_named(tmp_path: Path) -> None:
    kept = call("archival_insert", "1", content="Their sister is called Ana.")
    model = ScriptedModel(says("", kept), says("Noted."), otherwise=says("ok"))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("remember that my sister is called Ana", 1, direct(ANN)))
        await service.heard(said("remember that the kettle is in the barn", 2, direct(ANN)))
        people = service.approvals.people
        store = (service.database, people, service.clock)
        own = registry(Facts(*store), Archive(*store), people=people)

        async def told(name: str, **given: str) -> str:
            with reading("discord"):
                answer = await own.call(name, somebody(ANN.id, Trust.APPROVED), given)
            return answer.terminal(Plain("UTC", NOON))

        listed = {each["text"]: each["id"] for each in (await own.call("facts.list", somebody(ANN.id), {})).data()}
        stays = (
            "Entries in long-term memory from the same message stay: “Their sister is called Ana”. "
            "`/memory archival delete` deletes an entry along with your messages that it came from."
        )
        sister = listed["my sister is called Ana"]
        now = await told("facts.correct", fact=sister, text="my sister is called Anna")
        assert now.startswith("Corrected: ")
        assert now.endswith(stays)
        with pytest.raises(Unconfirmed, match=r"^Forget this fact\? “the kettle is in the barn”$"):
            await told("facts.forget", fact="kettle")
        gone = await told("facts.forget", fact=listed["the kettle is in the barn"])
        assert gone == "Forgotten: the kettle is in the barn. The message it was learned from stays."
