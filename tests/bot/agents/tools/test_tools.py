"""The tools over memory and delivery, called by a model in real turns."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from bot.agents.tool_rules import MORE_TOOLS
from bot.agents.tools import RESERVED, make_tools, web_tools
from bot.agents.tools.aliases import ALIASES
from bot.agents.tools.base import Toolset
from bot.agents.tools.halt import EmergencyHaltTool
from bot.config.file_settings import Web
from bot.config.values import TOOLS
from bot.models.base import Call
from memory.agents import Agent
from memory.people.audience import Trust
from memory.queue.notifications import Place, Speaker
from memory.queue.payloads import BlockNote, Extras
from memory.store.ids import AgentId
from memory.store.records import replace
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    SOURCE,
    MovableClock,
    Platform,
    call,
    channel,
    direct,
    private,
    results,
    said,
    says,
    whole,
)
from tests.bot.stage import Service

ATTIC, ABROAD, ANNS = private("attic"), channel("port", of="abroad"), direct(ANN, "guild")


class Scene:
    """A running service in which people have the agent make calls."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._count = 0

    async def do(
        self, *calls: Call, place: Place = HALL, speaker: Speaker = ANN, text: str = "do it", **more: Any
    ) -> list[tuple[str, bool]]:
        """Say something there; the agent makes the calls in one step. What came of them."""
        self._count += 1
        self.service.model.replies.extend([says("", *calls), says("Done.")])
        await self.service.heard(said(text, self._count, place, speaker, **more))
        return results(self.service.model.requests[-1])[-len(calls) :]

    async def shown(self, place: Place, speaker: Speaker = ANN) -> str:
        """The prompt that a turn there begins with."""
        self._count += 1
        await self.service.heard(said("show", self._count, place, speaker))
        return whole(self.service.model.requests[-1])


def append(label: str, content: str) -> Call:
    return call("context", operation="append", label=label, content=content)


def insert(content: str, **more: Any) -> Call:
    return call("recall", operation="insert", content=content, **more)


def only(found: Sequence[tuple[str, bool]]) -> tuple[str, bool]:
    (one,) = found
    return one


async def test_a_public_block_takes_nothing_that_was_said_in_a_guild(service: Service) -> None:
    text, ok = only(await Scene(service).do(append("persona", "I know Ann.")))
    assert not ok
    assert (
        text == "block “persona” is read by people (public) who cannot read this; write to human or scratchpad instead"
    )


async def test_a_block_that_would_be_too_long_is_refused_with_the_numbers(service: Service) -> None:
    text, ok = only(await Scene(service).do(append("human", "x" * 2_000)))
    assert (text, ok) == ("block “human” would hold 2,001 characters, 1 more than its limit of 2,000", False)


async def test_notes_about_a_person_are_shown_with_their_messages_and_not_after(service: Service) -> None:
    spec = BlockNote("discord_user:ann", "Notes about Ann", "Ann, she/her", ANN.id)
    scene = Scene(service)
    assert only(await scene.do(append("discord_user:ann", "Plays the tuba."), extras=Extras((spec,))))[1]
    last = service.model.requests[-1]
    asked = next(message.text for message in last.messages if getattr(message, "said", ""))
    assert "<block:discord_user:ann" in asked
    assert "Ann, she/her\nPlays the tuba." in asked
    await service.heard(said("and me?", 99, speaker=BOB))
    assert "<block:discord_user:ann" not in str(service.model.requests[-1])
    await service.heard(said("still me", 100, extras=Extras((spec,))))
    assert "Plays the tuba.\n</block:discord_user:ann>" in service.model.requests[-1].messages[-1].text


async def test_what_is_forgotten_on_request_is_gone_from_the_conversation_too(service: Service) -> None:
    scene = Scene(service)
    await scene.do(insert("the dentist is on Elm Street", label="dentist"), text="my dentist is on Elm Street")
    await scene.do(call("recall", operation="delete", label="dentist", forget_words=True), text="forget it")
    stored = await service.column("SELECT content || coalesce(tool_args, '') || search_text FROM messages")
    assert [text for text in stored if "elm" in text.casefold()] == []


def tell(target: str, content: str = "hello there") -> Call:
    return call("send_message", target_type="channel", target=target, content=content)


@pytest.mark.parametrize(
    ("place", "target", "told"),
    [
        (HALL, "attic", "There is no place “attic” here."),
        (ATTIC, "hall", "have not seen this conversation"),
        (ANNS, "hall", "have not seen this conversation"),
        (HALL, "port", "There is no place “port” here."),
        (HALL, "nowhere", "There is no place “nowhere” here."),
    ],
)
async def test_nothing_is_carried_to_people_who_did_not_hear_it(
    service: Service, place: Place, target: str, told: str
) -> None:
    scene = Scene(service)
    for each in (HALL, ATTIC, ABROAD):
        await scene.shown(each)
    text, ok = only(await scene.do(tell(target), place=place))
    assert told in text
    assert not ok
    assert "hello there" not in [post.text for post in service.platform.posts]


async def test_a_stranger_is_told_that_somebody_else_is_asked_after_them(service: Service) -> None:
    scene = Scene(service)
    await scene.shown(HALL)
    text, _ok = only(await scene.do(tell("hall"), place=ATTIC, speaker=replace(ANN, trust=Trust.STRANGER)))
    assert "have not seen this conversation; if you allow it, an approver will be asked, too." in text


async def test_what_is_said_is_split_as_much_as_its_place_needs(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Platform, "at", lambda platform, _place: dataclasses.replace(platform, max_length=40))
    service.platform.max_length = 2
    assert only(await Scene(service).do(tell("hall")))[1]
    assert {post.text for post in service.platform.posts} == {"hello there", "Done."}


def toolset(*enabled: str) -> Toolset:
    agent = Agent(AgentId("a"), "A", "", "", "", enabled)
    platform, web = Platform(MovableClock()), web_tools(Web(fetch=True, search="http://127.0.0.1"))
    endpoints = {SOURCE: platform, "bluesky": platform}
    more = EmergencyHaltTool(None), *web
    return make_tools(endpoints, *more, selves=lambda person: (person,), foreign=lambda _agent: ())(agent)


def test_each_tool_has_a_name_for_people() -> None:
    every = toolset(*RESERVED).tools
    assert every.keys() == RESERVED - {*ALIASES}
    assert [name for name in every if not every[name].shown] == [MORE_TOOLS], "give its class `shown`"


def test_tools_are_shown_in_a_stable_order_with_the_schema_of_their_arguments() -> None:
    every = toolset("search", "recall", "send_message", "context", "unknown").specs
    assert [spec.name for spec in every] == ["context", "more_tools", "recall", "search", "send_message"]
    specs = [spec for spec in every if spec.name != "more_tools"]
    assert all(spec.parameters["type"] == "object" for spec in specs)
    assert all(spec.parameters["additionalProperties"] is False for spec in specs)
    assert "title" not in specs[0].parameters
    properties = {spec.name: list(spec.parameters["properties"]) for spec in specs}
    assert properties == {
        "context": [
            *("operation", "label", "content", "old_content", "new_content", "first_line", "last_line"),
            *("field", "value", "item", "load_label", "agent", "permission"),
            *("description", "new_label", "limit", "block_type", "made_of"),
        ],
        "recall": [
            *("operation", "content", "label", "category", "tags", "metadata", "query", "expected"),
            *("limit", "importance", "forget_words"),
        ],
        "search": [
            *("query", "expected", "domain", "since", "until", "author", "role", "place", "category", "tags"),
            "limit",
        ],
        "send_message": ["target_type", "target", "content", "file_name"],
    }


def test_schemas_say_nothing_that_every_prompt_would_pay_for_in_vain() -> None:
    every = [part for spec in toolset(*TOOLS).specs for part in spec.parameters["properties"].values()]
    assert every
    assert not [part for part in every if {"title", "maxLength", "minLength"} & set(part)]
    assert not [part for part in every if not part.get("default", True)]
    lines = {spec.name: spec for spec in toolset("context").specs}["context"].parameters["properties"]["first_line"]
    assert lines == {"description": "edit_range, viewport: counted from 1", "type": "integer"}
    limit = {spec.name: spec for spec in toolset("search").specs}["search"].parameters["properties"]["limit"]
    assert limit == {"default": 8, "maximum": 50, "minimum": 1, "type": "integer"}


def test_an_agent_has_only_the_tools_it_was_given() -> None:
    assert [spec.name for spec in toolset("search").specs] == ["search"]
    assert toolset().specs == ()
