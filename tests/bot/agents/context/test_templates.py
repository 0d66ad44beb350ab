"""Ready-made blocks: every one can be made, described and filled; and reaches an agent from its configuration."""

from pathlib import Path
from typing import Any, get_args

import pytest

from bot.config.block_templates import TEMPLATES, full_description, initial_text
from bot.config.values import TemplateName
from memory.blocks.schemas import LogSchema, TextSchema, dump_schema, parse_schema
from memory.store.errors import Refused
from tests.bot.parts import ScriptedModel, call, results, says, whole
from tests.bot.stage import Setting, talked
from tests.memory.blocks.block_parts import blocks_store, made, new

VALUES: dict[str, dict[str, Any]] = {
    "persona": {"name": "Ada", "traits": ["warm"], "style": "plain", "guidelines": "Be kind."},
    "human": {"name": "Mia", "preferences": ["tea"], "context": "A gardener."},
    "scratchpad": {"current_task": "sorting", "notes": "half done"},
    "organization": {"name": "Guild", "policies": "No spoilers."},
    "current_state": {"energy": 4, "attention": "low", "mood": "calm", "as_of": "2026-11-22T12:00:00Z"},
    "task_list": {"items": [{"title": "sweep", "due": "2026-11-23T00:00:00+00:00"}]},
}


def test_configuration_knows_every_template() -> None:
    assert set(get_args(TemplateName)) == set(TEMPLATES)


@pytest.mark.parametrize("name", [each for each in TEMPLATES if each != "custom"])
def test_a_template_makes_a_block_that_says_what_belongs_in_it(name: str) -> None:
    template = TEMPLATES[name]
    assert parse_schema(dump_schema(template.schema)) == template.schema
    description = full_description(template.description, template.schema)
    assert description.startswith(template.description + "; ")
    required = {} if isinstance(template.schema, LogSchema) else VALUES.get(name, {})
    with blocks_store() as tx:
        block = made(tx, new(name, schema=template.schema, values=required, description=description))
    assert block.content == initial_text(template.schema, required)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("persona", {}, "field name is required"),
        ("persona", {"name": "Ada", "traits": "warm"}, "field traits is a list"),
        ("human", {"name": 7}, "field name is a text"),
        ("organization", {"name": ""}, "field name is required"),
        ("task_list", {"items": [{"done": True}]}, "field title is required"),
        ("observation_log", {"items": ["x"]}, "a log must start without values"),
    ],
)
def test_values_that_do_not_fit_a_template_are_refused(name: str, values: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        initial_text(TEMPLATES[name].schema, values)
    assert initial_text(TextSchema(), {}) == ""


CONFIGURED = """
[[agents]]
name = "Carina"
[[agents.blocks]]
template = "persona"
values = { name = "Carina", traits = ["curious", "calm"] }
audience = "public"
[[agents.blocks]]
template = "task_list"
[[agents.blocks]]
template = "custom"
label = "garden"
description = "The garden"
pinned = true
schema = { type = "composite", sections = [
    { name = "beds", schema = { type = "list" } },
    { name = "weather", schema = { type = "map", fields = [{ name = "rain", type = "number", default = 0 }] } },
] }
"""


async def test_configured_blocks_are_filled_by_the_model_in_their_fields(tmp_path: Path) -> None:
    def change(identifier: str, operation: str, label: str, **more: object) -> Any:
        return call("context", identifier, operation=operation, label=label, **more)

    calls = [
        change("1", "add_item", "task_list", value={"title": "water the beans"}),
        change("2", "set_item", "task_list", item=1, value={"title": "water the beans", "done": True}),
        change("3", "add_item", "garden", field="beds", value="beans"),
        change("4", "set_field", "garden", field="weather.rain", value=2.5),
        change("5", "set_field", "garden", field="weather.rain", value="much"),
        change("6", "append", "garden", content="Beans are in."),
        change("7", "remove_item", "task_list", item=2),
        change("8", "info", "garden"),
    ]
    model = ScriptedModel(says("", *calls), says("Done."))
    async with talked(tmp_path, Setting(model, toml=CONFIGURED), "tend the garden"):
        first, second = model.requests
    found = results(second)
    assert [ok for _text, ok in found] == [True, True, True, True, False, False, False, True]
    assert found[4][0] == "field rain is a number, and 'much' is not"
    assert "name the field or section, or use set_field and add_item" in found[5][0]
    assert found[6][0] == "there is no item 2: the list has 1, counted from 1"
    assert (
        "made of sections: beds (a list of at most 10,000 items of text); weather (fields: rain (number))"
        in found[7][0]
    )
    assert "name: Carina\ntraits:\n1. curious\n2. calm\nstyle:\nguidelines:\n" in first.system
    assert "(The garden; sections: beds (a list of at most 10,000 items of text); " in first.system
    assert "## beds\n1. beans\n## weather\nrain: 2.5\n" in whole(second)
    assert "1. title: water the beans; done: yes\n" in whole(second)
