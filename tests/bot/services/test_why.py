"""Why an answer was given, and changing what it was made from: the real service around it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from bot.agents.permissions.roles_and_rights import Approver, Change, People
from bot.errors import UserError
from bot.services.caller import Caller, Location, PlaceScope, Via
from bot.services.memory.why import Explanation, MemoryRow, Why
from bot.services.results import Plain
from memory.knowledge import summaries
from memory.knowledge.summaries import Compaction
from memory.people.audience import OWNER, Scope, Trust, person_audience
from memory.queue import messages
from memory.queue.notifications import Place, Speaker
from memory.store.database import Tx
from memory.store.ids import AgentId, MessageId, PersonId, text_mark
from memory.store.records import replace
from sources.base import PlaceKind
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    NOON,
    OLGA,
    ScriptedModel,
    call,
    deleted,
    direct,
    edited,
    results,
    said,
    says,
)
from tests.bot.services.calling import registry
from tests.bot.stage import Service, Setting, running, talked

QUAGGA = "Ann keeps a quagga in the barn."


class Answers:
    """Calls of people in a place, each of whom alone sees the answer: `forget` calls "why.forget"."""

    def __init__(self, service: Service, *owner: PersonId) -> None:
        people = People(owner or (OLGA.id,))
        self._registry = registry(Why(service.database, people, service.clock, service.approvals.tools), people=people)

    async def explained(self, asker: Caller, message: str = "") -> Explanation:
        return cast("Explanation", await self._registry.call("why", asker, {"message": message} if message else {}))

    async def __call__(self, what: str, asker: Caller, identifier: str, **given: str) -> Any:
        return await self._registry.call(f"why.{what}", asker, {"id": identifier, **given})

    async def told(self, what: str, asker: Caller, identifier: str, **given: str) -> str:
        return str((await self(what, asker, identifier, **given)).text)


def curious(speaker: Speaker = ANN, place: Place = HALL) -> Caller:
    """Somebody who asks in a place, and alone sees the answer."""
    here = frozenset() if place.kind is PlaceKind.DIRECT else frozenset({place.audience, *place.within})
    own = Scope(person_audience(speaker.id), here)
    scope, at = Scope(OWNER) if speaker is OLGA else own, Location(place.id, place.audience, (), ())
    who = Approver(speaker.id, speaker.name, interface="why")
    return Caller(who, Via.DISCORD, scope, PlaceScope(place.id, scope), speaker.trust, location=at)


def text_of(explained: Explanation) -> str:
    return "\n".join(explained.lines(Plain("UTC", NOON)))


def keeping(*more: object, **arguments: object) -> Setting:
    """Keeps something, says so; looks it up, answers; then just answers."""
    keep = call("recall", "k", operation="insert", content=QUAGGA, **arguments)
    look = call("search", "s", query="quagga")
    replies = (says("", keep), says("Kept."), says("", look), says("In the barn."), says("Hello."))
    return Setting(model=ScriptedModel(*replies))


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with running(tmp_path, keeping()) as made:
        yield made


async def told(service: Service, place: Place = HALL, speaker: Speaker = ANN) -> str:
    """Something is kept, and an answer made from it; gives the entry."""
    await service.heard(said("I keep a quagga in the barn", 101, place, speaker))
    await service.heard(said("where is my quagga?", 102, place, speaker))
    return str((await service.column("SELECT id FROM archival_entries"))[0])


async def test_an_answer_names_what_it_was_made_from(service: Service) -> None:
    await told(service)
    explained = await Answers(service).explained(curious())
    text = text_of(explained)
    quoted = "My answer:\n> In the barn.\n\nWhat I could see for this answer, besides the conversation here:\n1. "
    assert text.startswith(quoted)
    assert f"> {QUAGGA}" in text
    assert "\n\nWhat I always see:\n\n" in text, "neither belongs to the quotation before"
    assert "\n\nTools used: " in text
    assert "by you in hall; everyone on that server can read it" in text
    changed = "last changed Sun, Nov 22, 2026, 12:00 PM (just now)"
    assert f"Block “persona” in its current version, {changed}; everyone can read it" in text
    assert "Tools used: search." in text
    kinds = [(memory.kind, memory.changes) for memory in explained.changeable]
    assert ("entry", tuple(Change)) in kinds
    assert ("message", (Change.FORGET, Change.NARROW)) in kinds
    post = service.platform.posts[-1]
    assert await Answers(service).explained(curious(), post.external_id) == explained


async def test_what_only_the_owner_reads_is_told_to_the_owner_without_saying_so_and_ten_at_most() -> None:
    told = {"kind": "message", "label": "", "text": QUAGGA, "at": NOON, "speaker": "", "place": "", "link": ""}
    told |= {"readers": "only you can read it", "said": True, "mine": False, "changes": ()}
    rows = tuple(MemoryRow.model_validate({**told, "id": str(n), "audience": "owner"}) for n in range(12))
    shown = Explanation(turn="1", memories=rows, tools=(), vain=0, hidden=0, gone=0, recorded=True)
    lines = shown.lines(Plain("UTC", NOON))
    assert (sum(QUAGGA in each for each in lines), lines[11]) == (10, "2 more, not shown here.")
    assert "can read it" not in "\n".join(lines)
    alone = rows[0].model_copy(update={"place": "direct messages with Ana"}).quoted(Plain("UTC", NOON), 9)
    assert "in our direct messages" in alone
    others = (*rows[:1], MemoryRow.model_validate({**told, "id": "20", "audience": "public"}))
    assert "can read it" in "\n".join(shown.model_copy(update={"memories": others}).lines(Plain("UTC", NOON)))


async def test_words_said_with_another_account_are_the_readers_own(service: Service) -> None:
    await told(service, speaker=BOB)
    assert "by Bob in hall" in text_of(await Answers(service).explained(curious(OLGA)))
    assert "by you in hall" in text_of(await Answers(service, OLGA.id, BOB.id).explained(curious(OLGA)))


async def test_a_search_that_found_nothing_is_told(tmp_path: Path) -> None:
    looks = says("", call("search", "s", query="okapi"), call("recall", "k", operation="insert", content=QUAGGA))
    async with running(tmp_path, Setting(model=ScriptedModel(looks, says("I do not know.")))) as service:
        await service.heard(said("where is my quagga?", 101, HALL, ANN))
        explained = await Answers(service).explained(curious())
    assert explained.vain == 1
    assert text_of(explained).endswith("Tools used: search, long-term memory.\n1 search found nothing.")


async def test_a_notice_of_an_edit_is_not_called_an_answer(tmp_path: Path) -> None:
    look = call("search", "s", query="edited", domain="constellation_messages")
    keep = call("recall", "k", operation="insert", content=QUAGGA)
    model = ScriptedModel(says("", keep), says("Kept."), says("Again."), says("", look), says("In the shed."))
    async with running(tmp_path, Setting(model=model)) as service:
        await service.heard(said("I keep a quagga in the barn", 101, HALL, ANN))
        await service.heard(edited("I keep a quagga in the shed", 101))
        await service.heard(said("what was edited?", 103, HALL, ANN))
        explained = await Answers(service).explained(curious())
    (notice,) = (row for row in explained.memories if "Ann edited a message" in row.text)
    assert notice.quoted(Plain("UTC", NOON), 200).startswith("A notice that only I received, said ")
    assert explained.answer == "In the shed."


async def test_what_is_no_answer_of_this_place_is_refused(service: Service) -> None:
    home = direct(ANN)
    await told(service, home)
    answer = service.platform.posts[-1].external_id
    why = Answers(service)
    assert QUAGGA in text_of(await why.explained(curious(place=home), answer))
    for asker in (curious(), curious(BOB), curious(BOB, home), curious(OLGA), curious(OLGA, home)):
        with pytest.raises(UserError, match="no answer with this link here"):
            await why.explained(asker, answer)
        with pytest.raises(UserError, match="I haven't given an answer here"):
            await why.explained(asker)
    with pytest.raises(UserError, match="no answer with this link here"):
        await why.explained(curious(place=home), "101")


async def test_a_message_whose_id_is_not_stored_yet_is_waited_for(service: Service) -> None:
    await told(service)
    post, why = service.platform.posts[-1].external_id, Answers(service)
    hide = "UPDATE outbox SET status = 'sending', external_id = NULL WHERE external_id = ?"
    await service.write(lambda tx: tx.run(hide, (post,)))
    asking = asyncio.create_task(why.explained(curious(), post))
    await asyncio.sleep(0.05)
    found = "UPDATE outbox SET status = 'sent', external_id = ? WHERE status = 'sending'"
    await service.write(lambda tx: tx.run(found, (post,)))
    assert QUAGGA in text_of(await asking)


async def test_a_message_passed_on_is_no_answer(tmp_path: Path) -> None:
    model = ScriptedModel(says("", call("send_message", target_type="person", content="psst")), says("Done."))
    async with talked(tmp_path, Setting(model=model), "tell me in private") as service:
        passed = next(post for post in service.platform.posts if post.text == "psst")
        with pytest.raises(UserError, match="it isn't an answer"):
            await Answers(service).explained(curious(place=direct(ANN)), passed.external_id)


async def test_what_the_asker_may_not_know_is_only_counted(service: Service) -> None:
    entry = await told(service)
    await Answers(service).told("narrow", curious(), entry, kind="entry")
    text = text_of(await Answers(service).explained(curious(BOB)))
    assert "quagga" not in text
    assert "that you cannot see here." in text
    with pytest.raises(UserError, match="cannot see this memory here"):
        await Answers(service)("memory", curious(BOB), entry, kind="entry")


async def test_a_forgotten_memory_is_said_to_be_forgotten_and_its_words_are_gone(service: Service) -> None:
    why, entry = Answers(service), await told(service)
    assert (await why.told("forget", curious(), entry, kind="entry")).startswith("Forgotten. ")
    with pytest.raises(UserError, match="may already be forgotten"):
        await why.told("forget", curious(), entry, kind="entry")
    text = text_of(await why.explained(curious()))
    assert "since forgotten." in text
    assert "quagga" not in text.replace("where is my quagga?", "")
    kept = await service.column("SELECT content || coalesce(tool_args, '') FROM messages WHERE id < ?", 2**62)
    assert not [words for words in kept if "barn" in words and "quagga" in words]


async def test_a_message_is_forgotten_with_what_came_from_it(service: Service) -> None:
    why = Answers(service)
    await told(service)
    explained = await why.explained(curious())
    message = next(memory for memory in explained.changeable if memory.kind == "message" and memory.said)
    with pytest.raises(UserError, match="You cannot have this forgotten"):
        await why.told("forget", curious(BOB), message.id, kind="message")
    assert "with what came from it: 1 entry" in await why.told("forget", curious(), message.id, kind="message")
    assert await service.column("SELECT id FROM archival_entries") == []
    assert "3 memories since forgotten." in text_of(await why.explained(curious()))
    with pytest.raises(UserError, match="may already be forgotten"):
        await why.told("forget", curious(), message.id, kind="message")


async def test_a_correction_names_the_fact_that_still_has_the_old_words(tmp_path: Path) -> None:
    async with running(tmp_path, keeping()) as service:
        await service.heard(said("Remember that my quagga sleeps in the barn.", 101, HALL, ANN))
        await service.heard(said("where is my quagga?", 102, HALL, ANN))
        (entry,) = await service.column("SELECT id FROM archival_entries")
        (fact,) = await service.column("SELECT fact FROM facts")
        why, given = Answers(service), {"seen": text_mark(QUAGGA), "text": "It sleeps in the shed."}
        done = await why.told("correct", curious(), entry, **given)
        stays = f"Facts learned from the same message stay: “{fact.rstrip('.')}”."
        assert done.endswith(f"{stays} `carina facts correct` changes it.")


async def test_a_correction_has_the_trust_of_who_made_it(tmp_path: Path) -> None:
    async with running(tmp_path, keeping(label="pet")) as service:
        why, entry = Answers(service), await told(service)
        seen = await why.told("form", curious(), entry)
        stranger = replace(curious(), trust=Trust.STRANGER)
        assert (await why.told("correct", stranger, entry, seen=text_mark(seen), text=" It is an okapi. ")).startswith(
            "Corrected."
        )
        (row,) = await service.rows("SELECT * FROM archival_entries")
        assert (row["content"], row["trust"], row["label"]) == ("It is an okapi.", Trust.STRANGER, "pet")
        assert row["audience"] == HALL.audience
        assert "already says that" in await why.told(
            "correct", stranger, entry, seen=text_mark(seen), text="It is an okapi."
        )
        with pytest.raises(UserError, match=r"(?s)changed after you opened the form.*It is an okapi\."):
            await why.told("correct", stranger, entry, seen=text_mark(seen), text="It is a heron.")
        assert (
            await why.told("correct", curious(OLGA), entry, seen=text_mark("It is an okapi."), text="A horse.")
        ).startswith("Corrected.")
        assert await service.column("SELECT trust FROM archival_entries") == [Trust.OWNER]
        assert await service.column("SELECT person_id FROM archival_entries") == [ANN.id]
        for wrong in ("", "  ", "x" * 30_001):
            with pytest.raises(UserError, match="cannot be stored"):
                await why.told("correct", curious(), entry, seen=text_mark("A horse."), text=wrong)


async def test_only_in_dm_is_for_whose_words_they_are(service: Service) -> None:
    why, entry = Answers(service), await told(service)
    for asker in (curious(BOB), curious(OLGA)):
        with pytest.raises(UserError, match="Only the person who said this"):
            await why.told("narrow", asker, entry, kind="entry")
    assert "only in our direct messages" in await why.told("narrow", curious(), entry, kind="entry")
    assert "already use it" in await why.told("narrow", curious(), entry, kind="entry")
    assert await service.column("SELECT audience FROM archival_entries") == [person_audience(ANN.id)]
    model = service.model
    model.replies.clear()
    model.replies.extend([says("", call("search", "t", query="quagga barn")), says("Who knows.")])
    await service.heard(said("what is in the barn?", 103, HALL, BOB))
    assert "quagga in the barn" not in str(model.requests[-1])
    model.replies.extend([says("", call("search", "u", query="quagga barn")), says("Yours.")])
    await service.heard(said("what is in the barn?", 104, direct(ANN), ANN))
    assert QUAGGA in str(model.requests[-1])


async def test_the_owners_own_words_are_kept_to_the_owners_places(service: Service) -> None:
    entry = await told(service, HALL, OLGA)
    assert "only in your own places" in await Answers(service).told("narrow", curious(OLGA), entry, kind="entry")
    assert await service.column("SELECT audience FROM archival_entries") == [OWNER]


async def test_others_change_nothing_and_the_owner_nothing_of_direct_messages(service: Service) -> None:
    why, entry = Answers(service), await told(service)
    for_bob = await why.explained(curious(BOB))
    assert for_bob.changeable == ()
    with pytest.raises(UserError, match="You cannot have this forgotten"):
        await why.told("forget", curious(BOB), entry, kind="entry")
    with pytest.raises(UserError, match="You cannot correct this"):
        await why.told("correct", curious(BOB), entry, seen=text_mark(QUAGGA), text="mine")
    await why.told("narrow", curious(), entry, kind="entry")
    with pytest.raises(UserError, match="cannot see this memory here"):
        await why.told("forget", curious(OLGA), entry, kind="entry")
    assert await service.column("SELECT content FROM archival_entries") == [QUAGGA]


async def test_blocks_and_answers_of_ours_are_not_rewritten(service: Service) -> None:
    await told(service)
    (block, *_) = await service.column("SELECT id FROM memory_blocks")
    with pytest.raises(UserError, match="cannot see this memory here"):
        await Answers(service).told("forget", curious(OLGA), block, kind="block")
    ours = (await service.column("SELECT id FROM messages WHERE role = 'assistant' AND content <> ''"))[0]
    with pytest.raises(UserError, match="cannot be limited to direct messages"):
        await Answers(service).told("narrow", curious(), str(ours), kind="message")


async def test_a_summary_that_was_found_is_named_and_counts_as_gone_when_its_words_went(tmp_path: Path) -> None:
    look = [says("", call("search", "s", query="quagga", domain="summaries")), says("It was told in short.")]
    replies = [says("I see."), says("I see."), *look, says("", call("search", "s", query="", domain="summaries"))]
    async with running(tmp_path, Setting(model=ScriptedModel(*replies, says("Nothing of that.")))) as service:
        home = direct(ANN)
        await service.heard(said("I keep animals", 101))
        await service.heard(said("I keep one more alone", 102, home))

        def short(tx: Tx) -> None:
            for row in tx.all("SELECT id, audience FROM messages WHERE external_id IN ('101', '102')"):
                (heard,) = messages.by_ids(tx, [MessageId(row["id"])], Scope(row["audience"]))
                agent, end = AgentId(str(tx.all("SELECT id FROM agents")[0][0])), summaries.position(heard)
                made = Compaction(
                    f"A quagga was kept ({heard.text})", heard.audience, heard.trust, 1, "", service.clock(),
                    (end, end), agent=agent, place=heard.place, strategy="recursive_summarization",
                )  # fmt: skip
                summaries.add(tx, made)

        await service.write(short)
        await service.heard(said("what do I keep?", 103))
        ((found, _ok),) = results(service.model.requests[-1])[-1:]
        assert "the summary of a conversation, hall): A quagga was kept (I keep animals)" in found
        assert "alone" not in found, "what was told in short of their direct messages"
        explained = await Answers(service).explained(curious())
        text = text_of(explained)
        assert "Summary (conversation), from Sun, Nov 22, 2026, 12:00 PM (just now)" in text
        assert "> A quagga was kept (I keep animals)" in text
        assert [memory.kind for memory in explained.changeable if memory.kind == "summary"] == []
        await service.heard(deleted(101))
        text = text_of(await Answers(service).explained(curious()))
        assert "quagga" not in text
        assert "1 memory since forgotten." in text
        await service.heard(said("and now?", 104))
        ((found, _ok),) = results(service.model.requests[-1])[-1:]
        assert found == "Nothing was found. Searched: 0 summaries."
