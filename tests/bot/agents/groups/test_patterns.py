"""Groups in the running service: who answers, and that what they remember is in the store, not in the process."""

from pathlib import Path

from bot.runtime.turn_retries import GIVEN_UP
from memory.queue import inbox
from memory.search.embedding.base import to_vector
from memory.search.vector_similarity import Meaning
from tests.bot.agents.groups.parts import Cast, agents, group, told
from tests.bot.parts import BOB, HeldReply, MovableClock, Platform, call, channel, said, says, words_of
from tests.bot.stage import Setting, running, talked, until

THREE = agents("Ant", "Bee", "Cat")
IDLE = "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM turns WHERE status = 'running')"
ROUND = THREE + '[[groups]]\nname = "Round"\nmembers = ["Ant", "Bee", "Cat"]\n'


# ---------------------------------------------------------------------------------------------------------- round robin


async def test_who_is_not_active_is_passed_over_and_comes_again_later(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(Cast(), toml=ROUND)) as service:
        await service.write(lambda tx: tx.run("UPDATE agents SET status = 'hibernated' WHERE name = 'Bee'"))
        await service.heard(said("1", 1))
        await service.heard(said("2", 2))
        await service.write(lambda tx: tx.run("UPDATE agents SET status = 'active' WHERE name = 'Bee'"))
        await service.heard(said("3", 3))
        await service.heard(said("4", 4))
        assert service.platform.texts() == ["Ant here.", "Cat here.", "Ant here.", "Bee here."]


async def test_a_round_that_passes_over_nobody_says_to_the_owner_why_it_stands_still(tmp_path: Path) -> None:
    toml = f"{ROUND}[groups.round_robin]\nskip_unavailable = false\n"
    async with running(tmp_path, Setting(Cast(), toml=toml)) as service:
        await service.write(lambda tx: tx.run("UPDATE agents SET status = 'archived' WHERE name = 'Ant'"))
        await service.heard(said("1", 1))
        assert service.platform.texts() == [GIVEN_UP]
        (notice,) = [post.text for post in service.platform.posts if post.text != GIVEN_UP]
        assert "it is the turn of Ant, who is not active" in notice


async def test_an_observer_is_never_asked_and_a_name_wins_over_the_turn(tmp_path: Path) -> None:
    toml = THREE + '[[groups]]\nname = "Round"\nmembers = [{ agent = "Ant", role = "observer" }, "Bee", "Cat"]\n'
    model = Cast()
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        for number, text in enumerate(("hello", "Ant: and you?", "hey bee, again", "@Bee you!", "go on"), 1):
            await service.heard(said(text, number))
    assert [name for name in model.asked() if name != "Ant"] == ["Bee", "Cat", "Bee", "Bee", "Bee"]
    assert not any("Ant" in text for text in service.platform.texts())


async def test_the_words_of_one_are_not_the_others_own(tmp_path: Path) -> None:
    model = Cast(Ant=["I, the ant, say so."])
    async with talked(tmp_path, Setting(model, toml=ROUND), "1") as service:
        await service.heard(said("2", 2, speaker=BOB))
        assert [words_of(row).speaker for row in await service.outbox()] == ["Ant", "Bee"]
    shown = model.of("Bee")[0]
    assert "[Ant (another agent) · " in told(shown)
    assert "I, the ant, say so." in told(shown)
    assert not any(type(message).__name__ == "AssistantMessage" for message in shown.messages)


LISTENING = (
    agents("Ant", "Bee") + '[[groups]]\nname = "Round"\nmembers = [{ agent = "Ant", role = "observer" }, "Bee"]\n'
)


async def test_an_observer_listens_after_a_crash_and_after_people(tmp_path: Path) -> None:
    held, platform = HeldReply(says("lost")), Platform(MovableClock())
    async with running(tmp_path, Setting(Cast(Ant=[held]), platform=platform, toml=LISTENING)) as service:
        await service.heard(said("I have a newt", 1))
        await held.begun.wait()
        service.crash()
    model = Cast()
    async with running(tmp_path, Setting(model, platform=platform, toml=LISTENING)) as service:
        await until(lambda: service.column(IDLE))
    assert model.asked() == ["Ant"]
    assert platform.texts() == ["Bee here."]


# -------------------------------------------------------------------------------------------------------------- dynamic


DYNAMIC = (
    THREE
    + """
[[groups]]
name = "Choosing"
pattern = "dynamic"
members = [
  { agent = "Ant", role = "specialist", domain = "gardens", capabilities = ["watering plants"] },
  { agent = "Bee", capabilities = ["taxes and invoices"] },
  "Cat",
]
[groups.dynamic]
"""
)


async def test_load_balancing_asks_who_was_asked_longest_ago_over_restarts(tmp_path: Path) -> None:
    model, clock = Cast(), MovableClock()
    platform = Platform(clock)
    for number in range(1, 5):
        setting = Setting(model, clock, platform, toml=f'{DYNAMIC}selector = "load_balancing"\n')
        async with talked(tmp_path, setting, said("Cat: hi" if number == 1 else "x", number)):
            clock.forward(5)
    assert model.asked() == ["Cat", "Ant", "Bee", "Cat"]


async def test_who_knows_the_preferred_domain_answers_what_fits_nobody(tmp_path: Path) -> None:
    model = Cast()
    async with running(tmp_path, Setting(model, toml=f'{DYNAMIC}preferred_domain = "Gardens"\n')) as service:
        for number in (1, 2):
            await service.heard(said("x", number))
    assert model.asked() == ["Ant", "Ant"]


async def test_everybody_answers_at_all_each_under_its_own_name_and_once(tmp_path: Path) -> None:
    model = Cast(Bee=["Bee says hello."])
    async with talked(tmp_path, Setting(model, toml=DYNAMIC), "@all how are you?") as service:
        rows = await service.outbox()
        said_by = [(words_of(row).speaker, row.content) for row in rows]
        assert said_by == [("Ant", "Ant here."), ("Bee", "Bee says hello."), ("Cat", "Cat here.")]
        names = "SELECT a.name FROM outbox o JOIN agents a ON a.id = o.agent_id ORDER BY o.id"
        assert await service.column(names) == ["Ant", "Bee", "Cat"]
        assert await service.column("SELECT speaker FROM messages WHERE role = 'assistant'") == ["Ant", "Bee", "Cat"]
        assert await service.column("SELECT status FROM inbox") == ["done"]


async def test_when_nobody_gives_anything_the_message_is_tried_again(tmp_path: Path) -> None:
    model = Cast(Ant=[RuntimeError("down")], Bee=[RuntimeError("down")])
    async with talked(tmp_path, Setting(model, toml=group("dynamic", "", '"Ant", "Bee"')), "@all go") as service:
        assert service.platform.texts() == ["Ant here.", "Bee here."]
        assert [row.status for row in await service.read(lambda rows: inbox.listing(rows, None, 9))] == ["done"]
        await until(lambda: service.column(IDLE))


async def test_a_model_chooses_where_a_supervisor_selects(tmp_path: Path) -> None:
    model = Cast(
        Cat=[says("", call("choose_members", names=["Nobody"])), says("", call("choose_members", names=["Bee"]))]
    )
    toml = f'{DYNAMIC}selector = "supervisor"\nsupervisor = "Cat"\n'
    async with talked(tmp_path, Setting(model, toml=toml), "who can help?") as service:
        assert service.platform.texts() == ["Bee here."]
    assert model.asked() == ["Cat", "Cat", "Bee"]
    assert "watering plants" in told(model.of("Cat")[0])
    assert "'nobody': nobody by that name can answer" in str(model.of("Cat")[1].messages)


async def test_chance_is_the_same_after_a_crash_and_reaches_everybody(tmp_path: Path) -> None:
    model = Cast()
    async with running(tmp_path, Setting(model, toml=f'{DYNAMIC}selector = "random"\n')) as service:
        for number in range(1, 25):
            await service.heard(said("x", number))
    assert set(model.asked()) == {"Ant", "Bee", "Cat"}


# --------------------------------------------------------------------------------------------------------------- router


TWO = (
    THREE
    + """
[[groups]]
name = "Main Support"
members = ["Ant"]
default = true
[[groups]]
name = "Crisis"
members = ["Bee"]
keywords = ["overwhelmed", "panic attack"]
[[groups]]
name = "Silent"
members = ["Cat"]
mention = false
places = ["discord:77"]
"""
)


async def test_a_name_or_a_keyword_brings_a_message_to_another_group(tmp_path: Path) -> None:
    attic = channel("77")
    said_here = [
        ("hello", "Ant"), ("I am OVERWHELMED today", "Bee"), ("overwhelmedly so", "Ant"), ("Crisis: hi", "Bee"),
        ("@Crisis hi", "Bee"), ("hey main support", "Ant"), ("Silent: hi", "Ant"), ("a panic attack", "Bee"),
    ]  # fmt: skip
    model = Cast()
    async with talked(tmp_path, Setting(model, toml=TWO), *(text for text, _name in said_here)) as service:
        await service.heard(said("hello", 20, attic), said("main support, hello", 21, attic))
    assert model.asked()[:-2] == [name for _text, name in said_here]
    assert sorted(model.asked()[-2:]) == ["Ant", "Cat"]  # a name wins over the place


async def test_the_sign_before_a_name_reaches_an_agent_of_another_group(tmp_path: Path) -> None:
    attic = channel("77")
    said_here = [
        ("@Bee hello", "Bee"), ("@bee, and you?", "Bee"), ("Bee: hello", "Ant"), ("mail me @beehive", "Ant"),
        ("@Cat hello", "Ant"), ("@Ant hello", "Ant"), ("@nobody hello", "Ant"),
    ]  # fmt: skip
    model = Cast()
    async with talked(tmp_path, Setting(model, toml=TWO), *(text for text, _name in said_here)) as service:
        await service.heard(said("@Cat hello", 20, attic))
    assert model.asked() == [*(name for _text, name in said_here), "Cat"]


async def test_where_there_is_an_embedder_meaning_finds_who_is_capable_without_a_common_word(tmp_path: Path) -> None:
    directions = {"My roses droop": (1.0, 0.1), "gardens": (1.0, 0.0), "taxes": (0.0, 1.0)}

    async def meaning(text: str) -> Meaning:
        near = next((vector for word, vector in directions.items() if word in text), (0.0, 0.0))
        return Meaning("scripted", to_vector([*near, 0.01, *([0.0] * 5)]))

    model = Cast()
    async with running(tmp_path, Setting(model, toml=DYNAMIC, meaning=meaning)) as service:
        for number, name in enumerate(("Bee", "Cat", "Ant"), 1):  # Ant would be the last by turns
            await service.heard(said(f"{name}: hi", number))
        await service.heard(said("My roses droop", 4))
    assert model.asked()[-1] == "Ant"
