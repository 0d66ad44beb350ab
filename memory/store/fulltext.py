"""Text for FTS5: what is indexed, and MATCH expressions that no user text can break out of.

SQLite's tokenizer (set where the tables are created, in `migrations/`) folds accents and stems English, but takes a
run of Chinese, Japanese, Korean or Thai as one word. Such runs are indexed and searched as overlapping pairs of
characters, so that the file needs no custom tokenizer and any SQLite can read it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from memory.store.errors import Refused
from memory.store.lazy import UnicodePattern
from texts import gettext_lazy

Mode: TypeAlias = Literal["any", "all"]

MAX_INDEXED = 100_000
"""Characters of a text that are indexed, and stored for the index."""

_MAX_ASKED = 4_000  # characters of a question that are read
_MAX_TERMS = 16  # bm25 costs by matched rows: 16 words are still milliseconds over 100,000 messages

# strftime would follow the locale of the process
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_RUN = UnicodePattern(rf"[{_UNSPACED}]+\p{{M}}*")  # a combining mark left behind would join the text after the run
# Within a run each script is a word: Japanese writes particles in Hiragana between the words.
_WORD = UnicodePattern(
    rf"""(?V1)
    (?P<katakana>\p{{Katakana}}[\p{{Katakana}}ー]*)
    | (?P<hiragana>\p{{Hiragana}}[\p{{Hiragana}}ー]*)
    | (?P<unspaced>\p{{Han}}+|\p{{Hangul}}+|\p{{Thai}}+|\p{{Lao}}+|\p{{Khmer}}+|\p{{Myanmar}}+)
    | (?P<spaced>[[\p{{L}}\p{{N}}]--[{_UNSPACED}]][[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]*)
    """,
    re.VERBOSE,
)
_MARKS = UnicodePattern(r"\p{M}+")
# SQLite's tables are older: they treat some symbols as letters, and a soft hyphen as the end of a word.
_INVISIBLE = UnicodePattern(r"(?V1)[\p{Cf}--\u200b]+")
_BETWEEN = UnicodePattern(r"[^\p{L}\p{N}\p{M}]+\p{M}*|^\p{M}+")
_ASCII_FOLDED = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(1, 128)} | {0: None}
_UNSTORABLE = UnicodePattern(r"[\x00\ud800-\udfff]")


def _listed(words: str) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFKC", words).casefold().split())


def _forms(words: str) -> Mapping[str, Sequence[str]]:
    """For each form the forms of its word, first itself."""
    groups = [group.split() for group in words.split(";")]
    return {form: (form, *(each for each in group if each != form)) for group in groups for form in group}


_ENGLISH = _listed(
    """a about above after again against all am an and any are aren as at be because been before being below between
    both but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just ll m me more most my myself no nor not now of off on once only or other our ours ourselves out over own re
    s same she should shouldn so some such t than that the their theirs them themselves then there these they this
    those through to too under until up ve very was wasn we were weren what when where which while who whom why will
    with won would wouldn you your yours yourself yourselves
    hello hey hi ok okay please thank thanks thx yeah yep yes"""
)
_GERMAN = _listed(
    """aber alle allem allen aller alles als andere anderen auch auf aus bei beim bis bist da dabei damit dann das
    dass dein deine deinem deinen deiner dem denn der des dich diese diesem diesen dieser dieses dir doch dort du
    durch ein eine einem einen einer eines er es etwas euch euer eure für gegen habe haben hatte hatten hier ihm ihn
    ihnen ihr ihre ihrem ihren ihrer ich im ist ja jede jedem jeden jeder jedes jetzt kann kannst kein keine keinen
    können machen mein meine meinem meinen meiner mich mir mit muss nach nein nicht nichts noch nur ob oder ohne
    sehr sein seine seinem seinen seiner seit sich sie sind soll sollte sondern sonst über um und uns unser unsere
    unter vom von vor wann waren warst weil welche welchen welcher welches wenn wer werde werden wie wieder wir wird
    wirst wo worden wurde wurden würde während zu zum zur zwar zwischen
    bitte danke hallo"""
)
# Forms of English words that stemming does not bring together.
_IRREGULAR = _forms(
    """become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought;
    build built; buy bought; catch caught; child children; choose chose chosen; come came; dig dug; draw drew drawn;
    drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought;
    find found; fly flew flown; foot feet; forget forgot forgotten; freeze froze frozen; give gave given; go went gone;
    grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known; lead led;
    leave left; lend lent; life lives; light lit; lose lost; make made; man men; mean meant; meet met; mouse mice;
    pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; sell sold; send sent;
    shake shook shaken; shoot shot; show shown; sing sang sung; sit sat; sleep slept; speak spoke spoken; spend spent;
    stand stood; steal stole stolen; stick stuck; swear swore sworn; swim swam swum; take took taken; teach taught;
    tear tore torn; tell told; think thought; throw threw thrown; tooth teeth; understand understood;
    wake woke woken; wear wore worn; wife wives; win won; woman women; write wrote written"""
)
# German stop words that are English content words; dropped only next to a clearly German one.
_GERMAN_OR_ENGLISH = frozenset(["also", "bin", "den", "die", "dies", "hab", "hat", "man", "nun", "war"])
_CHINESE_KOREAN = frozenset(
    ["的", "了", "吗", "呢", "是", "我", "你", "什么", "怎么", "么样", "谢谢", "好的", "네", "것", "감사합니다"]
)
# Possessive: linear time for a run of particles, however it could be split.
_PARTICLES = UnicodePattern(
    r"(?>ありがとう|ございます|でしょう|ください|ですか|でした|ました|ません|だった|という|から|まで|より|です|ます|"
    r"した|する|して|いる|いた|ある|あった|なに|どう|どこ|いつ|だれ|これ|それ|あれ|この|その|あの|こと|もの|って|"
    r"たい|ない|はい|うん|は|が|を|に|へ|と|で|も|の|や|か|ね|よ|な|だ|い|く|た|て)*+"
)


class Term(Struct, frozen=True):
    """One search term: the word for people to read, and its MATCH expression."""

    word: str
    match: str


class _Word(Struct, frozen=True):
    text: str
    kind: str  # the group of _WORD


def storable(text: str) -> str:
    """The text without what SQLite cannot store: NUL, which ends a C string, and lone surrogates."""
    return _UNSTORABLE.sub("", text)


def require_storable(text: str, what: str = gettext_lazy("the text")) -> str:
    """The text; raises `Refused` if it cannot be stored unchanged, so that nothing is dropped silently."""
    if storable(text) != text:
        raise Refused("{what} contains a NUL character or half of a surrogate pair: leave it out", what=what)
    return text


def index_text(text: str) -> str:
    """The value of a `search_text` column for `text`; at most 100,000 characters."""
    folded = _folded(text[:MAX_INDEXED])
    if folded.isascii():
        return folded
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0], last=True))} ", folded)[:MAX_INDEXED]


def word_set(text: str) -> frozenset[str]:
    """The words of `index_text`, each once; to compare many texts."""
    if text.isascii() and len(text) <= MAX_INDEXED:
        return frozenset(text.translate(_ASCII_FOLDED).split())
    return frozenset(index_text(text).split())


def date_words(moment: datetime) -> str:
    """A date in the forms that people search for: "2026-11-22 22 November 2026", in UTC."""
    return _day_words(moment.astimezone(UTC).date())


@lru_cache(maxsize=64)  # nearly always today
def _day_words(day: date) -> str:
    return f"{day:%Y-%m-%d} {day.day} {_MONTHS[day.month - 1]} {day.year}"


def terms(text: str, *, mode: Mode) -> list[Term]:
    """The search terms of a query `text`, at most 16.

    Stop words are dropped unless nothing else remains. With "all", a run of characters without spaces is searched
    literally; with "any", by its pairs, since it may contain several words.
    """
    words = list(_words(text[:_MAX_ASKED]))
    found = [term for word in _without_stops(words) or words for term in _terms_of(word, mode)]
    return list(dict.fromkeys(found))[:_MAX_TERMS]


def match_query(text: str, *, mode: Mode) -> str | None:
    """A MATCH expression for `text`, safe for any text; None when there is no word in it."""
    matches = [term.match for term in terms(text, mode=mode)]
    return (" OR " if mode == "any" else " AND ").join(matches) or None


def content_words(text: str) -> list[str]:
    """The content words of `text` in lower case, in order; unspaced scripts by their pairs.

    Empty for "ok thanks", not for "What's my dog's name?".
    """
    found: list[str] = []
    for word in _without_stops(list(_words(text[:MAX_INDEXED]))):
        found += [word.text] if word.kind == "spaced" else _pairs(word.text)
    return found


def all_words(text: str) -> list[str]:
    """The words of a question in lower case, including stop words."""
    return [word.text for word in _words(text[:_MAX_ASKED])]


def _folded(text: str) -> str:
    """Words only, in one form for what people consider the same: width, case (also of ß), composed or not."""
    if text.isascii():  # the same result in a tenth of the time: a block is indexed at every edit
        return " ".join(text.translate(_ASCII_FOLDED).split())
    folded = unicodedata.normalize("NFKC", storable(text)).casefold()
    return _BETWEEN.sub(" ", _INVISIBLE.sub("", unicodedata.normalize("NFKC", folded)))


def _words(text: str) -> Iterator[_Word]:
    for match in _WORD.finditer(_folded(text)):
        kind = match.lastgroup or "spaced"
        # The tokenizer would split at vowel signs of Thai and similar scripts; pairs have letters only.
        word = match[0] if kind == "spaced" else _MARKS.sub("", match[0])
        if word:
            yield _Word(word, kind)


def _without_stops(words: list[_Word]) -> list[_Word]:
    german = any(word.text in _GERMAN and word.text not in _ENGLISH for word in words)
    return [word for word in words if not _is_stop(word, german=german)]


def _is_stop(word: _Word, *, german: bool) -> bool:
    if word.kind == "hiragana":
        return len(word.text) == 1 or _PARTICLES.fullmatch(word.text) is not None
    if word.kind != "spaced":
        return word.text in _CHINESE_KOREAN
    return word.text in _ENGLISH or word.text in _GERMAN or (german and word.text in _GERMAN_OR_ENGLISH)


def _pairs(run: str, *, last: bool = False) -> list[str]:
    """Overlapping pairs; with `last` also the single last character, so that a prefix finds it."""
    letters = _MARKS.sub("", run)
    pairs = [letters[at : at + 2] for at in range(len(letters) - 1)]
    return [*pairs, letters[-1]] if letters and (last or not pairs) else pairs


def _terms_of(word: _Word, mode: Mode) -> Iterator[Term]:
    if word.kind == "spaced":
        match = " OR ".join(map(_quoted, _IRREGULAR.get(word.text, (word.text,))))
        yield Term(word.text, f"({match})" if word.text in _IRREGULAR else match)
    elif len(word.text) == 1:
        yield Term(word.text, f"{_quoted(word.text)}*")
    elif mode == "all" or word.kind == "katakana":  # a run of Katakana is one word
        yield Term(word.text, _quoted(" ".join(_pairs(word.text))))
    else:
        for pair in _pairs(word.text):
            yield Term(pair, _quoted(pair))


def _quoted(words: str) -> str:
    """A phrase; inside quotes, FTS5's only syntax is the quote itself."""
    return '"' + words.replace('"', '""') + '"'


def packed(words: Iterable[str]) -> list[str]:
    """As few queries as can hold these words, since one query uses only so many."""
    found: list[str] = []
    for word in dict.fromkeys(words):
        both = f"{found[-1]} {word}" if found else word
        if found and len(terms(both, mode="any")) < _MAX_TERMS:
            found[-1] = both
        else:
            found.append(word)
    return found
