"""Labels the account: its profile says that it is a bot, and whose."""

from collections.abc import Mapping
from typing import Any

from memory.store.faults import call_point
from sources.bluesky import post_splitting_and_facets
from sources.bluesky.failures import CallRefused
from sources.bluesky.session import BlueskySession
from sources.text import one_line
from texts import gettext_lazy, gettext_noop

_PROFILE = call_point("bluesky.profile")

PROFILE = "app.bsky.actor.profile"
_LABELS = "com.atproto.label.defs#selfLabels"
_BOT = "bot"
MOST_DESCRIPTION = 256


async def owner_line(session: BlueskySession, owner: str) -> str:
    """The line of the profile that names the bot's owner; `owner` is a DID, or empty. Raises CallFailed."""
    who = await session.query("app.bsky.actor.getProfile", {"actor": owner}) if owner else {}
    of = f" of @{who.get('handle', owner)}" if owner else ""
    return f'Automated account{of}, run with Carina. Reply "stop" and it never answers you again.'


async def set_up(session: BlueskySession, line: str) -> list[str]:
    """Label the account as a bot and put the line into its profile; returns the changes. Raises CallFailed."""
    record, cid = await _profile(session)
    changed, values = [], _values(record)
    if _BOT not in values:
        record["labels"] = {"$type": _LABELS, "values": [{"val": each} for each in (*values, _BOT)]}
        changed.append(gettext_noop("labeled as a bot"))
    described = str(record.get("description", ""))
    if line not in described:
        text = f"{described}\n\n{line}".strip()
        if post_splitting_and_facets.graphemes(text) > MOST_DESCRIPTION:
            raise CallRefused(
                400,
                "TooLong",
                gettext_lazy(
                    "with “{line}”, the profile's description would have more than 256 characters: shorten it, or "
                    "give a shorter `--line`",
                    line=one_line(line),
                ),
            )
        record["description"] = text
        changed.append(gettext_noop("owner line added to the profile"))
    if changed:
        data = {"repo": session.did, "collection": PROFILE, "rkey": "self", "record": record}
        swap = {"swapRecord": cid} if cid else {}  # somebody may be editing the profile at this moment
        await session.procedure("com.atproto.repo.putRecord", {**data, **swap}, _PROFILE)
    return changed


async def is_labelled(session: BlueskySession) -> bool:
    """Whether the account is labeled as a bot. Raises CallFailed."""
    record, _ = await _profile(session)
    return _BOT in _values(record)


async def _profile(session: BlueskySession) -> tuple[dict[str, Any], str]:
    await session.open()
    try:
        found = await session.record(f"at://{session.did}/{PROFILE}/self")
    except CallRefused as why:
        if why.error != "RecordNotFound":
            raise
        return {"$type": PROFILE}, ""
    return dict(found["value"]), str(found.get("cid", ""))


def _values(record: Mapping[str, Any]) -> list[str]:
    labels = record.get("labels")
    values = labels.get("values", []) if isinstance(labels, dict) else []
    return [str(each["val"]) for each in values if isinstance(each, dict) and "val" in each]
