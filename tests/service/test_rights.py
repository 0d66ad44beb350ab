"""Who may give which command, over sockets: what the policy's table says, for each of them and nothing else."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.agents.permissions.policy import Action, Approver, People, may, table
from memory.store.ids import PersonId
from tests.processes import ROOT
from tests.service.live_service import NO_MERGING, Live, live_service
from tests.service.test_commands import leaves, typed
from tests.wire.discord import Person

RIGHTS: dict[Action, str] = {
    Action.STATUS: "status, agent show, group show, group status",
    Action.COST: "cost, budget list",
    Action.BUDGET: "budget set, budget clear",
    Action.REVOKE: "permits revoke",
    Action.GRANT: "permits grant",
    Action.PEOPLE: "pair approve, pair list, pair revoke, people allow, people deny, people forget, people list",
    Action.COORDINATE: "coord assign, coord complete, coord handoff, coord note",
    Action.STEER: "mode channel, route",
    Action.SLEEP: "agent hibernate, agent wake",
    Action.SOURCES: "source add, source pause, source remove, source resume, source show, source subscribe, source "
    "unsubscribe",
    Action.EXAMINE: "doctor",
    Action.RESTART: "restart",
    Action.EXPORT: "agent export, group export",
    Action.BACKUP: "backup create, backup list",
    Action.UNDO_NIGHT: "summary undo-night",
    Action.JOBS: "jobs list, jobs run, jobs pause, jobs resume, dream run",
    Action.HALT: "halt now, halt release",
    Action.INBOX: "inbox list, inbox show, inbox retry",
    Action.OUTBOX: "outbox list, outbox retry, outbox drop",
    Action.BLOCKS: "memory create, memory change, memory delete, memory restore",
    Action.SHARE: "memory share, memory unshare",
    Action.EDIT_ANY: "dream undo",
}
"""The commands that not everybody may give, by the right that each takes."""
EVERYBODY = """activity, agent list, approve, archival add, archival delete, archival list, archival search, archival
show, archival widen, chat agent, chat group, context, coord status, deny, dream allow, dream refuse, dream report,
dream waiting, events add, events cancel, events list, facts add, facts confirm, facts correct, facts forget, facts
list, group list, help, link list, link remove, link say, link start, memory append, memory blame, memory diff, memory
edit, memory history, memory list, memory revert, memory rollback, memory show, memory undo, memory widen, permits
list, permits show, privacy erase, privacy export, privacy optout, privacy pause, privacy resume, privacy see, project
done, project forget, project list, project prefer, project rate, project review, quiet, remind cancel, remind done,
remind list, remind me, remind snooze, retry, search, source list, state, summary agent, summary constellation, summary
conversation, summary night, summary show, tasks add, tasks cancel, tasks done, tasks list, tasks move, tasks
template list, tasks template remove, tasks template save, tasks template use, why"""
"""What everybody may ask, each for themselves; what they see and change of it is decided by words, not by commands."""
TELLING = {
    "agent",
    "arguments",
    "check",
    "code",
    "description",
    "group",
    "job",
    "label",
    "mode",
    "note",
    "of",
    "permit",
    "person",
    "row",
}
TELLING |= {"name", "source", "task", "tokens", "what", "who"}
"""Options that say what to do, where without them a command only looks."""
REFUSED = ("Only an admin may", "Only the owner may")


def commands_of(words: str) -> Iterator[str]:
    return (" ".join(each.split()) for each in words.split(","))


def test_the_documents_show_which_commands_take_a_right() -> None:
    least, shown = dict(table()), (ROOT / "docs" / "permissions.md").read_text("utf-8")
    for action, words in RIGHTS.items():
        line = f"| {', '.join(f'`/{name}`' for name in commands_of(words))} | {least[action].value} |"
        assert line in shown.splitlines()


async def test_every_command_takes_the_right_that_the_policy_gives_it(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        eve, rex, bea = (t.member(name) for name in ("Eve", "Rex", "Bea"))
        keepers, elsewhere = t.guild.role("keepers"), t.server.guild("Elsewhere")
        foreign = elsewhere.role("keepers")
        # Discord shows them every command, as it shows all to whom a server lets them: what they may do we decide.
        staff, staff_abroad = t.guild.role("staff", "manage_guild"), elsewhere.role("staff", "manage_guild")
        for person in (t.ana, eve, t.olga):
            t.guild.change(person, roles=[staff])
        t.guild.change(rex, roles=[keepers, staff])
        square = elsewhere.text_channel("square")
        elsewhere.add(rex, roles=[foreign, staff_abroad])
        role = f"role:{t.guild.id}:{keepers.id}"
        people = People((PersonId(f"discord:{t.olga.id}"),), (f"discord:{eve.id}", role))
        admins = f'[discord.admins]\npersons = ["{eve.id}"]\nroles = {{ "{t.guild.id}" = ["{keepers.id}"] }}'
        t.configure(f"{NO_MERGING}\n{admins}")
        await t.service.start()
        known = {name: options for each in await t.server.wait_for_commands() for name, options in leaves(each)}
        taking = {name: action for action, words in RIGHTS.items() for name in commands_of(words)}
        assert known.keys() == taking.keys() | set(commands_of(EVERYBODY)), "a command has no right yet, or is gone"
        for name, action in taking.items():
            values = {each["name"]: given(each, t, bea) for each in known[name] if each["name"] in TELLING}
            for person, place, roles in (
                (t.ana, t.general, ()),
                (rex, square, ()),
                (rex, t.general, (role,)),
                (eve, t.general, ()),
                (t.olga, t.general, ()),
            ):
                answered = await person.command(name, options_in(t, place is square, values), place)
                who = Approver(PersonId(f"discord:{person.id}"), roles=frozenset(roles))
                refused = answered.text.startswith(REFUSED)
                assert refused is not may(people, who, action), (name, person, answered.text)
                assert not refused or action is Action.STATUS or action.value in answered.text, "says another right"
                assert answered.ephemeral
        await t.service.stop()


def given(option: Mapping[str, Any], t: Live, other: Person) -> Any:
    """A number where words are wanted, so that nothing is refused before the right is asked for."""
    if option["type"] == 6:
        return other
    return "1" if option["type"] == 3 and not option.get("choices") else typed(option, "", t)


def options_in(t: Live, abroad: bool, values: dict[str, object]) -> dict[str, object]:
    """The same without what only the one guild has."""
    return {name: value for name, value in values.items() if not (abroad and value is t.general)}
