"""What a text says was done: a short summary, decisions, files and links, commits, open work. Rules only; pure."""

import re
from collections.abc import Iterable, Iterator

from memory.store.lazy import Pattern

MOST_DECISIONS, MOST_LEFT, MOST_COMMITS, MOST_FILES = 5, 3, 5, 10
_LINE = 150
"""Characters of a decision or an open task."""
_WHAT = 200
_SEGMENTS = 3  # segments of a path that are shown

_SUMMARY = Pattern(r"^[^\w\n]*(?:summary|zusammenfassung)\W*:\s*(?P<x>.{3,})$", re.IGNORECASE | re.MULTILINE)
_HERE = Pattern(
    r"here(?:['’]s| is) what (?:i|we) (?:did|changed|built|implemented|created)\s*[:.]?\s*(?P<x>[^\n]{10,200})",
    re.IGNORECASE,
)
_BULLET = Pattern(r"^\s*(?:[-*•]|\d+[.)])\s+")
_DECISION = Pattern(
    r"\b(?:changed|switched|moved)\b.+?\b(?:to|from)\b"
    r"|\b(?:used?|chose|picked|decided|switched|went)\b.+?\b(?:instead of|over|rather than|for(?! example))\b"
    r"|\b(?:decided|agreed|settled)\s+(?:to|on|that|against|upon)\b|\bdecision\b\W*:"
    r"|\b(?:geändert|gewählt|entschieden|umgestellt|beschlossen)\b|\bentscheidung\b\W*:|\bstatt\b|決定|に決め",
    re.IGNORECASE,
)
_OPEN = Pattern(
    r"\?\s*$|？\s*$|(?:\b(?:not|never)|n['’]t)\b(?:\s+\w+){0,2}\s+(?:decided|agreed|settled)\b"
    r"|\b(?:nicht|nichts)\b(?:\s+\w+){0,2}\s+(?:entschieden|beschlossen)\b|未決定",
    re.IGNORECASE,
)
_REASON = Pattern(
    r"\b(?:because|since|so that|for (?:consistency|better|cleaner|proper)|weil|damit|denn)\b", re.IGNORECASE
)
_LEFT = Pattern(
    r"^(?:todo|fixme|unfinished|remaining|still (?:need|to do)|left to do"
    r"|offen|noch zu tun|es fehlt noch)\b[\s:]*(?P<x>.*)",
    re.IGNORECASE,
)
_TO_DO = Pattern(
    r"\b(?:still(?:\s+(?:a lot|a bit|something|some|things|more|much|have|has|need|needs)){0,2}\s+to (?:do|be done)"
    r"|left to (?:do|be done)|remains? to be done|noch(?:\s+(?:viel|etwas|einiges|mehr))?\s+zu (?:tun|erledigen))\b"
    r"(?P<named>(?:\s+(?:is|are|ist|sind))?\s*:\s*)?",
    re.IGNORECASE,
)
"""Open work, anywhere in a sentence; `named` where the sentence goes on to say what."""
_PART = Pattern(r"[;:()–—]|\b(?:and|but|so|und|aber|also)\b", re.IGNORECASE)
_NOTHING = Pattern(r"\b(?:nothing|none|nichts)\b", re.IGNORECASE)
_NOT_SO = Pattern(
    r"\b(?:no|not|never|neither|hardly|anything|were|had|nicht|kein\w*|nie|kaum|waren|hatten?|gab)\b|n['’]t\b"
    r"|\b(?:there|it|that|this|which|es|das) (?:was|war)\b",
    re.IGNORECASE,
)
_ASKED = Pattern(r"\b(?:what|whatever|whether|if|was|war|ob|wenn|falls)\b", re.IGNORECASE)
_NAUGHT = Pattern(r"\W*(?:(?:is|are|ist|sind)\s+)?(?:nothing|none|nichts|keine?s?|n/a|no)\b", re.IGNORECASE)
_OVER = Pattern(
    r"\b(?:yesterday|gestern)\b|\b(?:done|finished|erledigt|fertig)\s+(?:now|already|since|jetzt|inzwischen)\b"
    r"|\b(?:is|are|now|all|already|been|ist|sind|jetzt|inzwischen)\s+(?:\w+\s+)?(?:done|finished|complete|erledigt|fertig)\b",
    re.IGNORECASE,
)
_STILL = Pattern(r"\b(?:remains?|still|not yet|have(?:n['’]t| not)|noch)\b", re.IGNORECASE)
_PENDING = Pattern(r"\b(?:unstaged|uncommitted|unfinished|incomplete|pending|offen|unfertig)\b", re.IGNORECASE)
"""Matched after `_STILL`: one combined expression would take seconds on a line of nothing but "still"."""
_NEXT = Pattern(
    r"^(?:next steps?|next|follow-?ups?|todo|remaining|still need(?: to)?"
    r"|nächste schritte|als nächstes)\s*[:-]\s*(?P<x>.+)",
    re.IGNORECASE,
)
_COMMIT = Pattern(
    r"\bcommit(?:s|ted)?\b[\s:`'\"(]*(?P<one>[0-9a-f]{7,40})\b|\[[\w/.-]+ (?P<two>[0-9a-f]{7,40})\]", re.IGNORECASE
)
_LINK = Pattern(r"https?://[^\s<>()\"'`\]]+")
_PATH = Pattern(r"(?<![\w/:.@-])(?:~|\.{1,2})?/?(?:[\w.@-]+/)+[\w@-][\w.@-]*\.\w{1,8}\b|`(?P<named>[\w@-]+\.\w{1,8})`")
_END = Pattern(r"(?<=[.!?。！？])\s|(?<=[。！？])")


def summary(asked: str, answers: Iterable[str]) -> str:
    """A summary: the one in the answers or, without one, the request and the last answer."""
    told = [text for text in answers if text.strip()]
    for pattern in (_SUMMARY, _HERE):
        for text in reversed(told):
            if (match := pattern.search(text)) is not None:
                return _cut(match["x"], _WHAT)
    parts = [first_sentence(asked), first_sentence(told[-1]) if told else ""]
    return " — ".join(_cut(part, _WHAT // 2 - 2) for part in parts if part)


def first_sentence(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(_END.split(lines[0], maxsplit=1)[0].split()) if lines else ""


def decisions(text: str) -> list[str]:
    """Lines that say what was chosen, or why. Of a long one the beginning counts: each verb there looks at the rest."""
    found = (
        _BULLET.sub("", line).strip()
        for line in text.splitlines()
        if (_DECISION.search(line[: 2 * _LINE]) and not _OPEN.search(line))
        or (_BULLET.match(line) and _REASON.search(line))
    )
    return _first(found, MOST_DECISIONS)


def unfinished(text: str) -> list[str]:
    return _first(_left(text), MOST_LEFT)


def _left(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bare = _BULLET.sub("", line).strip(" *_#")
        if (match := _LEFT.match(bare)) is not None:
            if not _NAUGHT.match(match["x"]):
                yield match["x"].strip(" :-") or bare
        elif (still := _STILL.search(bare)) is not None and _PENDING.search(bare, still.end()):
            yield bare
        else:
            yield from filter(None, map(_to_do, _END.split(bare)))


def _to_do(sentence: str) -> str:
    """The open work in a sentence; empty if it negates it, is about the past, or is a question."""
    match = _TO_DO.search(sentence)
    if match is None or sentence.rstrip(" *_\"'”)").endswith("?"):
        return ""
    part, after = _PART.split(sentence[: match.start()])[-1] + match[0], sentence[match.end() :]
    clause = part.rpartition(",")[2]
    if _NOTHING.search(part) or _NOT_SO.search(clause) or _NAUGHT.match(after) or _OVER.search(after):
        return ""
    if match["named"] is not None:
        return after or sentence
    return "" if _ASKED.search(clause) else sentence


def next_steps(text: str) -> list[str]:
    lines = (_BULLET.sub("", line).strip(" *_#") for line in text.splitlines())
    return _first((match["x"] for line in lines if (match := _NEXT.match(line))), MOST_LEFT)


def commits(text: str) -> list[str]:
    """Hashes named as commits, cut to 12 characters; a hash of letters only does not count."""
    found = (match["one"] or match["two"] for match in _COMMIT.finditer(text))
    return _first((each[:12] for each in found if any(letter.isdigit() for letter in each)), MOST_COMMITS)


def files(text: str) -> list[str]:
    """Paths, cut to their last three segments, and links."""
    links = [match[0].rstrip(".,;:!?") for match in _LINK.finditer(text)]
    paths = [match["named"] or match[0] for match in _PATH.finditer(_LINK.sub(" ", text))]
    return _first([*(shortened_path(path) for path in paths), *links], MOST_FILES)


def shortened_path(path: str) -> str:
    return "/".join([part for part in path.split("/") if part][-_SEGMENTS:])


def _first(found: Iterable[str], most: int) -> list[str]:
    return list(dict.fromkeys(_cut(each, _LINE) for each in found if each.strip()))[:most]


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    cut = line[:most].rpartition(" ")[0]
    return f"{cut if len(cut) > most // 2 else line[: most - 1]}…"
