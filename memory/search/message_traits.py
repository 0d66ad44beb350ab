"""What kind of message a hit is: whether it asks, says that nothing is known, or tells a time or a name.

`ranking.py` weighs this; `surrounding_messages.py` finds the messages around a hit.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from memory.store.database import Rows
from memory.store.lazy import UnicodePattern

_READ = 1_000  # characters of a row that are read
_TIME = UnicodePattern(
    r"""\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|(?:last|next|this)\s(?:\w+day|week|weekend|month|year|
    night|morning|evening|spring|summer|fall|autumn|winter)|\w+day|weekend|week|month|year|years|months|weeks|
    january|february|march|april|may|june|july|august|september|october|november|december|
    gestern|heute|morgen|vorgestern|neulich|seit|(?:letzte|nächste|diese)[nrs]?\s\w+|\w+tag|woche|monat|jahr|jahre|
    januar|februar|märz|mai|juni|juli|oktober|dezember|(?:19|20)\d\d)\b|
    (?:昨|今|明|先|来|去|毎)[日朝晩夜週月年]|(?:おととい|きのう|きょう|あした)|[月火水木金土日]曜|\d[年月日時]|[〇一二三四五六七八九十]+[年月日時]""",
    re.VERBOSE | re.IGNORECASE,
)
_QUESTION = UnicodePattern(r"(?<![^.!?。！？\n])[^.!?。！？\n]*+[?？]+")  # starts where a sentence may: linear time
_GREETING = 20  # characters beside a question that state nothing: a mention, a hello
_NO_ANSWER = UnicodePattern(
    r"""\bi\s(?:(?:do|did|could|can)(?:n['’]t|\snot)|cannot)\s(?:\w+\s){0,2}(?:know|find|recall|remember|have)\b|
    \bi(?:\sam|['’]m)\snot\s(?:\w+\s)?(?:sure|aware)\b|\bi\s(?:have|found|know|see)\s(?:nothing|
    no\s(?:\w+\s)?(?:record|note|memory|information|mention|message|answer|entry|idea)s?)\b|
    \bich\s(?:\w+\s)?wei(?:ß|ss)\s(?:\w+\s){0,3}nicht\b|\bwei(?:ß|ss)\sich\s(?:\w+\s){0,2}nicht\b|\bich\shabe\s(?:\w+\s)?
    (?:nichts|keine\s(?:Ahnung|Angabe|Notiz|Information|Erinnerung|Nachricht)\w*)\b|(?:わか|分か|知)りません|(?:わから|分から|知ら)ない|覚えて(?:い)?ません|見つかりません""",
    re.VERBOSE | re.IGNORECASE,
)
_AND_MORE = UnicodePattern(
    r"\b(?:but|although|though|aber|jedoch)\b|[:;](?=\s)(?!\s(?:nobody|no\sone|nothing|niemand|nichts|keiner)\b)",
    re.IGNORECASE,
)
_SHORT = 160  # characters; a longer answer says more than "I do not know"
_NAME = UnicodePattern(r"(?<=[\p{Ll}\p{Nd},]\s)(?!I\b)\p{Lu}\p{Ll}+")  # a capitalized word inside a sentence


class MessageTraits(Struct, frozen=True):
    """What kind of message it is, besides its words."""

    speaker: str
    person: str
    """Whose message it is; empty for an agent's."""
    length: int
    asks: bool
    only_asks: bool
    """Whether it consists of a question only."""
    no_answer: bool
    """Whether it is ours and says that we do not know."""
    tells_time: bool
    tells_name: bool


def traits_of(rows: Rows, numbers: Iterable[int], *, time: bool, name: bool) -> Mapping[int, MessageTraits]:
    """The kind of each message; the caller has found them within a scope.

    Times and names are detected only on request.
    """
    found = rows.all(
        f"SELECT id, speaker, person_id, role, length(search_text), substr(content, 1, {_READ}) FROM messages "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (list(numbers),),
    )
    return {
        number: MessageTraits(
            speaker=speaker,
            person=(person or speaker) if role == "user" else "",
            length=length,
            asks=_asks(text),
            only_asks=_asks(text) and len(_QUESTION.sub("", text).strip()) <= _GREETING,
            no_answer=role == "assistant" and _is_no_answer(text),
            tells_time=time and _TIME.search(text) is not None,
            tells_name=name and _NAME.search(text) is not None,
        )
        for number, speaker, person, role, length, text in found
    }


def _is_no_answer(text: str) -> bool:
    return len(text) <= _SHORT and _NO_ANSWER.search(text) is not None and _AND_MORE.search(text) is None


def _asks(text: str) -> bool:
    return "?" in text or "？" in text
