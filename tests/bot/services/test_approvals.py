"""A call that needs a yes: asked, answered, run once, in the place it came from; the real service around it."""

import functools
import json
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.agents.permissions.approval_requests import MOST_OF_ONE, MOST_WAITING
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.permissions.roles_and_rights import Approver, People, role_identity
from bot.agents.tools.base import Arguments, Outcome, OutsideTool, ToolContext
from bot.agents.turn_events import ToolCallCompleted
from bot.errors import CallError, UserError
from bot.models.base import AssistantMessage, Request, ToolMessage
from bot.services.caller import owner_at_terminal
from bot.services.results import Markdown
from memory import permission_requests
from memory.people.audience import Trust
from memory.permission_requests import Verdict
from memory.queue.notifications import Place, Speaker
from memory.store.database import Tx
from memory.store.ids import PersonId, RequestId
from memory.store.records import replace
from memory.store.sqlite import driver
from sources.base import ANSWERED, DeliveryFailed
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    OLGA,
    MovableClock,
    Platform,
    Post,
    ScriptedModel,
    call,
    deleted,
    direct,
    person,
    private,
    results,
    said,
    says,
)
from tests.bot.requests import OWNER, STRANGER, Bell, RingArguments, answer, ring, ringing, rung, strokes, waiting
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running, talked

EVA = person("Eva")


class Siren(OutsideTool[RingArguments]):
    """Leaves the program, and breaks in the middle."""

    name = "siren"
    description = "Sounds the siren."
    arguments: type[Arguments] = RingArguments
    caution = Caution(trusted=Trust.OWNER, once_only=True)
    idempotent = False

    def __init__(self) -> None:
        self.sounded = 0

    async def run(self, _context: ToolContext, _arguments: RingArguments) -> Outcome:
        self.sounded += 1
        raise RuntimeError("the wire broke")


def check_calls(request: Request) -> None:
    """What every provider demands: each call has exactly one result, right after it."""
    for number, message in enumerate(request.messages):
        if isinstance(message, AssistantMessage) and message.calls:
            following = request.messages[number + 1 : number + 1 + len(message.calls)]
            assert [each.call_id for each in following if isinstance(each, ToolMessage)] == [
                c.id for c in message.calls
            ]


def card_of(service: Service) -> Post:
    """The first that the owner was shown."""
    return next(post for post in service.platform.posts if post.place == OWNERS_PLACE.id)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with running(tmp_path, ringing()) as made:
        yield made


async def test_a_call_waits_and_runs_after_the_yes(tmp_path: Path) -> None:
    model = ScriptedModel(says("It is time for supper.", ring()), says("It waits for Olga."), says("Rung."))
    spoken = {OLGA.id: "de", ANN.id: "ja"}
    async with talked(tmp_path, Setting(model=model, tools=[Bell()], languages=spoken), "ring the bell") as service:
        assert await strokes(service) == 0
        assert service.platform.texts() == ["It waits for Olga."]
        (text, ok), *_ = results(service.model.requests[1])
        request = await waiting(service)
        assert not ok
        assert [event.ok for event in service.events if isinstance(event, ToolCallCompleted)] == [False]
        assert f"waits for approval {request}" in text
        card = card_of(service)
        assert card.buttons is not None
        assert card.buttons.offers == ("once", "hour", "always", "deny")
        assert "```\ntimes: 1\n```" in card.text
        assert "Der Agent sagt: „It is time for supper.“" in card.text, "in the language of who is asked"
        assert card.buttons.language == "de", "and so are the labels"

        ruling = await answer(service, request)
        assert ruling.counted
        assert await strokes(service) == 1
        assert service.platform.texts() == ["It waits for Olga.", "Rung."]
        assert card.buttons == ANSWERED
        assert "Einmal erlaubt von" in card.text
        last = service.model.requests[-1]
        check_calls(last)
        assert results(last)[-1] == ("it rang 1 times", True)


async def test_the_arguments_are_those_that_were_approved(service: Service) -> None:
    request = await rung(service)
    changed = json.dumps({"times": 99})
    await service.write(lambda tx: tx.run("UPDATE permission_requests SET arguments = ?", (changed,)))
    await answer(service, request)
    assert await strokes(service) == 0
    assert "not this call" in results(service.model.requests[-1])[-1][0]


async def test_a_no_is_told_and_nothing_runs(service: Service) -> None:
    await answer(service, await rung(service), Verdict.DENY)
    assert await strokes(service) == 0
    assert "Denied by" in str(service.model.requests[-1].messages[-1])
    assert len(service.platform.texts()) == 2


async def test_nobody_else_answers(service: Service) -> None:
    request = await rung(service)
    for who in (STRANGER, Approver(ANN.id, "Ann"), Approver(PersonId(""), "nobody")):
        ruling = await answer(service, request, who=who)
        assert not ruling.counted
        assert "You cannot answer this request" in ruling.words
        with pytest.raises(UserError):
            await service.approvals.details(request, who)
    assert await strokes(service) == 0
    assert await service.column("SELECT count(*) FROM permission_audit WHERE event = 'refused'") == [3]


async def test_the_first_answer_is_final(tmp_path: Path) -> None:
    async with running(tmp_path, ringing(People((OLGA.id,), (EVA.id,)))) as service:
        request = await rung(service)
        await answer(service, request)
        late = await answer(service, request, Verdict.DENY, Approver(EVA.id, "Eva"))
        assert not late.counted
        assert "already been decided" in late.words
        assert "<@olga>" in late.words
        assert await strokes(service) == 1
        await service.write(lambda tx: permission_requests.expire(tx, RequestId(request), service.clock()))
        assert not await service.write(lambda tx: permission_requests.use(tx, RequestId(request)))
        assert await service.column("SELECT status FROM permission_requests") == ["used"]


LINKED, TERMINAL = frozenset({EVA.id, BOB.id}), PersonId("terminal:owner")


@pytest.mark.parametrize(
    ("people", "one", "other", "more"),
    [
        (People((OLGA.id,), (EVA.id, BOB.id), quorum=2, links=dict.fromkeys(LINKED, LINKED)), EVA.id, BOB.id, OLGA.id),
        (People((OLGA.id, TERMINAL), (BOB.id,), quorum=2), OLGA.id, TERMINAL, BOB.id),
    ],
)
async def test_who_has_two_accounts_says_yes_once(
    tmp_path: Path, people: People, one: PersonId, other: PersonId, more: PersonId
) -> None:
    async with running(tmp_path, ringing(people)) as service:
        request = await rung(service)
        assert (await answer(service, request, who=Approver(one))).counted
        again = await answer(service, request, who=Approver(other))
        assert (again.counted, await strokes(service)) == (False, 0)
        assert (await answer(service, request, who=Approver(more))).counted
        assert await strokes(service) == 1


async def test_a_quorum_takes_as_many(tmp_path: Path) -> None:
    setting = ringing(People((OLGA.id,), (EVA.id, BOB.id), quorum=2))
    setting.languages = {OLGA.id: "de"}
    async with running(tmp_path, setting) as service:
        request = await rung(service)
        first = await answer(service, request, Verdict.ALWAYS)
        assert "more approvals are needed" in first.words
        assert not (await answer(service, request)).counted  # the same person twice is one person
        assert await strokes(service) == 0
        card = card_of(service)
        assert card.buttons is not None
        service.clock.forward(1)
        last = await answer(service, request, Verdict.HOUR, Approver(EVA.id, "Eva"))
        assert last.words.startswith("Allowed for 1 hour by <@olga> and <@eva>, ")
        assert "von <@olga> und <@eva>" in card.text
        assert await strokes(service) == 1
        (until,) = await service.column("SELECT expires_at FROM permission_grants")
        assert until is not None  # the shorter of the two


async def test_after_a_restart_who_said_yes_before_is_still_named_by_their_handle(tmp_path: Path) -> None:
    did = PersonId("bluesky:did:plc:eve")
    setting = ringing(People((OLGA.id,), (did,), quorum=2))
    async with running(tmp_path, setting) as service:
        request = await rung(service)
        await answer(service, request, who=Approver(did, "Eve", account="@eve.example"))
    async with running(tmp_path, setting) as service:
        service.clock.forward(1)
        assert "by @eve.example and <@olga>, " in (await answer(service, request)).words


async def test_who_said_yes_can_say_no_while_more_are_needed(tmp_path: Path) -> None:
    async with running(tmp_path, ringing(People((OLGA.id,), (EVA.id, BOB.id), quorum=2))) as service:
        request = await rung(service)
        assert "more approvals are needed" in (await answer(service, request)).words
        taken_back = await answer(service, request, Verdict.DENY)
        assert taken_back.counted
        assert taken_back.words.startswith("Denied by <@olga>, ")
        late = await answer(service, request, who=Approver(EVA.id, "Eva"))
        assert (late.counted, await strokes(service)) == (False, 0)


async def test_a_role_counts_in_its_own_guild_only(tmp_path: Path) -> None:
    async with running(tmp_path, ringing(People((OLGA.id,), (role_identity(1, 7),)))) as service:
        request = await rung(service)
        elsewhere = Approver(EVA.id, "Eva", frozenset({role_identity(2, 7)}))
        assert not (await answer(service, request, who=elsewhere)).counted
        here = Approver(EVA.id, "Eva", frozenset({role_identity(1, 7)}))
        assert (await answer(service, request, who=here)).counted
        assert await strokes(service) == 1


async def rung_again(service: Service, number: int, made: Any, place: Place = HALL) -> int:
    """Somebody asks for the bell once more; gives how often it has rung by then."""
    service.model.replies.extend([says("", made), says("Again, or it waits.")])
    await service.heard(said("again", number, place))
    return await strokes(service)


async def test_a_grant_holds_for_what_it_is_bound_to_until_it_ends(service: Service) -> None:
    await answer(service, await rung(service), Verdict.HOUR)
    assert await rung_again(service, 2, ring("again", times=1, note="other words")) == 2
    assert await rung_again(service, 3, ring("more", times=2)) == 2, "other arguments"
    await answer(service, await waiting(service), Verdict.DENY)
    assert await rung_again(service, 4, ring("elsewhere"), private("den")) == 2, "words of other ears"
    await answer(service, await waiting(service), Verdict.DENY)
    service.clock.forward(3_601)
    assert await rung_again(service, 5, ring("late")) == 2, "the hour is over"


@pytest.mark.parametrize("bound", [("times",), None])
async def test_a_grant_is_not_for_what_the_call_that_was_shown_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: tuple[str, ...] | None
) -> None:
    """A call without any argument, allowed for good, allows no call with one."""
    monkeypatch.setattr(Bell, "caution", Caution(trusted=Trust.OWNER, bound=bound))
    setting = ringing()
    setting.model = ScriptedModel(says("", call("bell")), says("It waits for Olga."), says("Rung."))
    async with running(tmp_path, setting) as service:
        await answer(service, await rung(service), Verdict.ALWAYS)
        assert await rung_again(service, 2, call("bell", "again")) == 2
        assert await rung_again(service, 3, ring("more", times=9)) == 2


async def test_a_card_says_what_a_longer_yes_is_for(tmp_path: Path) -> None:
    async with talked(tmp_path, ringing(times=1, note="softly"), "ring the bell") as service:
        card = card_of(service)
        assert "*Always* allow every call to `bell` with times `1` and any note." in card.text


async def test_always_holds_until_it_is_revoked(service: Service) -> None:
    await answer(service, await rung(service), Verdict.ALWAYS)
    service.clock.forward(400 * 86_400)
    assert await rung_again(service, 2, ring("later")) == 2
    permits = registry(service.approvals, people=service.approvals.people)
    (grant,) = (await permits.call("permits.list", somebody(OLGA.id), {})).data()["grants"]
    theirs = await permits.call("permits.list", somebody(ANN.id), {})
    assert (theirs.data()["grants"], theirs.lines(Markdown())) == ([], ["Nothing is waiting for you."])
    with pytest.raises(UserError, match="Only an admin"):
        await permits.call("permits.revoke", somebody(ANN.id), {"permit": grant["id"]})
    await permits.call("permits.revoke", somebody(OLGA.id), {"permit": grant["id"]})
    assert await rung_again(service, 3, ring("last")) == 2


@pytest.mark.parametrize("answered", [True, False])
async def test_expiry_is_a_denial_whether_or_not_somebody_answers_later(service: Service, answered: bool) -> None:
    request = await rung(service)
    service.clock.forward(25 * 3600)
    if answered:
        late = await answer(service, request)
        assert (late.counted, "expired" in late.words) == (False, True)
    await service.approvals.expire()  # finds nothing more to do after an answer
    await service.settled()
    assert (await strokes(service), len(service.platform.texts())) == (0, 2)
    assert "Expired without an answer" in str(service.model.requests[-1].messages[-1])
    assert await service.column("SELECT status FROM permission_requests") == ["expired"]


async def test_a_yes_given_after_a_restart_counts(tmp_path: Path) -> None:
    clock = MovableClock()
    platform = Platform(clock)
    first = ringing()
    first.clock, first.platform = clock, platform
    async with running(tmp_path, first) as service:
        request = await rung(service)
        service.crash()
    clock.forward(7_200)
    again = Setting(model=ScriptedModel(says("Rung.")), tools=[Bell()], clock=clock, platform=platform)
    async with running(tmp_path, again) as service:
        await answer(service, request)
        assert await strokes(service) == 1
        assert platform.texts()[-1] == "Rung."


async def test_a_call_that_leaves_the_program_runs_at_most_once(tmp_path: Path) -> None:
    siren = Siren()
    model = ScriptedModel(says("", call("siren")), says("It waits."), otherwise=says("I do not know whether it did."))
    async with talked(tmp_path, Setting(model=model, tools=[siren]), "sound the siren") as service:
        request = await waiting(service)
        card = card_of(service)
        assert card.buttons is not None
        assert card.buttons.offers == ("once", "deny")  # what is dangerous is allowed one at a time
        assert not (await answer(service, request, Verdict.ALWAYS)).counted
        await answer(service, request)
        assert siren.sounded == 1
        assert await service.column("SELECT status FROM permission_requests") == ["used"]
        assert any("interrupted" in text for text, _ok in results(service.model.requests[-1]))


async def test_carrying_words_elsewhere_asks_who_said_them(tmp_path: Path) -> None:
    send = call("send_message", target_type="channel", target="hall", content="Ann is ill.")
    model = ScriptedModel(says("Hello."), says("", send), says("I asked."), says("Told them."))
    place = direct(ANN, "guild")
    async with talked(tmp_path, Setting(model=model), "hello") as service:
        await service.heard(said("I am ill, tell the others", 2, place))
        assert service.platform.texts() == ["Hello."]
        request = await waiting(service)
        assert not (await answer(service, request)).counted  # not even the owner: the words are Ann's
        cards = [post for post in service.platform.posts if "is asking for your approval" in post.text]
        assert [card.place for card in cards] == [place.id]
        assert await service.column("SELECT count(*) FROM outbox WHERE place_id = ?", OWNERS_PLACE.id) == [0]
        await answer(service, request, who=Approver(ANN.id, "Ann"))
        assert service.platform.texts() == ["Hello.", "Ann is ill."]
        assert service.platform.texts(place.id)[-1] == "Told them."


async def test_the_owner_does_not_read_what_comes_from_somebodys_messages(tmp_path: Path) -> None:
    model = ScriptedModel(says("A quince!", ring(note="quince jelly")), says("It waits."), says("Rung."))
    async with running(tmp_path, Setting(model=model, tools=[Bell()])) as service:
        await service.heard(said("ring, and quince jelly", 1, direct(ANN)))
        (card,) = service.platform.texts(OWNERS_PLACE.id)
        assert "quince" not in card
        assert "not shown to anyone else" in card
        request = await waiting(service)
        assert "quince" not in str(await service.approvals.details(request, OWNER))
        assert not (await answer(service, request, Verdict.ALWAYS)).counted
        await answer(service, request)
        assert await strokes(service) == 1
        told = [post.text for post in service.platform.posts if post.place == OWNERS_PLACE.id]
        assert "quince" not in str(told)
        kept = json.dumps({"operation": "insert", "content": "quince jelly"})
        await service.write(lambda tx: tx.run("UPDATE permission_requests SET tool = 'recall', arguments = ?", (kept,)))
        assert "quince" not in repr(await service.approvals.details(request, OWNER)), "nor what it does in words"


async def test_a_card_that_cannot_be_delivered_goes_to_the_next_place(tmp_path: Path) -> None:
    async with running(tmp_path, ringing(People((OLGA.id,)), private("office").id)) as service:
        service.platform.refuses[OWNERS_PLACE.id] = DeliveryFailed("Cannot send messages to this user")
        await service.heard(said("ring the bell", 1))
        (card,) = service.platform.texts(private("office").id)
        assert "is asking for your approval" in card
        await answer(service, await waiting(service))
        assert await strokes(service) == 1


async def test_a_request_whose_card_somebody_deletes_is_answered_by_its_number(service: Service) -> None:
    request = await rung(service)
    (card,) = [post for post in service.platform.posts if post.buttons]
    service.platform.posts.remove(card)
    gone = replace(deleted(0, OWNERS_PLACE), subject=card.external_id, external_id=f"{card.external_id}!")
    await service.heard(gone)
    await answer(service, request)
    assert await strokes(service) == 1


async def test_when_nobody_can_be_asked_the_agent_is_told(service: Service) -> None:
    service.platform.refuses[OWNERS_PLACE.id] = DeliveryFailed("Cannot send messages to this user")
    await service.heard(said("ring the bell", 1))
    assert await service.column("SELECT status FROM permission_requests") == ["expired"]
    assert "nobody could be asked" in str(service.model.requests[-1].messages[-1])


async def test_a_turn_that_begins_again_takes_its_question_back(service: Service) -> None:
    request = await rung(service)
    await service.write(lambda tx: service.approvals.broker.withdraw(tx, _turn(tx), service.clock()))
    late = await answer(service, request)
    assert "withdrawn" in late.words
    assert await strokes(service) == 0


def _turn(tx: Tx) -> Any:
    row = tx.one("SELECT turn_id FROM permission_requests")
    assert row is not None
    return row["turn_id"]


class Gong(Bell):
    """Needs a yes whoever asks."""

    caution = Caution(asks="always", bound=("times",))


async def test_a_flood_asks_nothing_more_and_nobody_has_the_requests_of_others_refused(tmp_path: Path) -> None:
    numbers = count(1)

    async def refused(who: Speaker, asked: int) -> int:
        turn = next(numbers)
        model.replies += [says("", *(ring(f"call_{turn}_{times}", times=times) for times in range(asked)))]
        await service.heard(said("ring them all", turn, speaker=who))
        return sum("are waiting already" in text for text, _ok in results(service.model.requests[-1])[-asked:])

    model = ScriptedModel()
    async with running(tmp_path, Setting(model=model, tools=[Gong()])) as service:
        assert await refused(ANN, MOST_OF_ONE + 3) == 3
        assert await refused(BOB, 1) == 0
        assert [await refused(person(f"Guest{number}"), MOST_OF_ONE) for number in range(3)] == [0, 0, 1]
        assert await refused(EVA, 1) == 1, "all together have the owner asked no more than this"
        assert await refused(OLGA, MOST_WAITING + 2) == 2


async def test_an_answer_names_its_question_by_the_end_of_its_number_and_doubt_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter((1_110_001_234, 2_220_001_234, 3_330_005_678))
    monkeypatch.setattr(permission_requests, "new_request_id", lambda: RequestId(next(numbers)))
    model = ScriptedModel(*(answer for _ in range(3) for answer in (says("", ring()), says("It waits."))))
    model.otherwise = says("Rung.")
    async with running(tmp_path, Setting(model, tools=[Bell()])) as service:
        for number in (1, 2, 3):
            await service.heard(said("ring the bell", number))

        async def by_code(code: str, who: Approver = OWNER, verdict: Verdict = Verdict.ONCE) -> tuple[str, bool]:
            ruling = await service.approvals.answer_by_code(code, who, verdict)
            return ruling.words, ruling.counted

        for doubtful in ("", "1234", "678", "9999"):
            words, counted = await by_code(doubtful)
            assert not counted, doubtful
            assert words.startswith("Nothing was decided: 3 requests are waiting for you"), doubtful
            assert "10001234 (bell: " in words
            assert "005678 (bell: " in words
        assert await by_code("5678", STRANGER) == ("No request is waiting for you.", False)
        assert await by_code("", STRANGER) == ("", False)
        assert (await by_code("3330005678", STRANGER))[0].startswith("You cannot answer this request")
        assert await service.column("SELECT status FROM permission_requests") == ["waiting"] * 3
        assert (await by_code("005678"))[1]
        await service.settled()
        assert (await by_code("0005678"))[0].startswith("This request has already been decided. Allowed once by")
        words, counted = await by_code("1110001234", verdict=Verdict.DENY)
        assert counted
        assert (await by_code("001234"))[0].startswith("Nothing was decided: 1 request is waiting for you"), (
            "one is decided"
        )
        assert await service.column("SELECT status FROM permission_requests ORDER BY id") == [
            "denied", "waiting", "used",
        ]  # fmt: skip


async def test_newer_messages_wait_their_turn(tmp_path: Path) -> None:
    model = ScriptedModel(says("", ring()), says("It waits."), says("Hello Bob."), says("Rung."), says("Bye."))
    async with talked(tmp_path, Setting(model=model, tools=[Bell()]), "ring the bell") as service:
        await service.heard(said("hello", 2, speaker=BOB))
        request = await waiting(service)
        await service.approvals.answer(request, OWNER, Verdict.ONCE)
        service.hear(said("bye", 3, speaker=BOB))
        await service.settled()
        assert service.platform.texts() == ["It waits.", "Hello Bob.", "Rung.", "Bye."]
        for each in service.model.requests:
            check_calls(each)


async def test_the_record_of_questions_answers_and_uses_stays_as_it_was_written(service: Service) -> None:
    await answer(service, await rung(service), Verdict.ALWAYS)
    permits = registry(service.approvals)
    record = (await permits.call("permits.audit", owner_at_terminal(), {})).data()
    events = [line["event"] for line in reversed(record)]
    assert events == ["asked", "answered", "granted", "used"]
    for statement in ("DELETE FROM permission_audit", "UPDATE permission_audit SET event = 'other'"):
        with pytest.raises(driver.IntegrityError, match="append only"):
            await service.write(functools.partial(Tx.run, sql=statement))
    with pytest.raises(CallError, match="no operation"):
        await permits.call("permits.audit", somebody(ANN.id), {})
