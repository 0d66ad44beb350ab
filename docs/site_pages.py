"""A hook of MkDocs: the pages that are made from the code, and those that the repository has elsewhere.

Pages link to files of the repository as a reader of the repository needs it; in the site these become pages.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
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
    yield "# Tools\n\nWhat agents can call, in the words that models read. An agent has the tools that its setting"
    yield "[`tools`](settings.md#agents) names. [MCP servers](mcp.md) add others."
    for name, kind in sorted(_classes().items()):
        told = spec_of(name, kind.description, kind.arguments, ())
        yield f"\n## {name}\n\n{told.description}\n"
        fields: dict[str, Any] = told.parameters.get("properties", {})
        if fields:
            yield "| argument | what it is |\n|---|---|"
        for field, schema in fields.items():
            about = "; ".join(
                filter(None, (", ".join(map(str, schema.get("enum", ()))), schema.get("description", "")))
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
    yield "# HTTP API\n\n[Dashboard and API](web.md#api) explains how to get a token, and what answers, errors and"
    yield "repeated requests look like. A running service describes all of it in `/openapi.json`.\n"
    yield "## Addresses\n\n| address | what it does |\n|---|---|"
    for method, path, handler in PROGRAMS:
        about = (inspect.getdoc(handler) or "").partition("\n")[0]
        yield f"| `{method} {path}` | {_cell(about)} |"
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
