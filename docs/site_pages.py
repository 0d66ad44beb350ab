"""A hook of MkDocs that adds the pages generated from the code, and those that are elsewhere in the repository.

Links to those files work in the repository; in the site, they lead to the pages.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from bot.agents import tools
from bot.agents.tools.base import spec_of
from bot.interfaces.web.application import PROGRAMS
from bot.services import services
from bot.services.caller import Via, is_offered
from bot.services.registry import operations_of

_ROOT = Path(__file__).parents[1]
_FILES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def pages() -> dict[str, str]:
    found = {name.lower(): (_ROOT / name).read_text("utf-8").replace("](docs/", "](") for name in _FILES}
    return {**found, "tools.md": "\n".join(_tools()), "api.md": "\n".join(_api())}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_more: Any) -> str:
    for name in _FILES:
        markdown = markdown.replace(f"](../{name}", f"]({name.lower()}").replace(f"]({name}", f"]({name.lower()}")
    return markdown


def _tools() -> Iterator[str]:
    yield "# Tools\n\nThe tools that agents can call, as models read about them. The setting"
    yield "[`tools`](settings.md#agents) says which of them an agent has. [MCP servers](mcp.md) add others."
    for name, kind in sorted(_classes().items()):
        told = spec_of(name, kind.description, kind.arguments, ())
        yield f"\n## {name}\n\n{told.description}\n"
        fields: dict[str, Any] = told.parameters.get("properties", {})
        if fields:
            yield "| argument | what it is |\n|---|---|"
        for field, schema in fields.items():
            about = "; ".join(
                filter(None, (", ".join(filter(None, schema.get("enum", ()))), schema.get("description", "")))
            )
            yield f"| `{field}` | {_cell(about)} |"
    yield ""


def _classes() -> dict[str, Any]:
    """The tools by name, as far as their classes name them."""
    found: dict[str, Any] = {}
    for each in pkgutil.iter_modules(tools.__path__):
        module = importlib.import_module(f"{tools.__name__}.{each.name}")
        for _name, kind in inspect.getmembers(module, inspect.isclass):
            if isinstance(getattr(kind, "name", None), str) and hasattr(kind, "arguments"):
                found[kind.name] = kind
    return found


def _api() -> Iterator[str]:
    yield "# HTTP API\n\n[Dashboard and API](web.md#api) explains tokens, errors and repeated requests."
    yield "A running service describes its whole API in `/openapi.json`.\n"
    yield "## Addresses\n\n| address | what it does |\n|---|---|"
    for (path, handler), routes in groupby(PROGRAMS, itemgetter(1, 2)):
        about = (inspect.getdoc(handler) or "").partition("\n")[0]
        yield f"| `{', '.join(method for method, *_ in routes)} {path.replace(':path', '')}` | {_cell(about)} |"
    yield "\n## Operations\n\nUse `GET /api/v1/NAME` for operations that only read,"
    yield "and `POST` with a JSON object for all others.\n"
    yield "| operation | what it does | arguments |\n|---|---|---|"
    for name, declared in sorted(operations_of(services()).items()):
        if declared.offered and is_offered(Via.WEB, declared.via):
            method = "POST" if declared.changes else "GET"
            given = ", ".join(f"`{each.name}`" for each in declared.taken(Via.WEB))
            yield f"| `{method} {name}` | {declared.summary} | {given} |"
    yield ""


def _cell(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return re.sub(r"(`[^`]*`)|<", lambda each: each[1] or "&lt;", plain)
