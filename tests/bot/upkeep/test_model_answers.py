"""Answers of small models: what is around the object, and beside its keys, is passed over; the rest must fit."""

from typing import Any

import pytest

from bot.upkeep.model_answers import Consolidation, Relations, UnusableAnswer, read_answer, schema_of

WHOLE = '{"retire": ["e1"]}'


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"```\n{WHOLE}",
        f"Here is the answer (e1 is a test):\n\n{WHOLE}\n\nI hope that helps {{smile}}!",
        f'<think>Perhaps {{"retire": ["e2"]}}?</think>{WHOLE}',
        f'It may be {{"retire": ["e2"]}}, I think.\n</think>\n{WHOLE}',
        f"{WHOLE}\n{WHOLE}",
        f'{{"reasoning": "a greeting"}} {WHOLE}',
        f"[note] {WHOLE}",
        '{"retire": ["e1"], "reasoning": "a greeting", "confidence": 0.9}',
    ],
)
def test_what_is_around_an_answer_is_passed_over(text: str) -> None:
    assert read_answer(text, Consolidation).retire == ["e1"]


@pytest.mark.parametrize("text", ["{}", "```json\n{}\n```", "Nothing is to be done: {}"])
def test_nothing_to_do_is_an_answer(text: str) -> None:
    assert read_answer(text, Consolidation) == Consolidation()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Of course!", "not answer in JSON"),
        ("", "not answer in JSON"),
        ('{"retire": ["e1"', "not answer in JSON"),
        ('{"merge": [{"sources": ["e1", "e2"], "content": "tea"}', "not answer in JSON"),
        (f"[{WHOLE}]", "not answer in JSON"),
        ('{"merge": [{"sources": ["e1"], "meta": {}', "not answer in JSON"),
        ('<think>{"retire": ["e2"]} hmm', "not answer in JSON"),
        ('[{"retire": ["e1"]}, {"ret', "not answer in JSON"),
        ('{"note": "x" "retire": [1], "merge": {"retire": ["e9"]}}', "not answer in JSON"),
        ("[" * 60_000, "not answer in JSON"),
        ('{"delete": ["e1"]}', "the required form"),
        ('{"retire": ["e1"]} or {"retire": ["e2"]}', "several"),
        ('{"retire": "e1"}', "retire: list type"),
        ('{"retire": null}', "retire: list type"),
        ('{"refine": [{"category": "a"}]}', r"required form \(refine.0.id: missing\)"),
        ('{"retire": ' + "[" * 3_000 + "]" * 3_000 + "}", "not answer in JSON|the required form"),
    ],
)
def test_what_does_not_fit_is_no_answer(text: str, why: str) -> None:
    with pytest.raises(UnusableAnswer, match=why):
        read_answer(text, Consolidation)


def test_a_schema_that_a_provider_holds_a_model_to_names_every_key_and_no_other() -> None:
    def walk(part: Any) -> None:
        if isinstance(part, dict):
            assert not {"default", "title", "maxLength", "minItems"} & part.keys()
            if "properties" in part:
                assert part["required"] == [*part["properties"]]
                assert part["additionalProperties"] is False
            for each in part.values():
                walk(each)

    schema = schema_of(Relations)
    walk(schema)
    assert [*schema["properties"]] == ["triples"]
    relation = schema["properties"]["triples"]["items"]
    assert [*relation["properties"]] == ["source", "subject", "relation", "object"]
    assert relation["properties"]["object"] == {"$ref": "#/$defs/NamedEntity"}
