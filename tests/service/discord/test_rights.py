"""Who may give which command, over sockets: what the policy's table says, for each of them and nothing else."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.agents.permissions.roles_and_rights import Action, Approver, People, may
from memory.store.ids import PersonId
from tests.processes import ROOT
from tests.service.discord.test_commands import leaves, typed
from tests.service.live_service import NO_MERGING, Live, live_service
from tests.wire.discord import Person

RIGHTS: dict[Action, str] = {
    Action.STATUS: "admin status, admin agent show, admin group show, admin group status",
    Action.COST: "admin cost, admin budget list",
    Action.BUDGET: "admin budget set, admin budget clear",
    Action.REVOKE: "admin permits revoke",
    Action.GRANT: "admin permits grant",
    Action.PEOPLE: "owner pair approve, owner people allow, owner people deny, owner people forget, owner people list",
    Action.COORDINATE: "admin coord assign, admin coord handoff, admin coord note",
    Action.STEER: "admin mode channel, admin model, admin route",
    Action.SLEEP: "admin agent hibernate, admin agent wake",
    Action.SOURCES: "owner source add, owner source pause, owner source remove, "
    "owner source resume, owner source show, owner source subscribe, owner source unsubscribe",
    Action.EXAMINE: "owner doctor",
    Action.RESTART: "owner restart",
    Action.EXPORT: "admin agent export, admin group export",
    Action.BACKUP: "owner backup create, owner backup list",
    Action.UNDO_NIGHT: "admin summary undo-night",
    Action.JOBS: "admin jobs list, admin jobs run, admin jobs pause, admin jobs resume, admin dream run",
    Action.HALT: "admin halt now, admin halt release",
    Action.INBOX: "admin inbox list, admin inbox show, admin inbox retry, admin inbox drop",
    Action.OUTBOX: "owner outbox list, owner outbox retry, owner outbox drop",
    Action.BLOCKS: "admin memory create, admin memory change, admin memory delete, admin memory restore",
    Action.SHARE: "admin memory share, admin memory unshare",
    Action.EDIT_ANY: "admin dream undo",
}
"""The commands that not everybody may give, by the right that each takes."""
EVERYBODY = """\
admin agent list, admin coord status, admin group list, chat agent, chat group, events add, events cancel, events
list, events move, facts add, facts confirm, facts correct, facts forget, facts list, help, settings, memory activity,
memory append, memory archival add, memory archival delete, memory archival list, memory archival search, memory
archival show, memory archival widen, memory blame, memory context, memory diff, memory dream allow, memory dream
refuse, memory dream report, memory dream waiting, memory edit, memory history, memory list, memory project done,
memory project forget, memory project list, memory project prefer, memory project rate, memory project review, memory
revert, memory rollback, memory show, memory undo, memory widen, my language, my link list, my link remove, my link
say, my link start, my quiet, my retry, my state, owner source list, permits approve, permits deny, permits list,
permits show, privacy erase, privacy export, privacy optout, privacy page, privacy pause, privacy resume, privacy see,
remind cancel, remind done, remind list, remind me, remind snooze, search, summary agent, summary constellation,
summary conversation, summary night, summary show, tasks add, tasks cancel, tasks change, tasks done, tasks list,
tasks template list, tasks template remove, tasks template save, tasks template use, why"""
"""What everybody may ask, each for themselves; what they see and change of it is decided by words, not by commands."""
TELLING = {
    "agent",
    "arguments",
    "code",
    "description",
    "group",
    "job",
    "label",
    "mode",
    "model",
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
    shown = (ROOT / "docs" / "permissions.md").read_text("utf-8")
    for action, words in RIGHTS.items():
        line = f"| {', '.join(f'`/{name}`' for name in commands_of(words))} | {action.least.value} |"
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
                if action is Action.RESTART and person is t.olga:
                    continue  # nobody would answer the next one
                answered = await person.command(name, options_in(t, place is square, values), place)
                who = Approver(PersonId(f"discord:{person.id}"), roles=frozenset(roles))
                refused = answered.text.startswith(REFUSED)
                assert refused is not may(people, who, action), (name, person, answered.text)
                assert not refused or action is Action.STATUS or action.value in answered.text, "says another right"
                assert answered.ephemeral


def given(option: Mapping[str, Any], t: Live, other: Person) -> Any:
    """A number where words are wanted, so that nothing is refused before the right is asked for."""
    if option["type"] == 6:
        return other
    return "1" if option["type"] == 3 and not option.get("choices") else typed(option, "", t)


def options_in(t: Live, abroad: bool, values: dict[str, object]) -> dict[str, object]:
    """The same without what only the one guild has."""
    return {name: value for name, value in values.items() if not (abroad and value is t.general)}
