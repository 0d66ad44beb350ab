"""Who may do what, by table; and that the documents say the same."""

from pathlib import Path

import pytest

from bot.agents.permissions import calls_needing_approval, roles_and_rights, who_may_approve
from bot.agents.permissions.approval_card_text import person_name
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.permissions.roles_and_rights import Action, Approver, Change, MemoryRights, People, Rank, role_identity
from memory.people.audience import OWNER, PUBLIC, Scope, Trust, person_audience
from memory.permission_requests import Kind, Need
from memory.store.ids import PersonId
from memory.store.records import replace
from tests.memory.parts import a_turn

OWNER_ID, ADMIN, ANN = PersonId("discord:1"), PersonId("discord:2"), PersonId("discord:3")
PEOPLE = People((OWNER_ID, PersonId("terminal:owner")), (ADMIN, role_identity(10, 7)), quorum=2)
TURN = a_turn(person=ANN, scope=Scope(person_audience(ANN)), trust=Trust.APPROVED)


@pytest.mark.parametrize(
    ("who", "rank"),
    [
        (Approver(OWNER_ID), Rank.OWNER),
        (Approver(PersonId("terminal:owner")), Rank.OWNER),
        (Approver(ADMIN), Rank.ADMIN),
        (Approver(ANN, roles=frozenset({role_identity(10, 7)})), Rank.ADMIN),
        (Approver(ANN, roles=frozenset({role_identity(11, 7)})), Rank.PERSON),
        (Approver(ANN, roles=frozenset({role_identity(10, 8)})), Rank.PERSON),
        (Approver(ANN, name=OWNER_ID), Rank.PERSON),  # a name is nobody
        (Approver(PersonId(""), roles=frozenset({""})), Rank.PERSON),
    ],
)
def test_a_rank_comes_from_ids_and_the_roles_of_this_guild(who: Approver, rank: Rank) -> None:
    assert roles_and_rights.rank_of(PEOPLE, who) is rank


def test_who_is_more_may_do_all_that_who_is_less_may() -> None:
    ranks = [Approver(OWNER_ID), Approver(ADMIN), Approver(ANN)]
    for action in Action:
        allowed = [roles_and_rights.may(PEOPLE, who, action) for who in ranks]
        assert allowed == sorted(allowed, reverse=True)
        assert allowed[0]


def test_without_configuration_nobody_is_in_charge() -> None:
    assert not roles_and_rights.may(People(()), Approver(PersonId("")), Action.PERMITS)


def test_the_documents_show_the_table() -> None:
    rows = "\n".join(f"| {action.value} | {action.least.value} |" for action in Action)
    shown = Path(__file__).parents[4].joinpath("docs/permissions.md").read_text("utf-8")
    assert rows in shown, f"docs/permissions.md should hold:\n{rows}"


@pytest.mark.parametrize(
    ("need", "expected"),
    [
        (Need(Kind.TOOL, "bell", ""), ((*PEOPLE.owner, *PEOPLE.admins), 2)),
        (Need(Kind.EDIT, "block", "", asks=ANN), ((ANN,), 1)),
        (Need(Kind.EDIT, "block", "", asks=ADMIN), ((*PEOPLE.owner, *PEOPLE.admins), 2)),  # it was not their turn
        (Need(Kind.SOURCE, "place", "", asks=ANN), ((ANN,), 1)),
        (Need(Kind.SOURCE, "place", "", asks=None), ((), 1)),
    ],
)
def test_who_is_asked(need: Need, expected: tuple[tuple[str, ...], int]) -> None:
    assert who_may_approve.approvers(PEOPLE, need, TURN) == expected


def test_a_turn_of_nobody_asks_nobody_in_person() -> None:
    turn = replace(TURN, person=None, scope=Scope(OWNER))
    assert who_may_approve.approvers(PEOPLE, Need(Kind.SOURCE, "place", ""), turn)[0] == ()
    assert who_may_approve.approvers(PEOPLE, Need(Kind.EDIT, "block", ""), turn)[0] == PEOPLE.in_charge


@pytest.mark.parametrize("trust", list(Trust))
def test_less_trust_than_a_tool_takes_asks_and_never_refuses(trust: Trust) -> None:
    need = calls_needing_approval.call_needs(
        replace(TURN, trust=trust), "bell", frozenset(), Caution(trusted=Trust.AGENT)
    )
    assert (need is None) is (trust >= Trust.AGENT)


def test_a_rule_asks_whoever_it_is() -> None:
    need = calls_needing_approval.call_needs(
        replace(TURN, trust=Trust.OWNER), "bell", frozenset({"bell"}), Caution(once_only=True)
    )
    assert need is not None
    assert need.once_only


EVERY = tuple(Change)


@pytest.mark.parametrize(
    ("who", "held", "allowed"),
    [
        (ANN, MemoryRights((ANN,), PUBLIC, EVERY), {Change.FORGET, Change.CORRECT, Change.NARROW}),
        (ANN, MemoryRights((ANN, ADMIN), PUBLIC, EVERY), {Change.FORGET}),
        (ANN, MemoryRights((ADMIN,), PUBLIC, EVERY), set()),
        (ANN, MemoryRights((), PUBLIC, EVERY), set()),
        (ANN, MemoryRights((ANN,), PUBLIC, ()), set()),
        (ADMIN, MemoryRights((ANN,), PUBLIC, EVERY), set()),  # nobody but the owner is in charge of others' words
        (OWNER_ID, MemoryRights((ANN,), PUBLIC, EVERY), {Change.FORGET, Change.CORRECT}),
        (OWNER_ID, MemoryRights((ANN,), person_audience(ANN), EVERY), set()),
        (OWNER_ID, MemoryRights((), OWNER, EVERY), {Change.FORGET, Change.CORRECT}),
        (OWNER_ID, MemoryRights(PEOPLE.owner, OWNER, EVERY), {Change.FORGET, Change.CORRECT, Change.NARROW}),
        (
            OWNER_ID,
            MemoryRights((PEOPLE.owner[1],), PUBLIC, (Change.FORGET, Change.NARROW)),
            {Change.FORGET, Change.NARROW},
        ),
    ],
)
def test_who_may_change_a_memory(who: PersonId, held: MemoryRights, allowed: set[Change]) -> None:
    assert {
        each for each in Change if not roles_and_rights.change_refusal(PEOPLE, Approver(who), each, held)
    } == allowed


def test_a_person_is_all_accounts_that_are_linked_and_the_owner_all_that_are_configured() -> None:
    eva, bob, terminal = PersonId("discord:4"), PersonId("discord:5"), PersonId("terminal:owner")
    people = replace(PEOPLE, links={})
    assert people.selves(ANN) == (ANN,)
    assert set(people.selves(terminal)) == {terminal, OWNER_ID}
    people.links.update({ANN: frozenset({ANN, eva}), eva: frozenset({ANN, eva})})
    assert people.selves(eva) == (eva, ANN)
    people.links.update({OWNER_ID: frozenset({OWNER_ID, bob}), bob: frozenset({OWNER_ID, bob})})
    for each in (bob, terminal, OWNER_ID):
        assert people.selves(each)[0] == each
        assert set(people.selves(each)) == {bob, terminal, OWNER_ID}
    assert roles_and_rights.rank_of(people, Approver(bob)) is Rank.PERSON, "a link gives no rights"


def test_who_decided_is_named_by_handle_and_on_discord_by_a_mention() -> None:
    eve = PersonId("bluesky:did:plc:eve")
    assert person_name(eve, "discord", "@eve.example") == "@eve.example"
    assert person_name(eve, "discord") == eve, "whose handle is not known"
    assert person_name(ANN, "discord", "@ann") == "<@3>"
