"""What others wrote inside a prompt: so that none of it passes for the platform's own lines, and how long it is."""

import re

_WIDE = re.compile("[\u3040-\ud7a3]")
_TAGS = re.compile(r"<(?=\s*/?\s*(?:quoted|block)\b)", re.IGNORECASE)
_HEADS = re.compile(r"(?:(?<=[\n\r\x0b\x0c\x85\u2028\u2029])|\A)([^\S\n]*)\[")

_SOURCE = 300  # characters of where a quotation comes from


def untagged(text: str) -> str:
    """The text with a backslash before the tags of quotations and blocks."""
    return _TAGS.sub(r"\\<", text) if "<" in text else text


def plain(text: str) -> str:
    """What somebody wrote, so that no line of it looks like one of the platform's: `[` at a line's beginning and the
    tags of quotations and blocks get a backslash before them."""
    text = untagged(text)
    return _HEADS.sub(r"\1\\[", text) if "[" in text else text


def quotation(source: str, text: str) -> str:
    """Words from elsewhere as data: no line or tag inside looks like one of the platform's."""
    from_ = source[:_SOURCE].replace('"', "%22").replace("<", "%3C")
    return f'<quoted from="{from_}">\n{plain(text)}\n</quoted>'


def estimate_tokens(text: str) -> int:
    """A guess where no provider counts: 3.6 characters a token, 1.1 tokens a CJK character (measured averages)."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return int((len(text) - wide) / 3.6 + wide * 1.1) + 1
