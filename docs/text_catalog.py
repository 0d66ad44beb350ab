"""Collect every fixed text and compile its translations: `python -m docs.text_catalog`, part of `make generate`.

`texts/de.po` and `ja.po` hold all messages with their translations, the `.mo` files what the program reads. A message
is what stands in `_()`, `ngettext()` or a function of their kind, or what the registry tells of an operation.
"""

import ast
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from jinja2.ext import extract_from_ast

from bot.interfaces.cli import generate
from bot.interfaces.cli.generate import LOCAL
from bot.interfaces.web.render import HERE, environment, heading
from bot.services import services
from bot.services.registry import Operation, operations_of
from texts import DOMAIN, FOLDER, LANGUAGES, TextError

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path for package in ("bot", "sources", "scheduler", "memory", "texts") for path in (ROOT / package).rglob("*.py")
)


PAGES = sorted((HERE / "templates").glob("*.html"))


def _errors() -> set[str]:
    """The names of all errors for people."""
    trees = (ast.parse(path.read_text("utf-8")) for path in SOURCES)
    classes = [each for tree in trees for each in ast.walk(tree) if isinstance(each, ast.ClassDef)]
    found, size = {TextError.__name__}, 0
    while len(found) > size:
        size = len(found)
        found |= {
            each.name for each in classes if found & {base.id for base in each.bases if isinstance(base, ast.Name)}
        }
    return found


KEYWORDS = {"_": 1, "gettext_lazy": 1, "gettext_noop": 1, "ngettext": 2, "ngettext_lazy": 2, "ngettext_noop": 2}
KEYWORDS |= dict.fromkeys((*_errors(), "Finding"), 1)
"""How many messages each function, each error for people, and each finding takes first."""
CLICK = (
    "Aborted!",
    "Choose from:\n\t{choices}",
    "Commands",
    "Do you want to continue?",
    "Error: invalid input",
    "Error: {message}",
    "Invalid value for {param_hint}: {message}",
    "Invalid value: {message}",
    "Missing argument",
    "Missing command.",
    "Missing option",
    "Missing parameter",
    "No such command {name!r}.",
    "No such option {name!r}.",
    "Option {name!r} does not take a value.",
    "Options",
    "Positional arguments",
    "Show this message and exit.",
    "Try '{command} {option}' for help.",
    "Usage:",
    "{name} {filename!r} does not exist.",
    "{name} {filename!r} is a directory.",
    "{name} {filename!r} is a file.",
    "{name} {filename!r} is not readable.",
    "{value!r} is not a valid {number_type}.",
    "{value} is not in the range {range}.",
    ("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)"),
    ("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})"),
    ("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments."),
    ("Takes {nargs} values but 1 was given.", "Takes {nargs} values but {len} were given."),
)
"""What people read that Click says; it looks into our catalog (`texts.speak_click`)."""
_DATE = datetime(2026, 1, 1, tzinfo=UTC)  # a file changes only where a message does


def main() -> None:
    """Bring the translations up to date with the messages of the code, compile them, and list what is missing."""
    found = template()
    for code in LANGUAGES:
        translated = translations(code)
        translated.update(found, no_fuzzy_matching=True)
        translated.obsolete.clear()
        (FOLDER / f"{code}.po").write_bytes(_written(translated))
        compiled_file(code).write_bytes(compiled(code))
        for missing in untranslated(translated):
            sys.stdout.write(f"texts/{code}.po: not translated: {missing}\n")


def untranslated(catalog: Catalog) -> list[str]:
    """The English messages without a translation, or without one of its forms."""
    missing = list[str]()
    for each in catalog:
        forms = (each.string,) if isinstance(each.string, str) else tuple(each.string or ())
        if each.id and not (forms and all(forms)):
            missing.append(each.id if isinstance(each.id, str) else each.id[0])
    return missing


def template() -> Catalog:
    """Every message of the code, in the order of its files."""
    catalog = _empty(None)
    for name, message, note in _declared():
        catalog.add(message, locations=[(name, 0)], auto_comments=[note] if note else [])
    for said in CLICK:
        catalog.add(said, auto_comments=["Click"])
    for path in SOURCES:
        for marked in messages(path.read_text("utf-8")):
            catalog.add(marked, locations=[(path.relative_to(ROOT).as_posix(), 0)])
    for path in PAGES:
        for marked in page_messages(path.read_text("utf-8")):
            catalog.add(marked, locations=[(path.relative_to(ROOT).as_posix(), 0)])
    return catalog


def messages(source: str) -> Iterator[str | tuple[str, ...]]:
    """The messages of one file; Babel's own reader takes any string inside a call for one."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments) if name in KEYWORDS:
                taken = arguments[: KEYWORDS[name]]
                words = tuple(
                    each.value for each in taken if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
                if words and len(words) == len(taken):
                    yield words if len(words) > 1 else words[0]


def page_messages(source: str) -> Iterator[str | tuple[str, ...]]:
    """The messages of one template."""
    for _line, name, said in extract_from_ast(environment().parse(source), ("_", "ngettext"), babel_style=False):
        words = tuple(filter(None, (said,) if isinstance(said, str) else said or ()))[: KEYWORDS[name]]
        if words:
            yield words if len(words) > 1 else words[0]


def translations(code: str) -> Catalog:
    """What is translated into a language."""
    path = FOLDER / f"{code}.po"
    if not path.exists():
        return _empty(code)
    with path.open("rb") as file:
        catalog = read_po(file, locale=code)
    catalog.creation_date = catalog.revision_date = _DATE
    return catalog


def compiled_file(code: str) -> Path:
    """Where the program, and Click, look for a catalog."""
    return FOLDER / code / "LC_MESSAGES" / f"{DOMAIN}.mo"


def compiled(code: str) -> bytes:
    """A catalog as the program reads it."""
    written = BytesIO()
    write_mo(written, translations(code))
    return written.getvalue()


def _empty(code: str | None) -> Catalog:
    head = f"# Texts of Carina{f' in {code}' if code else ''}."
    catalog = Catalog(code, project="Carina", version="", header_comment=head, msgid_bugs_address="")
    catalog.creation_date = catalog.revision_date = _DATE
    return catalog


def _written(catalog: Catalog) -> bytes:
    written = BytesIO()
    write_po(written, catalog, width=120, include_lineno=False, ignore_obsolete=True, sort_by_file=True)
    return written.getvalue()


def _declared() -> Iterator[tuple[str, str, str]]:
    """What operations tell of themselves: where it is said, the message, and what it belongs to."""
    manifest = json.loads(generate.manifest_text())
    for name, title in manifest["titles"].items():
        yield "bot/services/__init__.py", title, f"The commands {name.replace('.', ' ')} …"
    for name, told in manifest["by_hand"].items():
        yield "bot/interfaces/cli/long_running_commands.py", told, f"carina {name}"
    fields = (
        each for declared in operations_of(services()).values() if declared.offered for each in declared.parameters
    )
    for title in sorted({heading(each.name) for each in fields}):
        yield "bot/services/results.py", title, "Name of a field in a form"
    for classes in (LOCAL, services()):
        for declared in operations_of(classes).values():
            if declared.offered:
                yield from _of(declared)


def _of(declared: Operation) -> Iterator[tuple[str, str, str]]:
    place, words = f"bot/services/{declared.words[0]}", " ".join(declared.words)
    yield place, declared.summary, f"/{words}"
    for each in filter(lambda each: each.help, declared.parameters):
        yield place, each.help, f"/{words}: {each.name}"
        if each.kind != "flag" and not (each.choices and each.flags):
            yield place, each.metavar, "Name of a value on the command line"
        for label in each.choice_labels:
            yield place, label, f"/{words}: a choice of {each.name}"


if __name__ == "__main__":
    main()
