"""Extracts facts from what somebody said, sentence by sentence: rules, no model. Pure.

A rule matches a sentence from its beginning, so that part of one never passes for a statement. Quotes, questions and
conditions are skipped. `memory.knowledge.fact_comparison` compares two statements.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from memory.knowledge.fact_comparison import VALUE, fingerprint, is_unspaced
from memory.store.fulltext import content_words
from memory.store.lazy import Pattern


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
_SAID_THEN = r"(?=i\b|ich\b|my\b|our\b|the\b|mein|unser|call|nenn|it['’]?s\b|it is\b|es ist\b|ist (?:es|sie|er)\b)"
CORRECTS = Pattern(
    r"^(?:(?:no|nope|actually|correction|i meant|that['’]s wrong|that is wrong|not true"
    r"|nein|doch|eigentlich|falsch|das stimmt nicht|korrektur|違う|違います|いや|いいえ|やっぱり|実は)\s*"
    rf"(?:[,.:;!、。-]\s*|\s+{_SAID_THEN})|sorry[\s,.:;!-]+{_SAID_THEN})",
    re.IGNORECASE,
)
"""How a correction begins. "Sorry, got distracted" is none."""
VALUE_ALONE = Pattern(
    r"(?:(?:it|that)(?:['’]?s| is) |(?:es|das|sie|er) ist |ist (?:es|sie|er) )?"
    r"(?!(?:thanks?|thank|please|wait|stop|sorry|never\w*|not?|yes|ok|okay|it|that|this|i|you|he|she|we|they|my|your|wrong"
    r"|right|true|fine|enough|later|now|today|tonight|tomorrow|nothing|nobody|none|really|all|just|maybe|done|way|good"
    r"|hello|hi|bye|go|got|get|back|forget|remind|show|cancel|delete|remove|add|set|tell|give|leave|let['’]?s?|can|could"
    r"|will|would|do|don['’]?t|danke|bitte|halt|nicht|nein|ja|doch|das|es|ich|du|er|sie|wir|mein|dein|falsch|richtig|egal"
    r"|genug|später|jetzt|heute|morgen|nichts|niemand|alles|klar|gerne?|schon|vielleicht|fertig|hallo|gute[nr]?|kannst"
    r"|lösche?|vergiss|zeige?|erinnere?|lass)\b)(?P<x>[\w'’.-]{1,40}(?: [\w'’.-]{1,40})?)",
    re.IGNORECASE,
)
"""A correction that says no more than another value: "no, it's red"."""
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
    if corrects and "…" not in bare and VALUE.fullmatch(bare) is not None:
        return Statement(Category.LESSON, shortened(ASIDE.sub("", bare)), corrects, only_replaces=True)
    if corrects and (value := VALUE_ALONE.fullmatch(bare)) is not None:
        return Statement(Category.LESSON, value["x"], corrects, only_replaces=True)
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
