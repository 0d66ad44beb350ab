"""What a person's client sends for commands, buttons, menus and forms, and what it would not offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.wire.discord import interactions, payloads, permissions
from tests.wire.discord.channels import Channel
from tests.wire.discord.interactions import Modal
from tests.wire.discord.messages import Json, Message, parts
from tests.wire.discord.people import Role, User
from tests.wire.discord.world import World


class Impossible(Exception):
    """A person's client offers no way to do this."""


def _find(world: World, user: User, channel: Channel, name: str, kind: int) -> Json:
    """The synced command, if this person can use it here."""
    guild = channel.guild
    known = [c for c in world.commands if c["type"] == kind]
    command = next((c for c in known if c["name"] == name), None)
    if command is None:
        raise Impossible(f"no command {name!r} among {sorted(c['name'] for c in known)}")
    installs = set(command.get("integration_types") or [0])
    by_guild = interactions.has_bot(channel)
    if not ((by_guild and 0 in installs) or (user.installed and 1 in installs)):
        raise Impossible(f"{name!r} is not installed here")
    contexts = command.get("contexts")
    here = interactions.context_of(channel)
    hidden_in_direct = guild is None and command.get("dm_permission") is False
    if (contexts and here not in contexts) or hidden_in_direct:
        raise Impossible(f"{name!r} is not offered in this kind of place")
    needed: str | None = command.get("default_member_permissions")
    held = channel.permissions_of(user)
    if not held or not interactions.may_use_commands(channel, user):
        raise Impossible("commands cannot be used here by this person")
    if guild is not None and needed is not None and not _holds(held, int(needed)):
        raise Impossible(f"{name!r} needs permissions this person has not")
    return command


def _holds(held: int, needed: int) -> bool:
    """No permissions named means: administrators only."""
    return held == permissions.ALL or (needed != 0 and held & needed == needed)


def command_data(
    world: World, user: User, channel: Channel, path: str, options: Mapping[str, Any], *, focused: str | None = None
) -> Json:
    """The data of a slash command or of its autocomplete."""
    name, *below = path.split()
    command = _find(world, user, channel, name, 1)
    described: Json = command
    for step in below:
        described = _step(described, step)
    if any(option["type"] in (1, 2) for option in described.get("options", [])):
        raise Impossible(f"{path!r} is a group, not a command")
    resolved: dict[str, Json] = {}
    filled = _fill(channel, described, options, focused, resolved)
    for step, kind in reversed(_kinds(command, below)):
        filled = [{"name": step, "type": kind, "options": filled}]
    data: Json = {"id": command["id"], "name": name, "type": 1, "options": filled}
    if resolved:
        data["resolved"] = resolved
    return data


def _step(described: Json, name: str) -> Json:
    for option in described.get("options", []):
        if option["name"] == name and option["type"] in (1, 2):
            found: Json = option
            return found
    raise Impossible(f"{described['name']!r} has no {name!r}")


def _kinds(command: Json, below: list[str]) -> list[tuple[str, int]]:
    kinds = []
    for name in below:
        command = _step(command, name)
        kinds.append((name, int(command["type"])))
    return kinds


def _fill(
    channel: Channel, described: Json, options: Mapping[str, Any], focused: str | None, resolved: dict[str, Json]
) -> list[Json]:
    known = {option["name"]: option for option in described.get("options", [])}
    if unknown := options.keys() - known.keys():
        raise Impossible(f"{described['name']!r} has no option {sorted(unknown)}")
    missing = [name for name, option in known.items() if option.get("required") and name not in options]
    if missing and focused is None:
        raise Impossible(f"{described['name']!r} needs {missing}")
    filled = []
    for name, value in options.items():
        option = known[name]
        entry: Json = {"name": name, "type": option["type"]}
        if name == focused:
            if not option.get("autocomplete"):
                raise Impossible(f"{name!r} suggests nothing")
            entry |= {"value": value, "focused": True}
        else:
            entry["value"] = _value(channel, option, value, resolved)
        filled.append(entry)
    return filled


_PYTHON: dict[int, tuple[type, ...]] = {3: (str,), 4: (int,), 5: (bool,), 10: (int, float)}


def _value(channel: Channel, option: Json, value: Any, resolved: dict[str, Json]) -> Any:
    kind = option["type"]
    if kind in _PYTHON:
        if not isinstance(value, _PYTHON[kind]) or (kind != 5 and isinstance(value, bool)):
            raise Impossible(f"{option['name']!r} takes no {value!r}")
        _check_limits(option, value)
        return value
    resolve(channel, value, resolved)
    return str(value.id)


def _check_limits(option: Json, value: Any) -> None:
    choices = [choice["value"] for choice in option.get("choices", [])]
    if choices and value not in choices:
        raise Impossible(f"{value!r} is none of {choices}")
    size = len(value) if isinstance(value, str) else value
    low = option.get("min_length") if isinstance(value, str) else option.get("min_value")
    high = option.get("max_length", 6000) if isinstance(value, str) else option.get("max_value")
    if (low is not None and size < low) or (high is not None and size > high):
        raise Impossible(f"{option['name']!r} must lie between {low} and {high}")


def resolve(channel: Channel, value: User | Role | Channel, resolved: dict[str, Json]) -> None:
    """Add what an id stands for, as Discord does beside the data."""
    key, guild = str(value.id), channel.guild
    if isinstance(value, User):
        resolved.setdefault("users", {})[key] = payloads.user(value)
        if guild is not None and value.id in guild.members:
            known = payloads.member(guild.members[value.id], with_user=False)
            held = str(channel.permissions_of(value))
            resolved.setdefault("members", {})[key] = known | {"permissions": held}
    elif isinstance(value, Role):
        resolved.setdefault("roles", {})[key] = payloads.role(value)
    else:
        held = str(value.permissions_of(channel.world.bot))
        resolved.setdefault("channels", {})[key] = value.payload() | {"permissions": held}


def menu_data(world: World, user: User, channel: Channel, name: str, target: Message | User) -> Json:
    command = _find(world, user, channel, name, 3 if isinstance(target, Message) else 2)
    resolved: dict[str, Json] = {}
    if isinstance(target, Message):
        if not channel.permissions_of(user) or target.deleted:
            raise Impossible("this message is not to be seen")
        resolved["messages"] = {str(target.id): payloads.message(target, world.bot)}
    else:
        resolve(channel, target, resolved)
    kind, number = command["type"], command["id"]
    return {"id": number, "name": name, "type": kind, "target_id": str(target.id), "resolved": resolved}


def _component(user: User, message: Message, kinds: set[int], name: str) -> Json:
    """The component this person sees on the message under that name."""
    hidden = message.only_for not in (None, user) or not message.channel.permissions_of(user)
    if hidden or message.deleted:
        raise Impossible("this message is not to be seen")
    offered = [part for part in parts(message.components) if part["type"] in kinds]
    for part in offered:
        if name in (part.get("custom_id"), part.get("label"), part.get("placeholder")):
            if part.get("disabled") or "custom_id" not in part:
                raise Impossible(f"{name!r} cannot be pressed")
            return part
    raise Impossible(f"no {name!r} among {[part.get('label') or part.get('custom_id') for part in offered]}")


def press_data(user: User, message: Message, button: str) -> Json:
    part = _component(user, message, {2}, button)
    return {"custom_id": part["custom_id"], "component_type": 2, "id": part["id"]}


def select_data(user: User, message: Message, menu: str, values: Sequence[str]) -> Json:
    part = _component(user, message, {3}, menu)
    if not part["min_values"] <= len(values) <= part["max_values"]:
        raise Impossible(f"between {part['min_values']} and {part['max_values']} must be chosen")
    chosen = [_chosen(part, value) for value in values]
    return {"custom_id": part["custom_id"], "component_type": 3, "id": part["id"], "values": chosen}


def _chosen(part: Json, value: str) -> str:
    for option in part.get("options", []):
        if value in (option["value"], option["label"]):
            return str(option["value"])
    raise Impossible(f"{value!r} is not offered")


def modal_data(modal: Modal, values: Mapping[str, str]) -> Json:
    """The data of a filled-in form, in the frame (row or label) each field stands in."""
    inputs = modal.inputs
    filled: dict[str, str] = {}
    for name, value in values.items():
        custom_id = next((c for c in inputs if name in (c, modal.label_of(c))), None)
        if custom_id is None:
            raise Impossible(f"no field {name!r} among {sorted(inputs)}")
        filled[custom_id] = value
    frames = []
    for frame in modal.components:
        inner = frame.get("component") or next(iter(frame.get("components", [])), None)
        if inner is None or "custom_id" not in inner:
            continue
        field = _field(inner, filled.get(inner["custom_id"]))
        key: Json = {"component": field} if frame["type"] == 18 else {"components": [field]}
        frames.append({"type": frame["type"], "id": frame.get("id", 0)} | key)
    return {"custom_id": modal.custom_id, "components": frames}


def _field(inner: Json, value: str | None) -> Json:
    field: Json = {"type": inner["type"], "custom_id": inner["custom_id"], "id": inner.get("id", 0)}
    if inner["type"] != 4:
        return field | {"values": [] if value is None else [value]}
    text = value if value is not None else inner.get("value") or ""
    if inner.get("required", True) and not text:
        raise Impossible(f"{inner['custom_id']!r} must be filled in")
    if not (inner.get("min_length") or 0) <= len(text) <= (inner.get("max_length") or 4000) and text:
        raise Impossible(f"{inner['custom_id']!r} has a wrong length")
    return field | {"value": text}
