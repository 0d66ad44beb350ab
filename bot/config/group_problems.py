"""Problems of groups in the configuration that no single table shows: each names both contradicting tables."""

from collections.abc import Iterable, Iterator, Sequence

from bot.agents.groups.settings import Supervisor, Voting, named_agents
from bot.config.file_settings import Group
from bot.config.problems import nearest, shown, unmet
from texts import _, gettext_noop


def group_problems(file: str, groups: Sequence[Group], agents: Sequence[str]) -> Iterator[str]:
    """The problems of all groups, one line each; `agents` are the names of existing ones."""
    yield from _shared(
        file, gettext_noop("one group for each place"), ((place, each.name) for each in groups for place in each.places)
    )
    yield from _shared(
        file,
        gettext_noop("one group for each keyword"),
        ((word, each.name) for each in groups for word in each.keywords),
    )
    said = ((state.said, each.name) for each in groups for state in each.states if state.said)
    yield from _shared(file, gettext_noop("one group for each state"), said)
    default = [group.name for group in groups if group.default]
    if groups and len(default) != 1:
        found = _("{names} with default = true", names=", ".join(f'"{name}"' for name in default) or _("none"))
        yield unmet(f"{file}: groups", found, _("exactly one: it answers where no other does"))
    for group in groups:
        key = f'{file}: groups["{group.name}"]'
        yield from _members(key, group, agents)
        yield from _named(key, group)
        yield from _votes(key, group)


def _shared(file: str, wanted: str, said: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Things that several groups claim, from pairs of a thing and a group's name."""
    owners: dict[str, str] = {}
    for each, group in dict.fromkeys(said):
        other = owners.setdefault(each.casefold(), group)
        if other != group:
            found = _('"{what}" in both "{one}" and "{other}"', what=each, one=other, other=group)
            yield unmet(f"{file}: groups", found, _(wanted))


def _members(key: str, group: Group, agents: Sequence[str]) -> Iterator[str]:
    if not group.members:
        yield unmet(f"{key}.members", _("none"), _("at least one agent"))
    names = group.names
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield unmet(f"{key}.members", _('"{name}" twice', name=name), _("every agent once"))
    for name in names:
        if name not in agents:
            hint = nearest(name, agents)
            yield _('{key}: found "{name}", which is not an agent; {hint}', key=f"{key}.members", name=name, hint=hint)
    if group.members and all(member.role == "observer" for member in group.members):
        yield unmet(f"{key}.members", _("only observers, who never speak"), _("at least one that does"))


def _named(key: str, group: Group) -> Iterator[str]:
    """Agents in the pattern's table must be members that speak."""
    observers = {member.agent for member in group.members if member.role == "observer"}
    for where, name in named_agents(group.settings.model_dump(mode="json")):
        full = f"{key}.{group.pattern}.{where}"
        if name in observers:
            yield unmet(full, _('"{name}", whose role in members is "observer"', name=name), _("one that speaks"))
        elif name not in group.names:
            hint = nearest(name, group.names or ("nobody",))
            yield _(
                '{key}: found "{name}", which is not in {members}; {hint}',
                key=full,
                name=name,
                members=f"{key}.members",
                hint=hint,
            )
    leaders = [member.agent for member in group.members if member.role == "supervisor"]
    if isinstance(group.settings, Supervisor) and not group.settings.leader and len(leaders) > 1:
        found = _("several members with the role supervisor: {names}", names=", ".join(map(shown, leaders)))
        yield unmet(f"{key}.supervisor.leader", found, _("the name of one"))

    speaking = [name for name in group.names if name not in observers]
    if isinstance(group.settings, Supervisor) and len(speaking) == 1:
        found = _('only one agent that speaks, "{name}"', name=speaking[0])
        yield unmet(f"{key}.members", found, _("at least one more, for the supervisor to delegate to"))


def _votes(key: str, group: Group) -> Iterator[str]:
    if isinstance(group.settings, Voting):
        voters = sum(member.role != "observer" for member in group.members)
        if group.settings.quorum > voters:
            found = _(
                "quorum = {quorum}, but voters in {key}: {voters}",
                quorum=group.settings.quorum,
                voters=voters,
                key=f"{key}.members",
            )
            yield unmet(f"{key}.voting", found, _("a quorum no larger than the number of voters"))
