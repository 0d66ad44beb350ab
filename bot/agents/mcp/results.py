"""What a server gave for a call, as text of bounded length for a model. Pure."""

import json
from collections.abc import Iterable
from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from sources.text import one_line

LONGEST = 200_000
"""Characters of a result; what of it a model is shown at once is for `bot.agents.context.tool_results` to say."""
_LABEL = 200


def text_of(content: Iterable[Any], structured: Any) -> str:
    """The words of a result; what is no text is named. Structured data stands for them where there are none."""
    parts = [_part(each) for each in content]
    if structured is not None and not any(isinstance(each, TextContent) for each in content):
        parts.append(json.dumps(structured, ensure_ascii=False, indent=1))
    text = "\n\n".join(filter(None, parts))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters were left out."
    return text or "(nothing)"


def _part(part: Any) -> str:
    match part:
        case TextContent(text=text):
            return text
        case ImageContent(mime_type=kind, data=data) | AudioContent(mime_type=kind, data=data):
            return f"({_kind(kind)}, {len(data) * 3 // 4:,} bytes, not shown)"
        case ResourceLink(uri=uri, name=name):
            return f"(a link: {one_line(name, _LABEL)} <{one_line(str(uri), _LABEL)}>)"
        case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
            return f"{one_line(str(uri), _LABEL)}:\n{text}"
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return f"({_kind(resource.mime_type)}, {len(resource.blob) * 3 // 4:,} bytes, not shown)"
        case _:
            return "(something that is not shown)"


def _kind(kind: str | None) -> str:
    return one_line(kind or "", 60) or "a file of unknown kind"
