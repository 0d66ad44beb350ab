"""Message bodies as the bot sends them, turned into drafts."""

from __future__ import annotations

from typing import Any

from tests.wire.discord.calls import Request
from tests.wire.discord.channels import Channel
from tests.wire.discord.errors import invalid
from tests.wire.discord.messages import Attachment, Draft, Json, Message, Upload
from tests.wire.discord.world import World


def new_draft(world: World, channel: Channel, body: Json, request: Request) -> Draft:
    """What create_message, a webhook or an interaction answer sends."""
    nonce = body.get("nonce")
    return Draft(
        content=(body.get("content") or "").strip(),
        components=numbered(body.get("components") or []),
        attachments=attach(world, channel, body, request, kept=[]),
        flags=body.get("flags") or 0,
        reply_to=_replied(channel, body.get("message_reference")),
        nonce=None if nonce is None else str(nonce),
        enforce_nonce=bool(body.get("enforce_nonce")),
        allowed_mentions=body.get("allowed_mentions"),
    )


def changed_draft(world: World, message: Message, body: Json, request: Request) -> Draft:
    """What an edit leaves of a message: keys not sent stay as they are."""
    content = body.get("content") if "content" in body else message.content
    components = numbered(body["components"] or []) if "components" in body else message.components
    kept = message.attachments
    if body.get("attachments") is not None:
        listed = {int(entry["id"]) for entry in body["attachments"]}
        kept = [attachment for attachment in kept if attachment.id in listed]
    return Draft(
        content=(content or "").strip(),
        components=components,
        attachments=attach(world, message.channel, body, request, kept=kept),
        flags=body.get("flags") or 0,
        allowed_mentions=body.get("allowed_mentions", message.allowed_mentions),
    )


def _replied(channel: Channel, reference: Json | None) -> Message | None:
    if reference is None:
        return None
    found = channel.posts.get(int(reference["message_id"]))
    if found is not None and not found.deleted:
        return found
    if reference.get("fail_if_not_exists", True):
        raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    return None


def attach(world: World, channel: Channel, body: Json, request: Request, *, kept: list[Attachment]) -> list[Attachment]:
    """The files kept, and those uploaded with the request under their described names."""
    described = {str(entry["id"]): entry for entry in body.get("attachments") or []}
    attachments = list(kept)
    for file in request.files:
        entry = described.get(file.field.removeprefix("files[").removesuffix("]"), {})
        name = entry.get("filename") or file.filename
        attachments.append(store(world, channel, Upload(name, file.data)))
    return attachments


def store(world: World, channel: Channel, upload: Upload) -> Attachment:
    """Put a file where the file server finds it."""
    number = next(world.ids)
    attachment = Attachment(
        id=number,
        filename=upload.filename,
        data=upload.data,
        url=f"{world.cdn_url}/attachments/{channel.id}/{number}/{upload.filename}",
        content_type=upload.content_type,
        delay=upload.delay,
        status=upload.status,
        size=len(upload.data) if upload.size is None else upload.size,
    )
    world.files[number] = attachment
    return attachment


_DEFAULTS: dict[int, Json] = {
    3: {"min_values": 1, "max_values": 1, "options": []},
    13: {"name": None, "size": None, "spoiler": False},
    17: {"accent_color": None, "spoiler": False},
}
_NULLABLE = {"accent_color", "name", "size"}


def numbered(components: list[Json]) -> list[Json]:
    """Components as they come back: each with an id and with its type's defaults."""
    counter = iter(range(1, 1000))

    def render(component: Json) -> Json:
        result: dict[str, Any] = dict(_DEFAULTS.get(component["type"], {}))
        result["id"] = next(counter)
        kept = {k: v for k, v in component.items() if v is not None or k in _NULLABLE & result.keys()}
        result |= {key: value for key, value in kept.items() if key != "required" and (key != "id" or value)}
        if "components" in result:
            result["components"] = [render(inner) for inner in result["components"]]
        if "file" in result:
            url = result["file"]["url"]
            result["file"] = {"id": str(result["id"]), "url": url, "proxy_url": url}
        return result

    return [render(component) for component in components]
