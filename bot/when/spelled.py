"""Times of day in words as times in figures, before anything else is read: "at half past seven" is "at 7:30"."""

import re
from collections.abc import Mapping

_EN = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_DE = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
_HOURS: Mapping[str, int] = {word: number for words in (_EN, _DE) for number, word in enumerate(words, 1)} | {
    "ein": 1,
    "zwoelf": 12,
    "fuenf": 5,
}
_EN_HOUR = rf"(?P<hour>{'|'.join(_EN)}|\d{{1,2}})"
_DE_HOUR = rf"(?P<hour>{'|'.join([*_DE, 'ein', 'zwoelf', 'fuenf'])}|\d{{1,2}})"
# A number alone is a time only where the sentence goes on as after one: "at one of the shops" is none.
_EN_AFTER = r"(?= ?(?:o'?clock\b|[ap]\.?m\b|to\b|in the\b|tomorrow\b|today\b|tonight\b|on\b|[,.;!?]|$))"
_DE_AFTER = r"(?= ?(?:uhr\b|ans?\b|am\b|daran\b|dass\b|zum?\b|morgen\b|heute\b|[,.;!?]|$))"
_EN_PART = re.compile(rf"\b(?:at )?(?P<part>half past|quarter past|quarter to) {_EN_HOUR}\b", re.IGNORECASE)
_EN_WHOLE = re.compile(rf"\b(?P<at>at ){_EN_HOUR}\b{_EN_AFTER}", re.IGNORECASE)
_DE_PART = re.compile(rf"\b(?:um |gegen )?(?P<part>viertel nach|viertel vor) {_DE_HOUR}\b", re.IGNORECASE)
_DE_HALF = re.compile(rf"\b(?P<at>(?:um |gegen )?halb ){_DE_HOUR}\b", re.IGNORECASE)
_DE_WHOLE = re.compile(rf"\b(?P<at>um |gegen ){_DE_HOUR}\b{_DE_AFTER}", re.IGNORECASE)


def in_figures(text: str) -> str:
    """The text with times of day in figures."""
    text = _EN_PART.sub(lambda found: f"at {_quarter(found)}", text)
    text = _DE_PART.sub(lambda found: f"um {_quarter(found)}", text)
    for pattern in (_EN_WHOLE, _DE_HALF, _DE_WHOLE):
        text = pattern.sub(lambda found: f"{found['at']}{_hour(found)}", text)
    return text


def _hour(found: re.Match[str]) -> int:
    said = found["hour"].casefold()
    return _HOURS[said] if said in _HOURS else int(said)


def _quarter(found: re.Match[str]) -> str:
    hour = _hour(found)
    match found["part"].casefold():
        case "half past":
            return f"{hour}:30"
        case "quarter past" | "viertel nach":
            return f"{hour}:15"
        case _:
            return f"{(hour - 2) % 12 + 1 if hour <= 12 else hour - 1}:45"
