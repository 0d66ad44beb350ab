"""Operations over the control socket, and in the process of a command: results become text to print.

A request carries the name of an operation, its arguments and a `View`: how the command prints. The reply is the text
to print, so that a command needs nothing but this protocol.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from bot.errors import CallError, UserError
from bot.interfaces.control.client import Reply, View, decoded
from bot.interfaces.exit_codes import exit_code
from bot.services.caller import Unconfirmed, Via, owner_at_terminal
from bot.services.registry import Registry
from bot.services.results import Plain, Result
from memory.store.errors import StoreError
from memory.store.records import replace
from sources.text import without_unseen
from texts import error_text, show_times, speak


def handlers(registry: Registry) -> dict[str, Callable[..., Awaitable[Reply]]]:
    offered = (each for each in registry.operations.values() if Via.TERMINAL in each.via)
    return {each.name: partial(reply, registry, each.name) for each in offered}


async def reply(registry: Registry, name: str, arguments: Mapping[str, Any], view: View | Mapping[str, Any]) -> Reply:
    shown = decoded(view, View)
    caller = replace(
        owner_at_terminal(sure=shown.sure), shown=shown.shown, locale=shown.locale, constellation=shown.constellation
    )
    try:
        if spoken := registry.language(caller.person) or shown.locale:
            speak(spoken)
        markup = await registry.plain(caller)
        show_times(markup.time)
        result = await registry.call(name, caller, arguments)
        aside = "" if shown.as_json else result.aside(markup)
        return Reply(printed(result, markup, shown), aside, code=result.code)
    except Unconfirmed as question:
        return Reply(confirm=str(question))
    except (UserError, CallError, StoreError) as error:
        return Reply(error=error_text(error), code=exit_code(error))


def printed(result: Result, markup: Plain, view: View) -> str:
    if view.as_json:
        return json.dumps(result.data(), ensure_ascii=view.ascii, indent=2)
    text = result.terminal(markup)
    return without_unseen(text) if view.attended else text  # a terminal obeys invisible characters
