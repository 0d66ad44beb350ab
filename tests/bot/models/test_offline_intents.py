"""How a message is read without a model: what lines, and sentences, belong together."""

from datetime import UTC, datetime

import pytest

from bot.models.offline.intents import Remember, Say, understand
from bot.models.offline.text import detect, uncalled

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("remember that my dentist is\non Elm Street", ["my dentist is on Elm Street"]),
        ("remember that my boss\nis called Tom", ["my boss is called Tom"]),
        ("remember that\nmy cat is called Minka", ["my cat is called Minka"]),
        ("remember that my list is\nmilk\neggs", ["my list is milk, eggs"]),
        ("merk dir, dass mein Zahnarzt\nin der Ulmenstraße ist", ["dass mein Zahnarzt in der Ulmenstraße ist"]),
        ("merk dir, dass meine Liste\nMilch und Brot ist", ["dass meine Liste Milch und Brot ist"]),
        ("覚えて、私の猫は\nタマです", ["私の猫はタマです"]),
        ("remember milk\nremember eggs", ["milk", "eggs"]),
        ("remember that my dentist is on Elm Street\nwhere is my dentist?", ["my dentist is on Elm Street"]),
        ("remember this: my locker is 12\nremind me tomorrow at 9 to call Tom", ["my locker is 12"]),
        ("remember my cat\nwhat time is it?", []),
        ("My car key is in the drawer. Please remember that.", ["My car key is in the drawer"]),
        ("Mein Schlüssel liegt in der Schublade. Merk dir das bitte.", ["Mein Schlüssel liegt in der Schublade"]),
        ("鍵は引き出しにあります。覚えてください。", ["鍵は引き出しにあります"]),
    ],
)
def test_what_is_one_fact_is_kept_as_one(text: str, facts: list[str]) -> None:
    found = understand(text, detect(text), NOW)
    assert [each.fact for each in found if isinstance(each, Remember)] == facts
    assert Say("remember_what") not in found


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Anchor: hi", "hi"),
        ("hey anchor, what do I like?", "what do I like?"),
        ("@Anchor: remember that I like tea", "remember that I like tea"),
        ("Anchor:", "Anchor:"),
        ("Anchors: they hold", "Anchors: they hold"),
        ("the Anchor: it holds", "the Anchor: it holds"),
        ("remember that my dog is Rex @anchor", "remember that my dog is Rex"),
        ("where is my dog, @Anchor ?", "where is my dog?"),
        ("thanks @Anchor!", "thanks!"),
        ("私の犬はポチです @Anchor", "私の犬はポチです"),
        ("who is @Anchor?", "who is @Anchor?"),
        ("what do you know about @Anchor", "what do you know about @Anchor"),
        ("my boat has no Anchor", "my boat has no Anchor"),
        ("@Anchor", "@Anchor"),
    ],
)
def test_whoever_is_called_by_name_hears_what_stands_beside_it(said: str, words: str) -> None:
    assert uncalled(said, "Anchor") == words
    assert uncalled(said, "") == said
