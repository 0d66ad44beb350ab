"""Commands as the bot syncs them, its answers to interactions, and their followups."""

from __future__ import annotations

from tests.wire.discord import interactions, posting, routes_webhooks
from tests.wire.discord.calls import NO_CONTENT, Answer, Request
from tests.wire.discord.drafts import changed_draft
from tests.wire.discord.errors import invalid, refuse
from tests.wire.discord.message_payloads import message as message_payload
from tests.wire.discord.messages import Json
from tests.wire.discord.world import World


def _registered(world: World, command: Json, known: list[Json]) -> Json:
    """A command as Discord gives it back: with ids, defaults and without nulls in its options."""
    same = [c for c in known if c["name"] == command["name"] and c["type"] == (command.get("type") or 1)]
    registered: Json = {
        "id": same[0]["id"] if same else str(next(world.ids)),
        "application_id": str(world.application_id),
        "version": str(next(world.ids)),
        "default_member_permissions": None,
        "type": 1,
        "description": "",
        "nsfw": False,
        "integration_types": [0],
        "contexts": None,
        "dm_permission": True,
    }
    registered |= {key: value for key, value in command.items() if value is not None}
    if registered["default_member_permissions"] is not None:
        registered["default_member_permissions"] = str(registered["default_member_permissions"])
    if "options" in registered:
        registered["options"] = [_option(option) for option in registered["options"]]
    return registered


def _option(option: Json) -> Json:
    kept = {key: value for key, value in option.items() if value not in (None, [], {})}
    if "options" in kept:
        kept["options"] = [_option(inner) for inner in kept["options"]]
    return kept


def _check_unique(commands: list[Json]) -> None:
    seen: set[tuple[str, int]] = set()
    for index, command in enumerate(commands):
        key = (command["name"], command.get("type") or 1)
        if key in seen:
            code = "APPLICATION_COMMANDS_DUPLICATE_NAME"
            raise invalid(f"{index}", code, "Application command names must be unique")
        seen.add(key)
    if sum(1 for _, kind in seen if kind == 1) > 100:
        raise invalid("_errors", "APPLICATION_COMMANDS_MAX", "Maximum number of commands reached (100)")


def set_commands(world: World, request: Request) -> Answer:
    _check_unique(request.json or [])
    world.commands = [_registered(world, c, world.commands) for c in request.json or []]
    world.changes.notify()
    return world.commands


def callback(world: World, request: Request) -> Answer:
    interaction = world.interactions.get(request.params["interaction_token"])
    if interaction is None or str(interaction.id) != request.params["interaction_id"]:
        raise refuse(10062)
    answer = interactions.respond(world, interaction, request)
    return answer if request.query.get("with_response") in ("1", "true") else NO_CONTENT


def _is_followup(world: World, request: Request) -> bool:
    return request.params["webhook_id"] == str(world.application_id)


def execute(world: World, request: Request) -> Answer:
    if not _is_followup(world, request):
        return routes_webhooks.execute(world, request)
    interaction = interactions.living(world, request.params["webhook_token"])
    message = interactions.follow_up(world, interaction, request)
    return message_payload(message, world.bot)


def get_message(world: World, request: Request) -> Answer:
    if not _is_followup(world, request):
        return routes_webhooks.get_message(world, request)
    interaction = interactions.living(world, request.params["webhook_token"])
    which = request.params.get("message_id", "@original")
    return message_payload(interactions.message_of(interaction, which), world.bot)


def edit_message(world: World, request: Request) -> Answer:
    if not _is_followup(world, request):
        return routes_webhooks.edit_message(world, request)
    interaction = interactions.living(world, request.params["webhook_token"])
    message = interactions.message_of(interaction, request.params.get("message_id", "@original"))
    posting.edit(world, message, changed_draft(world, message, request.body, request))
    return message_payload(message, world.bot)


def delete_message(world: World, request: Request) -> Answer:
    if not _is_followup(world, request):
        return routes_webhooks.delete_message(world, request)
    interaction = interactions.living(world, request.params["webhook_token"])
    which = request.params.get("message_id", "@original")
    posting.delete(world, interactions.message_of(interaction, which))
    return NO_CONTENT
