"""`carina inbox`, `permits`, `privacy`, `halt` and the like: what is asked for, and the words for what came of it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from bot.cli.asking import ask
from bot.cli.holder import holder_of
from bot.cli.printing import print_data, print_found, print_lines, print_listed, print_rows, record_lines
from bot.config import Config
from bot.desks.privacy import is_known, receipt_lines, seen_lines
from bot.errors import CallError, UserError
from memory.folder import DataFolder
from memory.people.privacy import Choice
from sources.discord.invite import invite_url


async def vacuum(config: Config, *, as_json: bool) -> None:
    """Vacuum every file."""
    files = await ask(config, "db.vacuum")
    if as_json:
        print_data(files)
    else:
        print_lines([_vacuumed(file) for file in files])


async def inbox_list(config: Config, wanted: str, limit: int, *, as_json: bool) -> None:
    """List inbox rows."""
    rows = await ask(config, "inbox.list", status=wanted, limit=limit)
    print_listed(rows, as_json=as_json, empty="Nothing was given up." if wanted else "Nothing has arrived yet.")


async def inbox_show(config: Config, row: int, *, as_json: bool) -> None:
    """Show one inbox row."""
    found = await ask(config, "inbox.show", identifier=row)
    print_found(found, record_lines(found), as_json=as_json)


async def inbox_retry(config: Config, row: int, *, as_json: bool) -> None:
    """Let a dead row be tried again."""
    found = await ask(config, "inbox.retry", identifier=row)
    words = f"Row {found['id']} waits for another try: the running service makes it now, or the next `carina run`."
    print_found(found, [words], as_json=as_json)


async def switch(config: Config, operation: str, *, as_json: bool) -> None:
    """Halt the running service, or let it go on. Raises UserError when none runs."""
    holder = holder_of(DataFolder(config.home))
    if holder is None:
        raise UserError(f"no service runs on the data folder {config.home}, so there is nothing to halt or release")
    (found,) = await holder.ask(operation)
    print_found(found, [found["text"]], as_json=as_json)


async def explain(config: Config, *, as_json: bool) -> None:
    """Say what the last answer at the terminal was made from. Raises UserError when there was none."""
    found = await ask(config, "why")
    print_found(found, [found["text"]], as_json=as_json)


async def permits_list(config: Config, *, as_json: bool) -> None:
    """List what waits for a yes, and what was allowed for longer."""
    found = await ask(config, "permits.list")
    if as_json:
        print_data(found)
        return
    if found["requests"]:
        print_lines(["Asked:"])
    print_rows(found["requests"], empty="Nothing waits for your yes.")
    if found["grants"]:
        print_lines(["Allowed for longer:"])
    print_rows(found["grants"], empty="Nothing was allowed for longer.")


async def permits_show(config: Config, request: int, *, as_json: bool) -> None:
    """Show one request with its arguments."""
    found = await ask(config, "permits.show", request=request)
    print_found(found, [found["text"], found["arguments"]], as_json=as_json)


async def permits_answer(config: Config, request: int, verdict: str, *, as_json: bool) -> None:
    """Answer one request. Raises UserError when the answer does not count."""
    found = await ask(config, "permits.answer", request=request, verdict=verdict)
    if not found["counted"]:
        raise UserError(found["text"])
    print_found(found, [f"Request {found['id']}: {found['text']}"], as_json=as_json)


async def permits_revoke(config: Config, grant: int, *, as_json: bool) -> None:
    """End one grant."""
    found = await ask(config, "permits.revoke", grant=grant)
    words = f"Permission {found['id']} is revoked: {found['subject']} needs a yes again."
    print_found(found, [words], as_json=as_json)


async def permits_audit(config: Config, limit: int, *, as_json: bool) -> None:
    """Print the record."""
    rows = await ask(config, "permits.audit", limit=limit)
    print_listed(rows, as_json=as_json, empty="Nothing was ever asked.")


async def privacy_see(config: Config, person: str, *, as_json: bool) -> None:
    """Print how much is kept about somebody. Raises UserError where nothing is, so that a slip of the pen is seen."""
    found = await ask(config, "privacy.see", person=person)
    if not is_known(found):
        raise UserError(f"nothing about {person} is kept, and nothing was: is that their id?")
    print_found(found, seen_lines(found, you=False), as_json=as_json)


async def privacy_export(config: Config, person: str, *, as_json: bool) -> None:
    """Print everything that is kept about somebody: as one document, or a line for each row."""
    found = await ask(config, "privacy.export", person=person)
    if as_json:
        print_data(found)
        return
    rows = [
        {"constellation": name, "store": store, "row": json.dumps(row, ensure_ascii=False)}
        for name, stores in found["constellations"].items()
        for store, held in stores.items()
        for row in held
    ]
    print_rows(rows, empty=f"Nothing about {person} is kept.")


async def privacy_choose(config: Config, person: str, choice: str, *, as_json: bool) -> None:
    """Pause, opt out or resume for somebody."""
    found = await ask(config, "privacy.choose", person=person, choice=choice)
    print_found(found, [_chosen(person, choice) or found["text"]], as_json=as_json)


async def privacy_erase(config: Config, person: str, *, as_json: bool) -> None:
    """Erase somebody, however long that takes, and print the receipt."""
    receipt = await ask(config, "privacy.erase", None, person=person)
    print_found(receipt, receipt_lines(receipt, you=False), as_json=as_json)


async def tell(config: Config, operation: str, empty: str, *, as_json: bool, **arguments: Any) -> None:
    """Have something done or looked up, and print the rows that come of it; `within` None waits however long."""
    print_listed(await ask(config, operation, **arguments), as_json=as_json, empty=empty)


def invite(application: str) -> str:
    """The install link for an application. Raises CallError for what is no id."""
    if not re.fullmatch(r"[0-9]{1,20}", application):
        raise CallError(
            f"{application!r} is no application id, which is digits only; copy the Application ID under "
            "General Information of your application in Discord's developer portal"
        )
    return invite_url(int(application))


def _vacuumed(file: Mapping[str, Any]) -> str:
    before, after = file["bytes_before"], file["bytes_after"]
    given = f"{_size(before - after)} given back" if after < before else "nothing to give back"
    return f"{file['file']}: {_size(after)}, {given}"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1_000_000 else f"{count / 1e3:,.0f} kB"


def _chosen(person: str, choice: str) -> str:
    """What pausing or opting out means, said to who did it for somebody; empty for resuming."""
    match choice:
        case Choice.PAUSED:
            return (
                f"Paused: from now on nothing that {person} says is kept or answered. "
                f"`carina privacy resume {person}` ends that."
            )
        case Choice.OPTED_OUT:
            return (
                f"Opted out: from now on nothing that {person} says is kept or answered, until "
                f"`carina privacy resume {person}`. What was kept before stays until `carina privacy erase {person}`."
            )
        case _:
            return ""
