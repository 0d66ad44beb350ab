"""Extracts facts from what somebody said, sentence by sentence, and compares two statements: rules, no model. Pure.

A rule matches a sentence from its beginning, so that part of one never passes for a statement. Quotes, questions and
conditions are skipped.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum, StrEnum

import regex
from msgspec import Struct

from memory.store.fulltext import content_words
from memory.store.patterns import Pattern, UnicodePattern

SAME = 0.6
"""The share of common words from which two statements count as the same."""
_OPPOSED = 0.4
"""Less is enough for opposed ones: "prefers a dark theme" and "prefers a light theme" share two of four words."""
LEAST_WORDS = 3
"""Shorter statements say too little to be kept; one about a person starts with that person."""

_PAIRED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = UnicodePattern(rf"(?V1)[{_PAIRED}]+|[[\p{{L}}\p{{N}}\p{{M}}]--[{_PAIRED}]]+")
_RUN = UnicodePattern(rf"[{_PAIRED}]")
_JOINTS = str.maketrans("", "", "_'’")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LIKES = _set(
    "like likes love loves enjoy enjoys prefer prefers want wants mag liebt bevorzugt möchte trinkt isst 好き"
)
_HATES = _set("hate hates dislike dislikes detests hasst 嫌い 苦手")
_NOT = _set("not never dont doesnt didnt isnt arent cannot cant without nicht nie niemals kein keine keinen ohne no")
_JAPANESE = UnicodePattern("(?:が|は)?(?P<word>大好き|好き|嫌い|苦手)(?:じゃない|ではない)?(?:です|だ)?$")
_ALSO = UnicodePattern(r"\b(?:also|too|both|as well|auch|ebenfalls)\b|も(?:大好き|好き|嫌い|苦手)")
_COMPARED = UnicodePattern(
    r"\b(?:over|instead of|rather than|more than|than|statt|anstatt|anstelle von|lieber als|als)\b"
)
_SMALL = _set(
    "over instead rather than the and for with that this are was were has have does did would should could more most "
    "very really much statt anstatt lieber als der die das den dem ein eine einen einem einer und für mit von auf sehr "
    "gern gerne immer always usually user person his her their them"
)
_EXCLUSIVE = _set("prefer prefers lives bevorzugt wohnt")
_ONE_VALUE = UnicodePattern(
    r"(wants to be called|(?:meine? .+ )?heißt|pronouns are|favou?rite .+? (?:is|are)|lieblings\w+ (?:ist|sind)"
    r"|my (?:\S+ )*(?:name|birthday|address|number) is) (.+)",
    regex.IGNORECASE,
)
"""Properties with one value at a time: a new value replaces the old one."""
_VALUE = Pattern(
    r"(.+? (?:is called|is named|is|are|lives in|works (?:at|for)|ist|sind|heißt|wohnt in|arbeitet bei)) .+",
    re.IGNORECASE,
)
_HEADS = _set("called heißt pronouns")
_PAIRS = """dark/light solid/dashed tabs/spaces left/right before/after hot/cold always/never short/long
    formal/informal metric/imperial early/late on/off enabled/disabled public/private sync/async
    hell/dunkel kurz/lang immer/nie heiß/kalt links/rechts vor/nach früh/spät dunkles/helles dunkle/helle
    du/sie"""
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in _PAIRS.split())


class Relation(Enum):
    """How a new statement relates to a known one."""

    SAME = "same"
    OPPOSED = "opposed"
    OTHER = "other"


class _Sense(Struct, frozen=True):
    """A statement prepared for comparison: its words, the meaningful ones, and whether it is negated."""

    words: frozenset[str]
    content: frozenset[str]
    denies: bool
    first: frozenset[str]
    """What is preferred over something else; empty if nothing is compared."""


def words(text: str) -> frozenset[str]:
    """The words of a statement in lower case: at least three letters, or with a digit; unspaced scripts by pairs."""
    return frozenset(_tokens(text))


def _tokens(text: str) -> Iterable[str]:
    folded = _folded(text).translate(_JOINTS)
    for token in _TOKEN.findall(folded):
        if _RUN.match(token):
            yield from (token[at : at + 2] for at in range(max(1, len(token) - 1)))
        elif len(token) > 2 or any(each.isdigit() for each in token):
            yield token


def _folded(text: str) -> str:
    """In lower case, and in American spelling where a rule reads both."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return folded.replace("favourite", "favorite").replace("colour", "color")


def is_unspaced(text: str) -> bool:
    """Whether some of a text is in a script without spaces between words."""
    return not text.isascii() and _RUN.search(text) is not None


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Common words divided by all words: 0 to 1; two empty sets count as 1."""
    if not one and not other:
        return 1.0
    return len(one & other) / len(one | other)


def fingerprint(text: str) -> str:
    """The letters and digits of a statement: equal for texts that differ only in case, spaces and punctuation."""
    return "".join(each for each in _folded(text) if each.isalnum())


def are_near(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether two statements share a word besides the verb; if not, they need not be compared."""
    return not (new & old).isdisjoint(new - _LIKES - _SMALL) or bool(new & _HEADS and old & _HEADS)


def speaks_of_the_same(new: str, old: str) -> bool:
    """Whether a correction can refer to a statement: they share something and differ in something."""
    one, other = _sense(new), _sense(old)
    return bool(one.content & other.content) and new != old


def names_same_property(new: str, old: str) -> bool:
    """Whether two statements name the same property, such as "my sister's name is", with any values."""
    values = _VALUE.fullmatch(new), _VALUE.fullmatch(old)
    return values[0] is not None and values[1] is not None and fingerprint(values[0][1]) == fingerprint(values[1][1])


def says_instead(new: str, old: str) -> bool:
    """Whether a correction says something else with the same verb: "likes blues" after "likes jazz"."""
    one, other = _JAPANESE.search(new), _JAPANESE.search(old)
    same = one[0] == other[0] if one and other else new.partition(" ")[0] == old.partition(" ")[0]
    return same and new != old and _ALSO.search(new) is None


def _sense(text: str) -> _Sense:
    folded = _folded(text)
    denies = False
    if found := _JAPANESE.search(folded.strip("。. ")):
        denies = (found["word"] in _HATES) ^ ("ない" in found[0])
        folded = folded[: found.start()]
    all_words = words(text)
    spoken = regex.findall(r"[\p{L}\p{M}\p{N}]+", folded.translate(_JOINTS))
    denies ^= bool(sum(word in _NOT or word in _HATES for word in spoken) % 2)
    left, compared, _ = _cut(folded)
    plain = _LIKES | _HATES | _NOT | _SMALL
    return _Sense(all_words, words(folded) - plain, denies, (words(left) - plain) if compared else frozenset())


def _cut(folded: str) -> tuple[str, str, str]:
    found = _COMPARED.search(folded)
    return (folded, "", "") if found is None else (folded[: found.start()], found[0], folded[found.end() :])


def relation(new: str, old: str) -> Relation:
    """How one statement relates to another."""
    if fingerprint(new) == fingerprint(old):
        return Relation.SAME
    values = _ONE_VALUE.fullmatch(new), _ONE_VALUE.fullmatch(old)
    if values[0] and values[1] and fingerprint(values[0][1]) == fingerprint(values[1][1]):
        return Relation.OPPOSED
    one, other = _sense(new), _sense(old)
    share = jaccard(one.words, other.words)
    if one.denies is not other.denies:
        # Without words of liking and negation, only the topic is left.
        return Relation.OPPOSED if jaccard(one.content, other.content) >= SAME else Relation.OTHER
    mine, theirs = _unlike(one.content, other.content), _unlike(other.content, one.content)
    if mine and theirs:
        return Relation.OPPOSED if share >= _OPPOSED and _replaces(one, other, mine, theirs, (new, old)) else _OTHER
    if one.first and other.first and _unlike(one.first, other.first) and _unlike(other.first, one.first):
        return Relation.OPPOSED  # the same two, in reverse order
    return Relation.SAME if share >= SAME else Relation.OTHER


_OTHER = Relation.OTHER


def _unlike(mine: frozenset[str], theirs: frozenset[str]) -> frozenset[str]:
    """My words without any form in theirs: "border" matches "borders"."""
    return frozenset(word for word in mine if not any(_inflected(word, other) for other in theirs))


def _inflected(one: str, other: str) -> bool:
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and len(long) - len(short) <= 3 and long.startswith(short) and not short[-1].isdigit()


def _replaces(one: _Sense, other: _Sense, mine: frozenset[str], theirs: frozenset[str], texts: tuple[str, str]) -> bool:
    """Whether one says something that cannot be true together with the other."""
    if not one.content & other.content:
        return False  # only the verb in common
    if any(pair & mine and pair & theirs for pair in _OPPOSITES):
        return True
    if any(word[-1].isdigit() for word in mine) and any(word[-1].isdigit() for word in theirs):
        return True  # another version, number or time
    if (one.words | one.content) & _EXCLUSIVE and (other.words | other.content) & _EXCLUSIVE:
        return True
    purposes = [text.casefold().replace(" für ", " for ").partition(" for ")[2].strip(" .") for text in texts]
    return bool(purposes[0]) and purposes[0] == purposes[1]


class Category(StrEnum):
    PREFERENCE = "user_preference"
    PATTERN = "codebase_pattern"
    HABIT = "workflow_habit"
    LESSON = "lesson_learned"


class Rule(Struct, frozen=True):
    """`says` builds the statement from the pattern's groups; `own`: only a person says it, about themselves."""

    category: Category
    pattern: Pattern
    says: str
    own: bool


def _rules(category: Category, *table: tuple[str, str], own: bool = False) -> tuple[Rule, ...]:
    return tuple(Rule(category, Pattern(pattern, re.IGNORECASE), says, own) for says, pattern in table)


_ADVERBS = r"(?: really| much| still| now| always| actually)?"
_LIKE = r"(?P<verb>prefer|like|love|enjoy|hate|dislike)"
_DO = r"(?P<verb>trinke|esse|nehme|lese|höre|arbeite)"
_DAY = "morning|evening|night|day|week|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_PROJECT = r"(?:codebase|code base|project|repo(?:sitory)?|monorepo|app(?:lication)?)"
_PROJEKT = r"(?:codebase|projekt|repo(?:sitory)?|app|anwendung)"
_IS = r"(?:uses?|has|requires|needs|runs on|is written in|is built with)"
_IST = r"(?:nutzt|verwendet|benutzt|braucht|hat|läuft auf|ist in)"
_WHEN = r"(?:before|after|when(?:ever)?)\s+(?:\w+ing|every|each|a|the|i|we|you)\b"
_WANN = r"(?:bevor|nachdem|vor\s+(?:dem|jedem)|nach\s+(?:dem|jedem))\b"
_ICH = "(?:私は|わたしは|僕は|俺は)?"
_JA_LIKE = "(?:大好き|好き|嫌い|苦手)(?:じゃない|ではない)?"

OF_SELF = (
    *_rules(
        Category.PREFERENCE,
        ("{verb}s {x}", rf"i{_ADVERBS} {_LIKE} (?P<x>.+)"),
        ("does not {verb} {x}", rf"i (?:do not|don['’]?t)(?: really)? {_LIKE} (?P<x>.+)"),
        ("hates {x}", r"i can(?:['’]?t|not) stand (?P<x>.+)"),
        ("would rather {x}", r"i(?:['’]d| would) rather (?P<x>.+)"),
        ("favorite {x}", r"my favou?rite (?P<x>.+? (?:is|are) .+)"),
        ("wants to be called {x}", r"(?:please )?call me (?P<x>\S.{0,40})"),
        ("pronouns are {x}", r"my pronouns are (?P<x>.+)"),
        ("{german} {x}", r"ich (?P<verb>mag|liebe|hasse|bevorzuge) (?P<x>.+)"),
        ("{german} {how} {x}", rf"ich {_DO} (?P<how>gern|gerne|am liebsten|lieber) (?P<x>.+)"),
        ("{x}", r"meine? (?P<x>lieblings.+? (?:ist|sind) .+)"),
        ("heißt {x}", r"nenne? mich (?:bitte )?(?P<x>\S.{0,40})"),
        ("{x}", rf"{_ICH}(?P<x>[^はがを、]{{1,30}}(?:が|は){_JA_LIKE})(?:です|だ)?(?:よ|ね)?"),
        own=True,
    ),
    *_rules(
        Category.HABIT,
        ("{x}", r"i (?P<x>(?:always|usually|normally|never) .+)"),
        ("every {x}", rf"every (?P<x>(?:{_DAY}),? i .+)"),
        ("{x}", r"ich (?P<x>\w+ (?:immer|meistens|normalerweise|nie) .+)"),
        ("{x}", rf"{_ICH}(?P<x>(?:いつも|毎日|毎朝|毎晩).{{2,40}}(?:ます|する|している|しています))"),
        own=True,
    ),
)
OF_ANY = (
    *_rules(
        Category.PREFERENCE,
        (
            "{verb} {x}",
            r"(?:the )?user (?P<verb>prefers|likes|loves|wants|hates|dislikes|asked for|requested) (?P<x>.+)",
        ),
        ("{x}", r"(?P<x>changed (?:to|from) .+?),? (?:per|as) (?:the )?user(?:['’]s)? (?:preference|request).*"),
    ),
    *_rules(
        Category.PATTERN,
        ("{x}", rf"(?:this|the|our|my) {_PROJECT} (?P<x>{_IS} .+)"),
        ("{x}", r"we (?P<x>use .+? for .+)"),
        ("{x}", r"(?P<x>(?:always|must|should) use (?:TERM_\w+|(?-i:[A-Z][A-Z_*]{4,})).*)"),
        (
            "{x}",
            r"(?P<x>(?:the )?(?:\w+ )?(?:tokens|colou?rs|variables|constants)"
            r" (?:are defined|are|live|are kept) (?:in|at) .+)",
        ),
        ("{x}", rf"(?:dieses|das|unser|mein|die|unsere|meine) {_PROJEKT} (?P<x>{_IST} .+)"),
        ("{x}", r"wir (?P<x>(?:nutzen|verwenden|benutzen) .+? für .+)"),
        ("{x}", r"この(?:プロジェクト|リポジトリ|アプリ)は(?P<x>.{2,60}を使(?:う|って|用).*)"),
    ),
    *_rules(
        Category.HABIT,
        ("{x}", rf"(?:please )?(?P<x>(?:always|never|make sure to) .+? {_WHEN}.*)"),
        ("{x}", rf"(?:bitte )?(?P<x>(?:immer|nie|niemals) .+? {_WANN}.*)"),
    ),
    *_rules(
        Category.LESSON,
        ("{x}", r"(?:note|important|remember|caution|warning|careful|lesson(?: learned)?)\s*[:!]\s*(?P<x>.+)"),
        ("{x}", r"(?:please )?remember that (?P<x>.+)"),
        ("{x}", r"(?P<x>.+ (?:is|are) (?:a )?(?:pre-existing|known issues?)\b.*)"),
        ("{x}", r"(?P<x>(?:do not|don['’]?t|never) (?:fix|touch|change|edit) .+)"),
        ("{x}", r"(?:wichtig|achtung|hinweis|vorsicht|merke|merk dir|denk dran)\s*[:,!]\s*(?P<x>.+)"),
        ("{x}", r"(?:注意|重要|メモ|覚えて(?:おいて)?)\s*[:：、]\s*(?P<x>.+)"),
    ),
)
GERMAN = {
    "mag": "mag",
    "liebe": "liebt",
    "hasse": "hasst",
    "bevorzuge": "bevorzugt",
    "trinke": "trinkt",
    "esse": "isst",
    "nehme": "nimmt",
    "lese": "liest",
    "höre": "hört",
    "arbeite": "arbeitet",
}
"""First-person verbs with the form for another person."""

BEGINS = Pattern(
    r"i\b|my\b|please\b|call me\b|every\b|(?:the )?user\b|changed\b|(?:this|the|our) \w|we use\b|always\b|must\b"
    r"|should use\b|(?:\w+ )?(?:tokens|colou?rs|variables|constants)\b|never\b|make sure\b|note|important|remember"
    r"|caution|warning|careful|lesson|do not|don|ich\b|mein|nenn|[^\x00-\u2fff]"
    r"|(?:dieses|das|unser|die|unsere|wir|bitte|immer|nie|niemals|wichtig|achtung|hinweis|vorsicht|merke?|denk)\b",
    re.IGNORECASE,
)
"""How a sentence begins that a rule other than those of `KNOWN` may match: a quick filter, as most match none."""
KNOWN = Pattern(r"pre-existing|known issue|[がを](?:大好き|好き|嫌い|苦手|使)", re.IGNORECASE)

FENCED = Pattern(r"```.*?(?:```|\Z)", re.DOTALL)
QUOTED_LINE = Pattern(r"^\s*>.*$", re.MULTILINE)
QUOTED = Pattern(r"[“„«\"](?:[^“”„«»\"\s]+\s+){2,}[^“”„«»\"]*[”“»\"]|「[^」]{6,}」")
SENTENCE = Pattern(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+")
BULLET = Pattern(r"^\s*(?:[-*•]|\d+[.)])\s+")
LEAD = Pattern(
    r"^(?:<?@[^\s>]+>?[,:]?\s+|(?:yes|ok(?:ay)?|well|so|and|but|also|btw|by the way|hi|hello|hey|please note"
    r"|ja|also|und|aber|übrigens|hallo)\b[,:]?\s+)+",
    re.IGNORECASE,
)
CORRECTS = Pattern(
    r"^(?:no|nope|actually|correction|sorry|i meant|that['’]s wrong|that is wrong|not true"
    r"|nein|doch|eigentlich|falsch|das stimmt nicht|korrektur|違う|違います|いや|いいえ)\s*"
    r"(?:[,.:;!、。-]\s*|\s+(?=i\b|ich\b|my\b|mein|call|nenn))",
    re.IGNORECASE,
)
"""How a correction begins."""
SUPPOSED = Pattern(r"^(?:if|would|could|suppose|imagine|falls|angenommen|wenn|was wäre)\b|^もし", re.IGNORECASE)
ASIDE = Pattern(r",?\s+(?:but|because|since|so that|although|aber|weil|denn|obwohl|und ich|and i)\s.*$", re.IGNORECASE)
POINTING = Pattern(
    r"^(?:it|this|that|these|those|you|your|how|what|when|where|the idea|das|dies|dich|es|ihn|sie)\b", re.IGNORECASE
)
"""A sentence that begins like this refers to something outside it."""
MINE = tuple(
    (Pattern(rf"\b{mine}\b", re.IGNORECASE), theirs)
    for mine, theirs in (("my", "their"), ("me", "them"), ("i", "they"), ("mine", "theirs"))
)


MOST = 10
"""Statements taken from one text; the first ones."""
LONGEST, LONGEST_UNSPACED = 120, 50
"""Characters of one statement, and of one in a script without spaces, which says as much in fewer; longer ones are cut
after a word."""
READ = 4_000
"""Characters of a text that are read: the rules take half a millisecond for that many."""
_LONGEST_SENTENCE = 500  # longer ones are lists or listings, not statements


class Statement(Struct, frozen=True):
    """One statement of a person. `corrects`: it corrects something."""

    category: Category
    text: str
    corrects: bool = False
    only_replaces: bool = False
    """Whether it is kept only in place of another value for the same property."""


def statements(text: str, *, own: bool) -> list[Statement]:
    """The first `MOST` different statements in a text; `own`: a person wrote it, so that "I" is that person."""
    found: dict[str, Statement] = {}
    for sentence, corrects in _sentences(text[:READ]):
        said = _said(sentence, own=own, corrects=corrects and own)
        if said is not None:
            found.setdefault(fingerprint(said.text), said)
        if len(found) == MOST:
            break
    return list(found.values())


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Sentences without quotes and questions; for each, whether it or the text before it is a correction."""
    text = QUOTED.sub(" … ", QUOTED_LINE.sub("", FENCED.sub("\n", text)))
    corrects = False
    for part in SENTENCE.split(text):
        if len(part) > _LONGEST_SENTENCE:
            continue
        sentence = BULLET.sub("", part).strip().strip("*_")
        if not sentence:
            continue
        rest = CORRECTS.sub("", f"{sentence} ").strip()
        corrects = corrects or len(rest) < len(sentence)
        rest = LEAD.sub("", rest)
        if rest and not rest.endswith(("?", "？")) and _is_worth_reading(rest, corrects):
            yield rest, corrects
        corrects = corrects and not rest


def _is_worth_reading(sentence: str, corrects: bool) -> bool:
    begins = (corrects or BEGINS.match(sentence) is not None) and SUPPOSED.match(sentence) is None
    return begins or KNOWN.search(sentence) is not None


def _said(sentence: str, *, own: bool, corrects: bool) -> Statement | None:
    bare = sentence.rstrip(" .!;。！…")
    for rule in (*OF_SELF, *OF_ANY) if own else OF_ANY:
        if (match := rule.pattern.fullmatch(bare)) is not None:
            text = _text(rule, match)
            return None if text is None else Statement(rule.category, text, corrects)
    if corrects and "…" not in bare and _VALUE.fullmatch(bare) is not None:
        return Statement(Category.LESSON, shortened(ASIDE.sub("", bare)), corrects, only_replaces=True)
    return None


def _text(rule: Rule, match: re.Match[str]) -> str | None:
    """The statement in stored form; None if nothing meaningful is left."""
    words = ASIDE.sub("", match["x"]).strip(" ,:;*_")
    if rule.category is Category.PREFERENCE and POINTING.match(words):
        return None
    if rule.own:
        for pattern, other in MINE:
            words = pattern.sub(other, words)
    groups = {name: value or "" for name, value in match.groupdict().items()}
    verb = groups.get("verb", "").casefold()
    groups |= {"x": words, "verb": verb, "german": GERMAN.get(verb, verb)}
    text = shortened(" ".join(rule.says.format(**groups).split()))
    return text if "…" not in text and content_words(words) else None


def shortened(text: str) -> str:
    """Cut to the maximum length after a whole word."""
    most = LONGEST_UNSPACED if is_unspaced(text) else LONGEST
    if len(text) <= most:
        return text
    cut = text[: most + 1].rpartition(" ")[0]
    return (cut if len(cut) > most // 2 else text[:most]).rstrip(" ,;:")
