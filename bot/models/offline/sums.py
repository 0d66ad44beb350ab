"""Sums as people write them: "what's 17*23?", "wie viel ist 3,5 mal 4"."""

import re

from bot.models.offline.language import Language

_LONGEST = 200
_SUM = r"(?=.*\d)(?=.*(?:\d\W*[-+*/]\W*[\d(]|sqrt))[-+*/().\d\s]*(?:sqrt[-+*/().\d\s]*)*"
_PLAIN = r"[-/.\d\s]*"
"""Figures with dashes and slashes alone are a number or a date where nobody asks what they are."""
_DAY = r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\s*"


def read_sum(sentence: str, language: Language) -> str:
    """The expression of a sentence that is one; empty where it is none."""
    if len(sentence) > _LONGEST or not any(each.isdigit() for each in sentence):
        return ""
    asked = language.begins("sum_lead", sentence)
    text = (sentence[asked.end() :] if asked else sentence).strip(" \t\n.!?？。=").casefold()
    for pattern, instead in language.rewrites("sums"):
        text = pattern.sub(instead, text)
    named = re.fullmatch(_DAY, text) or (not asked and re.fullmatch(_PLAIN, text))
    return " ".join(text.split()) if re.fullmatch(_SUM, text) and not named else ""
